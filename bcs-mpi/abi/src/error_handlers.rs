//! Chapter 9: error handlers, of objects of four kinds.

use crate::edge::{callback, handle};
use bcs_mpi::constants::*;
use bcs_mpi::environment::error_handlers;
use bcs_mpi::error::{HandlerFunction, Owner};
use std::ffi::c_int;

calls! {
    call MPI_Comm_create_errhandler(function: Option<MPI_Comm_errhandler_function>, errhandler: *mut MPI_Errhandler) [] {
        let errhandler = handle(errhandler, "errhandler")?;
        errhandler.set(error_handlers::create(HandlerFunction::Communicator(callback(function, "comm_errhandler_fn")?)))
    }
    call MPI_Comm_set_errhandler(comm: MPI_Comm, errhandler: MPI_Errhandler) [on comm] {
        error_handlers::set(Owner::Communicator(comm), errhandler)?
    }
    call MPI_Comm_get_errhandler(comm: MPI_Comm, errhandler: *mut MPI_Errhandler) [on comm] {
        handle(errhandler, "errhandler")?.set(error_handlers::get(Owner::Communicator(comm))?)
    }
    call MPI_Comm_call_errhandler(comm: MPI_Comm, errorcode: c_int) [on comm] {
        error_handlers::call("MPI_Comm_call_errhandler", Owner::Communicator(comm), errorcode)?
    }
    call MPI_Win_create_errhandler(function: Option<MPI_Win_errhandler_function>, errhandler: *mut MPI_Errhandler) [] {
        let errhandler = handle(errhandler, "errhandler")?;
        errhandler.set(error_handlers::create(HandlerFunction::Window(callback(function, "win_errhandler_fn")?)))
    }
    call MPI_Win_set_errhandler(win: MPI_Win, errhandler: MPI_Errhandler) [on win] {
        error_handlers::set(Owner::Window(win), errhandler)?
    }
    call MPI_Win_get_errhandler(win: MPI_Win, errhandler: *mut MPI_Errhandler) [on win] {
        handle(errhandler, "errhandler")?.set(error_handlers::get(Owner::Window(win))?)
    }
    call MPI_Win_call_errhandler(win: MPI_Win, errorcode: c_int) [on win] {
        error_handlers::call("MPI_Win_call_errhandler", Owner::Window(win), errorcode)?
    }
    call MPI_Session_create_errhandler(function: Option<MPI_Session_errhandler_function>, errhandler: *mut MPI_Errhandler) [] {
        let errhandler = handle(errhandler, "errhandler")?;
        errhandler.set(error_handlers::create(HandlerFunction::Session(callback(function, "session_errhandler_fn")?)))
    }
    call MPI_Session_set_errhandler(session: MPI_Session, errhandler: MPI_Errhandler) [on session] {
        error_handlers::set(Owner::Session(session), errhandler)?
    }
    call MPI_Session_get_errhandler(session: MPI_Session, errhandler: *mut MPI_Errhandler) [on session] {
        handle(errhandler, "errhandler")?.set(error_handlers::get(Owner::Session(session))?)
    }
    call MPI_Session_call_errhandler(session: MPI_Session, errorcode: c_int) [on session] {
        error_handlers::call("MPI_Session_call_errhandler", Owner::Session(session), errorcode)?
    }
    call MPI_File_create_errhandler(function: Option<MPI_File_errhandler_function>, errhandler: *mut MPI_Errhandler) [] {
        let errhandler = handle(errhandler, "errhandler")?;
        errhandler.set(error_handlers::create(HandlerFunction::File(callback(function, "file_errhandler_fn")?)))
    }
    call MPI_File_set_errhandler(file: MPI_File, errhandler: MPI_Errhandler) [on file] {
        error_handlers::set(Owner::File(file), errhandler)?
    }
    call MPI_File_get_errhandler(file: MPI_File, errhandler: *mut MPI_Errhandler) [on file] {
        handle(errhandler, "errhandler")?.set(error_handlers::get(Owner::File(file))?)
    }
    call MPI_File_call_errhandler(fh: MPI_File, errorcode: c_int) [on fh] {
        error_handlers::call("MPI_File_call_errhandler", Owner::File(fh), errorcode)?
    }
}
