//! Special ranks, tags, addresses and the arguments that say "none".
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use std::ffi::{c_int, c_void};
use std::ptr::without_provenance_mut;

use super::{MPI_Status, MPI_T_pvar_session};

// Wildcards and special ranks: §3.2.4, §3.11, §6.2.3.

/// Receive from any rank (MPI-1.0).
pub const MPI_ANY_SOURCE: c_int = -1;
/// Receive any tag (MPI-1.0).
pub const MPI_ANY_TAG: c_int = -2;
/// No peer: the operation completes at once and moves nothing (MPI-1.0).
pub const MPI_PROC_NULL: c_int = -3;
/// This process is the root of an intercommunicator's collective (MPI-2.0).
pub const MPI_ROOT: c_int = -4;
/// No value: not a member, no color, not representable (MPI-1.0).
pub const MPI_UNDEFINED: c_int = -32766;

// Special buffers: §5.1.12, §6.2.1, §3.6.

/// Start of the address space, for datatypes of absolute addresses (MPI-1.0).
pub const MPI_BOTTOM: *mut c_void = without_provenance_mut(0);
/// The input is in the output buffer (MPI-2.0).
pub const MPI_IN_PLACE: *mut c_void = without_provenance_mut(1);
/// The library sizes the buffer of buffered sends (MPI-4.1).
pub const MPI_BUFFER_AUTOMATIC: *mut c_void = without_provenance_mut(2);

// Statuses that are not wanted: §3.2.6.

/// No status is wanted (MPI-2.0).
pub const MPI_STATUS_IGNORE: *mut MPI_Status = without_provenance_mut(0);
/// No statuses are wanted (MPI-2.0).
pub const MPI_STATUSES_IGNORE: *mut MPI_Status = without_provenance_mut(0);

// Integer arrays that are not wanted: §8.5.4 and §11.8.2.

/// No error codes of started processes are wanted (MPI-2.0).
pub const MPI_ERRCODES_IGNORE: *mut c_int = without_provenance_mut(0);
/// The edges of the graph have no weights (MPI-2.2).
pub const MPI_UNWEIGHTED: *mut c_int = without_provenance_mut(10);
/// The array of weights has no elements (MPI-3.0).
pub const MPI_WEIGHTS_EMPTY: *mut c_int = without_provenance_mut(11);

// Tool interface: sessions: §15.3.7.

/// No session (MPI-3.0).
pub const MPI_T_PVAR_SESSION_NULL: MPI_T_pvar_session = MPI_T_pvar_session(0x0);
