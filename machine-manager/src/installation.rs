//! Where the rest of the installation is, seen from the program itself: an installed tree can be moved.

use node_manager::program::{BUILT_LIBRARY_NAME, LIBRARY_NAME};
use std::path::PathBuf;

/// The directory of our MPI library: `../lib` of a program in `bin`, or the program's own directory in a
/// build. `None` where there is no library.
pub fn library_directory() -> Option<PathBuf> {
    let program = std::fs::read_link("/proc/self/exe").ok()?;
    let own = program.parent()?;
    [own.parent()?.join("lib"), own.to_owned()]
        .into_iter()
        .find(|directory| [LIBRARY_NAME, BUILT_LIBRARY_NAME].iter().any(|name| directory.join(name).exists()))
}
