//! The oracle: what was posted and what came of it, set against MPI's rules (MPI-5.0, §3.5 "Semantics of
//! Point-to-Point Communication").

use crate::random::Random;
use nic_emu::contexts::Context;
use nic_emu::matching::Envelope;
use nic_emu::memory::descriptor::ANY_TAG;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::Outcome;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendState {
    Pending,
    Complete,
    Cancelled,
}

#[derive(Clone, Debug)]
pub struct Message {
    pub envelope: Envelope,
    pub source: usize,
    pub destination: usize,
    pub bytes: usize,
    synchronous: bool,
    posted: u64,
    completed: u64,
    pub state: SendState,
    seed: u64,
}

impl Message {
    pub fn new(
        context: Context,
        source_in_comm: usize,
        source: usize,
        destination: usize,
        tag: i32,
        bytes: usize,
        synchronous: bool,
    ) -> Self {
        let envelope = Envelope { context, source: CommRank(source_in_comm as u32), tag };
        let state = SendState::Pending;
        Self { envelope, source, destination, bytes, synchronous, posted: 0, completed: 0, state, seed: 0 }
    }

    /// Its bytes, unlike those of any other message.
    pub fn data(&self) -> Vec<u8> {
        Random::new(self.seed).bytes(self.bytes)
    }
}

/// What a message of this tag tells of its type: with most tags something.
pub fn signature(tag: i32) -> u16 {
    (tag as u16).wrapping_mul(0x5555)
}

#[derive(Clone, Debug)]
pub struct Receive {
    pub envelope: Envelope,
    pub destination: usize,
    capacity: usize,
    posted: u64,
    pub outcome: Option<(u64, Outcome)>,
    data: Vec<u8>,
}

impl Receive {
    pub fn new(
        context: Context,
        destination: usize,
        from: Option<usize>,
        tag: Option<i32>,
        capacity: usize,
    ) -> Self {
        let source = from.map_or(CommRank::ANY_SOURCE, |from| CommRank(from as u32));
        let envelope = Envelope { context, source, tag: tag.unwrap_or(ANY_TAG) };
        Self { envelope, destination, capacity, posted: 0, outcome: None, data: Vec::new() }
    }

    /// It is neither complete nor cancelled.
    pub fn is_pending(&self) -> bool {
        self.outcome.is_none()
    }
}

struct Probed {
    at: u64,
    rank: usize,
    context: Context,
    outcome: Outcome,
}

/// Members of a collective, and when they entered and left it.
#[derive(Default)]
struct Attendance {
    entered: Vec<(usize, u64)>,
    left: Vec<(usize, u64)>,
}

/// What happened, in order. Messages of one source, and receives of one rank, are in the order of posting.
#[derive(Default)]
pub struct Log {
    time: u64,
    pub messages: Vec<Message>,
    pub receives: Vec<Receive>,
    probed: Vec<Probed>,
    /// By communicator and index: when each member entered and left.
    collectives: BTreeMap<(usize, usize), Attendance>,
}

impl Log {
    fn tick(&mut self) -> u64 {
        self.time += 1;
        self.time
    }

    pub fn add_message(&mut self, mut message: Message) -> usize {
        message.posted = self.tick();
        message.seed = 0x5eed_0000 + self.messages.len() as u64;
        self.messages.push(message);
        self.messages.len() - 1
    }

    pub fn add_receive(&mut self, mut receive: Receive) -> usize {
        receive.posted = self.tick();
        self.receives.push(receive);
        self.receives.len() - 1
    }

    pub fn send_buffered(&mut self, message: usize) {
        self.messages[message].state = SendState::Complete;
        assert!(
            !self.messages[message].synchronous,
            "a synchronous send is never complete when it is posted"
        );
    }

    pub fn send_completed(&mut self, message: usize, cancelled: bool) {
        let now = self.tick();
        let message = &mut self.messages[message];
        assert_eq!(message.state, SendState::Pending, "a send completes once");
        message.state = if cancelled { SendState::Cancelled } else { SendState::Complete };
        message.completed = now;
    }

    pub fn receive_completed(&mut self, receive: usize, outcome: &Outcome, buffer: &[u8]) {
        let now = self.tick();
        let receive = &mut self.receives[receive];
        assert!(receive.outcome.is_none(), "a receive completes once");
        receive.outcome = Some((now, *outcome));
        receive.data = buffer.to_vec();
    }

