//! A buffer of a message, as its own process knows it.

use crate::memory::transfer::Range;
use crate::memory::{Corrupt, within};

/// A buffer of this process, as it was given for a message: this process's own knowledge, not what NIC memory
/// says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
}

impl Buffer {
    /// Where a range of the message is in the buffer.
    #[inline]
    pub(crate) fn at(&self, range: Range) -> Result<u64, Corrupt> {
        within("end of a range of a message", range.offset, range.bytes, self.bytes)?;
        Ok(self.address.wrapping_add(range.offset))
    }
}
