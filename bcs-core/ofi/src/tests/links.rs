//! Links that come up, break and end; memory that is refused; nodes that do not keep the rules.

use super::super::window::{Which, tests::REFUSED_ABOVE};
use super::*;
use bcs_core::ids::NodeId;

/// What these tests run over: it is in every libfabric.
const TCP: &str = "tcp;ofi_rxm";

fn all_up(ports: &mut OfiFabrics) {
    let all = NodeSet::all(ports.len() as u32);
    ports.iter_mut().for_each(|port| port.begin_connect(&all));
    drive_until(ports, "all links are up", |ports| ports.iter().all(|port| port.unconnected().is_empty()));
}

#[test]
fn links_come_up_on_request_and_a_waiting_node_is_woken() {
    for provider in [TCP, "sockets", "shm"] {
        if !is_there(provider) {
            continue;
        }
        let mut ports = start(2, provider, |_, _| {});
        all_up(&mut ports);
        all_reach_all(&mut ports);
        let [mut one, mut other]: [_; 2] = ports.try_into().unwrap();
        std::thread::scope(|scope| {
            let waiter = scope.spawn(move || {
                for _ in 0..20 {
                    other.wait_event(EventId(2)).unwrap();
                    let to = NodeSet::single(NodeId(0));
                    other
                        .xfer_and_signal(Source::Bytes(b"b"), &to, GlobalAddress(8), None, Some(EventId(2)))
                        .unwrap();
                }
                other.shutdown(PATIENCE)
            });
            let to = NodeSet::single(NodeId(1));
            for _ in 0..20 {
                one.xfer_and_signal(Source::Bytes(b"a"), &to, GlobalAddress(8), None, Some(EventId(2)))
                    .unwrap();
                one.wait_event(EventId(2)).unwrap();
            }
            assert_eq!(one.shutdown(PATIENCE), Ok(()));
            assert_eq!(waiter.join().unwrap(), Ok(()));
        });
    }
}

