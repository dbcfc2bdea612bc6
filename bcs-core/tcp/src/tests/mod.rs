//! The conformance suite over loopback, all nodes driven by one thread; and links coming up and going down.
//!
//! | file | holds |
//! |---|---|
//! | `handshakes` | who gets a link, and that no byte is lost between TLS and frames |
//! | `intruders` | ends that may not be on the network |
//! | `damage` | bytes that are no messages |

mod damage;
mod handshakes;
mod intruders;

use super::*;
use bcs_core::SparseMemory;
use bcs_credentials as credentials;
use bcs_credentials::Credential;
use bcs_fabric::Fabric;
use bcs_fabric::conformance::{self, Cluster, EVENTS, MEMORY_BYTES, TestBed};
use bcs_quic::{MappedMemory, map_memory};

/// A fabric as the program launcher has it.
type MappedFabric = TcpFabric<MappedMemory>;

const PATIENCE: Duration = Duration::from_secs(60);

/// Options for tests: a machine that is busy with other things must not look like one that is dead.
fn options(network: u128, credential: Credential) -> TcpOptions {
    TcpOptions {
        keep_alive: Duration::from_secs(2),
        idle_timeout: PATIENCE,
        connect_timeout: PATIENCE,
        fanout: 2,
        ..TcpOptions::new(NetworkId(network), credential, [127, 0, 0, 1].into())
    }
}

fn names(nodes: u32) -> Vec<String> {
    (0..nodes).map(|node| format!("node-{node}")).collect()
}

const NETWORK: u128 = 7;

/// Fabrics of one network in this process.
fn start(nodes: u32, adapt: impl Fn(&mut TcpOptions)) -> Vec<MappedFabric> {
    let names = names(nodes);
    let credentials = credentials::mint("test", names.iter().map(String::as_str)).unwrap();
    start_with(credentials, adapt, |addresses| addresses.to_vec())
}

/// Fabrics that find each other at other addresses than their own, as somebody between them wants it.
fn start_with(
    credentials: Vec<Credential>,
    adapt: impl Fn(&mut TcpOptions),
    seen_at: impl FnOnce(&[SocketAddr]) -> Vec<SocketAddr>,
) -> Vec<MappedFabric> {
    let names: Vec<String> = credentials.iter().map(Credential::name).collect();
    let bind = |credential| {
        let mut options = options(NETWORK, credential);
        adapt(&mut options);
        TcpPort::bind(options).unwrap()
    };
    let ports: Vec<TcpPort> = credentials.into_iter().map(bind).collect();
    let addresses: Vec<SocketAddr> = ports.iter().map(TcpPort::local_address).collect();
    let members = names.into_iter().zip(seen_at(&addresses));
    let roster: Vec<Member> = members.map(|(name, address)| Member { name, address }).collect();
    let memory = || map_memory(MEMORY_BYTES).unwrap();
    let join = |port: TcpPort| port.connect(roster.clone(), memory(), EventTable::new(EVENTS)).unwrap();
    ports.into_iter().map(join).collect()
}

/// A cluster whose nodes are driven one after another. Nodes that were killed are not driven any more: to the
/// others, they have fallen silent.
struct TcpCluster {
    ports: Vec<MappedFabric>,
    dead: NodeSet,
    /// Who still has to be told of which death: one of them in each step.
    untold: Vec<(NodeId, NodeId)>,
    random: fastrand::Rng,
}

impl TcpCluster {
    fn is_quiet(&self) -> bool {
        let living = NodeSet::all(self.ports.len() as u32).difference(&self.dead);
        let quiet = |from: NodeId, to: NodeId| {
            let (sender, receiver) = (&self.ports[from.index()], &self.ports[to.index()]);
            let sent = sender.links[to.index()].statistics.sent;
            let has_arrived = sent == receiver.links[from.index()].statistics.received;
            // Who is held for dead gets to know it.
            sender.tree.is_cut_off()
                || sender.dead().contains(to)
                || (has_arrived && !receiver.dead().contains(from))
        };
        let comes_up = |node: NodeId| {
            let links = &self.ports[node.index()].links;
            links
                .iter()
                .any(|link| !link.is_up() && !link.is_over() && !matches!(link.state, LinkState::Idle))
        };
        self.untold.is_empty()
            && !living.iter().any(comes_up)
            && living.iter().all(|from| living.iter().all(|to| from == to || quiet(from, to)))
    }
}

impl Cluster for TcpCluster {
    type Port = MappedFabric;

