//! The manual and the completions are made from the declaration of the command line.

use crate::common::*;
use bcs_harness::runs::{Ended, run};
use std::process::Command;

fn output(arguments: &[&str]) -> Ended {
    run(Command::new(storm_path()).args(arguments))
}

#[test]
fn manual_page_in_the_documentation_is_the_generated_one() {
    let page = output(&["manpage"]);
    page.succeeds_quietly();
    let kept = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/man/storm.1");
    let kept = std::fs::read_to_string(kept).unwrap_or_default();
    assert!(kept == page.stdout, "make it anew: storm manpage > docs/man/storm.1");
}

#[test]
fn manual_page_tells_every_option_and_exit_status() {
    let page = output(&["manpage"]).stdout;
    for word in [
        "timeout",
        "stdin",
        "slice",
        "nic\\-core",
        "mmds",
        "emds",
        "wdir",
        "124",
        "125",
        "128+S",
        "BCS_RANK",
        "SIGINT",
    ] {
        assert!(page.contains(word), "{word}");
    }
    // The line after an option's is what it means.
    let lines: Vec<&str> = page.lines().collect();
    let undescribed: Vec<&str> =
        lines.windows(3).filter(|of| of[0] == ".TP" && of[2].trim().is_empty()).map(|of| of[1]).collect();
    assert!(undescribed.is_empty(), "{undescribed:?}");
}

#[test]
fn completions_are_there_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let ran = output(&["completions", shell]);
        assert!(ran.succeeds_quietly().stdout.contains("timeout"), "{shell}");
    }
}

#[test]
fn help_and_version_are_no_failure_and_go_to_the_output() {
    for arguments in [["run", "--help"], ["run", "-V"], ["--help", ""], ["--version", ""]] {
        let words: Vec<_> = arguments.into_iter().filter(|word| !word.is_empty()).collect();
        assert!(!output(&words).succeeds_quietly().stdout.is_empty(), "{words:?}");
    }
    let mpiexec = tempfile::tempdir().unwrap();
    let path = mpiexec.path().join("mpiexec");
    std::os::unix::fs::symlink(storm_path(), &path).unwrap();
    assert!(run(Command::new(&path).arg("--help")).succeeds_quietly().stdout.contains("Usage: mpiexec"));
    assert!(run(Command::new(path).arg("--version")).succeeds_quietly().stdout.starts_with("mpiexec "));
}

#[test]
fn short_help_fits_on_a_screen_and_points_to_the_long_one() {
    let [short, long] = ["-h", "--help"].map(|help| output(&["run", help]).succeeds_quietly().stdout.clone());
    assert!(short.lines().count() <= 30 && short.lines().all(|line| line.chars().count() <= 100), "{short}");
    for word in ["-n ", "--host", "--ppn", "--timeout", "--help"] {
        assert!(short.contains(word), "{word}: {short}");
    }
    assert!(!short.contains("--mca") && long.contains("--mca") && long.contains("Exit status"), "{long}");
}

#[test]
fn unknown_verb_is_one_line() {
    output(&["frobnicate"]).fails_with(1, &["frobnicate", "storm --help"]);
    output(&[]).fails_with(1, &["storm run"]);
    output(&["cluster"]).fails_with(1, &["storm cluster --help"]);
    output(&["status"]).fails_with(1, &["<JOB> is missing"]);
    output(&["status", "abc"]).fails_with(1, &["storm nodes"]);
}