#[test]
fn a_node_that_leaves_in_order_is_not_dead_unless_it_is_needed_again() {
    if !is_there(TCP) {
        return;
    }
    let mut ports = start(3, TCP, |_, _| {});
    all_up(&mut ports);
    all_reach_all(&mut ports);
    // What was sent last arrives before the link ends: more than one write of it.
    let data = vec![0xa5; 400_000];
    let mut leaver = ports.pop().unwrap();
    let to = NodeSet::single(NodeId(0));
    leaver.xfer_and_signal(Source::Bytes(&data), &to, GlobalAddress(64), None, Some(EventId(2))).unwrap();
    let left = std::thread::scope(|scope| {
        let leaving = scope.spawn(|| leaver.shutdown(PATIENCE));
        drive_until(&mut ports, "the other node has left", |ports| {
            leaving.is_finished() && ports.iter().all(|port| port.links[2].state == LinkState::Departed)
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
    drop(leaver);
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
fn a_node_that_is_dropped_is_found_dead_at_once_and_one_that_falls_silent_in_time() {
    if !is_there(TCP) {
        return;
    }
    // A completion that says that data was delivered needs the other end's provider.
    let mut ports = start(4, TCP, |_, options| options.order = Some(SignalOrder::Completion));
    all_up(&mut ports);
    all_reach_all(&mut ports);
    drop(ports.pop());
    let dropped = NodeSet::single(NodeId(3));
    drive_until(&mut ports, "the drop is known", |ports| ports.iter().all(|port| port.dead() == dropped));
    assert!(ports[0].why_lost(NodeId(3)).unwrap().contains("takes no further part"));
    // Not driven any more: writes to it do not complete, as its provider is not driven either.
    let silent = ports.pop().unwrap();
    let all = NodeSet::all(3);
    ports[0].xfer_and_signal(Source::Bytes(b"x"), &all, GlobalAddress(0), Some(EventId(2)), None).unwrap();
    let both: NodeSet = [NodeId(2), NodeId(3)].into_iter().collect();
    driver::AHEAD.set(PATIENCE - Duration::from_secs(5));
    ports[0].progress().unwrap();
    assert_eq!(ports[0].dead(), dropped, "too early");
    // The clock of the links below is the machine's: this is found by the writes alone.
    drive_until(&mut ports, "the silence is noticed", |ports| {
        driver::AHEAD.set(driver::AHEAD.get() + Duration::from_millis(20));
        ports.iter().all(|port| port.dead() == both)
    });
    let why = ports[0].why_lost(NodeId(2)).unwrap();
    assert!(why.contains("have not completed for"), "{why}");
    let failed = ports[0].test_event(EventId(2));
    assert!(matches!(failed, Err(FabricError::NodeDead { node: NodeId(2), .. })), "{failed:?}");
    all_reach_all(&mut ports);
    drop(silent);
}

#[test]
fn memory_that_the_system_does_not_lock_is_said_once_and_bytes_go_through_slabs() {
    if !is_there(TCP) {
        return;
    }
    REFUSED_ABOVE.set(21_000);
    let mut ports = start(3, TCP, |_, _| {});
    all_up(&mut ports);
    all_reach_all(&mut ports);
    for port in &mut ports {
        let remark = port.take_remark().unwrap();
        assert!(remark.contains("bytes of memory") && remark.contains("ulimit -l"), "{remark}");
        assert!(remark.contains("through 16384 registered bytes a link"), "{remark}");
        assert_eq!(port.take_remark(), None);
    }
    // More than a ring.
    let data: Vec<u8> = (0..1_000_000_u32).map(|at| ((at * 7) >> 3) as u8).collect();
    let all = NodeSet::all(3);
    ports[0].xfer_and_signal(Source::Bytes(&data), &all, GlobalAddress(64), Some(EventId(2)), None).unwrap();
    drive_until(&mut ports, "the put", |ports| ports[0].test_event(EventId(2)).unwrap() == 1);
    let mut found = vec![0; data.len()];
    ports[2].read(GlobalAddress(64), &mut found).unwrap();
    assert!(found == data);
    // Not even a slab: the link cannot be, and it is said why.
    REFUSED_ABOVE.set(4096);
    let mut ports = start(2, TCP, |_, _| {});
    let all = NodeSet::all(2);
    ports.iter_mut().for_each(|port| port.begin_connect(&all));
    drive_until(&mut ports, "the link is broken", |ports| ports[0].broken_link(NodeId(1)).is_some());
    let why = ports[0].why_lost(NodeId(1)).unwrap();
    assert!(why.starts_with("no memory can be registered") && why.contains("ulimit -l"), "{why}");
    REFUSED_ABOVE.set(usize::MAX);
}

#[test]
fn nodes_with_different_providers_or_rings_say_so() {
    if !is_there(TCP) || !is_there("sockets") {
        return;
    }
    type Adapt<'a> = &'a dyn Fn(u32, &mut OfiOptions);
    let cases: [(Adapt<'_>, &str); 2] = [
        (
            &|node, options| options.provider = Some(if node == 0 { TCP } else { "sockets" }.into()),
            "; name one that all nodes have",
        ),
        (&|node, options| options.links.ring_bytes = (64 << 10) << node, "bytes, and those of this node "),
    ];
    for (adapt, expected) in cases {
        let mut ports = start(2, TCP, adapt);
        let all = NodeSet::all(2);
        ports.iter_mut().for_each(|port| port.begin_connect(&all));
        // The first to see it cuts the other one off.
        let whys = |ports: &OfiFabrics| [0, 1].map(|node| ports[node].why_lost(NodeId(1 - node as u32)));
        drive_until(&mut ports, "the link is broken", |ports| whys(ports).iter().all(Option::is_some));
        assert!(whys(&ports).iter().flatten().any(|why| why.contains(expected)), "{:?}", whys(&ports));
    }
}

#[test]
fn signals_and_records_that_cannot_be_end_their_link_alone() {
    if !is_there(TCP) {
        return;
    }
    type Damage = fn(&MappedFabric);
    let writes: [(&str, Damage); 4] = [
        ("credit", |victim| {
            victim.links[1].window.as_ref().unwrap().incoming_signal(Which::Data).write(1 << 40)
        }),
        ("credit", |victim| victim.links[1].window.as_ref().unwrap().incoming_signal(Which::Data).write(12)),
        ("taken", |victim| {
            victim.links[1].window.as_ref().unwrap().incoming_signal(Which::Credit).write(1 << 20)
        }),
        // Bytes that are no record.
        ("", |victim| {
            let window = victim.links[1].window.as_ref().unwrap();
            let signal = window.incoming_signal(Which::Data);
            signal.write(signal.read().unwrap_or(0) + 4096);
        }),
    ];
    for (expected, write) in writes {
        let mut ports = start(3, TCP, |_, _| {});
        all_up(&mut ports);
        all_reach_all(&mut ports);
        write(&ports[0]);
        drive_until(&mut ports, "the link is broken", |ports| ports[0].broken_link(NodeId(1)).is_some());
        let why = ports[0].why_lost(NodeId(1)).unwrap();
        assert!(why.contains(expected), "{why}");
        ports.remove(1);
        let both = NodeSet::all(3).difference(&NodeSet::single(NodeId(1)));
        let (data, event) = (Source::Bytes(b"alive"), Some(EventId(2)));
        ports[0].xfer_and_signal(data, &both, GlobalAddress(0), event, event).unwrap();
        drive_until(&mut ports, "the others go on", |ports| ports[1].test_event(EventId(2)).unwrap() == 1);
    }
}

#[test]
fn what_waits_to_be_sent_is_bounded_and_busy_passes() {
    if !is_there(TCP) {
        return;
    }
    let mut ports = start(2, TCP, |_, options| options.links.queue_bytes = 1 << 20);
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
