//! What the program launcher does with a job's NIC: makes its memory, runs the NIC thread, reads what ranks say of themselves.
//!
//! Call `create`, start the ranks with `descriptor` inherited and `environment` set, tell `rank_started`, then `start`; `alarm` becomes readable when the NIC thread
//! has found a deadlock or corrupt memory; `stop` ends the thread.

use crate::arith::Arithmetic;
use crate::hang::{HangReport, JobState};
use crate::memory::{Layout, MapError, NicMemory};
use crate::nic_thread::{Finding, NicThread};
use crate::status::Phase;
use crate::sync::Ordering;
use bcs_core::{JobId, Rank, SliceIndex, SliceLength};
use mds::{EmdsConfig, EmdsRing, GlobalRecord, LocalRecord};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// How a job's NIC is to be.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// The job.
    pub job: JobId,
    /// Its ranks, all on this node.
    pub ranks: u32,
    /// Slices.
    pub slice: SliceLength,
    /// Arithmetic of the Reduce Helper.
    pub arithmetic: Arithmetic,
    /// Whether cross-memory attach may be used.
    pub cross_memory: bool,
    /// What EMDS records; nothing when none.
    pub emds: Option<EmdsConfig>,
    /// A core to give to the NIC thread for good.
    pub nic_core: Option<usize>,
}

/// Why a NIC cannot be hosted.
#[derive(Debug, thiserror::Error)]
pub enum NicError {
    /// Its memory cannot be made.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The EMDS ring cannot be made.
    #[error(transparent)]
    Emds(#[from] mds::RingError),
    /// The system refused something else.
    #[error("cannot {operation} for the NIC of {job}: {source}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// For which job.
        job: JobId,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Where a rank is in its life, as the launcher reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankPhase {
    /// Has not called `MPI_Init`; perhaps not an MPI program.
    NotAttached,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Attached,
    /// Has left `MPI_Finalize`.
    Finalized,
    /// Called `MPI_Abort` (or its library ended the job), first of all ranks.
    Aborted {
        /// The exit code it asked for.
        code: i32,
        /// What it said.
        message: String,
    },
}

/// A job's NIC on this node, as its program launcher hosts it.
pub struct NicHost {
    memory: Arc<NicMemory>,
    config: NicConfig,
    alarm: Arc<OwnedFd>,
    thread: Option<NicThread>,
}

impl NicHost {
    /// Makes the memory of a job's NIC. Cheap: it is sparse.
    pub fn create(config: &NicConfig) -> Result<Self, NicError> {
        let words = config.emds.as_ref().map_or([0; 2], |emds| {
            [EmdsRing::<LocalRecord>::words_needed(emds), EmdsRing::<GlobalRecord>::words_needed(emds)]
        });
        let layout = Layout::new(config.ranks, config.ranks, words).map_err(MapError::from)?;
        let memory = NicMemory::create(layout, 0, 1)?;
        let header = memory.header();
        header.job.set(config.job.0);
        header.slice_period_ns.set(config.slice.period_ns());
        header.arithmetic.set((config.arithmetic == Arithmetic::SoftFloat) as u32);
        header.cross_memory.set(config.cross_memory as u32);
        header.cores.set(std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
        header.next_context.0.store(crate::memory::FIRST_FREE_CONTEXT, Ordering::Relaxed);
        for rank in 0..config.ranks {
            memory
                .rank(rank)
                .map_err(|_| {
                    MapError::Layout(crate::memory::LayoutError::Ranks {
                        local_ranks: config.ranks,
                        job_ranks: config.ranks,
                        limit: Layout::MAX_LOCAL_RANKS,
                    })
                })?
                .status
                .set_job_rank(rank);
        }
        if let Some(emds) = &config.emds {
            EmdsRing::<LocalRecord>::format(memory.emds_local(), emds)?;
            EmdsRing::<GlobalRecord>::format(memory.emds_global(), emds)?;
        }
        let alarm = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|e| {
            NicError::System { operation: "make an eventfd", job: config.job, source: e.into() }
        })?;
        Ok(Self { memory: Arc::new(memory), config: config.clone(), alarm: Arc::new(alarm), thread: None })
    }

    /// The memfd that ranks inherit; its number goes to them in `BCS_NIC_FD`.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.memory.descriptor().expect("a host's memory is a memfd")
    }

    /// The NIC memory.
    pub fn memory(&self) -> &Arc<NicMemory> {
        &self.memory
    }

    /// A rank's process has been started.
    pub fn rank_started(&self, rank: Rank, pid: u32) {
        if let Ok(block) = self.memory.rank(rank.0) {
            block.status.set_pid(pid);
        }
    }

    /// A rank's process is dead. What it may have held is let go, so that others can still be told.
    pub fn rank_exited(&self, rank: Rank) {
        if let Ok(block) = self.memory.rank(rank.0) {
            if block.status.phase() != Phase::Finalized {
                block.status.set_phase(Phase::Exited);
            }
            self.memory.token().revoke(crate::token::Holder::rank(rank.0));
        }
    }

    /// Starts the NIC thread. After the ranks were forked, as it is a thread.
    pub fn start(&mut self) -> Result<(), NicError> {
        let thread = NicThread::start(self.memory.clone(), self.config.nic_core, self.alarm.clone());
        self.thread = Some(thread.map_err(|source| NicError::System {
            operation: "start the NIC thread",
            job: self.config.job,
            source,
        })?);
        Ok(())
    }

    /// Readable when [`Self::finding`] has something to say.
    pub fn alarm(&self) -> BorrowedFd<'_> {
        self.alarm.as_fd()
    }

