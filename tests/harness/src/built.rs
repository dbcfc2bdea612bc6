//! What cargo has built beside the tests: programs, and the MPI library.

use crate::repository;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Where cargo puts what it builds as it has built these tests: `target/PROFILE`.
fn directory() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.ancestors().nth(2).expect("target/PROFILE/deps/TEST").to_owned()
}

/// A program of the workspace. Cargo builds those of other packages with none but all tests.
pub fn program(name: &str) -> PathBuf {
    let program = directory().join(name);
    assert!(
        program.is_file(),
        "there is no {}: 'cargo build --workspace --all-targets' makes it",
        program.display()
    );
    program
}

/// The library that `MPI_ABI_LIBRARY` names, or built in the profile and the directory of these tests: cargo
/// itself builds no `cdylib` for a test. A whole workspace is built faster with the former: what cargo builds
/// for this package alone has other features, down to the last dependency.
pub fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        if let Some(library) = std::env::var_os("MPI_ABI_LIBRARY") {
            return std::fs::canonicalize(&library)
                .unwrap_or_else(|error| panic!("{}: {error}", library.display()));
        }
        let profile = directory();
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--package", "mpi-abi", "--lib", "--target-dir"]);
        cargo.arg(profile.parent().expect("target"));
        let name = profile.file_name().expect("target/PROFILE");
        cargo.arg("--profile").arg(if name == "debug" { "dev".as_ref() } else { name });
        let output = cargo.current_dir(repository()).output().expect("cargo");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        profile.join("libmpi_abi.so")
    });
    &LIBRARY
}
