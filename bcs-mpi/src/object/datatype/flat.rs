//! The loop program of a datatype: where its bytes lie, in the order in which they are sent (MPI-5.0, §5.1).
//!
//! A program is a tree of loops over blocks, not a list of blocks: a vector of a million blocks is one node.
//! It is made bottom up by [`Node::repeated`] and [`Builder`], which merge what is adjacent and turn what is
//! regular into loops, so that the largest pieces there are get moved (see [`super::cursor`]). Every node
//! knows its bytes.
//!
//! Invariants: no node is empty (no bytes: no node); no offset that a byte lies at overflows (the
//! constructors have checked the bounds); a loop doubles the bytes at least, so that loops nest at most 63
//! deep.

use std::sync::Arc;

/// A block in a list: where it begins in the packed bytes of one iteration, where it lies, and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Position in the packed bytes of the list.
    pub at: i64,
    /// Offset in memory.
    pub offset: i64,
    /// Bytes.
    pub bytes: i64,
}

/// What one iteration of a leaf moves.
#[derive(Clone, Debug)]
pub enum Body {
    /// One block of [`Leaf::block`] bytes.
    One,
    /// Blocks of [`Leaf::block`] bytes each at these offsets.
    Equal(Arc<[i64]>),
    /// Blocks of different lengths.
    Varied(Arc<[Piece]>),
}

/// A loop over blocks: what the copying loops of [`super::strided`] run in one go.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Where the first iteration begins.
    pub offset: i64,
    /// Iterations, at least 1.
    pub count: i64,
    /// Bytes in memory from one iteration to the next.
    pub stride: i64,
    /// Bytes of a block; of no meaning for [`Body::Varied`].
    pub block: i64,
    /// Packed bytes of one iteration.
    pub bytes: i64,
    /// The blocks.
    pub body: Body,
}

/// A node of a program.
#[derive(Clone, Debug)]
pub enum Node {
    /// Blocks.
    Leaf(Leaf),
    /// The same again and again.
    Loop(Loop),
    /// One after the other.
    Sequence(Sequence),
}

/// A loop over something that is no leaf, or whose iterations do not go on where the leaf's end.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Where the first iteration begins.
    pub offset: i64,
    /// Iterations, at least 2.
    pub count: i64,
    /// Bytes in memory from one to the next.
    pub stride: i64,
    /// Packed bytes of one iteration.
    pub bytes: i64,
    /// Loops and sequences below this one, this one included.
    depth: u32,
    /// What is done in each.
    pub body: Arc<Node>,
}

/// Nodes one after the other.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// What is added to the offsets of all.
    pub offset: i64,
    /// Packed bytes.
    pub bytes: i64,
    /// Loops and sequences below this one, this one included.
    depth: u32,
    /// The nodes, at least 2.
    pub entries: Arc<[Node]>,
    /// The packed bytes before each.
    pub starts: Arc<[i64]>,
}

/// Arithmetic progressions of fewer blocks than this stay in a list: a list of blocks costs less than a node
/// each.
const RUN: usize = 8;
/// A loop over up to so many blocks becomes a list when it stands in another loop.
const LISTED: i64 = 16;
/// A sequence or list of up to so many entries becomes part of the sequence that it stands in; a longer one
/// is shared instead of copied.
const SPLICED: usize = 256;
/// A sequence that nests this deep becomes part of the outer one whatever its length.
const DEEPEST: u32 = 48;

impl Leaf {
    const fn one(offset: i64, bytes: i64) -> Self {
        Self { offset, count: 1, stride: 0, block: bytes, bytes, body: Body::One }
    }

    /// Whether it is a single block.
    #[inline]
    pub const fn is_block(&self) -> bool {
        self.count == 1 && matches!(self.body, Body::One)
    }

    /// Blocks in an iteration.
    #[inline]
    pub fn blocks(&self) -> usize {
        match &self.body {
            Body::One => 1,
            Body::Equal(offsets) => offsets.len(),
            Body::Varied(pieces) => pieces.len(),
        }
    }

    /// A block of an iteration.
    #[inline]
    pub fn piece(&self, index: usize) -> Piece {
        match &self.body {
            Body::One => Piece { at: 0, offset: 0, bytes: self.block },
            Body::Equal(offsets) => {
                Piece { at: index as i64 * self.block, offset: offsets[index], bytes: self.block }
            }
            Body::Varied(pieces) => pieces[index],
        }
    }

