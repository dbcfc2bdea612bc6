//! Buffers for records that the network shares: it lets go of them when their bytes have been acknowledged,
//! and then they are used again, so that memory for bytes in bulk is taken from the system once.
//!
//! Invariant: no buffer is written to while the network has a part of it.

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;

/// Buffers that are remembered while the network has them. More are under way only while an end is slow, and
/// are given back to the system.
const LENT_BUFFERS: usize = 64;

/// From this size on a record gets a buffer that is used again.
const KEPT_BYTES: usize = 8 << 10;

/// Buffers by size: all that are kept have the same one.
#[derive(Debug, Default)]
pub struct RecordBuffers {
    /// The size of those that are kept.
    buffer_bytes: usize,
    /// In the order in which they were lent: the network lets go of them in about this order.
    lent: VecDeque<BytesMut>,
}

impl RecordBuffers {
    /// Buffers for records up to a size.
    pub fn new(buffer_bytes: usize) -> Self {
        Self { buffer_bytes, lent: VecDeque::new() }
    }

    /// An empty buffer with room for a record of this size.
    pub fn take(&mut self, bytes: usize) -> BytesMut {
        if !(KEPT_BYTES..=self.buffer_bytes).contains(&bytes) {
            return BytesMut::with_capacity(bytes);
        }
        let is_free = self.lent.front_mut().is_some_and(|lent| lent.try_reclaim(self.buffer_bytes));
        self.lent.pop_front_if(|_| is_free).unwrap_or_else(|| BytesMut::with_capacity(self.buffer_bytes))
    }

    /// What was written to a buffer, to be shared; the buffer is remembered if it is one of those that are
    /// kept.
    pub fn lend(&mut self, mut buffer: BytesMut) -> Bytes {
        if buffer.capacity() < self.buffer_bytes {
            return buffer.freeze();
        }
        let written = buffer.split().freeze();
        self.lent.truncate(LENT_BUFFERS - 1);
        self.lent.push_back(buffer);
        written
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again_when_nobody_has_a_part_of_it_and_not_before() {
        let mut buffers = RecordBuffers::new(64 << 10);
        let mut lend = |byte: u8| {
            let mut buffer = buffers.take(20 << 10);
            assert!(buffer.is_empty() && buffer.capacity() >= 20 << 10);
            buffer.resize(20 << 10, byte);
            buffers.lend(buffer)
        };
        let first = lend(1);
        let (address, part) = (first.as_ptr(), first.slice(100..200));
        drop(first);
        let second = lend(2);
        assert_ne!(second.as_ptr(), address, "a part of it is still in use");
        assert!(part.iter().all(|byte| *byte == 1));
        drop(part);
        assert_eq!(lend(3).as_ptr(), address);
        assert!(second.iter().all(|byte| *byte == 2));
    }
}
