//! Sizes that a program may use for its buffers.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use std::ffi::c_int;

// Longest strings, in bytes with the end mark: §9.1, §9.4, §10, §11, §14.5.

/// Name of a data representation (MPI-2.0).
pub const MPI_MAX_DATAREP_STRING: c_int = 128;
/// Error string (MPI-1.0).
pub const MPI_MAX_ERROR_STRING: c_int = 512;
/// Info key (MPI-2.0).
pub const MPI_MAX_INFO_KEY: c_int = 256;
/// Info value (MPI-2.0).
pub const MPI_MAX_INFO_VAL: c_int = 1024;
/// Version string of the library (MPI-3.0).
pub const MPI_MAX_LIBRARY_VERSION_STRING: c_int = 8192;
/// Name of a communicator, datatype or window (MPI-2.0).
pub const MPI_MAX_OBJECT_NAME: c_int = 128;
/// Port name (MPI-2.0).
pub const MPI_MAX_PORT_NAME: c_int = 1024;
/// Processor name (MPI-1.0).
pub const MPI_MAX_PROCESSOR_NAME: c_int = 256;
/// String tag of a communicator's creation (MPI-4.0).
pub const MPI_MAX_STRINGTAG_LEN: c_int = 1024;
/// Name of a process set (MPI-4.0).
pub const MPI_MAX_PSET_NAME_LEN: c_int = 1024;

// Buffered sends: §3.6.

/// Bytes that a buffered send needs beside its data (MPI-1.1).
pub const MPI_BSEND_OVERHEAD: c_int = 512;

// Status in Fortran: §19.3.5.

/// Integers in a status (MPI-1.0).
pub const MPI_F_STATUS_SIZE: c_int = 8;
/// Index of the source, from zero (MPI-1.0).
pub const MPI_F_SOURCE: c_int = 0;
/// Index of the tag, from zero (MPI-1.0).
pub const MPI_F_TAG: c_int = 1;
/// Index of the error, from zero (MPI-1.0).
pub const MPI_F_ERROR: c_int = 2;