    /// Whether it is easily seen that no two blocks of all iterations overlap: they go upwards, and an
    /// iteration ends before the next begins.
    pub fn is_apart(&self) -> bool {
        let (first, mut end) = (self.piece(0).offset, i64::MIN);
        for i in 0..self.blocks() {
            let piece = self.piece(i);
            if piece.offset < end {
                return false;
            }
            end = piece.offset.saturating_add(piece.bytes);
        }
        end.saturating_sub(first) as u64 <= self.stride.unsigned_abs()
    }

    fn has_shape_of(&self, other: &Self) -> bool {
        let same_body = match (&self.body, &other.body) {
            (Body::One, Body::One) => true,
            (Body::Equal(one), Body::Equal(two)) => Arc::ptr_eq(one, two),
            (Body::Varied(one), Body::Varied(two)) => Arc::ptr_eq(one, two),
            _ => false,
        };
        same_body
            && (self.count, self.block, self.bytes) == (other.count, other.block, other.bytes)
            && (self.count == 1 || self.stride == other.stride)
    }
}

impl Node {
    /// A block.
    pub const fn block(offset: i64, bytes: i64) -> Self {
        Node::Leaf(Leaf::one(offset, bytes))
    }

    /// The block that it is, if it is one: offset and bytes.
    #[inline]
    pub const fn as_block(&self) -> Option<(i64, i64)> {
        match self {
            Node::Leaf(leaf) if leaf.is_block() => Some((leaf.offset, leaf.bytes)),
            _ => None,
        }
    }

    /// Packed bytes.
    #[inline]
    pub const fn bytes(&self) -> i64 {
        match self {
            Node::Leaf(leaf) => leaf.count * leaf.bytes,
            Node::Loop(of) => of.count * of.bytes,
            Node::Sequence(of) => of.bytes,
        }
    }

    /// Loops and sequences that a cursor is in at most.
    pub const fn depth(&self) -> usize {
        match self {
            Node::Leaf(_) => 0,
            Node::Loop(of) => of.depth as usize,
            Node::Sequence(of) => of.depth as usize,
        }
    }

    /// Nodes and list entries, shared ones counted once a place: a measure for tests.
    pub fn entries(&self) -> usize {
        match self {
            Node::Leaf(leaf) => leaf.blocks(),
            Node::Loop(of) => 1 + of.body.entries(),
            Node::Sequence(of) => of.entries.iter().map(Node::entries).sum(),
        }
    }

    const fn offset(&self) -> i64 {
        match self {
            Node::Leaf(leaf) => leaf.offset,
            Node::Loop(of) => of.offset,
            Node::Sequence(of) => of.offset,
        }
    }

    /// The same, `by` bytes further.
    pub fn shifted(mut self, by: i64) -> Self {
        // Wrapping: an intermediate sum may leave the range although the bytes in the end lie in it.
        let offset = self.offset().wrapping_add(by);
        match &mut self {
            Node::Leaf(leaf) => leaf.offset = offset,
            Node::Loop(of) => of.offset = offset,
            Node::Sequence(of) => of.offset = offset,
        }
        self
    }

    /// `count` times the same, each `stride` bytes after the other; `count` is at least 1.
    pub fn repeated(self, count: i64, stride: i64) -> Self {
        if count == 1 {
            return self;
        }
        match self {
            Node::Leaf(leaf) if leaf.is_block() && stride == leaf.bytes => {
                Node::block(leaf.offset, leaf.bytes * count)
            }
            Node::Leaf(leaf) if leaf.count == 1 => match rotated(&leaf, count, stride) {
                Some(node) => node,
                None => Node::Leaf(Leaf { count, stride, ..leaf }),
            },
            Node::Leaf(leaf) if goes_on(leaf.count, leaf.stride, stride) => {
                Node::Leaf(Leaf { count: leaf.count * count, ..leaf })
            }
            // A few blocks in each iteration: a list is moved in one go with the loop around it.
            Node::Leaf(leaf) if leaf.count <= LISTED && matches!(leaf.body, Body::One) => {
                let offsets: Arc<[i64]> = (0..leaf.count).map(|i| i * leaf.stride).collect();
                let bytes = leaf.count * leaf.bytes;
                let body = Body::Equal(offsets);
                Node::Leaf(Leaf { count: 1, stride: 0, bytes, body, ..leaf }).repeated(count, stride)
            }
            Node::Loop(of) if goes_on(of.count, of.stride, stride) => {
                Node::Loop(Loop { count: of.count * count, ..of })
            }
            node => Node::Loop(Loop {
                offset: 0,
                count,
                stride,
                bytes: node.bytes(),
                depth: node.depth() as u32 + 1,
                body: Arc::new(node),
            }),
        }
    }

