//! What a node knows of an operation that has reached it.

use super::children::Children;
use super::message::{Ballot, OperationId, Stamp, Verdict, Work};
use super::order::Place;
use bcs_core::global_memory::GlobalAddress;
use bcs_core::ids::NodeId;
use bytes::Bytes;
use smallvec::SmallVec;

/// What a `Prepare` says of its operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub operation: OperationId,
    pub work: Work,
    pub base: Stamp,
    pub sole: bool,
    pub awaited: bool,
}

/// Where an operation stands on this node. See the module's picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Receiving,
    Proposed(Place),
    Ordered(Place),
    Evaluated(Place),
    /// With the decision, when it had an effect.
    Settled(Option<Verdict>),
}

impl Stage {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Receiving => "receiving",
            Self::Proposed(_) => "proposed",
            Self::Ordered(_) => "ordered",
            Self::Evaluated(_) => "evaluated",
            Self::Settled(_) => "settled",
        }
    }
}

/// What the current wave wants of this node before it acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Goal {
    /// A proposal.
    Proposal,
    /// A put: its effect. A query: its answer.
    Order,
    /// That the operation is over.
    Settlement,
}

/// An operation that has reached this node.
#[derive(Debug)]
pub(super) struct Participation {
    pub(super) work: Work,
    pub(super) base: Stamp,
    pub(super) sole: bool,
    pub(super) awaited: bool,
    pub(super) stage: Stage,
    pub(super) payload: SmallVec<[Bytes; 1]>,
    pub(super) missing_bytes: u64,
    /// What this node itself says in its next acknowledgement.
    pub(super) own: Ballot,
    pub(super) goal: Goal,
    pub(super) wave: u32,
    pub(super) parent: NodeId,
    pub(super) awaiting: Children,
    pub(super) below: Ballot,
    pub(super) acknowledged: bool,
}

impl Participation {
    /// Whether the node itself has done what the wave wants.
    pub(super) fn has_reached_goal(&self) -> bool {
        match (self.goal, self.stage) {
            (Goal::Proposal, stage) => stage != Stage::Receiving,
            (Goal::Order, Stage::Evaluated(_) | Stage::Settled(_)) => true,
            (Goal::Order, Stage::Receiving | Stage::Proposed(_) | Stage::Ordered(_)) => false,
            (Goal::Settlement, stage) => matches!(stage, Stage::Settled(_)),
        }
    }

    /// The decision that this node knows and others may not, when the operation's initiator has died.
    pub(super) fn commit(&self) -> Option<Verdict> {
        match (self.stage, self.work) {
            (Stage::Settled(effect), _) => effect,
            (Stage::Ordered((stamp, _)), Work::Put { .. }) => Some(Verdict::Order(stamp)),
            _ => None,
        }
        .filter(|_| !self.sole)
    }

    /// Whether the operation still waits for a decision that a dead initiator will not make. An operation
    /// with a sole node needs none once it is here as a whole.
    pub(super) fn is_undecided(&self) -> bool {
        match self.stage {
            Stage::Settled(_) => false,
            Stage::Receiving => true,
            Stage::Proposed(_) | Stage::Ordered(_) | Stage::Evaluated(_) => !self.sole,
        }
    }
}

/// What is remembered of an operation that was aborted before it came.
pub(super) fn tombstone(from: NodeId) -> Participation {
    Participation {
        work: Work::Put { at: GlobalAddress(0), bytes: 0, remote_event: None },
        base: 0,
        sole: false,
        awaited: true,
        stage: Stage::Settled(None),
        payload: SmallVec::new(),
        missing_bytes: 0,
        own: Ballot::BLANK,
        goal: Goal::Settlement,
        wave: 0,
        parent: from,
        awaiting: Children::new(),
        below: Ballot::BLANK,
        acknowledged: false,
    }
}
