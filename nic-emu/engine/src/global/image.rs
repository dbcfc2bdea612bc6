//! The image of a board: what collectives bring from other nodes, for this node's ranks to read
//! (`crate::port::board`).
//!
//! ```text
//!  word 0          entries n
//!  1 + 2i, 2 + 2i  offset from word 0, and length, of entry i
//!  then            the bytes
//! ```
//!
//! Only global slices write an image. Its place is that of the collective's instance, and is used again when
//! all readers have departed.

use super::error::GlobalError;
use crate::memory::NicMemory;

/// The table and bytes of these entries.
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

/// Writes an image to the place of an instance.
///
/// # Errors
/// It is longer than that.
pub fn write(memory: &NicMemory, instance: u32, image: &[u8]) -> Result<(), GlobalError> {
    let to = memory.brought(instance, 0, image.len() as u64)?;
    // SAFETY: the place has so many bytes, and nobody else uses it before members are told.
    unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), to.as_ptr(), image.len()) };
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::descriptor::INLINE_BYTES;
    use crate::memory::{BROUGHT_BYTES, INSTANCES, Layout};

    #[test]
    fn the_largest_boards_find_room_and_longer_ones_are_refused() {
        let ranks = 5000;
        let memory = NicMemory::create_private(Layout::new(2, ranks, [0; 2]).unwrap(), 0, 1).unwrap();
        let slabs = vec![vec![1; BROUGHT_BYTES / ranks as usize]; ranks as usize];
        let inline = vec![vec![2; INLINE_BYTES]; ranks as usize];
        for instance in [0, INSTANCES as u32 - 1] {
            write(&memory, instance, &image(&slabs)).unwrap();
            write(&memory, instance, &image(&inline)).unwrap();
            let told = write(&memory, instance, &vec![3; 1 << 20]).unwrap_err().to_string();
            assert!(told.contains("end of what was brought"), "{told}");
        }
        assert!(write(&memory, INSTANCES as u32, &[0; 8]).is_err());
    }
}
