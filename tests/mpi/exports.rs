//! The library exports what it promises: each function of its tables under both names.

use bcs_harness::built::library;
use bcs_harness::{mpich, repository};
use mpi_abi_table::{Tables, unsupported};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn exported() -> BTreeSet<String> {
    symbols(library())
}

fn symbols(library: &Path) -> BTreeSet<String> {
    let output =
        Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().expect("nm of binutils");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect()
}

/// Sources of the C edge.
pub fn edge() -> Vec<String> {
    let files = std::fs::read_dir(repository().join("bcs-mpi/abi/src")).expect("the C edge");
    files.map(|file| std::fs::read_to_string(file.expect("a file").path()).expect("a source file")).collect()
}

#[test]
fn every_function_of_the_standard_is_exported_under_both_names_and_nothing_else() {
    let (exported, tables) = (exported(), Tables::read().expect("the tables"));
    let edge = edge();
    let mentioned = unsupported::defined(&tables, edge.iter().map(String::as_str));
    let standard: BTreeSet<String> = tables.exported_symbols().into_iter().collect();
    let missing: Vec<_> = standard.difference(&exported).collect();
    let own = |name: &&&String| mentioned.contains(name.strip_prefix('P').unwrap_or(name));
    let only_mentioned: Vec<_> = missing.iter().filter(own).collect();
    assert!(
        missing.is_empty(),
        "not exported: {missing:?}; of these bcs-mpi/abi/src mentions, but does not define: {only_mentioned:?}"
    );
    for name in exported.difference(&standard) {
        assert!(name.starts_with("bcs_"), "{name} is no function of the standard");
    }
}

/// What MPICH's library exports beyond the standard.
fn is_of_mpich_alone(name: &str) -> bool {
    !name.trim_start_matches('P').starts_with("MPI_")
}

#[test]
fn every_standard_function_of_mpichs_library_is_exported() {
    let Some(mpich) = mpich::prefix() else { return };
    let ours = exported();
    let theirs = symbols(&mpich.join("lib/libmpi_abi.so.1"));
    let missing: Vec<_> =
        theirs.iter().filter(|name| !ours.contains(*name) && !is_of_mpich_alone(name)).collect();
    assert!(theirs.contains("MPI_Send") && missing.is_empty(), "missing: {missing:?}");
}

#[test]
fn what_the_library_does_not_have_says_so_through_the_right_error_handler() {
    crate::holds_with("unsupported", &[1]);
}
