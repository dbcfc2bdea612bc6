//! Users who send what no `storm` does: they are refused, and nobody else notices.

use super::client::{Client, on_nodes, shell, wait_until_up};
use super::cluster::{Cluster, PATIENT};
use super::node::{Node, Script};
use bcs_protocol::storm::{Reply, Request, Wish};
use program_launcher::Verdict;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

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

#[test]
fn a_request_that_is_too_long_is_refused_before_it_is_kept() {
    let cluster = Cluster::start_with("c01", PATIENT, "request_bytes = 65536");
    let mut submission = shell(1, "true", Wish::default());
    submission.surroundings.environment = vec![("A".into(), "x".repeat(100_000).into())];
    let mut hostile = Client::ask(&cluster, &Request::Run(Box::new(submission)));
    match hostile.reply() {
        Some(Reply::Refused { reason, .. }) => {
            assert!(reason.contains("too long") && reason.contains("65536"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
    // Nothing of it has come yet but how long it is.
    let mut hostile = Client::connect(&cluster);
    hostile.say_bytes(&(20_u32 << 20).to_le_bytes());
    assert!(matches!(hostile.reply(), Some(Reply::Refused { .. })));
}

#[test]
fn what_all_connections_of_a_user_send_together_is_bounded_and_comes_back_with_them() {
    let cluster =
        Cluster::start_with("c01", PATIENT, "request_bytes = 65536\nheld_bytes = 200000\nconnections = 8");
    let half = |_| {
        let mut client = Client::connect(&cluster);
        client.say_bytes(&60_000_u32.to_le_bytes());
        client
    };
    let mut held: Vec<Client> = (0..4).map(half).collect();
    // The last one of them to be looked at is refused; which one that is, nobody knows.
    let until = Instant::now() + Duration::from_secs(30);
    while !cluster.log().contains("more than 200000 bytes") {
        assert!(Instant::now() < until, "nobody is refused");
        std::thread::sleep(Duration::from_millis(5));
    }
    held.clear();
    while !matches!(Client::ask(&cluster, &Request::Nodes).reply(), Some(Reply::Nodes(_))) {
        assert!(Instant::now() < until, "nothing is given back");
    }
}

#[test]
fn a_user_whose_name_is_in_the_configuration_is_refused_from_the_next_connection_on() {
    let cluster = Cluster::start("c01", PATIENT);
    let ask = |user: &str| {
        let mut client = Client::connect_as(&cluster, user).unwrap();
        client.say(&Request::Nodes);
        client.reply()
    };
    assert!(matches!(ask("nobody"), Some(Reply::Nodes(_))));
    cluster.change_users("refused = [\"nobody\"]");
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match ask("nobody") {
            Some(Reply::Refused { reason, .. }) => {
                break assert!(reason.contains("user 'nobody' is refused"), "{reason}");
            }
            other => assert!(Instant::now() < until, "{other:?}"),
        }
    }
    assert!(matches!(ask("daemon"), Some(Reply::Nodes(_))));
}

/// What one user does as long as it may: each of these in a thread of its own.
fn attacks(cluster: &Cluster) -> [Box<dyn FnMut() + Send + '_>; 4] {
    let mut stopped = Vec::new();
    let mut half_sent = Vec::new();
    [
        // Requests that are long, and never whole.
        Box::new(move || {
            let Some(mut client) = Client::try_connect(cluster) else { return };
            client.say_bytes(&(4_u32 << 20).to_le_bytes());
            client.say_bytes(&vec![0xff; 1 << 20]);
            half_sent.push(client);
            if half_sent.len() > 100 {
                // And some that are whole, and nonsense.
                half_sent.drain(..50).for_each(|mut client: Client| client.say_bytes(&vec![0xff; 3 << 20]));
            }
        }),
        // Jobs whose launchers are stopped before they are prepared: each holds a slot until it is given up.
        Box::new(move || {
            let wish = Wish { hosts: super::client::host("c03"), ..Wish::default() };
            let mut submission = shell(1, "true", wish);
            submission.surroundings.environment = vec![("A".into(), "x".repeat(500_000).into())];
            let Some(mut client) = Client::try_connect(cluster) else { return };
            client.say(&Request::Run(Box::new(submission)));
            stopped.push(client);
            if stopped.len() > 200 {
                stopped.clear();
            }
        }),
        // Connections, and questions.
        Box::new(move || {
            let Some(mut client) = Client::try_connect(cluster) else { return };
            client.say(&Request::Nodes);
            client.reply();
        }),
        Box::new(move || {
            (0..300).map(|_| Client::try_connect(cluster)).for_each(drop);
        }),
    ]
}

/// Two users run jobs, and a third one does its worst. All nodes stay, and every job of the two ends as it
/// should.
fn a_flood_of_one_user_for(time: Duration) {
    // Two seconds without a heartbeat are a dead node.
    let cluster = Cluster::start("c[01-03]", 20);
    let names = ["c01", "c02", "c03"];
    let prepares = |name| name != "c03";
    let _nodes = names
        .map(|name| Node::join(&cluster, name, Script { prepares: prepares(name), ..Script::default() }));
    wait_until_up(&cluster, &names);
    let (is_over, served) = (AtomicBool::new(false), [const { AtomicU32::new(0) }; 2]);
    let (cluster, is_over) = (&cluster, &is_over);
    std::thread::scope(|scope| {
        for mut attack in attacks(cluster) {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    attack();
                }
            });
        }
        let users = ["nobody", "daemon"].into_iter().zip(&served).map(|(user, served)| {
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let wish = Wish { hosts: super::client::host("c01,c02"), ..on_nodes(2) };
                    let mut client = Client::connect_as(cluster, user).expect("a connection");
                    client.say(&Request::Run(Box::new(shell(2, "true", wish))));
                    client.accepted();
                    assert_eq!(client.finish().2, Verdict::Success, "a job of {user}");
                    served.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        let users: Vec<_> = users.collect();
        let until = Instant::now() + time;
        while Instant::now() < until && !users.iter().any(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::sleep(Duration::from_millis(50));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    println!("jobs of the others: {served:?}");
    assert!(served.iter().all(|jobs| jobs.load(Ordering::Relaxed) > 0), "{served:?}");
    assert!(!cluster.log().contains("lost: it"), "a node was lost");
    wait_until_up(cluster, &names);
}

#[test]
fn one_users_flood_leaves_the_jobs_of_others_and_the_heartbeats_alone() {
    a_flood_of_one_user_for(Duration::from_secs(10));
}

#[test]
#[ignore = "takes a minute"]
fn one_users_flood_for_a_minute_leaves_the_jobs_of_others_and_the_heartbeats_alone() {
    a_flood_of_one_user_for(Duration::from_secs(60));
}
