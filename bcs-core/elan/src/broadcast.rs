//! Broadcasts: a message to several nodes as one act of the card for each contiguous range of them.
//!
//! The sender fills a slot of its own, broadcasts it into the same slot of the windows of all nodes of the
//! message, and when that has ended, broadcasts its number: so who sees the number sees the slot. One
//! broadcast of a node is under way at a time. A slot is filled again when all nodes that had it say, to a
//! conditional, that they have taken it.
//!
//! Invariant: of the messages from one node to another, broadcasts or not, each is handed over after all that
//! were sent before it in its lane. A broadcast begins when its nodes know of all that was sent to them alone
//! before; and what is sent to a node alone carries the number of the last broadcast to it, and waits for
//! that one there.
//!
//! When a node dies, its part of the range may never be answered: what is under way is begun again for the
//! others. They take each number once.

use crate::card::{Card, CardError, Question, Transfer};
use crate::far::Windows;
use crate::frame::{HEADER_BYTES, Lengths, Parcel};
use crate::window::{Cell, SLOTS, Word};
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use bcs_core::wire::WireError;
use bcs_fabric::Condition;
use bcs_fabric::tree::Message;
use std::collections::VecDeque;
use std::ops::Range;

/// The most bytes of a message in such a slot.
pub(crate) const fn slot_payload_bytes(slot_bytes: usize) -> usize {
    slot_bytes - HEADER_BYTES
}

/// The processes of contiguous ranges of nodes; nodes of a network with broadcasts are numbered as their
/// processes are.
pub(crate) fn processes(windows: &Windows, nodes: &NodeSet) -> Vec<Range<u32>> {
    let first = windows.far.first().map_or(0, |far| far.process);
    nodes.ranges().map(|range| first + range.start..first + range.end).collect()
}

/// Asks all nodes of a set something about a cell of theirs.
///
/// # Errors
/// The card does not begin a conditional.
pub(crate) fn ask(
    card: &Card,
    windows: &Windows,
    nodes: &NodeSet,
    cell: Cell,
    condition: Condition,
    value: u64,
) -> Result<Vec<Question>, CardError> {
    let place = windows.own.layout().cell(windows.node, cell);
    let mut questions = Vec::new();
    for range in processes(windows, nodes) {
        // SAFETY: cells of windows, which are at the same address of the card in all nodes.
        questions.extend(unsafe { card.ask(windows.own.at(place, 8), condition, value, range) }?);
    }
    Ok(questions)
}

/// The answer to all of the questions; none as long as one is open. Those that are answered are over.
pub(crate) fn answer(card: &Card, questions: &mut Vec<Question>, holds: &mut bool) -> Option<bool> {
    questions.retain_mut(|question| match card.answer(question) {
        Some(answer) => {
            *holds &= answer;
            false
        }
        None => true,
    });
    questions.is_empty().then_some(*holds)
}

/// A message that waits to be broadcast.
#[derive(Debug)]
struct Job {
    parcel: Parcel,
    nodes: NodeSet,
    is_gathered: bool,
    /// The number of its next frame.
    number: u64,
    /// What each node must know of before.
    before: Vec<(NodeId, [u64; 2])>,
    payload_bytes: usize,
}

/// How far the frame is that is under way.
#[derive(Debug)]
enum Stage {
    /// Nothing has begun.
    Waiting,
    /// The slot is being broadcast.
    Slot(Vec<Option<Transfer>>),
    /// Its number is being broadcast.
    Number(Vec<Option<Transfer>>),
}

/// A slot that is in use.
#[derive(Debug)]
struct Used {
    number: u64,
    nodes: NodeSet,
    questions: Vec<Question>,
    holds: bool,
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Broadcaster {
    jobs: VecDeque<Job>,
    stage: Stage,
    used: [Option<Used>; SLOTS as usize],
    last_number: u64,
    /// The number of the last frame that is over.
    pub sent: u64,
}

/// A frame of a broadcast that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub number: u64,
    pub lengths: Lengths,
    pub is_gathered: bool,
    /// Where its bytes lie in the window.
    pub place: usize,
}

impl Broadcaster {
    pub fn new() -> Self {
        Self {
            jobs: VecDeque::new(),
            stage: Stage::Waiting,
            used: Default::default(),
            last_number: 0,
            sent: 0,
        }
    }

