//! A node in the global slices: what is due, and what has come.

use super::collectives::{Collectives, handle_left};
use super::error::GlobalError;
use super::layout::{ARRIVED, GlobalLayout, RUNG};
use super::link::Links;
use super::message::payload_bytes;
use super::point_to_point::{Env, PointToPointEngine};
use super::record::Kind;
use super::strobe_lead::StrobeLead;
use super::strobe_tree::{StrobeTree, read_strobe};
use crate::channel::ProcessMemory;
use crate::memory::NicMemory;
use crate::memory::token::Holder;
use crate::policy::Pacing;
use crate::threads::buffer_sender::BufferSender;
use crate::threads::completer::{Completer, Touched};
use crate::threads::microphase::Microphase;
use crate::threads::slice_work::SliceCounts;
use crate::threads::strobe_sender::{StrobeSender, counted};
use bcs_core::{NodeId, SliceIndex};
use bcs_fabric::Road;
use mds::{EmdsRing, GlobalRecord, LocalRecord};
use std::sync::Arc;

/// With elastic slices: how long after the last one a slice begins that tells of messages, which wait for
/// none, in nanoseconds: often enough for a trace, and seldom beside the messages.
const TALLY_NS: u64 = 5_000_000;
/// How much longer nodes other than the lead wait, which would all want the same.
const LEADS_TURN_NS: u64 = 1_000_000;
/// How often the network is driven while somebody else has the run token: others take a node for dead from
/// which nothing comes.
const BUSY_PROGRESS_NS: u64 = 1_000_000;
/// When descriptors are looked at again for which there was no room, in nanoseconds.
const NO_ROOM_NS: u64 = 1_000_000;

/// What came of a poll.
pub enum Polled {
    /// Somebody else holds the run token: poll again soon.
    Busy,
    /// Done. Whether anything was, and whom something was completed for: the driver wakes those of them that
    /// sleep.
    Done {
        /// Something was done: poll again before waiting for the network.
        moved: bool,
        /// Ranks to wake.
        touched: Vec<Touched>,
    },
}

/// A node's part in the job's global slices. See the module.
pub struct GlobalNic<F: ?Sized> {
    memory: Arc<NicMemory>,
    processes: &'static dyn ProcessMemory,
    /// The network.
    pub fabric: Box<F>,
    layout: GlobalLayout,
    node: u32,
    pacing: Pacing,
    links: Links,
    messages: PointToPointEngine,
    collectives: Collectives,
    tree: StrobeTree,
    /// On the lead node.
    sender: Option<StrobeLead>,
    /// On the lead node: a microstrobe that it has not acted on itself.
    issued: Option<u64>,
    /// The last strobe word that was acted on.
    strobe: u64,
    /// The microphase that is not complete here.
    working: Option<Microphase>,
    /// Something has come that was not looked at, because somebody else had the run token.
    unread: bool,
    /// When the network was driven last.
    progressed_ns: u64,
    /// Local slices that did something, and polls that completed something.
    local_moves: u64,
    /// When a local slice last found no room for anything: how much this node had done by then, and the time.
    found_no_room: (u64, u64),
    /// The time of the last poll.
    polled_ns: u64,
    started_ns: u64,
    phase_ns: u64,
    record: LocalRecord,
}

impl<F: Road + ?Sized> GlobalNic<F> {
    /// This node's part. The fabric's members are the job's nodes, numbered as the job numbers them, and its
    /// memory and events are as large as `layout` says. The memory of the ranks' processes it reads and
    /// writes by `processes`.
    pub fn new(
        memory: Arc<NicMemory>,
        fabric: Box<F>,
        layout: GlobalLayout,
        processes: &'static dyn ProcessMemory,
    ) -> Self {
        let (node, _) = memory.node();
        let pacing = Pacing::of(&memory);
        Self {
            pacing,
            links: Links::default(),
            messages: PointToPointEngine::default(),
            collectives: Collectives { node: NodeId(node), ..Collectives::default() },
            tree: StrobeTree::new(layout, node),
            sender: (node == 0).then(|| StrobeLead::new(layout, pacing)),
            issued: None,
            strobe: 0,
            working: None,
            unread: false,
            progressed_ns: 0,
            local_moves: 0,
            found_no_room: (0, 0),
            polled_ns: 0,
            started_ns: 0,
            phase_ns: 0,
            record: LocalRecord::default(),
            memory,
            processes,
            fabric,
            layout,
            node,
        }
    }

