//! Memory of the library's own for what comes or goes in a collective.

use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::Memory;
use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

/// Bytes of vectors that a process keeps for the next ones: large fresh memory costs more in page faults than
/// what is done with it.
pub(super) const KEPT_BYTES: usize = 64 << 20;

/// Vectors that it keeps, and the words of the shortest one that it does.
const KEPT: usize = 16;
const LEAST_WORDS: usize = (1 << 10) / size_of::<u128>();

/// Those kept, the oldest first.
static KEPT_WORDS: Mutex<Vec<Vec<u128>>> = Mutex::new(Vec::new());

/// A vector of operands, aligned for any type.
#[derive(Clone, Debug, Default)]
pub struct Vector {
    words: Vec<u128>,
    bytes: usize,
}

impl Vector {
    /// One of so many bytes. Which bytes it has is not said.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(bytes: usize) -> MpiResult<Self> {
        let count = bytes.div_ceil(size_of::<u128>());
        if let Some(words) = kept(count) {
            return Ok(Self { words, bytes });
        }
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

/// The shortest vector that is kept and has so many words, unless that is far longer.
fn kept(count: usize) -> Option<Vec<u128>> {
    if count < LEAST_WORDS {
        return None;
    }
    let mut kept = KEPT_WORDS.lock().ok()?;
    let fits = |(_, words): &(usize, &Vec<u128>)| (count..=4 * count).contains(&words.len());
    let (at, _) = kept.iter().enumerate().filter(fits).min_by_key(|(_, words)| words.len())?;
    Some(kept.remove(at))
}

impl Drop for Vector {
    fn drop(&mut self) {
        let words = std::mem::take(&mut self.words);
        if !(LEAST_WORDS..=KEPT_BYTES / size_of::<u128>()).contains(&words.len()) {
            return;
        }
        if let Ok(mut kept) = KEPT_WORDS.lock() {
            kept.push(words);
            let bytes = |kept: &[Vec<u128>]| kept.iter().map(|words| size_of_val(&words[..])).sum::<usize>();
            while kept.len() > KEPT || bytes(&kept) > KEPT_BYTES {
                kept.remove(0);
            }
        }
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
