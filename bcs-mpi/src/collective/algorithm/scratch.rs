//! Working memory of algorithms that combine.

use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::members::Members;

/// Bytes of working memory that are kept from operation to operation.
pub const KEPT_BYTES: usize = 64 << 20;

/// Working memory, kept from operation to operation: large fresh memory costs more in page faults than the
/// combining.
pub struct Scratch(Vec<u8>);

impl Scratch {
    /// At least so many bytes.
    ///
    /// # Errors
    /// There are not so many left; outside of a task.
    pub fn take(members: &impl Members, bytes: usize) -> MpiResult<Self> {
        let mut kept = members.kept_memory()?;
        if kept.len() < bytes {
            if kept.try_reserve_exact(bytes - kept.len()).is_err() {
                let problem = format!("no memory for {bytes} bytes in which contributions are combined");
                return Err(MpiError::new(Problem::Exhausted(problem)));
            }
            kept.resize(bytes, 0);
        }
        Ok(Self(kept))
    }

    /// Its first byte.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    /// To be used again.
    ///
    /// # Errors
    /// Outside of a task.
    pub fn give_back(mut self, members: &impl Members) -> MpiResult {
        self.0.truncate(KEPT_BYTES);
        members.keep_memory(self.0)
    }
}
