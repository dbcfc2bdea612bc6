//! The start and the end of the tool interface (MPI-5.0, §15.3.4), and the handles that tools have meanwhile.

use super::Told;
use super::handle::Session;
use crate::constants::*;
use crate::lasting::Lasting;
use crate::object::event::EVENTS;
use crate::process;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::MutexGuard;

/// What tools have.
pub(super) struct Tools {
    /// Times that the interface was initialised and not finalised.
    users: usize,
    /// Control variables by handle: their places in the table, and the objects that they are bound to.
    pub(super) controls: BTreeMap<usize, (usize, usize)>,
    /// Sessions for performance variables, by handle.
    pub(super) sessions: BTreeMap<usize, Session>,
    next: usize,
}

/// The least number that is a handle: above all that the standard has given a name.
const FIRST_HANDLE: usize = 0x1000;

/// Locked after the process where both are.
static TOOLS: Lasting<Tools> = Lasting::new(Tools {
    users: 0,
    controls: BTreeMap::new(),
    sessions: BTreeMap::new(),
    next: FIRST_HANDLE,
});

impl Tools {
    /// A handle that was never given before, of whatever kind.
    pub(super) fn handle(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    /// The session of a handle.
    pub(super) fn session(&mut self, session: MPI_T_pvar_session) -> Told<&mut Session> {
        self.sessions.get_mut(&session.0).ok_or(MPI_T_ERR_INVALID_SESSION)
    }
}

/// What tools have, while the interface is initialised.
///
/// # Errors
/// It is not.
pub(super) fn tools() -> Told<MutexGuard<'static, Tools>> {
    let tools = TOOLS.lock();
    if tools.users == 0 { Err(MPI_T_ERR_NOT_INITIALIZED) } else { Ok(tools) }
}

/// Whether the interface is initialised.
///
/// # Errors
/// It is not.
pub fn check() -> Told {
    tools().map(drop)
}

/// MPI_T_init_thread: every level is provided, as calls have a lock of their own. Answers the level.
///
/// # Errors
/// No such level.
pub fn init(required: c_int) -> Told<c_int> {
    let levels = [MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE];
    if !levels.contains(&required) {
        return Err(MPI_T_ERR_INVALID);
    }
    TOOLS.lock().users += 1;
    Ok(required)
}

/// MPI_T_finalize. With the last user all handles go.
///
/// # Errors
/// The interface is not initialised.
pub fn finalize() -> Told {
    let mut tools = tools()?;
    tools.users -= 1;
    if tools.users == 0 {
        tools.controls.clear();
        tools.sessions.clear();
        drop(tools);
        EVENTS.lock().clear();
        process::listen(false);
    }
    Ok(())
}
