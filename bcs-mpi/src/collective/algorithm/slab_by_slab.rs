//! What the NIC does slab by slab, of a vector that it combines, or brings to members: a member reaches one
//! collective for each slab, and several before it waits for the first. So one slice does several slabs for
//! all members.

use crate::error::MpiResult;
use crate::process::progress::Waiter;
use crate::progress::{Arrival, Memory, Party};
use nic_emu::descriptor::CollectiveKind;
use nic_emu::port::Release;
use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;
use std::ptr::null;

/// Slabs that are under way at once, as long as most of the rank's are free: other threads want some, too. In
/// fixed slices one slice does that many.
const SLABS_UNDER_WAY: usize = 16;

/// A vector that is cut into slabs of whole elements, of which a member gets some bytes of the result.
#[derive(Clone, Debug)]
pub struct Cut {
    bytes: usize,
    in_slab: usize,
    mine: Range<usize>,
}

/// What a member gets of a slab.
pub struct Wanted {
    /// Bytes of the slab.
    pub slab_bytes: usize,
    /// Which of them.
    pub part: Range<usize>,
    /// Where they are among all that the member gets.
    pub place: Range<usize>,
}

impl Cut {
    /// So many bytes, of elements of so many, a slab at most; the member gets those in `mine`.
    pub fn of(bytes: usize, element: usize, mine: Range<usize>) -> Self {
        Self { bytes, in_slab: SLAB_BYTES - SLAB_BYTES % element, mine }
    }

    /// A row of blocks of so many bytes, of which the member gets that with this number. A slab has whole
    /// blocks, where they are no longer than one.
    pub fn of_row(blocks: u32, each: usize, mine: Option<u32>) -> Self {
        let mine = mine.map_or(0..0, |block| block as usize * each..(block as usize + 1) * each);
        Self::of(blocks as usize * each, if each <= SLAB_BYTES { each.max(1) } else { 1 }, mine)
    }

    /// Slabs that it has.
    fn slabs(&self) -> usize {
        self.bytes.div_ceil(self.in_slab)
    }

    /// Its bytes in a slab.
    fn slab(&self, slab: usize) -> Range<usize> {
        slab * self.in_slab..self.bytes.min((slab + 1) * self.in_slab)
    }

    /// What the member gets of a slab; nothing of many slabs.
    fn wanted(&self, slab: usize) -> Option<Wanted> {
        let (Range { start, end }, mine) = (self.slab(slab), &self.mine);
        let (first, last) = (start.max(mine.start), end.min(mine.end));
        (first < last).then(|| Wanted {
            slab_bytes: end - start,
            part: first - start..last - start,
            place: first - mine.start..last - mine.start,
        })
    }
}

/// Reaches a collective for each slab of the vector that is `given`, or, by who gives nothing, that others
/// give; `take` takes what this member wants of a slab.
///
/// # Errors
/// What `take` fails with; the NIC fails.
pub async fn slab_by_slab(
    party: &Party,
    arrival: &Arrival,
    cut: &Cut,
    given: Option<Memory>,
    mut take: impl FnMut(Wanted, Release) -> MpiResult,
) -> MpiResult {
    let says_length = given.is_some() || arrival.kind == CollectiveKind::Broadcast;
    let reach = |number| {
        let slab = cut.slab(number);
        let bytes = if says_length { slab.len() } else { 0 };
        let data = given.map_or(null(), |given| given.part(slab).first().cast_const());
        // SAFETY: the promise of `Memory::new`; of a broadcast nobody reads but what the root gives. At most
        // a slab is buffered when it is posted, before anything of the result is stored there.
        unsafe { party.reach(arrival, data, bytes, cut.wanted(number).is_some()) }
    };
    let mut take = async |number, waiter| {
        let release = party.release(waiter).await?;
        cut.wanted(number).map_or(Ok(()), |wanted| take(wanted, release))
    };
    let slabs = cut.slabs();
    if slabs == 1 {
        return match reach(0)? {
            Some(waiter) => take(0, waiter).await,
            None => Ok(()),
        };
    }
    let mut under_way: [Option<Waiter>; SLABS_UNDER_WAY] = [None; SLABS_UNDER_WAY];
    for slab in 0..slabs + SLABS_UNDER_WAY {
        let place = slab % SLABS_UNDER_WAY;
        if let Some(waiter) = under_way[place].take() {
            take(slab - SLABS_UNDER_WAY, waiter).await?;
        }
        if slab < slabs {
            under_way[place] = reach(slab)?;
        }
        if !party.has_many_slabs()
            && let Some(waiter) = under_way[place].take()
        {
            take(slab, waiter).await?;
        }
    }
    Ok(())
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
                if let Some(Wanted { part, place, .. }) = cut.wanted(slab) {
                    prop_assert!(place.start == got && cut.slab(slab).start + part.start == mine.start + got);
                    prop_assert!(part.end <= cut.slab(slab).len() && part.len() == place.len());
                    got = place.end;
                }
            }
            prop_assert_eq!((end, got), (bytes, mine.len()));
        }
    }
}
