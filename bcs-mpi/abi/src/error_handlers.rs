//! Chapter 9: error handlers, of objects of four kinds.

use crate::edge::callback;
use bcs_mpi::environment::error_handlers;
use bcs_mpi::error::Owner;
use bcs_mpi::object::error_handler::{HandlerFunction, create};

/// A line: the kind of object, its handle, the names of that in two calls, the function's type and argument,
/// the four calls.
macro_rules! error_handlers {
    ($($owner:ident $handle:ident $object:ident $called:ident $function:ident $argument:literal
        $create:ident $set:ident $get:ident $call:ident;)*) => { calls! { $(
        $create(function, errhandler: OUT) [] {
            errhandler.set(create(HandlerFunction::$owner(callback(function, $argument)?)))
        }
        $set($object, errhandler) [on $object] {
            error_handlers::set(Owner::$owner($object), errhandler)?
        }
        $get($object, errhandler: OUT) [on $object] {
            errhandler.set(error_handlers::get(Owner::$owner($object))?)
        }
        $call($called, errorcode) [on $called] {
            error_handlers::call(stringify!($call), Owner::$owner($called), errorcode)?
        }
    )* } };
}

error_handlers! {
    Communicator MPI_Comm comm comm MPI_Comm_errhandler_function "comm_errhandler_fn"
        MPI_Comm_create_errhandler MPI_Comm_set_errhandler
        MPI_Comm_get_errhandler MPI_Comm_call_errhandler;
    Window MPI_Win win win MPI_Win_errhandler_function "win_errhandler_fn"
        MPI_Win_create_errhandler MPI_Win_set_errhandler MPI_Win_get_errhandler MPI_Win_call_errhandler;
    Session MPI_Session session session MPI_Session_errhandler_function "session_errhandler_fn"
        MPI_Session_create_errhandler MPI_Session_set_errhandler
        MPI_Session_get_errhandler MPI_Session_call_errhandler;
    File MPI_File file fh MPI_File_errhandler_function "file_errhandler_fn"
        MPI_File_create_errhandler MPI_File_set_errhandler MPI_File_get_errhandler MPI_File_call_errhandler;
}
