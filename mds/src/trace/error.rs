//! What can be wrong with a trace, each in one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};

/// A trace that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The directory cannot be listed.
    #[error("cannot read trace directory {}: {source}; give the directory that `storm run --trace-dir` wrote", dir.display())]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The directory holds no trace file.
    #[error("{} holds no trace; record one with `storm run --mmds --emds --trace-dir {}`", .0.display(), .0.display())]
    Empty(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}; choose another place or make room there", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that is truncated or damaged.
    #[error("{} is damaged: {reason}; remove it to see the rest, or record the run again", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of a version that this program does not know.
    #[error("{} has format version {found}, and this mds reads version {known}; use the mds of the release that recorded it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version it says.
        found: u64,
        /// The version that is read.
        known: u32,
    },
    /// Files of different runs in one directory.
    #[error("{} and {} are of different runs; remove the files of one, or record each run in a directory of its own", path.display(), other.display())]
    MixedRuns {
        /// A file.
        path: PathBuf,
        /// A file of another run.
        other: PathBuf,
    },
}

impl TraceError {
    /// A file that cannot be written.
    pub fn write(path: &Path, source: io::Error) -> Self {
        Self::Write { path: path.to_owned(), source }
    }

    /// A file that is damaged.
    pub fn corrupt(path: &Path, reason: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), reason: reason.into() }
    }
}