    /// The slice that this node is in, and its microphase: on the lead until all nodes are done with it, on
    /// others until they are themselves.
    pub fn now_in(&self) -> (SliceIndex, Option<Microphase>) {
        let (slice, _) = read_strobe(self.strobe);
        let microphase = match &self.sender {
            Some(sender) => sender.running.filter(|_| slice != 0),
            None => self.working,
        };
        (SliceIndex(slice), microphase)
    }

    /// When to poll at the latest, if nothing arrives and no rank posts: the lead of fixed slices has a beat
    /// to keep, and records that nobody waits for go in the end.
    pub fn next_ns(&self) -> Option<u64> {
        let beat = self.sender.as_ref().and_then(StrobeLead::next_ns);
        let tally = self.tally_ns().filter(|due| *due > self.polled_ns);
        let waits_for_room = !self.messages.inbox.is_empty()
            || self.pacing.starts_on_work() && BufferSender::has_work(&self.memory);
        let room = waits_for_room.then_some(self.polled_ns + NO_ROOM_NS);
        let late = if self.pacing.strobes_all() { None } else { self.messages.next_ns() };
        [beat, self.links.next_ns(), tally, room, late].into_iter().flatten().min()
    }

    /// When a slice is to begin that tells of the messages since the last one, if there were any.
    fn tally_ns(&self) -> Option<u64> {
        let patience = if self.sender.is_some() { TALLY_NS } else { TALLY_NS + LEADS_TURN_NS };
        let remote = &self.memory.header().remote;
        let has_counted = remote.descriptors.get() != 0 || remote.matched.get() != 0;
        (!self.pacing.strobes_all() && has_counted).then_some(self.started_ns + patience)
    }

    /// All that this node has under way, for who looks for a fault.
    pub fn describe(&self) -> String {
        let Self { strobe, working, messages, collectives, links, tree, sender, .. } = self;
        format!(
            "{}: strobe {:?} working {working:?}\n{messages:?}\n{collectives:?}\n{links:?}\n{tree:?}\n{sender:?}",
            NodeId(self.node),
            read_strobe(*strobe),
        )
    }

    /// True when messages are on their way that come in several pieces.
    pub fn moves_pieces(&self) -> bool {
        self.messages.moves_pieces()
    }

    /// True when nothing of this node's is under way.
    pub fn is_idle(&self) -> bool {
        self.is_left_to_ranks() && self.memory.landings().used() == 0
    }

    /// True when what is under way, ranks that wait can go on with.
    fn is_left_to_ranks(&self) -> bool {
        self.messages.is_idle() && self.collectives.is_idle() && self.links.is_quiet()
    }

    /// Does what can be done now.
    ///
    /// # Errors
    /// See [`GlobalError`]: all of them end the job.
    pub fn poll(&mut self, now_ns: u64) -> Result<Polled, GlobalError> {
        // While somebody else has the token nothing that comes can be looked at: it is enough that the others
        // hear from this node.
        if !self.unread || now_ns.saturating_sub(self.progressed_ns) >= BUSY_PROGRESS_NS {
            self.progressed_ns = now_ns;
            self.fabric.progress()?;
        }
        if let Some(error) = self.fabric.take_failure() {
            return Err(error.into());
        }
        if let Some(node) = self.fabric.dead().first() {
            return Err(GlobalError::NodeDied { node });
        }
        self.unread = !self.memory.token().try_take(Holder::NIC_THREAD);
        if self.unread {
            return Ok(Polled::Busy);
        }
        let memory = self.memory.clone();
        let polled = self.poll_with_token(&memory, now_ns);
        // Orders completions against the look at who sleeps: see `waiting`.
        memory.token().release_and_fence();
        polled
    }

