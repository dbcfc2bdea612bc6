//! Reading and writing the memory of this node's ranks: their own bytes for messages to and from other nodes.
//!
//! Addresses are what ranks wrote, so the kernel checks them (cross-memory attach), also where a rank says
//! that it is this process. Only the ranks of a simulation, which are threads of the process that made the
//! memory, are copied from and to directly.

use crate::channel::{self, ChannelError, Peer};
use crate::memory::NicMemory;
use bytes::BytesMut;

/// Appends bytes of a rank's memory, for which there is room.
///
/// # Errors
/// The rank's process is dead, has no such memory, or the system refuses.
pub fn append(
    memory: &NicMemory,
    local_index: u32,
    address: u64,
    bytes: usize,
    to: &mut BytesMut,
) -> Result<(), ChannelError> {
    if memory.has_ranks_here() {
        // SAFETY: the rank is a thread of this process, and nobody else writes this memory: it vouched for
        // the buffer when it posted, until its request is complete.
        unsafe { append_copy(address as *const u8, bytes, to) };
        return Ok(());
    }
    let peer = Peer::of(memory, local_index)?;
    to.reserve(bytes);
    // SAFETY: there is room for so many bytes behind the length, which have been written then.
    unsafe {
        channel::read_peer(peer, address, to.spare_capacity_mut().as_mut_ptr().cast(), bytes)?;
        to.set_len(to.len() + bytes);
    }
    Ok(())
}

/// Appends bytes that others may write at the same time, if they are mad.
///
/// # Safety
/// `bytes` bytes from `from` on must be readable.
pub unsafe fn append_copy(from: *const u8, bytes: usize, to: &mut BytesMut) {
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
    memory: &NicMemory,
    local_index: u32,
    address: u64,
    from: *const u8,
    bytes: usize,
) -> Result<(), ChannelError> {
    if memory.has_ranks_here() {
        // SAFETY: as in `append`; nobody else uses a receive buffer until its request is complete.
        unsafe { std::ptr::copy(from, address as *mut u8, bytes) };
        return Ok(());
    }
    let peer = Peer::of(memory, local_index)?;
    // SAFETY: by this function's contract.
    unsafe { channel::write_peer(peer, address, from, bytes) }
}
