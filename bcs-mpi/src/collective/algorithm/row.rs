//! A row of blocks that the NIC moves slab by slab: whose block, or which part of one, is in which slab.

use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;

/// A block for each member, one behind the other, cut into slabs: of several whole blocks, or of a part of
/// one.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    members: u32,
    each: usize,
    /// Members whose blocks are in a slab.
    in_slab: u32,
    /// Slabs of a block.
    parts: usize,
}

impl Row {
    /// Blocks of `each` bytes for so many members.
    pub fn of(members: u32, each: usize) -> Self {
        let in_slab = (SLAB_BYTES / each.max(1)).clamp(1, members.max(1) as usize) as u32;
        Self { members, each, in_slab, parts: each.div_ceil(SLAB_BYTES).max(1) }
    }

    /// Slabs that it has.
    pub fn slabs(&self) -> usize {
        self.members.div_ceil(self.in_slab) as usize * self.parts
    }

    /// Members whose blocks are in a slab.
    pub fn members(&self, slab: usize) -> Range<u32> {
        let first = (slab / self.parts) as u32 * self.in_slab;
        first..self.members.min(first + self.in_slab)
    }

    /// Which bytes of their blocks are.
    pub fn part(&self, slab: usize) -> Range<usize> {
        let first = slab % self.parts * SLAB_BYTES;
        first..self.each.min(first + SLAB_BYTES)
    }

    /// Bytes of a slab.
    pub fn bytes(&self, slab: usize) -> usize {
        self.members(slab).len() * self.part(slab).len()
    }

    /// Where in a slab a member's are.
    pub fn place(&self, slab: usize, member: u32) -> Range<usize> {
        let (before, bytes) = ((member - self.members(slab).start) as usize, self.part(slab).len());
        before * bytes..(before + 1) * bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slabs_have_every_byte_of_every_block_once(members in 1u32..300, each in 0usize..=5 * SLAB_BYTES) {
            let row = Row::of(members, each);
            let mut next = vec![0; members as usize];
            for slab in 0..row.slabs() {
                let mut end = 0;
                for member in row.members(slab) {
                    prop_assert_eq!(row.part(slab).start, next[member as usize]);
                    prop_assert_eq!(row.place(slab, member), end..end + row.part(slab).len());
                    next[member as usize] = row.part(slab).end;
                    end += row.part(slab).len();
                }
                prop_assert!(end == row.bytes(slab) && end <= SLAB_BYTES);
            }
            prop_assert!(next.iter().all(|end| *end == each));
        }
    }
}
