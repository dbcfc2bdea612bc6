//! Long messages that a network card writes from the sender's buffer straight into the receiver's, without
//! the rings of the link: the receiver *invites* the sender, which writes and says when all is there.
//!
//! ```text
//!   receiver                                                sender
//!   matched: opens its buffer    ──── Invite ────►          waits for this send: writes the bytes
//!   completes the receive        ◄─── Written ────          they are delivered: completes the send
//!   grants the bytes             ◄─── Declined ───          else, whoever takes the invitation
//! ```
//!
//! Invariants: a rank invites, and takes an invitation, only for a request that it stays in its call for, so
//! that it goes on with what it has begun; who declines has nothing under way any more; the buffer stays open
//! as long as its landing has its name.

use super::record::{Kind, Record};
use crate::channel::Buffer;
use crate::memory::{Rank, RequestId};

/// Writes between the buffers of ranks, as a rank can make them that has an endpoint at a network card.
pub trait BufferWrites {
    /// The shortest message that goes so, in bytes.
    fn least_bytes(&self) -> u64;

    /// Opens a buffer for the sender of the message with this landing. None if it cannot be registered.
    fn open(&mut self, landing: u64, buffer: Buffer) -> Option<Opened<'_>>;

    /// Closes the buffers of all landings but those that this answers true for.
    fn close_unless(&mut self, is_there: &mut dyn FnMut(u64) -> bool);

    /// Begins to write this buffer where the sender was invited to. The address is that of the endpoint which
    /// has opened the other one. False if that is not possible: then nothing was begun.
    fn begin(&mut self, invited: &Invitation, from: Buffer, address: &[u8]) -> bool;

    /// Goes on with what was begun. True if something has moved.
    fn go_on(&mut self) -> bool;

    /// Names what is over to `over`, and whether all of it was delivered, until that answers false: then it
    /// is named again the next time.
    fn take_over(&mut self, over: &mut dyn FnMut(&Invitation, bool) -> bool);
}

/// A buffer that another rank may write.
#[derive(Clone, Copy, Debug)]
pub struct Opened<'a> {
    /// Where it begins, as remote writes name it.
    pub at: u64,
    /// The key of its registration.
    pub key: u64,
    /// The address of the endpoint to which it is written.
    pub address: &'a [u8],
}

/// What a sender is invited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invitation {
    /// The receiver's node.
    pub node: u32,
    /// The sender, and its request.
    pub rank: Rank,
    /// As `rank`.
    pub request: RequestId,
    /// Where its buffer is, as the receiver's node was told.
    pub from: u64,
    /// The receiver's name of the message.
    pub landing: u64,
    /// Bytes to write.
    pub bytes: u64,
    /// Where to, and the key for that.
    pub at: u64,
    /// As `at`.
    pub key: u64,
}

impl Invitation {
    /// What a record of this node says.
    pub(super) fn of(record: &Record, node: u32) -> Self {
        let [request, from, landing, bytes, at, key, _] = record.words;
        Self { node, rank: record.rank, request: RequestId(request as u32), from, landing, bytes, at, key }
    }

    /// The record that says it; its payload is the address.
    pub(super) fn record(&self) -> Record {
        let Self { request, from, landing, bytes, at, key, .. } = *self;
        Record::new(Kind::Invite, self.rank, &[request.0.into(), from, landing, bytes, at, key])
    }

    /// The sender's buffer, as it was told.
    pub(super) fn buffer(&self) -> Buffer {
        Buffer { address: self.from, bytes: self.bytes }
    }

    /// What the receiver is told when it is over: all was delivered, or nothing is going to be written.
    pub(super) fn answer(&self, is_delivered: bool) -> Record {
        match is_delivered {
            true => Record::new(Kind::Written, Rank(0), &[self.landing, self.bytes]),
            false => Record::new(Kind::Declined, Rank(0), &[self.landing]),
        }
    }
}
