//! Buffering: a message's bytes in slabs of the sender, so that its send is complete when it is posted,
//! whoever computes.
//!
//! A short message is in its slab before the descriptor is posted. A longer one is posted first and filled
//! then, so that the receiver's match and its copies run while the sender still fills: both cores at work,
//! and no handshake between them. The sender has filled all of it when its call returns, so nobody waits for
//! a sender that computes.
//!
//! With fixed slices messages of more than a slab are not buffered: their bytes count in the slices' budget
//! ([`crate::threads::dma_helper`]).

use super::error::PortError;
use super::rank_port::{Draining, Port};
use crate::channel::{self, CrossMemory};
use crate::host::clock::ticks;
use crate::memory::slab::{BUFFERED_BYTES, PIPELINED_BYTES, RUN_BYTES, SLAB_BYTES};
use crate::memory::{LocalRank, Rank, RequestId, SlabId, checked};

/// Bytes up to which a message is buffered however many slabs are not back yet, while stores go past the
/// caches.
const STREAMED_BYTES: usize = 32 << 10;

/// Slabs that are not back from which on longer ones go by transfers then. With far cores an `MPI_Sendrecv`
/// of 64 KB takes 5.6 µs so, and 12.6 if a message waits until the one before it is back; of 256 KB 17.6, and
/// 38 with 24 slabs (`storm run -n 2 microbench sendrecv --sizes 64K,256K`).
const STREAMED_SLABS: u32 = 64;

impl Port {
    /// Slabs for a message that is posted before it is in them; none when it is too short or too long for
    /// that, goes to another node, or finds no room.
    #[inline]
    pub(super) fn run_for(&mut self, destination: Rank, bytes: usize) -> Result<Option<SlabId>, PortError> {
        if !(PIPELINED_BYTES..=RUN_BYTES).contains(&bytes)
            || bytes > BUFFERED_BYTES && !(self.has_many_slabs() && self.fills_long_runs())
            || !self.pacing.buffers_more_than_a_slab()
            || self.memory.local_rank(destination)?.is_none()
        {
            return Ok(None);
        }
        let returned = &self.memory.rank(self.local_rank)?.returned;
        if bytes > STREAMED_BYTES
            && self.stores.are_settled_on_streaming()
            && self.slabs.out(returned) > STREAMED_SLABS
        {
            return Ok(None);
        }
        let first = self.slabs.take(bytes, returned);
        if let Some(first) = first {
            self.memory.filled(self.local_rank, first)?.begin();
        }
        Ok(first)
    }

    /// Whether a message of more than [`BUFFERED_BYTES`] is better copied twice, through slabs, than once by
    /// cross-memory attach.
    fn fills_long_runs(&mut self) -> bool {
        self.memory.header().cross_memory.get() == CrossMemory::Off as u32 || self.stores.take_long_message()
    }

    /// Slabs for a message of more than one to another node, which is in them before it is posted: it travels
    /// with its descriptor. None when it is too long for that, stays on this node, or finds no room.
    pub(super) fn run_to_another_node(
        &mut self,
        destination: Rank,
        bytes: usize,
    ) -> Result<Option<SlabId>, PortError> {
        if !(SLAB_BYTES + 1..=BUFFERED_BYTES).contains(&bytes)
            || !self.pacing.buffers_more_than_a_slab()
            || self.memory.local_rank(destination)?.is_some()
        {
            return Ok(None);
        }
        Ok(self.slabs.take(bytes, &self.memory.rank(self.local_rank)?.returned))
    }

    /// Fills slabs that were posted.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes.
    #[inline]
    pub(super) unsafe fn fill_run(
        &mut self,
        first: SlabId,
        data: *const u8,
        bytes: usize,
    ) -> Result<(), PortError> {
        let to = self.memory.run(self.local_rank, first, bytes as u64)?;
        let mut filled = 0;
        while filled < bytes {
            let left = bytes - filled;
            let longer = self.stores.are_streaming() && bytes > 2 * SLAB_BYTES;
            let chunk = self.channel.chunk_bytes(filled as u64, left as u64) << longer as u32;
            let chunk = (chunk as usize).min(left);
            // SAFETY: the chunk lies in the message, which the caller vouches for, and in the run, which is
            // this rank's until it is given back, after all of it was published.
            unsafe { self.stores.copy_in(data.add(filled), to.as_ptr().add(filled), chunk, ticks) };
            filled += chunk;
            self.memory.filled(self.local_rank, first)?.publish(filled as u32);
        }
        Ok(())
    }

    /// Copies a message out of the slabs of its sender, as far as it is there; true when it is whole, and the
    /// slabs are given back.
    pub(super) fn drain(
        &mut self,
        request: RequestId,
        owner: LocalRank,
        first: SlabId,
        bytes: u64,
    ) -> Result<bool, PortError> {
        let to = self.outstanding.place(request).map(|(address, room)| (address as *mut u8, bytes.min(room)));
        let known = self.draining.iter().position(|d| d.request == request);
        let mut copied = known.map_or(0, |at| self.draining[at].copied);
        // SAFETY: `post_receive`'s caller vouches for the buffer until the request is complete.
        let whole = unsafe { self.copy_run(owner, first, bytes, to, &mut copied)? };
        match known {
            Some(at) if whole => _ = self.draining.swap_remove(at),
            Some(at) => self.draining[at].copied = copied,
            None if whole => {}
            None => self.draining.push(Draining { request, copied }),
        }
        Ok(whole)
    }

    /// The same to an address, with room for so many bytes; none where nobody wants them. `copied` says how
    /// far it is.
    ///
    /// # Safety
    /// `to` must be writable for its bytes.
    pub(super) unsafe fn copy_run(
        &self,
        owner: LocalRank,
        first: SlabId,
        bytes: u64,
        to: Option<(*mut u8, u64)>,
        copied: &mut u64,
    ) -> Result<bool, PortError> {
        let from = self.memory.run(owner, first, bytes)?;
        // SAFETY (of every use): the caller vouches for the buffer; the run has room for `bytes` bytes, and
        // what is published in it is ours to read until it is given back.
        let copy = |start: u64, end: u64| {
            if let Some((to, wanted)) = to
                && start < end.min(wanted)
            {
                let length = (end.min(wanted) - start) as usize;
                // SAFETY: see above.
                unsafe { channel::copy(from.as_ptr().add(start as usize), to.add(start as usize), length) };
            }
        };
        if bytes < PIPELINED_BYTES as u64 {
            copy(0, bytes);
        } else {
            let progress = self.memory.filled(owner, first)?;
            let mut patience = 0;
            while *copied < bytes {
                let most = bytes as usize + 1;
                let filled = checked("bytes of a message that are there", progress.bytes(), most)? as u64;
                if filled > *copied {
                    copy(*copied, filled);
                    *copied = filled;
                    patience = 0;
                } else if patience < self.channel.patience {
                    patience += 1;
                    std::hint::spin_loop();
                } else {
                    return Ok(false);
                }
            }
        }
        self.memory.rank(owner)?.returned.give_back(first, bytes);
        self.ahead.expect_after(&self.memory, owner, first, bytes)?;
        Ok(true)
    }
}
