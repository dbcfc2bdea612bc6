//! Error classes: values, names and meanings.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use std::ffi::c_int;

use super::ErrorClass;

error_classes! { 81;
    MPI_SUCCESS = 0 "no error" "MPI-1.0";
    MPI_ERR_BUFFER = 1 "wrong buffer pointer" "MPI-1.0";
    MPI_ERR_COUNT = 2 "wrong count" "MPI-1.0";
    MPI_ERR_TYPE = 3 "wrong datatype" "MPI-1.0";
    MPI_ERR_TAG = 4 "wrong tag" "MPI-1.0";
    MPI_ERR_COMM = 5 "wrong communicator" "MPI-1.0";
    MPI_ERR_RANK = 6 "wrong rank" "MPI-1.0";
    MPI_ERR_REQUEST = 7 "wrong request" "MPI-1.0";
    MPI_ERR_ROOT = 8 "wrong root" "MPI-1.0";
    MPI_ERR_GROUP = 9 "wrong group" "MPI-1.0";
    MPI_ERR_OP = 10 "wrong operation, or one that does not go with the datatype" "MPI-1.0";
    MPI_ERR_TOPOLOGY = 11 "no topology, or the wrong kind of it" "MPI-1.0";
    MPI_ERR_DIMS = 12 "wrong dimensions" "MPI-1.0";
    MPI_ERR_ARG = 13 "wrong argument of some other kind" "MPI-1.0";
    MPI_ERR_UNKNOWN = 14 "error of unknown cause" "MPI-1.0";
    MPI_ERR_TRUNCATE = 15 "the message is longer than the receive buffer" "MPI-1.0";
    MPI_ERR_OTHER = 16 "error that no other class describes; the string of the code does" "MPI-1.0";
    MPI_ERR_INTERN = 17 "fault of the library itself" "MPI-1.0";
    MPI_ERR_PENDING = 18 "this request of several is neither complete nor in error" "MPI-1.1";
    MPI_ERR_IN_STATUS = 19 "the error codes are in the statuses" "MPI-1.1";
    MPI_ERR_ACCESS = 20 "permission denied" "MPI-2.0";
    MPI_ERR_AMODE = 21 "wrong access mode of a file" "MPI-2.0";
    MPI_ERR_ASSERT = 22 "wrong assertion of a window synchronisation" "MPI-2.0";
    MPI_ERR_BAD_FILE = 23 "wrong file name" "MPI-2.0";
    MPI_ERR_BASE = 24 "wrong base address of memory to be freed" "MPI-2.0";
    MPI_ERR_CONVERSION = 25 "a user's data conversion function failed" "MPI-2.0";
    MPI_ERR_DISP = 26 "wrong displacement in a window" "MPI-2.0";
    MPI_ERR_DUP_DATAREP = 27 "the data representation is registered already" "MPI-2.0";
    MPI_ERR_FILE_EXISTS = 28 "the file exists already" "MPI-2.0";
    MPI_ERR_FILE_IN_USE = 29 "some process has the file open" "MPI-2.0";
    MPI_ERR_FILE = 30 "wrong file handle" "MPI-2.0";
    MPI_ERR_INFO_KEY = 31 "key longer than MPI_MAX_INFO_KEY" "MPI-2.0";
    MPI_ERR_INFO_NOKEY = 32 "the key to delete is not there" "MPI-2.0";
    MPI_ERR_INFO_VALUE = 33 "value longer than MPI_MAX_INFO_VAL" "MPI-2.0";
    MPI_ERR_INFO = 34 "wrong info object" "MPI-2.0";
    MPI_ERR_IO = 35 "input or output failed for another reason" "MPI-2.0";
    MPI_ERR_KEYVAL = 36 "wrong attribute key" "MPI-2.0";
    MPI_ERR_LOCKTYPE = 37 "wrong type of window lock" "MPI-2.0";
    MPI_ERR_NAME = 38 "service name not published" "MPI-2.0";
    MPI_ERR_NO_MEM = 39 "out of memory" "MPI-2.0";
    MPI_ERR_NOT_SAME = 40 "an argument that must be alike on all processes is not" "MPI-2.0";
    MPI_ERR_NO_SPACE = 41 "no space left on the file system" "MPI-2.0";
    MPI_ERR_NO_SUCH_FILE = 42 "the file does not exist" "MPI-2.0";
    MPI_ERR_PORT = 43 "wrong port name" "MPI-2.0";
    MPI_ERR_QUOTA = 44 "quota exceeded" "MPI-2.0";
    MPI_ERR_READ_ONLY = 45 "the file or its file system is read-only" "MPI-2.0";
    MPI_ERR_RMA_ATTACH = 46 "memory cannot be attached to the window" "MPI-3.0";
    MPI_ERR_RMA_CONFLICT = 47 "conflicting accesses to a window" "MPI-2.0";
    MPI_ERR_RMA_RANGE = 48 "target memory is not part of the window" "MPI-3.0";
    MPI_ERR_RMA_SHARED = 49 "memory cannot be shared by the group" "MPI-3.0";
    MPI_ERR_RMA_SYNC = 50 "wrong synchronisation of a window" "MPI-2.0";
    MPI_ERR_SERVICE = 51 "wrong service name to unpublish" "MPI-2.0";
    MPI_ERR_SIZE = 52 "wrong size of a window" "MPI-2.0";
    MPI_ERR_SPAWN = 53 "processes could not be started" "MPI-2.0";
    MPI_ERR_UNSUPPORTED_DATAREP = 54 "data representation not supported" "MPI-2.0";
    MPI_ERR_UNSUPPORTED_OPERATION = 55 "operation not supported on this file" "MPI-2.0";
    MPI_ERR_WIN = 56 "wrong window" "MPI-2.0";
    MPI_ERR_RMA_FLAVOR = 57 "the window's flavor does not allow the call" "MPI-3.0";
    MPI_ERR_PROC_ABORTED = 58 "a peer has aborted" "MPI-4.0";
    MPI_ERR_VALUE_TOO_LARGE = 59 "the value does not fit the output argument" "MPI-4.0";
    MPI_ERR_SESSION = 60 "wrong session" "MPI-4.0";
    MPI_ERR_ERRHANDLER = 61 "wrong error handler" "MPI-4.1";
    MPI_ERR_ABI = 62 "the library cannot do this under the standard ABI" "MPI-5.0";
    MPI_T_ERR_CANNOT_INIT = 1001 "the tool interface cannot be initialised" "MPI-3.0";
    MPI_T_ERR_NOT_ACCESSIBLE = 1002 "the object cannot be reached now" "MPI-4.1";
    MPI_T_ERR_NOT_INITIALIZED = 1003 "the tool interface is not initialised" "MPI-3.0";
    MPI_T_ERR_NOT_SUPPORTED = 1004 "the library does not support the request" "MPI-4.0";
    MPI_T_ERR_MEMORY = 1005 "out of memory in the tool interface" "MPI-3.0";
    MPI_T_ERR_INVALID = 1006 "wrong use of the tool interface, or wrong argument to it" "MPI-3.1";
    MPI_T_ERR_INVALID_INDEX = 1007 "wrong index" "MPI-3.0";
    MPI_T_ERR_INVALID_ITEM = 1008 "index of an enumeration's item is out of range" "MPI-3.0, deprecated in MPI-4.0";
    MPI_T_ERR_INVALID_SESSION = 1009 "wrong tool session" "MPI-3.0";
    MPI_T_ERR_INVALID_HANDLE = 1010 "wrong handle of the tool interface" "MPI-3.0";
    MPI_T_ERR_INVALID_NAME = 1011 "wrong name of a variable or category" "MPI-3.1";
    MPI_T_ERR_OUT_OF_HANDLES = 1012 "no more handles" "MPI-3.0";
    MPI_T_ERR_OUT_OF_SESSIONS = 1013 "no more tool sessions" "MPI-3.0";
    MPI_T_ERR_CVAR_SET_NOT_NOW = 1014 "the control variable cannot be set at this time" "MPI-3.0";
    MPI_T_ERR_CVAR_SET_NEVER = 1015 "the control variable can no longer be set" "MPI-3.0";
    MPI_T_ERR_PVAR_NO_WRITE = 1016 "the performance variable cannot be written" "MPI-3.0";
    MPI_T_ERR_PVAR_NO_STARTSTOP = 1017 "the performance variable cannot be started or stopped" "MPI-3.0";
    MPI_T_ERR_PVAR_NO_ATOMIC = 1018 "the performance variable cannot be read and reset at once" "MPI-3.0";
}

// Error classes: §9.4, §14.8, §15.3.10.

/// No predefined error code is larger (MPI-1.0).
pub const MPI_ERR_LASTCODE: c_int = 16383;
