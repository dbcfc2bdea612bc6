//! Reading and writing the memory of this node's ranks: their own bytes for messages to and from other nodes.
//!
//! Addresses are what ranks wrote, so the kernel checks them (cross-memory attach), also where a rank says that it is this process. Only the ranks
//! of a simulation, which are threads of the process that made the memory, are copied from and to directly.

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
    to.reserve(bytes);
    let free = to.spare_capacity_mut().as_mut_ptr().cast::<u8>();
    if memory.has_ranks_here() {
        // SAFETY: the rank is a thread of this process, and nobody else writes this memory: it vouched for
        // the buffer when it posted, until its request is complete. There is room for so many bytes behind
        // the length.
        unsafe { std::ptr::copy(address as *const u8, free, bytes) };
    } else {
        let peer = Peer::of(memory, local_index)?;
        // SAFETY: there is room for so many bytes behind the length.
        unsafe { channel::read_peer(peer, address, free, bytes)? };
    }
    // SAFETY: so many bytes behind the old length have just been written.
    unsafe { to.set_len(to.len() + bytes) };
    Ok(())
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
