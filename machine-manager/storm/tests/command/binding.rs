//! Binding of ranks to processors.

use crate::common::*;
use bcs_harness::runs::run;

#[test]
fn each_rank_runs_on_the_processors_that_are_reported_for_it() {
    let ended = run(&mut script(
        "-n 3 -l --bind-to core --report-bindings",
        "grep Cpus_allowed_list: /proc/self/status | tr -d '\\t'",
    ));
    assert_eq!(ended.code(), 0, "{ended:?}");
    for rank in 0..3 {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let start = format!("storm: rank {rank} on {host} is bound to core ");
        let told = ended.stderr.lines().find(|line| line.starts_with(&start)).expect("a line for each rank");
        let processors = told.split_once("(processors ").unwrap().1.trim_end_matches(')');
        let seen = format!("[{rank}] Cpus_allowed_list:{processors}");
        assert!(ended.stdout.lines().any(|line| line == seen), "{seen}: {}", ended.stdout);
    }
}

#[test]
fn ranks_run_wherever_the_launcher_may_if_nothing_is_asked_for() {
    let ended = run(&mut script(
        "-n 1 --report-bindings",
        "test \"$(grep Cpus_allowed_list: /proc/self/status)\" = \"$(grep Cpus_allowed_list: /proc/$PPID/status)\"",
    ));
    assert_eq!(ended.code(), 0, "{ended:?}");
    assert!(ended.stderr.contains("is not bound (processors "), "{ended:?}");
}

#[test]
fn a_unit_that_there_is_not_is_told_with_those_that_there_are() {
    run(&mut script("-n 1 --bind-to board", "true")).fails_with(1, &["--bind-to", "board", "l3cache"]);
}
