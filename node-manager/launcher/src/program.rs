//! The program of an application: found once, before any rank is started, and looked at for which
//! MPI library it would load.
//!
//! A program that was built with another MPI of the standard ABI runs with our library, because ours
//! comes first in `LD_LIBRARY_PATH`. An ELF `DT_RPATH` (without `DT_RUNPATH`) is searched before
//! that variable, so where it leads to another `libmpi_abi.so.1`, ours has to be preloaded.

use crate::verdict::{STATUS_NOT_EXECUTABLE, STATUS_NOT_FOUND};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef, elf};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The name under which programs of the MPI standard ABI ask for their library.
pub const LIBRARY_NAME: &str = "libmpi_abi.so.1";

/// Where programs are looked for when `PATH` is not set, as in the C library.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its file. Relative only to the directory in which the application runs.
    pub path: PathBuf,
    /// Whether it is a text without `#!`, which `/bin/sh` runs, as from a shell.
    pub is_shell_text: bool,
    /// What it wants of an MPI library.
    pub library: LibraryNeed,
}

/// Which MPI library a program would load, as far as its file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LibraryNeed {
    /// None, or unknown (a script).
    None,
    /// One of the standard ABI; the search path leads to ours.
    SearchPath,
    /// Another library of the standard ABI would come before ours.
    Preload,
    /// Another MPI, with an interface of its own, of this file name.
    Foreign(String),
}

/// Why a program cannot be started.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot run \"{name}\": {why}")]
pub struct ProgramError {
    /// As the user wrote it.
    pub name: String,
    /// What is wrong with it.
    pub why: Obstacle,
}

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Obstacle {
    /// The name has no slash and is in no directory of `PATH`; what to do.
    #[error("it is in no directory of PATH; {0}")]
    NotInPath(String),
    /// The path leads nowhere; in which directory a relative path was tried.
    #[error("no such file{0}; check the path, or build the program first")]
    NoSuchFile(String),
    /// The path leads to a directory.
    #[error("it is a directory; name the program in it")]
    IsDirectory,
    /// This file has no execute permission for this user.
    #[error("it is not executable; make it so with: chmod +x {}, or name its interpreter before it", .0.display())]
    NotExecutable(PathBuf),
    /// The file is of another kind of machine, or no program at all: what it seems to be.
    #[error("it is no program for this machine ({0}); build it here")]
    WrongFormat(&'static str),
    /// This interpreter in its first line (`#!`), or this dynamic loader, is missing.
    #[error("its interpreter \"{0}\" does not exist; install it or correct the first line")]
    NoInterpreter(String),
}

impl ProgramError {
    /// The exit status that a shell gives: 127 for what was not found, 126 for what cannot be run.
    pub fn status(&self) -> u8 {
        match self.why {
            Obstacle::NotInPath(_) | Obstacle::NoSuchFile(_) | Obstacle::NoInterpreter(_) => STATUS_NOT_FOUND,
            Obstacle::IsDirectory | Obstacle::NotExecutable(_) | Obstacle::WrongFormat(_) => {
                STATUS_NOT_EXECUTABLE
            }
        }
    }
}

impl Program {
    /// Finds a program as a shell would that stands in `directory` (here, if not given) and has this
    /// `PATH`, and reads from its head and its dynamic section what starting it takes.
    ///
    /// # Errors
    /// Whatever the kernel would refuse it for, in words; see [`ProgramError`].
    pub fn find(
        name: &OsStr,
        directory: Option<&Path>,
        search: Option<&OsStr>,
    ) -> Result<Self, ProgramError> {
        let find = || {
            let (path, file) = if name.as_bytes().contains(&b'/') {
                let path = PathBuf::from(name);
                let file = open_executable(name, &in_directory(directory, &path))?;
                (path, file)
            } else {
                find_in_path(name, directory, search)?
            };
            inspect(directory, path, file)
        };
        find().map_err(|why| ProgramError { name: lossy(name), why })
    }
}

fn in_directory(directory: Option<&Path>, path: &Path) -> PathBuf {
    directory.map_or_else(|| path.to_owned(), |directory| directory.join(path))
}

fn lossy(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

fn find_in_path(
    name: &OsStr,
    directory: Option<&Path>,
    search: Option<&OsStr>,
) -> Result<(PathBuf, Option<File>), Obstacle> {
    let search = search.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut refused = None;
    if !name.is_empty() {
        for place in search.as_bytes().split(|byte| *byte == b':') {
            let place = if place.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(place) };
            let path = Path::new(place).join(name);
            match open_executable(name, &in_directory(directory, &path)) {
                Ok(file) => return Ok((path, file)),
                Err(Obstacle::NoSuchFile(_) | Obstacle::IsDirectory) => {}
                Err(error) => _ = refused.get_or_insert(error),
            }
        }
    }
    let here = in_directory(directory, Path::new(name));
    let hint = if !name.is_empty() && here.is_file() {
        format!("for the one in this directory write ./{}", lossy(name))
    } else {
        "give its path, as in ./program".to_owned()
    };
    Err(refused.unwrap_or(Obstacle::NotInPath(hint)))
}

/// Checks that a file can be executed, and opens it if it can be read too.
fn open_executable(name: &OsStr, path: &Path) -> Result<Option<File>, Obstacle> {
    let missing = || match (path.is_relative(), path.as_os_str() == name) {
        (true, _) => {
            let here = std::env::current_dir();
            let here = here.map_or_else(|_| "this directory".into(), |here| here.display().to_string());
            format!(" in {here}")
        }
        (false, false) => format!(" ({})", path.display()),
        (false, true) => String::new(),
    };
    let metadata = path.metadata().map_err(|error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => Obstacle::NotExecutable(path.to_owned()),
        _ => Obstacle::NoSuchFile(missing()),
    })?;
    if metadata.is_dir() {
        return Err(Obstacle::IsDirectory);
    }
    let executable = rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
        && metadata.permissions().mode() & 0o111 != 0;
    if !executable {
        return Err(Obstacle::NotExecutable(path.to_owned()));
    }
    Ok(File::open(path).ok())
}

