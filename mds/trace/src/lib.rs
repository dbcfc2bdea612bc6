//! Trace directories: what `storm run` prepares, what launchers add at the end of a run, and what the `mds`
//! program reads.
//!
//! `docs/trace-format.md` is the contract of the format. Ranks write their own files ([`mds::trace`]), and
//! have no need of this package. Reading trusts nothing: a file that is truncated, damaged or of another
//! version is an error that names it.

mod emds_file;

pub use emds_file::EmdsFile;

use mds::emds::EmdsTable;
use mds::trace::place::{self, FileKind, write_file};
use mds::trace::{MmdsFile, Run, TraceError};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// The node that an EMDS file is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number within the job.
    pub node: u32,
    /// Its host name.
    pub host: String,
}

/// Makes `dir` ready for a run: creates it, removes the trace files of earlier runs (and no other file), and
/// makes sure that files can be written. The launcher calls it once, before the ranks start.
///
/// # Errors
/// The directory cannot be made, emptied or written.
pub fn prepare(dir: &Path) -> Result<(), TraceError> {
    std::fs::create_dir_all(dir).map_err(|e| TraceError::write(dir, e))?;
    place::clear(dir)?;
    place::check_writable(dir)
}

/// Writes the EMDS file of one node into `dir`: its local table and, on the lead node, the global one.
/// Returns its path.
///
/// # Errors
/// The file cannot be written.
pub fn write_emds(dir: &Path, run: &Run, node: &Node, tables: &[EmdsTable]) -> Result<PathBuf, TraceError> {
    let path = FileKind::Emds.path(dir, node.node);
    let file = EmdsFile { run: run.clone(), node: node.clone(), tables: tables.to_vec() };
    write_file(&path, |out| out.write_all(&file.encode()))?;
    Ok(path)
}

/// A trace directory, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The run.
    pub run: Run,
    /// MMDS by rank.
    pub mmds: Vec<MmdsFile>,
    /// EMDS by node.
    pub emds: Vec<EmdsFile>,
}

impl Trace {
    /// Reads every trace file of `dir`; other files are none of its business.
    ///
    /// # Errors
    /// No such directory, no trace in it, a file that cannot be read or is damaged, files of different runs,
    /// or two files of one rank or node.
    pub fn read(dir: &Path) -> Result<Self, TraceError> {
        let mut first: Option<(PathBuf, Run)> = None;
        let (mut mmds, mut emds) = (Vec::<MmdsFile>::new(), Vec::<EmdsFile>::new());
        for (path, kind) in place::list(dir)? {
            let bytes =
                std::fs::read(&path).map_err(|source| TraceError::Read { path: path.clone(), source })?;
            let (run, number) = match kind {
                FileKind::Mmds => {
                    let file = MmdsFile::decode(&path, &bytes)?;
                    let of = (file.run.clone(), file.process.rank);
                    mmds.push(file);
                    of
                }
                FileKind::Emds => {
                    let file = EmdsFile::decode(&path, &bytes)?;
                    let of = (file.run.clone(), file.node.node);
                    emds.push(file);
                    of
                }
            };
            if kind.path(dir, number) != path {
                let reason = format!("it is the file of number {number}, under another name");
                return Err(TraceError::Corrupt { path, reason });
            }
            match &first {
                None => first = Some((path, run)),
                Some((_, expected)) if *expected == run => {}
                Some((other, _)) => return Err(TraceError::MixedRuns { path, other: other.clone() }),
            }
        }
        let Some((_, run)) = first else {
            return Err(TraceError::Empty(dir.to_owned()));
        };
        mmds.sort_by_key(|f| f.process.rank);
        emds.sort_by_key(|f| f.node.node);
        Ok(Self { run, mmds, emds })
    }
}
