//! Wrong input that is no single argument: messages that do not fit, and errors of a process without a
//! launcher. Arguments are in `wrong_arguments.rs`.

use bcs_core::{SliceLength, TypeCheck};
use bcs_harness::c_programs::compiled;
use bcs_harness::runs::run;
use nic_emu::host::CrossMemory;
use std::process::Command;
use std::time::Duration;
use test_programs::launcher::{Job, launch};

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
    let ended = run(Command::new(compiled("type_check")).arg("off").env(TypeCheck::VARIABLE, "most"));
    assert!(!ended.status.success());
    ended.says("BCS_CHECK_TYPES").says("most");
}

#[test]
fn an_algorithm_that_there_is_not_is_refused_with_those_that_there_are() {
    let ended = run(Command::new(compiled("type_check")).arg("off").env("BCS_COLLECTIVE", "allreduce=rings"));
    assert!(!ended.status.success());
    ended.says("'rings'").says("shares");
}

#[test]
fn a_singleton_tells_wrong_arguments_too() {
    let ended = run(Command::new(compiled("endings")).arg("fatal"));
    assert_eq!(ended.code(), 6, "{ended:?}");
    ended.says("rank 0: MPI_Send: argument 'dest' is 12");
}
