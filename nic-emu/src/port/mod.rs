//! A rank's port to its NIC: post descriptors, look at requests, lend the core while waiting.
//!
//! A port belongs to one process, and its methods to one thread at a time (the MPI library holds its lock
//! around them). Call `post_*`, then `test` the request until it is complete, with [`Port::progress`] or
//! [`Port::wait`] in between; every request that was posted must be taken by `test` once.

pub mod board;
mod breaking;
mod buffering;
mod completing;
mod filling;
mod keeper;
mod keeping;
mod laning;
mod lending;
mod meeting;
mod moving;
pub mod outstanding;
mod posting;
mod room;
mod wiring;

pub use completing::{Outcome, Received, Release};
pub use laning::Giving;
pub use lending::{LONGEST_SLEEP, SOME_REQUESTS, Stepped, Waiting};
pub use meeting::Awaits;
pub use posting::{Collective, Posted, Send};
pub use wiring::{Put, Take};

use crate::channel::{self, ChannelError, Stores};
use crate::host::crowd::Crowd;
use crate::host::waiting::{self, WaitPolicy};
use crate::memory::descriptor::CollectiveKind;
use crate::memory::doorbell::{Heads, HeadsWord};
use crate::memory::edge::EdgeAllocator;
use crate::memory::lane::{LaneReader, LaneWriter};
use crate::memory::request::RequestSlot;
use crate::memory::slab::SlabAllocator;
use crate::memory::status::{Activity, Phase, WaitingFor};
use crate::memory::sync::Ordering;
use crate::memory::token::Holder;
use crate::memory::{Corrupt, MapError, NicMemory, REQUESTS, RankBlock};
use crate::port::outstanding::{About, Outstanding, Purpose};
use crate::threads::completer::Touched;
use crate::threads::processor::Processor;
use buffering::Draining;
use keeping::Keeping;
use laning::LanePace;
use moving::Moving;
use rustix::fd::OwnedFd;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;

/// Why a port cannot go on. All of them end the job, but for [`PortError::Broken`]; none is the program's
/// fault alone.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// NIC memory cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A slice failed.
    #[error(transparent)]
    Slice(#[from] Corrupt),
    /// Bytes of a message cannot be moved.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// Another process is this rank.
    #[error(
        "rank {rank} of this job is process {pid} already; one process of each rank calls MPI_Init, once (to run an MPI program from another, unset BCS_RANK)"
    )]
    Taken {
        /// The rank.
        rank: u32,
        /// The process.
        pid: u32,
    },
    /// Members of a communicator called collectives that do not fit: the report.
    #[error("{0}")]
    Broken(Box<str>),
    /// Another rank aborted the job, or the launcher ends it.
    #[error("the job is being ended")]
    Aborted,
    /// More requests are outstanding than the NIC has slots for.
    #[error(
        "{limit} requests are outstanding, which is all that the NIC has room for; complete some before posting more"
    )]
    TooManyRequests {
        /// The number of slots.
        limit: usize,
    },
    /// A contribution to a collective does not fit in a slab.
    #[error(
        "a contribution of {bytes} bytes to a collective ({operation:?}) is larger than a slab, \
         {limit} bytes; give it through a lane or as messages"
    )]
    LongContribution {
        /// What the collective does.
        operation: CollectiveKind,
        /// How long the contribution is.
        bytes: usize,
        /// Bytes of a slab.
        limit: usize,
    },
}

/// A rank's port.
pub struct Port {
    memory: Arc<NicMemory>,
    /// This rank's block and doorbell, in `memory`.
    block: NonNull<RankBlock>,
    doorbell: NonNull<HeadsWord>,
    local_index: u32,
    heads: Heads,
    /// The taken word as last read: at least so many cells are free.
    taken: Heads,
    /// The heads when this rank last went for the token, or refrained from it.
    offered: Heads,
    /// Of the contexts of single matched messages, the next.
    next_matched: u32,
    slabs: SlabAllocator,
    /// The first slab of the message that was buffered last.
    last_run: u32,
    keeping: Keeping,
    edges: EdgeAllocator,
    /// Long messages along edges so far.
    long_blocks: u32,
    lane: LaneWriter,
    lane_pace: LanePace,
    /// By local rank: where its lane is read next.
    lane_readers: Vec<LaneReader>,
    outstanding: Outstanding,
    transfers_seen: u32,
    moving: Vec<Moving>,
    draining: Vec<Draining>,
    stores: Stores,
    channel: channel::Policy,
    waiting: WaitPolicy,
    /// This rank has run a slice in the wait that is under way, or the last one.
    has_run: bool,
    /// Waits in a row in which it has not: the slices of others ended them. No more than
    /// [`WaitPolicy::trust`].
    served: u32,
    fixed: bool,
    /// Others do not come to a collective within the microseconds of [`Port::be_patient`]: slices are
    /// fixed, or members on other nodes.
    is_hasty: bool,
    /// What wakes the NIC thread of a job on several nodes.
    wake_pipe: Option<OwnedFd>,
    /// Of a job on several nodes: whether others want this rank's core.
    crowd: Option<Crowd>,
    /// Of the collectives that span nodes: how many all local members had reached when the NIC thread was
    /// told last.
    arrived: Cell<u32>,
    clock: fn() -> u64,
}

// SAFETY: `block` and `doorbell` point into `memory`, which may go from thread to thread.
unsafe impl std::marker::Send for Port {}

