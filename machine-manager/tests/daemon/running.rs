//! Jobs, as their users see them.

use super::client::{Client, on_nodes, run, shell, wait_until_up};
use super::cluster::{BOUND, Cluster, PATIENT};
use super::node::{Node, Script, Seen};
use bcs_core::{JobId, Transport};
use bcs_protocol::node::{FromNode, OUTPUT_CREDIT, ToNode};
use bcs_protocol::storm::{Reply, Request, Wish};
use program_launcher::Verdict;
use program_launcher::control::Command;
use program_launcher::verdict::{Exit, RankName};
use std::time::Instant;

fn cluster_of(names: &[&str], script: &Script) -> (Cluster, Vec<Node>) {
    let cluster = Cluster::start(&names.join(","), PATIENT);
    let nodes = names.iter().map(|name| Node::join(&cluster, name, script.clone())).collect();
    wait_until_up(&cluster, names);
    (cluster, nodes)
}

#[test]
fn a_job_on_one_node_and_one_on_two_start_print_and_end() {
    let script = Script { prints: b"hello\n".to_vec(), ..Script::default() };
    let (cluster, nodes) = cluster_of(&["c01", "c02"], &script);
    let mut client = run(&cluster, 2, Wish::default());
    let (job, hosts) = client.accepted();
    assert_eq!((job, hosts.len()), (JobId(1), 1));
    let order = nodes[0].launch();
    assert_eq!(order.network, None);
    assert_eq!(order.user.uid, rustix::process::getuid().as_raw());
    assert_eq!(client.finish(), ("hello\n".into(), vec![], Verdict::Success));

    let mut client = run(&cluster, 4, on_nodes(2));
    let (job, hosts) = client.accepted();
    assert_eq!((job, hosts.len()), (JobId(2), 2));
    let orders = nodes.iter().map(Node::launch).collect::<Vec<_>>();
    assert_eq!(orders[0].common, orders[1].common);
    let networks: Vec<_> = orders.iter().map(|order| order.network.clone().unwrap()).collect();
    assert_eq!(networks[0].id, networks[1].id);
    assert_ne!(networks[0].credential, networks[1].credential);
    assert_eq!(client.finish(), ("hello\nhello\n".into(), vec![], Verdict::Success));
}