    /// Takes a message for several nodes, each with what it must know of before. The number of its last
    /// frame.
    ///
    /// # Errors
    /// The message is too long to travel.
    pub fn push(
        &mut self,
        windows: &Windows,
        mut message: Message,
        is_gathered: bool,
        before: Vec<(NodeId, [u64; 2])>,
    ) -> Result<u64, WireError> {
        let limit = slot_payload_bytes(windows.own.layout().slot_bytes);
        let payload_bytes = message.payload_mut().map_or(0, |payload| payload.len());
        let parcel = Parcel::new(message)?;
        let frames = parcel.bytes().div_ceil(limit).max(1) as u64;
        let number = self.last_number + 1;
        self.last_number += frames;
        let nodes = before.iter().map(|(node, _)| *node).collect();
        self.jobs.push_back(Job { parcel, nodes, is_gathered, number, before, payload_bytes });
        Ok(self.last_number)
    }

    /// Whether nothing waits and nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Payload bytes that wait.
    pub fn payload_bytes(&self) -> usize {
        self.jobs.iter().map(|job| job.payload_bytes).sum()
    }

    /// Goes on. `has_delivered`: whether a node knows of so many messages that were sent to it alone. True
    /// when something has moved.
    ///
    /// # Errors
    /// The card does not begin an operation.
    pub fn advance(
        &mut self,
        card: &Card,
        windows: &Windows,
        has_delivered: impl Fn(NodeId, [u64; 2]) -> bool,
    ) -> Result<bool, CardError> {
        let mut moved = false;
        while let Some(job) = self.jobs.front_mut() {
            let layout = windows.own.layout();
            let limit = slot_payload_bytes(layout.slot_bytes);
            let next = match &mut self.stage {
                Stage::Waiting => {
                    job.before.retain(|(node, pushed)| !has_delivered(*node, *pushed));
                    let slot = &mut self.used[(job.number % SLOTS) as usize];
                    if !job.before.is_empty() || !is_free(card, windows, slot)? {
                        return Ok(moved);
                    }
                    let piece = job.parcel.piece(limit);
                    let start = layout.own_slot(job.number);
                    windows.own.store(start, piece.lengths.to_word());
                    windows.own.store(start + 8, job.number);
                    windows.own.store(start + 16, u64::from(job.is_gathered));
                    windows.own.write(start + HEADER_BYTES, piece.parts[0]);
                    windows.own.write(start + HEADER_BYTES + piece.parts[0].len(), piece.parts[1]);
                    Stage::Slot(begin_slot(card, windows, job)?)
                }
                Stage::Slot(transfers) => {
                    if !have_ended(card, transfers) {
                        return Ok(moved);
                    }
                    let word = layout.word(windows.node, Word::Broadcast);
                    windows.own.store(word, job.number);
                    Stage::Number(begin_number(card, windows, job)?)
                }
                Stage::Number(transfers) => {
                    if !have_ended(card, transfers) {
                        return Ok(moved);
                    }
                    let bytes = job.parcel.piece(limit).lengths.bytes;
                    self.used[(job.number % SLOTS) as usize] = Some(Used {
                        number: job.number,
                        nodes: job.nodes.clone(),
                        questions: Vec::new(),
                        holds: true,
                    });
                    self.sent = job.number;
                    job.number += 1;
                    if job.parcel.advance(bytes) {
                        self.jobs.pop_front();
                    }
                    Stage::Waiting
                }
            };
            self.stage = next;
            moved = true;
        }
        Ok(moved)
    }

    /// A node is dead: it is left out, and what is under way to it begins again for the others.
    ///
    /// # Errors
    /// The card does not begin an operation.
    pub fn forget(&mut self, card: &Card, windows: &Windows, node: NodeId) -> Result<(), CardError> {
        for used in self.used.iter_mut().flatten() {
            if used.nodes.remove(node) {
                used.questions.clear();
                used.holds = true;
            }
        }
        let mut was_under_way = false;
        for (index, job) in self.jobs.iter_mut().enumerate() {
            job.before.retain(|(other, _)| *other != node);
            was_under_way |= job.nodes.remove(node) && index == 0;
        }
        if let (Some(job), true) = (self.jobs.front(), was_under_way) {
            self.stage = match &self.stage {
                Stage::Waiting => Stage::Waiting,
                Stage::Slot(_) => Stage::Slot(begin_slot(card, windows, job)?),
                Stage::Number(_) => Stage::Number(begin_number(card, windows, job)?),
            };
        }
        Ok(())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.jobs.clear();
        self.stage = Stage::Waiting;
        self.used = Default::default();
    }
}

