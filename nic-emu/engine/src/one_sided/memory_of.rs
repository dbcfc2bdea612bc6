//! The memory of a rank of this node, as who carries operations out reads and writes it.

use crate::channel::{Access, ChannelError, Direction, Peer, ProcessMemory};
use crate::memory::{LocalRank, NicMemory};

/// The memory of a rank of the node.
pub struct MemoryOf<'a> {
    /// How the memory of other processes is reached.
    processes: &'a dyn ProcessMemory,
    peer: Peer,
    /// It is that of this process.
    is_own: bool,
}

impl<'a> MemoryOf<'a> {
    /// That of this rank; `own` is the rank that this process is, if its memory is to be used without asking
    /// the system whether it is there.
    ///
    /// # Errors
    /// There is no such process any more.
    pub fn rank(
        memory: &NicMemory,
        rank: LocalRank,
        own: Option<LocalRank>,
        processes: &'a dyn ProcessMemory,
    ) -> Result<Self, ChannelError> {
        Ok(Self { processes, peer: Peer::of(memory, rank)?, is_own: own == Some(rank) })
    }

    fn access(
        &self,
        direction: Direction,
        here: *const u8,
        there: u64,
        bytes: usize,
    ) -> Result<(), ChannelError> {
        let access = Access { direction, peer: self.peer, here: here as u64, there, bytes: bytes as u64 };
        // SAFETY: the callers' slices are readable, or writable, and borrowed; the system checks the other
        // address, or the ranks of a simulation vouch for theirs.
        unsafe { self.processes.attach_all(&access) }
    }

    /// Reads bytes at an address that the rank has given.
    ///
    /// # Errors
    /// It has no such memory, or the system refuses.
    pub fn read(&self, address: u64, to: &mut [u8]) -> Result<(), ChannelError> {
        if self.is_own {
            // SAFETY: the address is one of this process's window, whose bounds the origin has checked.
            unsafe { std::ptr::copy(address as *const u8, to.as_mut_ptr(), to.len()) };
            return Ok(());
        }
        self.access(Direction::Read, to.as_mut_ptr(), address, to.len())
    }

    /// Writes bytes at an address that the rank has given.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), ChannelError> {
        if self.is_own {
            // SAFETY: as above.
            unsafe { std::ptr::copy(from.as_ptr(), address as *mut u8, from.len()) };
            return Ok(());
        }
        self.access(Direction::Write, from.as_ptr(), address, from.len())
    }
}
