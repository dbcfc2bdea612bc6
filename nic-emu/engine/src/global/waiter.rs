//! A rank that waits drives its node's part in messages between nodes: it hands descriptors to the links,
//! and takes what has come over them, so far as that needs no more than NIC memory. With elastic slices, and
//! where links can be driven by ranks.
//!
//! What it can take: sends whose bytes ride in their descriptor or have come with it, and what is told
//! of matches. Of anything else it leaves the record in its link, for the NIC thread, and goes past it.
//! Only descriptors of sends keep their order: what comes behind one that stays, because there is no
//! room for it say, stays, too. Invariant: what the NIC thread holds back of a node's, on its way out or
//! in, no descriptor goes past ([`crate::memory::node_state`]).

use super::arrival::{self, Arrived, is_awaited, matched_record};
use super::departure::{self, Append, finish_send};
use super::error::GlobalError;
use super::link::PATIENT_RECORDS;
use super::message::{payload_bytes, place};
use super::record::{HEADER_BYTES, Kind, PostingSlice, Record};
use crate::matching::queued_message;
use crate::memory::descriptor::{Payload, PointToPoint};
use crate::memory::ring::{CELL_WORDS, LABEL};
use crate::memory::{Corrupt, ENTRIES, NicMemory};
use crate::policy::Pacing;
use crate::threads::completer::{Completer, Touched};
use smallvec::SmallVec;

/// Links to other nodes, as ranks drive them. Nothing here blocks. Who finds that a link has ended finds
/// nothing there and can append nothing to it: what that means is the NIC thread's to say.
pub trait NodeLinks {
    /// The longest record, in bytes.
    fn record_bytes(&self) -> usize;

    /// Receives what has come. True if something has.
    fn receive(&mut self) -> bool;

    /// Shows the records that have come, that nobody has taken, and that this rank has not gone past, of each
    /// node in its order; of one that no rank takes ([`may_be_taken`]) the header alone. With each comes a
    /// call that appends an answer, a record without a payload, for the same node, for which there is room.
    ///
    /// # Errors
    /// Those of `take`.
    fn take(&mut self, take: &mut Take<'_>) -> Result<Left, Corrupt>;

    /// Appends a record; false when there is no room for it, or no link that this rank can use.
    fn append(&mut self, to: u32, record: &[u8]) -> bool;

    /// Sends what was appended for a node.
    fn send(&mut self, to: u32);
}

/// Whether a record with this header may be a rank's to take: others it need not see whole.
pub fn may_be_taken(header: &[u8; HEADER_BYTES]) -> bool {
    matches!(Kind::of(header), Some(Kind::Matched | Kind::Send))
}

/// What is called for each record: its node, its bytes, and what appends an answer.
pub type Take<'a> = dyn FnMut(u32, &[u8], &mut dyn FnMut(&[u8])) -> Result<Taken, Corrupt> + 'a;

/// What becomes of a record that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is taken.
    Here,
    /// It is the NIC thread's, and others may go past it.
    ByThread,
    /// It stays, and so do those behind it.
    Stays,
}

/// What a look at the records that have come has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// There is something for the NIC thread, which others can go past.
    pub for_thread: bool,
    /// Something stays that nobody can go past before the NIC thread has taken it.
    pub in_the_way: bool,
}

/// What a pass has done.
pub struct Passed {
    /// Something has moved.
    pub moved: bool,
    /// What is left for the NIC thread.
    pub left: Left,
    /// Ranks to wake, once the run token is given back.
    pub touched: Touched,
}

/// A rank that waits, as it drives the links.
#[derive(Debug, Default)]
pub struct Waiter {
    /// Where records are encoded.
    room: Vec<u8>,
}

impl Waiter {
    /// Hands over what has come and what is to leave. The caller holds the run token.
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn pass(&mut self, memory: &NicMemory, links: &mut dyn NodeLinks) -> Result<Passed, Corrupt> {
        let mut completer = Completer::new(memory, Pacing::of(memory));
        let mut pass = Pass { memory, urgent: SmallVec::new(), sent: 0, taken: 0 };
        // What is to leave leaves first: somebody waits for it.
        pass.answer_matches(links)?;
        let payload_bytes = payload_bytes(links.record_bytes() as u64);
        let room = &mut self.room;
        let send = |to, record: &Record, payload_bytes, append: &mut Append<'_>| {
            if pass.is_held_up(to).unwrap_or(true) {
                return Ok(false);
            }
            room.clear();
            room.extend_from_slice(&record.header(payload_bytes));
            append(room)?;
            let is_sent = links.append(to, room);
            if is_sent {
                pass.note_sent(to, true)?;
            }
            Ok(is_sent)
        };
        departure::exchange(memory, PostingSlice::default(), payload_bytes, send)?;
        pass.send(links)?;
        let received = links.receive();
        let left = links.take(&mut |from, record, answer| pass.take(&mut completer, from, record, answer))?;
        pass.send(links)?;
        let Pass { sent, taken, .. } = pass;
        let remote = &memory.header().remote;
        let moved = received || sent != 0 || taken != 0;
        if moved {
            remote.rest.set(0);
            remote.by_ranks.sent.add(sent as i64);
            remote.by_ranks.taken.add(taken as i64);
            remote.by_ranks.moves.add(1);
        }
        let in_the_way = left.in_the_way || remote.outbound.get() != 0 || !remote.matches.is_empty();
        let left = Left { in_the_way, ..left };
        Ok(Passed { moved, left, touched: completer.touched })
    }
}

