//! A party: the members of a communicator in one collective operation.
//!
//! It takes its number when the operation is called, which is the order in which operations of a
//! communicator match. Messages of the operation are in the communicator's odd context; their tag is made
//! of the operation's number and of the call, so that those of two operations under way never meet, and
//! an operation that some members do not call waits for them rather than take another's messages. It is
//! negative, so that it is no program's. Between two members messages keep their order (§3.5).
//!
//! On an intercommunicator messages go to and come from the members of the other group; what is told to
//! the NIC is told for both groups.

use super::meeting::{Arrival, awaits, post, tell};
use super::members::{Members, Membership};
use super::memory::Memory;
use super::nodes::Nodes;
use super::pending::Pending;
use super::plan::Plan;
use crate::api::{Mode, bcs_send};
use crate::constants::{MPI_COMM_NULL, MPI_Comm};
use crate::error::MpiResult;
use crate::object::Group;
use crate::object::communicators::Communicators;
use crate::object::contexts::Contexts;
use crate::object::history::History;
use crate::object::wanted::Wanted;
use crate::process::progress::Waiter;
use crate::process::{Guard, Process, ready, with};
use bcs_core::Rank;
use mds::Primitive;
use nic_emu::contexts::Context;
use nic_emu::descriptor::{Check, CollectiveKind, INLINE_BYTES};
use nic_emu::doorbell::RingKind;
use nic_emu::lane::LaneKey;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::{Collective, Release, Send};
use nic_emu::root::SidedRank;
use nic_emu::slab::SLAB_BYTES;
use nic_emu::status::WaitingFor;
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

/// Bits of a tag that name the call.
const CALL_BITS: u32 = 8;
const _: () =
    assert!(Primitive::COUNT < 1 << CALL_BITS, "a tag has no room for more calls, and none for the wildcard");

/// The tag of an operation's messages: a complement, so negative, and never ANY_TAG, as no call has the
/// highest number.
fn tag(sequence: u32, call: Primitive) -> i32 {
    !((sequence << CALL_BITS | call.index() as u32) & i32::MAX as u32).cast_signed()
}

/// Numbers that no call has, below that of the wildcard: in tags they stand for partitioned operations.
const NO_CALLS: u32 = (1 << CALL_BITS) - 1 - Primitive::COUNT as u32;

/// Tags that partitioned operations have for themselves in the context of collectives.
pub const PARTITIONED_TAGS: u32 = NO_CALLS << (31 - CALL_BITS);

/// One of these tags.
pub fn partitioned_tag(number: u32) -> i32 {
    debug_assert!(number < PARTITIONED_TAGS, "tag {number} of {PARTITIONED_TAGS}");
    let (sequence, call) = (number / NO_CALLS, Primitive::COUNT as u32 + number % NO_CALLS);
    !((sequence << CALL_BITS | call) & i32::MAX as u32).cast_signed()
}

/// The members of a communicator in one collective operation.
#[derive(Clone, Debug)]
pub struct Party {
    /// The communicator.
    pub comm: MPI_Comm,
    /// This process's rank.
    pub rank: CommRank,
    /// Members; of an intercommunicator, those of the other group.
    pub size: u32,
    contexts: Contexts,
    sequence: u32,
    tag: i32,
    /// The call.
    pub call: Primitive,
    /// Whom messages go to and come from.
    pub peers: Group,
    on_nic: (SidedRank, u32),
    local: (u16, u16),
    /// A call waits for the operation's end.
    pub blocks: bool,
    /// Algorithms that the user wants.
    pub wanted: Wanted,
    /// What is known of an operation that is started again and again.
    plan: Option<Rc<Plan>>,
    /// Times that this member has arrived on the NIC.
    arrivals: Cell<u32>,
    /// Says that the communicator is in use, as long as the party lives.
    _in_use: Option<Arc<()>>,
}

/// Those who take part in a collective operation.
pub trait Joins: Sized {
    /// This process in the next collective operation of a communicator, called by `call`, which waits for
    /// its end if it `blocks`.
    ///
    /// # Errors
    /// No such communicator.
    fn join(
        communicators: &mut Communicators,
        comm: MPI_Comm,
        call: Primitive,
        blocks: bool,
    ) -> MpiResult<Self>;

