//! Compiles and runs small C and C++ programs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate `bcs-mpi`.
pub fn bcs_mpi_directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A language and the compiler for it.
#[derive(Clone, Copy)]
pub enum Language {
    C,
    Cxx,
}

impl Language {
    /// The compiler: `CC` or `CXX`, else what the system calls `cc` and `c++`.
    pub fn compiler(self) -> String {
        let (variable, default) = match self {
            Self::C => ("CC", "cc"),
            Self::Cxx => ("CXX", "c++"),
        };
        std::env::var(variable).unwrap_or_else(|_| default.to_owned())
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Cxx => "cc",
        }
    }
}

/// Writes the program to `directory` and compiles it with the given arguments, to a program unless they say
/// otherwise.
pub fn compile(
    directory: &Path,
    language: Language,
    source: &str,
    arguments: &[impl AsRef<OsStr>],
) -> PathBuf {
    let source_file = directory.join(format!("program.{}", language.suffix()));
    let program = directory.join("program");
    std::fs::write(&source_file, source).unwrap();
    let mut command = Command::new(language.compiler());
    command.arg("-o").arg(&program).arg(&source_file).args(arguments);
    expect_success(&mut command);
    program
}

/// Runs the command and gives its output; a failure shows all that it said.
pub fn expect_success(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} ended with {}:\n{stdout}\n{stderr}", output.status);
    stdout.into_owned()
}

/// What a program of ours printed: lines `name=value`.
pub fn printed_values(output: &str) -> BTreeMap<String, String> {
    output
        .lines()
        .map(|line| line.split_once('=').unwrap_or_else(|| panic!("'{line}' is not name=value")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}