fn inspect(directory: Option<&Path>, path: PathBuf, file: Option<File>) -> Result<Program, Obstacle> {
    let plain = |path| Program { path, is_shell_text: false, library: LibraryNeed::None };
    // A program that may be executed but not read is left to the kernel.
    let Some(mut file) = file else { return Ok(plain(path)) };
    let mut head = [0; 256];
    let length = file.read(&mut head).unwrap_or(0);
    let head = &head[..length];
    match head {
        [0x7f, b'E', b'L', b'F', ..] => {
            let full = in_directory(directory, &path);
            let elf = DynamicSection::read(&file).map_err(Obstacle::WrongFormat)?;
            if let Some(interpreter) = elf.interpreter.as_deref()
                && !Path::new(OsStr::from_bytes(interpreter)).exists()
            {
                return Err(Obstacle::NoInterpreter(String::from_utf8_lossy(interpreter).into_owned()));
            }
            Ok(Program { library: elf.library_need(&full), ..plain(path) })
        }
        [b'#', b'!', line @ ..] => {
            let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let interpreter =
                line.trim_ascii().split(|byte| byte.is_ascii_whitespace()).next().unwrap_or_default();
            if !in_directory(directory, Path::new(OsStr::from_bytes(interpreter))).exists() {
                return Err(Obstacle::NoInterpreter(String::from_utf8_lossy(interpreter).into_owned()));
            }
            Ok(plain(path))
        }
        text if text.contains(&0) => Ok(plain(path)),
        _ => Ok(Program { is_shell_text: true, ..plain(path) }),
    }
}

/// What the dynamic section of an ELF file says about the libraries it loads.
#[derive(Debug, Default)]
struct DynamicSection {
    interpreter: Option<Vec<u8>>,
    needed: Vec<OsString>,
    rpath: Vec<OsString>,
    has_runpath: bool,
}

