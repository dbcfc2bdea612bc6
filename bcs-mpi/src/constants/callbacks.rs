//! Types of the functions that a program hands to MPI (MPI-5.0, appendix A.1.3).
//!
//! A null callback is `None` where an argument is `Option` of one of these.

use std::ffi::{c_int, c_void};

use super::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_File, MPI_Session, MPI_Status, MPI_Win};

/// A user's reduction: combines `len` elements of `invec` into `inoutvec` (§6.9.5).
pub type MPI_User_function = unsafe extern "C" fn(
    invec: *mut c_void,
    inoutvec: *mut c_void,
    len: *mut c_int,
    datatype: *mut MPI_Datatype,
);
/// A user's reduction with a large count (§6.9.5).
pub type MPI_User_function_c = unsafe extern "C" fn(
    invec: *mut c_void,
    inoutvec: *mut c_void,
    len: *mut MPI_Count,
    datatype: *mut MPI_Datatype,
);

/// Handles an error on a communicator (§9.3.1).
pub type MPI_Comm_errhandler_function = unsafe extern "C" fn(comm: *mut MPI_Comm, code: *mut c_int, ...);
/// Handles an error on a file (§9.3.3).
pub type MPI_File_errhandler_function = unsafe extern "C" fn(file: *mut MPI_File, code: *mut c_int, ...);
/// Handles an error on a window (§9.3.2).
pub type MPI_Win_errhandler_function = unsafe extern "C" fn(win: *mut MPI_Win, code: *mut c_int, ...);
/// Handles an error on a session (§9.3.4).
pub type MPI_Session_errhandler_function =
    unsafe extern "C" fn(session: *mut MPI_Session, code: *mut c_int, ...);

/// Fills the status of a generalized request (§13.2).
pub type MPI_Grequest_query_function =
    unsafe extern "C" fn(extra_state: *mut c_void, status: *mut MPI_Status) -> c_int;
/// Frees what a generalized request holds (§13.2).
pub type MPI_Grequest_free_function = unsafe extern "C" fn(extra_state: *mut c_void) -> c_int;
/// Is told that a generalized request is cancelled (§13.2).
pub type MPI_Grequest_cancel_function =
    unsafe extern "C" fn(extra_state: *mut c_void, complete: c_int) -> c_int;