    fn port(&mut self, node: NodeId) -> &mut MappedFabric {
        &mut self.ports[node.index()]
    }

    /// Drives one node.
    fn step(&mut self) -> bool {
        let is_quiet = self.is_quiet();
        if !self.untold.is_empty() && self.random.bool() {
            let (to, dead) = self.untold.swap_remove(self.random.usize(..self.untold.len()));
            self.ports[to.index()].declare_dead(dead).unwrap();
        }
        let node = NodeId(self.random.u32(..self.ports.len() as u32));
        if !self.dead.contains(node) {
            self.ports[node.index()].progress().unwrap();
        }
        !is_quiet
    }

    fn kill(&mut self, node: NodeId) {
        if self.dead.insert(node) {
            self.untold.retain(|(to, _)| *to != node);
            let living = NodeSet::all(self.ports.len() as u32).difference(&self.dead);
            self.untold.extend(living.iter().map(|survivor| (survivor, node)));
        }
    }
}

struct TcpBed {
    name: &'static str,
    seal: bool,
    ring_bytes: usize,
}

impl TestBed for TcpBed {
    type Cluster = TcpCluster;

    fn start(&self, nodes: u32, seed: u64) -> Option<TcpCluster> {
        (nodes <= 16).then(|| TcpCluster {
            ports: start(nodes, |options| (options.seal, options.ring_bytes) = (self.seal, self.ring_bytes)),
            dead: NodeSet::new(),
            untold: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
        })
    }

    fn command(&self) -> String {
        format!("cargo test -p bcs-tcp tests::{}", self.name)
    }
}

#[test]
fn tcp_keeps_every_promise() {
    conformance::run(&TcpBed { name: "tcp_keeps_every_promise", seal: true, ring_bytes: 256 << 10 }, 0..1);
}

#[test]
fn plain_tcp_with_small_rings_keeps_every_promise() {
    let name = "plain_tcp_with_small_rings_keeps_every_promise";
    conformance::run(&TcpBed { name, seal: false, ring_bytes: 8 << 10 }, 0..1);
}

#[test]
fn tcp_carries_records() {
    let name = "tcp_carries_records";
    conformance::run_roads(&TcpBed { name, seal: true, ring_bytes: 256 << 10 }, 0..2);
    conformance::run_roads(&TcpBed { name, seal: false, ring_bytes: 16 << 10 }, 2..4);
}

/// Drives all until something holds.
fn drive_until(ports: &mut [MappedFabric], what: &str, mut done: impl FnMut(&mut [MappedFabric]) -> bool) {
    let until = driver::now() + PATIENCE;
    while !done(ports) {
        assert!(driver::now() < until, "not in a minute: {what}");
        for port in ports.iter_mut() {
            port.progress().unwrap();
        }
    }
}

/// Every node puts to all, and everything arrives everywhere.
fn all_reach_all(ports: &mut [MappedFabric]) {
    let nodes: NodeSet = ports.iter().map(|port| port.node()).collect();
    for port in ports.iter_mut() {
        let data = Source::Bytes(b"alive");
        port.xfer_and_signal(data, &nodes, GlobalAddress(0), Some(EventId(0)), Some(EventId(1))).unwrap();
    }
    let all = ports.len() as u32;
    let mut seen = vec![(0, 0); ports.len()];
    drive_until(ports, "all puts have arrived and are complete", |ports| {
        for (port, seen) in ports.iter_mut().zip(&mut seen) {
            seen.0 += port.test_event(EventId(0)).unwrap();
            seen.1 += port.test_event(EventId(1)).unwrap();
        }
        seen.iter().all(|seen| *seen == (1, all))
    });
}

#[test]
fn all_links_come_up_on_request_and_whoever_dials_first_there_is_one_between_two_nodes() {
    let mut ports = start(5, |_| {});
    // Both ends of every link dial at once.
    for port in &mut ports {
        let own = port.node();
        for node in (0..5).map(NodeId).filter(|node| *node != own) {
            port.dial_idle(node);
        }
    }
    drive_until(&mut ports, "all links are up", |ports| {
        ports.iter().all(|port| port.unconnected().is_empty())
    });
    all_reach_all(&mut ports);
    assert!(ports.iter().all(|port| port.dead().is_empty()));
}

