//! The protocol engine against peers that do not keep the protocol, and its work counted message by message.

use super::*;
use crate::FabricError;
use crate::conformance::any_message;
use crate::{Comparison, Condition, Source};
use bcs_core::event::EventId;
use bcs_core::event::EventTable;
use bcs_core::global_memory::{GlobalAddress, GlobalVariable, SparseMemory};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bytes::Bytes;
use std::sync::Arc;

const MEMORY_BYTES: u64 = 4096;
const ME: NodeId = NodeId(1);
const PEER: NodeId = NodeId(2);

fn node(number: NodeId, members: u32) -> TreeNode<SparseMemory> {
    let members = Arc::new(NodeSet::all(members));
    TreeNode::new(number, members, 2, SparseMemory::new(MEMORY_BYTES), EventTable::new(4))
}

fn prepare(operation: OperationId, work: Work, payload: &'static [u8]) -> Message {
    let (below, payload) = (NodeSet::new(), Bytes::from_static(payload));
    Message::Prepare {
        operation,
        work,
        base: 1,
        settled_below: 0,
        sole: false,
        awaited: true,
        below,
        payload,
    }
}

fn put(at: u64, bytes: u64) -> Work {
    Work::Put { at: GlobalAddress(at), bytes, remote_event: None }
}

fn decide(operation: OperationId, wave: u32, verdict: Verdict) -> Message {
    Message::Decide { operation, wave, verdict, settled_below: 0, below: NodeSet::new() }
}

const FIRST: OperationId = OperationId { initiator: PEER, sequence: 1 };

#[test]
fn a_peer_that_breaks_the_protocol_is_named_and_has_no_effect() {
    let mut me = node(ME, 4);
    let mut refused = |message| me.handle_message(PEER, message).unwrap_err();
    assert!(matches!(refused(prepare(FIRST, put(MEMORY_BYTES - 1, 2), b"")), ProtocolError::Memory { .. }));
    let event = Work::Put { at: GlobalAddress(0), bytes: 0, remote_event: Some(EventId(4)) };
    assert!(matches!(
        refused(prepare(FIRST, event, b"")),
        ProtocolError::NoSuchEvent { event: 4, count: 4, .. }
    ));
    assert!(matches!(refused(prepare(FIRST, put(0, 2), b"abc")), ProtocolError::Excess { bytes: 1, .. }));
    let condition = Condition::Equal;
    let crooked = Work::Query { variable: GlobalAddress(4), condition, value: 0, assignment: None };
    assert!(matches!(refused(prepare(FIRST, crooked, b"")), ProtocolError::Memory { .. }));
    assert!(matches!(
        refused(decide(FIRST, 2, Verdict::Order(3))),
        ProtocolError::Impossible { stage: "unknown", .. }
    ));
    assert!(matches!(refused(decide(FIRST, 2, Verdict::Order(u64::MAX))), ProtocolError::Stamp(_)));
    let below = NodeSet::all(5);
    let misrouted =
        Message::Decide { operation: FIRST, wave: 2, verdict: Verdict::Abort, settled_below: 0, below };
    assert!(matches!(refused(misrouted), ProtocolError::Misrouted(_)));
    assert_eq!(me.handle_message(NodeId(9), decide(FIRST, 2, Verdict::Abort)), Err(ProtocolError::Stranger));
    assert_eq!(me.poll_transmit(), None);
    // An operation that is not there as a whole cannot be decided; more than was announced is too much.
    me.handle_message(PEER, prepare(FIRST, put(0, 4), b"ab")).unwrap();
    let early = me.handle_message(PEER, decide(FIRST, 2, Verdict::Order(3)));
    assert!(matches!(early, Err(ProtocolError::Impossible { stage: "receiving", .. })));
    let payload = Bytes::from_static(b"cde");
    let excess = me.handle_message(PEER, Message::Fragment { operation: FIRST, payload });
    assert!(matches!(excess, Err(ProtocolError::Excess { bytes: 1, .. })));
}

#[test]
fn a_dead_node_that_still_talks_is_told_once_and_then_falls_silent() {
    let (mut me, mut late) = (node(ME, 3), node(PEER, 3));
    me.handle_death(PEER);
    let all = NodeSet::all(3);
    late.xfer_and_signal(Source::Bytes(b"x"), &all, GlobalAddress(0), Some(EventId(0)), None).unwrap();
    let to_me: Vec<Message> = std::iter::from_fn(|| late.poll_transmit())
        .filter(|(to, _, _)| *to == ME)
        .map(|(_, _, message)| message)
        .collect();
    assert!(!to_me.is_empty());
    for message in to_me.iter().chain(&to_me) {
        me.handle_message(PEER, message.clone()).unwrap();
    }
    let told: Vec<_> = std::iter::from_fn(|| me.poll_transmit()).filter(|(to, _, _)| *to == PEER).collect();
    assert_eq!(told, [(PEER, Lane::Control, Message::Obituary { dead: NodeSet::single(PEER) })]);
    late.handle_message(ME, told[0].2.clone()).unwrap();
    let failure = late.test_event(EventId(0));
    assert!(matches!(failure, Err(FabricError::SelfDead { node: PEER, .. })), "{failure:?}");
    assert!(late.xfer_and_signal(Source::Bytes(b"x"), &all, GlobalAddress(0), None, None).is_err());
    assert_eq!(late.poll_transmit(), None);
}