/// A pass of a rank that waits.
struct Pass<'m> {
    memory: &'m NicMemory,
    /// Nodes for which something was appended that somebody waits for.
    urgent: SmallVec<[u32; 8]>,
    sent: u64,
    taken: u64,
}

impl Pass<'_> {
    fn take(
        &mut self,
        completer: &mut Completer<'_>,
        from: u32,
        bytes: &[u8],
        answer: &mut dyn FnMut(&[u8]),
    ) -> Result<Taken, Corrupt> {
        // What makes no sense the NIC thread finds, too, and says so.
        let Some((header, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Ok(Taken::Stays);
        };
        if Kind::of(header).is_some() && !may_be_taken(header) {
            return Ok(Taken::ByThread);
        }
        let Some(record) = Record::decode(header, payload.len()) else { return Ok(Taken::Stays) };
        match record.kind {
            Kind::Matched if self.memory.local_rank(record.rank)?.is_some() => {
                finish_send(self.memory, completer, from, &record)?;
            }
            Kind::Send if self.may_take(from, &record, payload)? => {
                match arrival::take(self.memory, completer, from, (&record, payload), false) {
                    Err(GlobalError::Corrupt(corrupt)) => return Err(corrupt),
                    Err(_) | Ok(Arrived::NoRoom) => return Ok(Taken::Stays),
                    Ok(Arrived::Taken { answer: told, .. }) => {
                        if let Some(told) = told {
                            answer(&told.header(0));
                            self.note_sent(from, is_awaited(&told, payload.len()))?;
                        }
                    }
                }
            }
            _ => return Ok(Taken::Stays),
        }
        self.taken += 1;
        Ok(Taken::Here)
    }

    /// Whether a descriptor is one of those that a rank can take.
    fn may_take(&self, from: u32, record: &Record, payload: &[u8]) -> Result<bool, Corrupt> {
        if self.memory.node_state(from)?.inbox.get() != 0 {
            return Ok(false);
        }
        let mut words = [0; CELL_WORDS];
        words[..LABEL].copy_from_slice(&record.words);
        let Some(PointToPoint::Send(send)) = PointToPoint::decode(&words) else { return Ok(false) };
        let is_here = match send.payload {
            Payload::Inline(_) => payload.is_empty(),
            _ => !payload.is_empty() && payload.len() as u64 == send.bytes,
        };
        Ok(is_here && self.memory.local_rank(send.destination)?.is_some())
    }

    /// Tells the senders of messages that local slices have matched, and of which nothing has to move.
    fn answer_matches(&mut self, links: &mut dyn NodeLinks) -> Result<(), Corrupt> {
        let matches = &self.memory.header().remote.matches;
        for _ in 0..ENTRIES {
            let Some((entry, words)) = matches.find(self.memory, |_| true)? else { break };
            let message = queued_message(&words)?;
            if !matches!(message.send.payload, Payload::Inline(_) | Payload::Pooled(_)) {
                break;
            }
            let (node, _) = self.memory.place(message.origin)?;
            let answer = matched_record(message.origin, message.send.request, place(message.send.payload).0);
            if let Some(answer) = answer {
                if self.is_held_up(node)? || !links.append(node, &answer.header(0)) {
                    break;
                }
                self.note_sent(node, is_awaited(&answer, 0))?;
            }
            matches.remove(self.memory, entry)?;
            let Some((entry, _)) = matches.find(self.memory, |_| true)? else { break };
            matches.remove(self.memory, entry)?;
        }
        Ok(())
    }

    /// Sends what somebody waits for, and what was appended for the same nodes.
    fn send(&mut self, links: &mut dyn NodeLinks) -> Result<(), Corrupt> {
        for to in std::mem::take(&mut self.urgent) {
            self.memory.node_state(to)?.patient.set(0);
            links.send(to);
        }
        Ok(())
    }

    /// Whether the NIC thread has something for a node that nothing goes past.
    fn is_held_up(&self, node: u32) -> Result<bool, Corrupt> {
        Ok(self.memory.node_state(node)?.waiting.get() != 0)
    }

    /// A record was appended for a node; whether somebody waits for it.
    fn note_sent(&mut self, to: u32, is_urgent: bool) -> Result<(), Corrupt> {
        self.sent += 1;
        let patient = &self.memory.node_state(to)?.patient;
        patient.set(patient.get().saturating_add(1));
        if (is_urgent || patient.get() >= PATIENT_RECORDS) && !self.urgent.contains(&to) {
            self.urgent.push(to);
        }
        Ok(())
    }
}