    pub fn probed(&mut self, rank: usize, context: Context, outcome: &Outcome) {
        let at = self.tick();
        self.probed.push(Probed { at, rank, context, outcome: *outcome });
    }

    pub fn entered(&mut self, comm: usize, index: usize, member: usize) {
        let now = self.tick();
        self.collectives.entry((comm, index)).or_default().entered.push((member, now));
    }

    pub fn left(&mut self, comm: usize, index: usize, member: usize) {
        let now = self.tick();
        self.collectives.entry((comm, index)).or_default().left.push((member, now));
    }

    /// Members that have entered a collective.
    pub fn arrived(&self, comm: usize, index: usize) -> usize {
        self.collectives.get(&(comm, index)).map_or(0, |c| c.entered.len())
    }

    /// Which message each completed receive got: the k-th receive of a (source, tag) got the k-th message of
    /// it, because neither messages nor receives overtake their like.
    fn pairs(&self) -> Vec<(usize, usize)> {
        type Key = (usize, Envelope2);
        let mut sent: HashMap<Key, Vec<usize>> = HashMap::new();
        for (i, message) in self.messages.iter().enumerate().filter(|(_, m)| m.state != SendState::Cancelled)
        {
            sent.entry((message.destination, key(&message.envelope))).or_default().push(i);
        }
        let mut taken: HashMap<Key, usize> = HashMap::new();
        let mut pairs = Vec::new();
        for (i, receive) in self.receives.iter().enumerate() {
            let Some((_, outcome)) = receive.outcome.filter(|(_, o)| !o.cancelled) else { continue };
            let key = (receive.destination, (receive.envelope.context, outcome.source, outcome.tag));
            let nth = taken.entry(key).or_default();
            let message = sent.get(&key).and_then(|messages| messages.get(*nth));
            *nth += 1;
            let message = *message
                .unwrap_or_else(|| panic!("receive {i} got a message that was not sent: {receive:?}"));
            pairs.push((i, message));
        }
        pairs
    }

    /// Messages that nobody has received and nobody has taken back.
    pub fn unreceived(&self) -> Vec<usize> {
        let received: Vec<usize> = self.pairs().into_iter().map(|(_, message)| message).collect();
        (0..self.messages.len())
            .filter(|i| self.messages[*i].state != SendState::Cancelled && !received.contains(i))
            .collect()
    }

    /// Checks all that has happened so far.
    pub fn check(&self) {
        let pairs = self.pairs();
        let receive_of: HashMap<usize, usize> =
            pairs.iter().map(|&(receive, message)| (message, receive)).collect();
        for &(r, m) in &pairs {
            let (receive, message) = (&self.receives[r], &self.messages[m]);
            let (completed, outcome) = receive.outcome.expect("paired receives are complete");
            assert!(
                receive.envelope.takes(&message.envelope),
                "a receive takes only what it may: {receive:?} {message:?}"
            );
            assert_eq!(
                outcome.length.bytes(),
                message.bytes as u64,
                "receive {r} and message {m} agree on the length"
            );
            assert_eq!(
                outcome.length.signature(),
                signature(outcome.tag),
                "message {m} keeps what was told of its type"
            );
            let kept = message.bytes.min(receive.capacity);
            assert!(
                receive.data[..kept] == message.data()[..kept],
                "message {m} arrived whole in receive {r}"
            );
            assert!(receive.data[kept..].iter().all(|&b| b == 0xaa), "nothing is written behind message {m}");
            assert!(message.posted < completed, "nothing is received before it is sent");
            if message.synchronous && message.state == SendState::Complete {
                assert!(
                    receive.posted < message.completed,
                    "synchronous send {m} completed before its receive was posted"
                );
            }
        }
        self.check_order(&pairs, &receive_of);
        for (m, message) in self.messages.iter().enumerate() {
            let received = receive_of.contains_key(&m);
            let matched_send = message.synchronous || message.bytes > nic_emu::memory::slab::RUN_BYTES;
            assert!(
                !(matched_send && message.state == SendState::Complete)
                    || received
                    || self.is_received_later(message),
                "send {m} completed, but nobody received it: {message:?}"
            );
        }
        for probe in &self.probed {
            let envelope =
                Envelope { context: probe.context, source: probe.outcome.source, tag: probe.outcome.tag };
            let seen = self.messages.iter().enumerate().any(|(m, message)| {
                message.destination == probe.rank
                    && message.envelope == envelope
                    && message.bytes as u64 == probe.outcome.length.bytes()
                    && probe.outcome.length.signature() == signature(probe.outcome.tag)
                    && message.posted < probe.at
                    && receive_of
                        .get(&m)
                        .is_none_or(|&r| self.receives[r].outcome.is_none_or(|(t, _)| t > probe.at))
            });
            assert!(seen, "rank {} probed a message that was not there: {:?}", probe.rank, probe.outcome);
        }
    }

