//! Working memory of algorithms that combine.

use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::{Members, Memory};
use std::mem::take;

/// Bytes of working memory that are kept from operation to operation.
pub const KEPT_BYTES: usize = 64 << 20;

/// Working memory, kept from operation to operation: large fresh memory costs more in page faults than the
/// combining.
pub struct Scratch<'a, M: Members> {
    members: &'a M,
    kept: Vec<u8>,
    bytes: usize,
}

impl<'a, M: Members> Scratch<'a, M> {
    /// So many bytes.
    ///
    /// # Errors
    /// There are not so many left; outside of a task.
    pub fn take(members: &'a M, bytes: usize) -> MpiResult<Self> {
        let mut kept = members.kept_memory()?;
        if kept.len() < bytes {
            if kept.try_reserve_exact(bytes - kept.len()).is_err() {
                let problem = format!("no memory for {bytes} bytes in which contributions are combined");
                return Err(MpiError::new(Problem::Exhausted(problem)));
            }
            kept.resize(bytes, 0);
        }
        Ok(Self { members, kept, bytes })
    }

    /// The memory, for as long as the operation has it.
    pub fn memory(&mut self) -> Memory {
        // SAFETY: the operation gives it back when nothing of it is under way any more.
        unsafe { Memory::new(self.kept.as_mut_ptr(), self.bytes) }
    }
}

impl<M: Members> Drop for Scratch<'_, M> {
    fn drop(&mut self) {
        self.kept.truncate(KEPT_BYTES);
        // Outside of a task nobody uses it again.
        let _ = self.members.keep_memory(take(&mut self.kept));
    }
}
