//! Predefined communicators, groups, error handlers and the null handles.
//!
//! Made by `mpi-abi-table write` from the tables in `bcs-mpi/abi/table` (MPI-5.0, chapter 20 and
//! appendix A.1); change those, not this file.

use super::{
    MPI_Comm, MPI_Errhandler, MPI_File, MPI_Group, MPI_Info, MPI_Message, MPI_Request, MPI_Session, MPI_Win,
};

// Predefined communicators: §7.2.4.

/// No communicator (MPI-1.0).
pub const MPI_COMM_NULL: MPI_Comm = MPI_Comm(0x100);
/// All processes that started together (MPI-1.0).
pub const MPI_COMM_WORLD: MPI_Comm = MPI_Comm(0x101);
/// The calling process alone (MPI-1.0).
pub const MPI_COMM_SELF: MPI_Comm = MPI_Comm(0x102);

// Predefined groups: §7.2.1.

/// No group (MPI-1.0).
pub const MPI_GROUP_NULL: MPI_Group = MPI_Group(0x108);
/// The group without members (MPI-1.0).
pub const MPI_GROUP_EMPTY: MPI_Group = MPI_Group(0x109);

// Predefined windows: §12.2.

/// No window (MPI-2.0).
pub const MPI_WIN_NULL: MPI_Win = MPI_Win(0x110);

// Predefined files: §14.2.

/// No file; carries the default error handler of files (MPI-2.0).
pub const MPI_FILE_NULL: MPI_File = MPI_File(0x118);

// Predefined sessions: §11.3.

/// No session (MPI-4.0).
pub const MPI_SESSION_NULL: MPI_Session = MPI_Session(0x120);

// Predefined messages: §3.8.2.

/// No message (MPI-3.0).
pub const MPI_MESSAGE_NULL: MPI_Message = MPI_Message(0x128);
/// Message of a matched probe of MPI_PROC_NULL (MPI-3.0).
pub const MPI_MESSAGE_NO_PROC: MPI_Message = MPI_Message(0x129);

// Predefined info objects: §10 and §11.2.1.

/// No hints (MPI-2.0).
pub const MPI_INFO_NULL: MPI_Info = MPI_Info(0x130);
/// How the program was started (MPI-3.0).
pub const MPI_INFO_ENV: MPI_Info = MPI_Info(0x131);

// Predefined error handlers: §9.3.

/// No error handler (MPI-1.0).
pub const MPI_ERRHANDLER_NULL: MPI_Errhandler = MPI_Errhandler(0x140);
/// An error ends all connected processes (MPI-1.0).
pub const MPI_ERRORS_ARE_FATAL: MPI_Errhandler = MPI_Errhandler(0x141);
/// An error ends the processes of the communicator, window or file (MPI-4.0).
pub const MPI_ERRORS_ABORT: MPI_Errhandler = MPI_Errhandler(0x142);
/// An error is returned to the caller (MPI-1.0).
pub const MPI_ERRORS_RETURN: MPI_Errhandler = MPI_Errhandler(0x143);

// Predefined requests: §3.7.3.

/// No request (MPI-1.0).
pub const MPI_REQUEST_NULL: MPI_Request = MPI_Request(0x180);
