//! Messages between nodes: the BS, BR and DH of a global slice (paper, §4.3).
//!
//! - **DEM**: the BS sends each rank's outbound descriptors, in order, to the nodes of their destinations: at
//!   most [`DESCRIPTORS_A_SLICE`] to one node. An inline message rides in its descriptor, and one that lies
//!   in a slab travels with it, as long as all nodes that do so for the same one stay within its budget:
//!   bytes that came so and were not matched count.
//! - **MSM**: the BR matches what was posted in earlier slices by the same queues and code as local messages,
//!   and grants chunks of matched messages, oldest first, under a budget for all that comes in here in a
//!   slice. What of earlier slices is still on its way counts.
//! - **P2P**: the DH of the sender's node reads granted chunks from slabs or from ranks' memory and sends
//!   them, under a budget for all that goes out; what exceeds it is first in the next slice. The receiver's
//!   node writes them where they go, from the ring to which they came.
//!
//! A message that comes before its receive waits in its receiver's pool ([`crate::memory::unexpected`]): at
//! once where its bytes came with its descriptor, and else when it has waited for a while (`pull`).
//!
//! With elastic slices a message concerns its two nodes, and no other: none of the three is strobed.
//! Descriptors leave as soon as they are posted, the BR takes them into the receiver's local slices as soon
//! as they come, and a grant is credit, which the DH uses at once.
//!
//! ```text
//!  Send       rank: who posted    words: the descriptor's 0..7                                  payload: the slab's bytes, or nothing
//!  Matched    rank: its sender    request, slab plus one or 0
//!  Cancelled  rank: its sender    request, slab plus one or 0
//!  Grant      rank: its sender    request, place (slab plus one, or 0) | last << 63, address, offset, bytes, transfer, bytes of the message that are wanted
//!  Data                           transfer, offset                                              payload: the bytes
//!  Placed     rank: its sender    transfer, offset, bytes, slab plus one or 0                   in a ring alone: Data, or a Send, whose bytes a rank has put in place
//!  Invite     rank: its sender    request, address, transfer, bytes, where to, key              payload: the address of an endpoint (`buffer_writes`)
//!  Written                        transfer, bytes
//!  Declined                       transfer
//! ```
//!
//! Where the system refuses cross-memory attach, ranks put the bytes of granted chunks into NIC memory
//! themselves, and take from there what has come (`staged`).

mod pull;

use super::arrival::{self, Arrived, matched_record, weight};
use super::buffer_writes::Invitation;
use super::departure::{self, finish_send};
use super::error::{GlobalError, strange};
use super::grant::{CHUNK_BYTES, Grant};
use super::landing::{self, Ahead};
use super::link::{Links, PATIENT_RECORDS};
use super::matched::Matched;
use super::message::{BUDGET_BYTES, RawBytes, local, place};
use super::rank_memory;
use super::record::{Kind, PostingSlice, Record};
use super::staged::{self, AHEAD_BYTES, Staged};
use crate::channel::{ProcessMemory, is_done};
use crate::matching::Message;
use crate::memory::landing::Landing;
use crate::memory::request::Delivery;
use crate::memory::transfer::Range;
use crate::memory::unexpected::UnexpectedPool;
use crate::memory::{Corrupt, ENTRIES, NicMemory, RequestId};
use crate::one_sided::Target;
use crate::policy::{DRIVING_NS, Pacing};
use crate::threads::completer::{Completer, RankRequest, Status};
use bcs_core::{LocalRank, Rank};
use std::collections::{BTreeMap, VecDeque};

/// Descriptors that one node sends to another in a slice at most.
pub const DESCRIPTORS_A_SLICE: u32 = 256;

/// Bytes that the DH reads at once, and that wait at most to one node, where the links say how fast it goes.
const STEP_BYTES: u64 = 2 * CHUNK_BYTES;