fn have_ended(card: &Card, transfers: &mut Vec<Option<Transfer>>) -> bool {
    transfers.retain_mut(|transfer| !card.has_ended(transfer));
    transfers.is_empty()
}

/// Whether a slot can be filled: all that had it have taken it.
fn is_free(card: &Card, windows: &Windows, slot: &mut Option<Used>) -> Result<bool, CardError> {
    let Some(used) = slot else { return Ok(true) };
    if used.nodes.is_empty() {
        *slot = None;
        return Ok(true);
    }
    if used.questions.is_empty() {
        used.holds = true;
        used.questions = ask(card, windows, &used.nodes, Cell::Taken, Condition::GreaterEqual, used.number)?;
        return Ok(false);
    }
    match answer(card, &mut used.questions, &mut used.holds) {
        Some(true) => {
            *slot = None;
            Ok(true)
        }
        Some(false) | None => Ok(false),
    }
}

fn begin(
    card: &Card,
    windows: &Windows,
    nodes: &NodeSet,
    (source, destination, bytes): (usize, usize, usize),
) -> Result<Vec<Option<Transfer>>, CardError> {
    let (source, destination) = (windows.own.at(source, bytes), windows.own.at(destination, bytes));
    let mut transfers = Vec::new();
    for range in processes(windows, nodes) {
        // SAFETY: places in windows, which are at the same address of the card in all nodes; the source is
        // written again only when the transfers have ended, or will never end because a node has died.
        transfers.push(unsafe { card.broadcast(source, destination, bytes, range) }?);
    }
    Ok(transfers)
}

fn begin_slot(card: &Card, windows: &Windows, job: &Job) -> Result<Vec<Option<Transfer>>, CardError> {
    let layout = windows.own.layout();
    let piece = job.parcel.piece(slot_payload_bytes(layout.slot_bytes));
    let bytes = (HEADER_BYTES + piece.lengths.bytes).next_multiple_of(8);
    let destination = layout.slot(windows.node, job.number);
    begin(card, windows, &job.nodes, (layout.own_slot(job.number), destination, bytes))
}

fn begin_number(card: &Card, windows: &Windows, job: &Job) -> Result<Vec<Option<Transfer>>, CardError> {
    let layout = windows.own.layout();
    let (source, destination) =
        (layout.word(windows.node, Word::Broadcast), layout.line(windows.node, Word::Broadcast));
    begin(card, windows, &job.nodes, (source, destination, 8))
}

/// Why what another node has broadcast is no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("broadcast {number} of it has a frame of {bytes} bytes, and its slots hold {limit}")]
pub(crate) struct SlotFault {
    number: u64,
    bytes: usize,
    limit: usize,
}

/// The next broadcast of a node, after the last that was taken.
///
/// # Errors
/// The node does not keep the protocol.
pub(crate) fn next(windows: &Windows, from: NodeId, taken: u64) -> Result<Option<Arrived>, SlotFault> {
    let (window, layout) = (&windows.own, windows.own.layout());
    let latest = window.load(layout.line(from, Word::Broadcast));
    if latest <= taken {
        return Ok(None);
    }
    let numbers = (0..SLOTS).map(|slot| (window.load(layout.slot(from, slot) + 8), slot));
    let open =
        numbers.filter(|(number, slot)| *number > taken && *number <= latest && number % SLOTS == *slot);
    let Some((number, _)) = open.min() else { return Ok(None) };
    let start = layout.slot(from, number);
    let lengths = Lengths::from_word(window.load(start));
    let limit = slot_payload_bytes(layout.slot_bytes);
    if lengths.bytes > limit {
        return Err(SlotFault { number, bytes: lengths.bytes, limit });
    }
    let is_gathered = window.load(start + 16) == 1;
    Ok(Some(Arrived { number, lengths, is_gathered, place: start + HEADER_BYTES }))
}
