//! Reading: a rank that claims a message in its sender's memory reads it there first, by cross-memory attach.
//! The bytes are copied once, by the rank that wants them, without a slice and a transfer.
//!
//! A message is read before it is claimed, so that one that cannot be read stays where it is. If a slice
//! takes it meanwhile, its bytes come once more, to the same place; unless its sender cancels it.

use super::claiming::Found;
use super::error::PortError;
use super::rank_port::Port;
use super::stream::Stream;
use crate::channel::{Access, CrossMemory, Direction, Peer, ProcessMemory, is_done};
use crate::host::cross_memory::CrossMemoryAttach;
use crate::memory::claims::CLAIMED_SENDERS;
use crate::memory::slab::BUFFERED_BYTES;
use crate::memory::status::Activity;
use crate::memory::{LocalRank, Rank, RequestId};
use crate::policy::{LEAST_LEFT_BYTES, READING_NS_A_KB, STREAM_PATIENCE_NS};
use crate::port::SendWait;
use crate::port::outstanding::Purpose;

/// Bytes of a message in its sender's memory that its receiver reads by itself, at most: of longer ones each
/// end moves a part.
pub(super) const MOST_READ_BYTES: u64 = 256 << 10;

/// Bytes of a message from which on it is left in its sender's memory, although it could go through slabs,
/// where stores are not quick and both ends wait for it. Latencies of 12, 16, 32 and 64 KB are 1.2, 1.2, 2.1
/// and 3.1 µs so, and 1.7, 2.0, 3.5 and 5.6 through slabs (`storm run -n 2 microbench latency --sizes
/// 12K,16K,32K,64K`, an Intel Xeon).
const LEAST_READ_BYTES: usize = 12 << 10;

impl Port {
    /// Reads a message from its sender's memory. False if that is not to be, or cannot be.
    ///
    /// # Safety
    /// `to` must be writable for the message's bytes.
    #[inline(never)]
    pub(super) unsafe fn read(&mut self, found: &Found, from: u64, to: *mut u8) -> bool {
        let bytes = found.message().length().bytes();
        let may_read = bytes <= MOST_READ_BYTES && found.sender != self.local_rank && self.reads();
        if !may_read || !self.reading.may_read() {
            return false;
        }
        let Ok(peer) = Peer::of(&self.memory, found.sender) else { return false };
        let access = Access { direction: Direction::Read, peer, here: to as u64, there: from, bytes };
        // SAFETY: the caller's promise; the other address the system checks.
        let read = unsafe { CrossMemoryAttach.attach_all(&access) };
        // What else has failed the transfer finds, too, and tells.
        let is_read = is_done(&self.memory, read).unwrap_or(false);
        if !is_read {
            self.reading.note(false);
        }
        is_read
    }

    /// Whether ranks read each other's memory.
    fn reads(&self) -> bool {
        self.memory.header().cross_memory.get() != CrossMemory::Off as u32
    }

    /// Whether others may claim messages of this rank, and read them.
    fn may_be_read(&self) -> bool {
        self.reads() && self.pacing.lets_ranks_claim() && self.local_rank.index() < CLAIMED_SENDERS
    }

    /// Whether a message of a call that receives meanwhile (`MPI_Sendrecv`) is left in this rank's memory.
    /// Not where ranks share cores: 16 KB take 17 µs so with eight ranks on two cores, and 11 through slabs.
    pub fn leaves_to_partner(&self, receiver: Rank, bytes: usize) -> bool {
        bytes >= LEAST_READ_BYTES
            && self.may_be_read()
            && !self.is_crowded()
            && !self.stores.are_quick()
            && self.memory.local_rank(receiver).is_ok_and(|receiver| receiver.is_some())
    }

    /// Whether a message that could be buffered is left in this rank's memory, as its receiver is quicker if
    /// it reads it there. Where the sender waits for that alone, only if the receiver looks for messages, and
    /// each has a core.
    pub(super) fn leaves_to_reader(
        &mut self,
        receiver: Rank,
        bytes: usize,
        wait: SendWait,
    ) -> Result<bool, PortError> {
        let least = if wait == SendWait::Later { LEAST_LEFT_BYTES } else { LEAST_READ_BYTES };
        if !(least..=BUFFERED_BYTES).contains(&bytes) || !self.may_be_read() {
            return Ok(false);
        }
        let Some(receiver) = self.memory.local_rank(receiver)? else { return Ok(false) };
        let is_left = match wait {
            SendWait::Later => true,
            SendWait::WithReceive => bytes >= LEAST_LEFT_BYTES || !self.is_crowded(),
            SendWait::Now => !self.is_crowded() && self.is_expected(receiver)?,
        };
        Ok(is_left && !self.stores.take_long_message())
    }

    /// Whether another rank looks for messages of this one, or is about to: it waits, and has claimed the
    /// last one.
    fn is_expected(&self, receiver: LocalRank) -> Result<bool, PortError> {
        let status = &self.memory.rank(receiver)?.status;
        let has_claimed = || self.status().is_claimed_by(receiver) && status.activity() == Activity::Polling;
        Ok(status.looks_for(self.local_rank) || has_claimed())
    }

    /// The patience of a rank that waits for this request, if that is a send for which its receiver looks, or
    /// is about to, as it has claimed the last one.
    #[inline(never)]
    pub(super) fn patience_with_reader(&self, request: RequestId) -> Result<Option<Stream>, PortError> {
        let Some(about) = self.outstanding.about(request) else { return Ok(None) };
        let is_send = self.outstanding.purpose(request) == Some(Purpose::Send);
        if !is_send || about.bytes > MOST_READ_BYTES || !self.may_be_read() {
            return Ok(None);
        }
        let Some(receiver) = self.memory.local_rank(about.peer_in_job)? else { return Ok(None) };
        let patience_ns = STREAM_PATIENCE_NS + about.bytes / 1024 * READING_NS_A_KB;
        let is_expected = self.status().take_claim(receiver)
            || self.memory.rank(receiver)?.status.looks_for(self.local_rank);
        Ok(is_expected.then(|| Stream::begin(self, patience_ns)))
    }
}
