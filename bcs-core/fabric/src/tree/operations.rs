//! Operations that began on this node: queued, sent down the tree in waves, decided, completed.
//!
//! ```text
//!             nothing before it     all proposed            all done
//!   waiting ──────────────────► preparing ──► decided: Order ──► (query: decided: Conclude) ──► over
//!                                   └─── a node died: decided: Abort ───────────────────────────►┘
//! ```
//!
//! Invariant: operations begin in the order of their calls, and one begins only when every earlier one that
//! shares a node with it has its place (or is on the same link, ahead of it). So operations of one node take
//! effect on another in the order in which they were called. Only what has no effect, and asks for receipts,
//! begins before its turn.
//!
//! Invariant: with every operation that begins, at most [`OPERATIONS_LIMIT`] have begun that another node may
//! remember. It forgets one with a sole node before it acknowledges it, and the others when it is told that
//! all before them are over (`settled_below`). So an operation waits not only for those that are under way,
//! but also while too many are over that come after one that is not. Whatever order messages come in: what a
//! node remembers began when, or before, the highest numbered of it did, and what came with that one has made
//! it forget all that was not counted then. So no node ever finds more.

use super::initiator::{Begun, Client, Completion, OPERATIONS_LIMIT, SoleUnderWay, Waiting};
use super::lane::Lane;
use super::message::{Ballot, FRAGMENT_BYTES, INLINE_BYTES, Message, OperationId, Verdict, Vote, Work};
use super::node::TreeNode;
use crate::{Assignment, Comparison, FabricError, Operation, Source, Ticket, check_event, check_nodes};
use bcs_core::event::EventId;
use bcs_core::global_memory::{GlobalAddress, GlobalMemory, GlobalVariable};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bytes::Bytes;

impl<M: GlobalMemory> TreeNode<M> {
    /// Xfer-And-Signal; see [`crate::Fabric::xfer_and_signal`].
    ///
    /// # Errors
    /// As there.
    pub fn xfer_and_signal(
        &mut self,
        source: Source<'_>,
        destinations: &NodeSet,
        at: GlobalAddress,
        local_event: Option<EventId>,
        remote_event: Option<EventId>,
    ) -> Result<(), FabricError> {
        const OPERATION: Operation = Operation::XferAndSignal;
        self.check_start(OPERATION, destinations)?;
        let memory_error = FabricError::memory(OPERATION);
        self.memory.check(at, source.bytes()).map_err(&memory_error)?;
        for event in [local_event, remote_event].into_iter().flatten() {
            check_event(OPERATION, event, self.events.count())?;
        }
        let payload = match source {
            Source::Bytes(data) => Bytes::copy_from_slice(data),
            Source::Shared(data) => data.clone(),
            Source::Global { at, bytes } => {
                self.memory.check(at, bytes).map_err(&memory_error)?;
                let mut data = vec![0; bytes as usize];
                self.memory.read(at, &mut data).map_err(&memory_error)?;
                data.into()
            }
        };
        let work = Work::Put { at, bytes: payload.len() as u64, remote_event };
        self.start(destinations, work, payload, |_| Client::Transfer(local_event));
        Ok(())
    }

    /// Compare-And-Write, started; see [`crate::Fabric::compare_and_write`].
    ///
    /// # Errors
    /// As there.
    pub fn compare_and_write(
        &mut self,
        nodes: &NodeSet,
        comparison: Comparison,
        assignment: Option<Assignment>,
    ) -> Result<Ticket, FabricError> {
        const OPERATION: Operation = Operation::CompareAndWrite;
        self.check_start(OPERATION, nodes)?;
        let variables = [Some(comparison.variable), assignment.map(|assignment| assignment.variable)];
        for variable in variables.into_iter().flatten() {
            let checked = self.memory.check(variable.address(), GlobalVariable::BYTES);
            checked.map_err(FabricError::memory(OPERATION))?;
        }
        let work = Work::Query {
            variable: comparison.variable.address(),
            condition: comparison.condition,
            value: comparison.value,
            assignment: assignment.map(|assignment| (assignment.variable.address(), assignment.value)),
        };
        let ticket = Ticket(self.initiator.last_sequence + 1);
        self.initiator.answers.insert(ticket, None);
        self.start(nodes, work, Bytes::new(), |sequence| Client::Query(Ticket(sequence)));
        Ok(ticket)
    }