    /// The same in an operation that goes by a plan.
    fn by_plan(self, plan: &Rc<Plan>) -> Self;

    /// What a hang report says of a rank that waits for the operation.
    fn waiting(&self) -> WaitingFor;
}

impl Joins for Party {
    fn join(
        communicators: &mut Communicators,
        comm: MPI_Comm,
        call: Primitive,
        blocks: bool,
    ) -> MpiResult<Self> {
        let job_wants = communicators.wanted;
        let communicator = communicators.named_mut(comm)?;
        let (sequence, contexts) = (communicator.next_sequence(), communicator.contexts());
        let place = (contexts.own, tag(sequence, call));
        Ok(Self {
            comm,
            contexts,
            sequence,
            on_nic: communicator.on_nic,
            local: communicator.local,
            blocks,
            wanted: communicator.hints.wanted.or(&job_wants),
            _in_use: Some(communicator.in_use.clone()),
            ..Self::loose(call, place, communicator.rank, communicator.peers.clone())
        })
    }

    fn by_plan(self, plan: &Rc<Plan>) -> Self {
        Self { wanted: plan.wanted, plan: Some(plan.clone()), ..self }
    }

    fn waiting(&self) -> WaitingFor {
        let (call, context) = (self.call.index() as u32, self.contexts.own);
        WaitingFor { call, context, ..WaitingFor::SOMETHING }
    }
}

impl Party {
    /// Processes that have no communicator yet, or are two of one: they call each other by their ranks in
    /// `peers`, this one by `rank`, and their messages have this context and tag. The NIC does nothing
    /// for them as a whole.
    #[inline]
    pub fn loose(call: Primitive, (context, tag): (Context, i32), rank: CommRank, peers: Group) -> Self {
        Self {
            comm: MPI_COMM_NULL,
            rank,
            size: peers.size(),
            contexts: Contexts { own: context, above: [None; 2] },
            sequence: 0,
            tag,
            call,
            peers,
            on_nic: (SidedRank(0), 0),
            local: (0, 0),
            blocks: false,
            wanted: Wanted::default(),
            plan: None,
            arrivals: Cell::new(0),
            _in_use: None,
        }
    }

    /// Part of another party: if the communicator in which that was made is broken, so is this one's.
    pub fn in_part_of(self, other: &Self) -> Self {
        let [made_in, _] = self.contexts.above;
        Self { contexts: Contexts { above: [made_in, other.contexts.above[0]], ..self.contexts }, ..self }
    }

    /// The operation, as lanes name it.
    pub fn lane_key(&self) -> LaneKey {
        LaneKey(self.contexts.own, self.sequence, 0)
    }

    /// What is known of an operation that is started again and again.
    pub fn plan(&self) -> Option<&Plan> {
        self.plan.as_deref()
    }

    /// Bytes that a member's contribution to a collective of the NIC may have: a slab, in a call that waits
    /// for one, or where the operation has one of its own. Of others that do not block any number may be
    /// under way, in a different order at each member, and slabs are few: there it is what rides in the
    /// descriptor.
    pub fn room_on_nic(&self) -> usize {
        let has_slab = self.blocks || self.plan().is_some_and(|plan| plan.slab().is_some());
        if has_slab { SLAB_BYTES } else { INLINE_BYTES }
    }

    /// Whether all members are on this node.
    pub fn is_on_one_node(&self) -> bool {
        self.local.1 as u32 == self.on_nic.1
    }

    /// Whether most of this rank's slabs are free.
    pub fn has_many_slabs(&self) -> bool {
        with(|process| Ok(process.port.has_many_slabs())).unwrap_or(false)
    }

    /// Whether ranks of this node share cores.
    pub fn is_crowded(&self) -> bool {
        with(|process| Ok(process.port.is_crowded())).unwrap_or(false)
    }

    /// Whether cores of this node are slow to take written lines from each other.
    pub fn has_slow_lines(&self) -> bool {
        with(|process| Ok(process.port.has_slow_lines())).unwrap_or(false)
    }

    /// Whether messages to other nodes leave as soon as they are posted.
    pub fn sends_at_once(&self) -> bool {
        with(|process| Ok(process.port.sends_at_once())).unwrap_or(false)
    }

