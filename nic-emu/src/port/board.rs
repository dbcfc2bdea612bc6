//! The board: what members of a released collective read of each other.
//!
//! Contributions, of at most a slab each, are in NIC memory. Who has read all it needs departs
//! (`crate::memory::departure`).

use crate::memory::departure;
use crate::memory::instance::{Instance, Member};
use crate::memory::members::{contribution, members};
use crate::memory::sync::Ordering;
use crate::memory::{Corrupt, NicMemory, checked, within};

/// A released collective, as one of its members sees it until it departs.
pub struct Board<'m> {
    memory: &'m NicMemory,
    index: u32,
    instance: &'m Instance,
    members: &'m [Member],
}

impl<'m> Board<'m> {
    /// The board of the instance that a request was released from.
    pub fn new(memory: &'m NicMemory, index: u32) -> Result<Self, Corrupt> {
        let instance = memory.instance(index)?;
        Ok(Self { memory, index, instance, members: members(memory, index, instance)? })
    }

    /// Members whose contributions can be read: those of the communicator, by their rank. (Of a reduction,
    /// and of a broadcast on its root's node, the local ones, by their position: [`Self::result`] and
    /// [`Self::root`] say which.)
    pub fn len(&self) -> usize {
        self.entries().map_or(self.members.len(), |entries| entries as usize)
    }

    /// True when there are none; never for a board that one was released from.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The member that is the root of a broadcast, by position.
    pub fn root(&self) -> Option<usize> {
        if self.is_brought() {
            return Some(0);
        }
        (self.instance.root_member.get() as usize).checked_sub(1)
    }

    /// The member at whose place the result of a reduction is.
    pub fn result(&self) -> Option<usize> {
        (self.instance.result_member.get() as usize).checked_sub(1)
    }

    /// Bytes of a member's contribution.
    pub fn bytes(&self, member: usize) -> u64 {
        if self.is_brought() {
            return self.entry(member).map_or(0, |(_, bytes)| bytes);
        }
        self.members.get(member).map_or(0, |m| m.bytes.get())
    }

    /// Copies part of a member's contribution, from byte `offset` on, to `to`.
    ///
    /// # Safety
    /// `to` must be writable for `bytes` bytes.
    pub unsafe fn read(
        &self,
        member: usize,
        offset: usize,
        to: *mut u8,
        bytes: usize,
    ) -> Result<(), Corrupt> {
        if self.is_brought() {
            let (start, length) = self.entry(member)?;
            within("end of a contribution", offset as u64, bytes as u64, length)?;
            let from = self.memory.brought(self.index, start.saturating_add(offset as u64), bytes as u64)?;
            // SAFETY: `from` has `bytes` bytes, which are not written before all have departed; `to` is the
            // caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, bytes) };
            return Ok(());
        }
        let from = &self.members[checked("member of a collective", member as u64, self.members.len())?];
        if bytes == 0 {
            return Ok(());
        }
        let contribution = contribution(self.memory, from)?;
        let (from, length) = contribution.bytes();
        within("end of a contribution", offset as u64, bytes as u64, length as u64)?;
        // SAFETY: the range is within the contribution, which lies here, or in a slab that is not written
        // before all have departed; `to` is the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(from.add(offset), to, bytes) };
        Ok(())
    }

    fn is_brought(&self) -> bool {
        self.instance.is_brought.get() != 0
    }

    /// Entries of what other nodes have brought; none when the board is of this node alone.
    fn entries(&self) -> Option<u64> {
        self.is_brought()
            .then(|| Some(self.memory.brought_word(self.index, 0).ok()?.load(Ordering::Relaxed)))?
    }

    /// Where a contribution begins in what other nodes have brought, and its length.
    fn entry(&self, member: usize) -> Result<(u64, u64), Corrupt> {
        let entries = self.entries().unwrap_or_default() as usize;
        let entry = 8 + checked("member of a collective", member as u64, entries)? as u64 * 16;
        let word = |at| Ok(self.memory.brought_word(self.index, at)?.load(Ordering::Relaxed));
        Ok((word(entry)?, word(entry + 8)?))
    }

    /// Departs: this member reads no more.
    ///
    /// # Errors
    /// [`Corrupt`] when the instance names members that cannot be.
    pub fn depart(self) -> Result<(), Corrupt> {
        departure::depart(self.memory, self.index)
    }
}
