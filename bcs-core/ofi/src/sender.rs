//! The sending half of a link: which remote writes bring what was appended to the other end, and in which
//! order.
//!
//! An engine without I/O. Bytes of the ring go as *data*, and a *signal* then says up to where they have
//! come. Call [`Sender::poll_write`] until it is empty; tell with [`Sender::handle_posted`] that the network
//! took a write, with [`Sender::handle_complete`] that it is complete, and with [`Sender::handle_credit`] how
//! far the other end has taken.
//!
//! ```text
//!   acknowledged ≤ told ≤ signalled ≤ complete, or written (by the order)      positions of the ring
//! ```
//!
//! Invariants:
//! - A signal is never posted before the data up to its position is where the promised order
//!   ([`SignalOrder`]) lets it follow: behind the data, or behind its completion. But where writes keep their
//!   order, the last data may go in one write with its signal, which proves it ([`bcs_link::SignalWords`]):
//!   within a write no order is promised.
//! - At most one signal is under way. So no signal overtakes another one, whatever order the network keeps.
//! - A place is written again only after the other end has taken it and the write before is complete, so no
//!   write is under way for the same place twice.

use bcs_libfabric::SignalOrder;
use std::collections::VecDeque;

/// A remote write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// Bytes of the ring, in one piece in all memory that they go through.
    Data {
        /// The position of the first one.
        position: u64,
        /// How many.
        bytes: u64,
    },
    /// All up to this position has come.
    Signal {
        /// The position.
        position: u64,
    },
    /// Data, and the signal for it, which proves it: in one.
    Proven {
        /// The position of the first byte.
        position: u64,
        /// How many.
        bytes: u64,
    },
}

/// What a sender has to know of the memory on the way, in bytes. All but the last two are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windows {
    /// The ring at this end.
    pub ring: u64,
    /// What is registered at this end, where the ring is not: writes go from there.
    pub slab: Option<u64>,
    /// What is registered at the other end.
    pub remote: u64,
    /// The longest write; a multiple of 8.
    pub write: u64,
    /// The most bytes that are written in one with their signal; 0 where that cannot be.
    pub proven: u64,
}

/// How many data writes of a link may be under way.
pub(crate) const WRITES_LIMIT: usize = 32;

/// Credit that the other end cannot give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it says that it has taken {credit} bytes, of {told} that were sent, after {before}")]
pub(crate) struct CreditError {
    pub credit: u64,
    pub told: u64,
    pub before: u64,
}

#[derive(Debug)]
pub(crate) struct Sender {
    order: SignalOrder,
    windows: Windows,
    /// Up to where data was posted, and is complete without a gap.
    written: u64,
    complete: u64,
    /// Data writes under way, and those behind them that are complete: where each ends.
    under_way: VecDeque<(u64, bool)>,
    /// The position of the last signal, and whether it is under way.
    signalled: u64,
    is_signalling: bool,
    acknowledged: u64,
}

impl Sender {
    pub fn new(order: SignalOrder, windows: Windows) -> Self {
        Self {
            order,
            windows,
            written: 0,
            complete: 0,
            under_way: VecDeque::new(),
            signalled: 0,
            is_signalling: false,
            acknowledged: 0,
        }
    }

    /// The next write, when so much was appended; none while there is nothing to write, or no room for it.
    /// It stays the next one until it is posted.
    pub fn poll_write(&self, appended: u64) -> Option<Write> {
        let there = match self.order {
            SignalOrder::WriteAfterWrite => self.written,
            SignalOrder::Completion => self.complete,
        };
        if !self.is_signalling && there > self.signalled {
            return Some(Write::Signal { position: there });
        }
        if self.under_way.len() >= WRITES_LIMIT {
            return None;
        }
        let Windows { ring, slab, remote, write, proven } = self.windows;
        let mut limit = appended.min(self.free_to() + remote);
        let mut block = ring.min(remote);
        if let Some(slab) = slab {
            limit = limit.min(self.complete + slab);
            block = block.min(slab);
        }
        // Blocks are powers of two: what lies in one of the smallest lies in one piece in all.
        let piece = (block - self.written % block).min(write);
        let left = limit.saturating_sub(self.written);
        let (position, bytes) = (self.written, left.min(piece));
        // Here all that was written was signalled, or a signal is under way.
        let is_proven = bytes == left
            && bytes <= proven
            && !self.is_signalling
            && self.order == SignalOrder::WriteAfterWrite;
        match bytes {
            0 => None,
            _ if is_proven => Some(Write::Proven { position, bytes }),
            _ => Some(Write::Data { position, bytes }),
        }
    }

    /// The network has taken what [`Sender::poll_write`] gave.
    pub fn handle_posted(&mut self, write: Write) {
        match write {
            Write::Data { bytes, .. } => {
                self.written += bytes;
                self.under_way.push_back((self.written, false));
            }
            Write::Signal { position } => {
                self.signalled = position;
                self.is_signalling = true;
            }
            Write::Proven { bytes, .. } => {
                self.written += bytes;
                self.under_way.push_back((self.written, false));
                self.signalled = self.written;
                self.is_signalling = true;
            }
        }
    }

    /// A write is complete; data is named by where it ends.
    pub fn handle_complete(&mut self, write: Write) {
        self.is_signalling &= matches!(write, Write::Data { .. });
        match write {
            Write::Data { position, bytes } | Write::Proven { position, bytes } => {
                for (end, is_complete) in &mut self.under_way {
                    *is_complete |= *end == position + bytes;
                }
                while let Some((end, true)) = self.under_way.front() {
                    self.complete = *end;
                    self.under_way.pop_front();
                }
            }
            Write::Signal { .. } => {}
        }
    }

    /// The other end has taken all up to this position.
    ///
    /// # Errors
    /// It cannot have.
    pub fn handle_credit(&mut self, credit: u64) -> Result<(), CreditError> {
        let (told, before) = (self.signalled, self.acknowledged);
        if credit > told || credit < before || !credit.is_multiple_of(8) {
            return Err(CreditError { credit, told, before });
        }
        self.acknowledged = credit;
        Ok(())
    }

    /// Up to where the other end has taken.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The position up to which data was posted.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The position of the last signal.
    #[cfg(test)]
    pub fn signalled(&self) -> u64 {
        self.signalled
    }

    /// Up to where the ring is not needed any more.
    pub fn free_to(&self) -> u64 {
        self.acknowledged.min(self.complete)
    }

    /// Whether writes are under way.
    pub fn is_under_way(&self) -> bool {
        self.is_signalling || !self.under_way.is_empty()
    }

    /// Whether all up to this position was written, signalled and is complete.
    pub fn is_sent(&self, appended: u64) -> bool {
        self.signalled == appended && !self.is_under_way()
    }
}