    /// Whether there is no other member, in either group.
    pub fn is_alone(&self) -> bool {
        self.on_nic.1 == 1
    }

    /// The same with the tag of this call. Messages along the edges of a topology ([`Self::send_checked`])
    /// have that of one whatever the call is, so that they meet, and the calls are compared; those that tell
    /// of edges have another one.
    pub fn tagged_as(self, call: Primitive) -> Self {
        Self { tag: tag(self.sequence, call), ..self }
    }

    /// A member's rank in the job.
    pub fn job_rank(&self, member: CommRank) -> Rank {
        self.peers.job_rank(member)
    }

    /// The context of its messages.
    pub fn context(&self) -> Context {
        self.contexts.own
    }

    /// What both ends of an edge have to say alike of a block of this signature.
    pub fn check(&self, signature: u16) -> Check {
        Check::of(self.call, signature)
    }

    /// Posts a send. If it has a check, as along an edge, the member at the other end has to receive as many
    /// bytes, of a type with the same signature, in the same call. Otherwise the communicator is broken.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn send_checked(
        &self,
        process: &mut Guard,
        to: CommRank,
        (data, check): (Memory, Check),
    ) -> MpiResult<Pending> {
        let (context, source, tag) = (self.contexts.own, self.rank, self.tag);
        let destination = self.job_rank(to);
        let send = Send { context, source, tag, destination, synchronous: false, signature: 0, check };
        let (peer, mode) = ((to, self.comm), Mode::NonBlocking);
        // SAFETY: the promise of `Memory::new`.
        let posted = unsafe { bcs_send(process, self.call, &send, peer, data.first(), data.bytes(), mode)? };
        process.progress.has_posted = true;
        Ok(Pending::new(posted, None, self.contexts))
    }

    /// Posts a receive of all that [`Self::send_checked`] sends at the other end. One without a check is not
    /// held (`Port::begin_receive`): a slice that takes its message has compared before what the members have
    /// called.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn receive_checked(
        &self,
        process: &mut Guard,
        from: CommRank,
        (place, check): (Memory, Check),
    ) -> MpiResult<Pending> {
        let envelope = Envelope { context: self.contexts.own, source: from, tag: self.tag };
        let peer = (self.job_rank(from), self.comm.0 as u64);
        let what = || WaitingFor { peer: from, peer_in_job: peer.0, ..self.waiting() };
        process.make_room(what, |port| port.lacks_cell(RingKind::Receive))?;
        process.progress.has_posted = true;
        let place = (place.first(), place.bytes());
        let posted = match check {
            // SAFETY: the promise of `Memory::new`.
            Check::NONE => unsafe { process.port.post_receive_of(&envelope, check, peer, 0, place)? },
            // SAFETY: as above.
            _ => unsafe { process.port.begin_receive(&envelope, check, peer, 0, place)? },
        };
        Ok(Pending::new(Some(posted), Some(place.1 as u64), self.contexts))
    }

    /// The NIC does something for all members: posts this one's arrival, with a contribution for which there
    /// is room ([`Self::room_on_nic`]), and answers the release, or none at once where `wanted` is false. An
    /// operation that does not block arrives once.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes until the answer is there.
    ///
    /// # Errors
    /// The NIC fails.
    pub async unsafe fn meet(
        &self,
        arrival: &Arrival,
        data: *const u8,
        bytes: usize,
        wanted: bool,
    ) -> MpiResult<Option<Release>> {
        // SAFETY: the caller's promise.
        match unsafe { self.reach(arrival, data, bytes, wanted)? } {
            Some(waiter) => self.release(waiter).await.map(Some),
            None => Ok(None),
        }
    }

    /// The first half of [`Self::meet`]: posts this member's arrival; answers what it waits with, if it is
    /// to.
    ///
    /// # Safety
    /// As there.
    ///
    /// # Errors
    /// The NIC fails.
    pub unsafe fn reach(
        &self,
        arrival: &Arrival,
        data: *const u8,
        bytes: usize,
        wanted: bool,
    ) -> MpiResult<Option<Waiter>> {
        with(|process| {
            let collective = self.collective(process, arrival)?;
            let root = arrival.awaited().map_or(Rank::NOBODY, |root| self.job_rank(root));
            if self.blocks {
                // SAFETY: the caller's promise.
                return unsafe { post(process, &collective, root, data, bytes, wanted) };
            }
            let awaits = awaits(process, &collective, root)?;
            let slab = self.plan().and_then(Plan::slab).filter(|slab| process.port.has_idle(*slab));
            // SAFETY: as above.
            let request = unsafe { tell(process, &collective, (data, bytes), wanted, slab)? };
            process.port.leave_to_nic(request, awaits)?;
            Ok(request.map(|request| Waiter { request, awaits }))
        })
    }

    /// The second half: waits until the NIC lets the member go.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn release(&self, waiter: Waiter) -> MpiResult<Release> {
        let Waiter { request, awaits } = waiter;
        let released = poll_fn(|_| {
            ready(with(|process| {
                let released = process.port.test_collective(request)?;
                if released.is_none() {
                    // The NIC refuses what waits in it.
                    let _ = self.contexts.check_whole(&mut process.port);
                }
                process.progress.awaited = released.is_none().then_some(Waiter { request, awaits });
                Ok(released)
            }))
        });
        released.await
    }

    /// Tells the NIC of an operation that goes by messages, so that members who call what does not fit
    /// are found: with the root, the operation or the signature of the datatype, and the bytes about
    /// which all have to say the same.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn announce(&self, arrival: &Arrival) -> MpiResult {
        with(|process| self.announce_in(process, arrival))
    }

    /// [`Self::announce`] in a call that has the process.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn announce_in(&self, process: &mut Guard, arrival: &Arrival) -> MpiResult {
        if self.is_alone() {
            return Ok(());
        }
        let arrival = Arrival { kind: CollectiveKind::Announcement, ..*arrival };
        let collective = self.collective(process, &arrival)?;
        // An operation under way may outlive its communicator, which then has no history to compare.
        if let Ok(communicator) = process.communicator_mut(self.comm) {
            communicator.history.add(&collective);
        }
        // SAFETY: nothing is given.
        unsafe { tell(process, &collective, (std::ptr::null(), 0), false, None)? };
        process.progress.has_posted = true;
        Ok(())
    }

    /// What this member has announced in the communicator.
    ///
    /// # Errors
    /// The communicator is gone.
    pub fn history(&self) -> MpiResult<History> {
        with(|process| Ok(process.communicator(self.comm)?.history))
    }

    /// All members' announcements have been compared.
    ///
    /// # Errors
    /// The communicator is gone.
    pub fn begin_history(&self) -> MpiResult {
        with(|process| {
            process.communicator_mut(self.comm)?.history = History::default();
            Ok(())
        })
    }

    /// An arrival of this member. The operation's number is that of the first one. A call that blocks may
    /// arrive more often: nobody calls another collective of the communicator meanwhile, so it takes the next
    /// numbers.
    fn collective(&self, process: &mut Process, arrival: &Arrival) -> MpiResult<Collective> {
        self.contexts.check_whole(&mut process.port)?;
        let sequence = match self.arrivals.replace(self.arrivals.get() + 1) {
            0 => self.sequence,
            _ => process.communicator_mut(self.comm)?.next_sequence(),
        };
        Ok(arrival.collective(sequence, self.call, self.contexts.own, (self.on_nic, self.local)))
    }
}

impl Membership for Party {
    fn rank(&self) -> CommRank {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn nodes(&self) -> MpiResult<Rc<Nodes>> {
        let ask = || {
            with(|process| {
                let memory = process.port.memory();
                let node = |member| memory.place(self.job_rank(member)).map(|(node, _)| node);
                let nodes: Result<Vec<u32>, _> = CommRank::all(self.size).map(node).collect();
                Ok(Rc::new(Nodes::of(nodes?)))
            })
        };
        self.plan().map_or_else(ask, |plan| plan.nodes(ask))
    }
}

impl Members for Party {
    type Message = Pending;

    fn post_send(&self, to: CommRank, data: Memory) -> MpiResult<Pending> {
        with(|process| self.send_checked(process, to, (data, Check::NONE)))
    }

    fn post_receive(&self, from: CommRank, place: Memory) -> MpiResult<Pending> {
        with(|process| self.receive_checked(process, from, (place, Check::NONE)))
    }
}