#[test]
fn a_node_that_leaves_in_order_is_not_dead_unless_it_is_needed_again() {
    let mut ports = start(3, |_| {});
    ports.iter_mut().for_each(MappedFabric::begin_connect_all);
    all_reach_all(&mut ports);
    // What was sent last arrives before the link ends: more than one datagram of it.
    let data = vec![0xa5; 100_000];
    let mut leaver = ports.pop().unwrap();
    let to = NodeSet::single(NodeId(0));
    leaver.xfer_and_signal(Source::Bytes(&data), &to, GlobalAddress(64), None, Some(EventId(2))).unwrap();
    let left = std::thread::scope(|scope| {
        let leaving = scope.spawn(|| leaver.shutdown(PATIENCE));
        drive_until(&mut ports, "the other node has left", |ports| {
            ports.iter().all(|port| matches!(port.links[2].state, LinkState::Departed))
        });
        leaving.join().unwrap()
    });
    assert_eq!(left, Ok(()));
    assert_eq!(ports[0].test_event(EventId(2)), Ok(1));
    let mut found = vec![0; data.len()];
    ports[0].read(GlobalAddress(64), &mut found).unwrap();
    assert!(found == data);
    let refused = leaver.xfer_and_signal(Source::Bytes(b"x"), &to, GlobalAddress(0), None, None);
    assert!(matches!(refused, Err(FabricError::SelfDead { .. })));
    all_reach_all(&mut ports);
    assert!(ports.iter().all(|port| port.dead().is_empty()));
    // An operation that includes it fails, and then all know.
    let all = NodeSet::all(3);
    ports[1].xfer_and_signal(Source::Bytes(b"x"), &all, GlobalAddress(0), Some(EventId(3)), None).unwrap();
    let gone = NodeSet::single(NodeId(2));
    drive_until(&mut ports, "all know of the death", |ports| ports.iter().all(|port| port.dead() == gone));
    let failed = ports[1].test_event(EventId(3));
    assert!(matches!(failed, Err(FabricError::NodeDead { node: NodeId(2), .. })), "{failed:?}");
    assert!(ports[1].broken_link(NodeId(2)).unwrap().contains("still needed"));
}

#[test]
fn a_node_that_falls_silent_is_found_dead_and_one_that_is_dropped_at_once() {
    let mut ports = start(4, |_| {});
    ports.iter_mut().for_each(MappedFabric::begin_connect_all);
    drive_until(&mut ports, "all links are up", |ports| {
        ports.iter().all(|port| port.unconnected().is_empty())
    });
    all_reach_all(&mut ports);
    // Its drop tells the others, which need not wait for the timeout.
    drop(ports.pop());
    let dropped = NodeSet::single(NodeId(3));
    drive_until(&mut ports, "the drop is known", |ports| ports.iter().all(|port| port.dead() == dropped));
    assert!(ports[0].broken_link(NodeId(3)).unwrap().contains("takes no further part"));
    // Not driven any more, and not told to close either.
    let silent = ports.pop().unwrap();
    let all = NodeSet::all(3);
    ports[0].xfer_and_signal(Source::Bytes(b"x"), &all, GlobalAddress(0), Some(EventId(2)), None).unwrap();
    let both: NodeSet = [NodeId(2), NodeId(3)].into_iter().collect();
    // Virtual seconds: the others show each other that they live, and the timeout is not waited for in this
    // world.
    let mut seconds = 0;
    while ports.iter().any(|port| port.dead() != both) {
        seconds += 1;
        assert!(seconds < 2 * PATIENCE.as_secs(), "the silence is not noticed");
        driver::AHEAD.set(Duration::from_secs(seconds));
        for _ in 0..20 {
            ports.iter_mut().for_each(|port| port.progress().unwrap());
        }
        assert!(seconds > PATIENCE.as_secs() / 2 || ports[0].dead() == dropped, "too early");
    }
    let failed = ports[0].test_event(EventId(2));
    assert!(matches!(failed, Err(FabricError::NodeDead { node: NodeId(2), .. })), "{failed:?}");
    all_reach_all(&mut ports);
    drop(silent);
}

