//! MPI_Barrier (MPI-5.0, §6.3): the NIC's Collective Helper releases all when all are there. One arrival, one release.

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
    if process.communicator(comm)?.size == 1 {
        return Ok(());
    }
    let arrival = Arrival { kind: CollectiveKind::Barrier, ..Arrival::default() };
    meet(&mut process, Primitive::Barrier, comm, &arrival, &[])?;
    Ok(())
}
