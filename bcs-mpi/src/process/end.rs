//! How a process leaves its job: MPI_Finalize, MPI_Abort, and errors that end it (MPI-5.0, §11.2, §9.3).
//!
//! MPI_Finalize synchronises, so that no rank is gone while others still read what it sent. Who ends the job says so in NIC
//! memory first, for the launcher to print; the others leave without a word.

use super::life::{self, Life, World, life};
use super::{LIBRARY, LifePhase, monitor, phase};
use crate::attributes;
use crate::communicator::{self, Arrival, Communicator};
use crate::constants::{MPI_COMM_SELF, MPI_COMM_WORLD, MPI_ERRORS_ABORT, MPI_ERRORS_ARE_FATAL};
use crate::error::{MpiError, MpiResult, Problem};
use mds::Primitive;
use nic_emu::abort;
use nic_emu::descriptor::CollectiveKind;
use nic_emu::hang::HangReport;
use nic_emu::memory::NicMemory;
use nic_emu::nic_thread::{FINDING_STATUS, Finding};
use nic_emu::port::{Port, PortError};
use std::ffi::c_int;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// What an abort needs, and the end of recording, without the lock: the thread that holds it may be the one that is stuck.
pub(super) struct Exit {
    pub(super) memory: Arc<NicMemory>,
    pub(super) local_index: u32,
    pub(super) rank: u32,
    pub(super) launched: bool,
}

pub(super) static EXIT: OnceLock<Exit> = OnceLock::new();

/// MPI_Finalize. First thing, the attributes of MPI_COMM_SELF are deleted, as MPI_Comm_free would: their callbacks find MPI as it was (§11.2.4).
///
/// # Errors
/// Before MPI_Init, after MPI_Finalize, a callback that refuses (then nothing else has happened), and what the NIC fails with.
pub fn finalize() -> MpiResult {
    let timed = monitor::enter(Primitive::Finalize);
    match life::world() {
        World::Before => return Err(MpiError::new(Problem::NotInitialised)),
        World::Active => attributes::delete_all(MPI_COMM_SELF)?,
        World::Finalised => return Err(MpiError::new(Problem::Finalised)),
    }
    let mut process = super::enter()?;
    crate::request::complete_abandoned(&mut process, Primitive::Finalize)?;
    let arrival = Arrival { kind: CollectiveKind::Barrier, ..Arrival::default() };
    let met = communicator::meet(&mut process, Primitive::Finalize, MPI_COMM_WORLD, &arrival, &[]);
    if let Err(error) = met
        && !(matches!(error.problem(), Problem::Mismatch(_)) && goes_on_after_errors(&process))
    {
        return Err(error.of(MPI_COMM_WORLD));
    }
    // All that members have called is with the NIC by now.
    let world = process.communicators.get(MPI_COMM_WORLD).into_iter();
    world.chain(process.communicators.table.iter()).for_each(|comm| end_if_unheard(&process.port, comm));
    process.communicators.has_world = false;
    drop(process);
    monitor::leave(timed, || 0);
    let mut life = life();
    life.world = World::Finalised;
    rest(&life)
}

/// Whether a program may go on after an error of MPI_COMM_WORLD: then it is finalised without its ranks having met.
fn goes_on_after_errors(process: &super::Process) -> bool {
    process.communicators.get(MPI_COMM_WORLD).is_ok_and(|world| !is_fatal(world))
}

pub(crate) fn is_fatal(communicator: &Communicator) -> bool {
    [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT].contains(&communicator.error_handler)
}

/// A process that leaves a broken communicator whose errors are fatal has not been told yet, as it has only given and waited for nobody: it ends the job.
pub(crate) fn end_if_unheard(port: &Port, communicator: &Communicator) {
    if is_fatal(communicator)
        && let Err(PortError::Broken(report)) = port.check_whole(communicator.context + 1)
    {
        end_told(&report);
    }
}

/// A session ends.
///
/// # Errors
/// The NIC fails.
pub fn end_session() -> MpiResult {
    crate::request::complete_abandoned(&mut super::enter()?, Primitive::Finalize)?;
    let mut life = life();
    life.sessions = life.sessions.saturating_sub(1);
    rest(&life)
}

/// Has the process be no rank any more, if nobody uses the library.
fn rest(life: &Life) -> MpiResult {
    if life.is_over() {
        let mut process = super::enter()?;
        process.attached.clear();
        process.port.finalize();
        LIBRARY.phase.store(LifePhase::Finalised as u32, Ordering::Release);
        drop(process);
        monitor::finish();
    }
    Ok(())
}

/// Ends the job with an exit code and a message that the launcher prints.
#[cold]
pub fn abort_job(code: c_int, message: &str) -> ! {
    match EXIT.get().filter(|_| phase() != LifePhase::Finalised) {
        Some(exit) => {
            let message = format!("rank {}: {message}", exit.rank);
            if exit.launched {
                abort::say(&exit.memory, exit.local_index, code, &message);
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

/// Ends a process without a launcher that waits for what never comes.
#[cold]
pub(super) fn end_deadlocked(report: HangReport) -> ! {
    say(&Finding::Deadlock(report).to_string());
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

/// Exits at once: what the program has printed is kept, but its exit handlers do not run, as other threads may be anywhere.
fn exit_now(code: c_int) -> ! {
    monitor::finish();
    // SAFETY: both streams exist as long as the process; flushing them locks them as printing does.
    unsafe {
        libc::fflush(stdout);
        libc::fflush(stderr);
        libc::_exit(code)
    }
}
