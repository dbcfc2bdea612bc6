//! The tool interface (MPI-5.0, §15.3) of a library that offers no control variables, performance variables,
//! categories, events and sources. A number of 0 is a complete answer by the standard; every index, name and
//! handle is then one of none.
//!
//! It is usable before MPI_Init and after MPI_Finalize, and initialised as often as it is finalised. Errors
//! are codes that the calls return; no error handler is asked (§15.3.10).

use crate::constants::*;
use crate::lasting::Lasting;
use std::collections::BTreeSet;
use std::ffi::c_int;

struct Tools {
    /// Times that it was initialised and not finalised.
    users: usize,
    /// Sessions for performance variables, by their handles.
    sessions: BTreeSet<usize>,
    next: usize,
}

static TOOLS: Lasting<Tools> = Lasting::new(Tools { users: 0, sessions: BTreeSet::new(), next: 1 });

/// What a call answers that stores something at `to` while the tool interface is initialised.
fn store<T>(to: Option<&mut T>, act: impl FnOnce(&mut Tools, &mut T) -> c_int) -> c_int {
    let mut tools = TOOLS.lock();
    match to {
        _ if tools.users == 0 => MPI_T_ERR_NOT_INITIALIZED,
        None => MPI_T_ERR_INVALID,
        Some(to) => act(&mut tools, to),
    }
}

/// MPI_T_init_thread: every level is provided, as each call holds a lock of its own.
pub fn init(required: c_int, provided: Option<&mut c_int>) -> c_int {
    let Some(provided) = provided else { return MPI_T_ERR_INVALID };
    if !(MPI_THREAD_SINGLE..=MPI_THREAD_MULTIPLE).contains(&required) {
        return MPI_T_ERR_INVALID;
    }
    TOOLS.lock().users += 1;
    *provided = required;
    MPI_SUCCESS
}

/// MPI_T_finalize.
pub fn finalize() -> c_int {
    let mut tools = TOOLS.lock();
    let Some(left) = tools.users.checked_sub(1) else { return MPI_T_ERR_NOT_INITIALIZED };
    tools.users = left;
    if left == 0 {
        tools.sessions.clear();
    }
    MPI_SUCCESS
}

/// The answer for an object of which there is none.
pub fn refuse(code: c_int) -> c_int {
    if TOOLS.lock().users == 0 { MPI_T_ERR_NOT_INITIALIZED } else { code }
}

/// How many there are of something: 0.
pub fn none(number: Option<&mut c_int>) -> c_int {
    store(number, |_, number| {
        *number = 0;
        MPI_SUCCESS
    })
}

/// MPI_T_pvar_session_create.
pub fn create_session(session: Option<&mut MPI_T_pvar_session>) -> c_int {
    store(session, |tools, session| {
        *session = MPI_T_pvar_session(tools.next);
        tools.sessions.insert(tools.next);
        tools.next += 1;
        MPI_SUCCESS
    })
}

/// MPI_T_pvar_session_free.
pub fn free_session(session: Option<&mut MPI_T_pvar_session>) -> c_int {
    store(session, |tools, session| {
        if !tools.sessions.remove(&session.0) {
            return MPI_T_ERR_INVALID_SESSION;
        }
        *session = MPI_T_PVAR_SESSION_NULL;
        MPI_SUCCESS
    })
}
