//! Looking ahead: a rank that waits fetches the lines that it will read next, so that a message's descriptor
//! and its bytes come from the other core in the time of one.
//!
//! A rank hands out its slabs in turn ([`crate::memory::slab::SlabAllocator`]), so the next message of a
//! sender probably lies behind the last one. Where others lie there instead, or nothing, the fetch is in
//! vain, and wrong it never is: a prefetch changes nothing that a program can see.

use crate::memory::prefetch;
use crate::memory::slab::{self, PIPELINED_BYTES};
use crate::memory::{Corrupt, LocalRank, NicMemory, SlabId};
use std::cell::Cell;
use std::ptr::null;

/// Lines of a payload that are fetched ahead: with more of them the reader takes lines from a sender that
/// still writes.
const LINES: usize = 4;

const LINE_BYTES: usize = 64;

/// Where the next payload is expected, and how many lines of it are worth fetching.
pub(super) struct Ahead(Cell<(*const u8, usize)>);

impl Default for Ahead {
    fn default() -> Self {
        Self(Cell::new((null(), 0)))
    }
}

impl Ahead {
    /// Fetches the payload that is expected.
    #[inline(always)]
    pub(super) fn fetch(&self) {
        let (at, lines) = self.0.get();
        (0..lines).for_each(|line| prefetch::to_read(at.wrapping_add(line * LINE_BYTES)));
    }

    /// Fetches the payload that is expected if it is a line: who looks into its sender's ring sees a message
    /// so soon that of longer ones it would take lines from a sender that still writes.
    #[inline(always)]
    pub(super) fn fetch_line(&self) {
        if let (at, 1) = self.0.get() {
            prefetch::to_read(at);
        }
    }

    /// A message of so many bytes was read that began with this slab of its sender. Where a message is still
    /// filled while it is read, nothing is gained by fetching ahead.
    #[inline]
    pub(super) fn expect_after(
        &self,
        memory: &NicMemory,
        owner: LocalRank,
        first: SlabId,
        bytes: u64,
    ) -> Result<(), Corrupt> {
        if bytes < PIPELINED_BYTES as u64 {
            let at = memory.run(owner, slab::next_after(first), bytes)?;
            self.0.set((at.as_ptr(), (bytes as usize).div_ceil(LINE_BYTES).min(LINES)));
        }
        Ok(())
    }
}
