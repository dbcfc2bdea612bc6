//! What the program launcher does with a job's NIC: makes its memory, runs the NIC thread, reads what ranks
//! say of themselves.
//!
//! Call `create`, start the ranks with `descriptor` inherited and `environment` set, then `start`; `alarm`
//! becomes readable when the NIC thread has found a deadlock or corrupt memory; `stop` ends the thread.

use crate::arithmetic::Arithmetic;
use crate::channel::{CrossMemory, has_slow_lines};
use crate::hang::{HangReport, JobState};
use crate::host::mapping::{self, MapError};
use crate::host::nic_thread::{Finding, Network, NicThread};
use crate::host::process::pid_namespace;
use crate::host::wake_pipe::WakePipe;
use crate::memory::abort;
use crate::memory::status::Phase;
use crate::memory::{Layout, NicMemory};
use bcs_core::{JobId, LocalRank, NodeId, NodeSet, Placement, Rank, SliceIndex, SliceLength};
use bcs_fabric::DrivenRoad;
use mds::{EmdsConfig, EmdsRing, GlobalRecord, LocalRecord};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// How a job's NIC is to be.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// The job.
    pub job: JobId,
    /// Where its ranks are.
    pub placement: Placement,
    /// This node, as the job numbers its nodes.
    pub node: NodeId,
    /// Slices.
    pub slice: SliceLength,
    /// Arithmetic of the Reduce Helper.
    pub arithmetic: Arithmetic,
    /// Whether cross-memory attach may be used.
    pub cross_memory: CrossMemory,
    /// Communicators that may span nodes at the same time, [`crate::memory::contexts::SLOTS`] at most.
    pub context_slots: u32,
    /// Bytes of messages that each rank can leave unreceived on its node ([`crate::memory::unexpected`]),
    /// beside what senders have room for.
    pub unexpected_bytes: u64,
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
    /// Its memfd.
    descriptor: OwnedFd,
    config: NicConfig,
    alarm: Arc<OwnedFd>,
    /// Of a job on several nodes.
    pipe: Option<Arc<WakePipe>>,
    thread: Option<NicThread>,
}

impl NicHost {
    /// Makes the memory of a job's NIC. Cheap: it is sparse.
    pub fn create(config: &NicConfig) -> Result<Self, NicError> {
        let words = config.emds.as_ref().map_or([0; 2], |emds| {
            [EmdsRing::<LocalRecord>::words_needed(emds), EmdsRing::<GlobalRecord>::words_needed(emds)]
        });
        let placement = &config.placement;
        let here = placement.ranks_of(config.node);
        let layout =
            Layout::new(placement.ranks_on(config.node), placement.ranks(), words).map_err(MapError::from)?;
        let layout = layout.with_unexpected_bytes(config.unexpected_bytes);
        let (memory, descriptor) = mapping::create(layout, config.node.0, placement.nodes())?;
        let header = memory.header();
        header.job.set(config.job.0);
        header.slice_period_ns.set(config.slice.period_ns());
        header.arithmetic.set((config.arithmetic == Arithmetic::SoftFloat) as u32);
        header.cross_memory.set(config.cross_memory as u32);
        header.pid_namespace.set(pid_namespace());
        header.cores.set(std::thread::available_parallelism().map_or(1, |n| n.get() as u32));
        header.slow_lines.set(has_slow_lines().into());
        // What the launcher has taken from the links before ranks start comes before what they find there:
        // they drive none before the NIC thread has looked for the first time.
        header.remote.thread_drives.set(u32::from(placement.nodes() > 1));
        header.context_slots.set(config.context_slots);
        for (local_rank, &rank) in memory.local_ranks().zip(here) {
            let block = memory.rank(local_rank).expect("the layout has a block for each local rank");
            block.status.set_job_rank(rank);
        }
        for rank in (0..placement.ranks()).map(Rank) {
            if let Some((node, local_rank)) = placement.place(rank) {
                memory.set_place(rank, node.0, local_rank);
            }
        }
        if let Some(emds) = &config.emds {
            EmdsRing::<LocalRecord>::format(memory.emds_local(), emds)?;
            EmdsRing::<GlobalRecord>::format(memory.emds_global(), emds)?;
        }
        let refused = |operation| move |source| NicError::System { operation, job: config.job, source };
        let alarm = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let alarm = alarm.map_err(std::io::Error::from).map_err(refused("make an eventfd"))?;
        let pipe = (placement.nodes() > 1).then(WakePipe::new).transpose();
        let pipe = pipe.map_err(refused("make the wake pipe"))?;
        let (memory, alarm, pipe) = (Arc::new(memory), Arc::new(alarm), pipe.map(Arc::new));
        Ok(Self { memory, descriptor, config: config.clone(), alarm, pipe, thread: None })
    }

