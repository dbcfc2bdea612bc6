//! One rank: carries out its calls step by step over its port, and logs what it posted and what came of it.

use crate::program::{Call, CollectiveCall, Program};
use crate::random::Random;
use crate::reference::reduced;
use crate::rules::{Log, Message, Receive, signature};
use bcs_core::Rank;
use nic_emu::contexts::Context;
use nic_emu::matching::Envelope;
use nic_emu::memory::descriptor::{ANY_TAG, Check, CollectiveKind};
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::memory::status::{Activity, Phase, RankStatus, Room, WaitingFor};
use nic_emu::port::board::Board;
use nic_emu::port::{Collective, Port, Posted, Release, Send};

/// A posted operation that is not complete.
struct Live {
    what: What,
    request: RequestId,
    buffer: Vec<u8>,
    cancelled: bool,
}

enum What {
    Send(usize),
    Receive(usize),
    Collective { comm: usize, index: usize },
}

/// What a rank is blocked in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Blocked {
    No,
    Oldest,
    All,
}

pub struct RankRun {
    pub rank: usize,
    port: Port,
    /// Members of each communicator that are on this rank's node, by rank in the communicator.
    local: Vec<Vec<usize>>,
    calls: Vec<Call>,
    next: usize,
    blocked: Blocked,
    live: Vec<Live>,
    /// It waits for room before it can make its next call.
    lacks_room: bool,
}

impl RankRun {
    pub fn new(rank: usize, port: Port, local: Vec<Vec<usize>>, calls: Vec<Call>) -> Self {
        Self { rank, port, local, calls, next: 0, blocked: Blocked::No, live: Vec::new(), lacks_room: false }
    }

    pub fn is_finished(&self) -> bool {
        self.next == self.calls.len() && self.live.is_empty()
    }

    pub fn add_call(&mut self, call: Call) {
        self.calls.push(call);
    }

    pub fn port(&mut self) -> &mut Port {
        &mut self.port
    }

    /// What it waits for, for a message.
    pub fn describe(&self) -> String {
        let live: Vec<String> = self
            .live
            .iter()
            .map(|live| match &live.what {
                What::Send(message) => format!("send {message}"),
                What::Receive(receive) => format!("receive {receive}"),
                What::Collective { comm, index } => format!("collective {index} of comm {comm}"),
            })
            .collect();
        format!("rank {} at call {} of {}: {}", self.rank, self.next, self.calls.len(), live.join(", "))
    }

    /// One step: looks at requests, then makes the next call if it is not blocked. True if something changed.
    pub fn step(&mut self, program: &Program, log: &mut Log, random: &mut Random) -> bool {
        let activity = match self.blocked {
            Blocked::No if !self.lacks_room => Activity::Computing,
            Blocked::No => Activity::Polling,
            _ if random.once_in(8) => Activity::Sleeping,
            _ => Activity::Polling,
        };
        self.status().set_activity(activity);
        self.status().set_phase(if self.is_finished() { Phase::Finalized } else { Phase::Attached });
        if self.blocked != Blocked::No || random.once_in(3) {
            self.port.progress().expect("the NIC is healthy");
        }
        let changed = self.look(program, log);
        let is_over = match self.blocked {
            Blocked::No => true,
            Blocked::Oldest | Blocked::All => self.live.is_empty(),
        };
        if is_over || self.blocked == Blocked::Oldest && changed {
            self.blocked = Blocked::No;
        }
        if self.blocked != Blocked::No {
            self.port.count_look();
            return changed;
        }
        if self.next == self.calls.len() {
            return changed;
        }
        let call = self.calls[self.next].clone();
        if let Some(room) = self.lacks(&call, program) {
            self.status().set_activity(Activity::Polling);
            if !std::mem::replace(&mut self.lacks_room, true) {
                self.status().set_waiting_for(&WaitingFor { room, ..WaitingFor::default() });
            }
            self.port.progress().expect("the NIC is healthy");
            self.port.count_look();
            return changed;
        }
        self.lacks_room = false;
        self.next += 1;
        self.call(&call, program, log);
        if self.blocked != Blocked::No {
            self.status().set_waiting_for(&WaitingFor::default());
        }
        true
    }

    fn status(&self) -> &RankStatus {
        &self.port.memory().rank(self.port.local_rank()).unwrap().status
    }

    /// Asks for all point-to-point operations to be taken back: the program is stuck in them. True if there
    /// are any that it has not asked for before.
    pub fn cancel_all(&mut self) -> bool {
        let mut asked = false;
        for live in &mut self.live {
            if let (What::Send(_) | What::Receive(_), false) = (&live.what, live.cancelled) {
                live.cancelled = true;
                self.port.cancel(live.request).unwrap();
                asked = true;
            }
        }
        asked
    }

