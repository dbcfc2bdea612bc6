//! Bytes of a file, read and written together: what the system interrupts or does in parts goes on.

use super::errors::Failed;
use crate::object::file::opened::Opened;
use rustix::io::{Errno, pread, pwrite, read as read_next, write as write_next};
use std::mem::MaybeUninit;

/// Reads so many bytes; answers how many there were before the end of the file.
///
/// # Safety
/// `to` must be writable for so many bytes, and used by nobody else.
///
/// # Errors
/// The system fails.
pub(super) unsafe fn read(opened: &Opened, from: u64, to: *mut u8, bytes: usize) -> Result<usize, Failed> {
    let mut done = 0;
    while done < bytes {
        let room = to.wrapping_add(done).cast::<MaybeUninit<u8>>();
        // SAFETY: the caller's promise.
        let room = unsafe { std::slice::from_raw_parts_mut(room, bytes - done) };
        let got = match pread(&opened.fd, &mut *room, from + done as u64) {
            // A pipe has no offsets, and gives what comes next.
            Err(Errno::SPIPE) => read_next(&opened.fd, &mut *room),
            got => got,
        };
        match got.map(|(read, _)| read.len()) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(Failed { errno, at: from + done as u64, action: "read" }),
        }
    }
    Ok(done)
}

/// Writes these bytes.
///
/// # Safety
/// `from` must be readable for so many bytes, which nobody writes.
///
/// # Errors
/// The system fails.
pub(super) unsafe fn write(opened: &Opened, to: u64, from: *const u8, bytes: usize) -> Result<(), Failed> {
    let mut done = 0;
    while done < bytes {
        // SAFETY: the caller's promise.
        let rest = unsafe { std::slice::from_raw_parts(from.wrapping_add(done), bytes - done) };
        let failed = |errno| Failed { errno, at: to + done as u64, action: "written" };
        let written = match pwrite(&opened.fd, rest, to + done as u64) {
            Err(Errno::SPIPE) => write_next(&opened.fd, rest),
            written => written,
        };
        match written {
            // No progress and no reason: the next attempt would make none.
            Ok(0) => return Err(failed(Errno::IO)),
            Ok(written) => done += written,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(failed(errno)),
        }
    }
    Ok(())
}
