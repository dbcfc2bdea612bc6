//! Seeking: a cursor at any place of a layout, found by division in loops and by binary search in sequences
//! and lists, without a walk from the beginning.

use super::cursor::{Cursor, Frame, Layout};
use super::flat::{Body, Node};

impl Layout {
    /// A cursor at the byte with this number of the packed stream; at the end for a larger one.
    pub fn cursor_at(&self, position: usize) -> Cursor<'_> {
        let mut cursor = self.cursor_nowhere();
        cursor.position = (position as i64).min(cursor.end);
        if let Some(root) = self.root.as_ref().filter(|_| cursor.position < cursor.end) {
            cursor.descend_to(root, cursor.position);
        }
        cursor
    }

    /// Where the byte with this number lies; none behind the end.
    pub fn offset_of(&self, position: usize) -> Option<isize> {
        self.cursor_at(position).block().map(|(offset, _)| offset)
    }

    /// Of a layout whose bytes lie in ascending order: how many lie before `offset`.
    pub fn bytes_before(&self, offset: isize) -> usize {
        let (mut below, mut above) = (0, self.bytes());
        while below < above {
            let middle = below + (above - below) / 2;
            match self.cursor_at(middle).block() {
                // All that is in this block before the offset is known at once.
                Some((at, bytes)) if at < offset => {
                    below = middle + bytes.min(offset.saturating_sub(at) as usize);
                }
                _ => above = middle,
            }
        }
        below.min(self.bytes())
    }
}

impl<'a> Cursor<'a> {
    /// Goes down to a byte of a node that has it.
    fn descend_to(&mut self, mut node: &'a Node, mut rest: i64) {
        let mut base = 0i64;
        loop {
            match node {
                Node::Leaf(leaf) => {
                    self.leaf = leaf;
                    self.base = base.wrapping_add(leaf.offset);
                    self.iteration = rest / leaf.bytes;
                    let within = rest % leaf.bytes;
                    (self.block, self.byte) = match &leaf.body {
                        Body::One => (0, within),
                        Body::Equal(_) => ((within / leaf.block) as usize, within % leaf.block),
                        Body::Varied(pieces) => {
                            let block = pieces.partition_point(|piece| piece.at <= within) - 1;
                            (block, within - pieces[block].at)
                        }
                    };
                    return;
                }
                Node::Loop(of) => {
                    base = base.wrapping_add(of.offset);
                    let index = rest / of.bytes;
                    rest %= of.bytes;
                    self.frames.push(Frame { node, base, index });
                    base = base.wrapping_add(index.wrapping_mul(of.stride));
                    node = &of.body;
                }
                Node::Sequence(of) => {
                    base = base.wrapping_add(of.offset);
                    let index = of.starts.partition_point(|start| *start <= rest) - 1;
                    rest -= of.starts[index];
                    self.frames.push(Frame { node, base, index: index as i64 });
                    node = &of.entries[index];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flat::Builder;
    use super::*;
    use proptest::prelude::*;

    /// Layouts of every shape: loops over lists over sequences, ascending and apart.
    fn layouts() -> impl Strategy<Value = Layout> {
        let list = proptest::collection::vec((1i64..40, 0i64..50), 1..40);
        (list, 1i64..5, 0i64..30, 1i64..12, 0i64..70, any::<bool>()).prop_map(
            |(blocks, inner, gap, outer, far, equal)| {
                let mut builder = Builder::default();
                let mut at = 0;
                for (bytes, hole) in blocks {
                    let bytes = if equal { 8 } else { bytes };
                    builder.push(Node::block(at, bytes).repeated(inner, bytes + gap));
                    at += (bytes + gap) * inner + hole;
                }
                let node = builder.finish().unwrap().repeated(outer, at + far);
                Layout::new(Some(&node), 3, (at + far) * outer + 5)
            },
        )
    }

    /// Where each byte lies.
    fn offsets(layout: &Layout) -> Vec<isize> {
        let (mut cursor, mut all) = (layout.cursor(), Vec::new());
        while let Some((offset, bytes)) = cursor.take_block(usize::MAX) {
            all.extend(offset..offset + bytes as isize);
        }
        all
    }

    proptest! {
        #[test]
        fn a_cursor_is_where_a_walk_from_the_beginning_leads(layout in layouts(), parts in 1usize..50) {
            let all = offsets(&layout);
            for position in (0..=all.len()).step_by((all.len() / parts).max(1)) {
                let (mut cursor, mut rest) = (layout.cursor_at(position), Vec::new());
                prop_assert_eq!(cursor.position(), position);
                while let Some((offset, bytes)) = cursor.take_block(usize::MAX) {
                    rest.extend(offset..offset + bytes as isize);
                }
                prop_assert_eq!(&rest[..], &all[position..]);
            }
        }

        #[test]
        fn bytes_before_an_offset_are_those_that_lie_there(layout in layouts(), parts in 1isize..50) {
            let all = offsets(&layout);
            let end = all.last().unwrap() + 2;
            for offset in (-1..=end).step_by((end / parts).max(1) as usize) {
                let before = all.iter().filter(|at| **at < offset).count();
                prop_assert_eq!(layout.bytes_before(offset), before);
            }
        }
    }
}
