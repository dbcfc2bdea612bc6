//! Where the rest of the installation is, seen from the program itself: an installed tree can be moved.

use program_launcher::program::LIBRARY_NAME;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names another directory with our MPI library than the installation's, for whoever runs `storm` from where
/// it was built.
pub const LIBRARY_DIRECTORY: &str = "BCS_LIBRARY_DIR";

/// `BCS_LIBRARY_DIR` leads nowhere.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{LIBRARY_DIRECTORY} names {}, which holds no {LIBRARY_NAME}; name the directory of an installed library, or unset it",
    directory.display()
)]
pub struct NoLibrary {
    /// What it names.
    pub directory: PathBuf,
}

/// The directory of our MPI library: what `named` says (the value of `BCS_LIBRARY_DIR`), else `lib` beside
/// the program's own directory. `None` where there is no library. A library in a build's directory is none of
/// an installation: it has not the name that programs ask for, and it would have to be forced on every
/// process that they start.
///
/// # Errors
/// A directory was named, and holds no library.
pub fn library_directory(named: Option<OsString>) -> Result<Option<PathBuf>, NoLibrary> {
    if let Some(named) = named.filter(|named| !named.is_empty()) {
        let directory = PathBuf::from(named);
        return if holds_library(&directory) { Ok(Some(directory)) } else { Err(NoLibrary { directory }) };
    }
    let program = std::fs::read_link("/proc/self/exe").ok();
    let beside =
        program.as_deref().and_then(Path::parent).and_then(Path::parent).map(|tree| tree.join("lib"));
    Ok(beside.filter(|directory| holds_library(directory)))
}

fn holds_library(directory: &Path) -> bool {
    directory.join(LIBRARY_NAME).exists()
}