    /// Checks what has happened when a job was cut short: receives that are not complete may have taken
    /// messages that nobody knows of. Every complete one got a message that was sent, whole, no message
    /// twice, and those of one source and tag in order.
    pub fn check_cut_short(&self) {
        let mut last: HashMap<(usize, Envelope2), usize> = HashMap::new();
        for (r, receive) in self.receives.iter().enumerate() {
            let Some((completed, outcome)) = receive.outcome.filter(|(_, o)| !o.cancelled) else { continue };
            let envelope =
                Envelope { context: receive.envelope.context, source: outcome.source, tag: outcome.tag };
            let key = (receive.destination, key(&envelope));
            let after = last.get(&key).map_or(0, |last| last + 1);
            let found = (after..self.messages.len()).find(|&m| {
                let message = &self.messages[m];
                let kept = message.bytes.min(receive.capacity);
                message.destination == receive.destination
                    && message.envelope == envelope
                    && receive.envelope.takes(&message.envelope)
                    && message.state != SendState::Cancelled
                    && message.posted < completed
                    && outcome.length.bytes() == message.bytes as u64
                    && receive.data[..kept] == message.data()[..kept]
                    && receive.data[kept..].iter().all(|&byte| byte == 0xaa)
            });
            let found = found.unwrap_or_else(|| panic!("receive {r} got what nobody sent it: {receive:?}"));
            last.insert(key, found);
        }
    }

    /// A completed send may have been matched by a receive that is not complete yet.
    fn is_received_later(&self, message: &Message) -> bool {
        self.receives.iter().any(|receive| {
            receive.destination == message.destination
                && receive.is_pending()
                && receive.envelope.takes(&message.envelope)
        })
    }

    /// Nothing overtakes: of two messages of one source that a receive may take, it gets the first unless an
    /// earlier receive got that; of two receives that may take a message, the first gets it.
    fn check_order(&self, pairs: &[(usize, usize)], receive_of: &HashMap<usize, usize>) {
        for &(r, m) in pairs {
            let (receive, message) = (&self.receives[r], &self.messages[m]);
            for (earlier, other) in self.messages[..m].iter().enumerate() {
                let rivals = other.source == message.source
                    && other.destination == message.destination
                    && other.state != SendState::Cancelled
                    && receive.envelope.takes(&other.envelope);
                // A receive that is still moving has taken a message that `pairs` does not know of.
                let taken = receive_of.get(&earlier).map_or_else(
                    || {
                        self.receives[..r].iter().any(|x| {
                            x.destination == other.destination
                                && x.is_pending()
                                && x.envelope.takes(&other.envelope)
                        })
                    },
                    |&by| by < r,
                );
                assert!(!rivals || taken, "message {m} overtook message {earlier} into receive {r}");
            }
        }
    }

    /// Whether all members have entered before any left: the rule of barriers.
    pub fn check_barrier(&self, comm: usize, index: usize, members: usize) {
        let Some(Attendance { entered, left }) = self.collectives.get(&(comm, index)) else { return };
        let last = entered.iter().map(|(_, at)| *at).max().unwrap_or(0);
        if let Some((member, at)) = left.iter().min_by_key(|(_, at)| *at) {
            assert!(
                entered.len() == members && *at > last,
                "member {member} left collective {index} of {comm} too early"
            );
        }
    }
}

type Envelope2 = (Context, CommRank, i32);

fn key(envelope: &Envelope) -> Envelope2 {
    (envelope.context, envelope.source, envelope.tag)
}