    /// Whether two are the same but for their offsets, as far as that is seen without walking.
    fn has_shape_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Node::Leaf(one), Node::Leaf(two)) => one.has_shape_of(two),
            (Node::Loop(one), Node::Loop(two)) => {
                Arc::ptr_eq(&one.body, &two.body) && (one.count, one.stride) == (two.count, two.stride)
            }
            (Node::Sequence(one), Node::Sequence(two)) => Arc::ptr_eq(&one.entries, &two.entries),
            _ => false,
        }
    }
}

/// Whether the iteration after the last one of `count` is the first of the next repetition.
fn goes_on(count: i64, inner: i64, outer: i64) -> bool {
    inner.checked_mul(count) == Some(outer)
}

/// Repetitions of two blocks of which the second touches the next repetition's first: a block, a loop over
/// one larger block, a block.
fn rotated(leaf: &Leaf, count: i64, stride: i64) -> Option<Node> {
    if leaf.blocks() != 2 || count < RUN as i64 {
        return None;
    }
    let (first, second) = (leaf.piece(0), leaf.piece(1));
    if second.offset.checked_add(second.bytes)? != first.offset.checked_add(stride)? {
        return None;
    }
    let bytes = first.bytes + second.bytes;
    let middle = Leaf { count: count - 1, stride, ..Leaf::one(leaf.offset + second.offset, bytes) };
    let last = leaf.offset + second.offset + (count - 1) * stride;
    Some(sequence(vec![
        Node::block(leaf.offset + first.offset, first.bytes),
        Node::Leaf(middle),
        Node::block(last, second.bytes),
    ]))
}

fn sequence(nodes: Vec<Node>) -> Node {
    let mut bytes = 0;
    let before = |node: &Node| {
        bytes += node.bytes();
        bytes - node.bytes()
    };
    let starts = nodes.iter().map(before).collect();
    let depth = nodes.iter().map(Node::depth).max().unwrap_or(0) as u32 + 1;
    Node::Sequence(Sequence { offset: 0, bytes, depth, entries: nodes.into(), starts })
}

/// An item of a sequence that is being made; blocks are kept small, as there may be millions.
enum Item {
    Block(i64, i64),
    Node(Box<Node>),
}

/// Makes one node of many that follow each other.
#[derive(Default)]
pub struct Builder {
    items: Vec<Item>,
}

impl Builder {
    /// Adds a node at the end.
    pub fn push(&mut self, node: Node) {
        match node {
            Node::Leaf(leaf) if leaf.count == 1 && leaf.blocks() <= SPLICED => {
                for piece in (0..leaf.blocks()).map(|i| leaf.piece(i)) {
                    self.push_block(leaf.offset.wrapping_add(piece.offset), piece.bytes);
                }
            }
            Node::Sequence(of) if of.entries.len() <= SPLICED || of.depth >= DEEPEST => {
                of.entries.iter().for_each(|entry| self.push(entry.clone().shifted(of.offset)));
            }
            node => self.items.push(Item::Node(Box::new(node))),
        }
    }

    fn push_block(&mut self, offset: i64, bytes: i64) {
        match self.items.last_mut() {
            Some(Item::Block(start, length)) if start.checked_add(*length) == Some(offset) => {
                *length += bytes
            }
            _ => self.items.push(Item::Block(offset, bytes)),
        }
    }

    /// The node; none when nothing was added.
    pub fn finish(self) -> Option<Node> {
        let mut nodes = Vec::new();
        let mut blocks = Vec::new();
        // A node that may repeat: itself, how often, and how far apart.
        let mut pending: Option<(Node, i64, i64)> = None;
        for item in self.items {
            match item {
                Item::Block(offset, bytes) => {
                    nodes.extend(pending.take().map(|(node, count, stride)| node.repeated(count, stride)));
                    blocks.push((offset, bytes));
                }
                Item::Node(node) => {
                    leaves(&mut blocks, &mut nodes);
                    pending = Some(match pending.take() {
                        None => (*node, 1, 0),
                        Some((first, count, stride)) => match next_stride(&first, count, stride, &node) {
                            Some(stride) => (first, count + 1, stride),
                            None => {
                                nodes.push(first.repeated(count, stride));
                                (*node, 1, 0)
                            }
                        },
                    });
                }
            }
        }
        nodes.extend(pending.map(|(node, count, stride)| node.repeated(count, stride)));
        leaves(&mut blocks, &mut nodes);
        match nodes.len() {
            0 | 1 => nodes.pop(),
            _ => Some(sequence(nodes)),
        }
    }
}

/// The stride at which `node` goes on with `count` repetitions of `first`, if it does.
fn next_stride(first: &Node, count: i64, stride: i64, node: &Node) -> Option<i64> {
    if !first.has_shape_of(node) {
        return None;
    }
    let distance = node.offset().checked_sub(first.offset())?;
    if count == 1 { Some(distance) } else { Some(stride).filter(|_| goes_on(count, stride, distance)) }
}

