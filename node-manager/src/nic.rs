//! What the launcher asks of a job's NIC on this node.

use crate::job::Job;
use bcs_core::Rank;
use std::os::fd::BorrowedFd;

/// How far a rank has come with MPI, as its NIC memory tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankPhase {
    /// It has not called `MPI_Init`; many programs never do.
    NotAttached,
    /// It is between `MPI_Init` and `MPI_Finalize`.
    Attached,
    /// It has called `MPI_Finalize`.
    Finalized,
    /// It has called `MPI_Abort`.
    Aborted {
        /// The error code it gave.
        code: i32,
        /// What it gave as the reason; may be empty.
        message: String,
    },
}

/// The NIC of a job on this node, as far as the launcher has to do with it.
pub trait JobNic {
    /// The NIC memory, which the ranks inherit.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;
    /// Tells it that a rank runs as this process.
    fn rank_started(&mut self, rank: Rank, pid: u32);
    /// Tells it that a rank's process has ended.
    fn rank_exited(&mut self, rank: Rank);
    /// Starts the NIC thread. Called once, when all ranks have been started.
    fn start(&mut self) -> Result<(), String>;
    /// The descriptor that becomes readable when the NIC wants the job ended.
    fn alarm(&self) -> Option<BorrowedFd<'_>>;
    /// Why it does: the report of a deadlock or of damaged memory.
    fn deadlock(&self) -> Option<String>;
    /// What each rank is doing now.
    fn report(&self) -> String;
    /// How far a rank has come.
    fn phase(&self, rank: Rank) -> RankPhase;
    /// Ends the NIC thread and writes what was recorded.
    fn stop(&mut self);
}

/// Makes the NIC of a job.
///
/// # Errors
/// What the machine lacks for it, and what to do.
pub fn for_job(_job: &Job) -> Result<Box<dyn JobNic>, String> {
    Ok(Box::new(NoNic))
}

/// The NIC of a job that needs none: its ranks do not call MPI.
#[derive(Debug)]
pub struct NoNic;

impl JobNic for NoNic {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn rank_started(&mut self, _rank: Rank, _pid: u32) {}

    fn rank_exited(&mut self, _rank: Rank) {}

    fn start(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn alarm(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn deadlock(&self) -> Option<String> {
        None
    }

    fn report(&self) -> String {
        String::new()
    }

    fn phase(&self, _rank: Rank) -> RankPhase {
        RankPhase::NotAttached
    }

    fn stop(&mut self) {}
}
