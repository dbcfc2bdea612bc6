//! The `node-manager` daemon against a machine manager that the tests play: what it promises to users and to
//! the manager.
#![allow(clippy::disallowed_methods, reason = "tests of real processes bound real time")]

mod hostile;
mod played;

use bcs_core::PortRange;
use bcs_core::{JobId, NodeId, Placement};
use bcs_fabric::{Comparison, Condition};
use bcs_harness::processes::{self, below, runs};
use bcs_protocol::commit;
use bcs_protocol::node::{FromNode, INPUT_CREDIT, OUTPUT_CREDIT, ToNode, User};
use nic_emu::priority::{self, Level};
use played::{Cluster, NOBODY, changed, is_in_range, is_root, order, play, until};
use program_launcher::control::{Command, Notice};
use program_launcher::launch::{JobNetwork, Member};
use program_launcher::verdict::Exit;
use program_launcher::{StdinTo, Verdict};
use std::fs;
use std::path::Path;

#[test]
fn job_runs_as_its_user_and_its_exit_code_comes_back() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        let mut order =
            order(1, "id -u; id -g; umask; pwd; echo $BCS_RANK of $BCS_SIZE > /dev/stderr; exit 7");
        if is_root() {
            order.user = User { uid: NOBODY, gid: NOBODY };
        }
        let order = changed(order, |common| common.surroundings.umask = 0o27);
        let User { uid, gid } = order.user;
        manager.run(order).await;
        let expected = format!("{uid}\n{gid}\n0027\n/\n");
        assert_eq!(String::from_utf8(manager.output(1, false, expected.len()).await).unwrap(), expected);
        assert_eq!(manager.output(1, true, 7).await, b"0 of 1\n");
        let verdict = manager.finished(1).await;
        assert!(matches!(verdict, Verdict::RankFailed { exit: Exit::Code(7), .. }), "{verdict:?}");
    });
}

#[test]
fn nothing_starts_before_the_launch_is_committed() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (daemon, mut manager) = cluster.joined().await;
        let mark = cluster.path("mark");
        let order = order(1, &format!("touch {}", mark.display()));
        let slot = order.slot;
        manager.send(ToNode::Launch(Box::new(order))).await;
        manager.prepared(1).await;
        // Another job's number in `go` starts nothing, nor does the manager's word alone.
        manager.tell(1, Command::Go).await;
        until("the node manager refuses that", || daemon.log().contains("only a node manager says")).await;
        assert!(!mark.exists() && daemon.log().matches("go job=").count() == 0);
        manager.commit(slot, 1).await;
        manager.started(1).await;
        assert_eq!(manager.finished(1).await, Verdict::Success);
        assert!(mark.exists());
    });
}

#[test]
fn output_arrives_byte_by_byte_and_no_more_is_under_way_than_its_credit() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        let count = 150_000;
        let script = format!("seq 1 {count}; echo done >&2; seq 1 9 >&2");
        manager.run(order(1, &script)).await;
        // Nothing is taken at first: only the credit comes.
        let mut output: Vec<u8> = Vec::new();
        while output.len() < OUTPUT_CREDIT as usize {
            let chunk = manager
                .next_that(|message| match message {
                    FromNode::Output { is_error: false, bytes, .. } => Some(bytes.clone()),
                    _ => None,
                })
                .await;
            output.extend(chunk);
        }
        assert_eq!(output.len(), OUTPUT_CREDIT as usize, "more than the credit");
        manager.send(ToNode::OutputTaken { job: JobId(1), bytes: OUTPUT_CREDIT }).await;
        let expected: String = (1..=count).map(|number| format!("{number}\n")).collect();
        let rest = expected.len() - output.len();
        output.extend(manager.output(1, false, rest).await);
        assert!(output == expected.as_bytes());
        assert_eq!(manager.output(1, true, 23).await, b"done\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
        assert_eq!(manager.finished(1).await, Verdict::Success);
    });
}

