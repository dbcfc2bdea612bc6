//! Chapter 20: handles as integers, for Fortran.

use bcs_mpi::environment::integers;
use bcs_mpi::kind::Kind;

/// A line: a type of handle, its null handle, and its kind.
macro_rules! integers {
    ($($type:ident $null:ident $kind:ident $to:ident $from:ident)*) => { calls! { $(
        $to(handle) [plain] {
            integers::of_handle(Kind::$kind, handle.0)
        }
        $from(int) [plain] {
            $type(integers::to_handle(Kind::$kind, int, $null.0))
        }
    )* } };
}

integers! {
    MPI_Comm MPI_COMM_NULL Communicator MPI_Comm_toint MPI_Comm_fromint
    MPI_Group MPI_GROUP_NULL Group MPI_Group_toint MPI_Group_fromint
    MPI_Request MPI_REQUEST_NULL Request MPI_Request_toint MPI_Request_fromint
    MPI_Errhandler MPI_ERRHANDLER_NULL ErrorHandler MPI_Errhandler_toint MPI_Errhandler_fromint
    MPI_Info MPI_INFO_NULL Info MPI_Info_toint MPI_Info_fromint
    MPI_Datatype MPI_DATATYPE_NULL Datatype MPI_Type_toint MPI_Type_fromint
    MPI_Op MPI_OP_NULL Operation MPI_Op_toint MPI_Op_fromint
    MPI_Win MPI_WIN_NULL Window MPI_Win_toint MPI_Win_fromint
    MPI_File MPI_FILE_NULL File MPI_File_toint MPI_File_fromint
    MPI_Session MPI_SESSION_NULL Session MPI_Session_toint MPI_Session_fromint
    MPI_Message MPI_MESSAGE_NULL Message MPI_Message_toint MPI_Message_fromint
}