    fn poll_with_token(&mut self, memory: &NicMemory, now_ns: u64) -> Result<Polled, GlobalError> {
        let mut touched = Vec::new();
        self.polled_ns = now_ns;
        let moves_before = self.moves();
        // Read first: what was put here before the strobe is seen below.
        let strobe = match &self.sender {
            Some(_) => self.issued.take().unwrap_or(self.strobe),
            None => self.fabric.load(self.layout.strobe())?,
        };
        let mut moved = self.run_local_slice(memory, now_ns, &mut touched)?;
        let mut completer = Completer::new(memory, self.pacing);
        let mut links = std::mem::take(&mut self.links);
        let mut env = Env {
            memory,
            processes: self.processes,
            completer: &mut completer,
            links: &mut links,
            payload_bytes: payload_bytes(self.fabric.record_bytes() as u64),
            pacing: self.pacing,
            now_ns,
            slice: read_strobe(self.strobe).0,
        };
        let result = self.run(&mut env, strobe);
        self.links = links;
        moved |= result?;
        if !completer.touched.is_empty() {
            moved = true;
            self.local_moves += 1;
            touched.push(completer.touched);
        }
        self.tell_rest(memory, moves_before);
        memory.header().remote.thread_drives.set(u32::from(!self.is_left_to_ranks()));
        // What was handed to the network leaves it with the next poll: nobody is to sleep before.
        moved |= self.moves() != moves_before;
        Ok(Polled::Done { moved, touched })
    }

    /// Changes with everything that this node does.
    fn moves(&self) -> u64 {
        self.local_moves.wrapping_add(self.links.moves()).wrapping_add(self.collectives.moves)
    }

    /// Says in NIC memory whether anything of this node is under way between nodes, for who looks for a
    /// deadlock ([`crate::hang::is_deadlock`]). Only a poll that did nothing says that nothing is:
    /// those whom the one before it completed something for have been woken by then.
    fn tell_rest(&self, memory: &NicMemory, moves_before: u64) {
        let remote = &memory.header().remote;
        let (slice, _) = read_strobe(self.strobe);
        let is_quiet = self.moves() == moves_before
            && (self.pacing.runs_idle_slices() || self.working.is_none())
            && self.wish(memory).is_none()
            && self.tally_ns().is_none()
            && !PointToPointEngine::has_posted(memory)
            && self.messages.is_idle()
            && memory.landings().used() == 0
            && self.links.is_quiet();
        if !is_quiet {
            remote.rest.set(0);
        }
        remote.published.set(self.collectives.published);
        memory.header().room.driver_saw.set(self.messages.news);
        remote.moves.set(self.moves());
        remote.sent.set(self.links.sent);
        remote.taken.set(self.links.taken);
        if is_quiet {
            remote.rest.set(slice + 1);
        }
    }

    fn run_local_slice(
        &mut self,
        memory: &NicMemory,
        now_ns: u64,
        touched: &mut Vec<Touched>,
    ) -> Result<bool, GlobalError> {
        let clock = || now_ns;
        let wanted = if self.pacing.starts_on_work() {
            BufferSender::has_work(memory) && self.may_have_room(memory, now_ns)
        } else {
            StrobeSender::end_rest(memory, clock);
            StrobeSender::is_due(memory, clock)
        };
        if !wanted {
            return Ok(false);
        }
        let slice = StrobeSender::run(memory, clock)?;
        let in_vain = slice.touched.is_empty() && slice.counts == SliceCounts::default();
        if !in_vain {
            self.local_moves += 1;
        }
        if !slice.touched.is_empty() {
            touched.push(slice.touched);
        }
        if in_vain {
            self.found_no_room = (self.moves(), now_ns);
        }
        // Descriptors without room have to wait, and whoever makes room may want this processor.
        Ok(self.pacing.runs_idle_slices() || !in_vain)
    }

    /// Whether there may be room for what the last local slice had none for.
    fn may_have_room(&self, memory: &NicMemory, now_ns: u64) -> bool {
        let (moves, since_ns) = self.found_no_room;
        !BufferSender::is_stalled(memory)
            || moves != self.moves()
            || now_ns.saturating_sub(since_ns) >= NO_ROOM_NS
    }

