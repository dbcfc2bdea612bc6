//! What a user without rights can do to the node manager, and to other users' jobs, with processes of their
//! own.

use crate::played::{Cluster, Lease, NOBODY, Occupied, frame, is_root, order, play, until};
use bcs_core::JobId;
use bcs_harness::built;
use bcs_harness::processes::{self, below, runs};
use bcs_protocol::node::{FromNode, ToNode, User};
use program_launcher::Verdict;
use program_launcher::control::Notice;
use program_launcher::verdict::Exit;
use rustix::process::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;

#[test]
fn launcher_that_is_stopped_before_it_is_executed_holds_up_its_own_job_alone() {
    play(|| async {
        let cluster = Cluster::new().await;
        let launcher =
            cluster.script("launcher", &format!("exec {}", cluster.path("bin/program-launcher").display()));
        let daemon = cluster.start_with(|command| command.env("BCS_LAUNCHER", &launcher));
        let mut manager = cluster.welcome().await;
        manager.make_view(1).await;
        manager.run(order(1, "cat")).await;
        // Like a file system that does not answer: whoever executes the launcher waits until the lease is
        // given back.
        let lease = Lease::take(&launcher).await;
        let mut second = order(2, "exit 0");
        if is_root() {
            second.user = User { uid: NOBODY, gid: NOBODY };
        }
        manager.send(ToNode::Launch(Box::new(second))).await;
        let mut child = 0;
        until("the launcher is being executed", || {
            // Until then it is called like who has made it.
            let is_it = |pid: &u32| processes::name(*pid) == "node-manager";
            if !lease.is_wanted() {
                return false;
            }
            child = below(daemon.pid() as u32).into_iter().find(is_it).unwrap_or(0);
            child > 0
        })
        .await;
        // As its user could, whose process it is by then.
        processes::signal(child, libc::SIGSTOP);
        // Until then it is a copy of the node manager, keys and all, and for root alone to look into,
        // whatever fs.suid_dumpable is.
        assert_eq!(fs::metadata(format!("/proc/{child}/mem")).unwrap().uid(), geteuid().as_raw());
        // A lease that is given back before would let it go on until it is executed.
        until("it is stopped", || processes::state(child) == 'T').await;
        drop(lease);
        for _ in 0..3 {
            manager.send(ToNode::Input { job: JobId(1), bytes: b"still here\n".to_vec() }).await;
            assert_eq!(manager.output(1, false, 11).await, b"still here\n");
            assert!(!manager.shows(2, 2).await, "its control network goes on");
        }
        let Verdict::NotStarted { message, .. } = manager.verdict(2).await else { panic!("it was started") };
        assert!(
            message.starts_with("n1: cannot execute the program launcher") && message.contains("stopped"),
            "{message}"
        );
        assert!(!runs(child));
        manager.run(order(3, "exit 0")).await;
        assert_eq!(manager.finished(3).await, Verdict::Success);
        manager.send(ToNode::Input { job: JobId(1), bytes: vec![] }).await;
        assert_eq!(manager.finished(1).await, Verdict::Success);
    });
}

#[test]
fn processes_that_are_nested_deeper_than_can_be_looked_for_end_with_their_job() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (daemon, mut manager) = cluster.joined().await;
        if daemon.log().contains("no control group") {
            bcs_harness::skip(daemon.log());
            return;
        }
        let mut order =
            order(1, &format!("setsid {} 3000 15 & exec sleep 1000", built::program("nest").display()));
        if is_root() {
            order.user = User { uid: NOBODY, gid: NOBODY };
        }
        manager.run(order).await;
        manager.output(1, false, 6).await;
        let daemon = daemon.pid();
        processes::kill(below(daemon)[0]);
        let verdict = manager.verdict(1).await;
        assert!(matches!(verdict, Verdict::LauncherLost { exit: Exit::Signal { .. }, .. }), "{verdict:?}");
        assert_eq!(below(daemon).len(), 0, "processes are left when their job is said to be over");
    });
}

#[test]
fn ports_that_somebody_else_has_taken_keep_no_node_from_its_next_view() {
    play(|| async {
        let cluster = Cluster::with_ports("22000-22007").await;
        let (_daemon, mut manager) = cluster.joined().await;
        manager.run(order(1, "cat")).await;
        let occupied = Occupied::all(cluster.ports);
        assert!(occupied.count() > 0);
        for view in 2..5 {
            manager.make_view(view).await;
            manager.send(ToNode::Input { job: JobId(1), bytes: b"still here\n".to_vec() }).await;
            assert_eq!(manager.output(1, false, 11).await, b"still here\n");
        }
        drop(manager);
        let mut manager = cluster.welcome().await;
        manager.make_view(5).await;
        manager.run(order(2, "exit 0")).await;
        assert_eq!(manager.finished(2).await, Verdict::Success);
    });
}

#[test]
fn launcher_that_says_much_takes_little_memory_of_the_managers() {
    play(|| async {
        let cluster = Cluster::new().await;
        let said = cluster.path("said");
        let long = "\u{e4}".repeat(400_000);
        let notices = [
            Notice::Remark(long.clone()),
            Notice::Unreachable { node: 1, reason: long.clone() },
            Notice::Failed(Verdict::Stuck(long.clone())),
            Notice::Over(Verdict::NotStarted { message: long, status: 1 }),
        ];
        fs::write(&said, notices.iter().flat_map(frame).collect::<Vec<u8>>()).unwrap();
        let launcher = cluster.script("launcher", &format!("cat {} >&3; exec sleep 1000", said.display()));
        let _daemon = cluster.start_with(|command| command.env("BCS_LAUNCHER", &launcher));
        let mut manager = cluster.welcome().await;
        manager.make_view(1).await;
        manager.send(ToNode::Launch(Box::new(order(1, "exit 0")))).await;
        let mut kinds = 0;
        loop {
            let FromNode::Launcher { notice, .. } = manager.next().await else { continue };
            let text = match &notice {
                Notice::Remark(text) | Notice::Unreachable { reason: text, .. } => (text, 5_000),
                Notice::Failed(Verdict::Stuck(report)) => (report, 70_000),
                Notice::Over(Verdict::NotStarted { message, .. }) => (message, 70_000),
                other => panic!("{other:?}"),
            };
            kinds += 1;
            assert!(text.0.len() < text.1 && text.0.starts_with('\u{e4}'), "{} bytes", text.0.len());
            if matches!(notice, Notice::Over(_)) {
                break;
            }
        }
        assert_eq!(kinds, 4);
    });
}

#[test]
fn job_of_a_protected_node_manager_is_not_protected_when_memory_runs_out() {
    if !is_root() {
        bcs_harness::skip("only root may protect a process");
        return;
    }
    play(|| async {
        let cluster = Cluster::new().await;
        let daemon = cluster.start_with(|command| command);
        if fs::write(format!("/proc/{}/oom_score_adj", daemon.pid()), "-900").is_err() {
            bcs_harness::skip("only a process with CAP_SYS_RESOURCE may protect one");
            return;
        }
        let mut manager = cluster.welcome().await;
        manager.make_view(1).await;
        let mut order = order(
            1,
            "cat /proc/self/oom_score_adj; (echo -900 > /proc/self/oom_score_adj) 2> /dev/null || echo no",
        );
        order.user = User { uid: NOBODY, gid: NOBODY };
        manager.run(order).await;
        assert_eq!(String::from_utf8(manager.output(1, false, 5).await).unwrap(), "0\nno\n");
        assert_eq!(manager.finished(1).await, Verdict::Success);
    });
}