#[test]
fn output_of_a_job_that_has_ended_is_not_lost() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (daemon, mut manager) = cluster.joined().await;
        // What is more than the credit fits into the pipe, so that the rank can go.
        let bytes = OUTPUT_CREDIT as usize + 60_000;
        manager.run(order(1, &format!("head -c {bytes} /dev/zero"))).await;
        manager.notice(1, |notice| matches!(notice, Notice::RanksGone(_)).then_some(())).await;
        manager.tell(1, Command::Finish).await;
        until("launcher and rank are gone", || below(daemon.pid()).is_empty()).await;
        assert!(manager.output(1, false, bytes).await == vec![0; bytes]);
        assert_eq!(manager.verdict(1).await, Verdict::Success);
    });
}

#[test]
fn input_reaches_the_rank_and_its_end_too() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        manager.run(order(1, "cat; echo end")).await;
        let input: Vec<u8> = (0..1_000_000_u32).map(|number| (number % 251) as u8).collect();
        let (mut sent, mut taken, mut output) = (0, 0, Vec::new());
        while output.len() < input.len() {
            let may_send = (INPUT_CREDIT as usize - (sent - taken)).min(input.len() - sent).min(100_000);
            if may_send > 0 {
                let bytes = input[sent..sent + may_send].to_vec();
                manager.send(ToNode::Input { job: JobId(1), bytes }).await;
                sent += may_send;
            }
            match manager.next().await {
                FromNode::InputTaken { bytes, closed, .. } => {
                    assert!(!closed);
                    taken += bytes as usize;
                }
                FromNode::Output { is_error: false, bytes, .. } => {
                    let taken = bytes.len() as u32;
                    manager.send(ToNode::OutputTaken { job: JobId(1), bytes: taken }).await;
                    output.extend(bytes);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(output == input);
        manager.send(ToNode::Input { job: JobId(1), bytes: vec![] }).await;
        assert_eq!(manager.output(1, false, 4).await, b"end\n");
        assert_eq!(manager.finished(1).await, Verdict::Success);
    });
}

#[test]
fn rank_that_reads_no_input_is_said_to_have_closed_it() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        manager.run(order(1, "exec < /dev/null; echo closed; while :; do sleep 0.01; done")).await;
        manager.output(1, false, 7).await;
        manager
            .next_that(|message| matches!(message, FromNode::InputTaken { closed: true, .. }).then_some(()))
            .await;
        manager.send(ToNode::Input { job: JobId(1), bytes: vec![0; 1000] }).await;
        let taken = |message: &FromNode| match message {
            FromNode::InputTaken { bytes, closed: true, .. } => Some(*bytes),
            _ => None,
        };
        assert_eq!(manager.next_that(taken).await, 1000);
        manager.tell(1, Command::End).await;
        manager.finished(1).await;
    });
}

#[test]
fn signals_reach_the_ranks() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        let script = "trap 'echo caught; exit 3' USR1; echo ready; while :; do sleep 0.01; done";
        manager.run(order(1, script)).await;
        assert_eq!(manager.output(1, false, 6).await, b"ready\n");
        manager.tell(1, Command::Forward(libc::SIGUSR1)).await;
        assert_eq!(manager.output(1, false, 7).await, b"caught\n");
        let verdict = manager.finished(1).await;
        assert_eq!(verdict.status(), 3);
    });
}

#[test]
fn launcher_that_is_killed_is_reported_and_leaves_no_process() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (daemon, mut manager) = cluster.joined().await;
        // A rank, a process of its that has left its session and emptied its environment, and one of the
        // group.
        let script =
            "setsid env -i /bin/sh -c 'while :; do sleep 0.05; done' & sleep 1000 & echo ready; wait";
        manager.run(order(1, script)).await;
        assert_eq!(manager.output(1, false, 6).await, b"ready\n");
        let daemon_pid = daemon.pid();
        let mut all = vec![];
        until("all processes of the job run", || {
            all = below(daemon_pid);
            all.len() >= 4
        })
        .await;
        let launcher = all[0];
        processes::kill(launcher);
        let verdict = manager.verdict(1).await;
        let exit = Exit::Signal { signal: libc::SIGKILL, core_dumped: false };
        assert_eq!(verdict, Verdict::LauncherLost { pid: launcher as i32, host: "n1".into(), exit });
        assert_eq!(below(daemon_pid), [] as [u32; 0], "{all:?}");
        assert!(all.iter().all(|pid| !runs(*pid)));
    });
}

