//! Wrong input that is no single argument: messages that do not fit, and errors of a process without a
//! launcher. Arguments are in `wrong_arguments.rs`.

use crate::launcher::{Job, launch};
use crate::programs::compiled;
use bcs_core::{SliceLength, TypeCheck};
use nic_emu::host::CrossMemory;
use std::time::Duration;

#[test]
fn every_kind_of_receive_tells_both_sizes_source_and_tag_of_what_does_not_fit() {
    crate::holds_with("truncation", &[2]);
}

#[test]
fn a_message_of_another_type_than_its_receive_is_told_where_types_are_compared() {
    let slice = SliceLength::Fixed(Duration::from_micros(200));
    for check in [TypeCheck::Off, TypeCheck::Kinds, TypeCheck::Strict] {
        let environment = vec![(TypeCheck::VARIABLE.to_owned(), check.to_string())];
        for job in
            [Job::of(2), Job { slice, ..Job::of(2) }, Job { cross_memory: CrossMemory::Off, ..Job::of(2) }]
        {
            let job = Job { environment: environment.clone(), ..job };
            let ended = launch(&job, &compiled("type_check"), &[check.to_string()]);
            assert!(ended.is_well(), "{check}: {ended:#?}");
        }
    }
}

#[test]
fn a_comparison_of_types_that_there_is_not_is_refused() {
    let mut program = std::process::Command::new(compiled("type_check"));
    let ended = program.arg("off").env(TypeCheck::VARIABLE, "most").output().expect("the program runs");
    assert!(!ended.status.success());
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(stderr.contains("BCS_CHECK_TYPES") && stderr.contains("most"), "{stderr}");
}

#[test]
fn an_algorithm_that_there_is_not_is_refused_with_those_that_there_are() {
    let mut program = std::process::Command::new(compiled("type_check"));
    let ended =
        program.arg("off").env("BCS_COLLECTIVE", "allreduce=rings").output().expect("the program runs");
    assert!(!ended.status.success());
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(stderr.contains("'rings'") && stderr.contains("shares"), "{stderr}");
}

#[test]
fn a_singleton_tells_wrong_arguments_too() {
    let ended =
        std::process::Command::new(compiled("endings")).arg("fatal").output().expect("the program runs");
    assert_eq!(ended.status.code(), Some(6));
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(stderr.contains("rank 0: MPI_Send: argument 'dest' is 12"), "{stderr}");
}
