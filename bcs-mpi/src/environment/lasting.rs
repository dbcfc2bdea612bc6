//! What is there at any time, to all threads at once, before MPI_Init and after MPI_Finalize too: info objects, error handlers and error
//! codes (MPI-5.0, §11.4.1).
//!
//! They have a lock of their own. Where the process's is held as well, it was taken before this one; neither is held while a function of the
//! program runs.

use super::info::Pairs;
use super::session::Session;
use crate::collective::operation::Operation;
use crate::constants::{MPI_ERRORS_RETURN, MPI_Errhandler};
use crate::error::{CodeTable, ErrorHandlerEntry};
use crate::handle::{Kind, Table};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The objects that need no initialised MPI.
pub struct Lasting {
    /// Info objects.
    pub infos: Table<Pairs>,
    /// Error handlers of the program.
    pub error_handlers: Table<ErrorHandlerEntry>,
    /// Operations of the program.
    pub operations: Table<Operation>,
    /// Sessions.
    pub sessions: Table<Session>,
    /// The handler of MPI_FILE_NULL: of the errors of all files that are not open.
    pub files_error_handler: MPI_Errhandler,
    /// Error codes.
    pub codes: CodeTable,
}

/// The objects that need no initialised MPI, for the time of a call.
pub fn lasting() -> MutexGuard<'static, Lasting> {
    static LASTING: LazyLock<Mutex<Lasting>> = LazyLock::new(|| {
        Mutex::new(Lasting {
            infos: Table::new(Kind::Info),
            error_handlers: Table::new(Kind::ErrorHandler),
            operations: Table::new(Kind::Operation),
            sessions: Table::new(Kind::Session),
            files_error_handler: MPI_ERRORS_RETURN,
            codes: CodeTable::default(),
        })
    });
    // A panic in another thread ends the process (see the C edge): a poisoned lock protects nothing that is used again.
    LASTING.lock().unwrap_or_else(PoisonError::into_inner)
}