#[test]
fn jobs_end_when_the_manager_is_lost_and_the_node_joins_again() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (daemon, mut manager) = cluster.joined().await;
        // It does not go when it is asked to.
        let script = "trap '' TERM; echo ready; while :; do sleep 0.05; done";
        manager.run(order(1, script)).await;
        manager.output(1, false, 6).await;
        let of_job = below(daemon.pid());
        assert!(of_job.len() >= 2);
        drop(manager);
        let mut manager = cluster.welcome().await;
        assert_eq!(below(daemon.pid()), [] as [u32; 0]);
        assert!(of_job.iter().all(|pid| !runs(*pid)));
        manager.make_view(7).await;
        manager.run(order(1, "exit 0")).await;
        assert_eq!(manager.finished(1).await, Verdict::Success);
    });
}

#[test]
fn job_goes_on_through_a_change_of_view_and_a_prepared_one_is_shown_in_the_new_one() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        manager.run(order(1, "read line; echo got $line")).await;
        let waiting = order(2, "echo second");
        let slot = waiting.slot;
        manager.send(ToNode::Launch(Box::new(waiting))).await;
        manager.prepared(2).await;
        manager.make_view(2).await;
        manager.commit(slot, 2).await;
        manager.started(2).await;
        assert_eq!(manager.output(2, false, 7).await, b"second\n");
        manager.send(ToNode::Input { job: JobId(1), bytes: b"it\n".to_vec() }).await;
        assert_eq!(manager.output(1, false, 7).await, b"got it\n");
        assert_eq!(
            (manager.finished(1).await, manager.finished(2).await),
            (Verdict::Success, Verdict::Success)
        );
        manager.make_view(3).await;
        assert!(!manager.shows(slot, 2).await);
    });
}

#[test]
fn job_that_ends_before_its_commit_is_not_shown_as_prepared_any_more() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        let order = order(1, "exit 0");
        let slot = order.slot;
        manager.send(ToNode::Launch(Box::new(order))).await;
        manager.prepared(1).await;
        while !manager.shows(slot, 1).await {}
        manager.tell(1, Command::End).await;
        manager.verdict(1).await;
        while manager.shows(slot, 1).await {}
        let variable = commit::prepared(slot);
        assert!(manager.ask(Comparison { variable, condition: Condition::Equal, value: 0 }, None).await);
    });
}

#[test]
fn launchers_of_a_job_on_two_nodes_join_its_network_and_start_when_both_are_committed() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_first, one) = cluster.joined().await;
        let _second = cluster.start_with(|command| command.args(["--host", "n2"]));
        let mut two = cluster.welcome().await;
        two.make_view(2).await;
        let mut nodes = [one, two];
        let names = ["n1", "n2"];
        let credentials = bcs_credentials::mint("job 1", names).unwrap();
        let mut members = Vec::new();
        for (number, manager) in (0..).zip(&mut nodes) {
            let order = order(1, "echo $BCS_RANK; read line; echo $line");
            let mut order = changed(order, |common| {
                common.job.placement = Placement::by_rank(&[0, 1]).unwrap();
                common.job.applications[0].ranks = 2;
                common.job.stdin = StdinTo::All;
                common.hosts = names.map(str::to_owned).to_vec();
            });
            order.node = NodeId(number);
            let credential = credentials[number as usize].to_pem();
            let listen = [0; 4].into();
            let (ports, transport, seal) = (PortRange::ANY, bcs_core::Transport::Tcp, true);
            order.network = Some(JobNetwork { id: 77, credential, listen, ports, transport, seal });
            manager.send(ToNode::Launch(Box::new(order))).await;
            let address = manager
                .notice(1, |notice| match notice {
                    Notice::Listening(address) => Some(*address),
                    _ => None,
                })
                .await;
            assert!(address.ip().is_loopback() && is_in_range(manager.ports, address), "{address}");
            members.push(Member { name: manager.node.clone(), address });
        }
        for manager in &mut nodes {
            manager.tell(1, Command::Roster(members.clone())).await;
        }
        for manager in &mut nodes {
            manager.prepared(1).await;
        }
        for (number, manager) in nodes.iter_mut().enumerate() {
            manager.commit(1, 1).await;
            manager.started(1).await;
            assert_eq!(manager.output(1, false, 2).await, format!("{number}\n").as_bytes());
            manager.send(ToNode::Input { job: JobId(1), bytes: b"done\n".to_vec() }).await;
            assert_eq!(manager.output(1, false, 5).await, b"done\n");
        }
        for manager in &mut nodes {
            manager.notice(1, |notice| matches!(notice, Notice::RanksGone(_)).then_some(())).await;
        }
        for manager in &mut nodes {
            manager.tell(1, Command::Finish).await;
            assert_eq!(manager.verdict(1).await, Verdict::Success);
        }
    });
}