impl Port {
    /// The port of a rank in the NIC memory behind this descriptor.
    pub fn attach(fd: OwnedFd, local_index: u32) -> Result<Self, PortError> {
        let mut memory = NicMemory::attach(fd)?;
        memory.close_descriptor();
        Self::open(Arc::new(memory), local_index)
    }

    /// The port of a rank in memory that this process has mapped.
    pub fn open(memory: Arc<NicMemory>, local_index: u32) -> Result<Self, PortError> {
        let block = memory.rank(local_index)?;
        allow_attach();
        // Ranks that count processes differently do not find each other by number, or find others.
        let (theirs, own) = (memory.header().pid_namespace.get(), pid_namespace());
        if theirs != 0 && own != 0 && theirs != own {
            memory.header().cross_memory.set(0);
        }
        let rank = memory.job_rank(local_index);
        block.status.claim(std::process::id()).map_err(|pid| PortError::Taken { rank, pid })?;
        block.status.set_phase(Phase::Attached);
        let transfers_seen = block.status.transfers_started.load(Ordering::Acquire);
        let doorbell = memory.doorbell(local_index)?;
        let heads = doorbell.read();
        Ok(Self {
            block: NonNull::from(block),
            doorbell: NonNull::from(doorbell),
            local_index,
            heads,
            offered: heads,
            next_matched: 0,
            taken: memory.taken()[local_index as usize].read(),
            slabs: SlabAllocator::default(),
            last_run: 0,
            keeping: Keeping::default(),
            edges: EdgeAllocator::default(),
            long_blocks: 0,
            lane: LaneWriter::default(),
            lane_pace: LanePace::default(),
            lane_readers: vec![LaneReader::default(); memory.layout().local_ranks as usize],
            outstanding: Outstanding::default(),
            transfers_seen,
            moving: Vec::new(),
            draining: Vec::new(),
            stores: Stores::default(),
            channel: channel::Policy::for_node(&memory),
            waiting: WaitPolicy::for_node(&memory),
            has_run: false,
            served: 0,
            fixed: memory.header().slice_period_ns.get() != 0,
            is_hasty: memory.header().slice_period_ns.get() != 0,
            wake_pipe: None,
            crowd: None,
            arrived: Cell::new(0),
            clock: now_ns,
            memory,
        })
    }

    /// The same port with another clock: simulations run on virtual time.
    pub fn with_clock(self, clock: fn() -> u64) -> Self {
        Self { clock, ..self }
    }

    /// The same port of a job on several nodes, whose NIC thread this descriptor wakes
    /// ([`crate::host::wake_pipe`]).
    pub fn with_wake_pipe(self, writer: OwnedFd) -> Self {
        let header = self.memory.header();
        let crowd = Crowd::new(self.memory.layout().local_ranks, header.cores.get());
        let waiting = WaitPolicy::for_node_of_several(&self.memory);
        Self { wake_pipe: Some(writer), crowd: Some(crowd), waiting, is_hasty: true, ..self }
    }

    /// The NIC memory.
    pub fn memory(&self) -> &Arc<NicMemory> {
        &self.memory
    }

    /// This rank's local index.
    pub fn local_index(&self) -> u32 {
        self.local_index
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
        Processor::new(&self.memory, Holder::rank(self.local_index))
    }

    /// This rank's block.
    #[inline(always)]
    fn block(&self) -> &RankBlock {
        // SAFETY: it is in `memory`, which stays mapped as long as this port.
        unsafe { self.block.as_ref() }
    }

    /// This rank's doorbell.
    #[inline(always)]
    fn doorbell(&self) -> &HeadsWord {
        // SAFETY: as above.
        unsafe { self.doorbell.as_ref() }
    }

    /// A request slot of this rank.
    #[inline(always)]
    fn slot(&self, request: u32) -> Result<&RequestSlot, PortError> {
        match self.block().requests.get(request as usize) {
            Some(slot) => Ok(slot),
            None => Err(no_slot(request)),
        }
    }

    #[inline]
    fn status(&self) -> &crate::memory::status::RankStatus {
        &self.block().status
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
    pub fn is_send(&self, request: u32) -> bool {
        self.outstanding.purpose(request) == Some(Purpose::Send)
    }

    /// What a hang report says of a call that waits for this request, and for `requests` in all.
    pub fn waiting_for(&self, request: u32, call: u32, requests: u32) -> WaitingFor {
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

    #[inline]
    fn set_activity(&self, activity: Activity) {
        self.status().set_activity(activity);
    }

    fn wake(&self, touched: &Touched) {
        waiting::wake_touched(&self.memory, touched);
    }
}

#[cold]
fn no_slot(request: u32) -> PortError {
    Corrupt { what: "request slot", value: request as u64, limit: REQUESTS as u64 }.into()
}

/// Lets the other ranks of the job read and write this process's buffers where the system allows that to
/// ancestors only (Yama, ptrace_scope 1). The kernel still asks for the same user.
fn allow_attach() {
    // SAFETY: a system call without pointers. Where Yama is not there it is refused, and not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

/// The pid namespace of this process, as the kernel numbers it; 0 where it does not say.
pub(crate) fn pid_namespace() -> u32 {
    rustix::fs::stat("/proc/self/ns/pid").map_or(0, |namespace| namespace.st_ino as u32)
}

/// The driver's monotonic clock, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
