//! Operations that began on this node: queued, sent down the tree in waves, decided, completed.
//!
//! ```text
//!             nothing before it     all proposed            all done
//!   waiting ──────────────────► preparing ──► decided: Order ──► (query: decided: Conclude) ──► over
//!                                   └─── a node died: decided: Abort ───────────────────────────►┘
//! ```
//!
//! Invariant: operations begin in the order of their calls, and one begins only when every earlier one that
//! shares a node with it has its place (or is on the same link, ahead of it). So operations of one node
//! take effect on another in the order in which they were called. Only what has no effect, and asks for receipts, begins before its turn.
//!
//! Invariant: with every operation that begins, at most [`OPERATIONS_LIMIT`] have begun that another node may remember. It
//! forgets one with a sole node before it acknowledges it, and the others when it is told that all before them are over
//! (`settled_below`). So an operation waits not only for those that are under way, but also while too many are over that come
//! after one that is not. Whatever order messages come in: what a node remembers began when, or before, the highest numbered of
//! it did, and what came with that one has made it forget all that was not counted then. So no node ever finds more.

use super::lane::Lane;
use super::message::{
    Ballot, FRAGMENT_BYTES, INLINE_BYTES, Message, OperationId, Stamp, Verdict, Vote, Work,
};
use super::order::Place;
use super::{Children, TreeNode};
use crate::event::EventId;
use crate::fabric::{
    Assignment, Comparison, FabricError, Operation, Source, Ticket, check_event, check_nodes,
};
use crate::global_memory::{GlobalAddress, GlobalMemory, GlobalVariable};
use crate::ids::NodeId;
use crate::node_set::NodeSet;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// How many operations of one node may be under way, untaken answers and failures included; and how many of one node
/// others remember at most. Who has more at another node does not keep the protocol.
pub const OPERATIONS_LIMIT: usize = 1024;

/// Who wants to know how an operation ends.
#[derive(Clone, Copy, Debug)]
enum Client {
    /// The local event of an Xfer-And-Signal.
    Transfer(Option<EventId>),
    /// The ticket of a Compare-And-Write, whose number is the operation's.
    Query(Ticket),
}

impl Client {
    fn operation(self) -> Operation {
        match self {
            Self::Transfer(_) => Operation::XferAndSignal,
            Self::Query(_) => Operation::CompareAndWrite,
        }
    }
}

/// An operation that has not begun.
#[derive(Debug)]
struct Waiting {
    sequence: u64,
    nodes: NodeSet,
    work: Work,
    payload: Bytes,
    client: Client,
}

/// An operation that has begun.
#[derive(Debug)]
struct Begun {
    nodes: NodeSet,
    work: Work,
    client: Client,
    sole: Option<NodeId>,
    /// The lane of its `Prepare`, if it has a sole node, unless it has fragments: then the lane of its last message.
    lane: Lane,
    decided: Option<Verdict>,
    /// Its place, once it is known.
    stamp: Option<Stamp>,
    /// The client has been told.
    reported: bool,
    wave: u32,
    awaiting: Children,
    ballot: Ballot,
}

impl Begun {
    /// Whether a death can still make it happen nowhere.
    fn can_abort(&self) -> bool {
        match (self.decided, self.work) {
            (None, _) | (Some(Verdict::Order(_)), Work::Query { .. }) => true,
            (Some(Verdict::Order(_)), Work::Put { .. })
            | (Some(Verdict::Abort | Verdict::Conclude(_)), _) => false,
        }
    }
}

/// What happens on this node when an operation's completion takes its place in the order.
#[derive(Clone, Copy, Debug)]
enum Completion {
    Transfer(Option<EventId>),
    Answer(Ticket, bool),
}

/// How many operations with the same sole node are under way.
#[derive(Clone, Copy, Debug, Default)]
struct SoleUnderWay {
    all: usize,
    /// Those that the next one must stay behind in the bulk lane.
    bulk: usize,
    /// The operation that asks the node for its receipts, while it is under way.
    hurry: Option<u64>,
}

/// The operations of this node.
#[derive(Debug, Default)]
pub(super) struct Initiator {
    /// The number of the last operation.
    last_sequence: u64,
    waiting: VecDeque<Waiting>,
    begun: BTreeMap<u64, Begun>,
    /// Operations of several nodes that are over, but come after one that is not: others still remember them.
    lingering: BTreeSet<u64>,
    /// Operations with one node that are under way, by node.
    sole_under_way: BTreeMap<NodeId, SoleUnderWay>,
    completions: BTreeMap<Place, Completion>,
    /// Every ticket whose answer has not been taken, with the answer when it is there.
    answers: BTreeMap<Ticket, Option<Result<bool, FabricError>>>,
    /// Failed transfers with a local event.
    event_failures: BTreeMap<EventId, VecDeque<FabricError>>,
    /// Failed transfers without.
    failures: VecDeque<FabricError>,
}

impl Initiator {
    /// All operations below this number are over everywhere.
    fn settled_below(&self) -> u64 {
        let first_begun = self.begun.keys().next().copied();
        let first_waiting = self.waiting.front().map(|waiting| waiting.sequence);
        [first_begun, first_waiting].into_iter().flatten().min().unwrap_or(self.last_sequence + 1)
    }

    fn under_way(&self) -> usize {
        let failures = self.failures.len() + self.event_failures.values().map(VecDeque::len).sum::<usize>();
        self.waiting.len() + self.begun.len() + self.completions.len() + self.answers.len() + failures
    }

    /// Whether others may remember as much of this node as they ever do.
    fn is_at_limit(&self) -> bool {
        self.begun.len() + self.lingering.len() >= OPERATIONS_LIMIT
    }

    /// Whether an operation must wait: until others remember less of this node, or for the place of an earlier one that
    /// shares a node with it. Two operations with the same sole node need not: the link keeps their order.
    fn must_wait(&self, nodes: &NodeSet) -> bool {
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

    fn fail(&mut self, client: Client, error: FabricError) {
        match client {
            Client::Transfer(Some(event)) => self.event_failures.entry(event).or_default().push_back(error),
            Client::Transfer(None) => self.failures.push_back(error),
            Client::Query(ticket) => {
                self.answers.insert(ticket, Some(Err(error)));
            }
        }
    }
}

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

    /// Whether an operation under way needs a node: one that began here and includes it, one that it began, or one that
    /// goes through it.
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

    /// Receipts for which nobody waited may be waiting for a message with which to travel. Now they are wanted: a transfer of nothing to each of these nodes, whose
    /// receipt is awaited, brings those of all before it. It begins before its turn, and has nothing to be in order with.
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