#[test]
fn two_jobs_run_at_once_and_one_that_is_not_read_holds_up_nothing() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        manager.run(order(1, "exec cat /dev/zero")).await;
        manager.run(order(2, "cat")).await;
        for _ in 0..20 {
            manager.send(ToNode::Input { job: JobId(2), bytes: b"ping\n".to_vec() }).await;
            assert_eq!(manager.output(2, false, 5).await, b"ping\n");
        }
        manager.send(ToNode::Input { job: JobId(2), bytes: vec![] }).await;
        assert_eq!(manager.finished(2).await, Verdict::Success);
        manager.tell(1, Command::End).await;
        manager.notice(1, |notice| matches!(notice, Notice::RanksGone(_)).then_some(())).await;
        manager.tell(1, Command::Finish).await;
        // What it has written before comes all the same, as it is taken.
        loop {
            match manager.next().await {
                FromNode::Output { job, bytes, .. } => {
                    manager.send(ToNode::OutputTaken { job, bytes: bytes.len() as u32 }).await;
                }
                FromNode::Launcher { job: JobId(1), notice: Notice::Over(_) } => break,
                _ => {}
            }
        }
    });
}

#[test]
fn sigterm_ends_the_jobs_says_goodbye_and_leaves_nothing() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (mut daemon, mut manager) = cluster.joined().await;
        manager.run(order(1, "echo ready; sleep 1000")).await;
        manager.output(1, false, 6).await;
        let of_job = below(daemon.pid());
        processes::signal(daemon.pid(), libc::SIGTERM);
        let failed = manager
            .notice(1, |notice| match notice {
                Notice::Failed(verdict) => Some(verdict.clone()),
                _ => None,
            })
            .await;
        assert_eq!(failed.status(), 143);
        // Nobody has to tell the launcher that it may go.
        manager.verdict(1).await;
        while manager.receive().await.is_some() {}
        assert!(daemon.ended().await.success(), "{}", daemon.log());
        assert!(of_job.iter().all(|pid| !runs(*pid)));
    });
}

/// The policies of a daemon's threads with that name.
fn policies(daemon: u32, thread: &str) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{daemon}/task")).unwrap().flatten();
    let named = tasks.filter(|task| {
        fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim_end() == thread)
    });
    let numbers = named.map(|task| task.file_name().to_str().unwrap().parse::<i32>().unwrap());
    // SAFETY: asks about a thread, and touches no memory of ours.
    numbers.map(|task| unsafe { libc::sched_getscheduler(task) } & !libc::SCHED_RESET_ON_FORK).collect()
}

#[test]
fn thread_of_the_control_network_alone_is_urgent_and_the_one_that_waits_for_processes_is_not() {
    let is_allowed = std::thread::spawn(|| priority::raise(Level::Daemon).is_ok()).join().unwrap();
    play(|| async {
        let cluster = Cluster::new().await;
        let (daemon, mut manager) = cluster.joined().await;
        manager.run(order(1, "exit 0")).await;
        assert_eq!(manager.finished(1).await, Verdict::Success);
        assert_eq!(policies(daemon.pid(), "node-manager"), [libc::SCHED_OTHER]);
        let urgent = if is_allowed { libc::SCHED_RR } else { libc::SCHED_OTHER };
        assert_eq!(policies(daemon.pid(), "control"), [urgent]);
    });
}

