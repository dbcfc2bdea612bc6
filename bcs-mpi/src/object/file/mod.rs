//! Files that the members of a communicator have opened together (MPI-5.0, chapter 14).
//!
//! - [`opened`]: the file as the system has it;
//! - [`view`]: what of it a process sees, and in which order; [`representation`]: in which form;
//! - [`name`]: what it is called;
//! - [`hints`]: what the program says about its accesses.

pub mod hints;
pub mod name;
pub mod opened;
pub mod representation;
pub mod view;

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::handle::Table;
use crate::kind::Kind;
use crate::lasting::Lasting;
use crate::object::request::State;
use hints::FileHints;
use opened::Opened;
use std::ffi::c_int;
use std::sync::Arc;
use view::View;

/// The handler of MPI_FILE_NULL: of errors that concern no open file, and of files that are opened (§14.7).
pub static OF_FILES: Lasting<MPI_Errhandler> = Lasting::new(MPI_ERRORS_RETURN);

/// Where the pointer is that all members share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedPointer {
    /// Here: there is no other member. In etypes.
    Own(i64),
    /// In NIC memory of the first member's node.
    Of(MPI_Win),
}

/// A split collective access that has begun and has not been ended (§14.4.5).
pub struct Split {
    /// The call that has begun it.
    pub begin: &'static str,
    /// The buffer that it was given.
    pub buffer: usize,
    /// The access.
    pub state: State,
}

impl Split {
    /// The call that ends it.
    pub fn end(&self) -> String {
        self.begin.replace("_begin", "_end")
    }
}

/// An open file.
pub struct File {
    /// Its communicator, which is its own.
    pub comm: MPI_Comm,
    /// The file itself.
    pub opened: Arc<Opened>,
    /// The access mode.
    pub amode: c_int,
    /// What this process sees of it.
    pub view: Arc<View>,
    /// This process's pointer, in etypes.
    pub position: i64,
    /// That of all.
    pub shared: SharedPointer,
    /// Accesses are atomic (§14.6.1).
    pub is_atomic: bool,
    /// What the program has said of its accesses.
    pub hints: FileHints,
    /// A split collective access under way.
    pub split: Option<Split>,
    /// Its error handler.
    pub error_handler: MPI_Errhandler,
}

impl File {
    /// What it is called in messages.
    pub fn title(&self) -> String {
        self.opened.name.to_string()
    }

    /// Whether the access mode has all of these flags.
    pub fn has(&self, flags: c_int) -> bool {
        self.amode & flags == flags
    }

    /// A call that the file is not in the state for.
    #[cold]
    pub fn out_of_order(&self, class: c_int, allowed: impl Into<String>) -> MpiError {
        MpiError::argument(class, "fh", self.title(), allowed)
    }
}

/// The open files of this process.
pub struct Files {
    /// By handle.
    pub table: Table<File>,
}

impl Files {
    /// None.
    pub const fn new() -> Self {
        Self { table: Table::new(Kind::File) }
    }

    /// The file of an argument `fh`.
    ///
    /// # Errors
    /// It names none.
    pub fn named(&self, file: MPI_File) -> MpiResult<&File> {
        self.table.named("file", file.0)
    }

    /// The same, to be changed.
    ///
    /// # Errors
    /// It names none.
    pub fn named_mut(&mut self, file: MPI_File) -> MpiResult<&mut File> {
        self.table.named_mut("file", file.0)
    }
}

impl Default for Files {
    fn default() -> Self {
        Self::new()
    }
}
