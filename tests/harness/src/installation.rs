//! The installed tree under test, and programs that are compiled with its `mpicc`.

use crate::c_programs::{Compiled, Language, STRICT, sources};
use crate::repository;
use crate::runs::run;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// The installation: `BCS_PREFIX`, else `target/stage`.
pub fn prefix() -> PathBuf {
    let prefix = std::env::var_os("BCS_PREFIX")
        .map_or_else(|| repository().join("target/stage"), |prefix| repository().join(prefix));
    assert!(
        prefix.join("bin/storm").is_file(),
        "there is no installation in {}: run scripts/install --prefix {0}",
        prefix.display()
    );
    prefix
}

/// A program of the installation.
pub fn installed(name: &str) -> Command {
    in_tree(&prefix(), name)
}

/// A program of an installation that lies in `tree`, which knows of no other.
pub fn in_tree(tree: &Path, name: &str) -> Command {
    let mut command = Command::new(tree.join("bin").join(name));
    // Whoever tests may have a cluster.
    command.env("BCS_CONFIG", "");
    for variable in ["LD_LIBRARY_PATH", "LD_PRELOAD", "BCS_CC", "MPICH_CC", "OMPI_CC"] {
        command.env_remove(variable);
    }
    command
}

/// `mpiexec` with these words as its first arguments.
pub fn mpiexec(arguments: &str) -> Command {
    let mut command = installed("mpiexec");
    command.args(arguments.split_whitespace());
    command
}

impl Compiled {
    /// Compiles C with the installed `mpicc`.
    #[track_caller]
    pub fn by_mpicc(text: &str) -> Self {
        Self::by(installed("mpicc"), text)
    }

    /// Compiles C with another `mpicc`.
    #[track_caller]
    pub fn by(compiler: Command, text: &str) -> Self {
        let include = format!("-I{}", sources().display());
        Self::with(compiler, Language::C, text, &[&STRICT[..], &["-O1", "-g", &include]].concat())
    }

    /// Compiles one of the programs that check themselves with the installed `mpicc`.
    #[track_caller]
    pub fn checking(name: &str) -> Self {
        let source = sources().join(name).with_extension("c");
        Self::by_mpicc(&std::fs::read_to_string(source).expect("a program of tests/programs/mpi"))
    }
}

/// A program of our examples, built once with the installed `mpicc`.
pub fn example(name: &'static str) -> PathBuf {
    static BUILT: OnceLock<TempDir> = OnceLock::new();
    let directory = BUILT.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        for name in ["hello", "heat", "hydro", "sweep"] {
            make(name, &prefix().join("bin/mpicc"), &directory.path().join(name));
        }
        directory
    });
    directory.path().join(name)
}

/// Builds an example with a compiler.
pub fn make(example: &str, compiler: &Path, program: &Path) {
    let mut make = Command::new("make");
    make.args(["-s", "-B", "-C"]).arg(repository().join("examples").join(example));
    make.arg(format!("CC={}", compiler.display())).arg(format!("OUT={}", program.display()));
    run(&mut make).succeeds();
}

/// A deck of an example.
pub fn deck(example: &str, name: &str) -> PathBuf {
    repository().join("examples").join(example).join("decks").join(format!("{name}.deck"))
}