impl DynamicSection {
    fn read(file: &File) -> Result<Self, &'static str> {
        let data = ReadCache::new(file);
        let native_class = if cfg!(target_pointer_width = "64") { elf::ELFCLASS64 } else { elf::ELFCLASS32 };
        let ident = data.read_bytes_at(0, 20).map_err(|()| "a truncated ELF file")?;
        if ident[4] != native_class {
            // 32-bit programs run on many 64-bit kernels, but never with our library.
            return Ok(Self::default());
        }
        let header = elf::FileHeader64::<Endianness>::parse(&data).map_err(|_| "a damaged ELF file")?;
        let endian = header.endian().map_err(|_| "a damaged ELF file")?;
        let machine = header.e_machine(endian);
        let here = match std::env::consts::ARCH {
            "x86_64" => elf::EM_X86_64,
            "aarch64" => elf::EM_AARCH64,
            "riscv64" => elf::EM_RISCV,
            "powerpc64" => elf::EM_PPC64,
            "s390x" => elf::EM_S390,
            _ => machine,
        };
        // An emulator may be registered for other machines; the kernel decides.
        if machine != here {
            return Ok(Self::default());
        }
        if !matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN) {
            return Err("an object file that was not linked");
        }
        let mut section = Self::default();
        let segments = header.program_headers(endian, &data).map_err(|_| "a damaged ELF file")?;
        for segment in segments {
            if let Ok(Some(interpreter)) = segment.interpreter(endian, &data) {
                section.interpreter = Some(interpreter.to_vec());
            }
            let Ok(Some(entries)) = segment.dynamic(endian, &data) else { continue };
            let value = |tag: u64| {
                entries.iter().find(|entry| entry.d_tag(endian) == tag).map(|entry| entry.d_val(endian))
            };
            let (Some(address), Some(size)) = (value(elf::DT_STRTAB.into()), value(elf::DT_STRSZ.into()))
            else {
                continue;
            };
            // The table is named by its address in memory; its place in the file is in the segments.
            let offset = segments.iter().find_map(|load| {
                let start = load.p_vaddr(endian);
                (load.p_type(endian) == elf::PT_LOAD
                    && (start..start + load.p_filesz(endian)).contains(&address))
                .then(|| load.p_offset(endian) + (address - start))
            });
            let Some(offset) = offset else { continue };
            let strings = |index: u64| {
                (&data).read_bytes_at_until(offset + index..offset + size, 0).ok().map(OsStr::from_bytes)
            };
            for entry in entries {
                let Some(text) = strings(entry.d_val(endian)) else { continue };
                match entry.d_tag(endian) {
                    tag if tag == u64::from(elf::DT_NEEDED) => section.needed.push(text.to_owned()),
                    tag if tag == u64::from(elf::DT_RUNPATH) => section.has_runpath = true,
                    tag if tag == u64::from(elf::DT_RPATH) => {
                        let places = text.as_bytes().split(|byte| *byte == b':');
                        section.rpath.extend(places.map(|place| OsString::from_vec(place.to_vec())));
                    }
                    _ => {}
                }
            }
        }
        Ok(section)
    }

    fn library_need(&self, program: &Path) -> LibraryNeed {
        let foreign = self.needed.iter().find(|name| is_foreign_mpi(name.as_bytes()));
        if let Some(name) = foreign {
            return LibraryNeed::Foreign(lossy(name));
        }
        let origin = program.canonicalize().ok();
        let origin = origin.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
        let leads_elsewhere = !self.has_runpath
            && self.rpath.iter().any(|place| expand_origin(place, origin).join(LIBRARY_NAME).exists());
        match (leads_elsewhere, self.needed.iter().any(|name| name == LIBRARY_NAME)) {
            (true, _) => LibraryNeed::Preload,
            (false, true) => LibraryNeed::SearchPath,
            (false, false) => LibraryNeed::None,
        }
    }
}

/// Whether a needed library is an MPI with an interface of its own: `libmpi.so.40` (Open MPI),
/// `libmpi.so.12` and `libmpich.so.12` (MPICH and its relatives), `libmsmpi`, `libfmpich`.
fn is_foreign_mpi(name: &[u8]) -> bool {
    let stem = name.split(|byte| *byte == b'.').next().unwrap_or_default();
    matches!(stem, b"libmpi" | b"libmpich" | b"libmpi_cxx" | b"libmpicxx" | b"libmpichcxx" | b"libmpifort")
        || stem.starts_with(b"libmpi_mpifh")
        || stem.starts_with(b"libmpi_usempi")
}