    /// Test-Event; see [`crate::Fabric::test_event`].
    ///
    /// # Errors
    /// As there.
    pub fn test_event(&mut self, event: EventId) -> Result<u32, FabricError> {
        if !self.initiator.event_failures.is_empty()
            && let Some(failures) = self.initiator.event_failures.get_mut(&event)
        {
            let failure = failures.pop_front();
            if failures.is_empty() {
                self.initiator.event_failures.remove(&event);
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        let count = self.events.count();
        let operation = Operation::TestEvent;
        self.events.take(event).ok_or(FabricError::NoSuchEvent { operation, event, count })
    }

    /// Takes the answer of a query; see [`crate::Fabric::test_query`].
    ///
    /// # Errors
    /// As there.
    pub fn test_query(&mut self, ticket: Ticket) -> Option<Result<bool, FabricError>> {
        match self.initiator.answers.get(&ticket) {
            Some(None) => None,
            Some(Some(_)) => self.initiator.answers.remove(&ticket).flatten(),
            None => Some(Err(FabricError::UnknownTicket(ticket))),
        }
    }

    /// Takes a failure; see [`crate::Fabric::take_failure`].
    pub fn take_failure(&mut self) -> Option<FabricError> {
        self.initiator.failures.pop_front()
    }

    /// Whether an operation under way needs a node: one that began here and includes it, one that it began,
    /// or one that goes through it.
    pub fn involves(&self, node: NodeId) -> bool {
        self.initiator.begun.values().any(|begun| begun.nodes.contains(node))
            || self.initiator.waiting.iter().any(|waiting| waiting.nodes.contains(node))
            || self.participates_with(node)
    }

    /// Whether operations of this node are under way.
    pub fn is_idle(&self) -> bool {
        self.initiator.waiting.is_empty()
            && self.initiator.begun.is_empty()
            && self.initiator.completions.is_empty()
    }

    /// An acknowledgement of a child in a wave that began here.
    pub(super) fn handle_ballot(&mut self, from: NodeId, sequence: u64, wave: u32, ballot: Ballot) {
        let Some(begun) = self.initiator.begun.get_mut(&sequence) else { return };
        if begun.wave != wave {
            return;
        }
        let Some(child) = begun.awaiting.iter().position(|child| *child == from) else { return };
        begun.awaiting.swap_remove(child);
        begun.ballot = begun.ballot.merge(ballot);
        self.decide_when_complete(sequence);
        self.advance();
    }

    /// A node has died: what includes it fails if it can, and is decided again over a tree without it if not.
    pub(super) fn abandon_dead(&mut self, dead: NodeId) {
        let concerned: Vec<u64> = self
            .initiator
            .begun
            .iter()
            .filter(|(_, begun)| begun.nodes.contains(dead))
            .map(|(sequence, _)| *sequence)
            .collect();
        for sequence in concerned {
            let Some(begun) = self.initiator.begun.get_mut(&sequence) else { continue };
            begun.nodes.remove(dead);
            let error = FabricError::NodeDead { operation: begun.client.operation(), node: dead };
            match (begun.sole, begun.decided) {
                (Some(_), _) => {
                    let client = begun.client;
                    self.initiator.fail(client, error);
                    self.end(sequence);
                }
                (None, _) if begun.can_abort() => {
                    begun.reported = true;
                    let client = begun.client;
                    self.initiator.fail(client, error);
                    self.decide(sequence, Verdict::Abort);
                }
                (None, Some(verdict)) => self.decide(sequence, verdict),
                // Undecided operations can be aborted: `can_abort` says so.
                (None, None) => {}
            }
        }
        self.begin_waiting();
        self.advance();
    }

    /// This node takes no further part: everything that it has started fails.
    pub(super) fn abandon_all(&mut self) {
        let node = self.node;
        let initiator = &mut self.initiator;
        initiator.lingering.clear();
        let mut clients: Vec<Client> = std::mem::take(&mut initiator.begun)
            .into_values()
            .filter(|begun| !begun.reported)
            .map(|begun| begun.client)
            .collect();
        clients.extend(std::mem::take(&mut initiator.waiting).into_iter().map(|waiting| waiting.client));
        for client in clients {
            initiator.fail(client, FabricError::SelfDead { operation: client.operation(), node });
        }
    }

    /// Reports the completions whose turn has come.
    pub(super) fn release_completions(&mut self) {
        while let Some(completion) = self.initiator.completions.first_entry() {
            if !self.order.has_reached(*completion.key()) {
                break;
            }
            match completion.remove() {
                Completion::Transfer(Some(event)) => {
                    self.events.signal(event);
                }
                Completion::Transfer(None) => {}
                Completion::Answer(ticket, holds) => {
                    self.initiator.answers.insert(ticket, Some(Ok(holds)));
                }
            }
        }
    }

    fn check_start(&self, operation: Operation, nodes: &NodeSet) -> Result<(), FabricError> {
        if self.cut_off {
            return Err(FabricError::SelfDead { operation, node: self.node });
        }
        check_nodes(operation, nodes, &self.members, &self.dead)?;
        match self.initiator.under_way() < OPERATIONS_LIMIT {
            true => Ok(()),
            false => Err(FabricError::Busy { operation, limit: OPERATIONS_LIMIT, unit: "operations" }),
        }
    }

    fn start(&mut self, nodes: &NodeSet, work: Work, payload: Bytes, client: impl Fn(u64) -> Client) {
        self.initiator.last_sequence += 1;
        let sequence = self.initiator.last_sequence;
        let client = client(sequence);
        self.initiator.waiting.push_back(Waiting { sequence, nodes: nodes.clone(), work, payload, client });
        self.begin_waiting();
        if self.initiator.under_way() >= OPERATIONS_LIMIT / 2 {
            let all = self.initiator.sole_under_way.keys().copied().collect();
            self.hurry(&all);
        }
        self.handle_loopback();
    }

    /// Begins operations, in the order of their calls, until one must wait.
    fn begin_waiting(&mut self) {
        while let Some(next) = self.initiator.waiting.front() {
            if self.initiator.must_wait(&next.nodes) {
                if next.nodes.sole().is_none() {
                    let nodes = next.nodes.clone();
                    self.hurry(&nodes);
                }
                return;
            }
            let Some(next) = self.initiator.waiting.pop_front() else { return };
            match next.nodes.intersection(&self.dead).first() {
                Some(node) => {
                    let error = FabricError::NodeDead { operation: next.client.operation(), node };
                    self.initiator.fail(next.client, error);
                }
                None => self.begin(next),
            }
        }
    }

    /// Receipts for which nobody waited may be waiting for a message with which to travel. Now they are
    /// wanted: a transfer of nothing to each of these nodes, whose receipt is awaited, brings those of all
    /// before it. It begins before its turn, and has nothing to be in order with.
    fn hurry(&mut self, nodes: &NodeSet) {
        let late = |(node, under_way): (&NodeId, &SoleUnderWay)| {
            let is_late = under_way.hurry.is_none() && nodes.contains(*node) && !self.dead.contains(*node);
            is_late.then_some(*node)
        };
        let late: Vec<NodeId> = self.initiator.sole_under_way.iter().filter_map(late).collect();
        for node in late {
            if self.initiator.is_at_limit() {
                break;
            }
            self.initiator.last_sequence += 1;
            let (sequence, payload) = (self.initiator.last_sequence, Bytes::new());
            let work = Work::Put { at: GlobalAddress(0), bytes: 0, remote_event: None };
            let (nodes, client) = (NodeSet::single(node), Client::Transfer(None));
            self.begin_awaited(Waiting { sequence, nodes, work, payload, client }, true);
            self.initiator.sole_under_way.entry(node).or_default().hurry = Some(sequence);
        }
    }

    fn begin(&mut self, waiting: Waiting) {
        // What a transfer in fragments has behind it takes the bulk lane until it is over.
        let awaited =
            !matches!(waiting.client, Client::Transfer(None)) || waiting.payload.len() > INLINE_BYTES;
        self.begin_awaited(waiting, awaited);
    }

    /// Begins an operation; `awaited`: somebody waits for the receipt.
    fn begin_awaited(&mut self, waiting: Waiting, awaited: bool) {
        let Waiting { sequence, nodes, work, mut payload, client } = waiting;
        let operation = OperationId { initiator: self.node, sequence };
        let sole = nodes.sole();
        let base = self.order.base();
        let settled_below = self.initiator.settled_below().min(sequence);
        let inline = if payload.len() <= INLINE_BYTES { std::mem::take(&mut payload) } else { Bytes::new() };
        let behind = sole.and_then(|node| self.initiator.sole_under_way.get(&node));
        let lane = if behind.is_some_and(|behind| behind.bulk > 0) { Lane::Bulk } else { Lane::Control };
        let last_lane = if payload.is_empty() { lane } else { Lane::Bulk };
        let awaiting = self.descend_in(lane, &nodes, |below| Message::Prepare {
            operation,
            work,
            base,
            settled_below,
            sole: sole.is_some(),
            awaited,
            below,
            payload: inline.clone(),
        });
        while !payload.is_empty() {
            let fragment = payload.split_to(payload.len().min(FRAGMENT_BYTES));
            for child in awaiting.clone() {
                self.transmit(child, Message::Fragment { operation, payload: fragment.clone() });
            }
        }
        if let Some(node) = sole {
            let under_way = self.initiator.sole_under_way.entry(node).or_default();
            under_way.all += 1;
            under_way.bulk += usize::from(last_lane == Lane::Bulk);
        }
        let begun = Begun {
            nodes,
            work,
            client,
            sole,
            lane: last_lane,
            decided: None,
            stamp: None,
            reported: false,
            wave: 1,
            awaiting,
            ballot: Ballot::BLANK,
        };
        self.initiator.begun.insert(sequence, begun);
    }

    /// A wave has come back from everywhere: what follows from it.
    fn decide_when_complete(&mut self, sequence: u64) {
        let Some(begun) = self.initiator.begun.get_mut(&sequence) else { return };
        if !begun.awaiting.is_empty() {
            return;
        }
        let ballot = begun.ballot;
        match (begun.decided, begun.work) {
            (None, _) if begun.sole.is_some() => {
                begun.stamp = Some(ballot.highest);
                self.report(sequence, ballot.vote == Vote::True);
                self.end(sequence);
            }
            (None, Work::Put { .. }) => self.decide(sequence, Verdict::Order(ballot.highest)),
            (None, Work::Query { .. }) => {
                begun.stamp = Some(ballot.highest);
                let verdict = match ballot.vote {
                    Vote::False => Verdict::Conclude(false),
                    Vote::True if ballot.lowest == ballot.highest => Verdict::Conclude(true),
                    Vote::True | Vote::Busy => Verdict::Order(ballot.highest),
                };
                self.decide(sequence, verdict);
            }
            (Some(Verdict::Order(_)), Work::Query { .. }) => {
                self.decide(sequence, Verdict::Conclude(ballot.vote == Vote::True));
            }
            (Some(Verdict::Order(_)), Work::Put { .. }) => {
                self.report(sequence, true);
                self.end(sequence);
            }
            (Some(Verdict::Conclude(holds)), _) => {
                self.report(sequence, holds);
                self.end(sequence);
            }
            (Some(Verdict::Abort), _) => self.end(sequence),
        }
    }

    /// Decides, and sends the decision down a tree of the living. Deciding the same again is a new wave.
    fn decide(&mut self, sequence: u64, verdict: Verdict) {
        let settled_below = self.initiator.settled_below();
        let Some(begun) = self.initiator.begun.get_mut(&sequence) else { return };
        begun.decided = Some(verdict);
        begun.wave += 1;
        begun.ballot = Ballot::BLANK;
        if let Verdict::Order(stamp) = verdict {
            begun.stamp = Some(stamp);
        }
        if let Some(stamp) = begun.stamp {
            self.order.observe(stamp);
        }
        let (nodes, wave, work) = (begun.nodes.difference(&self.dead), begun.wave, begun.work);
        // An answer that writes nothing is final when it is known.
        if let (Verdict::Conclude(holds), Work::Query { assignment, .. }) = (verdict, work)
            && (!holds || assignment.is_none())
        {
            self.report(sequence, holds);
        }
        let operation = OperationId { initiator: self.node, sequence };
        let awaiting =
            self.descend(&nodes, |below| Message::Decide { operation, wave, verdict, settled_below, below });
        if let Some(begun) = self.initiator.begun.get_mut(&sequence) {
            begun.awaiting = awaiting;
        }
        self.begin_waiting();
        self.decide_when_complete(sequence);
    }

    /// Hands an outcome to the client, once, when its place in the order is reached here.
    fn report(&mut self, sequence: u64, holds: bool) {
        let operation = OperationId { initiator: self.node, sequence };
        let Some(begun) = self.initiator.begun.get_mut(&sequence) else { return };
        if std::mem::replace(&mut begun.reported, true) {
            return;
        }
        let stamp = begun.stamp.unwrap_or_default();
        let completion = match begun.client {
            Client::Transfer(event) => Completion::Transfer(event),
            Client::Query(ticket) => Completion::Answer(ticket, holds),
        };
        self.order.observe(stamp);
        self.initiator.completions.insert((stamp, operation), completion);
    }

    /// An operation is over everywhere.
    fn end(&mut self, sequence: u64) {
        let Some(begun) = self.initiator.begun.remove(&sequence) else { return };
        if let Some(node) = begun.sole
            && let Some(under_way) = self.initiator.sole_under_way.get_mut(&node)
        {
            under_way.all -= 1;
            under_way.bulk -= usize::from(begun.lane == Lane::Bulk);
            under_way.hurry = under_way.hurry.filter(|asked| *asked != sequence);
            if under_way.all == 0 {
                self.initiator.sole_under_way.remove(&node);
            }
        }
        if begun.sole.is_none() {
            self.initiator.lingering.insert(sequence);
        }
        let settled_below = self.initiator.settled_below();
        while self.initiator.lingering.first().is_some_and(|first| *first < settled_below) {
            self.initiator.lingering.pop_first();
        }
        self.begin_waiting();
    }
}
