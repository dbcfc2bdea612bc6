//! Sessions (MPI-5.0, §11.3).

use crate::constants::{MPI_Errhandler, MPI_Session};
use crate::error::MpiResult;
use crate::handle::Table;
use crate::kind::Kind;
use crate::lasting::Lasting;
use std::ffi::c_int;

/// A session.
#[derive(Debug)]
pub struct Session {
    pub(crate) error_handler: MPI_Errhandler,
    pub(crate) thread_level: c_int,
}

/// The sessions of this process.
pub(crate) static SESSIONS: Lasting<Table<Session>> = Lasting::new(Table::new(Kind::Session));

/// Checks that there is such a session.
///
/// # Errors
/// There is none.
pub(crate) fn check(handle: MPI_Session) -> MpiResult {
    SESSIONS.lock().named("session", handle.0).map(drop)
}
