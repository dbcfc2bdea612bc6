//! Writes that are under way, each with the memory that a provider wants for it, and with what its poster
//! calls it.
//!
//! Invariant: a context is the provider's from the posting of its write to the completion, and of one write
//! at a time.

use super::abi::FiContext2;
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::null_mut;

#[derive(Debug)]
pub(crate) struct Operations<T> {
    contexts: Box<[UnsafeCell<FiContext2>]>,
    /// By context: the write that has it.
    under_way: Vec<Option<T>>,
    free: Vec<usize>,
}

impl std::fmt::Debug for FiContext2 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FiContext2")
    }
}

impl<T: Copy> Operations<T> {
    pub fn new(limit: usize) -> Self {
        let context = || UnsafeCell::new(FiContext2 { internal: [null_mut(); 8] });
        Self {
            contexts: std::iter::repeat_with(context).take(limit).collect(),
            under_way: vec![None; limit],
            free: (0..limit).rev().collect(),
        }
    }

    /// A context for a write; none when as many are under way as there may be.
    pub fn begin(&mut self, operation: T) -> Option<*mut c_void> {
        let index = self.free.pop()?;
        self.under_way[index] = Some(operation);
        Some(self.contexts[index].get().cast())
    }

    /// The write that has this context, which is free again. None for what is none.
    pub fn end(&mut self, context: *mut c_void) -> Option<T> {
        let offset = context.addr().checked_sub(self.contexts.as_ptr().addr())?;
        let operation = self.under_way.get_mut(offset / size_of::<FiContext2>())?.take()?;
        self.free.push(offset / size_of::<FiContext2>());
        Some(operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_of_one_write_until_that_ends() {
        let mut operations = Operations::new(2);
        let [first, second] = [0, 1].map(|write| operations.begin(write).unwrap());
        assert_eq!(operations.begin(2), None);
        assert_eq!(operations.end(null_mut()), None);
        assert_eq!(operations.end(second), Some(1));
        assert_eq!(operations.end(second), None);
        assert_eq!(operations.begin(3), Some(second));
        assert_eq!(operations.end(first), Some(0));
    }
}
