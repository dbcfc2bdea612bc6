//! The codes give their verified answers, whatever carries their messages and computes their sums.

use std::collections::BTreeSet;

use bcs_harness::installation::{deck, example, mpiexec};
use bcs_harness::runs::{Ended, run};

/// Every way in which a job can be run.
fn modes() -> Vec<String> {
    let mut modes = Vec::new();
    for slice in ["elastic", "500us"] {
        for cross_memory in ["auto", "off"] {
            for arithmetic in ["native", "softfloat"] {
                modes.push(format!("--slice {slice} --cross-memory {cross_memory} --nic-arith {arithmetic}"));
            }
        }
    }
    modes
}

/// Runs a code on its small deck; it must verify its answer.
#[track_caller]
fn verified(code: &'static str, options: &[&str], ranks: u32, mode: &str) -> Ended {
    let mut command = mpiexec(mode);
    command.arg("-n").arg(ranks.to_string()).arg(example(code)).arg(deck(code, "small")).args(options);
    let ended = run(&mut command).succeeds();
    assert!(ended.stdout.lines().any(|line| line.starts_with("verified: ")), "{ended:?}");
    ended
}

/// All that a code printed, but for times: iterations, conserved quantities, deviations, checksums.
fn answer(ended: &Ended) -> String {
    ended.stdout.lines().filter(|line| !line.contains("time: ")).collect::<Vec<_>>().join("\n")
}

/// The checksum of the field.
#[track_caller]
fn checksum(ended: &Ended) -> String {
    let (_, rest) = ended.stdout.split_once("checksum").unwrap_or_else(|| panic!("no checksum in {ended:?}"));
    rest.trim_start_matches(':').split_whitespace().next().unwrap_or_default().to_owned()
}

#[track_caller]
fn is_the_same_in_every_mode(code: &'static str, options: &[&str], ranks: u32) {
    let different: BTreeSet<_> =
        modes().iter().map(|mode| answer(&verified(code, options, ranks, mode))).collect();
    assert_eq!(different.len(), 1, "{code} on {ranks} ranks gives more than one answer: {different:#?}");
}

macro_rules! answers_are_verified_and_the_same_in_every_mode {
    ($($name:ident: $code:literal $options:expr, $ranks:literal;)*) => {
        mod answers_are_verified_and_the_same_in_every_mode {
            $(#[test] fn $name() { super::is_the_same_in_every_mode($code, &$options, $ranks) })*
        }
    };
}

answers_are_verified_and_the_same_in_every_mode! {
    heat_on_2_ranks: "heat" [], 2;
    heat_on_16_ranks: "heat" [], 16;
    hydro_on_1_rank: "hydro" [], 1;
    hydro_on_2_ranks: "hydro" [], 2;
    hydro_on_4_ranks: "hydro" [], 4;
    hydro_on_7_ranks: "hydro" [], 7;
    hydro_on_16_ranks: "hydro" [], 16;
    sweep_on_2_ranks: "sweep" ["--variant", "nonblocking"], 2;
    sweep_on_7_ranks: "sweep" ["--variant", "nonblocking"], 7;
}

#[test]
fn fields_have_the_same_bits_on_every_number_of_ranks() {
    for (code, options) in [
        ("heat", &[][..]),
        ("hydro", &[]),
        ("sweep", &["--variant", "blocking"]),
        ("sweep", &["--variant", "nonblocking"]),
    ] {
        let different: BTreeSet<_> =
            [1, 2, 4, 7, 16].map(|ranks| checksum(&verified(code, options, ranks, ""))).into();
        assert_eq!(different.len(), 1, "{code} {options:?}: {different:?}");
    }
}

#[test]
fn a_core_of_its_own_for_the_nic_changes_no_bit() {
    for code in ["heat", "hydro", "sweep"] {
        let [with, without] = ["--nic-core 0", ""].map(|mode| answer(&verified(code, &[], 4, mode)));
        assert_eq!(with, without, "{code}");
    }
}

#[test]
fn a_program_that_is_started_without_a_launcher_is_a_job_of_one_rank() {
    for code in ["heat", "hydro", "sweep"] {
        let mut command = std::process::Command::new(example(code));
        let alone = run(command.arg(deck(code, "small")).env_remove("LD_LIBRARY_PATH")).succeeds();
        assert_eq!(answer(&alone), answer(&verified(code, &[], 1, "")), "{code}");
    }
}
