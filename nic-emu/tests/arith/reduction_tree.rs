//! The tree of a reduction is the same whoever holds which ranks and whatever arrives first.

use std::collections::{BTreeSet, HashSet};
use std::num::NonZeroU32;

use nic_emu::arith::reduction_tree::{Partial, PartialError, PartialSet, ReductionTree};
use proptest::prelude::*;

fn tree(ranks: u32) -> ReductionTree {
    ReductionTree::new(NonZeroU32::new(ranks).unwrap())
}

/// The definition, written as a recursion: how `combine` of ranks `start` to `start + size` is bracketed.
fn definition(start: u32, size: u32, ranks: u32) -> Option<String> {
    if start >= ranks {
        return None;
    }
    if size == 1 {
        return Some(start.to_string());
    }
    let left = definition(start, size / 2, ranks)?;
    Some(match definition(start + size / 2, size / 2, ranks) {
        Some(right) => format!("({left} {right})"),
        None => left,
    })
}

fn expected(ranks: u32) -> String {
    definition(0, ranks.next_power_of_two(), ranks).unwrap()
}

/// A holder of partial results: combines what it can at once, symbolically.
struct Holder {
    set: PartialSet<256>,
    buffers: Vec<String>,
}

impl Holder {
    fn new(tree: ReductionTree) -> Self {
        Self { set: PartialSet::new(tree), buffers: Vec::new() }
    }

    fn take_in(&mut self, mut block: nic_emu::arith::reduction_tree::Block, mut value: String) {
        loop {
            let slot = self.buffers.len() as u32;
            self.buffers.push(value);
            self.set.handle_partial(Partial { block, slot }).unwrap();
            let Some(combine) = self.set.poll_combine() else { break };
            let buffer = |slot: u32| &self.buffers[slot as usize];
            value = format!("({} {})", buffer(combine.left_slot), buffer(combine.right_slot));
            block = combine.block;
        }
    }

    fn hand_on(&self) -> Vec<(nic_emu::arith::reduction_tree::Block, String)> {
        let value = |partial: &Partial| (partial.block, self.buffers[partial.slot as usize].clone());
        self.set.partials().iter().map(value).collect()
    }
}

/// Sorts by random keys: a random order of arrival.
fn shuffled<T>(items: Vec<T>, keys: &[u32]) -> Vec<T> {
    let mut keyed: Vec<_> = items.into_iter().zip(keys.iter().cycle()).collect();
    keyed.sort_by_key(|&(_, key)| key);
    keyed.into_iter().map(|(item, _)| item).collect()
}

proptest! {
    #[test]
    fn any_placement_and_any_order_of_arrival_give_one_tree(
        ranks in 1_u32..200,
        nodes in 1_usize..9,
        placement in proptest::collection::vec(any::<u32>(), 200),
        keys in proptest::collection::vec(any::<u32>(), 211),
        contiguous in any::<bool>(),
        relays in 1_usize..4,
    ) {
        let tree = tree(ranks);
        let mut of_nodes: Vec<Holder> = (0..nodes).map(|_| Holder::new(tree)).collect();
        for rank in shuffled((0..ranks).collect(), &keys) {
            let node = if contiguous {
                rank as usize * nodes / ranks as usize
            } else {
                placement[rank as usize] as usize % nodes
            };
            of_nodes[node].take_in(tree.leaf(rank).unwrap(), rank.to_string());
        }
        // Nodes report to relays, relays to the root, everything out of order.
        let mut relay: Vec<Holder> = (0..relays).map(|_| Holder::new(tree)).collect();
        for (i, (block, value)) in
            shuffled(of_nodes.iter().flat_map(Holder::hand_on).collect(), &keys[3..]).into_iter().enumerate()
        {
            relay[(placement[i % 200] >> 7) as usize % relays].take_in(block, value);
        }
        let mut root = Holder::new(tree);
        for (block, value) in shuffled(relay.iter().flat_map(Holder::hand_on).collect(), &keys[7..]) {
            root.take_in(block, value);
        }
        let result = root.set.result().expect("all contributions are in");
        prop_assert_eq!(&root.buffers[result.slot as usize], &expected(ranks));
        prop_assert_eq!(root.set.partials().len(), 1);
    }

    #[test]
    fn the_steps_of_a_range_leave_its_partials_in_place(
        ranks in 1_u32..300, start in 0_u32..300, length in 0_u32..300,
    ) {
        let tree = tree(ranks);
        let mut places: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
        let (mut level, mut written) = (0, HashSet::new());
        for step in tree.steps(start..start + length) {
            prop_assert!(step.level >= level, "levels ascend");
            if step.level > level {
                (level, written) = (step.level, HashSet::new());
            }
            prop_assert!(!written.contains(&step.left), "steps of a level are independent");
            prop_assert!(written.insert(step.right) , "steps of a level are independent");
            places[step.right as usize] =
                format!("({} {})", places[step.left as usize], places[step.right as usize]);
        }
        let mut next = start;
        let partials: Vec<_> = tree.partials(start..start + length).collect();
        for &block in &partials {
            let covered = tree.ranks_of(block);
            prop_assert_eq!(covered.start, next, "partials are in rank order, without a gap");
            next = covered.end;
            let value = definition(block.start(), 1 << block.log2_size(), ranks).unwrap();
            prop_assert_eq!(&places[covered.end as usize - 1], &value);
        }
        prop_assert_eq!(next.max(start), (start + length).min(ranks).max(start));
        let bound = 2 * (ranks.ilog2() as usize + 1);
        prop_assert!(partials.len() <= bound, "{} partials of {} ranks", partials.len(), ranks);
        // No two of them could have been combined.
        prop_assert!(partials.windows(2).all(|two| tree.join(two[0], two[1]).is_none()));
    }
}

