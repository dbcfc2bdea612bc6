//! A rank's port to its NIC: post descriptors, look at requests, lend the core while waiting.
//!
//! A port belongs to one process, and its methods to one thread at a time (the MPI library holds its lock around them). Call `post_*`, then
//! `test` the request until it is complete, with [`Port::progress`] or [`Port::wait`] in between; every request that was posted
//! must be taken by `test` once.

mod buffering;
mod completing;
mod filling;
mod laning;
mod lending;
mod meeting;
mod moving;
mod posting;

pub use completing::{Outcome, Release};
pub use lending::{Sleeper, Stepped, Waiting};
pub use meeting::Awaits;
pub use posting::{Collective, Posted, Send};

use crate::channel::{self, ChannelError, Stores};
use crate::completer::Touched;
use crate::doorbell::Heads;
use crate::lane::{LaneReader, LaneWriter};
use crate::memory::{Corrupt, MapError, NicMemory};
use crate::outstanding::Outstanding;
use crate::processor::Processor;
use crate::slab::SlabAllocator;
use crate::status::{Activity, Phase};
use crate::strobe_receiver::SliceError;
use crate::sync::Ordering;
use crate::token::Holder;
use crate::waiting::{self, WaitPolicy};
use buffering::Draining;
use laning::LanePace;
use moving::Moving;
use rustix::fd::OwnedFd;
use std::sync::Arc;

/// Why a port cannot go on. All of them end the job; none is the program's fault alone.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// NIC memory cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A slice failed.
    #[error(transparent)]
    Slice(#[from] SliceError),
    /// Bytes of a message cannot be moved.
    #[error(transparent)]
    Channel(#[from] ChannelError),
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
}

impl From<Corrupt> for PortError {
    fn from(corrupt: Corrupt) -> Self {
        PortError::Slice(SliceError::Corrupt(corrupt))
    }
}

/// A rank's port.
pub struct Port {
    memory: Arc<NicMemory>,
    local_index: u32,
    heads: Heads,
    /// The taken word as last read: at least so many cells are free.
    taken: Heads,
    slabs: SlabAllocator,
    /// The first slab of the message that was buffered last.
    last_run: u32,
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
    fixed: bool,
    clock: fn() -> u64,
}

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
        block.status.set_pid(std::process::id());
        block.status.set_phase(Phase::Attached);
        let transfers_seen = block.status.transfers_started.load(Ordering::Acquire);
        let heads = memory.doorbells()[local_index as usize].read();
        Ok(Self {
            local_index,
            heads,
            taken: memory.taken()[local_index as usize].read(),
            slabs: SlabAllocator::new(),
            last_run: 0,
            lane: LaneWriter::default(),
            lane_pace: LanePace::default(),
            lane_readers: vec![LaneReader::default(); memory.layout().local_ranks as usize],
            outstanding: Outstanding::default(),
            transfers_seen,
            moving: Vec::new(),
            draining: Vec::new(),
            stores: Stores::default(),
            channel: channel::Policy::measured(memory.layout().local_ranks, memory.header().cores.get()),
            waiting: WaitPolicy::for_node(&memory),
            fixed: memory.header().slice_period_ns.get() != 0,
            clock: now_ns,
            memory,
        })
    }

    /// The same port with another clock: simulations run on virtual time.
    pub fn with_clock(self, clock: fn() -> u64) -> Self {
        Self { clock, ..self }
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
        if let Ok(block) = self.memory.rank(self.local_index) {
            block.status.set_phase(Phase::Finalized);
        }
    }

    /// The processor, as this rank runs it.
    #[inline]
    pub fn processor(&self) -> Processor<'_> {
        Processor::new(&self.memory, Holder::rank(self.local_index))
    }

    #[inline]
    fn status(&self) -> &crate::status::RankStatus {
        &self.memory.rank(self.local_index).expect("checked when the port was opened").status
    }

    #[inline]
    fn set_activity(&self, activity: Activity) {
        self.status().set_activity(activity);
    }

    fn wake(&self, touched: &Touched) {
        waiting::wake_touched(&self.memory, touched);
    }
}

/// Lets the other ranks of the job read and write this process's buffers where the system allows that to ancestors only (Yama,
/// ptrace_scope 1). The kernel still asks for the same user.
fn allow_attach() {
    // SAFETY: a system call without pointers. Where Yama is not there it is refused, and not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

/// The driver's monotonic clock, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
