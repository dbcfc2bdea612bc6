//! Versions of the standard and of its binary interface.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use std::ffi::c_int;

// Versions: §9.1.1 and chapter 20.

/// Version of the standard that the library implements (MPI-1.2).
pub const MPI_VERSION: c_int = 5;
/// Subversion of the standard that the library implements (MPI-1.2).
pub const MPI_SUBVERSION: c_int = 0;
/// Version of the binary interface (MPI-5.0).
pub const MPI_ABI_VERSION: c_int = 1;
/// Subversion of the binary interface (MPI-5.0).
pub const MPI_ABI_SUBVERSION: c_int = 0;
