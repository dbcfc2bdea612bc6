//! Attribute keys, and callbacks with a predefined meaning.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and appendix A.1);
//! change those, not this file.

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

// Attribute keys of windows: §12.2.6.

/// Base address (MPI-2.0).
pub const MPI_WIN_BASE: c_int = 601;
/// Displacement unit (MPI-2.0).
pub const MPI_WIN_DISP_UNIT: c_int = 602;
/// Size in bytes (MPI-2.0).
pub const MPI_WIN_SIZE: c_int = 603;
/// How it was made (MPI-3.0).
pub const MPI_WIN_CREATE_FLAVOR: c_int = 604;
/// Memory model (MPI-3.0).
pub const MPI_WIN_MODEL: c_int = 605;

// Attribute callbacks of MPI-1: §16.1.

/// The attribute is not copied (MPI-1.0, deprecated in MPI-2.0).
pub const MPI_NULL_COPY_FN: usize = 0;
/// The attribute is copied as it is (MPI-1.0, deprecated in MPI-2.0).
pub const MPI_DUP_FN: usize = 1;

// Attribute deletion of MPI-1: §16.1.

/// Nothing is done on deletion (MPI-1.0, deprecated in MPI-2.0).
pub const MPI_NULL_DELETE_FN: usize = 0;

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

// Copying attributes of windows: §7.7.3.

/// The attribute is not copied (MPI-2.0).
pub const MPI_WIN_NULL_COPY_FN: usize = 0;
/// The attribute is copied as it is (MPI-2.0).
pub const MPI_WIN_DUP_FN: usize = 1;

// Deleting attributes of windows: §7.7.3.

/// Nothing is done on deletion (MPI-2.0).
pub const MPI_WIN_NULL_DELETE_FN: usize = 0;

// Data representations: §14.5.3.

/// No conversion (MPI-2.0).
pub const MPI_CONVERSION_FN_NULL: usize = 0;

// Data representations, large counts: §14.5.3.

/// No conversion (MPI-4.0).
pub const MPI_CONVERSION_FN_NULL_C: usize = 0;
