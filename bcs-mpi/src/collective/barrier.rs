//! MPI_Barrier (MPI-5.0, §6.3): the NIC's Collective Helper releases all when all are there. One arrival,
//! one release.

use super::forms::{self, Call};
use crate::communicator::meeting::{Arrival, meet};
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::process;
use mds::Primitive;
use nic_emu::descriptor::CollectiveKind;

/// Waits until all members of the communicator are there.
///
/// # Errors
/// No such communicator, or the NIC fails.
#[inline]
pub fn barrier(comm: MPI_Comm) -> MpiResult<()> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        drop(process);
        return forms::barrier(Call::blocking(Primitive::Barrier, comm)).map(drop);
    }
    if communicator.size == 1 {
        return Ok(());
    }
    let arrival = Arrival { kind: CollectiveKind::Barrier, ..Arrival::default() };
    meet(&mut process, Primitive::Barrier, comm, &arrival, &[])?;
    Ok(())
}
