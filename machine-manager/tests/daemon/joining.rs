//! Who is let in, and who is alive.

use super::client::{Client, nodes, wait_until, wait_until_up};
use super::cluster::{Cluster, PATIENT};
use super::node::{Node, Script, Seen};
use bcs_credentials::Authority;
use bcs_protocol::node::{FromNode, ToNode};
use bcs_protocol::storm::{NodeState, Reply, Request};

#[test]
fn nodes_join_leave_and_come_back_and_users_see_who_is_up() {
    let cluster = Cluster::start("c[01-03]", PATIENT);
    let rows = nodes(&cluster);
    assert_eq!(rows.iter().map(|row| row.host.as_str()).collect::<Vec<_>>(), ["c01", "c02", "c03"]);
    assert!(rows.iter().all(|row| matches!(row.state, NodeState::Down(_)) && row.memory == 0));

    let first = Node::join(&cluster, "c01", Script::default());
    let third = Node::join(&cluster, "c03", Script::default());
    wait_until_up(&cluster, &["c01", "c03"]);
    assert_eq!(nodes(&cluster)[0].memory, 1 << 30);
    first.wait_for("a welcome", |seen| {
        matches!(seen, Seen::Message(ToNode::Welcome { heartbeat_ms: 100, .. })).then_some(())
    });

    drop(third);
    wait_until_up(&cluster, &["c01"]);
    let NodeState::Down(reason) = nodes(&cluster)[2].state.clone() else { panic!("c03 is down") };
    assert!(reason.starts_with("has closed its connection") || reason.starts_with("is cut off"), "{reason}");

    let _second = Node::join(&cluster, "c02", Script::default());
    let _third = Node::join(&cluster, "c03", Script::default());
    wait_until_up(&cluster, &["c01", "c02", "c03"]);
}

#[test]
fn who_is_not_of_the_cluster_is_refused() {
    let cluster = Cluster::start("c[01-02]", PATIENT);
    let stranger = Node::join(&cluster, "c09", Script::default());
    assert!(stranger.refusal().contains("'c09' is not in the configuration"));
    stranger.wait_for_close();

    let foreign = Authority::new("other").unwrap().issue("c01").unwrap();
    Node::join_as(foreign, cluster.address, Script::default()).wait_for_close();

    let hello = FromNode::Hello { version: 99, release: "9.9".into(), cores: 1, memory: 1, card: None };
    let other = Node::join(&cluster, "c01", Script { hello, ..Script::default() });
    let reason = other.refusal();
    assert!(reason.contains("release 9.9 speaks version 99") && reason.contains("same release"), "{reason}");
    other.wait_for_close();

    let _first = Node::join(&cluster, "c01", Script::default());
    wait_until_up(&cluster, &["c01"]);
    let again = Node::join(&cluster, "c01", Script::default());
    assert!(again.refusal().contains("c01 is connected already"));
    again.wait_for_close();
    wait_until_up(&cluster, &["c01"]);
}

#[test]
fn a_node_that_falls_silent_is_found_dead_by_its_heartbeats_and_the_others_stay() {
    let cluster = Cluster::start("c[01-03]", 5);
    let [first, _second, _third] =
        ["c01", "c02", "c03"].map(|name| Node::join(&cluster, name, Script::default()));
    wait_until_up(&cluster, &["c01", "c02", "c03"]);
    first.fall_silent();
    wait_until(
        &cluster,
        "c01 is dead",
        |rows| matches!(&rows[0].state, NodeState::Down(reason) if reason.contains("does not answer since")),
    );
}

#[test]
fn what_is_no_message_closes_that_connection_and_nothing_else() {
    let cluster = Cluster::start("c01", PATIENT);
    let _node = Node::join(&cluster, "c01", Script::default());
    wait_until_up(&cluster, &["c01"]);
    let mut good = Client::connect(&cluster);
    for garbage in [&b"\xff\xff\xff\xff"[..], &[4, 0, 0, 0, 1, 2, 3, 4], &[0; 64]] {
        let mut bad = Client::connect(&cluster);
        bad.say_bytes(garbage);
        assert_eq!(bad.reply(), None);
    }
    let mut bad = Client::ask(&cluster, &Request::OutputTaken { node: 0, bytes: 1 });
    assert_eq!(bad.reply(), None);
    good.say(&Request::Nodes);
    assert!(matches!(good.reply(), Some(Reply::Nodes(_))));
    wait_until_up(&cluster, &["c01"]);
}

#[test]
fn a_directory_that_others_may_write_is_refused_and_the_lock_is_the_managers_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mut cluster = Cluster::start("c01", PATIENT);
    let run = cluster.socket().parent().unwrap().to_owned();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&run.join("manager.lock")), mode(&cluster.socket())), (0o600, 0o666));
    cluster.signal(libc::SIGTERM);
    assert_eq!(cluster.wait(), Some(0));
    std::fs::set_permissions(&run, PermissionsExt::from_mode(0o777)).unwrap();
    let refused = cluster.command().output().unwrap();
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && message.contains("writable by nobody else"), "{message}");
}

#[test]
fn a_second_manager_is_refused_and_one_that_was_killed_is_replaced() {
    let mut cluster = Cluster::start("c01", PATIENT);
    let second = cluster.command().output().unwrap();
    assert_eq!(second.status.code(), Some(1));
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(message.contains("another machine manager runs here"), "{message}");
    cluster.signal(libc::SIGKILL);
    assert_eq!(cluster.wait(), None);
    assert!(cluster.socket().exists());
    cluster.start_manager();
    assert_eq!(nodes(&cluster).len(), 1);
    cluster.signal(libc::SIGTERM);
    assert_eq!(cluster.wait(), Some(0));
    assert!(!cluster.socket().exists());
}
