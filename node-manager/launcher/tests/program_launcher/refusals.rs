//! Jobs that are not started: nothing of them has run, and what is wrong is said once, with the host where
//! there are several.

use crate::managers::*;
use program_launcher::control::{Command, Notice};
use program_launcher::verdict::{STATUS_NOT_FOUND, STATUS_USAGE, Verdict};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process;

/// That a launcher says what is wrong, and ends.
#[track_caller]
fn refuses(node: &mut Node, expected: u8, words: &[&str]) {
    let Verdict::NotStarted { message, status } = node.over() else { panic!("another verdict") };
    assert_eq!(status, expected, "{message}");
    for word in words {
        assert!(message.contains(word), "no {word:?} in {message:?}");
    }
}

#[test]
fn program_that_one_node_lacks_is_named_with_the_node() {
    let description = job(vec![script(1, "true"), application(1, "no-such-program", &[])], &[0, 1]);
    let mut job = launch(&description);
    refuses(&mut job.nodes[1], STATUS_NOT_FOUND, &["on n1: ", "no-such-program"]);
    job.nodes[0].listening();
    job.nodes[0].tell(Command::End);
    assert_eq!(job.nodes[0].over(), Verdict::Interrupted { signal: libc::SIGTERM, status: 143 });

    let mut job = launch(&self::job(vec![application(1, "./missing", &[])], &[0]));
    refuses(&mut job.nodes[0], STATUS_NOT_FOUND, &["cannot run \"./missing\"", "/tmp"]);
}

#[test]
fn core_for_the_nic_that_a_node_does_not_have_is_refused_by_that_node() {
    let mut description = job(vec![script(2, "true")], &[0, 1]);
    // More than this test's machine has, and no more than the kernel counts.
    description.nic.core = Some(1023);
    let mut job = launch(&description);
    for (node, name) in job.nodes.iter_mut().zip(["on n0: ", "on n1: "]) {
        refuses(node, STATUS_USAGE, &[name, "--nic-core 1023", "may use cores 0"]);
    }
}

#[test]
fn directory_that_is_not_there_is_named_unless_no_rank_needs_it() {
    let nowhere = surroundings("/no/such/directory");
    let mut job = launch_in(&self::job(vec![script(1, "true")], &[0]), &nowhere);
    refuses(&mut job.nodes[0], STATUS_USAGE, &["/no/such/directory", "--wdir"]);
    let mut elsewhere = script(1, "pwd");
    elsewhere.working_directory = Some("/".into());
    let mut job = launch_in(&self::job(vec![elsewhere], &[0]), &nowhere);
    job.start();
    job.succeed();
    assert_eq!(job.nodes[0].stdout(), "/\n");
}

#[test]
fn end_before_go_starts_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("ran");
    for told in [Command::End, Command::Finish] {
        let text = format!("touch {}", mark.display());
        let mut job = launch(&self::job(vec![script(2, &text)], &[0, 1]));
        job.prepare();
        for node in &mut job.nodes {
            node.tell(told.clone());
            assert!(matches!(node.over(), Verdict::Interrupted { .. }));
        }
        job.assert_nothing_left();
        assert!(!mark.exists());
    }
}

#[test]
fn end_or_silence_while_the_links_come_up_ends_it_at_once() {
    for is_told in [true, false] {
        let mut job = launch(&self::job(vec![script(2, "true")], &[0, 1]));
        let members: Vec<_> = job
            .nodes
            .iter_mut()
            .enumerate()
            .map(|(number, node)| program_launcher::launch::Member {
                name: host(number),
                address: node.listening(),
            })
            .collect();
        // The other one never hears of the roster, and so does not answer.
        job.nodes[0].tell(Command::Roster(members));
        if is_told {
            job.nodes[0].tell(Command::End);
            assert!(matches!(job.nodes[0].over(), Verdict::Interrupted { .. }));
        } else {
            job.nodes[0].control = None;
            job.nodes[0].exit();
        }
    }
}

#[test]
fn node_that_does_not_answer_is_named() {
    let mut job = launch(&self::job(vec![script(2, "true")], &[0, 1]));
    let address = job.nodes[0].listening();
    job.nodes[1].listening();
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let members = vec![
        program_launcher::launch::Member { name: host(0), address },
        program_launcher::launch::Member { name: host(1), address: silent.local_addr().unwrap() },
    ];
    job.nodes[0].tell(Command::Roster(members));
    assert_eq!(job.nodes[0].unreachable().0, 1);
    refuses(&mut job.nodes[0], STATUS_USAGE, &["on n0: ", "cannot reach n1"]);
}

#[test]
fn member_without_a_credential_of_the_network_never_comes_up() {
    let description = self::job(vec![script(2, "true")], &[0, 1]);
    // Each launch has keys of its own: the second node of one and the first of another are strangers.
    let (mut job, mut other) = (launch(&description), launch(&description));
    let members = vec![
        program_launcher::launch::Member { name: host(0), address: job.nodes[0].listening() },
        program_launcher::launch::Member { name: host(1), address: other.nodes[1].listening() },
    ];
    job.nodes[0].tell(Command::Roster(members.clone()));
    other.nodes[1].tell(Command::Roster(members));
    assert_eq!(job.nodes[0].unreachable().0, 1);
    refuses(&mut job.nodes[0], STATUS_USAGE, &["cannot reach n1"]);
}

#[test]
fn job_that_cannot_be_is_refused_with_what_is_wrong() {
    let mut description = self::job(vec![script(2, "true")], &[0, 0]);
    description.applications[0].ranks = 3;
    let mut job = launch(&description);
    refuses(&mut job.nodes[0], STATUS_USAGE, &["2 ranks are placed"]);
    let mut job = launch(&self::job(vec![script(1, "true")], &[0]));
    job.nodes[0].prepared();
    job.nodes[0].tell(Command::Roster(vec![]));
    refuses(&mut job.nodes[0], STATUS_USAGE, &["Roster out of turn"]);
}

#[test]
fn garbage_on_the_control_socket_ends_the_launcher_and_nothing_else_happens() {
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[0; 64], b"\x04\0\0\0abcd"] {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let theirs: OwnedFd = theirs.into();
        let mut command = process::Command::new(LAUNCHER);
        let mut node = Node::start_with(&mut command, theirs.as_raw_fd(), None);
        drop(theirs);
        ours.write_all(garbage).unwrap();
        assert_eq!(node.exit().code(), Some(1), "{garbage:?}");
        assert!(node.stderr().contains("told it no job"));
    }
}

#[test]
fn garbage_in_mid_job_ends_the_job() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let theirs: OwnedFd = theirs.into();
    let mut raw = ours.try_clone().unwrap();
    let control = program_launcher::control::Channel::new(ours.into());
    let mut command = process::Command::new(LAUNCHER);
    let mut node = Node::start_with(&mut command, theirs.as_raw_fd(), Some(control));
    drop(theirs);
    let description = job(vec![script(1, "sleep 1000")], &[0]);
    node.tell(Command::Launch(Box::new(program_launcher::launch::Launch {
        job: description,
        node: bcs_core::NodeId(0),
        hosts: vec![host(0)],
        surroundings: surroundings("/"),
        network: None,
    })));
    node.prepared();
    node.tell(Command::Go);
    node.started();
    raw.write_all(&[0xff; 64]).unwrap();
    // It is as good as closed: what it still says is for nobody.
    while let Some(notice) = node.next() {
        assert!(matches!(notice, Notice::Failed(_) | Notice::RanksGone(_) | Notice::Over(_)), "{notice:?}");
    }
    node.exit();
}