    /// Requests that were posted and are not complete.
    pub fn outstanding(&self) -> impl Iterator<Item = Outstanding> + '_ {
        self.live.iter().map(|live| match live.what {
            What::Send(message) => Outstanding::Send(message),
            What::Receive(receive) => Outstanding::Receive(receive),
            What::Collective { comm, index } => Outstanding::Collective { comm, index },
        })
    }

    fn look(&mut self, program: &Program, log: &mut Log) -> bool {
        let mut changed = false;
        let mut i = 0;
        while i < self.live.len() {
            if self.look_at(i, program, log) {
                let mut live = self.live.remove(i);
                // The buffer is the program's again: nobody may read or write it any more.
                live.buffer.fill(0xee);
                changed = true;
            } else {
                i += 1;
            }
        }
        changed
    }

    /// True when the operation is complete.
    fn look_at(&mut self, i: usize, program: &Program, log: &mut Log) -> bool {
        let live = &self.live[i];
        match live.what {
            What::Send(message) => {
                let Some(outcome) = self.port.test(live.request).unwrap() else { return false };
                log.send_completed(message, outcome.cancelled);
                true
            }
            What::Receive(receive) => {
                let Some(outcome) = self.port.test(live.request).unwrap() else { return false };
                log.receive_completed(receive, &outcome, &live.buffer);
                true
            }
            What::Collective { comm, index } => {
                let members = &program.comms[comm].members;
                let me = members.iter().position(|&m| m == self.rank).unwrap();
                let Some(release) = self.port.test_collective(live.request).unwrap() else {
                    return false;
                };
                let call = &program.comms[comm].collectives[index];
                log.left(comm, index, me);
                check_release(&self.port, release, call, me, &self.local[comm]);
                true
            }
        }
    }

    fn call(&mut self, call: &Call, program: &Program, log: &mut Log) {
        match *call {
            Call::WaitAll => self.blocked = Blocked::All,
            Call::WaitOldest => self.blocked = Blocked::Oldest,
            Call::Cancel => {
                if let Some(live) = self.live.last_mut()
                    && matches!(live.what, What::Send(_) | What::Receive(_))
                {
                    live.cancelled = true;
                    self.port.cancel(live.request).unwrap();
                }
            }
            Call::Send { comm, to, tag, bytes, synchronous } => {
                let members = &program.comms[comm].members;
                let source = members.iter().position(|&m| m == self.rank).unwrap();
                let context = program.comms[comm].context;
                let destination = members[to];
                let message = log.add_message(Message::new(
                    context,
                    source,
                    self.rank,
                    destination,
                    tag,
                    bytes,
                    synchronous,
                ));
                let buffer = log.messages[message].data();
                let send = Send {
                    context,
                    source: CommRank(source as u32),
                    tag,
                    destination: Rank(destination as u32),
                    synchronous,
                    signature: signature(tag),
                    check: Check::NONE,
                };
                // SAFETY: the buffer stays where it is until the request is complete.
                match unsafe { self.port.post_send(&send, buffer.as_ptr(), bytes) }.unwrap() {
                    Posted::Complete => log.send_buffered(message),
                    Posted::Request(request) => {
                        self.live.push(Live { what: What::Send(message), request, buffer, cancelled: false });
                    }
                }
            }
            Call::Receive { comm, from, tag, capacity } => {
                self.post_receive(program.comms[comm].context, from, tag, capacity, log);
            }
            Call::Probe { comm, from, tag } => {
                let context = program.comms[comm].context;
                if let Some(found) = self.port.probe(&envelope(context, from, tag)).unwrap() {
                    log.probed(self.rank, context, &found);
                    self.post_receive(
                        context,
                        Some(found.source.index()),
                        Some(found.tag),
                        found.length.bytes() as usize,
                        log,
                    );
                }
            }
            Call::Collective { comm, index, blocking } => {
                self.post_collective(comm, index, program, log);
                if blocking {
                    self.blocked = Blocked::All;
                }
            }
        }
    }

    fn post_receive(
        &mut self,
        context: Context,
        from: Option<usize>,
        tag: Option<i32>,
        capacity: usize,
        log: &mut Log,
    ) {
        let mut buffer = vec![0xaa; capacity];
        let receive = log.add_receive(Receive::new(context, self.rank, from, tag, capacity));
        let envelope = envelope(context, from, tag);
        let (peer, place) =
            ((from.map_or(Rank::NOBODY, |rank| Rank(rank as u32)), 0), (buffer.as_mut_ptr(), capacity));
        // SAFETY: the buffer stays where it is, and nobody else uses it, until the request is complete.
        let request = unsafe { self.port.begin_receive(&envelope, Check::NONE, peer, 0, place) }.unwrap();
        self.live.push(Live { what: What::Receive(receive), request, buffer, cancelled: false });
    }

    /// The room that a call lacks. (Other calls than collectives find room here: they are fewer than a ring
    /// has cells.)
    fn lacks(&mut self, call: &Call, program: &Program) -> Option<Room> {
        let Call::Collective { comm, index, .. } = *call else { return None };
        let (collective, me) = self.collective(comm, index, program);
        self.port.lacks_for_collective(&collective, program.comms[comm].collectives[index].data[me].len())
    }

    /// A collective as this rank posts it, and this rank's rank in the communicator.
    fn collective(&self, comm: usize, index: usize, program: &Program) -> (Collective, usize) {
        let members = &program.comms[comm].members;
        let me = members.iter().position(|&m| m == self.rank).unwrap();
        let call = &program.comms[comm].collectives[index];
        let local = &self.local[comm];
        let collective = Collective {
            kind: call.kind,
            operation: match call.kind {
                CollectiveKind::Reduce | CollectiveKind::Allreduce => (call.op as u8, call.element as u8),
                _ => (0, 0),
            },
            context: program.comms[comm].context.of_collectives(),
            comm: (CommRank(me as u32).into(), members.len() as u32),
            root: CommRank(call.root as u32).into(),
            call: 0,
            most_bytes: 0,
            sequence: index as u32,
            local: (local.iter().position(|&m| m == me).unwrap() as u16, local.len() as u16),
        };
        (collective, me)
    }

    fn post_collective(&mut self, comm: usize, index: usize, program: &Program, log: &mut Log) {
        let (collective, me) = self.collective(comm, index, program);
        let call = &program.comms[comm].collectives[index];
        log.entered(comm, index, me);
        let buffer = call.data[me].clone();
        // What a member has nothing to wait for, it need not wait for.
        let wanted = match call.kind {
            CollectiveKind::Broadcast => me != call.root || call.waits && index.is_multiple_of(2),
            CollectiveKind::Reduce => me == call.root || call.waits && index.is_multiple_of(2),
            // Whoever wants nothing of the result waits for nobody: sometimes half of them, or all.
            CollectiveKind::Allreduce | CollectiveKind::Board => match index % 5 {
                3 => !(me + index).is_multiple_of(2),
                4 => false,
                _ => true,
            },
            CollectiveKind::Announcement => false,
            CollectiveKind::Barrier => true,
        };
        // SAFETY: the buffer has as many bytes.
        let request =
            unsafe { self.port.post_collective(&collective, buffer.as_ptr(), buffer.len(), wanted, None) }
                .unwrap();
        if let Some(request) = request {
            let what = What::Collective { comm, index };
            self.live.push(Live { what, request, buffer, cancelled: false });
        }
    }
}

