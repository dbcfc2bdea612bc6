//! Error classes: values, names and meanings.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and appendix A.1);
//! change those, not this file.

use std::ffi::c_int;

/// An error class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorClass {
    /// Its value.
    pub value: c_int,
    /// Its name, as `MPI_ERR_TAG`.
    pub name: &'static str,
    /// What went wrong, in a few words.
    pub meaning: &'static str,
}

/// What the class with this value means; `None` when the standard defines none with it.
#[must_use]
pub fn error_class(value: c_int) -> Option<&'static ErrorClass> {
    ERROR_CLASSES.binary_search_by_key(&value, |class| class.value).ok().map(|index| &ERROR_CLASSES[index])
}

/// All error classes in order of their values.
#[rustfmt::skip]
pub static ERROR_CLASSES: [ErrorClass; 81] = [
    ErrorClass { value: MPI_SUCCESS, name: "MPI_SUCCESS", meaning: "no error" },
    ErrorClass { value: MPI_ERR_BUFFER, name: "MPI_ERR_BUFFER", meaning: "wrong buffer pointer" },
    ErrorClass { value: MPI_ERR_COUNT, name: "MPI_ERR_COUNT", meaning: "wrong count" },
    ErrorClass { value: MPI_ERR_TYPE, name: "MPI_ERR_TYPE", meaning: "wrong datatype" },
    ErrorClass { value: MPI_ERR_TAG, name: "MPI_ERR_TAG", meaning: "wrong tag" },
    ErrorClass { value: MPI_ERR_COMM, name: "MPI_ERR_COMM", meaning: "wrong communicator" },
    ErrorClass { value: MPI_ERR_RANK, name: "MPI_ERR_RANK", meaning: "wrong rank" },
    ErrorClass { value: MPI_ERR_REQUEST, name: "MPI_ERR_REQUEST", meaning: "wrong request" },
    ErrorClass { value: MPI_ERR_ROOT, name: "MPI_ERR_ROOT", meaning: "wrong root" },
    ErrorClass { value: MPI_ERR_GROUP, name: "MPI_ERR_GROUP", meaning: "wrong group" },
    ErrorClass { value: MPI_ERR_OP, name: "MPI_ERR_OP", meaning: "wrong operation, or one that does not go with the datatype" },
    ErrorClass { value: MPI_ERR_TOPOLOGY, name: "MPI_ERR_TOPOLOGY", meaning: "no topology, or the wrong kind of it" },
    ErrorClass { value: MPI_ERR_DIMS, name: "MPI_ERR_DIMS", meaning: "wrong dimensions" },
    ErrorClass { value: MPI_ERR_ARG, name: "MPI_ERR_ARG", meaning: "wrong argument of some other kind" },
    ErrorClass { value: MPI_ERR_UNKNOWN, name: "MPI_ERR_UNKNOWN", meaning: "error of unknown cause" },
    ErrorClass { value: MPI_ERR_TRUNCATE, name: "MPI_ERR_TRUNCATE", meaning: "the message is longer than the receive buffer" },
    ErrorClass { value: MPI_ERR_OTHER, name: "MPI_ERR_OTHER", meaning: "error that no other class describes; the string of the code does" },
    ErrorClass { value: MPI_ERR_INTERN, name: "MPI_ERR_INTERN", meaning: "fault of the library itself" },
    ErrorClass { value: MPI_ERR_PENDING, name: "MPI_ERR_PENDING", meaning: "this request of several is neither complete nor in error" },
    ErrorClass { value: MPI_ERR_IN_STATUS, name: "MPI_ERR_IN_STATUS", meaning: "the error codes are in the statuses" },
    ErrorClass { value: MPI_ERR_ACCESS, name: "MPI_ERR_ACCESS", meaning: "permission denied" },
    ErrorClass { value: MPI_ERR_AMODE, name: "MPI_ERR_AMODE", meaning: "wrong access mode of a file" },
    ErrorClass { value: MPI_ERR_ASSERT, name: "MPI_ERR_ASSERT", meaning: "wrong assertion of a window synchronisation" },
    ErrorClass { value: MPI_ERR_BAD_FILE, name: "MPI_ERR_BAD_FILE", meaning: "wrong file name" },
    ErrorClass { value: MPI_ERR_BASE, name: "MPI_ERR_BASE", meaning: "wrong base address of memory to be freed" },
    ErrorClass { value: MPI_ERR_CONVERSION, name: "MPI_ERR_CONVERSION", meaning: "a user's data conversion function failed" },
    ErrorClass { value: MPI_ERR_DISP, name: "MPI_ERR_DISP", meaning: "wrong displacement in a window" },
    ErrorClass { value: MPI_ERR_DUP_DATAREP, name: "MPI_ERR_DUP_DATAREP", meaning: "the data representation is registered already" },
    ErrorClass { value: MPI_ERR_FILE_EXISTS, name: "MPI_ERR_FILE_EXISTS", meaning: "the file exists already" },
    ErrorClass { value: MPI_ERR_FILE_IN_USE, name: "MPI_ERR_FILE_IN_USE", meaning: "some process has the file open" },
    ErrorClass { value: MPI_ERR_FILE, name: "MPI_ERR_FILE", meaning: "wrong file handle" },
    ErrorClass { value: MPI_ERR_INFO_KEY, name: "MPI_ERR_INFO_KEY", meaning: "key longer than MPI_MAX_INFO_KEY" },
    ErrorClass { value: MPI_ERR_INFO_NOKEY, name: "MPI_ERR_INFO_NOKEY", meaning: "the key to delete is not there" },
    ErrorClass { value: MPI_ERR_INFO_VALUE, name: "MPI_ERR_INFO_VALUE", meaning: "value longer than MPI_MAX_INFO_VAL" },
    ErrorClass { value: MPI_ERR_INFO, name: "MPI_ERR_INFO", meaning: "wrong info object" },
    ErrorClass { value: MPI_ERR_IO, name: "MPI_ERR_IO", meaning: "input or output failed for another reason" },
    ErrorClass { value: MPI_ERR_KEYVAL, name: "MPI_ERR_KEYVAL", meaning: "wrong attribute key" },
    ErrorClass { value: MPI_ERR_LOCKTYPE, name: "MPI_ERR_LOCKTYPE", meaning: "wrong type of window lock" },
    ErrorClass { value: MPI_ERR_NAME, name: "MPI_ERR_NAME", meaning: "service name not published" },
    ErrorClass { value: MPI_ERR_NO_MEM, name: "MPI_ERR_NO_MEM", meaning: "out of memory" },
    ErrorClass { value: MPI_ERR_NOT_SAME, name: "MPI_ERR_NOT_SAME", meaning: "an argument that must be alike on all processes is not" },
    ErrorClass { value: MPI_ERR_NO_SPACE, name: "MPI_ERR_NO_SPACE", meaning: "no space left on the file system" },
    ErrorClass { value: MPI_ERR_NO_SUCH_FILE, name: "MPI_ERR_NO_SUCH_FILE", meaning: "the file does not exist" },
    ErrorClass { value: MPI_ERR_PORT, name: "MPI_ERR_PORT", meaning: "wrong port name" },
    ErrorClass { value: MPI_ERR_QUOTA, name: "MPI_ERR_QUOTA", meaning: "quota exceeded" },
    ErrorClass { value: MPI_ERR_READ_ONLY, name: "MPI_ERR_READ_ONLY", meaning: "the file or its file system is read-only" },
    ErrorClass { value: MPI_ERR_RMA_ATTACH, name: "MPI_ERR_RMA_ATTACH", meaning: "memory cannot be attached to the window" },
    ErrorClass { value: MPI_ERR_RMA_CONFLICT, name: "MPI_ERR_RMA_CONFLICT", meaning: "conflicting accesses to a window" },
    ErrorClass { value: MPI_ERR_RMA_RANGE, name: "MPI_ERR_RMA_RANGE", meaning: "target memory is not part of the window" },
    ErrorClass { value: MPI_ERR_RMA_SHARED, name: "MPI_ERR_RMA_SHARED", meaning: "memory cannot be shared by the group" },
    ErrorClass { value: MPI_ERR_RMA_SYNC, name: "MPI_ERR_RMA_SYNC", meaning: "wrong synchronisation of a window" },
    ErrorClass { value: MPI_ERR_SERVICE, name: "MPI_ERR_SERVICE", meaning: "wrong service name to unpublish" },
    ErrorClass { value: MPI_ERR_SIZE, name: "MPI_ERR_SIZE", meaning: "wrong size of a window" },
    ErrorClass { value: MPI_ERR_SPAWN, name: "MPI_ERR_SPAWN", meaning: "processes could not be started" },
    ErrorClass { value: MPI_ERR_UNSUPPORTED_DATAREP, name: "MPI_ERR_UNSUPPORTED_DATAREP", meaning: "data representation not supported" },
    ErrorClass { value: MPI_ERR_UNSUPPORTED_OPERATION, name: "MPI_ERR_UNSUPPORTED_OPERATION", meaning: "operation not supported on this file" },
    ErrorClass { value: MPI_ERR_WIN, name: "MPI_ERR_WIN", meaning: "wrong window" },
    ErrorClass { value: MPI_ERR_RMA_FLAVOR, name: "MPI_ERR_RMA_FLAVOR", meaning: "the window's flavor does not allow the call" },
    ErrorClass { value: MPI_ERR_PROC_ABORTED, name: "MPI_ERR_PROC_ABORTED", meaning: "a peer has aborted" },
    ErrorClass { value: MPI_ERR_VALUE_TOO_LARGE, name: "MPI_ERR_VALUE_TOO_LARGE", meaning: "the value does not fit the output argument" },
    ErrorClass { value: MPI_ERR_SESSION, name: "MPI_ERR_SESSION", meaning: "wrong session" },
    ErrorClass { value: MPI_ERR_ERRHANDLER, name: "MPI_ERR_ERRHANDLER", meaning: "wrong error handler" },
    ErrorClass { value: MPI_ERR_ABI, name: "MPI_ERR_ABI", meaning: "the library cannot do this under the standard ABI" },
    ErrorClass { value: MPI_T_ERR_CANNOT_INIT, name: "MPI_T_ERR_CANNOT_INIT", meaning: "the tool interface cannot be initialised" },
    ErrorClass { value: MPI_T_ERR_NOT_ACCESSIBLE, name: "MPI_T_ERR_NOT_ACCESSIBLE", meaning: "the object cannot be reached now" },
    ErrorClass { value: MPI_T_ERR_NOT_INITIALIZED, name: "MPI_T_ERR_NOT_INITIALIZED", meaning: "the tool interface is not initialised" },
    ErrorClass { value: MPI_T_ERR_NOT_SUPPORTED, name: "MPI_T_ERR_NOT_SUPPORTED", meaning: "the library does not support the request" },
    ErrorClass { value: MPI_T_ERR_MEMORY, name: "MPI_T_ERR_MEMORY", meaning: "out of memory in the tool interface" },
    ErrorClass { value: MPI_T_ERR_INVALID, name: "MPI_T_ERR_INVALID", meaning: "wrong use of the tool interface, or wrong argument to it" },
    ErrorClass { value: MPI_T_ERR_INVALID_INDEX, name: "MPI_T_ERR_INVALID_INDEX", meaning: "wrong index" },
    ErrorClass { value: MPI_T_ERR_INVALID_ITEM, name: "MPI_T_ERR_INVALID_ITEM", meaning: "index of an enumeration's item is out of range" },
    ErrorClass { value: MPI_T_ERR_INVALID_SESSION, name: "MPI_T_ERR_INVALID_SESSION", meaning: "wrong tool session" },
    ErrorClass { value: MPI_T_ERR_INVALID_HANDLE, name: "MPI_T_ERR_INVALID_HANDLE", meaning: "wrong handle of the tool interface" },
    ErrorClass { value: MPI_T_ERR_INVALID_NAME, name: "MPI_T_ERR_INVALID_NAME", meaning: "wrong name of a variable or category" },
    ErrorClass { value: MPI_T_ERR_OUT_OF_HANDLES, name: "MPI_T_ERR_OUT_OF_HANDLES", meaning: "no more handles" },
    ErrorClass { value: MPI_T_ERR_OUT_OF_SESSIONS, name: "MPI_T_ERR_OUT_OF_SESSIONS", meaning: "no more tool sessions" },
    ErrorClass { value: MPI_T_ERR_CVAR_SET_NOT_NOW, name: "MPI_T_ERR_CVAR_SET_NOT_NOW", meaning: "the control variable cannot be set at this time" },
    ErrorClass { value: MPI_T_ERR_CVAR_SET_NEVER, name: "MPI_T_ERR_CVAR_SET_NEVER", meaning: "the control variable can no longer be set" },
    ErrorClass { value: MPI_T_ERR_PVAR_NO_WRITE, name: "MPI_T_ERR_PVAR_NO_WRITE", meaning: "the performance variable cannot be written" },
    ErrorClass { value: MPI_T_ERR_PVAR_NO_STARTSTOP, name: "MPI_T_ERR_PVAR_NO_STARTSTOP", meaning: "the performance variable cannot be started or stopped" },
    ErrorClass { value: MPI_T_ERR_PVAR_NO_ATOMIC, name: "MPI_T_ERR_PVAR_NO_ATOMIC", meaning: "the performance variable cannot be read and reset at once" },
];

