//! The messages of the tree protocol. Who sends which, and when, is told in the module's header.

use crate::Condition;
use bcs_core::event::EventId;
use bcs_core::global_memory::GlobalAddress;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_core::wire::{NodeSetDef, WireMessage};
use bytes::Bytes;
use rkyv::{Archive, Deserialize, Serialize};
use std::fmt;

/// The most payload bytes that one message carries; longer transfers travel as a stream of fragments, so that
/// a tree passes the first on while the last is still being sent.
pub const FRAGMENT_BYTES: usize = 64 * 1024;

/// The most payload bytes that a `Prepare` carries: it travels in the control lane, where nothing may be held
/// up for long. A longer payload travels in fragments as a whole.
pub const INLINE_BYTES: usize = 4 * 1024;
const _: () = assert!(INLINE_BYTES <= FRAGMENT_BYTES, "what is inline is no longer than a fragment");

/// A point in the order of operations: a Lamport clock's reading.
pub type Stamp = u64;

/// Names an operation: who started it, and its number there, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Archive, Serialize, Deserialize)]
pub struct OperationId {
    /// The node that started it.
    pub initiator: NodeId,
    /// Its number.
    pub sequence: u64,
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} of {}", self.sequence, self.initiator)
    }
}

/// What an operation does on every node of its set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Work {
    /// Write the payload, signal the event.
    Put {
        /// Where to.
        at: GlobalAddress,
        /// The length of the payload.
        bytes: u64,
        /// The event.
        remote_event: Option<EventId>,
    },
    /// Compare a variable; when the comparison holds on all nodes, write one.
    Query {
        /// The address of the compared variable.
        variable: GlobalAddress,
        /// How to compare it.
        condition: Condition,
        /// With what.
        value: u64,
        /// The variable to write, and its new value.
        assignment: Option<(GlobalAddress, u64)>,
    },
}

/// What the initiator has decided about an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Archive, Serialize, Deserialize)]
pub enum Verdict {
    /// It happens nowhere.
    Abort,
    /// It has this place in the order. A put takes effect there; a query is answered there.
    Order(Stamp),
    /// The query has been answered: with `true`, its assignment is made.
    Conclude(bool),
}

/// The answer of a part of the tree to a query. Ordered: the answer of two parts is the lower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Archive, Serialize, Deserialize)]
pub enum Vote {
    /// The comparison fails on some node.
    False,
    /// Some node cannot tell yet: other operations may come before this one there.
    Busy,
    /// The comparison holds on all nodes; or there is nothing to compare.
    True,
}

/// What a part of the tree says in an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct Ballot {
    /// The lowest stamp that a node proposes.
    pub lowest: Stamp,
    /// The highest.
    pub highest: Stamp,
    /// The answer.
    pub vote: Vote,
}

impl Ballot {
    /// What nobody says: the neutral element of [`Ballot::merge`].
    pub const BLANK: Self = Self { lowest: Stamp::MAX, highest: 0, vote: Vote::True };

    /// The ballot of two parts of the tree.
    pub fn merge(self, other: Self) -> Self {
        Self {
            lowest: self.lowest.min(other.lowest),
            highest: self.highest.max(other.highest),
            vote: self.vote.min(other.vote),
        }
    }
}

/// A decision that binds all nodes: reported by those that know it when its initiator has died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Archive, Serialize, Deserialize)]
pub struct Commit {
    /// The operation.
    pub operation: OperationId,
    /// `Order` for a put, `Conclude(true)` for a query.
    pub verdict: Verdict,
}

/// Numbers the recoveries: of two, the higher counts. Arbiters are succeeded by higher nodes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Archive, Serialize, Deserialize)]
pub struct Round {
    /// The node that leads the recovery.
    pub arbiter: NodeId,
    /// Its number there.
    pub number: u64,
}

