//! The tree of a reduction is the same whoever holds which ranks and whatever arrives first.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use nic_engine::arithmetic::reduction_tree::{Block, ReductionTree};
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

/// A holder of partial results, by first rank: combines what it can at once, symbolically.
struct Holder {
    tree: ReductionTree,
    values: BTreeMap<u32, (Block, String)>,
}

impl Holder {
    fn new(tree: ReductionTree) -> Self {
        Self { tree, values: BTreeMap::new() }
    }

    fn take_in(&mut self, mut block: Block, mut value: String) {
        while let Some(partner) = self.tree.partner(block)
            && self.values.get(&partner.start()).is_some_and(|(held, _)| *held == partner)
        {
            let (_, other) = self.values.remove(&partner.start()).unwrap();
            (block, value) = match self.tree.join(block, partner) {
                Some(joined) => (joined, format!("({value} {other})")),
                None => (self.tree.join(partner, block).unwrap(), format!("({other} {value})")),
            };
        }
        assert!(self.values.insert(block.start(), (block, value)).is_none());
    }

    fn hand_on(&self) -> Vec<(Block, String)> {
        self.values.values().cloned().collect()
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
        let bound = 2 * (ranks.ilog2() as usize + 1);
        prop_assert!(!contiguous || of_nodes.iter().all(|node| node.values.len() <= bound));
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
        prop_assert_eq!(root.hand_on(), [(tree.root(), expected(ranks))]);
    }
}

#[test]
fn one_node_computes_the_definition_with_one_step_less_than_ranks() {
    for ranks in 1..=130 {
        let tree = tree(ranks);
        let mut places: Vec<String> = (0..ranks).map(|rank| rank.to_string()).collect();
        let mut count = 0;
        for step in tree.steps() {
            places[step.right as usize] =
                format!("({} {})", places[step.left as usize], places[step.right as usize]);
            count += 1;
        }
        assert_eq!(count, ranks - 1);
        assert_eq!(places[ranks as usize - 1], expected(ranks));
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
                assert_eq!(block.start(), start);
                seen.insert((start, (start + (1 << log2_size)).min(ranks), block.log2_size()));
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
    let last = tree.leaf(u32::MAX - 1).unwrap();
    assert_eq!(last.log2_size(), 1, "its right half would be rank 2^32 - 1, which does not exist");
    assert!(tree.leaf(u32::MAX).is_none());
    assert_eq!(tree.partner(tree.block(0, 31).unwrap()), tree.block(1 << 31, 31));
    assert!(tree.block(0, 33).is_none() && tree.block(1, 1).is_none());
}