/// A message on its way here: matched, or on its way to the pool of the rank that is to receive it.
#[derive(Debug)]
struct Incoming {
    /// The block that it goes to, and the entry of the unexpected queue that stands for it until it is
    /// matched.
    pooled: Option<(u64, u32)>,
    origin: Rank,
    /// The sender's request.
    request: RequestId,
    /// Where its bytes are: slab plus one, or 0 and the address.
    place: (u64, u64),
    /// What the receive is told.
    status: Status,
    /// The sender's node.
    node: u32,
    /// The receive; no request of an unmatched one.
    to: RankRequest,
    /// Where it goes in the receiver's memory.
    address: u64,
    bytes: u64,
    granted: u64,
    moved: u64,
}

impl Incoming {
    /// Whether it is a long put, for which nobody has posted a receive.
    fn is_put(&self) -> bool {
        self.pooled.is_none() && self.to.1 == RequestId::NONE
    }
}

/// A message without a receive whose bytes are on its sender's node.
#[derive(Debug)]
struct Late {
    /// When it has waited so long that its bytes are taken here.
    due_ns: u64,
    receiver: LocalRank,
    /// Its entry in the receiver's unexpected queue, if that still has its number.
    entry: u32,
    number: u64,
}

/// A descriptor of another node.
#[derive(Debug)]
pub(super) struct Posting {
    from: u32,
    /// The slice in which it was posted.
    posted: u64,
    record: Record,
}

/// The messages of a node that go to or come from others.
#[derive(Debug, Default)]
pub struct PointToPointEngine {
    /// What is for the BR, in order of arrival: after a poll, that for which there was no room.
    pub(super) inbox: VecDeque<Posting>,
    /// It was not empty, or grants were not carried out, when NIC memory was told last.
    told_waiting: bool,
    incoming: BTreeMap<u64, Incoming>,
    /// Transfers of which not all is granted, oldest first.
    to_grant: VecDeque<u64>,
    /// Grants that the DH has not carried out.
    grants: VecDeque<(u32, Grant)>,
    granted_in_slice: bool,
    /// Bytes granted that have not come.
    outstanding: u64,
    /// The slice in which descriptors were sent last, and how many of it to each node.
    exchanged: (u64, BTreeMap<u32, u32>),
    /// Messages whose bytes this thread may not read or write.
    staged: Staged,
    /// Messages whose bytes are taken into their receivers' pools when they have waited for a while, oldest
    /// first.
    late: VecDeque<Late>,
    /// Those of them that found their receivers at the limit.
    refused: VecDeque<Late>,
    /// The news of room up to which it is known that there is none for what waits for some.
    pub news: u32,
}

/// What all parts of a global slice work with.
pub struct Env<'a, 'm> {
    /// NIC memory; the run token is held.
    pub memory: &'m NicMemory,
    /// The memory of this node's ranks.
    pub processes: &'a dyn ProcessMemory,
    /// Publishes completions.
    pub completer: &'a mut Completer<'m>,
    /// Links to other nodes.
    pub links: &'a mut Links,
    /// The time.
    pub now_ns: u64,
    /// The slice that this node is in.
    pub slice: u64,
    /// Bytes of a record's payload at most.
    pub payload_bytes: u64,
    /// Whether messages go by the slices.
    pub pacing: Pacing,
}

impl Env<'_, '_> {
    /// The slice in which was posted what is taken now: of fixed slices, before this one began.
    pub fn posting_slice(&self) -> u64 {
        self.slice.saturating_sub(self.pacing.strobes_all().into())
    }
}

impl PointToPointEngine {
    /// True when a BR has something to match or to grant in the slice after this one, of fixed slices: here,
    /// or where this node has sent descriptors. (Their receiver says so itself only if they came too late.)
    pub fn wants_scheduling(&self, memory: &NicMemory, slice: u64) -> bool {
        let may_grant = !self.to_grant.is_empty() && self.outstanding <= BUDGET_BYTES;
        may_grant
            || !self.late.is_empty()
            || self.has_room_again(memory)
            || Self::has_posted(memory)
            || self.exchanged.0 == slice && !self.exchanged.1.is_empty()
            || self.inbox.iter().any(|posting| posting.posted < slice)
    }