/// Turns blocks that follow each other into leaves: loops where they are regular, lists where not.
fn leaves(blocks: &mut Vec<(i64, i64)>, nodes: &mut Vec<Node>) {
    let mut listed = 0;
    let mut i = 0;
    while i < blocks.len() {
        let length = progression(&blocks[i..]);
        if length < RUN && length < blocks.len() {
            i += length.max(2) - 1;
            continue;
        }
        list(&blocks[listed..i], nodes);
        let (offset, bytes) = blocks[i];
        let stride = if length > 1 { blocks[i + 1].0 - offset } else { 0 };
        nodes.push(Node::block(offset, bytes).repeated(length as i64, stride));
        i += length;
        listed = i;
    }
    list(&blocks[listed..], nodes);
    blocks.clear();
}

/// How many of the blocks, from the first on, are of equal length and equally far apart.
fn progression(blocks: &[(i64, i64)]) -> usize {
    let [first, second, ..] = blocks else { return blocks.len() };
    let Some(stride) = second.0.checked_sub(first.0) else { return 1 };
    if first.1 != second.1 {
        return 1;
    }
    let follows =
        |pair: &&[(i64, i64)]| pair[1].1 == first.1 && pair[1].0.checked_sub(pair[0].0) == Some(stride);
    1 + blocks.windows(2).take_while(follows).count()
}

fn list(blocks: &[(i64, i64)], nodes: &mut Vec<Node>) {
    let Some(&(offset, block)) = blocks.first() else { return };
    let bytes = blocks.iter().map(|(_, bytes)| bytes).sum();
    let leaf = |body| Node::Leaf(Leaf { offset: 0, count: 1, stride: 0, block, bytes, body });
    nodes.push(if blocks.len() == 1 {
        Node::block(offset, block)
    } else if blocks.iter().all(|(_, bytes)| *bytes == block) {
        leaf(Body::Equal(blocks.iter().map(|(offset, _)| *offset).collect()))
    } else {
        let mut at = 0;
        let pieces = blocks.iter().map(|&(offset, bytes)| {
            let piece = Piece { at, offset, bytes };
            at += bytes;
            piece
        });
        leaf(Body::Varied(pieces.collect()))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(nodes: impl IntoIterator<Item = Node>) -> Node {
        let mut builder = Builder::default();
        nodes.into_iter().for_each(|node| builder.push(node));
        builder.finish().unwrap()
    }

    #[test]
    fn a_vector_of_a_million_blocks_is_one_node() {
        let node = Node::block(0, 8).repeated(1_000_000, 24);
        assert_eq!((node.entries(), node.depth(), node.bytes()), (1, 0, 8_000_000));
        let listed = built((0..1_000_000).map(|i| Node::block(i * 24, 8)));
        assert_eq!((listed.entries(), listed.depth(), listed.bytes()), (1, 0, 8_000_000));
    }

    #[test]
    fn what_is_adjacent_is_one_block() {
        assert_eq!(Node::block(4, 8).repeated(10, 8).as_block(), Some((4, 80)));
        assert_eq!(built((0..100).map(|i| Node::block(i * 5, 5))).as_block(), Some((0, 500)));
        let rows = Node::block(0, 16).repeated(4, 64).repeated(8, 256);
        assert_eq!((rows.entries(), rows.depth(), rows.bytes()), (1, 0, 512));
    }

    #[test]
    fn padding_within_an_element_leaves_one_loop_over_larger_blocks() {
        // An int and a double: the double touches the next element's int.
        let element = built([Node::block(0, 4), Node::block(8, 8)]);
        let Node::Sequence(all) = element.repeated(1000, 16) else { panic!("no sequence") };
        assert_eq!(all.entries.len(), 3);
        assert_eq!(all.bytes, 12_000);
        let Node::Leaf(middle) = &all.entries[1] else { panic!("no loop") };
        assert_eq!((middle.count, middle.stride, middle.bytes), (999, 16, 12));
    }

    #[test]
    fn types_that_share_parts_do_not_explode() {
        // 3^30 irregular copies of one byte.
        let mut node = Node::block(0, 1);
        for level in 0..30i64 {
            let gap = (1 << level) * 3 + level;
            node = built([node.clone(), node.clone().shifted(gap), node.shifted(3 * gap + 7)]);
            assert!(node.depth() <= 60, "{}", node.depth());
        }
        assert_eq!(node.bytes(), 3i64.pow(30));
    }
}
