//! Constants of the tool information interface, MPI_T.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and appendix A.1);
//! change those, not this file.

use std::ffi::c_int;

use super::{MPI_T_cvar_handle, MPI_T_enum, MPI_T_pvar_handle, MPI_T_pvar_session};

// Tool interface: enumerations: §15.3.5.

/// No enumeration (MPI-3.0).
pub const MPI_T_ENUM_NULL: MPI_T_enum = MPI_T_enum(0x0);

// Tool interface: control variables: §15.3.6.

/// No control variable (MPI-3.0).
pub const MPI_T_CVAR_HANDLE_NULL: MPI_T_cvar_handle = MPI_T_cvar_handle(0x0);

// Tool interface: sessions: §15.3.7.

/// No session (MPI-3.0).
pub const MPI_T_PVAR_SESSION_NULL: MPI_T_pvar_session = MPI_T_pvar_session(0x0);

// Tool interface: performance variables: §15.3.7.

/// No performance variable (MPI-3.0).
pub const MPI_T_PVAR_HANDLE_NULL: MPI_T_pvar_handle = MPI_T_pvar_handle(0x0);
/// All performance variables of the session (MPI-3.0).
pub const MPI_T_PVAR_ALL_HANDLES: MPI_T_pvar_handle = MPI_T_pvar_handle(0x1);

// Tool interface: what a callback may do: §15.3.8.

/// Anything (MPI-4.0).
pub const MPI_T_CB_REQUIRE_NONE: c_int = 0;
/// Few calls of MPI (MPI-4.0).
pub const MPI_T_CB_REQUIRE_MPI_RESTRICTED: c_int = 3;
/// Only what is thread safe (MPI-4.0).
pub const MPI_T_CB_REQUIRE_THREAD_SAFE: c_int = 15;
/// Only what is safe in a signal handler (MPI-4.0).
pub const MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE: c_int = 63;

// Tool interface: order of events: §15.3.8.

/// In order of time (MPI-4.0).
pub const MPI_T_SOURCE_ORDERED: c_int = 1;
/// In any order (MPI-4.0).
pub const MPI_T_SOURCE_UNORDERED: c_int = 2;

// Tool interface: verbosity: §15.3.1.

/// For users, basic (MPI-3.0).
pub const MPI_T_VERBOSITY_USER_BASIC: c_int = 9;
/// For users, detailed (MPI-3.0).
pub const MPI_T_VERBOSITY_USER_DETAIL: c_int = 10;
/// For users, everything (MPI-3.0).
pub const MPI_T_VERBOSITY_USER_ALL: c_int = 12;
/// For tuning, basic (MPI-3.0).
pub const MPI_T_VERBOSITY_TUNER_BASIC: c_int = 17;
/// For tuning, detailed (MPI-3.0).
pub const MPI_T_VERBOSITY_TUNER_DETAIL: c_int = 18;
/// For tuning, everything (MPI-3.0).
pub const MPI_T_VERBOSITY_TUNER_ALL: c_int = 20;
/// For developers of MPI, basic (MPI-3.0).
pub const MPI_T_VERBOSITY_MPIDEV_BASIC: c_int = 33;
/// For developers of MPI, detailed (MPI-3.0).
pub const MPI_T_VERBOSITY_MPIDEV_DETAIL: c_int = 34;
/// For developers of MPI, everything (MPI-3.0).
pub const MPI_T_VERBOSITY_MPIDEV_ALL: c_int = 36;

// Tool interface: object that a variable is bound to: §15.3.2.

/// None (MPI-3.0).
pub const MPI_T_BIND_NO_OBJECT: c_int = 1;
/// A communicator (MPI-3.0).
pub const MPI_T_BIND_MPI_COMM: c_int = 2;
/// A datatype (MPI-3.0).
pub const MPI_T_BIND_MPI_DATATYPE: c_int = 3;
/// An error handler (MPI-3.0).
pub const MPI_T_BIND_MPI_ERRHANDLER: c_int = 4;
/// A file (MPI-3.0).
pub const MPI_T_BIND_MPI_FILE: c_int = 5;
/// A group (MPI-3.0).
pub const MPI_T_BIND_MPI_GROUP: c_int = 6;
/// An operation (MPI-3.0).
pub const MPI_T_BIND_MPI_OP: c_int = 7;
/// A request (MPI-3.0).
pub const MPI_T_BIND_MPI_REQUEST: c_int = 8;
/// A window (MPI-3.0).
pub const MPI_T_BIND_MPI_WIN: c_int = 9;
/// A message (MPI-3.0).
pub const MPI_T_BIND_MPI_MESSAGE: c_int = 10;
/// An info object (MPI-3.0).
pub const MPI_T_BIND_MPI_INFO: c_int = 11;
/// A session (MPI-4.0).
pub const MPI_T_BIND_MPI_SESSION: c_int = 12;

// Tool interface: scope of a control variable: §15.3.6.

/// Never changes (MPI-3.0).
pub const MPI_T_SCOPE_CONSTANT: c_int = 1;
/// Cannot be written (MPI-3.0).
pub const MPI_T_SCOPE_READONLY: c_int = 2;
/// May be written by one process (MPI-3.0).
pub const MPI_T_SCOPE_LOCAL: c_int = 3;
/// To be written by a group of processes (MPI-3.0).
pub const MPI_T_SCOPE_GROUP: c_int = 4;
/// To be written by a group of processes with one value (MPI-3.0).
pub const MPI_T_SCOPE_GROUP_EQ: c_int = 5;
/// To be written by all processes (MPI-3.0).
pub const MPI_T_SCOPE_ALL: c_int = 6;
/// To be written by all processes with one value (MPI-3.0).
pub const MPI_T_SCOPE_ALL_EQ: c_int = 7;

// Tool interface: classes of performance variables: §15.3.7.

/// One of a set of states (MPI-3.0).
pub const MPI_T_PVAR_CLASS_STATE: c_int = 1;
/// Use of a resource (MPI-3.0).
pub const MPI_T_PVAR_CLASS_LEVEL: c_int = 2;
/// Size of a resource (MPI-3.0).
pub const MPI_T_PVAR_CLASS_SIZE: c_int = 3;
/// Share of a resource in use (MPI-3.0).
pub const MPI_T_PVAR_CLASS_PERCENTAGE: c_int = 4;
/// Highest use of a resource (MPI-3.0).
pub const MPI_T_PVAR_CLASS_HIGHWATERMARK: c_int = 5;
/// Lowest use of a resource (MPI-3.0).
pub const MPI_T_PVAR_CLASS_LOWWATERMARK: c_int = 6;
/// Number of occurrences (MPI-3.0).
pub const MPI_T_PVAR_CLASS_COUNTER: c_int = 7;
/// Sum over occurrences (MPI-3.0).
pub const MPI_T_PVAR_CLASS_AGGREGATE: c_int = 8;
/// Time spent (MPI-3.0).
pub const MPI_T_PVAR_CLASS_TIMER: c_int = 9;
/// None of these (MPI-3.0).
pub const MPI_T_PVAR_CLASS_GENERIC: c_int = 10;
