//! Types of the functions that a program hands to MPI (MPI-5.0, appendix A.1.3).
//!
//! A null callback is `None` where an argument is `Option` of one of these; `MPI_COMM_DUP_FN` and its kin are addresses,
//! to be compared before a callback is called.

use std::ffi::{c_int, c_void};

use super::{
    MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_File, MPI_Offset, MPI_Session, MPI_Status,
    MPI_T_cb_safety, MPI_T_event_instance, MPI_T_event_registration, MPI_Win,
};

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

/// Copies an attribute of a communicator when it is duplicated (§7.7.2).
pub type MPI_Comm_copy_attr_function = unsafe extern "C" fn(
    comm: MPI_Comm,
    keyval: c_int,
    extra_state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut c_void,
    flag: *mut c_int,
) -> c_int;
/// Is told that an attribute of a communicator is deleted (§7.7.2).
pub type MPI_Comm_delete_attr_function = unsafe extern "C" fn(
    comm: MPI_Comm,
    keyval: c_int,
    value: *mut c_void,
    extra_state: *mut c_void,
) -> c_int;
/// Copies an attribute; the name of MPI-1 (§16.1).
pub type MPI_Copy_function = MPI_Comm_copy_attr_function;
/// Is told that an attribute is deleted; the name of MPI-1 (§16.1).
pub type MPI_Delete_function = MPI_Comm_delete_attr_function;
/// Copies an attribute of a datatype when it is duplicated (§7.7.4).
pub type MPI_Type_copy_attr_function = unsafe extern "C" fn(
    datatype: MPI_Datatype,
    keyval: c_int,
    extra_state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut c_void,
    flag: *mut c_int,
) -> c_int;
/// Is told that an attribute of a datatype is deleted (§7.7.4).
pub type MPI_Type_delete_attr_function = unsafe extern "C" fn(
    datatype: MPI_Datatype,
    keyval: c_int,
    value: *mut c_void,
    extra_state: *mut c_void,
) -> c_int;
/// Copies an attribute of a window; never called, for windows are not duplicated (§7.7.3).
pub type MPI_Win_copy_attr_function = unsafe extern "C" fn(
    win: MPI_Win,
    keyval: c_int,
    extra_state: *mut c_void,
    value_in: *mut c_void,
    value_out: *mut c_void,
    flag: *mut c_int,
) -> c_int;
/// Is told that an attribute of a window is deleted (§7.7.3).
pub type MPI_Win_delete_attr_function =
    unsafe extern "C" fn(win: MPI_Win, keyval: c_int, value: *mut c_void, extra_state: *mut c_void) -> c_int;

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

/// Tells the extent of a datatype in a user's data representation (§14.5.3).
pub type MPI_Datarep_extent_function =
    unsafe extern "C" fn(datatype: MPI_Datatype, extent: *mut MPI_Aint, extra_state: *mut c_void) -> c_int;
/// Converts between memory and a user's data representation (§14.5.3).
pub type MPI_Datarep_conversion_function = unsafe extern "C" fn(
    userbuf: *mut c_void,
    datatype: MPI_Datatype,
    count: c_int,
    filebuf: *mut c_void,
    position: MPI_Offset,
    extra_state: *mut c_void,
) -> c_int;
/// Converts between memory and a user's data representation, with a large count (§14.5.3).
pub type MPI_Datarep_conversion_function_c = unsafe extern "C" fn(
    userbuf: *mut c_void,
    datatype: MPI_Datatype,
    count: MPI_Count,
    filebuf: *mut c_void,
    position: MPI_Offset,
    extra_state: *mut c_void,
) -> c_int;

/// Is told of an event of the tool interface (§15.3.8).
pub type MPI_T_event_cb_function = unsafe extern "C" fn(
    instance: MPI_T_event_instance,
    registration: MPI_T_event_registration,
    safety: MPI_T_cb_safety,
    user_data: *mut c_void,
);
/// Is told that a registration for events is gone (§15.3.8).
pub type MPI_T_event_free_cb_function = unsafe extern "C" fn(
    registration: MPI_T_event_registration,
    safety: MPI_T_cb_safety,
    user_data: *mut c_void,
);
/// Is told how many events were lost (§15.3.8).
pub type MPI_T_event_dropped_cb_function = unsafe extern "C" fn(
    count: MPI_Count,
    registration: MPI_T_event_registration,
    source_index: c_int,
    safety: MPI_T_cb_safety,
    user_data: *mut c_void,
);
