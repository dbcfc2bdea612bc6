//! How a process leaves its job before MPI_Finalize: MPI_Abort, and errors that end it (MPI-5.0, §11.4,
//! §9.3).
//!
//! Who ends the job says so in NIC memory first, for the launcher to print; the others leave without a word.

use super::guard::{LifePhase, phase};
use super::monitor;
use crate::object::Communicator;
use bcs_core::{LocalRank, Rank};
use nic_emu::abort;
use nic_emu::memory::NicMemory;
use nic_emu::nic_thread::FINDING_STATUS;
use nic_emu::port::{Port, PortError};
use std::ffi::c_int;
use std::io::Write;
use std::sync::{Arc, OnceLock};

/// What an abort needs without the lock: the thread that holds it may be the one that is stuck.
pub(crate) struct Exit {
    pub(crate) memory: Arc<NicMemory>,
    pub(crate) local_rank: LocalRank,
    pub(crate) rank: Rank,
    pub(crate) launched: bool,
}

pub(crate) static EXIT: OnceLock<Exit> = OnceLock::new();

/// A process that leaves a broken communicator whose errors are fatal has not been told yet, as it has only
/// given and waited for nobody: it ends the job.
pub(crate) fn end_if_unheard(port: &Port, communicator: &Communicator) {
    if communicator.errors_are_fatal()
        && let Err(PortError::Broken(report)) = port.check_whole(communicator.context.of_collectives())
    {
        end_told(&report);
    }
}

/// Ends the job with an exit code and a message that the launcher prints.
#[cold]
pub fn abort_job(code: c_int, message: &str) -> ! {
    match EXIT.get().filter(|_| phase() != LifePhase::Finalised) {
        Some(exit) => {
            let message = format!("rank {}: {message}", exit.rank);
            if exit.launched {
                abort::say(&exit.memory, exit.local_rank, code, &message);
            } else {
                say(&message);
            }
        }
        None => match std::env::var("BCS_RANK") {
            Ok(rank) => say(&format!("rank {rank}: {message}")),
            Err(_) => say(message),
        },
    }
    exit_now(code)
}

/// Ends the job with a report of the NIC about all its ranks, as the NIC does.
#[cold]
pub fn end_told(report: &str) -> ! {
    match EXIT.get() {
        Some(exit) if exit.launched => abort::say_of_nic(&exit.memory, report),
        _ => say(report),
    }
    exit_now(FINDING_STATUS.into())
}

/// Says something to the user, in one write, so that it is not mixed with what other ranks say.
fn say(text: &str) {
    // Where nobody listens there is nothing to do about it.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Leaves a job that another rank or the launcher ends.
#[cold]
pub fn leave() -> ! {
    exit_now(1)
}

unsafe extern "C" {
    /// The C library's standard output and standard error.
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// Exits at once: what the program has printed is kept, but its exit handlers do not run, as other threads
/// may be anywhere.
fn exit_now(code: c_int) -> ! {
    monitor::finish();
    // SAFETY: both streams exist as long as the process; flushing them locks them as printing does.
    unsafe {
        libc::fflush(stdout);
        libc::fflush(stderr);
        libc::_exit(code)
    }
}