fn expand_origin(place: &OsStr, origin: &Path) -> PathBuf {
    let text = place.as_bytes();
    for word in [b"${ORIGIN}".as_slice(), b"$ORIGIN".as_slice()] {
        if let Some(rest) = text.strip_prefix(word) {
            let mut path = origin.as_os_str().as_bytes().to_vec();
            path.extend_from_slice(rest);
            return PathBuf::from(OsString::from_vec(path));
        }
    }
    PathBuf::from(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    fn write(path: &Path, text: &[u8], mode: u32) {
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn name_is_looked_for_in_path_and_a_path_is_taken_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        write(&directory.path().join("tool"), b"#!/bin/sh\n", 0o755);
        let search = format!("/nonexistent:{}", directory.path().display());
        let found = Program::find(OsStr::new("tool"), None, Some(OsStr::new(&search))).unwrap();
        assert_eq!(found.path, directory.path().join("tool"));
        let relative = Program::find(OsStr::new("./tool"), Some(directory.path()), None).unwrap();
        assert_eq!(relative.path, Path::new("./tool"), "it is started from the working directory");
    }

    #[test]
    fn everything_that_cannot_run_has_its_own_words_and_status() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        write(&here.join("plain"), b"text", 0o644);
        write(&here.join("orphan"), b"#!/no/such/interpreter -x\n", 0o755);
        write(&here.join("damaged"), b"\x7fELF\x02\x01", 0o755);
        let find = |name: &str| Program::find(OsStr::new(name), Some(here), Some(OsStr::new("/nonexistent")));
        let cases = [
            ("plain", 127, "write ./plain"),
            ("nothing", 127, "no directory of PATH"),
            ("", 127, "no directory of PATH"),
            ("./nothing", 127, "no such file"),
            ("./plain", 126, "chmod +x"),
            ("./", 126, "directory"),
            ("./orphan", 127, "/no/such/interpreter"),
            ("./damaged", 126, "no program for this machine"),
        ];
        for (name, status, words) in cases {
            let error = find(name).unwrap_err();
            assert_eq!(error.status(), status, "{name}: {error}");
            assert!(error.to_string().contains(words), "{name}: {error}");
            assert!(!error.to_string().contains('\n'));
        }
    }

    #[test]
    fn text_without_interpreter_is_for_the_shell() {
        let directory = tempfile::tempdir().unwrap();
        write(&directory.path().join("text"), b"echo hello\n", 0o755);
        let found = Program::find(OsStr::new("./text"), Some(directory.path()), None).unwrap();
        assert!(found.is_shell_text);
    }

    /// Links a program against a library of this name, with these linker flags.
    fn linked(directory: &Path, library: &str, flags: &[&str]) -> Program {
        fs::write(directory.join("lib.c"), "int mpi(void) { return 0; }").unwrap();
        fs::write(directory.join("main.c"), "int mpi(void); int main(void) { return mpi(); }").unwrap();
        let cc = |arguments: &[&str]| {
            let status = Command::new("cc").args(arguments).current_dir(directory).status().unwrap();
            assert!(status.success(), "cc {arguments:?}");
        };
        cc(&["-shared", "-fPIC", "-o", library, "lib.c", &format!("-Wl,-soname,{library}")]);
        cc(&[&["-o", "main", "main.c", library], flags].concat());
        Program::find(OsStr::new("./main"), Some(directory), None).unwrap()
    }

    #[test]
    fn library_is_preloaded_only_past_an_rpath_that_leads_to_another() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path();
        let need = |flags: &[&str]| linked(here, LIBRARY_NAME, flags).library;
        assert_eq!(need(&["-Wl,--disable-new-dtags,-rpath,$ORIGIN"]), LibraryNeed::Preload);
        let absolute = format!("-Wl,--disable-new-dtags,-rpath,/nonexistent:{}", here.display());
        assert_eq!(need(&[&absolute]), LibraryNeed::Preload);
        assert_eq!(need(&["-Wl,--enable-new-dtags,-rpath,$ORIGIN"]), LibraryNeed::SearchPath);
        assert_eq!(need(&["-Wl,--disable-new-dtags,-rpath,/nonexistent"]), LibraryNeed::SearchPath);
        assert_eq!(need(&[]), LibraryNeed::SearchPath);
    }

    #[test]
    fn program_of_another_mpi_is_recognised() {
        let directory = tempfile::tempdir().unwrap();
        let found = linked(directory.path(), "libmpi.so.40", &[]);
        assert_eq!(found.library, LibraryNeed::Foreign("libmpi.so.40".into()));
    }
}