    /// The NIC threads of this node. True if something was done.
    fn run(&mut self, env: &mut Env<'_, '_>, strobe: u64) -> Result<bool, GlobalError> {
        let arrived = self.fabric.test_event(ARRIVED)? > 0;
        let (mut taken, Self { fabric, messages, collectives, .. }) = (Ok(()), &mut *self);
        let records = fabric.poll(&mut |from, bytes| {
            if taken.is_ok() {
                taken = take_record(messages, collectives, env, from.0, bytes);
            }
        })?;
        taken?;
        let mut moved = arrived || records > 0;
        self.collectives.notice_breaches(env)?;
        if strobe != self.strobe {
            self.handle_microstrobe(env, strobe)?;
            moved = true;
        }
        if !self.pacing.strobes_all() {
            self.messages.exchange(env)?;
            self.messages.schedule(env)?;
            self.collectives.notice_breaches(env)?;
            self.collectives.publish(env)?;
            self.messages.transmit(env)?;
        }
        moved |= self.messages.advance_staged(env)?;
        self.collectives.poll(env)?;
        env.links.confirm = self.working == Some(Microphase::DescriptorExchange);
        moved |= env.links.flush(&mut *self.fabric, env.now_ns)?;
        env.links.tell_waiting(env.memory)?;
        self.messages.tell_waiting(env.memory)?;
        if let Some(working) = self.working
            && has_left(env.links, working, self.pacing)
        {
            self.complete(working, env.now_ns);
            moved = true;
        }
        moved |= self.report_and_ring(env, arrived)?;
        Ok(moved)
    }

    /// SR: a microstrobe wakes the threads of its microphase.
    fn handle_microstrobe(&mut self, env: &mut Env<'_, '_>, strobe: u64) -> Result<(), GlobalError> {
        let (before, now_ns) = (env.slice, env.now_ns);
        let (slice, microphase) = read_strobe(strobe);
        (self.strobe, env.slice) = (strobe, slice);
        self.working = microphase;
        self.tree.strobe(&mut *self.fabric, strobe)?;
        let Some(microphase) = microphase else { return Ok(()) };
        if slice != before {
            // What was before the first slice is told with it.
            if before != 0 {
                self.record_slice(env.memory);
            }
            let elapsed = if before == 0 { 0 } else { now_ns.saturating_sub(self.started_ns) };
            self.record =
                LocalRecord { slice: SliceIndex(slice), letts_ns: elapsed, ..LocalRecord::default() };
            self.started_ns = now_ns;
        }
        self.phase_ns = now_ns;
        match microphase {
            Microphase::DescriptorExchange => {
                self.messages.exchange(env)?;
                self.collectives.publish(env)?;
            }
            Microphase::MessageScheduling => {
                if self.pacing.strobes_all() {
                    self.messages.schedule(env)?;
                    self.collectives.notice_breaches(env)?;
                }
                self.collectives.schedule(env)?;
            }
            Microphase::PointToPoint => self.messages.transmit(env)?,
            // The other threads work within a node: collectives between nodes are over by then.
            _ => {}
        }
        Ok(())
    }

    /// A microphase is complete here: says what this node needs next.
    fn complete(&mut self, done: Microphase, now_ns: u64) {
        self.tree.complete((done < Microphase::PointToPoint).then(|| self.wants_transmission()).flatten());
        self.working = None;
        done.note_length(&mut self.record, now_ns.saturating_sub(self.phase_ns));
        self.record.ltts_ns = now_ns.saturating_sub(self.started_ns);
    }

    /// What this node wants of the next slice.
    fn wish(&self, memory: &NicMemory) -> Option<Microphase> {
        let (slice, _) = read_strobe(self.strobe);
        if self.pacing.strobes_all()
            && (memory.header().remote.outbound.get() != 0 || self.collectives.wants_to_publish(memory))
        {
            return Some(Microphase::DescriptorExchange);
        }
        let messages_want = match self.pacing.strobes_all() {
            true => self.messages.wants_scheduling(memory, slice),
            false => self.tally_ns().is_some_and(|due| self.polled_ns >= due),
        };
        let collectives_want =
            self.collectives.wants_to_publish(memory) || self.collectives.wants_scheduling();
        match messages_want || collectives_want {
            true => Some(Microphase::MessageScheduling),
            false => self.wants_transmission(),
        }
    }

