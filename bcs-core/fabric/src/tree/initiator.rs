//! What a node knows of the operations that began on it.

use super::children::Children;
use super::lane::Lane;
use super::message::{Ballot, Stamp, Verdict, Work};
use super::order::Place;
use crate::{FabricError, Operation, Ticket};
use bcs_core::event::EventId;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How many operations of one node may be under way, untaken answers and failures included; and how many of
/// one node others remember at most. Who has more at another node does not keep the protocol.
pub const OPERATIONS_LIMIT: usize = 1024;

/// Who wants to know how an operation ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Client {
    /// The local event of an Xfer-And-Signal.
    Transfer(Option<EventId>),
    /// The ticket of a Compare-And-Write, whose number is the operation's.
    Query(Ticket),
}

impl Client {
    pub(super) fn operation(self) -> Operation {
        match self {
            Self::Transfer(_) => Operation::XferAndSignal,
            Self::Query(_) => Operation::CompareAndWrite,
        }
    }
}

/// An operation that has not begun.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) sequence: u64,
    pub(super) nodes: NodeSet,
    pub(super) work: Work,
    pub(super) payload: Bytes,
    pub(super) client: Client,
}

/// An operation that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) nodes: NodeSet,
    pub(super) work: Work,
    pub(super) client: Client,
    pub(super) sole: Option<NodeId>,
    /// The lane of its `Prepare`, if it has a sole node, unless it has fragments: then the lane of its last
    /// message.
    pub(super) lane: Lane,
    pub(super) decided: Option<Verdict>,
    /// Its place, once it is known.
    pub(super) stamp: Option<Stamp>,
    /// The client has been told.
    pub(super) reported: bool,
    pub(super) wave: u32,
    pub(super) awaiting: Children,
    pub(super) ballot: Ballot,
}

impl Begun {
    /// Whether a death can still make it happen nowhere.
    pub(super) fn can_abort(&self) -> bool {
        match (self.decided, self.work) {
            (None, _) | (Some(Verdict::Order(_)), Work::Query { .. }) => true,
            (Some(Verdict::Order(_)), Work::Put { .. })
            | (Some(Verdict::Abort | Verdict::Conclude(_)), _) => false,
        }
    }
}

/// What happens on this node when an operation's completion takes its place in the order.
#[derive(Clone, Copy, Debug)]
pub(super) enum Completion {
    Transfer(Option<EventId>),
    Answer(Ticket, bool),
}

/// How many operations with the same sole node are under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SoleUnderWay {
    pub(super) all: usize,
    /// Those that the next one must stay behind in the bulk lane.
    pub(super) bulk: usize,
    /// The operation that asks the node for its receipts, while it is under way.
    pub(super) hurry: Option<u64>,
}

/// The operations of this node.
#[derive(Debug, Default)]
pub(super) struct Initiator {
    /// The number of the last operation.
    pub(super) last_sequence: u64,
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) begun: BTreeMap<u64, Begun>,
    /// Operations of several nodes that are over, but come after one that is not: others still remember them.
    pub(super) lingering: BTreeSet<u64>,
    /// Operations with one node that are under way, by node.
    pub(super) sole_under_way: BTreeMap<NodeId, SoleUnderWay>,
    pub(super) completions: BTreeMap<Place, Completion>,
    /// Every ticket whose answer has not been taken, with the answer when it is there.
    pub(super) answers: BTreeMap<Ticket, Option<Result<bool, FabricError>>>,
    /// Failed transfers with a local event.
    pub(super) event_failures: BTreeMap<EventId, VecDeque<FabricError>>,
    /// Failed transfers without.
    pub(super) failures: VecDeque<FabricError>,
}

impl Initiator {
    /// All operations below this number are over everywhere.
    pub(super) fn settled_below(&self) -> u64 {
        let first_begun = self.begun.keys().next().copied();
        let first_waiting = self.waiting.front().map(|waiting| waiting.sequence);
        [first_begun, first_waiting].into_iter().flatten().min().unwrap_or(self.last_sequence + 1)
    }

    pub(super) fn under_way(&self) -> usize {
        let failures = self.failures.len() + self.event_failures.values().map(VecDeque::len).sum::<usize>();
        self.waiting.len() + self.begun.len() + self.completions.len() + self.answers.len() + failures
    }

    /// Whether others may remember as much of this node as they ever do.
    pub(super) fn is_at_limit(&self) -> bool {
        self.begun.len() + self.lingering.len() >= OPERATIONS_LIMIT
    }

    /// Whether an operation must wait: until others remember less of this node, or for the place of an
    /// earlier one that shares a node with it. Two operations with the same sole node need not: the link
    /// keeps their order.
    pub(super) fn must_wait(&self, nodes: &NodeSet) -> bool {
        if self.is_at_limit() {
            return true;
        }
        let unplaced =
            |begun: &&Begun| begun.sole.is_none() && begun.stamp.is_none() && begun.decided.is_none();
        let mut unplaced = self.begun.values().filter(unplaced);
        match nodes.sole() {
            Some(node) => unplaced.any(|begun| begun.nodes.contains(node)),
            None => {
                unplaced.any(|begun| begun.nodes.intersects(nodes))
                    || self.sole_under_way.keys().any(|node| nodes.contains(*node))
            }
        }
    }

    pub(super) fn fail(&mut self, client: Client, error: FabricError) {
        match client {
            Client::Transfer(Some(event)) => self.event_failures.entry(event).or_default().push_back(error),
            Client::Transfer(None) => self.failures.push_back(error),
            Client::Query(ticket) => {
                self.answers.insert(ticket, Some(Err(error)));
            }
        }
    }
}