    /// What the NIC has found: a deadlock, corrupt memory, a mismatched collective. It ends the job. A mismatch may have been found by a
    /// rank that lent its core, which leaves then: ask when the alarm rings, and when a rank has ended.
    pub fn finding(&self) -> Option<Finding> {
        let told = crate::abort::said_by_nic(&self.memory).map(Finding::Told);
        told.or_else(|| self.thread.as_ref().and_then(NicThread::finding))
    }

    /// The deadlock that was found, if one was.
    pub fn deadlock(&self) -> Option<HangReport> {
        match self.finding() {
            Some(Finding::Deadlock(report)) => Some(report),
            _ => None,
        }
    }

    /// What every rank does and waits for, now.
    pub fn report(&self) -> HangReport {
        HangReport::new(JobState::read(&self.memory))
    }

    /// Where a rank is in its life.
    pub fn phase(&self, rank: Rank) -> RankPhase {
        let header = self.memory.header();
        if header.aborted.0.load(Ordering::Acquire) == rank.0 + 1 {
            let (code, message) = crate::abort::read(&self.memory);
            return RankPhase::Aborted { code, message };
        }
        match self.memory.rank(rank.0).map(|block| block.status.phase()) {
            Ok(Phase::Attached) => RankPhase::Attached,
            Ok(Phase::Finalized) => RankPhase::Finalized,
            // A rank that exited was attached, or never was an MPI program.
            Ok(Phase::Exited) => RankPhase::Attached,
            _ => RankPhase::NotAttached,
        }
    }

    /// Slices run so far.
    pub fn slices(&self) -> SliceIndex {
        SliceIndex(self.memory.control().slice.get())
    }

    /// Whether a rank was refused another one's memory, although cross-memory attach may be used.
    pub fn cross_memory_refused(&self) -> bool {
        self.config.cross_memory && self.memory.header().cross_memory.get() == 0
    }

    /// Ends the NIC thread.
    pub fn stop(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.stop();
        }
    }

    /// The EMDS rings, to be dumped after the end of the job; none when EMDS was off.
    pub fn emds(&self) -> Option<(EmdsRing<'_, LocalRecord>, EmdsRing<'_, GlobalRecord>)> {
        let local = EmdsRing::open(self.memory.emds_local()).ok()?;
        let global = EmdsRing::open(self.memory.emds_global()).ok()?;
        Some((local, global))
    }
}
