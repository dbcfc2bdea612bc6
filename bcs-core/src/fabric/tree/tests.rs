//! The protocol engine against peers that do not keep the protocol, and its work counted message by message.

use super::*;
use crate::event::EventId;
use crate::fabric::{Comparison, Condition, Source};
use crate::global_memory::{GlobalAddress, GlobalVariable, SparseMemory};
use bytes::Bytes;
use proptest::prelude::*;

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
    assert!(matches!(
        refused(prepare(FIRST, put(MEMORY_BYTES - 1, 2), b"")),
        ProtocolError::Memory { from: PEER, .. }
    ));
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
    assert!(matches!(refused(decide(FIRST, 2, Verdict::Order(u64::MAX))), ProtocolError::Stamp { .. }));
    let below = NodeSet::all(5);
    let misrouted =
        Message::Decide { operation: FIRST, wave: 2, verdict: Verdict::Abort, settled_below: 0, below };
    assert!(matches!(refused(misrouted), ProtocolError::Misrouted { .. }));
    assert_eq!(
        me.handle_message(NodeId(9), decide(FIRST, 2, Verdict::Abort)),
        Err(ProtocolError::Stranger { from: NodeId(9) })
    );
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

fn small_set() -> impl Strategy<Value = NodeSet> {
    proptest::collection::vec(0..5u32, 0..4).prop_map(|nodes| nodes.into_iter().map(NodeId).collect())
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        Just(Verdict::Abort),
        (0..12u64).prop_map(Verdict::Order),
        Just(Verdict::Order(u64::MAX)),
        any::<bool>().prop_map(Verdict::Conclude),
    ]
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        (0..70u64, 0..6u64, proptest::option::of(0..5u32)).prop_map(|(at, bytes, event)| Work::Put {
            at: GlobalAddress(at * 64),
            bytes,
            remote_event: event.map(EventId),
        }),
        (0..20u64, 0..2u64, proptest::option::of((0..20u64, 0..2u64))).prop_map(
            |(variable, value, assignment)| {
                Work::Query {
                    variable: GlobalAddress(variable * 4),
                    condition: Condition::Equal,
                    value,
                    assignment: assignment.map(|(at, value)| (GlobalAddress(at * 4), value)),
                }
            }
        ),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let operation = (0..4u32, 0..4u64)
        .prop_map(|(initiator, sequence)| OperationId { initiator: NodeId(initiator), sequence });
    let operation = operation.boxed();
    let round =
        (0..4u32, 0..4u64).prop_map(|(arbiter, number)| Round { arbiter: NodeId(arbiter), number }).boxed();
    let commit =
        (operation.clone(), verdict()).prop_map(|(operation, verdict)| Commit { operation, verdict });
    let commits = proptest::collection::vec(commit, 0..3).boxed();
    let payload = proptest::collection::vec(any::<u8>(), 0..5).prop_map(Bytes::from).boxed();
    prop_oneof![
        4 => (operation.clone(), work(), 0..9u64, 0..3u64, any::<bool>(), any::<bool>(), small_set(), payload.clone()).prop_map(
            |(operation, work, base, settled_below, sole, awaited, below, payload)| Message::Prepare {
                operation, work, base, settled_below, sole, awaited, below, payload
            }
        ),
        1 => (operation.clone(), payload).prop_map(|(operation, payload)| Message::Fragment { operation, payload }),
        4 => (operation.clone(), 0..5u32, verdict(), 0..3u64, small_set()).prop_map(
            |(operation, wave, verdict, settled_below, below)| Message::Decide {
                operation, wave, verdict, settled_below, below
            }
        ),
        3 => (operation, 0..4u32, 0..9u64, 0..9u64).prop_map(|(operation, wave, lowest, highest)| {
            let vote = [Vote::False, Vote::Busy, Vote::True][lowest as usize % 3];
            Message::Acknowledge { operation, wave, ballot: Ballot { lowest, highest, vote } }
        }),
        1 => small_set().prop_map(|dead| Message::Obituary { dead }),
        1 => (round.clone(), small_set(), small_set())
            .prop_map(|(round, dead, below)| Message::Inquire { round, dead, below }),
        1 => (round.clone(), commits.clone()).prop_map(|(round, commits)| Message::Testify { round, commits }),
        1 => (round, commits, small_set())
            .prop_map(|(round, commits, below)| Message::Resolve { round, commits, below }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever peers send, a node neither panics nor sends to nodes that do not exist.
    #[test]
    fn no_sequence_of_messages_brings_a_node_down(
        messages in proptest::collection::vec((0..5u32, message()), 1..60), own in any::<bool>()
    ) {
        let mut me = node(ME, 4);
        if own {
            me.xfer_and_signal(Source::Bytes(b"own"), &NodeSet::all(4), GlobalAddress(0), None, None).unwrap();
            let variable = GlobalVariable::at(GlobalAddress(8)).unwrap();
            let comparison = Comparison { variable, condition: Condition::Equal, value: 0 };
            me.compare_and_write(&NodeSet::all(4), comparison, None).unwrap();
        }
        for (from, message) in messages {
            if from == ME.0 { continue; }
            let _ = me.handle_message(NodeId(from), message);
            while let Some((to, _, _)) = me.poll_transmit() {
                prop_assert!(to.0 < 4 && to != ME);
            }
        }
    }
}
