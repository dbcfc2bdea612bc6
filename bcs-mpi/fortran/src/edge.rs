//! What a line of a table becomes, and how a procedure answers.
//!
//! ```text
//! entries! { MPI_X PMPI_X "x" (arguments) [-> result] { body } }
//! ```
//!
//! are four exported procedures, `mpi_x_`, `mpi_x_f08_`, `pmpi_x_` and `pmpi_x_f08_`, with one body; in it,
//! `call` is C's `MPI_X`, or `PMPI_X` in the last two. `described!` makes the two whose choice buffers are
//! descriptors. Arguments are addresses, as Fortran hands all of them over; those of strings are followed, at
//! the end, by their lengths.

use crate::c::{
    MPI_Add_error_code, MPI_Add_error_string, MPI_Comm, MPI_Comm_call_errhandler, MPI_ERR_OTHER, MPI_File,
    MPI_File_call_errhandler, MPI_Session, MPI_Session_call_errhandler, MPI_Win, MPI_Win_call_errhandler,
};
use crate::convert::Handle;
use std::collections::HashMap;
use std::ffi::{CString, c_int};
use std::sync::{LazyLock, Mutex, PoisonError};

macro_rules! entries {
    ($($c:ident $p:ident $short:literal $arguments:tt $(-> $result:ty)? $body:block)*) => { $(
        exported! { $c concat!("mpi_", $short, "_") $arguments $(-> $result)? $body }
        exported! { $c concat!("mpi_", $short, "_f08_") $arguments $(-> $result)? $body }
        exported! { $p concat!("pmpi_", $short, "_") $arguments $(-> $result)? $body }
        exported! { $p concat!("pmpi_", $short, "_f08_") $arguments $(-> $result)? $body }
    )* };
}

/// The two of them for large counts, which mpi_f08 alone has (§19.1.2).
macro_rules! large_entries {
    ($($c:ident $p:ident $short:literal $arguments:tt $(-> $result:ty)? $body:block)*) => { $(
        exported! { $c concat!("mpi_", $short, "_f08_") $arguments $(-> $result)? $body }
        exported! { $p concat!("pmpi_", $short, "_f08_") $arguments $(-> $result)? $body }
    )* };
}

macro_rules! described {
    ($($c:ident $p:ident $short:literal $arguments:tt $(-> $result:ty)? $body:block)*) => { $(
        exported! { $c concat!("mpi_", $short, "_f08ts_") $arguments $(-> $result)? $body }
        exported! { $p concat!("pmpi_", $short, "_f08ts_") $arguments $(-> $result)? $body }
    )* };
}

/// The same where strings are descriptors, too: some compilers hand BIND(C) procedures those.
macro_rules! described_with_texts {
    ($($c:ident $p:ident $short:literal $arguments:tt $body:block)*) => { $(
        exported! { $c concat!("mpi_", $short, "_f08tc_") $arguments $body }
        exported! { $p concat!("pmpi_", $short, "_f08tc_") $arguments $body }
    )* };
}

macro_rules! exported {
    ($c:ident concat!($($part:literal),*) ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        const _: () = {
            #[allow(unused_imports, reason = "a body need not call the function of its name")]
            use $crate::c::$c as call;

            #[unsafe(export_name = concat!($($part),*))]
            #[allow(clippy::too_many_arguments, reason = "the standard's procedures have them")]
            unsafe extern "C" fn entry($($argument: $type),*) $(-> $result)? {
                #[allow(unused_unsafe, reason = "not every body is unsafe")]
                // SAFETY: the program keeps the promises of the Fortran binding: arguments are as the
                // interface says, those that are stored can be stored to, and buffers are as long as counts
                // say.
                unsafe { $body }
            }
        };
    };
}

/// What a conversion answers; its error is told to the owner's error handler, and ends the procedure.
macro_rules! attempt {
    ($ierror:ident, $owner:ident, $name:literal, $made:expr) => {
        match $made {
            Ok(made) => made,
            Err(wrong) => return $crate::edge::answer($ierror, $crate::edge::raise($owner, $name, &wrong)),
        }
    };
}

/// Stores the error of a call; of Fortran 2008 the argument may be absent.
///
/// # Safety
/// `ierror` must be null or a default INTEGER.
#[inline(always)]
pub unsafe fn answer(ierror: *mut c_int, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: the caller's promise.
        unsafe { ierror.write(code) };
    }
}

/// What is wrong with an argument of Fortran.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The error class.
    pub class: c_int,
    /// The argument, its value, and what it has to be.
    pub what: String,
}

/// The object whose error handler is asked.
#[derive(Debug, Clone, Copy)]
pub enum Owner {
    /// A communicator.
    Communicator(MPI_Comm),
    /// A window.
    Window(MPI_Win),
    /// A file.
    File(MPI_File),
    /// A session.
    Session(MPI_Session),
    /// None: it is that of MPI_COMM_SELF (§9.3).
    Nobody,
}

/// The error codes that were made, by class and text: as many as there are different mistakes.
static CODES: LazyLock<Mutex<HashMap<(c_int, String), c_int>>> = LazyLock::new(Mutex::default);

/// Tells an error to the error handler of its owner; answers its code.
#[cold]
pub fn raise(owner: Owner, call: &str, wrong: &Wrong) -> c_int {
    let text = format!("{call}: {}", wrong.what);
    let code = code_of(wrong.class, text);
    // SAFETY: handles are checked by the functions; those that are none's are told as such.
    let told = unsafe {
        match owner {
            Owner::Communicator(comm) => MPI_Comm_call_errhandler(comm, code),
            Owner::Window(win) => MPI_Win_call_errhandler(win, code),
            Owner::File(file) => MPI_File_call_errhandler(file, code),
            Owner::Session(session) => MPI_Session_call_errhandler(session, code),
            Owner::Nobody => MPI_Comm_call_errhandler(MPI_Comm::from_integer(crate::c::MPI_COMM_SELF), code),
        }
    };
    if told == crate::c::MPI_SUCCESS { code } else { told }
}

/// The code of an error: made once for each text.
fn code_of(class: c_int, text: String) -> c_int {
    let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
    *codes.entry((class, text)).or_insert_with_key(|(class, text)| {
        let mut code = MPI_ERR_OTHER;
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the code is a place for one, and the text has its end mark.
        unsafe {
            if MPI_Add_error_code(*class, &mut code) != crate::c::MPI_SUCCESS {
                return *class;
            }
            MPI_Add_error_string(code, text.as_ptr().cast_mut());
        }
        code
    })
}