#[test]
fn what_is_over_is_forgotten() {
    // Two nodes and a perfect network between them: after many operations, nothing is left but the last.
    let mut nodes = [node(NodeId(0), 2), node(NodeId(1), 2)];
    let all = NodeSet::all(2);
    let variable = GlobalVariable::at(GlobalAddress(0)).unwrap();
    for round in 0..50 {
        let comparison = Comparison { variable, condition: Condition::Equal, value: 0 };
        let ticket = nodes[0].compare_and_write(&all, comparison, None).unwrap();
        nodes[0].xfer_and_signal(Source::Bytes(&[1; 8]), &all, GlobalAddress(64), None, None).unwrap();
        let mut is_moving = true;
        while is_moving {
            is_moving = false;
            for (from, to) in [(0, 1), (1, 0)] {
                while let Some((_, _, message)) = nodes[from].poll_transmit() {
                    is_moving = true;
                    nodes[to].handle_message(NodeId(from as u32), message).unwrap();
                }
            }
        }
        assert_eq!(nodes[0].test_query(ticket), Some(Ok(true)), "round {round}");
        assert!(nodes.iter().all(|node| node.participations.len() <= 2));
    }
    assert!(nodes[0].is_idle());
}

fn put_of(initiator: NodeId, sequence: u64, settled_below: u64) -> Message {
    let operation = OperationId { initiator, sequence };
    let mut message = prepare(operation, put(0, 1), b"x");
    if let Message::Prepare { settled_below: settled, .. } = &mut message {
        *settled = settled_below;
    }
    message
}

#[test]
fn who_has_more_operations_under_way_than_it_may_is_named_and_nothing_more_of_it_is_kept() {
    let limit = OPERATIONS_LIMIT as u64;
    let abort = |sequence| decide(OperationId { initiator: PEER, sequence }, 2, Verdict::Abort);
    // Operations that nobody decides; and those of which nothing came but that they do not happen.
    for kind in [|sequence| put_of(PEER, sequence, 0), abort] {
        let mut me = node(ME, 4);
        for sequence in 1..=limit {
            me.handle_message(PEER, kind(sequence)).unwrap();
        }
        let operation = OperationId { initiator: PEER, sequence: limit + 1 };
        let refused = Err(ProtocolError::TooMany(operation));
        assert_eq!(me.handle_message(PEER, put_of(PEER, limit + 1, 0)), refused);
        assert_eq!(me.handle_message(PEER, abort(limit + 1)), refused);
        assert_eq!(me.participations.len(), OPERATIONS_LIMIT);
        // Others have theirs, and so has it again, when it says that one is over.
        me.handle_message(NodeId(3), put_of(NodeId(3), 1, 0)).unwrap();
        me.handle_message(PEER, put_of(PEER, limit + 1, 2)).unwrap();
        assert_eq!(me.participations.len(), OPERATIONS_LIMIT + 1);
    }
}

#[test]
fn who_passes_on_too_many_operations_of_another_is_not_held_to_be_at_fault() {
    let mut me = node(ME, 4);
    let relays = [NodeId(0), NodeId(3)];
    for sequence in 1..=OPERATIONS_LIMIT as u64 + 1 {
        assert!(me.dead().is_empty());
        me.handle_message(relays[sequence as usize % 2], put_of(PEER, sequence, 0)).unwrap();
    }
    assert_eq!(*me.dead(), NodeSet::single(PEER));
    assert_eq!(me.participations.len(), OPERATIONS_LIMIT);
}

#[test]
fn operations_of_nobody_are_refused() {
    let mut me = node(ME, 4);
    for initiator in [NodeId(4), NodeId(u32::MAX), ME] {
        let refused = me.handle_message(PEER, put_of(initiator, 1, 0));
        assert!(matches!(refused, Err(ProtocolError::Foreign(_))), "{refused:?}");
    }
    assert!(me.participations.is_empty());
}

#[test]
fn a_fragment_without_bytes_is_refused() {
    let mut me = node(ME, 4);
    me.handle_message(PEER, prepare(FIRST, put(0, 4), b"ab")).unwrap();
    let fragment = |payload| Message::Fragment { operation: FIRST, payload: Bytes::from_static(payload) };
    let refused = Err(ProtocolError::Empty(FIRST));
    assert_eq!(me.handle_message(PEER, fragment(b"")), refused);
    me.handle_message(PEER, fragment(b"c")).unwrap();
    assert_eq!(me.handle_message(PEER, fragment(b"")), refused);
    me.handle_message(PEER, fragment(b"d")).unwrap();
    assert!(matches!(me.poll_transmit(), Some((PEER, _, Message::Acknowledge { .. }))));
}

