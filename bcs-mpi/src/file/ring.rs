//! Many blocks at once: the system is given a batch of reads by one call (io_uring), and may make them side
//! by side. Where it does not let this process do so, blocks are read one by one.
//!
//! Writes are not made so: most file systems would hand each to a thread of the kernel.

use super::bytes;
use super::errors::Failed;
use crate::object::file::opened::Opened;
use io_uring::{IoUring, opcode, types};
use rustix::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Blocks of a batch.
pub(super) const BATCH: usize = 64;
/// Fewer are read one by one.
const FEW: usize = 4;

/// Rings that nobody uses at the moment.
static IDLE: Mutex<Vec<IoUring>> = Mutex::new(Vec::new());
/// The system has refused a ring.
static IS_REFUSED: AtomicBool = AtomicBool::new(false);

/// Bytes that lie together in the file, and in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Where in the file.
    pub from: u64,
    /// Where in memory.
    pub to: *mut u8,
    /// How many: a call of the system takes no more.
    pub bytes: u32,
}

fn take() -> Option<IoUring> {
    if IS_REFUSED.load(Ordering::Relaxed) {
        return None;
    }
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    idle.or_else(|| {
        let made = IoUring::new(BATCH as u32).ok();
        IS_REFUSED.store(made.is_none(), Ordering::Relaxed);
        made
    })
}

/// Reads blocks, a batch at most; answers the bytes that there were of all of them, in order, before the end
/// of the file.
///
/// # Safety
/// What they go to must be writable, and used by nobody else.
///
/// # Errors
/// The system fails.
pub(super) unsafe fn read(opened: &Opened, blocks: &[Block]) -> Result<usize, Failed> {
    // What each read answers: none that was not made.
    let mut answers = [0i32; BATCH];
    if blocks.len() >= FEW
        && let Some(mut ring) = take()
    {
        // SAFETY: the caller's promise; all are over when this comes back.
        unsafe { submit(&mut ring, opened, blocks, &mut answers) };
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(ring);
    }
    let mut done = 0;
    for (block, answer) in blocks.iter().zip(answers) {
        let (there, length) = (answer.max(0) as usize, block.bytes as usize);
        // The rest, or all of what could not be read so: who has failed says why, and an end of the file is
        // one. SAFETY: the caller's promise.
        let rest = unsafe {
            bytes::read(opened, block.from + there as u64, block.to.wrapping_add(there), length - there)?
        };
        done += there + rest;
        if there + rest < length {
            break;
        }
    }
    Ok(done)
}

/// Has the system make a batch of reads, and waits for all of them.
///
/// # Safety
/// As [`read`].
unsafe fn submit(ring: &mut IoUring, opened: &Opened, blocks: &[Block], answers: &mut [i32; BATCH]) {
    let fd = types::Fd(opened.fd.as_raw_fd());
    for (number, block) in (0u64..).zip(blocks) {
        let read = opcode::Read::new(fd, block.to, block.bytes).offset(block.from).build().user_data(number);
        // SAFETY: the descriptor is open and the memory the caller's until all are over; there is room for a
        // batch.
        if unsafe { ring.submission().push(&read) }.is_err() {
            break;
        }
    }
    let mut left = ring.submission().len();
    while left > 0 {
        // Interrupted, or out of memory for a moment: what the kernel has goes on, and is waited for.
        if ring.submit_and_wait(1).is_err() {
            std::thread::yield_now();
        }
        for answer in ring.completion() {
            if let Some(of) = answers.get_mut(answer.user_data() as usize) {
                *of = answer.result();
            }
            left -= 1;
        }
    }
}
