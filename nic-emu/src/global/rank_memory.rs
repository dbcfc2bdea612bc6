//! Reading and writing the memory of this node's ranks: their own bytes for messages to and from other nodes.

use crate::channel::{self, ChannelError};
use crate::memory::NicMemory;

/// Copies from a rank's memory.
///
/// # Errors
/// The rank's process is dead, has no such memory, or the system refuses.
pub fn read(memory: &NicMemory, local_index: u32, address: u64, to: &mut [u8]) -> Result<(), ChannelError> {
    let pid = memory.rank(local_index)?.status.pid();
    if pid == std::process::id() {
        // SAFETY: the rank is of this process: it vouched for the buffer when it posted, until its request is complete.
        unsafe { std::ptr::copy(address as *const u8, to.as_mut_ptr(), to.len()) };
        return Ok(());
    }
    // SAFETY: `to` is writable for its length.
    unsafe { channel::read_peer(pid, address, to.as_mut_ptr(), to.len()) }
}

/// Copies into a rank's memory.
///
/// # Errors
/// As [`read`].
pub fn write(memory: &NicMemory, local_index: u32, address: u64, from: &[u8]) -> Result<(), ChannelError> {
    let pid = memory.rank(local_index)?.status.pid();
    if pid == std::process::id() {
        // SAFETY: as in `read`; nobody else uses a receive buffer until its request is complete.
        unsafe { std::ptr::copy(from.as_ptr(), address as *mut u8, from.len()) };
        return Ok(());
    }
    channel::write_peer(pid, address, from)
}
