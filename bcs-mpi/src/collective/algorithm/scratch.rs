//! Working memory of algorithms that combine.

use crate::error::{MpiError, MpiResult, Problem};
use crate::process::with;
use crate::progress::Memory;
use std::mem::take;

/// Bytes of working memory that are kept from operation to operation.
pub const KEPT_BYTES: usize = 64 << 20;

/// Working memory, kept from operation to operation: large fresh memory costs more in page faults than the
/// combining.
pub struct Scratch {
    kept: Vec<u8>,
    bytes: usize,
}

impl Scratch {
    /// So many bytes.
    ///
    /// # Errors
    /// There are not so many left.
    pub fn take(bytes: usize) -> MpiResult<Self> {
        // Simulated members have no process that keeps any.
        let mut kept = with(|process| Ok(take(&mut process.scratch))).unwrap_or_default();
        if kept.len() < bytes {
            if kept.try_reserve_exact(bytes - kept.len()).is_err() {
                let problem = format!("no memory for {bytes} bytes in which contributions are combined");
                return Err(MpiError::new(Problem::Exhausted(problem)));
            }
            kept.resize(bytes, 0);
        }
        Ok(Self { kept, bytes })
    }

    /// The memory, for as long as the operation has it.
    pub fn memory(&mut self) -> Memory {
        // SAFETY: the operation gives it back when nothing of it is under way any more.
        unsafe { Memory::new(self.kept.as_mut_ptr(), self.bytes) }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.kept.truncate(KEPT_BYTES);
        let _ = with(|process| {
            if process.scratch.len() < self.kept.len() {
                process.scratch = take(&mut self.kept);
            }
            Ok(())
        });
    }
}
