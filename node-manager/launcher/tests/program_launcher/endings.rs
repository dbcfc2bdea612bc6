//! Jobs that fail on one node end on all of them, and the first failure is the verdict.

use crate::managers::*;
use program_launcher::control::Command;
use program_launcher::verdict::{Exit, Verdict};

const FOREVER: &str = "sleep 1000 & wait";

fn told_to_end() -> Verdict {
    Verdict::Interrupted { signal: libc::SIGTERM, status: 143 }
}

/// Ends what still runs, as a manager does when it has a verdict.
#[track_caller]
fn end(job: &mut Launched, failed: usize) {
    for (number, node) in job.nodes.iter_mut().enumerate().filter(|(number, _)| *number != failed) {
        node.tell(Command::End);
        assert_eq!(node.ranks_gone(), told_to_end(), "{number}: what ranks do then is no failure");
    }
    job.nodes.iter_mut().for_each(|node| node.tell(Command::Finish));
    for (number, node) in job.nodes.iter_mut().enumerate() {
        assert_eq!(node.over() == told_to_end(), number != failed);
    }
    job.assert_nothing_left();
}

#[test]
fn failure_on_one_node_ends_the_others() {
    let mut job = launch(&job(vec![script(2, FOREVER), script(1, "exit 7")], &[0, 1, 1]));
    job.start();
    let Verdict::RankFailed { rank, exit, .. } = job.nodes[1].failed() else { panic!("another verdict") };
    assert_eq!((rank.to_string(), exit), ("rank 2 (sh) on n1".into(), Exit::Code(7)));
    assert!(matches!(job.nodes[1].ranks_gone(), Verdict::RankFailed { .. }));
    end(&mut job, 1);
}

#[test]
fn abort_on_one_node_ends_ranks_that_wait_on_another() {
    let mut job = launch(&job(vec![nic_ranks(2, &["abort", "9", "no mesh"])], &[0, 1]));
    job.start();
    let verdict = job.nodes[1].failed();
    let Verdict::Aborted { rank, code, message } = verdict else { panic!("{verdict:?}") };
    assert_eq!((rank.host.as_str(), code, message.as_str()), ("n1", 9, "no mesh"));
    job.nodes[1].ranks_gone();
    end(&mut job, 1);
}

#[test]
fn rank_that_leaves_without_finalize_fails_though_it_is_the_last_of_its_node() {
    let mut job = launch(&job(vec![nic_ranks(2, &["leave"])], &[0, 1]));
    job.start();
    let verdict = job.nodes[0].failed();
    assert!(matches!(&verdict, Verdict::NotFinalized(rank) if rank.host == "n0"), "{verdict:?}");
    job.nodes[0].ranks_gone();
    end(&mut job, 0);
}

#[test]
fn rank_that_cannot_be_started_ends_the_job_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    // Found, and gone when it is to be started.
    let program = directory.path().join("program");
    std::fs::copy("/bin/true", &program).unwrap();
    let mut job = launch(&job(vec![script(1, FOREVER), application(1, &program, &[])], &[0, 1]));
    job.prepare();
    std::fs::remove_file(&program).unwrap();
    job.nodes.iter_mut().for_each(|node| node.tell(Command::Go));
    job.nodes[0].started();
    let Verdict::NotStarted { message, status } = job.nodes[1].failed() else { panic!("another verdict") };
    assert!(message.contains("cannot start rank 1") && message.contains("on n1"), "{message}");
    assert_eq!(status, 127);
    job.nodes[1].ranks_gone();
    end(&mut job, 1);
}

#[test]
fn ranks_that_will_not_go_are_killed_with_all_that_they_have_started() {
    let text = "trap '' TERM; (trap '' TERM; setsid sleep 1000) & sleep 1000 & wait; wait";
    let mut job = launch(&job(vec![script(2, text)], &[0, 0]));
    job.start();
    job.nodes[0].tell(Command::End);
    assert_eq!(job.nodes[0].ranks_gone(), told_to_end());
    // A launcher that was told to end does not wait for ever to be told that all is over.
    assert_eq!(job.nodes[0].over(), told_to_end());
    job.assert_nothing_left();
}

#[test]
fn closed_control_socket_leaves_no_process_on_that_node() {
    for nodes in [&[0, 0][..], &[0, 1]] {
        let mut job = launch(&job(vec![script(2, "trap '' TERM; sleep 1000 & wait; wait")], nodes));
        job.start();
        for node in &mut job.nodes {
            node.control = None;
        }
        for node in &mut job.nodes {
            node.exit();
        }
        job.assert_nothing_left();
    }
}