    /// True when ranks of this node have posted something that has not been taken.
    pub fn has_posted(memory: &NicMemory) -> bool {
        let remote = &memory.header().remote;
        !remote.matches.is_empty() || remote.outbound.get() != 0
    }

    /// Says in NIC memory of which nodes descriptors wait here, for which there was no room, and grants that
    /// are not carried out.
    pub fn tell_waiting(&mut self, memory: &NicMemory) -> Result<(), Corrupt> {
        let waits = !self.inbox.is_empty() || !self.grants.is_empty();
        if !waits && !self.told_waiting {
            return Ok(());
        }
        self.told_waiting = waits;
        let mut waiting = BTreeMap::<u32, (u32, u32)>::new();
        self.inbox.iter().for_each(|posting| waiting.entry(posting.from).or_default().0 += 1);
        self.grants.iter().for_each(|(from, _)| waiting.entry(*from).or_default().1 += 1);
        for node in 0..memory.node().1 {
            let (descriptors, grants) = waiting.get(&node).copied().unwrap_or_default();
            let state = memory.node_state(node)?;
            state.inbox.set(descriptors);
            state.grants.set(grants);
        }
        Ok(())
    }

    /// True when the DHs have something to move for this node: as a sender, or as a receiver that has
    /// granted.
    pub fn wants_transmission(&self) -> bool {
        !self.grants.is_empty() || self.granted_in_slice || !self.staged.outgoing.is_empty()
    }

    /// True when bytes of a message are on their way here, or granted to go.
    pub fn moves_pieces(&self) -> bool {
        !self.incoming.is_empty() || !self.grants.is_empty()
    }

