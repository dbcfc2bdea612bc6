//! The library exports what it promises: each function of its tables under both names.

use crate::programs::{library, sources};
use std::collections::BTreeSet;
use std::process::Command;

fn exported() -> BTreeSet<String> {
    let output =
        Command::new("nm").args(["-D", "--defined-only"]).arg(library()).output().expect("nm of binutils");
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect()
}

/// Names of the functions that the C edge defines, `_c` twins too, as its tables say.
fn defined() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in std::fs::read_dir(sources().join("../../bcs-mpi/abi/src")).expect("the C edge") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a source file");
        for line in text.lines().map(str::trim) {
            for (word, twins) in [("call ", false), ("twin ", true), ("plain ", false)] {
                let Some((name, _)) = line.strip_prefix(word).and_then(|rest| rest.split_once('(')) else {
                    continue;
                };
                if name.starts_with("MPI_") {
                    names.insert(name.to_owned());
                    if twins {
                        names.insert(format!("{name}_c"));
                    }
                }
            }
        }
    }
    names
}

#[test]
fn every_function_of_the_edge_is_exported_under_both_names() {
    let (exported, defined) = (exported(), defined());
    assert!(defined.len() > 150, "{} functions", defined.len());
    for name in &defined {
        assert!(exported.contains(name), "{name} is not exported");
        assert!(exported.contains(&format!("P{name}")), "P{name} is not exported");
    }
}

#[test]
fn the_large_counts_that_the_standard_wants_are_there_and_nothing_else_is_exported() {
    let exported = exported();
    let table =
        std::fs::read_to_string(sources().join("../../bcs-mpi/abi/table/functions.tbl")).expect("the table");
    let mut standard = BTreeSet::new();
    for line in table.lines().filter(|line| line.starts_with("MPI_")) {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [name, _, _, form, ..] = fields[..] else { panic!("{line}") };
        standard.insert(name.to_owned());
        if form.starts_with(|c: char| c.is_ascii_digit()) {
            let large = format!("{name}_c");
            assert_eq!(exported.contains(name), exported.contains(&large), "{name} and {large}");
            standard.insert(large);
        }
    }
    for name in &exported {
        let twin = name.strip_prefix('P').unwrap_or(name);
        assert!(standard.contains(twin) || name.starts_with("bcs_"), "{name} is no function of the standard");
    }
}