// Error classes: §9.4, §14.8, §15.3.10.

/// No error (MPI-1.0).
pub const MPI_SUCCESS: c_int = 0;
/// Wrong buffer pointer (MPI-1.0).
pub const MPI_ERR_BUFFER: c_int = 1;
/// Wrong count (MPI-1.0).
pub const MPI_ERR_COUNT: c_int = 2;
/// Wrong datatype (MPI-1.0).
pub const MPI_ERR_TYPE: c_int = 3;
/// Wrong tag (MPI-1.0).
pub const MPI_ERR_TAG: c_int = 4;
/// Wrong communicator (MPI-1.0).
pub const MPI_ERR_COMM: c_int = 5;
/// Wrong rank (MPI-1.0).
pub const MPI_ERR_RANK: c_int = 6;
/// Wrong request (MPI-1.0).
pub const MPI_ERR_REQUEST: c_int = 7;
/// Wrong root (MPI-1.0).
pub const MPI_ERR_ROOT: c_int = 8;
/// Wrong group (MPI-1.0).
pub const MPI_ERR_GROUP: c_int = 9;
/// Wrong operation, or one that does not go with the datatype (MPI-1.0).
pub const MPI_ERR_OP: c_int = 10;
/// No topology, or the wrong kind of it (MPI-1.0).
pub const MPI_ERR_TOPOLOGY: c_int = 11;
/// Wrong dimensions (MPI-1.0).
pub const MPI_ERR_DIMS: c_int = 12;
/// Wrong argument of some other kind (MPI-1.0).
pub const MPI_ERR_ARG: c_int = 13;
/// Error of unknown cause (MPI-1.0).
pub const MPI_ERR_UNKNOWN: c_int = 14;
/// The message is longer than the receive buffer (MPI-1.0).
pub const MPI_ERR_TRUNCATE: c_int = 15;
/// Error that no other class describes; the string of the code does (MPI-1.0).
pub const MPI_ERR_OTHER: c_int = 16;
/// Fault of the library itself (MPI-1.0).
pub const MPI_ERR_INTERN: c_int = 17;
/// This request of several is neither complete nor in error (MPI-1.1).
pub const MPI_ERR_PENDING: c_int = 18;
/// The error codes are in the statuses (MPI-1.1).
pub const MPI_ERR_IN_STATUS: c_int = 19;
/// Permission denied (MPI-2.0).
pub const MPI_ERR_ACCESS: c_int = 20;
/// Wrong access mode of a file (MPI-2.0).
pub const MPI_ERR_AMODE: c_int = 21;
/// Wrong assertion of a window synchronisation (MPI-2.0).
pub const MPI_ERR_ASSERT: c_int = 22;
/// Wrong file name (MPI-2.0).
pub const MPI_ERR_BAD_FILE: c_int = 23;
/// Wrong base address of memory to be freed (MPI-2.0).
pub const MPI_ERR_BASE: c_int = 24;
/// A user's data conversion function failed (MPI-2.0).
pub const MPI_ERR_CONVERSION: c_int = 25;
/// Wrong displacement in a window (MPI-2.0).
pub const MPI_ERR_DISP: c_int = 26;
/// The data representation is registered already (MPI-2.0).
pub const MPI_ERR_DUP_DATAREP: c_int = 27;
/// The file exists already (MPI-2.0).
pub const MPI_ERR_FILE_EXISTS: c_int = 28;
/// Some process has the file open (MPI-2.0).
pub const MPI_ERR_FILE_IN_USE: c_int = 29;
/// Wrong file handle (MPI-2.0).
pub const MPI_ERR_FILE: c_int = 30;
/// Key longer than MPI_MAX_INFO_KEY (MPI-2.0).
pub const MPI_ERR_INFO_KEY: c_int = 31;
/// The key to delete is not there (MPI-2.0).
pub const MPI_ERR_INFO_NOKEY: c_int = 32;
/// Value longer than MPI_MAX_INFO_VAL (MPI-2.0).
pub const MPI_ERR_INFO_VALUE: c_int = 33;
/// Wrong info object (MPI-2.0).
pub const MPI_ERR_INFO: c_int = 34;
/// Input or output failed for another reason (MPI-2.0).
pub const MPI_ERR_IO: c_int = 35;
/// Wrong attribute key (MPI-2.0).
pub const MPI_ERR_KEYVAL: c_int = 36;
/// Wrong type of window lock (MPI-2.0).
pub const MPI_ERR_LOCKTYPE: c_int = 37;
/// Service name not published (MPI-2.0).
pub const MPI_ERR_NAME: c_int = 38;
/// Out of memory (MPI-2.0).
pub const MPI_ERR_NO_MEM: c_int = 39;
/// An argument that must be alike on all processes is not (MPI-2.0).
pub const MPI_ERR_NOT_SAME: c_int = 40;
/// No space left on the file system (MPI-2.0).
pub const MPI_ERR_NO_SPACE: c_int = 41;
/// The file does not exist (MPI-2.0).
pub const MPI_ERR_NO_SUCH_FILE: c_int = 42;
/// Wrong port name (MPI-2.0).
pub const MPI_ERR_PORT: c_int = 43;
/// Quota exceeded (MPI-2.0).
pub const MPI_ERR_QUOTA: c_int = 44;
/// The file or its file system is read-only (MPI-2.0).
pub const MPI_ERR_READ_ONLY: c_int = 45;
/// Memory cannot be attached to the window (MPI-3.0).
pub const MPI_ERR_RMA_ATTACH: c_int = 46;
/// Conflicting accesses to a window (MPI-2.0).
pub const MPI_ERR_RMA_CONFLICT: c_int = 47;
/// Target memory is not part of the window (MPI-3.0).
pub const MPI_ERR_RMA_RANGE: c_int = 48;
/// Memory cannot be shared by the group (MPI-3.0).
pub const MPI_ERR_RMA_SHARED: c_int = 49;
/// Wrong synchronisation of a window (MPI-2.0).
pub const MPI_ERR_RMA_SYNC: c_int = 50;
/// Wrong service name to unpublish (MPI-2.0).
pub const MPI_ERR_SERVICE: c_int = 51;
/// Wrong size of a window (MPI-2.0).
pub const MPI_ERR_SIZE: c_int = 52;
/// Processes could not be started (MPI-2.0).
pub const MPI_ERR_SPAWN: c_int = 53;
/// Data representation not supported (MPI-2.0).
pub const MPI_ERR_UNSUPPORTED_DATAREP: c_int = 54;
/// Operation not supported on this file (MPI-2.0).
pub const MPI_ERR_UNSUPPORTED_OPERATION: c_int = 55;
/// Wrong window (MPI-2.0).
pub const MPI_ERR_WIN: c_int = 56;
/// The window's flavor does not allow the call (MPI-3.0).
pub const MPI_ERR_RMA_FLAVOR: c_int = 57;
/// A peer has aborted (MPI-4.0).
pub const MPI_ERR_PROC_ABORTED: c_int = 58;
/// The value does not fit the output argument (MPI-4.0).
pub const MPI_ERR_VALUE_TOO_LARGE: c_int = 59;
/// Wrong session (MPI-4.0).
pub const MPI_ERR_SESSION: c_int = 60;
/// Wrong error handler (MPI-4.1).
pub const MPI_ERR_ERRHANDLER: c_int = 61;
/// The library cannot do this under the standard ABI (MPI-5.0).
pub const MPI_ERR_ABI: c_int = 62;
/// The tool interface cannot be initialised (MPI-3.0).
pub const MPI_T_ERR_CANNOT_INIT: c_int = 1001;
/// The object cannot be reached now (MPI-4.1).
pub const MPI_T_ERR_NOT_ACCESSIBLE: c_int = 1002;
/// The tool interface is not initialised (MPI-3.0).
pub const MPI_T_ERR_NOT_INITIALIZED: c_int = 1003;
/// The library does not support the request (MPI-4.0).
pub const MPI_T_ERR_NOT_SUPPORTED: c_int = 1004;
/// Out of memory in the tool interface (MPI-3.0).
pub const MPI_T_ERR_MEMORY: c_int = 1005;
/// Wrong use of the tool interface, or wrong argument to it (MPI-3.1).
pub const MPI_T_ERR_INVALID: c_int = 1006;
/// Wrong index (MPI-3.0).
pub const MPI_T_ERR_INVALID_INDEX: c_int = 1007;
/// Index of an enumeration's item is out of range (MPI-3.0, deprecated in MPI-4.0).
pub const MPI_T_ERR_INVALID_ITEM: c_int = 1008;
/// Wrong tool session (MPI-3.0).
pub const MPI_T_ERR_INVALID_SESSION: c_int = 1009;
/// Wrong handle of the tool interface (MPI-3.0).
pub const MPI_T_ERR_INVALID_HANDLE: c_int = 1010;
/// Wrong name of a variable or category (MPI-3.1).
pub const MPI_T_ERR_INVALID_NAME: c_int = 1011;
/// No more handles (MPI-3.0).
pub const MPI_T_ERR_OUT_OF_HANDLES: c_int = 1012;
/// No more tool sessions (MPI-3.0).
pub const MPI_T_ERR_OUT_OF_SESSIONS: c_int = 1013;
/// The control variable cannot be set at this time (MPI-3.0).
pub const MPI_T_ERR_CVAR_SET_NOT_NOW: c_int = 1014;
/// The control variable can no longer be set (MPI-3.0).
pub const MPI_T_ERR_CVAR_SET_NEVER: c_int = 1015;
/// The performance variable cannot be written (MPI-3.0).
pub const MPI_T_ERR_PVAR_NO_WRITE: c_int = 1016;
/// The performance variable cannot be started or stopped (MPI-3.0).
pub const MPI_T_ERR_PVAR_NO_STARTSTOP: c_int = 1017;
/// The performance variable cannot be read and reset at once (MPI-3.0).
pub const MPI_T_ERR_PVAR_NO_ATOMIC: c_int = 1018;
/// No predefined error code is larger (MPI-1.0).
pub const MPI_ERR_LASTCODE: c_int = 16383;
