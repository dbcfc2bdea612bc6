//! Whether the bytes of a loop program lie in ascending order, and whether any lie there twice: what a file's
//! view has to be asked (MPI-5.0, §14.1.1).

use super::flat::Node;
use std::collections::HashMap;

/// The order of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Where the first block begins.
    pub first: i64,
    /// Where the last one does.
    last: i64,
    /// The lowest byte.
    pub least: i64,
    /// The byte after the highest one.
    pub end: i64,
    /// No block begins before the one that precedes it.
    pub ascends: bool,
    /// Nor does it before that one's end.
    pub is_apart: bool,
}

impl Order {
    fn block(offset: i64, bytes: i64) -> Self {
        let end = offset.saturating_add(bytes);
        Self { first: offset, last: offset, least: offset, end, ascends: true, is_apart: true }
    }

    fn shifted(self, by: i64) -> Self {
        let by = |at: i64| at.saturating_add(by);
        let (first, last, least, end) = (by(self.first), by(self.last), by(self.least), by(self.end));
        Self { first, last, least, end, ..self }
    }

    fn then(self, next: Self) -> Self {
        Self {
            first: self.first,
            last: next.last,
            least: self.least.min(next.least),
            end: self.end.max(next.end),
            ascends: self.ascends && next.ascends && next.first >= self.last,
            is_apart: self.is_apart && next.is_apart && next.first >= self.end,
        }
    }

    /// So many, a stride apart.
    pub fn repeated(self, count: i64, stride: i64) -> Self {
        if count < 2 {
            return self;
        }
        let (second, last) = (self.shifted(stride), self.shifted(stride.saturating_mul(count - 1)));
        let two = self.then(second);
        Self { ascends: two.ascends, is_apart: two.is_apart, ..self.then(last) }
    }

    /// The order of a program's blocks.
    pub fn of(node: &Node) -> Self {
        of_shared(node, &mut HashMap::new())
    }
}

/// The same; what is shared is looked at once.
fn of_shared(node: &Node, known: &mut HashMap<*const Node, Order>) -> Order {
    match node {
        Node::Leaf(leaf) => {
            let pieces = (0..leaf.blocks()).map(|block| leaf.piece(block));
            let blocks = pieces.map(|piece| Order::block(piece.offset, piece.bytes));
            let one = blocks.reduce(Order::then).unwrap_or(Order::block(0, 0));
            one.repeated(leaf.count, leaf.stride).shifted(leaf.offset)
        }
        Node::Loop(of) => {
            let key = std::ptr::from_ref(&*of.body);
            let body = known.get(&key).copied().unwrap_or_else(|| of_shared(&of.body, known));
            known.insert(key, body);
            body.repeated(of.count, of.stride).shifted(of.offset)
        }
        Node::Sequence(of) => {
            let key = of.entries.as_ptr();
            let all = known.get(&key).copied().unwrap_or_else(|| {
                let entries = of.entries.iter().map(|entry| of_shared(entry, known));
                entries.reduce(Order::then).unwrap_or(Order::block(0, 0))
            });
            known.insert(key, all);
            all.shifted(of.offset)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flat::Builder;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_the_blocks_one_by_one(
            blocks in proptest::collection::vec((-20i64..60, 1i64..10), 1..8), climb in 0i64..40,
            inner in (1i64..4, -15i64..40), outer in (1i64..4, -300i64..900)
        ) {
            let (mut builder, mut all) = (Builder::default(), Vec::new());
            let each = |number: usize, (at, bytes): (i64, i64)| (at + number as i64 * climb, bytes);
            for (number, block) in blocks.iter().enumerate() {
                let (at, bytes) = each(number, *block);
                builder.push(Node::block(at, bytes).repeated(inner.0, inner.1));
            }
            for repetition in 0..outer.0 {
                for (number, block) in blocks.iter().enumerate() {
                    let (at, bytes) = each(number, *block);
                    all.extend((0..inner.0).map(|i| (at + i * inner.1 + repetition * outer.1, bytes)));
                }
            }
            let order = Order::of(&builder.finish().unwrap().repeated(outer.0, outer.1));
            let ascends = all.windows(2).all(|pair| pair[1].0 >= pair[0].0);
            let is_apart = all.windows(2).all(|pair| pair[1].0 >= pair[0].0 + pair[0].1);
            prop_assert_eq!((order.ascends, order.is_apart), (ascends, is_apart));
            prop_assert_eq!(order.first, all[0].0);
            prop_assert_eq!(order.least, all.iter().map(|block| block.0).min().unwrap());
            prop_assert_eq!(order.end, all.iter().map(|block| block.0 + block.1).max().unwrap());
        }
    }
}
