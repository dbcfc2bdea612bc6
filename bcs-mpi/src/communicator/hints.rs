//! The calls about hints of communicators, and how members tell each other which algorithms they want.

use crate::constants::*;
use crate::error::MpiResult;
use crate::info;
use crate::object::collective::Collective;
use crate::object::wanted::{HINT, Wanted};
use crate::process::{self, Guard};
use crate::progress::{Arrival, Joins, Party};
use mds::Primitive;
use nic_emu::descriptor::OF_LIBRARY;
use nic_emu::root::{NO_ROOT, SidedRank};

/// MPI_Comm_set_info: what `info` does not name stays.
///
/// # Errors
/// No such communicator or info object.
pub fn set_info(comm: MPI_Comm, info: MPI_Info) -> MpiResult {
    let mut process = process::enter()?;
    let communicator = process.communicator_mut(comm)?;
    let pairs = info::pairs(info)?;
    communicator.hints.update(&pairs);
    if pairs.iter().any(|(key, _)| key == HINT) {
        tell(&mut process, Primitive::CommSetInfo, comm)?;
    }
    Ok(())
}

/// Wants an algorithm of a collective in a communicator, or none, as [`set_info`] does by the hint.
///
/// # Errors
/// No such communicator, or the NIC fails.
pub(crate) fn want(
    process: &mut Guard,
    comm: MPI_Comm,
    collective: Collective,
    algorithm: Option<usize>,
) -> MpiResult {
    process.communicator_mut(comm)?.hints.wanted.set(collective, algorithm);
    tell(process, Primitive::CommSetInfo, comm)
}

/// Tells the members of a communicator that `call` has made which algorithms this one wants, if any. That the
/// others have said something else already, the communicator's next collective answers.
///
/// # Errors
/// The NIC fails.
pub(crate) fn tell_of_new(process: &mut Guard, call: Primitive, new: MPI_Comm) -> MpiResult {
    let wants = new != MPI_COMM_NULL && process.communicator(new)?.hints.wanted != Wanted::default();
    match if wants { tell(process, call, new) } else { Ok(()) } {
        Err(error) if error.problem().report().is_none() => Err(error),
        _ => Ok(()),
    }
}

/// Tells the NIC which algorithms this member wants in the communicator, about which `call` has to say the
/// same at every member: they would not understand each other. Waits for nobody.
///
/// # Errors
/// The NIC fails.
fn tell(process: &mut Guard, call: Primitive, comm: MPI_Comm) -> MpiResult {
    let communicator = process.communicator(comm)?;
    let no_root = if communicator.is_inter() { NO_ROOT } else { SidedRank(0) };
    let hash = communicator.hints.wanted.hash() as usize;
    let arrival = Arrival::board(no_root, (OF_LIBRARY, 1), hash);
    Party::join(&mut process.communicators, comm, call, false)?.announce_in(process, &arrival)
}

/// MPI_Comm_get_info: a new info object with all hints of the communicator, defaults too.
///
/// # Errors
/// No such communicator.
pub fn get_info(comm: MPI_Comm) -> MpiResult<MPI_Info> {
    Ok(info::of_pairs(process::enter()?.communicator(comm)?.hints.pairs()))
}
