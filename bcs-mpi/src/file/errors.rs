//! What the system says of a file, as errors of MPI (MPI-5.0, §14.8).

use crate::constants::*;
use crate::error::{MpiError, Problem};
use crate::object::file::name::FileName;
use crate::object::file::opened::Opened;
use rustix::io::Errno;
use std::ffi::c_int;

/// The class of what the system says.
pub(super) fn class_of(errno: Errno) -> c_int {
    match errno {
        Errno::NOENT => MPI_ERR_NO_SUCH_FILE,
        Errno::EXIST => MPI_ERR_FILE_EXISTS,
        Errno::ACCESS | Errno::PERM => MPI_ERR_ACCESS,
        Errno::ROFS => MPI_ERR_READ_ONLY,
        Errno::NOSPC => MPI_ERR_NO_SPACE,
        Errno::DQUOT => MPI_ERR_QUOTA,
        Errno::BUSY | Errno::TXTBSY => MPI_ERR_FILE_IN_USE,
        Errno::ISDIR | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP | Errno::NXIO | Errno::NODEV => {
            MPI_ERR_BAD_FILE
        }
        Errno::OPNOTSUPP | Errno::NOSYS => MPI_ERR_UNSUPPORTED_OPERATION,
        Errno::NOMEM => MPI_ERR_NO_MEM,
        _ => MPI_ERR_IO,
    }
}

/// What was to be done to a file that has to be there.
pub(super) const OPENED: &str = "opened";
/// The same of one that is made if it is not there.
pub(super) const CREATED: &str = "created";

/// What to do about it, where there is something.
fn advice(errno: Errno, action: &str) -> &'static str {
    match errno {
        Errno::NOENT if action == OPENED => "; MPI_MODE_CREATE would create it, if its directory is there",
        Errno::NOENT if action == CREATED => "; its directory has to be there",
        Errno::MFILE => {
            "; the process has as many descriptors as it may: close some, or raise the limit (ulimit -n)"
        }
        Errno::EXIST => "; MPI_MODE_EXCL demands that it is not there",
        Errno::ACCESS | Errno::PERM => "; its owner has to allow that",
        Errno::ROFS => "; open it with MPI_MODE_RDONLY, or elsewhere",
        Errno::NOSPC => "; free some space",
        Errno::DQUOT => "; free some of your space, or ask for more",
        Errno::FBIG => "; the file would be longer than the file system or the limit of the process allows",
        _ => "",
    }
}

/// A name as messages have it: of a long one the end, which says the most.
pub(super) fn shown(name: &FileName) -> Box<str> {
    let name = name.to_string();
    match name.len() {
        ..=MOST_SHOWN => name.into(),
        length => format!("…{}", &name[name.ceil_char_boundary(length - MOST_SHOWN)..]).into(),
    }
}

/// Bytes of a name that messages have room for.
const MOST_SHOWN: usize = 160;

/// The error of a file of this name.
#[cold]
pub(super) fn of_name(name: &FileName, action: &'static str, at: Option<u64>, errno: Errno) -> MpiError {
    let cause = format!("{errno}{}", advice(errno, action)).into();
    MpiError::new(Problem::File { class: class_of(errno), name: shown(name), at, action, cause })
}

/// What went wrong with the bytes of a file, wherever that was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    /// What the system says.
    pub errno: Errno,
    /// At which byte of the file.
    pub at: u64,
    /// "read", "written", "locked".
    pub action: &'static str,
}

impl Failed {
    /// The error of a call.
    #[cold]
    pub fn of(self, opened: &Opened) -> MpiError {
        of_name(&opened.name, self.action, Some(self.at), self.errno)
    }
}
