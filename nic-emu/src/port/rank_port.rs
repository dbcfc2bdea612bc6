//! A rank's port: what it is made of, and how a rank opens it.

use super::ahead::Ahead;
use super::error::PortError;
use super::keeper::Keeping;
use super::link_driver::LinkDriver;
use crate::channel::{self, Mine, Stores};
use crate::host::buffer_writes::CardWrites;
use crate::host::clock::now_ns;
use crate::host::crowd::Crowd;
use crate::host::mapping;
use crate::host::process::{allow_attach, pid_namespace};
use crate::host::shared_links::SharedLinks;
use crate::host::waiting;
use crate::matching::Envelope;
use crate::memory::descriptor::Check;
use crate::memory::door::DoorAllocator;
use crate::memory::doorbell::{Heads, HeadsWord, RingKind};
use crate::memory::edge::EdgeAllocator;
use crate::memory::lane::{LaneReader, LaneWriter};
use crate::memory::request::RequestSlot;
use crate::memory::ring::Ring;
use crate::memory::slab::SlabAllocator;
use crate::memory::status::{Phase, RankStatus, WaitingFor};
use crate::memory::sync::Ordering;
use crate::memory::token::Holder;
use crate::memory::{Corrupt, LocalRank, NicMemory, REQUESTS, RankBlock, RequestId, SlabId};
use crate::policy::{Pacing, WaitPolicy};
use crate::port::outstanding::{About, Outstanding, Purpose};
use crate::threads::completer::Touched;
use crate::threads::processor::Processor;
use rustix::fd::OwnedFd;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

/// A rank's port.
pub struct Port {
    pub(super) memory: Arc<NicMemory>,
    /// This rank's block and doorbell, in `memory`.
    pub(super) block: NonNull<RankBlock>,
    pub(super) doorbell: NonNull<HeadsWord>,
    pub(super) local_rank: LocalRank,
    pub(super) heads: Heads,
    /// The taken word as last read: at least so many cells are free.
    pub(super) taken: Heads,
    /// The heads when this rank last went for the token, or refrained from it.
    pub(super) offered: Heads,
    /// Of the contexts of single matched messages, the next.
    pub(super) next_matched: u32,
    pub(super) slabs: SlabAllocator,
    pub(super) ahead: Ahead,
    /// Sends that this rank has posted since the job began.
    pub(super) sent: u64,
    /// By local rank: how far this rank has looked in its send ring, as doorbells count.
    pub(super) seen: Vec<u32>,
    /// Receives that are held, the oldest first.
    pub(super) held: Vec<Held>,
    /// Receives that have begun since nothing was outstanding.
    pub(super) begun: usize,
    /// So many had begun the time before that it was in vain to hold some.
    pub(super) begins_many: bool,
    pub(super) reading: Reading,
    pub(super) keeping: Keeping,
    pub(super) edges: EdgeAllocator,
    pub(super) doors: DoorAllocator,
    /// Slabs that the next operations go to, and the bytes that they were taken for.
    pub(super) operation_slabs: Option<(SlabId, usize)>,
    pub(super) lane: LaneWriter,
    pub(super) lane_pace: LanePace,
    /// By local rank: where its lane is read next.
    pub(super) lane_readers: Vec<LaneReader>,
    pub(super) outstanding: Outstanding,
    pub(super) transfers_seen: u32,
    pub(super) moving: Vec<OwnTransfer>,
    /// Of these, which is looked at next.
    pub(super) next_moving: usize,
    pub(super) draining: Vec<Draining>,
    pub(super) stores: Stores,
    pub(super) channel: channel::Policy,
    pub(super) waiting: WaitPolicy,
    /// Waits that are under way: of threads, or one in another.
    pub(super) waiters: u32,
    /// The request that the last wait is for, if that is one, and whether the rank stays in its call until
    /// all of its requests are complete: see [`Port::stay_for_all`].
    pub(super) stays_for: (RequestId, bool),
    /// Whether this rank has run a slice in the wait that is under way, or the last one; none where it has
    /// not looked for one to run.
    pub(super) has_run: Option<bool>,
    /// Waits in a row in which it has not: the slices of others ended them. No more than
    /// [`WaitPolicy::trust`].
    pub(super) served: u32,
    pub(super) pacing: Pacing,
    /// Others do not come to a collective within the microseconds of [`Port::be_patient`]: slices are
    /// fixed, or members on other nodes.
    pub(super) is_hasty: bool,
    /// What wakes the NIC thread of a job on several nodes.
    pub(super) wake_pipe: Option<OwnedFd>,
    /// Links to other nodes, where this rank can drive them.
    pub(super) links: Option<Box<LinkDriver>>,
    /// Of a job on several nodes: whether others want this rank's core.
    pub(super) crowd: Option<Crowd>,
    /// Of the collectives that span nodes: how many all local members had reached when the NIC thread was
    /// told last.
    pub(super) awaited: Cell<u32>,
    pub(super) clock: fn() -> u64,
}

