//! Attribute keys, and callbacks with a predefined meaning.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use std::ffi::c_int;

// Attribute keys: §7.7, §9.1.2, §11.10.1.

/// No key (MPI-1.0).
pub const MPI_KEYVAL_INVALID: c_int = 0;
/// Largest tag (MPI-1.0).
pub const MPI_TAG_UB: c_int = 501;
/// A rank that has standard input and output (MPI-1.0).
pub const MPI_IO: c_int = 502;
/// Rank of the host process (MPI-1.0, deprecated in MPI-4.1).
pub const MPI_HOST: c_int = 503;
/// The clocks of all processes agree (MPI-1.0).
pub const MPI_WTIME_IS_GLOBAL: c_int = 504;
/// Which program of the command line this is (MPI-2.0).
pub const MPI_APPNUM: c_int = 505;
/// Largest error class in use (MPI-2.0).
pub const MPI_LASTUSEDCODE: c_int = 506;
/// How many processes there could be (MPI-2.0).
pub const MPI_UNIVERSE_SIZE: c_int = 507;

// Copying attributes of communicators: §7.7.2.

/// The attribute is not copied (MPI-2.0).
pub const MPI_COMM_NULL_COPY_FN: usize = 0;
/// The attribute is copied as it is (MPI-2.0).
pub const MPI_COMM_DUP_FN: usize = 1;

// Deleting attributes of communicators: §7.7.2.

/// Nothing is done on deletion (MPI-2.0).
pub const MPI_COMM_NULL_DELETE_FN: usize = 0;

// Copying attributes of datatypes: §7.7.4.

/// The attribute is not copied (MPI-2.0).
pub const MPI_TYPE_NULL_COPY_FN: usize = 0;
/// The attribute is copied as it is (MPI-2.0).
pub const MPI_TYPE_DUP_FN: usize = 1;

// Deleting attributes of datatypes: §7.7.4.

/// Nothing is done on deletion (MPI-2.0).
pub const MPI_TYPE_NULL_DELETE_FN: usize = 0;
