//! The C programs of this directory, compiled against our `mpi.h` and the library that cargo has just built.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use tempfile::TempDir;

/// A directory of this run, with the library under the name that programs ask for.
static DIRECTORY: LazyLock<TempDir> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory for compiled programs");
    for name in ["libmpi_abi.so.1", "libmpi_abi.so"] {
        std::os::unix::fs::symlink(library(), directory.path().join(name)).expect("a link to the library");
    }
    directory
});

/// The library that `MPI_ABI_LIBRARY` names, or built in the profile and the directory of these tests: cargo
/// itself builds no `cdylib` for a test. A whole workspace is built faster with the former: what cargo builds
/// for this package alone has other features, down to the last dependency.
pub fn library() -> PathBuf {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        if let Some(library) = std::env::var_os("MPI_ABI_LIBRARY") {
            return std::fs::canonicalize(&library)
                .unwrap_or_else(|error| panic!("{}: {error}", library.display()));
        }
        let test = std::env::current_exe().expect("the path of this test");
        let profile = test.ancestors().nth(2).expect("target/PROFILE/deps/TEST");
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--package", "mpi-abi", "--lib", "--target-dir"])
            .arg(profile.parent().expect("target"));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        let output = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        profile.join("libmpi_abi.so")
    });
    LIBRARY.clone()
}

/// Where the C programs are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mpi")
}

/// The program of this name, compiled once.
pub fn compiled(name: &str) -> PathBuf {
    let source = sources().join(format!("{name}.c"));
    once(name, |program| compile(program, &source, "-O1"))
}

/// A program that a test has written, compiled once: much code, of which every line runs once.
pub fn compiled_from(name: &str, text: &str) -> PathBuf {
    once(name, |program| {
        let source = program.with_extension("c");
        std::fs::write(&source, text).expect("a source file");
        compile(program, &source, "-O0");
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

fn compile(program: &Path, source: &Path, optimisation: &str) {
    let directory = DIRECTORY.path();
    let mut compiler = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()));
    compiler
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", optimisation, "-pthread", "-o"])
        .arg(program)
        .arg(source)
        .arg(format!("-I{}", sources().display()))
        .arg(format!("-I{}", sources().join("../../bcs-mpi/include").display()))
        .arg(format!("-L{}", directory.display()))
        .arg(format!("-Wl,-rpath,{}", directory.display()))
        .arg("-lmpi_abi");
    let output = compiler.output().expect("a C compiler");
    assert!(output.status.success(), "{}: {}", source.display(), String::from_utf8_lossy(&output.stderr));
}
