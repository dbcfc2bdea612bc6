//! Sends of messages that do not lie in one piece: their bytes are written straight to where they ride, in
//! order and piece by piece, and nowhere before.
//!
//! Longer ones come by way of a chunk that stays in the nearest cache: single small stores to lines that the
//! receiver has in its cache cost several times what one sweep over them does, which can also go past the
//! caches ([`crate::channel::Stores`]).

use super::{Port, PortError, Send};
use crate::host::clock::ticks;
use crate::memory::descriptor::INLINE_BYTES;
use crate::memory::doorbell::RingKind;
use crate::memory::slab::{PIPELINED_BYTES, SLAB_BYTES};
use std::mem::MaybeUninit;

/// Bytes that are gathered before they are stored in one sweep.
const GATHERED_BYTES: usize = 4 << 10;

impl Port {
    /// Posts a send of `bytes` bytes that `fill` writes: it is called for one piece after the other, with the
    /// place and the length of each, and has to write all of it. False when the message cannot be buffered
    /// (too long, no room, or it has to be waited for): then nothing was posted, and it has to be given to
    /// [`Self::post_send`] in one piece.
    pub fn post_filled_send(
        &mut self,
        send: &Send,
        bytes: usize,
        mut fill: impl FnMut(*mut u8, usize),
    ) -> Result<bool, PortError> {
        if send.synchronous {
            return Ok(false);
        }
        self.reserve(RingKind::Send)?;
        if bytes <= INLINE_BYTES {
            let mut words = [0u64; INLINE_BYTES / 8];
            fill(words.as_mut_ptr().cast(), bytes);
            self.post(RingKind::Send, &send.inline(bytes, words))?;
            return Ok(true);
        }
        if let Some(first) = self.run_for(send.destination, bytes)? {
            self.post(RingKind::Send, &send.in_slabs(bytes, first))?;
            let to = self.memory.run(self.local_rank, first, bytes as u64)?;
            let mut chunk = [MaybeUninit::<u8>::uninit(); GATHERED_BYTES];
            let mut filled = 0;
            while filled < bytes {
                let left = bytes - filled;
                let now = (self.channel.chunk_bytes(filled as u64, left as u64) as usize)
                    .min(left)
                    .min(chunk.len());
                fill(chunk.as_mut_ptr().cast(), now);
                // SAFETY: the chunk has so many bytes, which were written; they lie in the run, which has
                // room for the message.
                unsafe { self.stores.copy_in(chunk.as_ptr().cast(), to.as_ptr().add(filled), now, ticks) };
                filled += now;
                self.memory.filled(self.local_rank, first)?.publish(filled as u32);
            }
            return Ok(true);
        }
        if let Some(first) = self.run_to_another_node(send.destination, bytes)? {
            fill(self.memory.run(self.local_rank, first, bytes as u64)?.as_ptr(), bytes);
            self.post(RingKind::Send, &send.in_slabs(bytes, first))?;
            return Ok(true);
        }
        if bytes > SLAB_BYTES {
            return Ok(false);
        }
        let Some(slab) = self.one_slab(bytes)? else { return Ok(false) };
        fill(self.memory.slab(self.local_rank, slab)?.as_ptr(), bytes);
        if bytes >= PIPELINED_BYTES {
            self.memory.filled(self.local_rank, slab)?.publish(bytes as u32);
        }
        self.post(RingKind::Send, &send.in_slabs(bytes, slab))?;
        Ok(true)
    }
}
