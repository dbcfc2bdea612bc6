//! MPI_Comm_disconnect (MPI-5.0, §11.10.4): a barrier, then MPI_Comm_free.

use super::forms::{Call, barrier};
use crate::communicator::free::{free, refuse_predefined};
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use mds::Primitive;

/// MPI_Comm_disconnect: as MPI_Comm_free, when all members are there. What they have sent is with the NIC
/// by then, which delivers it.
///
/// # Errors
/// As [`free`].
pub fn disconnect(comm: &mut MPI_Comm) -> MpiResult {
    refuse_predefined(*comm, "disconnected")?;
    barrier(Call::blocking(Primitive::CommDisconnect, *comm))?;
    free(comm)
}
