//! Where trace files are, and how one gets there: beside its place first, then renamed into it.

use super::error::TraceError;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// How the name of a file begins and ends that is not yet in its place.
const PARTIAL: (&str, &str) = (".mds-", ".partial");

/// The two kinds of trace file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `mmds.rank-00000.json`
    Mmds,
    /// `emds.node-00000.bin`
    Emds,
}

impl FileKind {
    /// The path of the file of rank or node `number`.
    pub fn path(self, dir: &Path, number: u32) -> PathBuf {
        let (before, after) = self.affixes();
        dir.join(format!("{before}{number:05}{after}"))
    }

    const fn affixes(self) -> (&'static str, &'static str) {
        match self {
            Self::Mmds => ("mmds.rank-", ".json"),
            Self::Emds => ("emds.node-", ".bin"),
        }
    }

    /// The kind of file that has this name, if it is a trace file's.
    fn of(name: &str) -> Option<Self> {
        [Self::Mmds, Self::Emds].into_iter().find(|kind| {
            let (before, after) = kind.affixes();
            let number = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })
    }
}

/// The trace files of `dir`, by name.
pub fn list(dir: &Path) -> Result<Vec<(PathBuf, FileKind)>, TraceError> {
    let of = |(path, name): (PathBuf, String)| Some((path, FileKind::of(&name)?));
    Ok(entries(dir)?.into_iter().filter_map(of).collect())
}

/// What is in `dir` under names that are text, by name.
fn entries(dir: &Path) -> Result<Vec<(PathBuf, String)>, TraceError> {
    let read = || {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            let entry = entry?;
            found.extend(entry.file_name().into_string().ok().map(|name| (entry.path(), name)));
        }
        found.sort();
        Ok(found)
    };
    read().map_err(|source| TraceError::Directory { dir: dir.to_owned(), source })
}

/// Writes a file at `path` in one step: a reader, or a run that is killed, never meets half a file. `fill`
/// writes the contents. The directory is created if need be.
///
/// # Errors
/// The directory cannot be created, or the file not be written or renamed; nothing is left behind then.
pub fn write_file(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> Result<(), TraceError> {
    let write = || {
        let dir = match path.parent() {
            Some(dir) if !dir.as_os_str().is_empty() => dir,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(dir)?;
        let mut file = Temporary::new(dir)?;
        let mut buffer = BufWriter::new(&mut file.file);
        fill(&mut buffer)?;
        buffer.flush()?;
        drop(buffer);
        file.persist(path)
    };
    write().map_err(|source| TraceError::write(path, source))
}

/// Removes what earlier runs left in `dir`: trace files, and the beginnings of ones whose writer was killed.
/// Several hosts may do so at the same time.
pub fn clear(dir: &Path) -> Result<(), TraceError> {
    let is_partial = |name: &str| name.starts_with(PARTIAL.0) && name.ends_with(PARTIAL.1);
    for (path, name) in entries(dir)? {
        if FileKind::of(&name).is_some() || is_partial(&name) {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(TraceError::write(&path, error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Whether a file can be made in `dir`.
pub fn check_writable(dir: &Path) -> Result<(), TraceError> {
    Temporary::new(dir).map(drop).map_err(|e| TraceError::write(dir, e))
}

/// A file beside others, which is removed unless it is renamed.
struct Temporary {
    path: PathBuf,
    file: File,
    is_renamed: bool,
}

impl Temporary {
    /// Makes one in `dir`; readable by whom the umask lets.
    fn new(dir: &Path) -> io::Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = MADE.fetch_add(1, Relaxed);
            let path = dir.join(format!("{}{}-{number}{}", PARTIAL.0, std::process::id(), PARTIAL.1));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file, is_renamed: false }),
                // Another process of that number, on another host or long ago, has left one.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Renames it.
    fn persist(mut self, to: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, to)?;
        // The name may be another process's by now, on another host.
        self.is_renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_share_a_directory_clear_it_at_the_same_time() {
        let dir = std::env::temp_dir().join(format!("bcs-place-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        for number in 0..500 {
            std::fs::write(FileKind::Mmds.path(&dir, number), "").unwrap();
        }
        std::thread::scope(|scope| {
            let hosts: Vec<_> = (0..4).map(|_| scope.spawn(|| clear(&dir))).collect();
            for host in hosts {
                host.join().unwrap().unwrap();
            }
        });
        assert_eq!(list(&dir).unwrap(), []);
        std::fs::remove_dir(&dir).unwrap();
    }
}
