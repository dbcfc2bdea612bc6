//! Error handlers: what they are, and who uses them (MPI-5.0, §9.3).
//!
//! A handler lives as long as a handle of it or an object that uses it.

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Owner};
use crate::handle::Table;
use crate::kind::Kind;
use crate::lasting::Lasting;
use std::ffi::c_int;

/// The function of an error handler, by the kind of object that it is for.
#[derive(Clone, Copy, Debug)]
pub enum HandlerFunction {
    /// Of MPI_Comm_create_errhandler.
    Communicator(MPI_Comm_errhandler_function),
    /// Of MPI_Session_create_errhandler.
    Session(MPI_Session_errhandler_function),
    /// Of MPI_Win_create_errhandler.
    Window(MPI_Win_errhandler_function),
    /// Of MPI_File_create_errhandler.
    File(MPI_File_errhandler_function),
}

impl HandlerFunction {
    /// Whether it is for objects of this kind.
    pub fn suits(&self, owner: Owner) -> bool {
        matches!(
            (self, owner),
            (HandlerFunction::Communicator(_), Owner::Communicator(_))
                | (HandlerFunction::Session(_), Owner::Session(_))
                | (HandlerFunction::Window(_), Owner::Window(_))
                | (HandlerFunction::File(_), Owner::File(_))
        )
    }

    /// Calls it.
    ///
    /// # Safety
    /// It is what the program gave as an error handler, and this thread holds no lock of the library: it may
    /// call MPI.
    pub(crate) unsafe fn call(self, owner: Owner, mut code: c_int) {
        let code = &raw mut code;
        // SAFETY: the caller's promise. Further arguments of the variadic functions are the implementation's
        // to define: there are none.
        unsafe {
            match (self, owner) {
                (HandlerFunction::Communicator(function), Owner::Communicator(mut comm)) => {
                    function(&mut comm, code)
                }
                (HandlerFunction::Session(function), Owner::Session(mut session)) => {
                    function(&mut session, code)
                }
                (HandlerFunction::Window(function), Owner::Window(mut window)) => function(&mut window, code),
                (HandlerFunction::File(function), Owner::File(mut file)) => function(&mut file, code),
                _ => {}
            }
        }
    }
}

/// An error handler of a program. Handles of it, and objects that use it, are counted together.
#[derive(Debug)]
pub struct ErrorHandler {
    function: HandlerFunction,
    /// Handles and objects.
    references: i32,
}

/// Error handlers of the program.
pub(crate) static ERROR_HANDLERS: Lasting<Table<ErrorHandler>> = Lasting::new(Table::new(Kind::ErrorHandler));

fn is_predefined(handler: MPI_Errhandler) -> bool {
    matches!(handler, MPI_ERRORS_ARE_FATAL | MPI_ERRORS_RETURN | MPI_ERRORS_ABORT)
}

/// The function of an error handler of the program.
pub(crate) fn function_of(handler: MPI_Errhandler) -> Option<HandlerFunction> {
    ERROR_HANDLERS.lock().get(handler.0).ok().map(|entry| entry.function)
}

/// One handle more uses this handler.
///
/// # Errors
/// No such error handler.
pub(crate) fn retain(handler: MPI_Errhandler) -> MpiResult {
    change(handler, 1, None)
}

/// One object more, of this kind, uses this handler.
///
/// # Errors
/// No such error handler, or one for objects of another kind.
pub(crate) fn retain_for(owner: Owner, handler: MPI_Errhandler) -> MpiResult {
    change(handler, 1, Some(owner))
}

/// One handle or object fewer uses this handler.
///
/// # Errors
/// No such error handler.
pub(crate) fn release(handler: MPI_Errhandler) -> MpiResult {
    change(handler, -1, None)
}

/// So many handles and objects more use this handler, of which it has to suit this one; it goes when nobody
/// does any more.
fn change(handler: MPI_Errhandler, more: i32, owner: Option<Owner>) -> MpiResult {
    if is_predefined(handler) {
        return Ok(());
    }
    let mut handlers = ERROR_HANDLERS.lock();
    let entry = handlers.named_mut("errhandler", handler.0)?;
    if owner.is_some_and(|owner| !entry.function.suits(owner)) {
        let value = format!("{:#x}, which was made for objects of another kind", handler.0);
        let allowed = "it has to come from the call for this kind";
        return Err(MpiError::argument(MPI_ERR_ERRHANDLER, "errhandler", value, allowed));
    }
    entry.references += more;
    if entry.references == 0 {
        // It was found above.
        let _ = handlers.remove(handler.0);
    }
    Ok(())
}

/// MPI_Comm_create_errhandler and its kin.
pub fn create(function: HandlerFunction) -> MPI_Errhandler {
    MPI_Errhandler(ERROR_HANDLERS.lock().insert(ErrorHandler { function, references: 1 }))
}

/// MPI_Errhandler_free. Of a predefined one (which MPI_Comm_get_errhandler may have given) the handle alone
/// is cleared.
///
/// # Errors
/// No such error handler.
pub fn free(handler: &mut MPI_Errhandler) -> MpiResult {
    release(*handler)?;
    *handler = MPI_ERRHANDLER_NULL;
    Ok(())
}

/// What a call does that makes an object with this error handler: errors of it are the handler's already
/// (§7.4.2, §11.3.1), if it is one for objects of the kind of which `null` is the null handle.
///
/// # Errors
/// Those of `make`.
pub fn heard_by<T>(
    handler: MPI_Errhandler,
    null: impl Into<Owner>,
    make: impl FnOnce() -> MpiResult<T>,
) -> MpiResult<T> {
    let null = null.into();
    make().map_err(|error| {
        match is_predefined(handler) || function_of(handler).is_some_and(|function| function.suits(null)) {
            true => error.told_to(handler, null),
            false => error,
        }
    })
}
