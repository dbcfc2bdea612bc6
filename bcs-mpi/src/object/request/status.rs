//! Statuses: what became of an operation (MPI-5.0, §3.2.5).
//!
//! In `MPI_internal`: the bytes received in words 0 and 1, and whether it was cancelled in word 2.

use crate::constants::*;
use crate::object::event::{self, EventKind, Happening};
use nic_emu::port::{Outcome, Received};
use std::ffi::c_int;

/// What a completed operation says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank in the communicator.
    pub source: c_int,
    /// The message's tag.
    pub tag: c_int,
    /// Bytes received.
    pub bytes: u64,
    /// It was cancelled.
    pub cancelled: bool,
}

impl From<Received> for Status {
    #[inline(always)]
    fn from(received: Received) -> Self {
        let Received { source, tag, bytes } = received;
        Self { source: source.0 as c_int, tag, bytes, cancelled: false }
    }
}

impl From<()> for Status {
    #[inline(always)]
    fn from((): ()) -> Self {
        Self::EMPTY
    }
}

impl Status {
    /// The empty status (§3.7.3): of sends, and of requests that are null.
    pub const EMPTY: Self = Self { source: MPI_ANY_SOURCE, tag: MPI_ANY_TAG, bytes: 0, cancelled: false };
    /// The status of a receive from MPI_PROC_NULL (§3.10).
    pub const PROC_NULL: Self = Self { source: MPI_PROC_NULL, tag: MPI_ANY_TAG, bytes: 0, cancelled: false };

    /// The status of an access to a file: so many bytes of the program's memory (§14.4.1).
    pub const fn accessed(bytes: u64) -> Self {
        Self { bytes, ..Self::EMPTY }
    }

    /// The status of a receive or a probe; of a message that was longer than the buffer, the buffer's bytes
    /// arrived.
    #[inline]
    pub fn received(outcome: &Outcome, room: u64) -> Self {
        Self {
            source: outcome.source.0 as c_int,
            tag: outcome.tag,
            bytes: outcome.length.bytes().min(room),
            cancelled: outcome.cancelled,
        }
    }

    /// Tells tools of the message that a receive of this communicator has got.
    #[inline(always)]
    pub(crate) fn note(&self, comm: MPI_Comm) {
        if event::is_listened(EventKind::MessageMatched) && !self.cancelled {
            let &Self { source, tag, bytes, .. } = self;
            event::note(Happening::MessageMatched { comm, source, tag, bytes });
        }
    }

    /// The status that a program's function has filled.
    pub fn of(status: &MPI_Status) -> Self {
        Self {
            source: status.MPI_SOURCE,
            tag: status.MPI_TAG,
            bytes: bytes_of(status),
            cancelled: is_cancelled(status),
        }
    }

    /// Writes the status where the program wants it, `MPI_ERROR` untouched.
    ///
    /// # Safety
    /// `to` must be MPI_STATUS_IGNORE (null) or writable.
    #[inline]
    pub unsafe fn store(&self, to: *mut MPI_Status) {
        if to.is_null() {
            return;
        }
        // SAFETY: not null, so writable by the caller's promise. Field by field, as MPI_ERROR may be
        // uninitialised.
        unsafe {
            (&raw mut (*to).MPI_SOURCE).write(self.source);
            (&raw mut (*to).MPI_TAG).write(self.tag);
            let words = [self.bytes as c_int, (self.bytes >> 32) as c_int, self.cancelled as c_int, 0, 0];
            (&raw mut (*to).MPI_internal).write(words);
        }
    }
}

/// Where a call stores the status of its request, or those of several; null when they are not wanted.
#[derive(Clone, Copy)]
pub struct Statuses(*mut MPI_Status);

impl Statuses {
    /// MPI_STATUS_IGNORE.
    pub const IGNORED: Self = Self(std::ptr::null_mut());

    /// An array of statuses, or one.
    ///
    /// # Safety
    /// `statuses` must be MPI_STATUSES_IGNORE (null) or writable for as many elements as the call has
    /// requests.
    #[inline(always)]
    pub unsafe fn new(statuses: *mut MPI_Status) -> Self {
        Self(statuses)
    }

    #[inline]
    fn at(self, index: usize) -> *mut MPI_Status {
        if self.0.is_null() { self.0 } else { self.0.wrapping_add(index) }
    }

    #[inline]
    pub(crate) fn set(self, index: usize, status: &Status) {
        // SAFETY: the promise of `new`; `index` is less than the number of requests.
        unsafe { status.store(self.at(index)) };
    }

    /// Stores the empty status, `MPI_ERROR` and all (§3.7.3): of a request that is null or inactive.
    #[inline]
    pub(crate) fn set_empty(self, index: usize) {
        self.set(index, &Status::EMPTY);
        self.set_error(index, MPI_SUCCESS);
    }

    #[inline]
    pub(crate) fn set_error(self, index: usize, code: c_int) {
        let status = self.at(index);
        if !status.is_null() {
            // SAFETY: as above.
            unsafe { (&raw mut (*status).MPI_ERROR).write(code) };
        }
    }
}

/// The bytes received.
pub(crate) fn bytes_of(status: &MPI_Status) -> u64 {
    status.MPI_internal[0] as u32 as u64 | (status.MPI_internal[1] as u32 as u64) << 32
}

/// MPI_Test_cancelled.
pub fn is_cancelled(status: &MPI_Status) -> bool {
    status.MPI_internal[2] != 0
}

/// MPI_Status_set_cancelled.
pub fn set_cancelled(status: &mut MPI_Status, cancelled: bool) {
    status.MPI_internal[2] = cancelled as c_int;
}

#[cfg(test)]
mod tests {
    use super::*;
    use nic_emu::descriptor::Length;
    use nic_emu::memory::numbers::CommRank;

    #[test]
    fn a_status_keeps_sizes_of_more_than_four_gigabytes() {
        let mut status = MPI_Status { MPI_ERROR: 77, ..MPI_Status::default() };
        let outcome = Outcome {
            source: CommRank(3),
            tag: 9,
            length: Length::new(5 << 32 | 8, 0x8123),
            cancelled: false,
        };
        // SAFETY: the status is writable.
        unsafe { Status::received(&outcome, u64::MAX).store(&mut status) };
        assert_eq!((status.MPI_SOURCE, status.MPI_TAG, status.MPI_ERROR), (3, 9, 77));
        assert_eq!(bytes_of(&status), 5 << 32 | 8);
        assert!(!is_cancelled(&status));
        set_cancelled(&mut status, true);
        assert!(is_cancelled(&status));
        assert_eq!(bytes_of(&status), 5 << 32 | 8);
    }
}