#[test]
fn sigterm_ends_a_daemon_that_has_no_manager() {
    play(|| async {
        let cluster = Cluster::new().await;
        let mut daemon = cluster.start();
        drop(cluster.listener);
        daemon.logs("tries again").await;
        processes::signal(daemon.pid(), libc::SIGTERM);
        assert!(daemon.ended().await.success(), "{}", daemon.log());
        assert!(daemon.log().matches("tries again").count() < 9);
    });
}

#[test]
fn killed_daemon_takes_its_jobs_with_it() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (daemon, mut manager) = cluster.joined().await;
        manager
            .run(order(1, "trap '' TERM; (setsid sleep 1000 &) ; echo ready; while :; do sleep 0.05; done"))
            .await;
        manager.output(1, false, 6).await;
        let of_job = below(daemon.pid());
        assert!(of_job.len() >= 3, "{of_job:?}");
        drop(daemon);
        until("no process of the job is left", || of_job.iter().all(|pid| !runs(*pid))).await;
    });
}

#[test]
fn manager_of_another_authority_or_name_gets_nothing() {
    play(|| async {
        let mut cluster = Cluster::new().await;
        let impostors = [
            bcs_credentials::mint("other", ["manager"]).unwrap().remove(0),
            cluster.authority.issue("n2").unwrap(),
        ];
        let daemon = cluster.start();
        for (attempt, impostor) in impostors.iter().enumerate() {
            cluster.pose_as(impostor);
            assert!(
                cluster.accept().await.is_err(),
                "the node manager has taken an impostor for the manager"
            );
            until("that is logged", || {
                daemon.log().matches("cannot be sure of the machine manager").count() > attempt
            })
            .await;
        }
    });
}

#[test]
fn node_of_another_authority_gets_nothing_and_says_so_once() {
    play(|| async {
        let cluster = Cluster::new().await;
        let key = cluster.path("keys/n1.pem");
        fs::remove_file(&key).unwrap();
        bcs_credentials::mint("other", ["n1"]).unwrap()[0].store(&key).unwrap();
        let daemon = cluster.start();
        for _ in 0..4 {
            assert!(cluster.accept().await.is_err());
        }
        let said = |level: &str| {
            let log = daemon.log();
            log.lines().filter(|line| line.contains("tries again") && line.contains(level)).count()
        };
        until("it has tried several times", || said("DEBUG") >= 2).await;
        assert_eq!(said("WARN"), 1, "{}", daemon.log());
    });
}

#[test]
fn launcher_that_talks_nonsense_ends_its_own_job_alone() {
    play(|| async {
        let cluster = Cluster::new().await;
        let mark = cluster.path("mark");
        let nonsense = "printf 'nonsense nonsense nonsense' >&3; exec sleep 1000";
        let real = cluster.path("bin/program-launcher");
        let text = format!("if [ -e {} ]; then {nonsense}; fi\nexec {}", mark.display(), real.display());
        let launcher = cluster.script("launcher", &text);
        let daemon = cluster.start_with(|command| command.env("BCS_LAUNCHER", &launcher));
        let mut manager = cluster.welcome().await;
        manager.make_view(1).await;
        manager.run(order(1, "cat")).await;
        fs::write(&mark, "").unwrap();
        manager.send(ToNode::Launch(Box::new(order(2, "exit 0")))).await;
        let remark = manager
            .notice(2, |notice| match notice {
                Notice::Remark(remark) => Some(remark.clone()),
                _ => None,
            })
            .await;
        assert!(remark.contains("n1 says what no launcher says (notice of a launcher of"), "{remark}");
        let verdict = manager.verdict(2).await;
        assert!(matches!(verdict, Verdict::LauncherLost { exit: Exit::Signal { .. }, .. }), "{verdict:?}");
        manager.send(ToNode::Input { job: JobId(1), bytes: b"still here\n".to_vec() }).await;
        assert_eq!(manager.output(1, false, 11).await, b"still here\n");
        manager.send(ToNode::Input { job: JobId(1), bytes: vec![] }).await;
        assert_eq!(manager.finished(1).await, Verdict::Success);
        assert_eq!(below(daemon.pid()), [] as [u32; 0]);
    });
}

