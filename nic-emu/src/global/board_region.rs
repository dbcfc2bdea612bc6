//! The board region: what collectives brought from other nodes, for this node's ranks to read (`crate::board`).
//!
//! ```text
//!  word 0          entries n
//!  1 + 2i, 2 + 2i  offset from word 0, and length, of entry i
//!  then            the bytes
//! ```
//!
//! Only global slices write it; a range is used again when all readers have departed.

use super::error::GlobalError;
use crate::memory::{BOARD_BYTES, Corrupt, NicMemory};
use std::collections::BTreeMap;

/// A range of the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub offset: u64,
    bytes: u64,
}

/// Which ranges are free.
#[derive(Debug)]
pub struct BoardRegion {
    /// Length by offset; neighbours are merged.
    free: BTreeMap<u64, u64>,
}

const ALIGNMENT: u64 = 64;

impl BoardRegion {
    /// A region of which all is free.
    pub fn new() -> Self {
        Self { free: BTreeMap::from([(0, BOARD_BYTES as u64)]) }
    }

    /// A range of at least so many bytes.
    pub fn take(&mut self, bytes: u64) -> Option<Range> {
        let bytes = bytes.max(1).checked_next_multiple_of(ALIGNMENT)?;
        let (&offset, &length) = self.free.iter().find(|(_, length)| **length >= bytes)?;
        self.free.remove(&offset);
        if length > bytes {
            self.free.insert(offset + bytes, length - bytes);
        }
        Some(Range { offset, bytes })
    }

    /// Nobody reads the range any more.
    pub fn give_back(&mut self, range: Range) {
        let Range { mut offset, mut bytes } = range;
        if let Some((&before, &length)) = self.free.range(..offset).next_back()
            && before + length == offset
        {
            self.free.remove(&before);
            (offset, bytes) = (before, length + bytes);
        }
        if let Some(length) = self.free.remove(&(offset + bytes)) {
            bytes += length;
        }
        self.free.insert(offset, bytes);
    }
}

/// The table and bytes of these entries, as they stand in the region.
pub fn image(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut offset = 8 + 16 * entries.len() as u64;
    let mut image = Vec::with_capacity(offset as usize + entries.iter().map(Vec::len).sum::<usize>());
    image.extend_from_slice(&(entries.len() as u64).to_ne_bytes());
    for entry in entries {
        image.extend_from_slice(&offset.to_ne_bytes());
        image.extend_from_slice(&(entry.len() as u64).to_ne_bytes());
        offset += entry.len() as u64;
    }
    entries.iter().for_each(|entry| image.extend_from_slice(entry));
    image
}

/// Writes an image to a range.
///
/// # Errors
/// It is longer than the range.
pub fn write(memory: &NicMemory, range: Range, image: &[u8]) -> Result<(), GlobalError> {
    if image.len() as u64 > range.bytes {
        let (value, limit) = (image.len() as u64, range.bytes);
        return Err(Corrupt { what: "bytes of a board", value, limit }.into());
    }
    let to = memory.board(range.offset, range.bytes)?;
    // SAFETY: the range lies in the region and is nobody else's; its length was compared.
    unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), to.as_ptr(), image.len()) };
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_in_use_are_disjoint_and_all_come_back(steps in proptest::collection::vec(any::<(bool, u32)>(), 0..100)) {
            let mut region = BoardRegion::new();
            let mut used: Vec<Range> = Vec::new();
            for (take, number) in steps {
                if take {
                    let range = region.take(number as u64 % 100_000).unwrap();
                    prop_assert!(used.iter().all(|r| r.offset + r.bytes <= range.offset || range.offset + range.bytes <= r.offset));
                    used.push(range);
                } else if !used.is_empty() {
                    region.give_back(used.swap_remove(number as usize % used.len()));
                }
            }
            used.drain(..).for_each(|range| region.give_back(range));
            prop_assert_eq!(region.free, BTreeMap::from([(0, BOARD_BYTES as u64)]));
        }
    }
}