#[test]
fn a_testimony_that_nobody_asked_for_is_not_kept() {
    let arbiter = NodeId(0);
    let mut me = node(arbiter, 4);
    me.handle_death(NodeId(3));
    let asked = std::iter::from_fn(|| me.poll_transmit()).find_map(|(_, _, message)| match message {
        Message::Inquire { round, .. } => Some(round),
        _ => None,
    });
    let round = asked.unwrap();
    let testify = |sequence| {
        let operation = OperationId { initiator: NodeId(3), sequence };
        Message::Testify { round, commits: vec![Commit { operation, verdict: Verdict::Order(5) }] }
    };
    // Node 1 testifies without end before node 2 does.
    for sequence in 1..100 {
        me.handle_message(ME, testify(sequence)).unwrap();
    }
    me.handle_message(PEER, testify(200)).unwrap();
    let resolved = std::iter::from_fn(|| me.poll_transmit()).find_map(|(_, _, message)| match message {
        Message::Resolve { commits, .. } => Some(commits),
        _ => None,
    });
    let told: Vec<u64> = resolved.unwrap().iter().map(|commit| commit.operation.sequence).collect();
    assert_eq!(told, [1, 200]);
}

/// Carries what nodes say, until they fall silent; what `holds_back` says stays on its way.
fn settle(
    nodes: &mut [TreeNode<SparseMemory>],
    held: &mut Vec<(usize, NodeId, Message)>,
    holds_back: impl Fn(NodeId, &Message) -> bool,
) {
    let mut is_moving = true;
    while is_moving {
        is_moving = false;
        for from in 0..nodes.len() {
            while let Some((to, _, message)) = nodes[from].poll_transmit() {
                is_moving = true;
                match holds_back(to, &message) {
                    true => held.push((from, to, message)),
                    false => nodes[to.index()].handle_message(NodeId(from as u32), message).unwrap(),
                }
            }
        }
    }
}

#[test]
fn who_keeps_to_the_limit_is_never_held_to_exceed_it_however_slow_a_node_is() {
    // Node 3 has a place for an operation, but hears of the decision late. Meanwhile the others go on, and
    // remember all that comes after it.
    for sole in [false, true] {
        let mut nodes = [0, 1, 2, 3].map(|number| node(NodeId(number), 4));
        let mut held = Vec::new();
        let slow = NodeId(3);
        let put = |node: &mut TreeNode<SparseMemory>, nodes: &str| {
            node.xfer_and_signal(Source::Bytes(b"x"), &nodes.parse().unwrap(), GlobalAddress(0), None, None)
        };
        put(&mut nodes[0], if sole { "3" } else { "1,3" }).unwrap();
        let is_late =
            |to, message: &Message| to == slow && (sole || matches!(message, Message::Decide { .. }));
        settle(&mut nodes, &mut held, is_late);
        let mut accepted = 1;
        while accepted < 10 * OPERATIONS_LIMIT {
            match put(&mut nodes[0], if accepted % 3 == 0 { "2" } else { "1-2" }) {
                Ok(()) => accepted += 1,
                Err(FabricError::Busy { .. }) => break,
                Err(error) => panic!("{error}"),
            }
            settle(&mut nodes, &mut held, is_late);
            assert!(nodes.iter().all(|node| node.participations.len() <= OPERATIONS_LIMIT));
        }
        assert!(accepted > OPERATIONS_LIMIT && accepted < 10 * OPERATIONS_LIMIT, "{accepted}");
        for (from, to, message) in held.drain(..) {
            nodes[to.index()].handle_message(NodeId(from as u32), message).unwrap();
        }
        settle(&mut nodes, &mut held, |_, _| false);
        assert!(nodes[0].is_idle());
        assert!(nodes.iter().all(|node| node.dead().is_empty()));
        put(&mut nodes[0], "1-2").unwrap();
        settle(&mut nodes, &mut held, |_, _| false);
        assert!(nodes.iter().all(|node| node.participations.len() <= 1));
    }
}

/// Whatever peers send, a node neither panics nor sends to nodes that do not exist.
#[test]
fn no_sequence_of_messages_brings_a_node_down() {
    bcs_core::damage::run(|random| {
        let mut me = node(ME, 4);
        if random.bool() {
            me.xfer_and_signal(Source::Bytes(b"own"), &NodeSet::all(4), GlobalAddress(0), None, None)
                .unwrap();
            let variable = GlobalVariable::at(GlobalAddress(8)).unwrap();
            let comparison = Comparison { variable, condition: Condition::Equal, value: 0 };
            me.compare_and_write(&NodeSet::all(4), comparison, None).unwrap();
        }
        for _ in 0..random.usize(1..60) {
            let from = *random.choice(&[0, 2, 3, 4]).unwrap();
            let _ = me.handle_message(NodeId(from), any_message(random));
            while let Some((to, _, _)) = me.poll_transmit() {
                assert!(to.0 < 4 && to != ME);
            }
        }
    });
}
