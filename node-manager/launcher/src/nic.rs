//! A job's NIC on this node, as its launcher hosts it: made from the job's settings before the ranks start,
//! asked how far they have come, and dumped at the end.

use crate::binding;
use crate::job::Job;
use crate::preflight;
use bcs_core::{NodeId, Placement, Rank};
use bcs_fabric::DrivenRoad;
use mds::trace::Run;
use mds_trace::{Node, write_emds};
use nic_emu::hang::{HangDetector, JobState};
use nic_emu::host::{CrossMemory, NicConfig, NicHost, RankPhase};
use rustix::process::{Resource, getrlimit};

/// The NIC of one job on this node.
pub struct JobNic {
    /// The NIC itself.
    pub host: NicHost,
    placement: Placement,
    node: NodeId,
    cross_memory_refusal: Option<String>,
    hang: HangDetector,
    was_blocked: bool,
}

impl JobNic {
    /// Makes the NIC of a job on one of its nodes.
    ///
    /// # Errors
    /// What the machine lacks for it, and what to do.
    pub fn create(job: &Job, node: NodeId) -> Result<Self, String> {
        if let Some(core) = job.nic.core {
            binding::check_nic_core(core)?;
        }
        let cross_memory_refusal = job.nic.cross_memory.then(preflight::cross_memory_refusal).flatten();
        let config = NicConfig {
            job: job.id,
            placement: job.placement.clone(),
            node,
            slice: job.nic.slice,
            arithmetic: job.nic.arithmetic,
            cross_memory: match job.nic.cross_memory && cross_memory_refusal.is_none() {
                true => CrossMemory::WhereFaster,
                false => CrossMemory::Off,
            },
            context_slots: nic_emu::contexts::SLOTS,
            unexpected_bytes: job.nic.unexpected_bytes,
            emds: job.recording.slices.clone().filter(|emds| emds.nodes.contains(node.0)),
            nic_core: job.nic.core,
        };
        let host = NicHost::create(&config).map_err(|error| match getrlimit(Resource::Fsize).current {
            Some(_) => format!("{error}; a limit on file sizes is set, lift it with: ulimit -f unlimited"),
            None => error.to_string(),
        })?;
        let hang = HangDetector::default();
        let placement = config.placement;
        Ok(Self { host, placement, node, cross_memory_refusal, hang, was_blocked: false })
    }

    /// Starts the NIC thread, once all ranks were started, with the network of a job on several nodes.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(&mut self, network: Option<Box<dyn DrivenRoad>>) -> Result<(), String> {
        self.host.start(network).map_err(|error| {
            format!("{error}; raise the limit on processes (ulimit -u), or ask for fewer ranks with -n")
        })
    }

    /// What each rank of this node is doing now, and what the NIC has pending.
    pub fn state(&self) -> JobState {
        self.host.report().0
    }

    /// Looks whether all ranks here are blocked for some time, to be asked every [`LOOK_PERIOD`]. True once
    /// when they are, and again after they moved on. Of a job on one node its NIC thread finds that out by
    /// itself.
    ///
    /// [`LOOK_PERIOD`]: nic_emu::hang::LOOK_PERIOD
    pub fn has_blocked(&mut self) -> bool {
        let is_blocked = self.hang.look(self.host.memory()).is_some();
        !std::mem::replace(&mut self.was_blocked, is_blocked) && is_blocked
    }

    /// Whether a rank has called `MPI_Init` and not yet left `MPI_Finalize`. To be asked before
    /// [`NicHost::rank_exited`].
    pub fn is_in_mpi(&self, rank: Rank) -> bool {
        self.host.phase(rank) == RankPhase::Attached
    }

    /// The first rank that called `MPI_Abort`, if one did, with the error code and the reason that it gave.
    pub fn abort(&self) -> Option<(Rank, i32, String)> {
        self.placement.ranks_of(self.node).iter().find_map(|&rank| match self.host.phase(rank) {
            RankPhase::Aborted { code, message } => {
                // Whoever prints it names the rank.
                let message = message.strip_prefix(&format!("rank {rank}: ")).unwrap_or(&message).to_owned();
                Some((rank, code, message))
            }
            RankPhase::NotAttached | RankPhase::Attached | RankPhase::Finalized => None,
        })
    }

    /// Why messages were not copied from process to process although they might have been, if so: the kernel
    /// refuses it to the launcher, or refused it later. None for a job that had no use for it: a single rank,
    /// or no call of MPI.
    pub fn cross_memory_refusal(&self) -> Option<&str> {
        if self.placement.ranks() < 2 || self.host.slices().0 == 0 {
            return None;
        }
        let refused_later = || {
            self.host
                .cross_memory_refused()
                .then_some("process_vm_readv or process_vm_writev is refused to a process of the job")
        };
        self.cross_memory_refusal.as_deref().or_else(refused_later)
    }

    /// Ends the recording of slices and writes it to the job's trace directory.
    ///
    /// # Errors
    /// What the user is to know: nothing else is lost with it.
    pub fn dump(&mut self, job: &Job, host: &str) -> Result<(), String> {
        let (Some(_), Some(directory)) = (&job.recording.slices, &job.recording.trace_directory) else {
            return Ok(());
        };
        self.host.stop();
        let Some((local, global)) = self.host.emds() else { return Ok(()) };
        let last = self.host.slices();
        local.finish(last);
        global.finish(last);
        let run = Run { id: job.run.clone(), ranks: self.placement.ranks(), nodes: self.placement.nodes() };
        let node = Node { node: self.node.0, host: host.to_owned() };
        let tables = [local.read(), global.read()].into_iter().collect::<Result<Vec<_>, _>>();
        let tables = tables.map_err(|error| format!("the record of slices is damaged: {error}"))?;
        write_emds(directory, &run, &node, &tables).map_err(|error| error.to_string())?;
        Ok(())
    }
}