#[test]
fn a_job_that_cannot_be_placed_is_refused_and_nothing_is_started() {
    let (cluster, nodes) = cluster_of(&["c01", "c02"], &Script::default());
    for (ranks, wish, words) in
        [(2, on_nodes(3), "--nodes 3"), (3, Wish { ranks_per_node: Some(1), ..Wish::default() }, "--ppn 1")]
    {
        match run(&cluster, ranks, wish).reply() {
            Some(Reply::Refused { reason, status: 1 }) => assert!(reason.contains(words), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    for node in &nodes {
        assert!(!node.drain().iter().any(|seen| matches!(seen, Seen::Message(ToNode::Launch(_)))));
    }
}

#[test]
fn a_job_whose_network_seals_nothing_is_refused_where_the_network_is_not_trusted() {
    let (cluster, nodes) = cluster_of(&["c01", "c02"], &Script::default());
    let over = |choice: &str| {
        let mut submission = shell(2, "true", on_nodes(2));
        submission.job.transport = Some(choice.parse().unwrap());
        let mut client = Client::ask(&cluster, &Request::Run(Box::new(submission)));
        client.accepted();
        client.finish().2
    };
    for choice in ["ofi", "ofi:verbs"] {
        let verdict = over(choice);
        let message = verdict.message().unwrap_or_default();
        assert!(message.contains(&format!("{choice} seals nothing")), "{message}");
        assert!(message.contains("transport = \"auto\""), "{message}");
    }
    for node in &nodes {
        assert!(!node.drain().iter().any(|seen| matches!(seen, Seen::Message(ToNode::Launch(_)))));
    }
    // Neither node has a network card.
    assert_eq!(over("auto"), Verdict::Success);
    assert_eq!(nodes[0].launch().network.unwrap().transport, Transport::Tcp);
}

#[test]
fn the_first_failure_is_the_verdict_and_the_other_nodes_are_told_to_end() {
    let cluster = Cluster::start("c[01-02]", PATIENT);
    let rank = RankName { rank: 0, host: "c01".into(), program: None };
    let failed = Verdict::RankFailed { rank, exit: Exit::Code(3), output_gone: false };
    let _first = Node::join(&cluster, "c01", Script { ends: Some(failed.clone()), ..Script::default() });
    let second = Node::join(&cluster, "c02", Script { ends: None, ..Script::default() });
    wait_until_up(&cluster, &["c01", "c02"]);
    let mut client = run(&cluster, 2, on_nodes(2));
    client.accepted();
    assert_eq!(client.finish().2, failed);
    second.command(&Command::End);
    second.command(&Command::Finish);
}

#[test]
fn a_lost_node_ends_its_jobs_with_a_message_that_names_it() {
    let (cluster, mut nodes) = cluster_of(&["c01", "c02"], &Script { ends: None, ..Script::default() });
    let mut client = run(&cluster, 2, on_nodes(2));
    client.accepted();
    nodes[1].wait_for("go", |seen| matches!(seen, Seen::Go(_)).then_some(()));
    drop(nodes.pop());
    let verdict = client.finish().2;
    assert!(matches!(&verdict, Verdict::NodeLost { host, .. } if host == "c02"), "{verdict:?}");
    assert!(verdict.message().unwrap().starts_with("c02 was lost: the machine manager"));
    nodes[0].command(&Command::End);
    wait_until_up(&cluster, &["c01"]);
}

#[test]
fn a_silent_node_ends_its_jobs_with_a_message_that_names_it() {
    let cluster = Cluster::start("c[01-02]", 5);
    let script = Script { ends: None, ..Script::default() };
    let [_first, second] = ["c01", "c02"].map(|name| Node::join(&cluster, name, script.clone()));
    wait_until_up(&cluster, &["c01", "c02"]);
    let mut client = run(&cluster, 2, on_nodes(2));
    client.accepted();
    second.wait_for("go", |seen| matches!(seen, Seen::Go(_)).then_some(()));
    second.fall_silent();
    let message = client.finish().2.message().unwrap();
    assert!(message.starts_with("c02 was lost") && message.contains("does not answer since 0."), "{message}");
}

#[test]
fn when_storm_goes_its_job_is_ended() {
    let (cluster, nodes) = cluster_of(&["c01", "c02"], &Script { ends: None, ..Script::default() });
    let mut client = run(&cluster, 2, on_nodes(2));
    client.accepted();
    nodes[0].wait_for("go", |seen| matches!(seen, Seen::Go(_)).then_some(()));
    drop(client);
    for node in &nodes {
        node.command(&Command::End);
        node.command(&Command::Finish);
    }
}

#[test]
fn a_manager_that_is_told_to_end_ends_its_jobs_and_says_so() {
    let (mut cluster, nodes) = cluster_of(&["c01"], &Script { ends: None, ..Script::default() });
    let mut client = run(&cluster, 1, Wish::default());
    client.accepted();
    nodes[0].wait_for("go", |seen| matches!(seen, Seen::Go(_)).then_some(()));
    cluster.signal(libc::SIGTERM);
    let (_, remarks, verdict) = client.finish();
    assert_eq!(remarks, ["the machine manager is being shut down"]);
    assert!(matches!(verdict, Verdict::Interrupted { signal: libc::SIGTERM, .. }), "{verdict:?}");
    assert_eq!(cluster.wait(), Some(0));
}

#[test]
fn output_waits_at_the_node_until_it_is_written_and_a_node_that_sends_more_is_cut_off() {
    let (cluster, nodes) = cluster_of(&["c01"], &Script { ends: None, ..Script::default() });
    let mut client = run(&cluster, 1, Wish::default());
    let (job, _) = client.accepted();
    nodes[0].wait_for("go", |seen| matches!(seen, Seen::Go(_)).then_some(()));
    let chunk = |bytes: u32| FromNode::Output { job, is_error: false, bytes: vec![b'x'; bytes as usize] };
    nodes[0].say(chunk(OUTPUT_CREDIT));
    match client.reply() {
        Some(Reply::Output { node: 0, bytes, .. }) => assert_eq!(bytes.len(), OUTPUT_CREDIT as usize),
        other => panic!("{other:?}"),
    }
    client.say(&Request::OutputTaken { node: 0, bytes: OUTPUT_CREDIT });
    nodes[0].wait_for("credit", |seen| {
        (seen == Seen::Message(ToNode::OutputTaken { job, bytes: OUTPUT_CREDIT })).then_some(())
    });
    nodes[0].say(chunk(OUTPUT_CREDIT));
    nodes[0].say(chunk(1));
    nodes[0].wait_for_close();
    let message = client_verdict(&mut client);
    assert!(message.contains("sends more output than it may"), "{message}");
}

fn client_verdict(client: &mut Client) -> String {
    loop {
        match client.reply() {
            Some(Reply::Over(verdict)) => return verdict.message().unwrap_or_default(),
            Some(_) => {}
            None => panic!("no verdict"),
        }
    }
}

#[test]
fn input_goes_to_the_node_whose_rank_reads_it_and_the_user_hears_what_was_taken() {
    let (cluster, nodes) = cluster_of(&["c01", "c02"], &Script { ends: None, ..Script::default() });
    let mut client = run(&cluster, 2, on_nodes(2));
    let (job, hosts) = client.accepted();
    client.say(&Request::Input(b"numbers".to_vec()));
    let reader = &nodes[["c01", "c02"].iter().position(|name| *name == hosts[0]).unwrap()];
    reader.wait_for("input", |seen| {
        (seen == Seen::Message(ToNode::Input { job, bytes: b"numbers".to_vec() })).then_some(())
    });
    reader.say(FromNode::InputTaken { job, bytes: 7, closed: false });
    assert_eq!(client.reply(), Some(Reply::InputTaken { bytes: 7, closed: false }));
}

#[test]
fn a_user_sees_the_state_of_its_job_and_jobs_that_are_not_there_are_refused() {
    let (cluster, nodes) = cluster_of(&["c01"], &Script { ends: None, ..Script::default() });
    let mut client = run(&cluster, 1, Wish::default());
    let (job, _) = client.accepted();
    nodes[0].wait_for("go", |seen| matches!(seen, Seen::Go(_)).then_some(()));
    let until = Instant::now() + BOUND;
    let text = loop {
        // The node may know before the manager that the job runs.
        match Client::ask(&cluster, &Request::Status { job }).reply() {
            Some(Reply::Status(text)) if text.contains("is being launched") => {}
            Some(Reply::Status(text)) => break text,
            other => panic!("{other:?}"),
        }
        assert!(Instant::now() < until, "the job is not running in a minute");
    };
    assert!(text.starts_with("job 1 of "), "{text}");
    assert!(text.contains("1 rank on host c01, runs since"), "{text}");
    assert!(text.contains("2 receives without a message"), "{text}");
    match Client::ask(&cluster, &Request::Status { job: JobId(99) }).reply() {
        Some(Reply::Refused { reason, .. }) => assert!(reason.contains("no job 99"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_storm_that_does_not_keep_the_protocol_is_cut_off_and_its_job_is_ended() {
    let (cluster, nodes) = cluster_of(&["c01"], &Script { ends: None, ..Script::default() });
    for wrong in [Request::OutputTaken { node: 0, bytes: 1 }, Request::Nodes, Request::Forward(-1)] {
        let mut client = run(&cluster, 1, Wish::default());
        client.accepted();
        client.say(&wrong);
        while client.reply().is_some() {}
        nodes[0].command(&Command::End);
    }
}
