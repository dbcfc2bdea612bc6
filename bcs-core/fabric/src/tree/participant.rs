//! Operations that have reached this node: a visible lifecycle each, and their effects in the total order.
//!
//! ```text
//!              payload complete        Decide(Order)         its turn: answer, hold
//!  Receiving ──────────────────► Proposed ──────────► Ordered ──────────────────► Evaluated
//!      │                            │                    │ its turn: put             │
//!      │ Abort                      │ Abort, Conclude    ▼                           │ Abort, Conclude
//!      └────────────────────────────┴───────────────► Settled ◄──────────────────────┘
//! ```
//!
//! Invariants: an operation is in the order queue from Proposed until Settled; memory and events change only
//! in [`TreeNode::advance`] and on `Conclude(true)`, which finds the query at the head of the queue. A
//! settled operation is remembered until its initiator says that it is over everywhere, for two reasons:
//! messages over older trees may still arrive, and if the initiator dies others ask for what was decided. Of
//! one initiator at most [`OPERATIONS_LIMIT`] operations are remembered, settled ones included; see
//! `initiator` for why none needs more.

use super::error::ProtocolError;
use super::initiator::OPERATIONS_LIMIT;
use super::message::{Ballot, Message, OperationId, Verdict, Vote, Work};
use super::node::TreeNode;
use super::order::Place;
use super::participation::{Goal, Header, Participation, Stage, tombstone};
use super::receipt::Receipt;
use crate::Condition;
use bcs_core::global_memory::{GlobalAddress, GlobalMemory, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bytes::Bytes;
use smallvec::SmallVec;

impl<M: GlobalMemory> TreeNode<M> {
    pub(super) fn handle_prepare(
        &mut self,
        from: NodeId,
        header: Header,
        settled_below: u64,
        below: &NodeSet,
        payload: Bytes,
    ) -> Result<(), ProtocolError> {
        let Header { operation, work, base, sole, awaited } = header;
        if self.is_over(operation) || self.participations.contains_key(&operation) {
            return Ok(());
        }
        let bytes = self.check_work(operation, work)?;
        let inline = payload.len() as u64;
        let Some(missing_bytes) = bytes.checked_sub(inline) else {
            return Err(ProtocolError::Excess { operation, bytes: inline - bytes });
        };
        if !self.admit(from, operation, settled_below)? {
            return Ok(());
        }
        let awaiting = self.descend(below, |below| Message::Prepare {
            operation,
            work,
            base,
            settled_below,
            sole,
            awaited,
            below,
            payload: payload.clone(),
        });
        let participation = Participation {
            work,
            base,
            sole,
            awaited,
            stage: Stage::Receiving,
            payload: SmallVec::from_iter([payload]),
            missing_bytes,
            own: Ballot::BLANK,
            goal: if sole { Goal::Order } else { Goal::Proposal },
            wave: 1,
            parent: from,
            awaiting,
            below: Ballot::BLANK,
            acknowledged: false,
        };
        self.participations.insert(operation, participation);
        self.propose_when_complete(operation);
        Ok(())
    }

    pub(super) fn handle_fragment(
        &mut self,
        operation: OperationId,
        payload: Bytes,
    ) -> Result<(), ProtocolError> {
        if self.is_over(operation) {
            return Ok(());
        }
        let Some(participation) = self.participations.get_mut(&operation) else { return Ok(()) };
        let bytes = payload.len() as u64;
        let missing = participation.missing_bytes;
        match participation.stage {
            // There would be no end to them.
            Stage::Receiving if bytes == 0 => return Err(ProtocolError::Empty(operation)),
            Stage::Receiving if bytes <= missing => {}
            Stage::Settled(_) => return Ok(()),
            _ => return Err(ProtocolError::Excess { operation, bytes: bytes - missing }),
        }
        participation.missing_bytes -= bytes;
        participation.payload.push(payload.clone());
        for child in participation.awaiting.clone() {
            self.transmit(child, Message::Fragment { operation, payload: payload.clone() });
        }
        self.propose_when_complete(operation);
        Ok(())
    }

    pub(super) fn handle_decide(
        &mut self,
        from: NodeId,
        operation: OperationId,
        wave: u32,
        verdict: Verdict,
        settled_below: u64,
        below: &NodeSet,
    ) -> Result<(), ProtocolError> {
        if self.is_over(operation) {
            return Ok(());
        }
        match self.participations.get(&operation) {
            Some(participation) if participation.wave >= wave => return Ok(()),
            Some(participation) if !self.allows(participation, verdict) => {
                let stage = participation.stage.name();
                return Err(ProtocolError::Impossible { operation, verdict, stage });
            }
            Some(_) => {}
            // The initiator gave up before the operation got here: it is remembered, because it may still
            // come.
            None if verdict == Verdict::Abort => {
                if !self.admit(from, operation, settled_below)? {
                    return Ok(());
                }
                self.participations.insert(operation, tombstone(from));
            }
            None => return Err(ProtocolError::Impossible { operation, verdict, stage: "unknown" }),
        }
        self.forget_below(operation.initiator, settled_below);
        let awaiting =
            self.descend(below, |below| Message::Decide { operation, wave, verdict, settled_below, below });
        let Some(participation) = self.participations.get_mut(&operation) else { return Ok(()) };
        participation.wave = wave;
        participation.parent = from;
        participation.awaiting = awaiting;
        participation.below = Ballot::BLANK;
        participation.acknowledged = false;
        participation.goal = match verdict {
            Verdict::Order(_) => Goal::Order,
            Verdict::Abort | Verdict::Conclude(_) => Goal::Settlement,
        };
        self.apply_verdict(operation, verdict);
        self.acknowledge_when_done(operation);
        self.advance();
        Ok(())
    }

    pub(super) fn handle_acknowledge(
        &mut self,
        from: NodeId,
        operation: OperationId,
        wave: u32,
        ballot: Ballot,
    ) {
        let Some(participation) = self.participations.get_mut(&operation) else { return };
        if participation.wave != wave {
            return;
        }
        let Some(child) = participation.awaiting.iter().position(|child| *child == from) else { return };
        participation.awaiting.swap_remove(child);
        participation.below = participation.below.merge(ballot);
        self.acknowledge_when_done(operation);
    }

    /// The lifecycle's table: brings an operation forward by a decision. Whoever knows a decision may bring
    /// it, and bring it again.
    pub(super) fn apply_verdict(&mut self, operation: OperationId, verdict: Verdict) {
        let Some(participation) = self.participations.get_mut(&operation) else { return };
        match (participation.stage, verdict) {
            (Stage::Settled(_), _) => {}
            (Stage::Receiving, Verdict::Abort) => self.settle(operation, None),
            // `allows` refuses it: nobody decides before all have proposed.
            (Stage::Receiving, Verdict::Order(_) | Verdict::Conclude(_)) => {}
            (Stage::Proposed(place), Verdict::Order(stamp)) => {
                participation.stage = Stage::Ordered(self.order.fix(place, stamp));
            }
            (Stage::Ordered(_) | Stage::Evaluated(_), Verdict::Order(_)) => {}
            (Stage::Proposed(place) | Stage::Ordered(place) | Stage::Evaluated(place), Verdict::Abort) => {
                self.order.remove(place);
                self.settle(operation, None);
            }
            (
                Stage::Proposed(place) | Stage::Ordered(place) | Stage::Evaluated(place),
                Verdict::Conclude(holds),
            ) => {
                let work = participation.work;
                self.conclude(operation, place, work, holds);
            }
        }
    }

    /// Whether an operation that has reached this node, and is not over here, needs another node.
    pub(super) fn participates_with(&self, node: NodeId) -> bool {
        self.participations.iter().any(|(operation, participation)| {
            (operation.initiator == node && participation.is_undecided())
                || (!participation.acknowledged && participation.awaiting.contains(&node))
        })
    }

    /// Makes operations take effect whose turn has come, and reports completions whose turn has come.
    pub(super) fn advance(&mut self) {
        while let Some(place) = self.order.head() {
            let operation = place.1;
            let Some(participation) = self.participations.get_mut(&operation) else { break };
            let work = participation.work;
            match (participation.stage, work) {
                (Stage::Ordered(place), Work::Put { at, remote_event, .. }) => {
                    let payload = std::mem::take(&mut participation.payload);
                    self.order.remove(place);
                    self.put(at, &payload);
                    if let Some(event) = remote_event {
                        self.events.signal(event);
                    }
                    self.settle(operation, Some(Verdict::Order(place.0)));
                }
                (Stage::Ordered(place), Work::Query { variable, condition, value, .. }) => {
                    let sole = participation.sole;
                    let holds = self.evaluate(variable, condition, value);
                    if let Some(participation) = self.participations.get_mut(&operation) {
                        participation.own.vote = if holds { Vote::True } else { Vote::False };
                        participation.stage = Stage::Evaluated(place);
                    }
                    if sole {
                        self.conclude(operation, place, work, holds);
                    } else {
                        self.acknowledge_when_done(operation);
                        break;
                    }
                }
                (Stage::Receiving | Stage::Proposed(_) | Stage::Evaluated(_) | Stage::Settled(_), _) => break,
            }
        }
        self.release_completions();
    }

    /// Whether a decision can be about an operation that stands here: nobody decides before all nodes have
    /// proposed, a sole node decides itself, only queries conclude, and one that holds is held.
    fn allows(&self, participation: &Participation, verdict: Verdict) -> bool {
        let is_query = matches!(participation.work, Work::Query { .. });
        match (participation.stage, verdict) {
            _ if participation.sole => false,
            (Stage::Settled(_), _) | (_, Verdict::Abort) => true,
            (Stage::Receiving, Verdict::Order(_) | Verdict::Conclude(_)) => false,
            (Stage::Proposed(place), Verdict::Order(stamp)) => stamp >= place.0,
            (Stage::Ordered(place) | Stage::Evaluated(place), Verdict::Order(stamp)) => stamp == place.0,
            (
                Stage::Proposed(place) | Stage::Ordered(place) | Stage::Evaluated(place),
                Verdict::Conclude(holds),
            ) => is_query && (!holds || self.order.has_reached(place)),
        }
    }

    /// Makes room for an operation that this node did not know. False when there is none, and its initiator
    /// is dead for that: not `from`, who has only passed it on.
    fn admit(
        &mut self,
        from: NodeId,
        operation: OperationId,
        settled_below: u64,
    ) -> Result<bool, ProtocolError> {
        let initiator = operation.initiator;
        if !self.members.contains(initiator) || (initiator == self.node && from != self.node) {
            return Err(ProtocolError::Foreign(operation));
        }
        self.forget_below(initiator, settled_below);
        if self.participations.len() < OPERATIONS_LIMIT {
            return Ok(true);
        }
        let numbered = |sequence| OperationId { initiator, sequence };
        if self.participations.range(numbered(0)..=numbered(u64::MAX)).count() < OPERATIONS_LIMIT {
            return Ok(true);
        }
        if from == initiator {
            return Err(ProtocolError::TooMany(operation));
        }
        self.recovery.declared.insert(initiator);
        self.learn_death(initiator);
        Ok(false)
    }

    /// The operations of `initiator` below `sequence` are over on all nodes: nobody will speak of them again.
    fn forget_below(&mut self, initiator: NodeId, sequence: u64) {
        let known = self.settled_below.entry(initiator).or_insert(0);
        if sequence <= *known {
            return;
        }
        let (from, to) = (OperationId { initiator, sequence: *known }, OperationId { initiator, sequence });
        *known = sequence;
        let over: Vec<_> = self.participations.range(from..to).map(|(operation, _)| *operation).collect();
        for operation in over {
            self.participations.remove(&operation);
        }
    }

    /// Whether a message about an operation comes too late: it is over everywhere, or its initiator is dead
    /// and only a recovery may still decide.
    fn is_over(&self, operation: OperationId) -> bool {
        self.dead.contains(operation.initiator)
            || self.settled_below.get(&operation.initiator).is_some_and(|below| operation.sequence < *below)
    }

    fn check_work(&self, operation: OperationId, work: Work) -> Result<u64, ProtocolError> {
        let memory = |error| ProtocolError::Memory { operation, error };
        match work {
            Work::Put { at, bytes, remote_event } => {
                self.memory.check(at, bytes).map_err(memory)?;
                let count = self.events.count();
                match remote_event {
                    Some(event) if event.0 >= count => {
                        Err(ProtocolError::NoSuchEvent { operation, event: event.0, count })
                    }
                    _ => Ok(bytes),
                }
            }
            Work::Query { variable, assignment, .. } => {
                for at in [Some(variable), assignment.map(|(at, _)| at)].into_iter().flatten() {
                    GlobalVariable::at(at).map_err(memory)?;
                    self.memory.check(at, GlobalVariable::BYTES).map_err(memory)?;
                }
                Ok(0)
            }
        }
    }

    /// Proposes a place for an operation that is here as a whole. An operation with a sole node has its
    /// final place at once; a query with nothing before it is answered at once, and held.
    fn propose_when_complete(&mut self, operation: OperationId) {
        let Some(participation) = self.participations.get_mut(&operation) else { return };
        if participation.missing_bytes > 0 || participation.stage != Stage::Receiving {
            return;
        }
        let place = self.order.propose(operation, participation.base);
        participation.own = Ballot { lowest: place.0, highest: place.0, vote: Vote::True };
        if participation.sole {
            participation.stage = Stage::Ordered(place);
        } else {
            participation.stage = Stage::Proposed(place);
            if let Work::Query { variable, condition, value, .. } = participation.work {
                let vote = match self.order.has_reached(place) {
                    false => Vote::Busy,
                    true if self.evaluate(variable, condition, value) => Vote::True,
                    true => Vote::False,
                };
                if let Some(participation) = self.participations.get_mut(&operation) {
                    participation.own.vote = vote;
                }
            }
        }
        self.acknowledge_when_done(operation);
        self.advance();
    }

    fn acknowledge_when_done(&mut self, operation: OperationId) {
        let Some(participation) = self.participations.get_mut(&operation) else { return };
        if participation.acknowledged
            || !participation.awaiting.is_empty()
            || !participation.has_reached_goal()
        {
            return;
        }
        participation.acknowledged = true;
        let ballot = participation.own.merge(participation.below);
        let Participation { parent, wave, sole, awaited, .. } = *participation;
        let message = Message::Acknowledge { operation, wave, ballot };
        if sole && parent != self.node && !self.dead.contains(parent) {
            self.receipts.push_back(Receipt { to: parent, message, awaited });
        } else {
            self.transmit(parent, message);
        }
    }

    /// A query has its answer: it writes, if it holds, and is over here.
    fn conclude(&mut self, operation: OperationId, place: Place, work: Work, holds: bool) {
        self.order.remove(place);
        let wrote = holds && self.assign(work);
        self.settle(operation, wrote.then_some(Verdict::Conclude(true)));
    }

    /// An operation that has left the queue is over here.
    fn settle(&mut self, operation: OperationId, effect: Option<Verdict>) {
        let Some(participation) = self.participations.get_mut(&operation) else { return };
        participation.stage = Stage::Settled(effect);
        participation.payload.clear();
        let sole = participation.sole;
        self.acknowledge_when_done(operation);
        if sole {
            self.participations.remove(&operation);
        }
    }

    fn put(&mut self, at: GlobalAddress, payload: &[Bytes]) {
        let mut to = at;
        for fragment in payload {
            let written = self.memory.write(to, fragment);
            debug_assert_eq!(written, Ok(()), "the range was checked when the operation came");
            to = GlobalAddress(to.0 + fragment.len() as u64);
        }
    }

    fn evaluate(&self, variable: GlobalAddress, condition: Condition, value: u64) -> bool {
        let current = GlobalVariable::at(variable).and_then(|variable| self.memory.load(variable));
        debug_assert!(current.is_ok(), "the variable was checked when the operation came");
        current.is_ok_and(|current| condition.holds(current, value))
    }

    /// Makes a query's assignment. True when it has one.
    fn assign(&mut self, work: Work) -> bool {
        let Work::Query { assignment: Some((at, value)), .. } = work else { return false };
        let stored = GlobalVariable::at(at).and_then(|variable| self.memory.store(variable, value));
        debug_assert_eq!(stored, Ok(()), "the variable was checked when the operation came");
        true
    }
}
