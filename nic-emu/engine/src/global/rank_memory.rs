//! Reading and writing the memory of this node's ranks: their own bytes for messages to and from other nodes.
//!
//! Addresses are what ranks wrote, so the kernel checks them (cross-memory attach), also where a rank says
//! that it is this process. Only those of the ranks of a simulation, which are threads of its process, are
//! used directly ([`OwnProcess`](crate::channel::OwnProcess)).

use crate::channel::{Access, ChannelError, Direction, Peer, ProcessMemory};
use crate::memory::{LocalRank, NicMemory};

/// Appends bytes of a rank's memory, for which there is room.
///
/// # Errors
/// The rank's process is dead, has no such memory, or the system refuses.
pub fn append(
    processes: &dyn ProcessMemory,
    memory: &NicMemory,
    local_rank: LocalRank,
    address: u64,
    bytes: usize,
    to: &mut Vec<u8>,
) -> Result<(), ChannelError> {
    let peer = Peer::of(memory, local_rank)?;
    to.reserve(bytes);
    // SAFETY: there is room for so many bytes behind the length, which have been written then.
    unsafe {
        let here = to.spare_capacity_mut().as_mut_ptr() as u64;
        let direction = Direction::Read;
        processes.attach_all(&Access { direction, peer, here, there: address, bytes: bytes as u64 })?;
        to.set_len(to.len() + bytes);
    }
    Ok(())
}

/// Appends bytes that others may write at the same time, if they are mad.
///
/// # Safety
/// `bytes` bytes from `from` on must be readable.
pub unsafe fn append_copy(from: *const u8, bytes: usize, to: &mut Vec<u8>) {
    to.reserve(bytes);
    // SAFETY: the caller's promise; there is room for so many bytes behind the length, which have been
    // written then.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to.spare_capacity_mut().as_mut_ptr().cast(), bytes);
        to.set_len(to.len() + bytes);
    }
}

/// Copies into a rank's memory.
///
/// # Safety
/// `bytes` bytes from `from` on must be readable.
///
/// # Errors
/// As [`append`].
pub unsafe fn write(
    processes: &dyn ProcessMemory,
    memory: &NicMemory,
    local_rank: LocalRank,
    address: u64,
    from: *const u8,
    bytes: usize,
) -> Result<(), ChannelError> {
    let (direction, peer) = (Direction::Write, Peer::of(memory, local_rank)?);
    let access = Access { direction, peer, here: from as u64, there: address, bytes: bytes as u64 };
    // SAFETY: by this function's contract.
    unsafe { processes.attach_all(&access) }
}