    /// True when nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.inbox.is_empty()
            && self.incoming.is_empty()
            && self.grants.is_empty()
            && self.staged.is_empty()
            && self.late.is_empty()
    }

    /// When messages are to be looked at that wait for a receive, of elastic slices.
    pub fn next_ns(&self) -> Option<u64> {
        self.late.front().map(|late| late.due_ns)
    }

    /// A record has arrived.
    ///
    /// # Errors
    /// It cannot be.
    pub fn handle_record(
        &mut self,
        env: &mut Env<'_, '_>,
        from: u32,
        record: Record,
    ) -> Result<(), GlobalError> {
        match record.kind {
            Kind::Send => {
                let posted = record.posted.near(env.slice);
                self.inbox.push_back(Posting { from, posted, record });
            }
            Kind::Grant => self.grants.push_back((from, Grant::of(&record))),
            Kind::Placed => Self::count_placed(env, from, &record)?,
            // This thread reads and writes ranks' memory by the system alone.
            Kind::Invite => {
                let declined = Invitation::of(&record, from).answer(false);
                env.links.send(from, &declined);
            }
            Kind::Written | Kind::Declined => {
                let (bytes, ahead) = (env.payload_bytes, Ahead::Memory);
                for grant in landing::handle_answer(env.completer, from, &record, bytes, ahead)? {
                    env.links.send(from, &grant.record());
                }
            }
            Kind::Matched => finish_send(env.memory, env.completer, from, &record)?,
            Kind::Cancelled => {
                let local = local(env.memory, record.rank)?;
                departure::give_back(env.memory, from, record.rank, record.words[1])?;
                env.completer.complete_cancelled((local, RequestId(record.words[0] as u32)))?;
            }
            other => return Err(strange(from, "kind", other as u64)),
        }
        Ok(())
    }

    /// Sends outbound descriptors.
    pub fn exchange(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        let posted = PostingSlice::in_slice(env.posting_slice(), env.slice);
        let (last, sent) = &mut self.exchanged;
        if *last != env.slice {
            *last = env.slice;
            sent.clear();
        }
        let (links, pacing) = (&mut *env.links, env.pacing);
        let send = |to, record: &Record, payload: RawBytes<'_>| {
            let is_full = match pacing.strobes_all() {
                true => sent.get(&to) == Some(&DESCRIPTORS_A_SLICE),
                false => links.waiting_records(to) >= DESCRIPTORS_A_SLICE as usize,
            };
            if !is_full {
                *sent.entry(to).or_default() += 1;
                links.send_in_slabs(to, record, payload);
            }
            Ok(!is_full)
        };
        Ok(departure::exchange(env.memory, posted, env.payload_bytes, send)?)
    }

    /// Message scheduling microphase of a slice: matches what was posted before it and has arrived, and
    /// grants chunks. With elastic slices: matches what has arrived.
    ///
    /// # Errors
    /// NIC memory is corrupt, or a descriptor makes no sense.
    pub fn schedule(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        self.granted_in_slice = false;
        // Of one sender they stand in the order of posting: those that are left stay in it.
        let (due, early): (VecDeque<_>, VecDeque<_>) =
            self.inbox.drain(..).partition(|posting| !env.pacing.strobes_all() || posting.posted < env.slice);
        self.inbox = due;
        while let Some(posting) = self.inbox.pop_front() {
            let Posting { from, ref record, .. } = posting;
            let posted = PostingSlice::in_slice(env.posting_slice(), env.slice);
            let target = Target { processes: env.processes, own: None };
            let links = &mut *env.links;
            let mut answer = |answer: &Record, bytes: &[u8]| {
                links.send_in_slabs(from, &Record { posted, ..answer.clone() }, RawBytes::of_slice(bytes));
                true
            };
            match arrival::take(
                env.memory,
                env.completer,
                from,
                (record, record.payload.as_slice()),
                None,
                true,
                (&target, &mut answer),
            )? {
                Arrived::NoRoom => {
                    self.inbox.push_front(posting);
                    break;
                }
                Arrived::Taken { answer, late } => {
                    if let Some(answer) = answer {
                        Self::answer(env, from, &answer, record.payload.len() as u64);
                    }
                    if let Some((receiver, send)) = late {
                        self.note_late(env, receiver, &send)?;
                    }
                }
            }
        }
        self.inbox.extend(early);
        self.take_matches(env)?;
        // After the matches: a message that waits is in no other queue.
        self.pull_late(env)?;
        self.grant(env)
    }

    /// Tells the sender of a message, of which so many bytes have come with it, that it is matched or taken
    /// back.
    fn answer(env: &mut Env<'_, '_>, node: u32, answer: &Record, bytes: u64) {
        let weight = weight(env.memory, answer, bytes);
        if weight == PATIENT_RECORDS || env.pacing.strobes_all() {
            // With fixed slices it travels with all else of its microphase.
            env.links.send(node, answer);
        } else {
            env.links.send_patiently(node, answer, weight, env.now_ns);
        }
    }

    /// Takes what the BR has matched, here or in a rank's local slice: messages whose bytes are here are
    /// delivered, others wait to be granted.
    fn take_matches(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        // A queue that does not become empty is corrupt.
        for _ in 0..=ENTRIES {
            let Some(matched) = Matched::oldest(env.memory)? else { return Ok(()) };
            matched.remove(env.memory)?;
            let Message { send, origin } = matched.message;
            let (node, _) = env.memory.place(origin)?;
            let to = (matched.receiver, matched.receive.request);
            if let Some(transfer) = self.incoming.get_mut(&matched.number) {
                // On its way to the receiver's pool: the receive is complete when it is there.
                transfer.to.1 = to.1;
                if transfer.moved == transfer.bytes {
                    self.finish_pooled(env, matched.number)?;
                }
                continue;
            }
            let (status, bytes) = (send.status(), matched.bytes());
            if matched.is_here() || bytes == 0 {
                if let Some(answer) = matched_record(origin, send.request, place(send.payload).0) {
                    Self::answer(env, node, &answer, send.bytes);
                }
                if !matched.is_here() {
                    env.completer.complete(to, status, &Delivery::InPlace)?;
                }
                continue;
            }
            let is_staged = staged::applies(env.memory);
            if !is_staged
                && Self::leaves_to_ranks(env)
                && landing::begin(env.memory, &matched.message, &matched.receive, matched.receiver)?.is_some()
            {
                for grant in landing::due_grants(env.memory, node, env.payload_bytes, Ahead::Memory)? {
                    env.links.send(node, &grant.record());
                }
                continue;
            }
            let id = env.memory.landings().next_number();
            if is_staged {
                self.stage(env, id, to, status, (bytes, 0))?;
            }
            self.to_grant.push_back(id);
            let (request, place, address) = (send.request, place(send.payload), matched.receive.address);
            let (granted, moved) = (0, 0);
            let transfer = Incoming {
                pooled: None,
                origin,
                request,
                place,
                status,
                node,
                to,
                address,
                bytes,
                granted,
                moved,
            };
            self.incoming.insert(id, transfer);
        }
        Err(Corrupt { what: "length of a list", value: ENTRIES as u64 + 1, limit: ENTRIES as u64 }.into())
    }

    /// Whether ranks of this node drive the links just now: then they go on with messages on their way to
    /// them, too.
    fn leaves_to_ranks(env: &Env<'_, '_>) -> bool {
        let driven_ns = env.memory.header().remote.driven_ns.get();
        !env.pacing.strobes_all() && driven_ns != 0 && env.now_ns < driven_ns.saturating_add(DRIVING_NS)
    }

    /// Has a rank take the bytes of a message out of NIC memory itself, from the first one on that is not in
    /// place.
    fn stage(
        &mut self,
        env: &Env<'_, '_>,
        id: u64,
        (rank, request): RankRequest,
        (source, tag, length): Status,
        bytes: (u64, u64),
    ) -> Result<(), Corrupt> {
        env.memory.request(rank, request)?.write_status(source, tag, length);
        self.staged.expect(id, (rank, request), bytes);
        Ok(())
    }

    /// Moves on what ranks put into NIC memory and take out of it themselves. True if something was done.
    pub fn advance_staged(&mut self, env: &mut Env<'_, '_>) -> Result<bool, GlobalError> {
        let mut moved = false;
        if !self.staged.is_empty() {
            moved = self.staged.land(env.completer)?;
            if !env.pacing.strobes_all() {
                moved |= self.send_staged(env, STEP_BYTES)?;
            }
        }
        Ok(moved)
    }

    /// Sends what ranks have put into NIC memory.
    fn send_staged(&mut self, env: &mut Env<'_, '_>, budget: u64) -> Result<bool, GlobalError> {
        let most_waiting = if env.pacing.has_budget() { u64::MAX } else { STEP_BYTES };
        let limits = (budget, most_waiting, env.payload_bytes);
        self.staged.send(env.completer, env.links, limits)
    }

    /// Grants chunks, oldest message first, one chunk of each in turn, until the budget is spent. Where ranks
    /// take the bytes themselves, none for a rank that has enough to take.
    fn grant(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        let room = (2 * BUDGET_BYTES).saturating_sub(self.outstanding);
        let mut budget = match env.pacing.has_budget() {
            true => BUDGET_BYTES.min(room),
            // Several chunks at once: a grant for each that has come would be as many datagrams back.
            false if room < BUDGET_BYTES => 0,
            false => room,
        };
        let mut again = VecDeque::new();
        let mut ahead = self.staged.ahead(env.memory)?;
        while let Some(id) = self.to_grant.pop_front() {
            let Some(transfer) = self.incoming.get_mut(&id) else { continue };
            let ahead = ahead.get_mut(&transfer.to.0).filter(|_| self.staged.expects(id));
            if ahead.as_ref().is_some_and(|ahead| **ahead >= AHEAD_BYTES) {
                again.push_back(id);
                continue;
            }
            let most = env.payload_bytes.min(CHUNK_BYTES).min(budget);
            let bytes = (transfer.bytes - transfer.granted).min(most);
            if bytes == 0 {
                again.push_back(id);
                break;
            }
            let is_last = transfer.granted + bytes == transfer.bytes;
            let (place, address) = transfer.place;
            let grant = Grant {
                rank: transfer.origin,
                request: transfer.request,
                place,
                address,
                range: Range { offset: transfer.granted, bytes },
                is_last: is_last && !transfer.is_put(),
                transfer: id,
                total: transfer.bytes,
            };
            env.links.send(transfer.node, &grant.record());
            transfer.granted += bytes;
            self.staged.note_granted(id, transfer.granted);
            if let Some(ahead) = ahead {
                *ahead += bytes;
            }
            budget -= bytes;
            self.outstanding += bytes;
            self.granted_in_slice = true;
            if !is_last {
                self.to_grant.push_back(id);
            }
        }
        again.append(&mut self.to_grant);
        self.to_grant = again;
        Ok(())
    }

    /// Point-to-point microphase: reads granted chunks and sends them, as much as may go out in a slice. With
    /// elastic slices whenever something was granted: as much as the links take, so that one chunk is on its
    /// way while the next one is read.
    ///
    /// # Errors
    /// A rank's memory cannot be read, or a grant makes no sense.
    pub fn transmit(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        self.granted_in_slice = false;
        let mut budget = if env.pacing.has_budget() { BUDGET_BYTES } else { STEP_BYTES };
        let mut kept = VecDeque::new();
        while let Some((to, grant)) = self.grants.pop_front() {
            let bytes = grant.range.bytes;
            if bytes > env.payload_bytes {
                return Err(strange(to, "bytes of a grant", bytes));
            }
            if bytes > budget {
                self.grants.push_front((to, grant));
                break;
            }
            if !env.pacing.has_budget() && env.links.waiting_data_bytes(to) >= STEP_BYTES {
                kept.push_back((to, grant));
                continue;
            }
            budget -= self.send_granted(env, to, &grant)?;
        }
        kept.append(&mut self.grants);
        self.grants = kept;
        if env.pacing.strobes_all() && budget > 0 {
            self.send_staged(env, budget)?;
        }
        Ok(())
    }

    /// Sends a granted chunk, or leaves it to its rank to hand it over. Answers how many bytes were sent.
    fn send_granted(&mut self, env: &mut Env<'_, '_>, to: u32, grant: &Grant) -> Result<u64, GlobalError> {
        let (memory, processes) = (env.memory, env.processes);
        let index = local(memory, grant.rank)?;
        let (record, bytes) = (grant.data(), grant.range.bytes);
        let is_sent = match grant.place {
            0 => {
                !staged::applies(memory) && {
                    let sent = env.links.send_with(to, &record, bytes as usize, |payload| {
                        grant.append_from_process((processes, memory), index, payload)
                    });
                    is_done(memory, sent)?
                }
            }
            _ => {
                env.links.send_in_slabs(to, &record, grant.in_slabs(memory, index)?);
                true
            }
        };
        if !is_sent {
            return match self.staged.handle_grant(to, index, grant) {
                true => Ok(0),
                false => Err(strange(to, "part of a message that is wanted", grant.range.offset)),
            };
        }
        grant.finish(memory, env.completer, to)?;
        Ok(bytes)
    }

    /// Bytes have arrived: they go where they are wanted.
    ///
    /// # Errors
    /// Nobody wants them, or they cannot be written.
    pub fn take_data(
        &mut self,
        env: &mut Env<'_, '_>,
        from: u32,
        [id, offset, ..]: [u64; 7],
        data: &[u8],
    ) -> Result<(), GlobalError> {
        let bytes = data.len() as u64;
        if self.take_landing(env, from, (id, offset), data)? {
            return Ok(());
        }
        let Some(transfer) = self.incoming.get_mut(&id) else { return Err(strange(from, "transfer", id)) };
        if offset.checked_add(bytes).is_none_or(|end| end > transfer.granted) {
            return Err(strange(from, "offset of data", offset));
        }
        let before = transfer.moved;
        transfer.moved += bytes;
        self.outstanding = self.outstanding.saturating_sub(bytes);
        let Incoming { to, granted, bytes: total, node, origin, request, .. } = *transfer;
        let is_put = transfer.is_put();
        let (status, is_whole) = (transfer.status, transfer.moved == total);
        let address = transfer.address.wrapping_add(offset);
        if let Some((block, _)) = transfer.pooled {
            let to = UnexpectedPool::of(env.memory, to.0)?.bytes(block, total)?;
            // SAFETY: the block holds the whole message, of which this is a part, and nobody reads it before
            // all of it is there.
            unsafe { data.as_ptr().copy_to_nonoverlapping(to.as_ptr().add(offset as usize), data.len()) };
            return if is_whole { Ok(self.finish_pooled(env, id)?) } else { Ok(()) };
        }
        if is_whole {
            self.incoming.remove(&id);
        }
        if !self.staged.expects(id) {
            let (from, length) = (data.as_ptr(), data.len());
            // SAFETY: the bytes are those of the record.
            let written =
                unsafe { rank_memory::write(env.processes, env.memory, to.0, address, from, length) };
            if is_done(env.memory, written)? {
                match (before + bytes == total, is_put) {
                    (false, _) => {}
                    (true, false) => env.completer.complete(to, status, &Delivery::InPlace)?,
                    (true, true) => env.links.send(node, &landing::put_is_placed(origin, request)),
                }
                return Ok(());
            }
            if is_put {
                let (rank, _) = to;
                return Err(Corrupt { what: "reach of a long put", value: rank.0.into(), limit: 0 }.into());
            }
            self.stage(env, id, to, status, (total, before))?;
            self.staged.note_granted(id, granted);
        }
        if offset != before {
            return Err(strange(from, "offset of data", offset));
        }
        self.staged.bring(id, data.to_vec());
        Ok(())
    }

    /// A rank has put bytes of a message in place, and left it to others to count them.
    fn count_placed(env: &mut Env<'_, '_>, from: u32, record: &Record) -> Result<(), GlobalError> {
        let [id, offset, bytes, ..] = record.words;
        let Some(landing) = env.memory.landings().named(id) else {
            return Err(strange(from, "transfer", id));
        };
        landing::placed_range(landing, from, offset, bytes)?;
        Self::count_landed(env, from, landing, bytes)?;
        if let Some(answer) = arrival::placed_answer(record) {
            Self::answer(env, from, &answer, bytes);
        }
        Ok(())
    }

    /// So many bytes of a message are in place: asks for the next ones.
    fn count_landed(
        env: &mut Env<'_, '_>,
        from: u32,
        landing: &Landing,
        bytes: u64,
    ) -> Result<(), GlobalError> {
        let due = landing::count(landing, env.completer, bytes, env.payload_bytes, Ahead::Memory)?;
        let told = due.grants.iter().map(Grant::record).chain(due.placed);
        told.for_each(|record| env.links.send(from, &record));
        Ok(())
    }

    /// Bytes have arrived of a message whose landing is in NIC memory. False if they are not of such a one,
    /// or the system refuses to write them: then the message is this thread's, and goes on as others do.
    fn take_landing(
        &mut self,
        env: &mut Env<'_, '_>,
        from: u32,
        (id, offset): (u64, u64),
        data: &[u8],
    ) -> Result<bool, GlobalError> {
        let (memory, bytes) = (env.memory, data.len() as u64);
        let Some(landing) = memory.landings().named(id) else { return Ok(false) };
        let range = landing::range_of(landing, from, offset, bytes)?;
        let (to, address) = (landing::receiver(landing), landing.to.get().wrapping_add(range.offset));
        // SAFETY: the bytes are those of the record.
        let written =
            unsafe { rank_memory::write(env.processes, memory, to.0, address, data.as_ptr(), data.len()) };
        if is_done(memory, written)? {
            Self::count_landed(env, from, landing, bytes)?;
            return Ok(true);
        }
        let (granted, moved, total) = (landing.granted.get(), landing.moved.get(), landing.bytes.get());
        let transfer = Incoming {
            pooled: None,
            origin: Rank(landing.origin.get()),
            request: landing.sent_by.get(),
            place: (landing.place.get(), landing.from.get()),
            status: landing::status(landing),
            node: from,
            to,
            address: landing.to.get(),
            bytes: total,
            granted,
            moved,
        };
        memory.landings().free(landing);
        landing::note_come(memory, from, granted - moved)?;
        if granted < total {
            self.to_grant.push_back(id);
        }
        self.outstanding += granted - moved;
        self.incoming.insert(id, transfer);
        Ok(false)
    }
}
