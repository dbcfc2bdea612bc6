//! A ring of bytes in shared memory, at positions that only grow.
//!
//! A position is a number of bytes since the start; where it lies is that number modulo the size of the ring.
//! So a position names the same place in the sender's ring and in the receiver's, which is of the same size,
//! and "full" and "empty" are different without a spare byte.

use std::ptr::NonNull;

/// Where a ring lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    base: NonNull<u8>,
    /// A power of two.
    bytes: usize,
}

impl Ring {
    /// The ring of so many bytes, a power of two, at an address.
    ///
    /// # Safety
    /// The range can be read and written as long as the ring is used, and begins at a multiple of 8.
    pub unsafe fn new(base: NonNull<u8>, bytes: usize) -> Self {
        debug_assert!(bytes.is_power_of_two());
        Self { base, bytes }
    }

    fn offset(&self, position: u64) -> usize {
        position as usize & (self.bytes - 1)
    }

    /// The address of a position: that of a byte of the ring.
    pub fn at(&self, position: u64) -> *mut u8 {
        // SAFETY: the offset is below the size of the ring.
        unsafe { self.base.as_ptr().add(self.offset(position)) }
    }

    /// How many bytes from a position on lie in one piece.
    pub fn piece_bytes(&self, position: u64) -> usize {
        self.bytes - self.offset(position)
    }

    /// Writes so many bytes from a position on.
    ///
    /// # Safety
    /// Nobody else may access that range now; `from` can be read, and does not overlap the ring.
    #[inline]
    pub unsafe fn write(&self, position: u64, from: *const u8, bytes: usize) {
        debug_assert!(bytes <= self.bytes);
        let first = bytes.min(self.piece_bytes(position));
        // SAFETY: both pieces lie in the ring, and the caller vouches for the source.
        unsafe {
            std::ptr::copy_nonoverlapping(from, self.at(position), first);
            std::ptr::copy_nonoverlapping(from.add(first), self.base.as_ptr(), bytes - first);
        }
    }

    /// Reads so many bytes from a position on.
    ///
    /// # Safety
    /// Nobody may write that range now; `into` can be written, and does not overlap the ring.
    #[inline]
    pub unsafe fn read_to(&self, position: u64, into: *mut u8, bytes: usize) {
        debug_assert!(bytes <= self.bytes);
        let first = bytes.min(self.piece_bytes(position));
        // SAFETY: both pieces lie in the ring, and the caller vouches for the destination.
        unsafe {
            std::ptr::copy_nonoverlapping(self.at(position), into, first);
            std::ptr::copy_nonoverlapping(self.base.as_ptr(), into.add(first), bytes - first);
        }
    }

    /// Writes the head of a record.
    ///
    /// # Safety
    /// As [`Ring::write`]; the position is a multiple of 8.
    #[inline]
    pub unsafe fn write_head(&self, position: u64, head: Head) {
        // SAFETY: a multiple of 8 in a ring of a multiple of 8 that begins at one: eight bytes follow.
        unsafe { self.at(position).cast::<u64>().write(head.word()) };
    }

    /// The head that stands at a position; none when that is no head.
    ///
    /// # Safety
    /// As [`Ring::read`]; the position is a multiple of 8.
    #[inline]
    pub unsafe fn read_head(&self, position: u64) -> Option<Head> {
        // SAFETY: as above.
        let word = unsafe { self.at(position).cast::<u64>().read() };
        let length = word as u32 as usize;
        [false, true].into_iter().map(|is_taken| Head { length, is_taken }).find(|head| head.word() == word)
    }
}

/// The head of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Bytes of the record.
    pub length: usize,
    /// The record was taken while one before it stayed: nobody takes it again.
    pub is_taken: bool,
}

/// What the upper half of a head shows: that the lower one is a length, and no bytes of a record. By whether
/// the record was taken.
const MARKS: [u32; 2] = [0x5ec0_1d5a, 0x7a4e_21c3];

impl Head {
    /// Its length, and the length again, changed.
    #[inline]
    fn word(self) -> u64 {
        let length = self.length as u32;
        u64::from(length) | u64::from(length ^ MARKS[usize::from(self.is_taken)]) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring on the heap.
    fn with_ring<T>(words: usize, work: impl FnOnce(Ring) -> T) -> T {
        let mut memory = vec![0u64; words];
        let base = NonNull::new(memory.as_mut_ptr().cast()).unwrap();
        // SAFETY: the memory outlives the work.
        work(unsafe { Ring::new(base, words * 8) })
    }

    #[test]
    fn what_is_written_across_the_end_is_read_across_the_end() {
        with_ring(8, |ring| {
            for (position, bytes) in [(0, 64), (60, 10), (63, 64), (u64::MAX - 3, 12), (8, 0)] {
                let data: Vec<u8> = (0..bytes).map(|byte| byte + 1).collect();
                let mut found = vec![0; data.len()];
                // SAFETY: nobody else has the ring.
                unsafe {
                    ring.write(position, data.as_ptr(), data.len());
                    ring.read_to(position, found.as_mut_ptr(), found.len());
                }
                assert_eq!(found, data);
            }
            assert_eq!([0, 56, 64, 65].map(|position| ring.piece_bytes(position)), [64, 8, 64, 63]);
        });
    }

    #[test]
    fn heads_are_told_from_other_bytes() {
        with_ring(8, |ring| {
            // SAFETY: nobody else has the ring.
            unsafe {
                for (length, is_taken) in
                    [0, 1, 8, 65_536].into_iter().flat_map(|it| [(it, false), (it, true)])
                {
                    ring.write_head(56, Head { length, is_taken });
                    assert_eq!(ring.read_head(56), Some(Head { length, is_taken }));
                }
                ring.write(56, [1].as_ptr(), 1);
                assert_eq!(ring.read_head(56), None);
                assert_eq!(ring.read_head(0), None);
            }
        });
    }
}
