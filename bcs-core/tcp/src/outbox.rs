//! What waits to go over a link, from the protocol's queue to the link's ring.
//!
//! Invariant: a message leaves its queue only to be cut into records, and the records of one message follow
//! each other in their lane. Bulk leaves room in the ring for small messages.

use super::message::Parcel;
use bcs_core::ids::NodeId;
use bcs_core::wire::WireError;
use bcs_fabric::tree::{Backlog, FRAGMENT_BYTES, Lane, LinkQueue, Message};
use bcs_link::{LinkEnd, LinkFault};
use rkyv::util::AlignedVec;
use std::time::Instant;

/// Why a message does not get into the ring, and never will.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// The link has ended.
    #[error(transparent)]
    Link(#[from] LinkFault),
    /// The message is too long to travel.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The other end asks and asks, and does not take what it is answered.
    #[error("it does not take the answers that it asks for, of which {answers} wait")]
    Deaf {
        /// How many answers wait.
        answers: usize,
    },
}

/// The messages that wait to go over a link.
#[derive(Debug)]
pub struct Outbox {
    /// Something waits that is not to wait any longer.
    pub is_urgent: bool,
    /// Until when what waits may wait at most, if it is not urgent.
    pub due: Option<Instant>,
    queue: LinkQueue,
    /// By lane: a message that is not in the ring as a whole.
    parcels: [Option<Parcel>; 2],
}

impl Outbox {
    /// The outbox of a link in a network of so many members.
    pub fn new(members: usize) -> Self {
        Self { is_urgent: false, due: None, queue: LinkQueue::new(members), parcels: [None, None] }
    }

    /// Takes a message to send, of the node whose outbox it is.
    pub fn push(&mut self, node: NodeId, lane: Lane, message: Message, backlog: &mut Backlog) {
        self.is_urgent = true;
        self.queue.push(node, lane, message, backlog);
    }

    /// Takes a message to send along with the next one, or at this time by itself.
    pub fn push_patient(&mut self, node: NodeId, message: Message, backlog: &mut Backlog, due: Instant) {
        self.queue.push(node, Lane::Control, message, backlog);
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// Whether no message waits outside of the ring.
    pub fn is_clear(&self) -> bool {
        self.queue.is_clear() && self.parcels.iter().all(Option::is_none)
    }

    /// Forgets what waits. True when a node that has left would have needed some of it.
    pub fn discard(&mut self, node: NodeId, backlog: &mut Backlog) -> bool {
        let is_cut = self.parcels.iter().any(Option::is_some);
        self.parcels = [None, None];
        self.queue.discard(node, backlog) || is_cut
    }

    /// Puts messages that wait into the ring of a link, as far as there is room; `even_patient` says whether
    /// also those that may wait. Heads are encoded in `room`. True when another process appends just now, and
    /// it is to be tried again.
    ///
    /// # Errors
    /// The link has ended, or is to be ended.
    pub fn fill(
        &mut self,
        node: NodeId,
        end: &LinkEnd,
        backlog: &mut Backlog,
        room: &mut AlignedVec,
        even_patient: bool,
    ) -> Result<bool, OutboxError> {
        if let Some(answers) = self.queue.untaken_answers() {
            return Err(OutboxError::Deaf { answers });
        }
        if self.is_clear() || !(self.is_urgent || even_patient || self.parcels.iter().any(Option::is_some)) {
            return Ok(false);
        }
        let layout = end.layout();
        let Some(mut ring) = end.appender()? else { return Ok(true) };
        for lane in [Lane::Control, Lane::Bulk] {
            loop {
                let parcel = &mut self.parcels[lane as usize];
                if parcel.is_none() {
                    let Some((stamp, message)) = self.queue.pop(node, lane, backlog) else { break };
                    *parcel = Some(Parcel::new(lane, stamp, message, std::mem::take(room))?);
                }
                let Some(waiting) = parcel.as_mut() else { break };
                // Bulk leaves room for small messages, which are not to wait behind it.
                let queued = end.queued_bytes() as usize + waiting.next_bytes(layout.record_bytes());
                if lane == Lane::Bulk && queued > bulk_limit(layout.ring_bytes()) && end.queued_bytes() > 0 {
                    return Ok(false);
                }
                if !waiting.append(&mut ring, layout.record_bytes())? {
                    return Ok(false);
                }
                *room = parcel.take().map(Parcel::into_room).unwrap_or_default();
            }
        }
        self.is_urgent = false;
        self.due = None;
        Ok(false)
    }
}

/// How much of a ring bulk may fill.
fn bulk_limit(ring_bytes: usize) -> usize {
    (ring_bytes / 4 * 3).max(ring_bytes.min(FRAGMENT_BYTES))
}
