//! Memory that an operation reads, and where it puts what comes.

use std::ops::Range;
use std::ptr::null_mut;

/// Bytes that an operation gives, or room for what it takes. Who makes one promises that it is valid, so who
/// moves its bytes has nothing to promise.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    first: *mut u8,
    bytes: usize,
}

impl Memory {
    /// No bytes.
    pub const NOTHING: Self = Self { first: null_mut(), bytes: 0 };

    /// So many bytes.
    ///
    /// # Safety
    /// Until the operation is over they must be readable, and, where something is taken there, writable and
    /// used by nobody else.
    #[inline]
    pub const unsafe fn new(first: *mut u8, bytes: usize) -> Self {
        Self { first, bytes }
    }

    /// Its first byte.
    #[inline]
    pub const fn first(self) -> *mut u8 {
        self.first
    }

    /// How many bytes there are.
    #[inline]
    pub const fn bytes(self) -> usize {
        self.bytes
    }

    /// Some of its bytes, those of them that it has.
    #[inline]
    pub fn part(self, Range { start, end }: Range<usize>) -> Self {
        let (start, end) = (start.min(self.bytes), end.min(self.bytes));
        Self { first: self.first.wrapping_add(start), bytes: end.saturating_sub(start) }
    }

    /// Of a row of blocks of so many bytes, the one with this number.
    #[inline]
    pub fn block(self, number: usize, bytes: usize) -> Self {
        self.part(number * bytes..(number + 1) * bytes)
    }

    /// Copies as many bytes as both have; they may overlap, or be the same.
    #[inline]
    pub fn copy_to(self, to: Self) {
        let bytes = self.bytes.min(to.bytes);
        if bytes > 0 && self.first != to.first {
            // SAFETY: the promise of `new` for both.
            unsafe { std::ptr::copy(self.first, to.first, bytes) };
        }
    }
}
