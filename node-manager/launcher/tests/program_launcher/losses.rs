//! A node of the job is lost: the others say so, wait for the reason, and end by themselves when none comes.

use crate::managers::*;
use bcs_core::Transport;
use bcs_harness::{built, processes};
use program_launcher::control::Command;
use program_launcher::verdict::Verdict;
use std::{fs, thread};

fn three_nodes() -> Launched {
    let mut job = launch(&job(vec![nic_ranks(3, &["block"])], &[0, 1, 2]));
    job.start();
    job
}

#[test]
fn killed_launcher_is_unreachable_for_the_others_which_end_when_they_are_told() {
    let mut job = three_nodes();
    processes::kill(job.nodes[2].pid());
    for node in &mut job.nodes[..2] {
        assert_eq!(node.unreachable().0, 2);
        node.tell(Command::End);
        let verdict = node.ranks_gone();
        assert!(matches!(&verdict, Verdict::NodeLost { host, .. } if host == "n2"), "{verdict:?}");
    }
    job.nodes[..2].iter_mut().for_each(|node| node.tell(Command::Finish));
    for node in &mut job.nodes[..2] {
        assert!(matches!(node.over(), Verdict::NodeLost { .. }));
    }
    job.assert_nothing_left();
}

#[test]
fn lost_node_ends_the_ranks_of_the_others_though_nobody_tells_them_to() {
    let mut job = three_nodes();
    processes::kill(job.nodes[0].pid());
    for (number, node) in job.nodes.iter_mut().enumerate().skip(1) {
        assert_eq!(node.unreachable().0, 0);
        let verdict = node.failed();
        let message = verdict.message().unwrap();
        assert!(message.starts_with(&format!("n0 was lost: n{number} cannot reach it")), "{message}");
        assert_eq!((node.ranks_gone(), verdict.status()), (verdict, 125));
    }
    job.nodes.iter_mut().skip(1).for_each(|node| node.tell(Command::Finish));
    for node in job.nodes.iter_mut().skip(1) {
        node.over();
    }
    job.assert_nothing_left();
}

#[test]
fn stopped_launcher_is_told_of_and_its_job_goes_on_with_it() {
    thread::scope(|scope| {
        for transport in [Transport::Tcp, Transport::Quic] {
            scope.spawn(|| stop_and_go_on(transport));
        }
    });
}

fn stop_and_go_on(transport: Transport) {
    let directory = tempfile::tempdir().unwrap();
    // Ranks that talk when there is a file.
    let text = "until [ -e go ]; do sleep 0.1; done; exec \"$0\" ring 20";
    let ranks = application(3, "sh", &["-c", text, built::program("nic_rank").to_str().unwrap()]);
    let job = job(vec![ranks], &[0, 1, 2]);
    let mut job = launch_over(transport, &job, &surroundings(directory.path()));
    job.start();
    let stopped = job.nodes[1].pid();
    processes::signal(stopped, libc::SIGSTOP);
    job.nodes[0].remark("node n1 has not answered for 10 s, but its host is up");
    processes::signal(stopped, libc::SIGCONT);
    job.nodes[0].remark("node n1 answers again: the job goes on");
    fs::write(directory.path().join("go"), "").unwrap();
    job.succeed();
    assert_eq!(job.nodes[0].stdout(), format!("sum {}\n", 20 * (1 + 2)));
    let [first, stopped, last] = [0, 1, 2].map(|node| &job.nodes[node].remarks);
    assert_eq!(first.len(), 2, "a stop is told once, and the end of one: {first:?}");
    assert!(stopped.is_empty(), "{stopped:?}");
    // What another node says is said in the same words.
    assert!(last.iter().all(|remark| first.contains(remark)), "{last:?}");
}

#[test]
fn node_that_is_lost_before_the_ranks_start_is_named() {
    let mut job = launch(&job(vec![script(2, "true")], &[0, 1]));
    job.prepare();
    processes::kill(job.nodes[1].pid());
    assert_eq!(job.nodes[0].unreachable().0, 1);
    let Verdict::NotStarted { message, .. } = job.nodes[0].over() else { panic!("another verdict") };
    assert!(message.contains("on n0: cannot reach n1"), "{message}");
}
