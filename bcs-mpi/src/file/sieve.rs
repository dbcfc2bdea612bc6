//! Data sieving: scattered bytes of a file are read together with what lies between them (Thakur, Gropp and
//! Lusk, *Data Sieving and Collective I/O in ROMIO*, 1999).
//!
//! Bytes between those that are written are read before, and written as they were; nobody else writes
//! meanwhile ([`super::locking`]). Where the file system has no locks, or the file cannot be read, bytes are
//! written block by block.

use super::bytes;
use super::errors::Failed;
use super::locking::{Mode, lock};
use crate::object::file::hints::Choice;
use crate::object::file::opened::Opened;
use std::ops::Range;

/// A hole of so many bytes costs no more to read than another call of the system.
const MOST_HOLE: u64 = 4 << 10;
/// Blocks of so many bytes cost no more by themselves than to be copied.
const LONG: u64 = 32 << 10;

/// Whether blocks are read or written with what lies between them: blocks of about `block` bytes, `bytes` in
/// all, which reach over `span` bytes of the file.
pub(super) fn pays(choice: Choice, block: u64, bytes: u64, span: u64) -> bool {
    match choice {
        Choice::Enable => true,
        Choice::Disable => false,
        Choice::Automatic => {
            let blocks = (bytes / block.max(1)).max(1);
            block < LONG && span.saturating_sub(bytes) / blocks <= MOST_HOLE
        }
    }
}

/// A buffer that is used again and again.
#[derive(Default)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    /// Room for so many bytes, whatever they are.
    pub fn room(&mut self, bytes: usize) -> *mut u8 {
        self.0.clear();
        self.0.reserve(bytes);
        self.0.as_mut_ptr()
    }
}

/// Reads these bytes of the file, has `put` overwrite some in the buffer that it is given, and writes them
/// back; false, and nothing is done, where nobody else can be kept from writing meanwhile. A lock of all of
/// them may be held already.
///
/// # Safety
/// `put` may write to the buffer within these bytes only.
///
/// # Errors
/// The system fails.
pub(super) unsafe fn change(
    opened: &Opened,
    range: Range<u64>,
    is_locked: bool,
    buffer: &mut Buffer,
    put: impl FnOnce(*mut u8),
) -> Result<bool, Failed> {
    let held = if is_locked { None } else { Some(lock(opened, range.clone(), Mode::Exclusive)?) };
    if held.as_ref().is_some_and(|held| !held.is_heard) {
        return Ok(false);
    }
    let length = (range.end - range.start) as usize;
    let data = buffer.room(length);
    // SAFETY: there is room for as many.
    let there = unsafe { bytes::read(opened, range.start, data, length)? };
    // What is behind the end of the file is zero once something further is written.
    // SAFETY: as above.
    unsafe { data.add(there).write_bytes(0, length - there) };
    put(data);
    // SAFETY: all of it is initialised.
    unsafe { bytes::write(opened, range.start, data, length)? };
    Ok(true)
}