pub enum Outstanding {
    Send(usize),
    Receive(usize),
    Collective { comm: usize, index: usize },
}

fn envelope(context: Context, from: Option<usize>, tag: Option<i32>) -> Envelope {
    Envelope {
        context,
        source: from.map_or(CommRank::ANY_SOURCE, |from| CommRank(from as u32)),
        tag: tag.unwrap_or(ANY_TAG),
    }
}

/// Checks what a collective gave a member; departs if it has to.
fn check_release(port: &Port, release: Release, call: &CollectiveCall, me: usize, local: &[usize]) {
    let expected = match call.kind {
        CollectiveKind::Barrier | CollectiveKind::Board => None,
        CollectiveKind::Broadcast => (me != call.root).then(|| call.data[call.root].clone()),
        CollectiveKind::Reduce if me != call.root => None,
        _ => Some(reduced(call.op, call.element, &call.data)),
    };
    match release {
        Release::Result(bytes) => {
            if call.kind == CollectiveKind::Board {
                // A small board comes whole.
                let all = call.data.concat();
                assert!(bytes[..all.len()] == all, "contributions as {me} gets them");
            }
            if let Some(expected) = expected {
                assert!(bytes[..expected.len()] == expected, "{:?}: result of rank {me}", call.kind);
            }
        }
        Release::Instance(index) => {
            let board = Board::new(port.memory(), index).unwrap();
            let read = |member: usize, bytes: usize| {
                let mut to = vec![0; bytes];
                // SAFETY: `to` has that many bytes.
                unsafe { board.read(member, 0, to.as_mut_ptr(), bytes) }.unwrap();
                to
            };
            match call.kind {
                CollectiveKind::Board => {
                    assert_eq!(board.len(), call.data.len(), "all members of {local:?} are on the board");
                    for (member, data) in call.data.iter().enumerate() {
                        assert_eq!(board.bytes(member), data.len() as u64);
                        assert!(
                            &read(member, data.len()) == data,
                            "contribution of {member} as {me} reads it"
                        );
                    }
                }
                _ => {
                    let member =
                        if call.kind == CollectiveKind::Broadcast { board.root() } else { board.result() };
                    if let Some(expected) = expected {
                        let member = member.expect("an instance to read from has something to read");
                        assert!(
                            read(member, expected.len()) == expected,
                            "{:?}: result of rank {me}",
                            call.kind
                        );
                    }
                }
            }
            board.depart().unwrap();
        }
    }
}
