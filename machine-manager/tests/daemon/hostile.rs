//! Users who send what no `storm` does: they are refused, and nobody else notices.

use super::client::{Client, on_nodes, shell, wait_until_up};
use super::cluster::{Cluster, PATIENT};
use super::node::{Node, Script};
use machine_manager::protocol::{Reply, Request};
use node_manager::Verdict;
use std::time::Duration;

fn two_nodes() -> (Cluster, [Node; 2]) {
    let cluster = Cluster::start("c[01-02]", PATIENT);
    let nodes = ["c01", "c02"].map(|name| Node::join(&cluster, name, Script::default()));
    wait_until_up(&cluster, &["c01", "c02"]);
    (cluster, nodes)
}

/// A job of an honest user runs and ends.
fn others_are_served(cluster: &Cluster) {
    let mut client = super::client::run(cluster, 2, on_nodes(2));
    client.accepted();
    assert_eq!(client.finish().2, Verdict::Success);
}

#[test]
fn a_time_limit_that_no_clock_reaches_is_refused() {
    let (cluster, _nodes) = two_nodes();
    let mut submission = shell(2, "true", on_nodes(2));
    submission.job.timeout = Some(Duration::MAX);
    let mut hostile = Client::ask(&cluster, &Request::Run(Box::new(submission)));
    let reply = hostile.reply();
    while hostile.reply().is_some() {}
    others_are_served(&cluster);
    assert!(
        matches!(&reply, Some(Reply::Refused { reason, .. }) if reason.contains("time limit")),
        "{reply:?}"
    );
}
