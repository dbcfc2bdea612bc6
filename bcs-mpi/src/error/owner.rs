//! Whose error handler is asked (MPI-5.0, §9.3).

use crate::constants::*;

/// An object that has an error handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A communicator.
    Communicator(MPI_Comm),
    /// A session.
    Session(MPI_Session),
    /// A window.
    Window(MPI_Win),
    /// A file; those that are not open share the handler of MPI_FILE_NULL (§14.7).
    File(MPI_File),
}

macro_rules! owners {
    ($($kind:ident $handle:ident)*) => { $(
        impl From<$handle> for Owner {
            fn from(handle: $handle) -> Self {
                Owner::$kind(handle)
            }
        }
    )* };
}

owners! { Communicator MPI_Comm Session MPI_Session Window MPI_Win File MPI_File }
