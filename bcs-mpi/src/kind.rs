//! What a handle names, and why it may name nothing.

use crate::constants::*;
use std::ffi::c_int;

/// What a handle names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A communicator.
    Communicator = 1,
    /// A group.
    Group = 2,
    /// A request.
    Request = 3,
    /// A datatype.
    Datatype = 4,
    /// An error handler.
    ErrorHandler = 5,
    /// A reduction operation.
    Operation = 6,
    /// A set of hints.
    Info = 7,
    /// A session.
    Session = 8,
    /// A matched message.
    Message = 9,
    /// A window.
    Window = 10,
    /// An open file.
    File = 11,
}

impl Kind {
    /// What such an object is called in messages, its null handle with that one's name, and the error class
    /// of a wrong handle.
    pub(crate) const fn about(self) -> (&'static str, (usize, &'static str), c_int) {
        match self {
            Kind::Communicator => ("a communicator", (MPI_COMM_NULL.0, "MPI_COMM_NULL"), MPI_ERR_COMM),
            Kind::Group => ("a group", (MPI_GROUP_NULL.0, "MPI_GROUP_NULL"), MPI_ERR_GROUP),
            Kind::Request => ("a request", (MPI_REQUEST_NULL.0, "MPI_REQUEST_NULL"), MPI_ERR_REQUEST),
            Kind::Datatype => ("a datatype", (MPI_DATATYPE_NULL.0, "MPI_DATATYPE_NULL"), MPI_ERR_TYPE),
            Kind::ErrorHandler => {
                ("an error handler", (MPI_ERRHANDLER_NULL.0, "MPI_ERRHANDLER_NULL"), MPI_ERR_ERRHANDLER)
            }
            Kind::Operation => ("an operation", (MPI_OP_NULL.0, "MPI_OP_NULL"), MPI_ERR_OP),
            Kind::Info => ("an info object", (MPI_INFO_NULL.0, "MPI_INFO_NULL"), MPI_ERR_INFO),
            Kind::Session => ("a session", (MPI_SESSION_NULL.0, "MPI_SESSION_NULL"), MPI_ERR_SESSION),
            Kind::Window => ("a window", (MPI_WIN_NULL.0, "MPI_WIN_NULL"), MPI_ERR_WIN),
            Kind::File => ("an open file", (MPI_FILE_NULL.0, "MPI_FILE_NULL"), MPI_ERR_FILE),
            // The standard has no class for messages; they are half of a request.
            Kind::Message => ("a matched message", (MPI_MESSAGE_NULL.0, "MPI_MESSAGE_NULL"), MPI_ERR_REQUEST),
        }
    }
}

/// Why a handle names no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stale {
    /// It is the null handle of its kind.
    #[error("the null handle")]
    Null,
    /// Its object was freed (or completed, for a request).
    #[error("the handle of one that was freed")]
    Freed,
    /// It never was a handle of this kind.
    #[error("no handle of one")]
    Foreign,
    /// It is of the world model, which the program has not begun, or has ended.
    #[error(
        "there between MPI_Init and MPI_Finalize only (a session has those of MPI_Comm_create_from_group)"
    )]
    NoWorld,
}