#[test]
fn a_node_whose_host_answers_is_not_lost_however_long_it_is_not_driven() {
    let mut ports = start(2, |options| options.silence = Silence::Host);
    all_reach_all(&mut ports);
    let mut stopped = ports.pop().unwrap();
    let put = |port: &mut MappedFabric, to: u32| {
        let (data, to) = (Source::Bytes(b"word"), NodeSet::single(NodeId(to)));
        port.xfer_and_signal(data, &to, GlobalAddress(0), None, Some(EventId(2))).unwrap();
    };
    put(&mut ports[0], 1);
    for seconds in 1..10 * PATIENCE.as_secs() {
        driver::AHEAD.set(Duration::from_secs(seconds));
        ports[0].progress().unwrap();
        assert!(ports[0].dead().is_empty(), "{seconds} s: {:?}", ports[0].broken_link(NodeId(1)));
        assert!(ports[0].stopped().is_empty() || seconds >= PATIENCE.as_secs(), "{seconds} s: too early");
    }
    assert_eq!(ports[0].stopped(), NodeSet::single(NodeId(1)));
    // It goes on, and hears what was said meanwhile.
    put(&mut stopped, 0);
    ports.push(stopped);
    drive_until(&mut ports, "both words", |ports| {
        ports.iter_mut().all(|port| port.dead().is_empty() && port.test_event(EventId(2)).unwrap() >= 1)
    });
    driver::AHEAD.set(driver::AHEAD.get() + PATIENCE / 4);
    drive_until(&mut ports, "word that it goes on", |ports| ports[0].stopped().is_empty());
}

#[test]
fn a_node_that_is_driven_is_heard_of_and_one_that_is_not_is_not() {
    let mut ports = start(3, |options| options.keep_alive = Duration::from_millis(1));
    ports.iter_mut().for_each(MappedFabric::begin_connect_all);
    drive_until(&mut ports, "links", |ports| ports.iter().all(|port| port.unconnected().is_empty()));
    // Node 2 falls silent; what it has said before is heard first.
    let mut silent = ports.pop().unwrap();
    let before = ports[0].frames_from(NodeId(1));
    drive_until(&mut ports, "word of node 1", |ports| ports[0].frames_from(NodeId(1)) > before);
    let before = [1, 2].map(|node| ports[0].frames_from(NodeId(node)));
    drive_until(&mut ports, "word of node 1", |ports| ports[0].frames_from(NodeId(1)) > before[0] + 10);
    assert_eq!(ports[0].frames_from(NodeId(2)), before[1]);
    assert_eq!(ports[0].frames_from(NodeId(7)), 0);
    silent.progress().unwrap();
}

#[test]
fn the_receipt_of_a_put_travels_with_what_follows_or_by_itself_when_it_is_due() {
    let patience = PATIENCE / 10;
    let mut ports = start(2, |options| options.receipt_patience = patience);
    all_reach_all(&mut ports);
    let put = |port: &mut MappedFabric, to, local_event, remote_event| {
        let (data, to) = (Source::Bytes(b"word"), NodeSet::single(NodeId(to)));
        port.xfer_and_signal(data, &to, GlobalAddress(8), local_event, Some(remote_event)).unwrap();
    };
    let arrives = |ports: &mut [MappedFabric], at: usize, event| {
        drive_until(ports, "an event", |ports| ports[at].test_event(event).unwrap() == 1);
    };
    let is_owed = |ports: &[MappedFabric]| !ports[1].links[0].outbox.is_clear();
    // Nobody waits for it: it waits, and goes with the next message.
    put(&mut ports[0], 1, None, EventId(2));
    arrives(&mut ports, 1, EventId(2));
    ports.iter_mut().for_each(|port| port.progress().unwrap());
    assert!(is_owed(&ports));
    put(&mut ports[1], 0, None, EventId(2));
    arrives(&mut ports, 0, EventId(2));
    assert!(!is_owed(&ports));
    // Nothing follows: it goes when it is due, and the port says when that is.
    put(&mut ports[0], 1, None, EventId(2));
    arrives(&mut ports, 1, EventId(2));
    assert!(is_owed(&ports) && ports[1].timeout().is_some_and(|timeout| timeout <= patience));
    driver::AHEAD.set(patience);
    drive_until(&mut ports, "the receipt", |ports| !is_owed(ports));
    // Somebody waits: it goes at once.
    put(&mut ports[0], 1, Some(EventId(3)), EventId(2));
    arrives(&mut ports, 0, EventId(3));
    assert!(!is_owed(&ports));
}

