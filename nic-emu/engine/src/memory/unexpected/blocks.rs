//! Blocks of a chunk: 64 KB in units of 64 bytes, of which a bitmap says which are free.
//!
//! A block is a power of two of units, at a multiple of its size. So free neighbours are a larger block again
//! by themselves: what was given back serves messages of any size. The bound: a block is less than twice as
//! long as its message (and 64 bytes at least), and a chunk can be kept from serving a message of 64 KB by
//! one block in it, one of 32 KB by two, and so on.

use crate::memory::slab::BUFFERED_BYTES;

/// Bytes of a chunk: the longest message that waits here fills it.
pub const CHUNK_BYTES: usize = BUFFERED_BYTES;
/// Bytes of the smallest block.
pub const UNIT_BYTES: usize = 64;
/// Units of a chunk.
pub const UNITS: u32 = (CHUNK_BYTES / UNIT_BYTES) as u32;
/// Words of a chunk's bitmap.
pub const WORDS: usize = UNITS as usize / 64;
/// Sizes of blocks: 64 bytes, 128, and so on to a whole chunk.
pub const ORDERS: u32 = UNITS.trailing_zeros() + 1;

const _: () = assert!(UNITS.is_power_of_two() && UNITS >= 64);

/// A chunk's free units: a set bit is a free one.
pub type Bitmap = [u64; WORDS];

/// The order of the block that a message of so many bytes takes: it has `1 << order` units. None of more than
/// a chunk.
pub fn order_of(bytes: u64) -> Option<u32> {
    let units = bytes.div_ceil(UNIT_BYTES as u64).max(1).next_power_of_two();
    (units <= UNITS as u64).then(|| units.trailing_zeros())
}

/// Where in a word blocks of an order begin that are free, for orders of which a word has several or one.
fn starts(word: u64, order: u32) -> u64 {
    let runs = (0..order).fold(word, |runs, i| runs & (runs >> (1 << i)));
    let places = u64::MAX / (u64::MAX >> (64 - (1u64 << order)));
    runs & places
}

/// The first unit of a free block of this order. Words that are in part used come first: whole ones are kept
/// for larger blocks.
pub fn find(free: &Bitmap, order: u32) -> Option<u32> {
    if order > 6 {
        let words = 1 << (order - 6);
        let at = free.chunks_exact(words).position(|block| block.iter().all(|&word| word == u64::MAX))?;
        return Some((at * words) as u32 * 64);
    }
    let fits = |(_, word): &(usize, &u64)| starts(**word, order) != 0;
    let in_part = |(_, word): &(usize, &u64)| **word != u64::MAX;
    let mut words = free.iter().enumerate().filter(fits);
    let (at, word) = words.clone().find(in_part).or_else(|| words.next())?;
    Some(at as u32 * 64 + starts(*word, order).trailing_zeros())
}

/// The order of the largest free block; none when all is in use.
pub fn largest(free: &Bitmap) -> Option<u32> {
    (0..ORDERS).rev().find(|&order| find(free, order).is_some())
}

/// The words and bits of a block.
fn bits(unit: u32, order: u32) -> impl Iterator<Item = (usize, u64)> {
    let first = unit as usize / 64;
    let (words, mask) = match order {
        0..6 => (1, (u64::MAX >> (64 - (1u64 << order))) << (unit % 64)),
        _ => (1 << (order - 6), u64::MAX),
    };
    (first..first + words).map(move |word| (word, mask))
}

/// Whether there can be a block of this order at this unit.
pub fn is_block(unit: u32, order: u32) -> bool {
    order < ORDERS && unit < UNITS && unit.is_multiple_of(1 << order)
}

/// Takes a free block.
pub fn take(free: &mut Bitmap, unit: u32, order: u32) {
    bits(unit, order).for_each(|(word, bits)| free[word] &= !bits);
}

/// Gives a block back; false when part of it was free.
#[must_use]
pub fn give_back(free: &mut Bitmap, unit: u32, order: u32) -> bool {
    bits(unit, order).all(|(word, bits)| {
        let is_used = free[word] & bits == 0;
        free[word] |= bits;
        is_used
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unit_by_unit(free: &Bitmap, order: u32) -> Vec<u32> {
        let is_free = |unit: u32| free[unit as usize / 64] >> (unit % 64) & 1 != 0;
        (0..UNITS).step_by(1 << order).filter(|&at| (at..at + (1 << order)).all(is_free)).collect()
    }

    proptest! {
        #[test]
        fn blocks_in_use_never_overlap_and_what_comes_back_is_whole_again(steps in proptest::collection::vec((any::<Option<u16>>(), 0..=CHUNK_BYTES as u64), 0..400)) {
            let mut free = [u64::MAX; WORDS];
            let mut used: Vec<(u32, u32)> = Vec::new();
            for (step, bytes) in steps {
                match step {
                    None => {
                        let order = order_of(bytes >> (bytes % 11)).unwrap();
                        let could = unit_by_unit(&free, order);
                        match find(&free, order) {
                            Some(unit) => {
                                prop_assert!(could.contains(&unit) && is_block(unit, order));
                                take(&mut free, unit, order);
                                used.push((unit, order));
                            }
                            None => prop_assert!(could.is_empty()),
                        }
                    }
                    Some(at) if !used.is_empty() => {
                        let (unit, order) = used.swap_remove(at as usize % used.len());
                        prop_assert!(give_back(&mut free, unit, order));
                        prop_assert!(!give_back(&mut free, unit, order), "a block comes back once");
                    }
                    Some(_) => {}
                }
                let in_use: u32 = used.iter().map(|(_, order)| 1 << order).sum();
                prop_assert_eq!(free.iter().map(|word| word.count_zeros()).sum::<u32>(), in_use);
                let expected = (0..ORDERS).rev().find(|&order| !unit_by_unit(&free, order).is_empty());
                prop_assert_eq!(largest(&free), expected);
            }
            for (unit, order) in used.drain(..) { prop_assert!(give_back(&mut free, unit, order)) }
            prop_assert_eq!(largest(&free), Some(ORDERS - 1));
        }
    }

    #[test]
    fn a_block_is_less_than_twice_as_long_as_its_message() {
        for bytes in (UNIT_BYTES as u64..=CHUNK_BYTES as u64).step_by(7) {
            let block = (UNIT_BYTES as u64) << order_of(bytes).unwrap();
            assert!(block >= bytes && block < 2 * bytes, "{bytes}");
        }
        assert_eq!((order_of(0), order_of(UNIT_BYTES as u64)), (Some(0), Some(0)));
        assert_eq!(order_of(CHUNK_BYTES as u64), Some(ORDERS - 1));
        assert_eq!(order_of(CHUNK_BYTES as u64 + 1), None);
    }
}