/// A receive that its rank has begun, and not posted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) request: RequestId,
    /// The source.
    pub(super) sender: LocalRank,
    pub(super) envelope: Envelope,
    /// What its message has to say alike.
    pub(super) check: Check,
}

/// Whether a rank reads messages in their senders' memory, by what came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reading {
    /// Messages in a row that were read in vain.
    in_vain: u32,
    /// Messages that are not read.
    pausing: u32,
}

impl Reading {
    /// Twice the messages that are not read after several in a row were read in vain, at most.
    const MOST_IN_VAIN: u32 = 64;

    /// Whether to read a message.
    pub(super) fn may_read(&mut self) -> bool {
        let reads = self.pausing == 0;
        self.pausing = self.pausing.saturating_sub(1);
        reads
    }

    /// A message was read, and was this rank's then, or not.
    pub(super) fn note(&mut self, claimed: bool) {
        self.in_vain = if claimed { 0 } else { (2 * self.in_vain + 1).min(Self::MOST_IN_VAIN) };
        self.pausing = self.in_vain / 2;
    }
}

/// A receive whose bytes are being copied out of slabs that its sender still fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draining {
    pub(super) request: RequestId,
    pub(super) copied: u64,
}

/// A transfer that this rank is an end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OwnTransfer {
    pub(super) transfer: u32,
    pub(super) request: RequestId,
    pub(super) mine: Mine,
    pub(super) asked: u64,
}

/// How fast this rank fills its lane: where cores are far from each other, slowly, as the lines have to come
/// from the readers' caches.
#[derive(Clone, Copy, Debug)]
pub(super) struct LanePace {
    /// Nanoseconds a KB, of the fastest chunk since the last look.
    pub(super) best: u64,
    pub(super) slow: bool,
    /// Collectives since a lane was last tried.
    pub(super) untried: u32,
}

// SAFETY: `block` and `doorbell` point into `memory`, which may go from thread to thread.
unsafe impl std::marker::Send for Port {}

impl Port {
    /// The port of a rank in the NIC memory behind this descriptor.
    pub fn attach(fd: OwnedFd, local_rank: LocalRank) -> Result<Self, PortError> {
        Self::open(Arc::new(mapping::attach(fd)?), local_rank)
    }

    /// The port of a rank in memory that this process has mapped.
    pub fn open(memory: Arc<NicMemory>, local_rank: LocalRank) -> Result<Self, PortError> {
        let block = memory.rank(local_rank)?;
        allow_attach();
        // Ranks that count processes differently do not find each other by number, or find others.
        let (theirs, own) = (memory.header().pid_namespace.get(), pid_namespace());
        if theirs != 0 && own != 0 && theirs != own {
            memory.header().cross_memory.set(0);
        }
        let rank = memory.job_rank(local_rank);
        block.status.claim(std::process::id()).map_err(|pid| PortError::Taken { rank, pid })?;
        block.status.set_phase(Phase::Attached);
        let transfers_seen = block.status.transfers_started.load(Ordering::Acquire);
        let doorbell = memory.doorbell(local_rank)?;
        let heads = doorbell.read();
        Ok(Self {
            block: NonNull::from(block),
            doorbell: NonNull::from(doorbell),
            local_rank,
            heads,
            offered: heads,
            next_matched: 0,
            taken: memory.taken()[local_rank.index()].read(),
            slabs: SlabAllocator::default(),
            ahead: Ahead::default(),
            sent: last_label(block, heads),
            seen: memory.taken().iter().map(|taken| taken.peek().get(RingKind::Send)).collect(),
            held: Vec::new(),
            begun: 0,
            begins_many: false,
            reading: Reading::default(),
            keeping: Keeping::default(),
            edges: EdgeAllocator::default(),
            doors: DoorAllocator::default(),
            operation_slabs: None,
            lane: LaneWriter::default(),
            lane_pace: LanePace { best: u64::MAX, slow: false, untried: 0 },
            lane_readers: vec![LaneReader::default(); memory.layout().local_ranks as usize],
            outstanding: Outstanding::default(),
            transfers_seen,
            moving: Vec::new(),
            next_moving: 0,
            draining: Vec::new(),
            stores: Stores::default(),
            channel: channel::Policy::for_node(&memory),
            waiting: WaitPolicy::of(&memory, false),
            waiters: 0,
            stays_for: (RequestId::NONE, false),
            has_run: None,
            served: 0,
            pacing: Pacing::of(&memory),
            is_hasty: !Pacing::of(&memory).starts_on_work(),
            wake_pipe: None,
            links: None,
            crowd: None,
            awaited: Cell::new(0),
            clock: now_ns,
            memory,
        })
    }

    /// The same port with another clock: simulations run on virtual time.
    pub fn with_clock(self, clock: fn() -> u64) -> Self {
        Self { clock, ..self }
    }

