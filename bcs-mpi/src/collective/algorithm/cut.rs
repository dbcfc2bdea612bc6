//! A vector that the NIC combines, or brings to members, slab by slab: what of it is in which slab.

use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;

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
    }
}
