//! What the NIC does slab by slab: members reach one collective after the other, some ahead of those that they
//! wait for, and what a slice does for all of them is more than what members wait for one by one.

use crate::communicator::meeting::Waiter;
use crate::error::MpiResult;
use crate::progress::party::Party;
use nic_emu::port::Release;
use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;

/// Slabs that are under way at once, as long as the rank has many: other threads want some, too. In fixed slices
/// one slice does that many.
const SLABS_UNDER_WAY: usize = 16;

/// Reaches so many collectives: `reach` posts the arrival at one, and `take` takes what it has brought, if this
/// member waits for that.
///
/// # Errors
/// What these fail with; the NIC fails.
pub async fn slab_by_slab(
    party: &Party,
    slabs: usize,
    mut reach: impl FnMut(usize) -> MpiResult<Option<Waiter>>,
    mut take: impl FnMut(usize, Release) -> MpiResult,
) -> MpiResult {
    if slabs == 1 {
        return match reach(0)? {
            Some(waiter) => take(0, party.release(waiter).await?),
            None => Ok(()),
        };
    }
    let mut under_way: [Option<Waiter>; SLABS_UNDER_WAY] = [None; SLABS_UNDER_WAY];
    for slab in 0..slabs + SLABS_UNDER_WAY {
        let place = slab % SLABS_UNDER_WAY;
        if let Some(waiter) = under_way[place].take() {
            take(slab - SLABS_UNDER_WAY, party.release(waiter).await?)?;
        }
        if slab < slabs {
            under_way[place] = reach(slab)?;
        }
        if !party.has_many_slabs()
            && let Some(waiter) = under_way[place].take()
        {
            take(slab, party.release(waiter).await?)?;
        }
    }
    Ok(())
}

/// A vector that is cut into slabs of whole elements, of which a member gets some bytes of the result.
#[derive(Clone, Debug)]
pub struct Cut {
    bytes: usize,
    in_slab: usize,
    mine: Range<usize>,
}

impl Cut {
    /// So many bytes, of elements of so many, a slab at most; the member gets those in `mine`.
    pub fn of(bytes: usize, element: usize, mine: Range<usize>) -> Self {
        Self { bytes, in_slab: SLAB_BYTES - SLAB_BYTES % element, mine }
    }

    /// Slabs that it has.
    pub fn slabs(&self) -> usize {
        self.bytes.div_ceil(self.in_slab)
    }

    /// Its bytes in a slab.
    pub fn slab(&self, slab: usize) -> Range<usize> {
        slab * self.in_slab..self.bytes.min((slab + 1) * self.in_slab)
    }

    /// Which bytes of a slab the member gets, and from which of its bytes on they are; none of many slabs.
    pub fn wanted(&self, slab: usize) -> Option<(Range<usize>, usize)> {
        let Range { start, end } = self.slab(slab);
        let (first, last) = (start.max(self.mine.start), end.min(self.mine.end));
        (first < last).then(|| (first - start..last - start, first - self.mine.start))
    }
}

/// A block for each member, one behind the other, cut into slabs: of several whole blocks, or of a part of one.
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
        fn a_member_gets_its_elements_in_order(element in 1usize..=SLAB_BYTES, length in 0usize..=5 * SLAB_BYTES, ends: (usize, usize)) {
            let count = length / element;
            let (bytes, a, b) = (count * element, ends.0 % (count + 1), ends.1 % (count + 1));
            let mine = a.min(b) * element..a.max(b) * element;
            let cut = Cut::of(bytes, element, mine.clone());
            let (mut end, mut got) = (0, 0);
            for slab in 0..cut.slabs() {
                prop_assert!(cut.slab(slab).start == end && !cut.slab(slab).is_empty());
                end = cut.slab(slab).end;
                prop_assert!(cut.slab(slab).len() <= SLAB_BYTES && end % element == 0);
                if let Some((wanted, at)) = cut.wanted(slab) {
                    prop_assert!(at == got && cut.slab(slab).start + wanted.start == mine.start + got);
                    prop_assert!(wanted.end <= cut.slab(slab).len());
                    got += wanted.len();
                }
            }
            prop_assert_eq!((end, got), (bytes, mine.len()));
        }

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