    /// The same port of a job on several nodes, whose NIC thread this descriptor wakes
    /// (`crate::host::wake_pipe`).
    pub fn with_wake_pipe(self, writer: OwnedFd) -> Self {
        let header = self.memory.header();
        let crowd = Crowd::of_yielding(self.memory.layout().local_ranks, header.cores.get());
        let waiting = WaitPolicy::of(&self.memory, true);
        Self { wake_pipe: Some(writer), crowd: Some(crowd), waiting, is_hasty: true, ..self }
    }

    /// The same port of a rank that can drive the links of its job, and write by a network card if there is
    /// one, where its slices let ranks do that.
    pub fn with_links(self, links: SharedLinks, writes: Option<CardWrites>) -> Self {
        let drives = self.sends_at_once();
        Self { links: drives.then(|| Box::new(LinkDriver::new(links, writes))), ..self }
    }

    /// Whether messages to other nodes leave as soon as they are posted, and not with a slice.
    #[inline]
    pub fn sends_at_once(&self) -> bool {
        !self.pacing.strobes_all()
    }

    /// The NIC memory.
    pub fn memory(&self) -> &Arc<NicMemory> {
        &self.memory
    }

    /// Which rank of its node this rank is.
    pub fn local_rank(&self) -> LocalRank {
        self.local_rank
    }

    /// Enters [`Phase::Finalized`].
    pub fn finalize(&self) {
        self.status().set_phase(Phase::Finalized);
    }

    /// Takes [`Self::finalize`] back: the rank uses the NIC again.
    pub fn resume(&self) {
        self.status().set_phase(Phase::Attached);
    }

    /// The processor, as this rank runs it.
    #[inline]
    pub fn processor(&self) -> Processor<'_> {
        Processor::new(&self.memory, Holder::rank(self.local_rank))
    }

    /// This rank's block.
    #[inline(always)]
    pub(super) fn block(&self) -> &RankBlock {
        // SAFETY: it is in `memory`, which stays mapped as long as this port.
        unsafe { self.block.as_ref() }
    }

    /// This rank's doorbell.
    #[inline(always)]
    pub(super) fn doorbell(&self) -> &HeadsWord {
        // SAFETY: as above.
        unsafe { self.doorbell.as_ref() }
    }

    /// A request slot of this rank.
    #[inline(always)]
    pub(super) fn slot(&self, request: RequestId) -> Result<&RequestSlot, PortError> {
        match self.block().requests.get(request.index()) {
            Some(slot) => Ok(slot),
            None => Err(no_slot(request)),
        }
    }

    #[inline]
    pub(super) fn status(&self) -> &RankStatus {
        &self.block().status
    }

    /// How this rank waits.
    #[inline(always)]
    pub fn waits(&self) -> &WaitPolicy {
        &self.waiting
    }

    /// The same, to be changed: what is under way may still go by what was before.
    pub fn waits_mut(&mut self) -> &mut WaitPolicy {
        &mut self.waiting
    }

    /// When this rank moves bytes by which channel.
    pub fn channels(&self) -> &channel::Policy {
        &self.channel
    }

    /// The same, to be changed.
    pub fn channels_mut(&mut self) -> &mut channel::Policy {
        &mut self.channel
    }

    /// Descriptors that this rank has posted in a ring, and nobody has taken.
    pub fn posted(&self, ring: RingKind) -> u32 {
        let taken = self.memory.taken()[self.local_rank.index()].read();
        Heads::distance(taken.get(ring), self.heads.get(ring))
    }

    /// What is known of this rank's outstanding requests, and their names.
    #[inline(always)]
    pub fn requests(&self) -> &Outstanding {
        &self.outstanding
    }

    /// The same, to name and label them.
    #[inline(always)]
    pub fn requests_mut(&mut self) -> &mut Outstanding {
        &mut self.outstanding
    }

    /// Whether an outstanding request is that of a send.
    #[inline]
    pub fn is_send(&self, request: RequestId) -> bool {
        self.outstanding.purpose(request) == Some(Purpose::Send)
    }

    /// What a hang report says of a call that waits for this request, and for `requests` in all.
    pub fn waiting_for(&self, request: RequestId, call: u32, requests: u32) -> WaitingFor {
        let about = self.outstanding.about(request).copied().unwrap_or(About::NOTHING);
        WaitingFor {
            call,
            context: about.context,
            peer: about.peer,
            tag: about.tag,
            bytes: about.bytes,
            requests,
            peer_in_job: about.peer_in_job,
            sends: self.is_send(request),
            ..WaitingFor::SOMETHING
        }
    }

    pub(super) fn wake(&self, touched: &Touched) {
        waiting::wake_touched(&self.memory, touched);
    }
}

/// The label of the entry that a rank has posted last in its send ring; 0 for none.
fn last_label(block: &RankBlock, heads: Heads) -> u64 {
    let next = heads.get(RingKind::Send);
    let label = Ring::new(&block.send).cell(next.wrapping_sub(1)).label();
    if Heads::of_label(label) == next { label } else { 0 }
}

#[cold]
fn no_slot(request: RequestId) -> PortError {
    Corrupt { what: "request slot", value: request.0.into(), limit: REQUESTS as u64 }.into()
}
