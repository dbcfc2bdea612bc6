//! The files of a trace directory, and the one that a rank writes: its MMDS file, whole, at the end of a run.
//! `mds-trace` has the EMDS files of nodes, and reads directories.
//!
//! `docs/trace-format.md` is the contract of the format; [`FORMAT_VERSION`] changes with it. A file is
//! written beside its place and renamed into it, so a reader sees all of it or none. Reading trusts nothing:
//! a file that is truncated, damaged or of another version is an error that names it.

mod error;
mod mmds_file;
pub mod place;

pub use error::TraceError;
pub use mmds_file::MmdsFile;
pub use place::write_file;

use crate::mmds::ProcessReport;
use place::FileKind;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The version of both file formats.
pub const FORMAT_VERSION: u32 = 3;

/// The run that a trace is of; the same in all files of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// A text that no other run has; the launcher chooses it.
    pub id: String,
    /// Ranks of the job.
    pub ranks: u32,
    /// Nodes of the job.
    pub nodes: u32,
}

/// The process that an MMDS file is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its rank in the job.
    pub rank: u32,
    /// Its node, numbered within the job.
    pub node: u32,
    /// The node's host name.
    pub host: String,
    /// The program it ran.
    pub program: String,
    /// Its process id.
    pub pid: u32,
}

/// Writes the MMDS file of one process into `dir`, which is created if need be. Returns its path.
///
/// # Errors
/// The file cannot be written.
pub fn write_mmds(
    dir: &Path,
    run: &Run,
    process: &Process,
    report: &ProcessReport,
) -> Result<PathBuf, TraceError> {
    let path = FileKind::Mmds.path(dir, process.rank);
    let file = MmdsFile { run: run.clone(), process: process.clone(), report: report.clone() };
    write_file(&path, |out| out.write_all(&file.encode()))?;
    Ok(path)
}
