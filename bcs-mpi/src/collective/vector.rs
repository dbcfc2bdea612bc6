//! Memory of the library's own for what comes or goes in a collective.

use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::Memory;
use std::ops::{Deref, DerefMut};

/// A vector of operands, aligned for any type.
#[derive(Clone, Debug, Default)]
pub struct Vector {
    words: Vec<u128>,
    bytes: usize,
}

impl Vector {
    /// One of so many bytes, all 0.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(bytes: usize) -> MpiResult<Self> {
        let count = bytes.div_ceil(size_of::<u128>());
        let none = || {
            let problem = format!("no memory for {bytes} bytes in which a collective has what comes or goes");
            MpiError::new(Problem::Exhausted(problem))
        };
        if count == 0 {
            return Ok(Self::default());
        }
        let layout = std::alloc::Layout::array::<u128>(count).map_err(|_| none())?;
        // SAFETY: it is the layout of something.
        let words = unsafe { std::alloc::alloc_zeroed(layout) };
        if words.is_null() {
            return Err(none());
        }
        // SAFETY: so many words were allocated, as the vector will free them, and zeroes are words.
        Ok(Self { words: unsafe { Vec::from_raw_parts(words.cast(), count, count) }, bytes })
    }

    /// A vector, and its memory for an operation that keeps it.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn apart(bytes: usize) -> MpiResult<(Self, Memory)> {
        let mut vector = Self::new(bytes)?;
        let memory = vector.memory();
        Ok((vector, memory))
    }

    /// Its memory, for an operation that keeps it.
    pub(super) fn memory(&mut self) -> Memory {
        // SAFETY: the operation keeps the vector until it is over, and uses the memory alone.
        unsafe { Memory::new(self.as_mut_ptr(), self.bytes) }
    }
}

impl Deref for Vector {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the words have as many bytes, all of them initialised.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }
}

impl DerefMut for Vector {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }
}