    /// The memfd that ranks inherit; its number goes to them in `BCS_NIC_FD`.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// The writing end of the wake pipe of a job on several nodes, that ranks inherit, too; its number goes
    /// to them in `BCS_WAKE_FD`.
    pub fn wake_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.writer())
    }

    /// The NIC memory.
    pub fn memory(&self) -> &Arc<NicMemory> {
        &self.memory
    }

    /// The local rank of a rank, if it is on this node.
    fn local_rank(&self, rank: Rank) -> Option<LocalRank> {
        let (node, local_rank) = self.config.placement.place(rank)?;
        (node == self.config.node).then_some(local_rank)
    }

    /// A rank's process is dead. What it may have held is let go, so that others can still be told.
    pub fn rank_exited(&self, rank: Rank) {
        let Some(local_rank) = self.local_rank(rank) else { return };
        if let Ok(block) = self.memory.rank(local_rank) {
            if block.status.phase() != Phase::Finalized {
                block.status.set_phase(Phase::Exited);
            }
            self.memory.token().revoke(crate::memory::token::Holder::rank(local_rank));
        }
    }

    /// Starts the NIC thread. After the ranks were forked, as it is a thread. A job on several nodes has a
    /// network, whose members are the job's nodes and whose memory is as [`crate::global::GlobalLayout`]
    /// says.
    ///
    /// # Panics
    /// When a job on one node is given a network, or one on several nodes none.
    pub fn start(&mut self, network: Option<Box<dyn DrivenRoad>>) -> Result<(), NicError> {
        assert_eq!(network.is_some(), self.pipe.is_some(), "a job has a network when it has several nodes");
        let network = network.zip(self.pipe.clone()).map(|(fabric, pipe)| Network { fabric, pipe });
        let core = self.config.nic_core;
        let thread = NicThread::start(self.memory.clone(), core, self.alarm.clone(), network);
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

    /// What the NIC has found: a deadlock, corrupt memory; and a mismatched collective that is fatal to a
    /// rank. It ends the job. That rank leaves then: ask when the alarm rings, and when a rank has ended.
    pub fn finding(&self) -> Option<Finding> {
        let told = abort::said_by_nic(&self.memory).map(Finding::Told);
        told.or_else(|| self.thread.as_ref().and_then(NicThread::finding))
    }

    /// Other nodes of the job that have said nothing for long while their hosts answer: they are stopped, or
    /// very busy.
    pub fn stopped_nodes(&self) -> NodeSet {
        self.thread.as_ref().map(NicThread::stopped).unwrap_or_default()
    }

    /// What every rank does and waits for, now.
    pub fn report(&self) -> HangReport {
        HangReport(JobState::read(&self.memory))
    }

    /// Where a rank of this node is in its life.
    pub fn phase(&self, rank: Rank) -> RankPhase {
        let Some(local_rank) = self.local_rank(rank) else { return RankPhase::NotAttached };
        if let Some((code, message)) = abort::said_by_rank(&self.memory, local_rank) {
            return RankPhase::Aborted { code, message };
        }
        match self.memory.rank(local_rank).map(|block| block.status.phase()) {
            // A rank that exited was attached, or never was an MPI program.
            Ok(Phase::Attached | Phase::Exited) => RankPhase::Attached,
            Ok(Phase::Finalized) => RankPhase::Finalized,
            _ => RankPhase::NotAttached,
        }
    }

    /// Slices run so far.
    pub fn slices(&self) -> SliceIndex {
        SliceIndex(self.memory.control().slice.get())
    }

    /// Whether a rank was refused another one's memory, although cross-memory attach may be used.
    pub fn cross_memory_refused(&self) -> bool {
        self.config.cross_memory != CrossMemory::Off && self.memory.header().cross_memory.get() == 0
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
