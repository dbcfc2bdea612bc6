//! Programs in C: those of `tests/programs/mpi`, which check themselves, and those that tests have as text.

use crate::built::library;
use crate::repository;
use crate::runs::run;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use tempfile::TempDir;

/// What every program is compiled with that is held to our own rules.
pub(crate) const STRICT: [&str; 4] = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"];

/// A language and the compiler for it.
#[derive(Clone, Copy)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
}

impl Language {
    /// The compiler: `CC` or `CXX`, else what the system calls `cc` and `c++`.
    pub fn compiler(self) -> Command {
        let (variable, default) = match self {
            Self::C => ("CC", "cc"),
            Self::Cxx => ("CXX", "c++"),
        };
        Command::new(std::env::var(variable).unwrap_or_else(|_| default.to_owned()))
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cxx => "cc",
        }
    }
}

/// Compiles a file to a program, or to what the flags say.
#[track_caller]
pub fn compile(mut compiler: Command, source: &Path, program: &Path, flags: &[impl AsRef<OsStr>]) {
    run(compiler.arg("-o").arg(program).arg(source).args(flags)).succeeds();
}

/// Compiles a text in a directory: `NAME.c`, or what else the language's files end with, to `NAME`.
#[track_caller]
pub fn compile_text(
    compiler: Command,
    directory: &Path,
    file: &str,
    text: &str,
    flags: &[impl AsRef<OsStr>],
) -> PathBuf {
    let source = directory.join(file);
    fs::write(&source, text).expect("a source file");
    let program = source.with_extension("");
    compile(compiler, &source, &program, flags);
    program
}

/// A compiled program, which lives as long as this value.
pub struct Compiled {
    directory: TempDir,
}

impl Compiled {
    /// Compiles a text with a compiler and these flags.
    #[track_caller]
    pub fn with(compiler: Command, language: Language, text: &str, flags: &[impl AsRef<OsStr>]) -> Self {
        let directory = tempfile::tempdir().expect("a directory for a program");
        let file = format!("program.{}", language.suffix());
        compile_text(compiler, directory.path(), &file, text, flags);
        Self { directory }
    }

    /// Compiles C with the system's compiler.
    #[track_caller]
    pub fn by_cc(text: &str) -> Self {
        Self::with(Language::C.compiler(), Language::C, text, &["-O1"])
    }

    /// The program's file.
    pub fn program(&self) -> PathBuf {
        self.directory.path().join("program")
    }
}

/// Where the programs in C that check themselves are.
pub fn sources() -> PathBuf {
    repository().join("tests/programs/mpi")
}

/// A directory of this run, with the library of this build under the name that programs ask for.
static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory for compiled programs");
    for name in ["libmpi_abi.so.1", "libmpi_abi.so"] {
        std::os::unix::fs::symlink(library(), directory.path().join(name)).expect("a link to the library");
    }
    directory
});

/// The program of this name, compiled once against the library of this build.
pub fn compiled(name: &str) -> PathBuf {
    let source = sources().join(name).with_extension("c");
    once(name, |program| compile_here(&source, program, "-O1"))
}

/// A program that a test has written, compiled once against the library of this build: much code, of which
/// every line runs once.
pub fn compiled_from(name: &str, text: &str) -> PathBuf {
    once(name, |program| {
        let source = program.with_extension("c");
        fs::write(&source, text).expect("a source file");
        compile_here(&source, program, "-O0");
    })
}

fn once(name: &str, compile: impl FnOnce(&Path)) -> PathBuf {
    type Once = Arc<OnceLock<PathBuf>>;
    static COMPILED: LazyLock<Mutex<HashMap<String, Once>>> = LazyLock::new(Mutex::default);
    let once = COMPILED.lock().unwrap_or_else(|e| e.into_inner()).entry(name.to_owned()).or_default().clone();
    once.get_or_init(|| {
        let program = DIRECTORY.path().join(name);
        compile(&program);
        program
    })
    .clone()
}

fn compile_here(source: &Path, program: &Path, optimisation: &str) {
    let directory = DIRECTORY.path().display();
    let include = [sources(), repository().join("bcs-mpi/include")].map(|it| format!("-I{}", it.display()));
    let link = [format!("-L{directory}"), format!("-Wl,-rpath,{directory}")];
    let mut flags: Vec<&str> = STRICT.to_vec();
    flags.extend([optimisation, "-pthread"]);
    flags.extend(include.iter().chain(&link).map(String::as_str));
    flags.push("-lmpi_abi");
    compile(Language::C.compiler(), source, program, &flags);
}
