//! Messages of every kind, for the tests of what carries, decodes or handles them.

use crate::Condition;
use crate::tree::{Ballot, Commit, Message, OperationId, Round, Verdict, Vote, Work};
use bcs_core::event::EventId;
use bcs_core::global_memory::GlobalAddress;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bytes::Bytes;
use fastrand::Rng;

/// A message of any kind, with contents that four nodes of a few events and 4 KiB of memory could send, or
/// nearly.
pub fn any_message(random: &mut Rng) -> Message {
    let operation = OperationId { initiator: NodeId(random.u32(..4)), sequence: random.u64(..4) };
    let round = Round { arbiter: NodeId(random.u32(..4)), number: random.u64(..4) };
    let (dead, below) = (any_nodes(random), any_nodes(random));
    let verdict = match random.u32(..4) {
        0 => Verdict::Abort,
        1 => Verdict::Order(random.u64(..12)),
        2 => Verdict::Order(u64::MAX),
        _ => Verdict::Conclude(random.bool()),
    };
    let (wave, settled_below) = (random.u32(..5), random.u64(..3));
    let bytes = random.usize(..5);
    let payload: Bytes = std::iter::repeat_with(|| random.u8(..)).take(bytes).collect();
    let commits = vec![Commit { operation, verdict }; random.usize(..3)];
    match random.u32(..16) {
        0..4 => Message::Prepare {
            operation,
            work: any_work(random),
            base: random.u64(..9),
            settled_below,
            sole: random.bool(),
            awaited: random.bool(),
            below,
            payload,
        },
        4..8 => Message::Decide { operation, wave, verdict, settled_below, below },
        8..11 => {
            let vote = [Vote::False, Vote::Busy, Vote::True][random.usize(..3)];
            let ballot = Ballot { lowest: random.u64(..9), highest: random.u64(..9), vote };
            Message::Acknowledge { operation, wave, ballot }
        }
        11 => Message::Fragment { operation, payload },
        12 => Message::Obituary { dead },
        13 => Message::Inquire { round, dead, below },
        14 => Message::Testify { round, commits },
        _ => Message::Resolve { round, commits, below },
    }
}

/// Few nodes, most often of a small network.
fn any_nodes(random: &mut Rng) -> NodeSet {
    let nodes = if random.u32(..8) == 0 { 900 } else { 5 };
    (0..random.u32(..4)).map(|_| NodeId(random.u32(..nodes))).collect()
}

fn any_work(random: &mut Rng) -> Work {
    match random.bool() {
        true => Work::Put {
            at: GlobalAddress(random.u64(..70) * 64),
            bytes: random.u64(..6),
            remote_event: random.bool().then(|| EventId(random.u32(..5))),
        },
        false => Work::Query {
            variable: GlobalAddress(random.u64(..20) * 4),
            condition: Condition::Equal,
            value: random.u64(..2),
            assignment: random.bool().then(|| (GlobalAddress(random.u64(..20) * 4), random.u64(..2))),
        },
    }
}
