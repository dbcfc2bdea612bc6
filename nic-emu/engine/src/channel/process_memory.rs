//! The memory of ranks' processes: how who calls the engine reads and writes it.

use super::error::ChannelError;
use super::peer::{Access, Direction, Peer};
use crate::memory::status::Phase;
use crate::memory::{LocalRank, NicMemory};

impl Peer {
    /// That of the rank in this place of the node.
    ///
    /// # Errors
    /// [`ChannelError::Gone`] where none was ever, or none is any more: its number may be another process's.
    pub fn of(memory: &NicMemory, local_rank: LocalRank) -> Result<Self, ChannelError> {
        let status = &memory.rank(local_rank)?.status;
        let peer = Self { rank: memory.job_rank(local_rank), pid: status.pid() };
        if peer.pid == 0 || status.phase() == Phase::Exited {
            return Err(ChannelError::Gone { peer });
        }
        Ok(peer)
    }
}

/// The memory of the ranks' processes, as the process that calls the engine reads and writes it.
pub trait ProcessMemory: Sync {
    /// Moves as many of the bytes as it can in one go, from the first one on, and at least one. Answers how
    /// many these are.
    ///
    /// # Safety
    /// Of the bytes here those that this process has are readable, or with [`Direction::Read`] writable, and
    /// nobody else uses them meanwhile. Neither address has to be one: the system checks both.
    ///
    /// # Errors
    /// The other process is gone, one of the two has no such memory, the system refuses
    /// ([`ChannelError::is_refusal`]), or it fails otherwise.
    unsafe fn attach(&self, access: &Access) -> Result<u64, ChannelError>;

    /// Whether a process is alive: a dead one that nobody has waited for is dead too.
    fn is_alive(&self, peer: Peer) -> bool;

    /// Moves all of the bytes.
    ///
    /// # Safety
    /// As [`ProcessMemory::attach`].
    ///
    /// # Errors
    /// As [`ProcessMemory::attach`].
    unsafe fn attach_all(&self, access: &Access) -> Result<(), ChannelError> {
        let mut moved = 0;
        while moved < access.bytes {
            let (here, there) = (access.here + moved, access.there + moved);
            let rest = Access { here, there, bytes: access.bytes - moved, ..*access };
            // SAFETY: a part of what the caller promises.
            moved += unsafe { self.attach(&rest)? };
        }
        Ok(())
    }
}

/// What came of reading or writing a rank's memory: true when it is done, false when the system refuses,
/// which is remembered.
///
/// # Errors
/// It failed otherwise.
pub fn is_done(memory: &NicMemory, attempt: Result<(), ChannelError>) -> Result<bool, ChannelError> {
    match attempt {
        Err(error) if error.is_refusal() => {
            memory.header().cross_memory.set(0);
            Ok(false)
        }
        attempt => attempt.map(|()| true),
    }
}

/// The memory of ranks that are threads of this process, as in a simulation: their buffers are its own, and
/// they vouched for them when they posted.
#[derive(Clone, Copy, Debug)]
pub struct OwnProcess;

impl ProcessMemory for OwnProcess {
    unsafe fn attach(&self, access: &Access) -> Result<u64, ChannelError> {
        let Access { direction, here, there, bytes, .. } = *access;
        let (from, to) = match direction {
            Direction::Read => (there as *const u8, here as *mut u8),
            Direction::Write => (here as *const u8, there as *mut u8),
        };
        // SAFETY: `here` by this function's contract. Nobody but the rank uses `there`, and the rank leaves
        // it alone until its request is complete; `copy` allows its mistake of letting buffers overlap.
        unsafe { std::ptr::copy(from, to, bytes as usize) };
        Ok(bytes)
    }

    fn is_alive(&self, _: Peer) -> bool {
        true
    }
}
