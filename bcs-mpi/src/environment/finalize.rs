//! MPI_Finalize, and the end of a session (MPI-5.0, §11.2, §11.3).
//!
//! MPI_Finalize synchronises, so that no rank is gone while others still read what it sent.

use super::life::{self, Life, World, life};
use crate::attributes;
use crate::constants::{MPI_COMM_SELF, MPI_COMM_WORLD};
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::exit::end_if_unheard;
use crate::process::{self, monitor};
use crate::progress::Arrival;
use crate::progress::meeting::meet;
use crate::request::complete_abandoned;
use mds::Primitive;

/// MPI_Finalize. First thing, the attributes of MPI_COMM_SELF are deleted, as MPI_Comm_free would: their
/// callbacks find MPI as it was (§11.2.4).
///
/// # Errors
/// Before MPI_Init, after MPI_Finalize, a callback that refuses (then nothing else has happened), and what
/// the NIC fails with.
pub fn finalize() -> MpiResult {
    let timed = monitor::enter(Primitive::Finalize);
    match life::world() {
        World::Before => return Err(MpiError::new(Problem::NotInitialised)),
        World::Active => attributes::delete_all(MPI_COMM_SELF)?,
        World::Finalised => return Err(MpiError::new(Problem::Finalised)),
    }
    let mut process = process::enter()?;
    complete_abandoned(&mut process, Primitive::Finalize)?;
    let met = meet(&mut process, Primitive::Finalize, MPI_COMM_WORLD, &Arrival::BARRIER, &[]);
    // Where a program goes on after errors, it is finalised without its ranks having met.
    let goes_on = process.communicators.get(MPI_COMM_WORLD).is_ok_and(|world| !world.errors_are_fatal());
    if let Err(error) = met
        && !(goes_on && matches!(error.problem(), Problem::Mismatch(_)))
    {
        return Err(error.of(MPI_COMM_WORLD));
    }
    // All that members have called is with the NIC by now.
    let world = process.communicators.get(MPI_COMM_WORLD).into_iter();
    world.chain(process.communicators.table.iter()).for_each(|comm| end_if_unheard(&process.port, comm));
    // A tool that is told of what has happened so far finds MPI as it was.
    drop(process);
    process::enter()?.without_end().communicators.has_world = false;
    monitor::leave(timed, || 0);
    let mut life = life();
    life.world = World::Finalised;
    rest(&life)
}

/// A session ends.
///
/// # Errors
/// The NIC fails.
pub fn end_session() -> MpiResult {
    complete_abandoned(&mut process::enter()?, Primitive::Finalize)?;
    let mut life = life();
    life.sessions = life.sessions.saturating_sub(1);
    rest(&life)
}

/// Has the process be no rank any more, if nobody uses the library.
fn rest(life: &Life) -> MpiResult {
    if life.is_over() {
        let mut process = process::enter()?.without_end();
        // No message is under way.
        process.attached.buffers.clear();
        process.port.finalize();
        process::deactivate();
        drop(process);
        monitor::finish();
    }
    Ok(())
}