#[test]
fn receipts_that_may_wait_hold_up_no_operation_on_several_nodes_and_are_never_many() {
    // They would wait for longer than this test.
    let mut ports = start(3, |options| options.receipt_patience = 2 * PATIENCE);
    all_reach_all(&mut ports);
    let put = |port: &mut MappedFabric, to: &NodeSet, local_event| {
        port.xfer_and_signal(Source::Bytes(b"word"), to, GlobalAddress(8), local_event, None).unwrap();
    };
    let others: NodeSet = [NodeId(1), NodeId(2)].into_iter().collect();
    put(&mut ports[0], &NodeSet::single(NodeId(1)), None);
    put(&mut ports[0], &others, Some(EventId(3)));
    drive_until(&mut ports, "the transfer to both", |ports| ports[0].test_event(EventId(3)).unwrap() == 1);
    // A node whose receipts have not come is refused more at some time.
    for _ in 0..3 * bcs_fabric::tree::OPERATIONS_LIMIT {
        put(&mut ports[0], &NodeSet::single(NodeId(1)), None);
        ports.iter_mut().for_each(|port| port.progress().unwrap());
    }
}

#[test]
fn what_waits_to_be_sent_is_bounded_and_busy_passes() {
    let mut ports = start(2, |options| options.queue_bytes = 1 << 20);
    let data = vec![7; 300_000];
    let other = NodeSet::single(NodeId(1));
    let put = |port: &mut MappedFabric| {
        port.xfer_and_signal(Source::Bytes(&data), &other, GlobalAddress(0), Some(EventId(0)), None)
    };
    let accepted = std::iter::repeat_with(|| put(&mut ports[0])).take_while(Result::is_ok).count() as u32;
    assert_eq!(accepted, (1 << 20) / 300_000 + 1);
    assert!(matches!(put(&mut ports[0]), Err(FabricError::Busy { unit: "bytes to send", .. })));
    let mut complete = 0;
    drive_until(&mut ports, "all that was accepted is complete", |ports| {
        complete += ports[0].test_event(EventId(0)).unwrap();
        complete == accepted
    });
    assert_eq!(put(&mut ports[0]), Ok(()));
}

#[test]
fn rosters_and_options_that_cannot_be_are_refused() {
    let authority = credentials::Authority::new("test").unwrap();
    let credential = authority.issue("node-0").unwrap();
    let bind = |adapt: &dyn Fn(&mut TcpOptions)| {
        let mut options = options(NETWORK, credential.clone());
        adapt(&mut options);
        TcpPort::bind(options)
    };
    let refused = |adapt: &dyn Fn(&mut TcpOptions)| match bind(adapt) {
        Err(BindError::Option { option, .. }) => option,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&|options| options.idle_timeout = Duration::ZERO), "idle_timeout");
    assert_eq!(refused(&|options| options.keep_alive = PATIENCE), "keep_alive");
    assert_eq!(refused(&|options| options.ring_bytes = 100_000), "ring_bytes");
    let port = bind(&|_| {}).unwrap();
    let taken = port.local_address();
    let elsewhere = [192, 0, 2, 1].into();
    assert!(matches!(bind(&|options| options.listen = elsewhere), Err(BindError::Socket { .. })));
    let roster = |names: &[&str]| {
        names.iter().map(|name| Member { name: (*name).into(), address: taken }).collect::<Vec<_>>()
    };
    let join = |names: &[&str]| {
        let memory = SparseMemory::new(64);
        bind(&|_| {}).unwrap().connect(roster(names), memory, EventTable::new(1)).unwrap_err()
    };
    let twice = join(&["node-0", "b", "Node-0"]);
    assert!(matches!(twice, JoinError::Roster(RosterError::Duplicate { second: NodeId(2), .. })), "{twice}");
    assert!(matches!(join(&["a", "b"]), JoinError::Roster(RosterError::Missing { members: 2, .. })));
}

#[test]
fn a_node_listens_at_a_free_port_of_its_range_and_says_when_all_are_taken() {
    let credential = credentials::mint("test", ["a"]).unwrap().remove(0);
    let bind = |ports: &str| {
        let ports = ports.parse().unwrap();
        TcpPort::bind(TcpOptions { ports, ..options(NETWORK, credential.clone()) })
    };
    // Others on this machine may have some of them.
    let ends = [(); 2].map(|()| bind("20000-20999").unwrap());
    let [first, second] = ends.each_ref().map(|end| end.local_address().port());
    assert!((20_000..second).contains(&first) && second <= 20_999, "{first}, {second}");
    let error = bind(&format!("{first}")).unwrap_err();
    assert!(matches!(error, BindError::Taken { .. }), "{error}");
    let expected =
        format!("all TCP ports {first} of 127.0.0.1 are taken; allow more, with a wider [network] ports");
    assert!(error.to_string().starts_with(&expected), "{error}");
}