#[test]
fn node_that_is_refused_says_why_and_tries_again() {
    play(|| async {
        let cluster = Cluster::new().await;
        let daemon = cluster.start();
        cluster.welcome().await.send(ToNode::Refused("it is to be repaired".into())).await;
        daemon.logs("refuses this node: it is to be repaired").await;
        cluster.welcome().await.make_view(1).await;
    });
}

#[test]
fn job_of_a_user_that_the_node_does_not_know_is_refused() {
    play(|| async {
        let cluster = Cluster::new().await;
        let (_daemon, mut manager) = cluster.joined().await;
        let mut order = order(1, "exit 0");
        order.user = User { uid: 4_000_000_017, gid: 1 };
        manager.send(ToNode::Launch(Box::new(order))).await;
        let Verdict::NotStarted { message, .. } = manager.verdict(1).await else { panic!("it was started") };
        let expected = if is_root() { "is not known on n1" } else { "run it as root" };
        assert!(message.contains("user 4000000017") && message.contains(expected), "{message}");
    });
}

#[test]
fn daemon_that_is_not_root_runs_jobs_of_its_own_user_alone() {
    if !is_root() {
        bcs_harness::skip("only root can start the daemon as somebody else");
        return;
    }
    play(|| async {
        use std::os::unix::fs::chown;
        use std::os::unix::process::CommandExt;
        let cluster = Cluster::new().await;
        for path in ["keys", "keys/n1.pem"] {
            chown(cluster.path(path), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let _daemon = cluster.start_with(|command| command.uid(NOBODY).gid(NOBODY));
        let mut manager = cluster.welcome().await;
        manager.make_view(1).await;
        manager.send(ToNode::Launch(Box::new(order(1, "exit 0")))).await;
        let Verdict::NotStarted { message, .. } = manager.verdict(1).await else { panic!("it was started") };
        assert!(
            message.contains("runs as user 65534 and cannot start a job of user 0; run it as root"),
            "{message}"
        );
        let mut own = order(2, "id -u");
        own.user = User { uid: NOBODY, gid: NOBODY };
        manager.run(own).await;
        assert_eq!(manager.output(2, false, 6).await, b"65534\n");
        assert_eq!(manager.finished(2).await, Verdict::Success);
    });
}

#[test]
fn configuration_or_credential_that_cannot_be_used_is_one_line_that_says_what_to_do() {
    play(|| async {
        let cluster = Cluster::new().await;
        let ends_with = async |daemon: &mut played::Daemon, words: &[&str]| {
            assert_eq!(daemon.ended().await.code(), Some(1));
            let log = daemon.log();
            assert!(log.lines().count() == 1 && words.iter().all(|word| log.contains(word)), "{log}");
        };
        let again = |path: &Path| drop(fs::remove_file(path));
        ends_with(
            &mut cluster.start_with(|command| command.args(["--host", "n9"])),
            &["n9 is no node of the cluster 'test'", "[[nodes]]"],
        )
        .await;
        let key = cluster.path("keys/n1.pem");
        again(&key);
        ends_with(&mut cluster.start(), &["cannot read credentials from", "n1.pem"]).await;
        cluster.authority.issue("n2").unwrap().store(&key).unwrap();
        ends_with(&mut cluster.start(), &["is the credential of 'n2', not of 'n1'"]).await;
        again(&cluster.path("bin/program-launcher"));
        again(&key);
        cluster.authority.issue("n1").unwrap().store(&key).unwrap();
        ends_with(&mut cluster.start(), &["no program launcher at", "libexec/bcs-mpi", "BCS_LAUNCHER"]).await;
        ends_with(
            &mut cluster.start_with(|command| command.args(["--config", "/nonexistent.toml"])),
            &["cannot read the configuration /nonexistent.toml"],
        )
        .await;
    });
}

#[test]
fn systemd_is_told_when_the_daemon_is_ready() {
    play(|| async {
        let cluster = Cluster::new().await;
        let path = cluster.path("notify");
        let socket = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let _daemon = cluster.start_with(|command| command.env("NOTIFY_SOCKET", &path));
        socket.set_read_timeout(Some(played::BOUND)).unwrap();
        let mut message = [0; 32];
        let length = socket.recv(&mut message).unwrap();
        assert_eq!(&message[..length], b"READY=1");
    });
}