    /// The microphase of the DHs, if they have something to move that waits for it: with elastic slices
    /// nothing does.
    fn wants_transmission(&self) -> Option<Microphase> {
        (self.pacing.strobes_all() && self.messages.wants_transmission()).then_some(Microphase::PointToPoint)
    }

    /// Says what has to be said of the microphase and of the next slice; on the lead node, drives the Strobe
    /// Sender.
    fn report_and_ring(&mut self, env: &Env<'_, '_>, arrived: bool) -> Result<bool, GlobalError> {
        self.tree.flush(&mut *self.fabric)?;
        let wish = self.wish(env.memory);
        let (_, microphase) = read_strobe(self.strobe);
        let is_done = self.tree.done.is_some()
            && microphase.is_none_or(|microphase| has_left(env.links, microphase, self.pacing));
        if let Some(sender) = &mut self.sender {
            if self.issued.is_some() {
                return Ok(true);
            }
            let report = if is_done { self.tree.report(&*self.fabric, wish)? } else { None };
            self.issued = sender.poll(&mut *self.fabric, env.now_ns, report, wish, arrived)?;
            if let Some(record) = sender.finished.take()
                && let Ok(ring) = EmdsRing::<GlobalRecord>::open(env.memory.emds_global())
            {
                ring.record(&record);
            }
            return Ok(self.issued.is_some());
        }
        let mut moved = is_done && self.tree.send_report(&mut *self.fabric, wish)?;
        let rung = self.fabric.test_event(RUNG)? > 0;
        if self.pacing.starts_on_work() {
            moved |= self.tree.ring(&mut *self.fabric, wish, rung)?;
        }
        Ok(moved)
    }

    /// Records the last slice, when the node takes part in no further one. A job may end before its first:
    /// then the messages that it had are told as those of slice 1.
    pub fn finish_recording(&mut self) {
        self.record.slice = self.record.slice.max(SliceIndex(1));
        self.record_slice(&self.memory.clone());
    }

    /// Records the slice that is over (table 5.2). Nobody else writes the local ring of a job on several
    /// nodes.
    fn record_slice(&mut self, memory: &NicMemory) {
        let remote = &memory.header().remote;
        let [descriptors, matched] = [&remote.descriptors, &remote.matched].map(|count| {
            let counted = count.get();
            count.set(0);
            counted
        });
        let collectives = std::mem::take(&mut self.collectives.scheduled);
        let Ok(ring) = EmdsRing::<LocalRecord>::open(memory.emds_local()) else { return };
        let counts = SliceCounts { descriptors, matched, collective_descriptors: collectives, collectives };
        ring.record(&counted(memory, &counts, self.record));
    }
}

/// Sees to a record that has come.
fn take_record(
    messages: &mut PointToPointEngine,
    collectives: &mut Collectives,
    env: &mut Env<'_, '_>,
    from: u32,
    bytes: &[u8],
) -> Result<(), GlobalError> {
    let Some((mut record, payload)) = env.links.take(from, bytes)? else { return Ok(()) };
    if record.kind == Kind::Data {
        return messages.take_data(env, from, record.words, payload);
    }
    record.payload = payload.to_vec();
    // Whatever was done last may have broken a communicator, and failed its collectives.
    collectives.notice_breaches(env)?;
    match record.kind {
        Kind::Up | Kind::Announced => collectives.handle_up(env, from, &record),
        Kind::Down | Kind::Agreed => collectives.handle_down(env, from, &record),
        Kind::Left => handle_left(env, from, &record),
        Kind::Broken => collectives.handle_broken(env, &record),
        _ => messages.handle_record(env, from, record),
    }
}

/// Whether this node is done with what it sends in a microphase: in DEM it has to be there at the end, as it
/// is to be scheduled in the next microphase. Else it has to have left, and receipts travel with what
/// follows.
fn has_left(links: &Links, microphase: Microphase, pacing: Pacing) -> bool {
    match microphase {
        Microphase::DescriptorExchange => links.is_delivered(),
        _ if pacing.strobes_all() => links.has_left(),
        // Data goes on beside the slices.
        _ => links.has_left_but_data(),
    }
}
