//! Grants: a receiver's node wants some bytes of a message (*Grant*), and the sender's sends them (*Data*).
//! Whoever holds the run token does that: the NIC thread, or the sender while it waits.

use super::departure::finish_send;
use super::message::RawBytes;
use super::rank_memory;
use super::record::{Kind, Record};
use crate::channel::{Buffer, ChannelError};
use crate::memory::transfer::Range;
use crate::memory::{Corrupt, LocalRank, NicMemory, Rank, RequestId, SlabId};
use crate::threads::completer::Completer;
use std::ptr::NonNull;

/// Bytes of a grant at most: so much is read, sent and written as one, while what was granted before and
/// after it is in the other hands. Whole pages of the ranks' memory, and a record of them is no longer than a
/// link takes.
pub(super) const CHUNK_BYTES: u64 = 124 << 10;

/// In the word of the place: these are the message's last bytes.
const LAST: u64 = 1 << 63;

/// A grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    /// The sender.
    pub rank: Rank,
    /// Its request, or [`RequestId::NONE`].
    pub request: RequestId,
    /// The number of the first slab in which the message is, plus one; 0 if it is in the sender's memory.
    pub place: u64,
    /// Where in the sender's memory the message is.
    pub address: u64,
    /// The bytes.
    pub range: Range,
    /// They are the last.
    pub is_last: bool,
    /// The receiver's number of the transfer.
    pub transfer: u64,
    /// Bytes of the message that are wanted in all.
    pub total: u64,
}

impl Grant {
    /// What a record says.
    pub fn of(record: &Record) -> Self {
        let [request, place, address, offset, bytes, transfer, total] = record.words;
        Self {
            rank: record.rank,
            request: RequestId(request as u32),
            place: place & !LAST,
            address,
            range: Range { offset, bytes },
            is_last: place & LAST != 0,
            transfer,
            total,
        }
    }

    /// The record that says it.
    pub fn record(&self) -> Record {
        let place = self.place | if self.is_last { LAST } else { 0 };
        let Range { offset, bytes } = self.range;
        let request = self.request.0.into();
        let words = [request, place, self.address, offset, bytes, self.transfer, self.total];
        Record::new(Kind::Grant, self.rank, &words)
    }

    /// Where the message is in the sender's memory, as the receiver's node was told.
    pub fn buffer(&self) -> Buffer {
        Buffer { address: self.address, bytes: self.total }
    }

    /// The record that brings the bytes, without them.
    pub fn data(&self) -> Record {
        Record::new(Kind::Data, Rank(0), &[self.transfer, self.range.offset])
    }

    /// The bytes, which are in slabs.
    ///
    /// # Errors
    /// There are no such slabs.
    pub fn in_slabs<'m>(&self, memory: &'m NicMemory, sender: LocalRank) -> Result<RawBytes<'m>, Corrupt> {
        let slab = SlabId(self.place.wrapping_sub(1) as u32);
        RawBytes::of(memory, sender, slab, self.range.offset, self.range.bytes)
    }

    /// The bytes, which are in the buffer of a send of this process.
    ///
    /// # Safety
    /// The send is under way: the program leaves its buffer as it is.
    ///
    /// # Errors
    /// The buffer is shorter.
    pub unsafe fn own<'a>(&self, buffer: &Buffer) -> Result<&'a [u8], Corrupt> {
        let from = buffer.at(self.range)? as *const u8;
        // SAFETY: within the buffer that the program gave for this message; the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(from, self.range.bytes as usize) })
    }

    /// The bytes, which are in a window of this process.
    ///
    /// # Safety
    /// So many bytes can be read there for as long as they are used.
    pub unsafe fn in_window<'a>(&self) -> Option<RawBytes<'a>> {
        let from = self.address.wrapping_add(self.range.offset) as *mut u8;
        // SAFETY: the caller's promise.
        NonNull::new(from).map(|from| unsafe { RawBytes::at(from, self.range.bytes as usize) })
    }

    /// Appends the bytes, which are in the memory of a rank's process.
    ///
    /// # Errors
    /// As [`rank_memory::append`].
    pub fn append_from_process(
        &self,
        (processes, memory): (&dyn crate::channel::ProcessMemory, &NicMemory),
        sender: LocalRank,
        to: &mut Vec<u8>,
    ) -> Result<(), ChannelError> {
        let from = self.address.wrapping_add(self.range.offset);
        rank_memory::append(processes, memory, sender, from, self.range.bytes as usize, to)
    }

    /// The bytes have been sent: if they are the last, the sender is done with its message.
    ///
    /// # Errors
    /// It names no rank, request or slab of this node.
    pub fn finish(
        &self,
        memory: &NicMemory,
        completer: &mut Completer<'_>,
        receiver: u32,
    ) -> Result<(), Corrupt> {
        if !self.is_last {
            return Ok(());
        }
        let words = [self.request.0.into(), self.place];
        finish_send(memory, completer, receiver, &Record::new(Kind::Matched, self.rank, &words))
    }
}