/// A message between two nodes. Links are reliable and in order; see the module's header.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Message {
    /// Down the tree: an operation begins. A short payload is in it.
    Prepare {
        /// The operation.
        operation: OperationId,
        /// What it does.
        work: Work,
        /// No stamp below this may be proposed.
        base: Stamp,
        /// All operations of the initiator below this number are over.
        settled_below: u64,
        /// The set has one node: it need not wait for a verdict.
        sole: bool,
        /// Somebody waits to hear that it is done: with a sole node, its acknowledgement is not to wait for a
        /// message with which it could travel.
        awaited: bool,
        /// The nodes below the receiver.
        #[rkyv(with = NodeSetDef)]
        below: NodeSet,
        /// The payload, if it has at most [`INLINE_BYTES`]; else nothing.
        payload: Bytes,
    },
    /// Down the tree: the next fragment.
    Fragment {
        /// The operation.
        operation: OperationId,
        /// The bytes.
        payload: Bytes,
    },
    /// Down the tree: a decision.
    Decide {
        /// The operation.
        operation: OperationId,
        /// The number of the wave: decisions are sent again over a new tree when a node dies.
        wave: u32,
        /// The decision.
        verdict: Verdict,
        /// As in `Prepare`.
        settled_below: u64,
        /// The nodes below the receiver.
        #[rkyv(with = NodeSetDef)]
        below: NodeSet,
    },
    /// Up the tree: the sender and all nodes below it have done what the wave asks.
    Acknowledge {
        /// The operation.
        operation: OperationId,
        /// The wave; `Prepare` is wave 1.
        wave: u32,
        /// What they say.
        ballot: Ballot,
    },
    /// To the arbiter, or to a node that does not know it: these nodes are dead.
    Obituary {
        /// The nodes.
        #[rkyv(with = NodeSetDef)]
        dead: NodeSet,
    },
    /// Down the tree of all living nodes: what do you know of the operations that these dead nodes began?
    Inquire {
        /// The recovery.
        round: Round,
        /// All nodes that are dead.
        #[rkyv(with = NodeSetDef)]
        dead: NodeSet,
        /// The nodes below the receiver.
        #[rkyv(with = NodeSetDef)]
        below: NodeSet,
    },
    /// Up the tree: the decisions that the sender and the nodes below it know.
    Testify {
        /// The recovery.
        round: Round,
        /// The decisions.
        commits: Vec<Commit>,
    },
    /// Down the tree: these operations of dead nodes happen, all others do not.
    Resolve {
        /// The recovery.
        round: Round,
        /// The operations that happen.
        commits: Vec<Commit>,
        /// The nodes below the receiver.
        #[rkyv(with = NodeSetDef)]
        below: NodeSet,
    },
}

impl Message {
    /// The payload of a message that can have one.
    pub fn payload_mut(&mut self) -> Option<&mut Bytes> {
        match self {
            Self::Prepare { payload, .. } | Self::Fragment { payload, .. } => Some(payload),
            Self::Decide { .. }
            | Self::Acknowledge { .. }
            | Self::Obituary { .. }
            | Self::Inquire { .. }
            | Self::Testify { .. }
            | Self::Resolve { .. } => None,
        }
    }
}

impl WireMessage for Message {
    const NAME: &'static str = "tree protocol message";
    /// A fragment, two of the largest node sets, and room for the commits of a recovery.
    const MAX_BYTES: usize = FRAGMENT_BYTES + 2 * (bcs_core::node_set::MAX_NODES as usize / 8) + (1 << 20);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::any_message;
    use bcs_core::wire::{decode, encode};

    #[test]
    fn every_message_is_decoded_from_its_encoding() {
        bcs_core::damage::run(|random| {
            let message = any_message(random);
            assert_eq!(decode::<Message>(&encode(&message).unwrap()), Ok(message));
        });
    }

    #[test]
    fn ballots_merge_to_the_widest_range_and_the_lowest_vote() {
        let a = Ballot { lowest: 3, highest: 3, vote: Vote::True };
        let b = Ballot { lowest: 5, highest: 6, vote: Vote::Busy };
        assert_eq!(a.merge(b), Ballot { lowest: 3, highest: 6, vote: Vote::Busy });
        assert_eq!(Ballot::BLANK.merge(a), a);
        assert_eq!(b.merge(Ballot { lowest: 9, highest: 9, vote: Vote::False }).vote, Vote::False);
    }
}
