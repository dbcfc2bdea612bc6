//! Chapter 6: reductions of the program; chapter 9: its error handlers.

use crate::c::*;
use crate::convert::Handle;
use crate::edge::{Owner, Wrong, answer, raise};
use crate::functions::{MOST, Procedures, functions_of_places};
use std::ffi::{c_int, c_void};

/// A reduction in Fortran: operands, their number, and their datatype (§6.9.5).
type Reduction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_int);
/// The same in C.
type CReduction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut MPI_Datatype);

static REDUCTIONS: Procedures = Procedures::new();

/// Calls the reduction of a place.
unsafe extern "C" fn reduce<const PLACE: usize>(
    operand: *mut c_void,
    result: *mut c_void,
    length: *mut c_void,
    datatype: *mut MPI_Datatype,
) {
    // SAFETY: the place was given to a reduction of the program; C hands over its arguments.
    unsafe {
        let reduction = std::mem::transmute::<usize, Reduction>(REDUCTIONS.address(PLACE));
        let mut datatype = (*datatype).integer();
        reduction(operand, result, length, &mut datatype);
    }
}

static C_REDUCTIONS: [[CReduction; 16]; 16] = functions_of_places!(reduce);

#[cold]
fn too_many(name: &str) -> Wrong {
    let what =
        format!("{name} is one procedure more than the {MOST} that may be different: hand over one of those");
    Wrong { class: MPI_ERR_OTHER, what }
}

macro_rules! creation {
    ($($c:ident $p:ident $short:literal)*) => { entries! { $(
        $c $p $short (user_fn: *mut c_void, commute: *mut c_int, op: *mut c_int, ierror: *mut c_int) {
            *op = MPI_OP_NULL;
            let Some(place) = REDUCTIONS.place(user_fn as usize) else {
                return answer(ierror, raise(Owner::Nobody, stringify!($c), &too_many("user_fn")));
            };
            let function = C_REDUCTIONS[place / 16][place % 16] as *mut c_void;
            let mut made = MPI_Op::NULL;
            let code = call(function, *commute, &mut made);
            *op = made.integer();
            answer(ierror, code)
        }
    )* } };
}
creation! { MPI_Op_create PMPI_Op_create "op_create" MPI_Op_create_c PMPI_Op_create_c "op_create_c" }

/// An error handler in Fortran: the object, and the error (§9.3).
type ErrorHandler = unsafe extern "C" fn(*mut c_int, *mut c_int);

/// A line: the module, the type of objects, and the calls with their names in Fortran.
macro_rules! error_handlers {
    ($($module:ident $handle:ident [$($c:ident $p:ident $short:literal $argument:literal)*];)*) => { $(
        mod $module {
            use super::*;

            static HANDLERS: Procedures = Procedures::new();

            unsafe extern "C" fn handle<const PLACE: usize>(object: *mut $handle, code: *mut c_int) {
                // SAFETY: the place was given to an error handler of the program; C hands over its arguments.
                unsafe {
                    let handler = std::mem::transmute::<usize, ErrorHandler>(HANDLERS.address(PLACE));
                    let mut object = (*object).integer();
                    handler(&mut object, code);
                }
            }

            static C_HANDLERS: [[unsafe extern "C" fn(*mut $handle, *mut c_int); 16]; 16] =
                functions_of_places!(handle);

            entries! { $(
                $c $p $short (handler: *mut c_void, errhandler: *mut c_int, ierror: *mut c_int) {
                    *errhandler = MPI_ERRHANDLER_NULL;
                    let Some(place) = HANDLERS.place(handler as usize) else {
                        return answer(ierror, raise(Owner::Nobody, stringify!($c), &too_many($argument)));
                    };
                    let function = C_HANDLERS[place / 16][place % 16] as *mut c_void;
                    let mut made = MPI_Errhandler::NULL;
                    let code = call(function, &mut made);
                    *errhandler = made.integer();
                    answer(ierror, code)
                }
            )* }
        }
    )* };
}
error_handlers! {
    of_communicators MPI_Comm [
        MPI_Comm_create_errhandler PMPI_Comm_create_errhandler "comm_create_errhandler" "comm_errhandler_fn"
        MPI_Errhandler_create PMPI_Errhandler_create "errhandler_create" "function"
    ];
    of_files MPI_File [
        MPI_File_create_errhandler PMPI_File_create_errhandler "file_create_errhandler" "file_errhandler_fn"
    ];
    of_windows MPI_Win [
        MPI_Win_create_errhandler PMPI_Win_create_errhandler "win_create_errhandler" "win_errhandler_fn"
    ];
    of_sessions MPI_Session [
        MPI_Session_create_errhandler PMPI_Session_create_errhandler "session_create_errhandler"
            "session_errhandler_fn"
    ];
}