#[test]
fn one_node_computes_the_definition_with_one_step_less_than_ranks() {
    for ranks in 1..=130 {
        let tree = tree(ranks);
        let mut places: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
        let mut count = 0;
        for step in tree.steps(0..ranks) {
            places[step.right as usize] =
                format!("({} {})", places[step.left as usize], places[step.right as usize]);
            count += 1;
        }
        assert_eq!(count, ranks - 1);
        assert_eq!(places[ranks as usize - 1], expected(ranks));
        assert_eq!(tree.partials(0..ranks).collect::<Vec<_>>(), [tree.root()]);
    }
    assert_eq!(expected(5), "(((0 1) (2 3)) 4)");
    assert_eq!(expected(7), "(((0 1) (2 3)) ((4 5) 6))");
}

#[test]
fn equal_ranks_are_equal_blocks() {
    for ranks in 1..40 {
        let tree = tree(ranks);
        let mut seen = BTreeSet::new();
        for start in 0..64 {
            for log2_size in 0..8 {
                let Some(block) = tree.block(start, log2_size) else { continue };
                let covered = tree.ranks_of(block);
                assert_eq!(covered, start..(start + (1 << log2_size)).min(ranks));
                seen.insert((covered.start, covered.end, block.log2_size()));
                assert_eq!(tree.partner(block).is_none(), block == tree.root());
                if let Some(partner) = tree.partner(block) {
                    assert_eq!(tree.partner(partner), Some(block));
                    assert!(tree.join(block, partner).is_some() != tree.join(partner, block).is_some());
                }
            }
        }
        // Each set of ranks once: n leaves and n - 1 combines.
        assert_eq!(seen.len() as u32, 2 * ranks - 1, "blocks of {ranks} ranks");
    }
}

#[test]
fn the_largest_tree_has_its_limits_in_order() {
    let tree = tree(u32::MAX);
    assert_eq!(tree.root().log2_size(), 32);
    assert_eq!(tree.ranks_of(tree.root()), 0..u32::MAX);
    let last = tree.leaf(u32::MAX - 1).unwrap();
    assert_eq!(last.log2_size(), 1, "its right half would be rank 2^32 - 1, which does not exist");
    assert!(tree.leaf(u32::MAX).is_none());
    assert_eq!(tree.partner(tree.block(0, 31).unwrap()), tree.block(1 << 31, 31));
    assert_eq!(tree.steps(u32::MAX - 3..u32::MAX).count(), 2);
}

#[test]
fn a_partial_result_that_cannot_be_right_is_refused() {
    let five = tree(5);
    let mut set = PartialSet::<3>::new(five);
    let partial = |rank, slot| Partial { block: five.leaf(rank).unwrap(), slot };
    set.handle_partial(partial(0, 0)).unwrap();
    assert_eq!(set.handle_partial(partial(0, 1)), Err(PartialError::Duplicate { ranks: (0, 0) }));
    let pair = Partial { block: five.block(0, 1).unwrap(), slot: 1 };
    assert_eq!(set.handle_partial(pair), Err(PartialError::Duplicate { ranks: (0, 1) }));
    let foreign = Partial { block: tree(64).block(32, 5).unwrap(), slot: 1 };
    assert_eq!(set.handle_partial(foreign), Err(PartialError::Foreign { start: 32, log2_size: 5, ranks: 5 }));
    set.handle_partial(partial(2, 1)).unwrap();
    set.handle_partial(partial(4, 2)).unwrap();
    assert_eq!(set.handle_partial(partial(3, 3)), Err(PartialError::Full { ranks: (3, 3), capacity: 3 }));
    assert!(set.poll_combine().is_none());
    assert!(set.result().is_none());
    assert_eq!(set.partials().len(), 3);
}
