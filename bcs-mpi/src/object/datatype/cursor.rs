//! Cursors: moving a message's bytes between where its datatype has them and one packed stream, in chunks of
//! any size.
//!
//! A [`Layout`] is a loop program over all elements of a message. A [`Cursor`] is a place in its packed
//! stream. It is what a channel pulls chunks from: [`Cursor::pack`] fills the next slot of a window and
//! [`Cursor::unpack`] empties one, each going on where the last ended. [`copying`](super::copying) moves
//! from one memory to another with two cursors and nothing in between.

use super::flat::{Body, Leaf, Node};
use super::strided::{Way, copy_across, move_equal, move_regular, move_varied};

/// Where the bytes of a message lie, relative to its buffer's address.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(super) root: Option<Node>,
}

impl Layout {
    /// `count` elements of a datatype with this program, an extent apart. The caller has checked that no
    /// offset overflows.
    #[inline]
    pub fn new(element: Option<&Node>, count: i64, extent: i64) -> Self {
        Self { root: element.filter(|_| count > 0).map(|node| node.clone().repeated(count, extent)) }
    }

    /// Bytes of data.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.root.as_ref().map_or(0, |node| node.bytes() as usize)
    }

    /// Where the data lies when it is one block (an empty message is one).
    #[inline]
    pub fn as_block(&self) -> Option<isize> {
        match &self.root {
            None => Some(0),
            Some(node) => node.as_block().map(|(offset, _)| offset as isize),
        }
    }

    /// A cursor at the first byte.
    pub fn cursor(&self) -> Cursor<'_> {
        let mut cursor = self.cursor_nowhere();
        if let Some(root) = &self.root {
            cursor.descend(root, 0);
        }
        cursor
    }

    /// A cursor that is in no leaf yet.
    pub(super) fn cursor_nowhere(&self) -> Cursor<'_> {
        Cursor {
            position: 0,
            end: self.bytes() as i64,
            frames: Vec::with_capacity(self.root.as_ref().map_or(0, Node::depth)),
            leaf: &NOTHING,
            base: 0,
            iteration: 0,
            block: 0,
            byte: 0,
        }
    }

    /// Packs all of it.
    ///
    /// # Safety
    /// `memory` must be readable wherever the layout has bytes.
    pub unsafe fn pack(&self, memory: *const u8) -> Vec<u8> {
        let mut packed = Vec::with_capacity(self.bytes());
        // SAFETY: the caller's promise; the room is there, and all of it is written.
        unsafe {
            self.cursor().pack(memory, packed.as_mut_ptr(), self.bytes());
            packed.set_len(self.bytes());
        }
        packed
    }

    /// Unpacks as much as there is, and as there is room for.
    ///
    /// # Safety
    /// `memory` must be writable wherever the layout has the packed bytes.
    pub unsafe fn unpack(&self, packed: &[u8], memory: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.cursor().unpack(packed.as_ptr(), packed.len(), memory) };
    }
}

/// A loop or a sequence that a cursor is in: where it is in it, and what is added to offsets below.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) node: &'a Node,
    pub(super) base: i64,
    pub(super) index: i64,
}

/// A place in the packed stream of a message. Offsets are relative to the buffer's address.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    pub(super) position: i64,
    pub(super) end: i64,
    pub(super) frames: Vec<Frame<'a>>,
    /// The leaf that the cursor is in, and what is added to its offsets; of no meaning at the end.
    pub(super) leaf: &'a Leaf,
    pub(super) base: i64,
    /// Iteration, block in it, and byte of that. A block that is over is never pointed at, except at the end.
    pub(super) iteration: i64,
    pub(super) block: usize,
    pub(super) byte: i64,
}

/// What a cursor without bytes is in.
static NOTHING: Leaf = Leaf { offset: 0, count: 0, stride: 0, block: 0, bytes: 0, body: Body::One };

impl<'a> Cursor<'a> {
    /// Bytes before it.
    #[inline]
    pub fn position(&self) -> usize {
        self.position as usize
    }

    /// Bytes after it.
    #[inline]
    pub fn remaining(&self) -> usize {
        (self.end - self.position) as usize
    }

    /// Goes down to the first byte of a node.
    fn descend(&mut self, mut node: &'a Node, mut base: i64) {
        loop {
            let (offset, first) = match node {
                Node::Leaf(leaf) => {
                    self.leaf = leaf;
                    self.base = base.wrapping_add(leaf.offset);
                    (self.iteration, self.block, self.byte) = (0, 0, 0);
                    return;
                }
                Node::Loop(of) => (of.offset, &*of.body),
                Node::Sequence(of) => (of.offset, &of.entries[0]),
            };
            base = base.wrapping_add(offset);
            self.frames.push(Frame { node, base, index: 0 });
            node = first;
        }
    }

    /// Goes from the end of a leaf to the next one; at the end of all stays.
    fn next_leaf(&mut self) {
        while let Some(frame) = self.frames.last_mut() {
            frame.index += 1;
            let next = match frame.node {
                Node::Loop(of) if frame.index < of.count => {
                    Some((&*of.body, frame.base.wrapping_add(frame.index.wrapping_mul(of.stride))))
                }
                Node::Sequence(of) if (frame.index as usize) < of.entries.len() => {
                    Some((&of.entries[frame.index as usize], frame.base))
                }
                _ => None,
            };
            match next {
                Some((node, base)) => return self.descend(node, base),
                None => self.frames.pop(),
            };
        }
    }

    /// Where the iteration that the cursor is in begins.
    #[inline]
    fn start(&self) -> isize {
        self.base.wrapping_add(self.iteration.wrapping_mul(self.leaf.stride)) as isize
    }

    /// The bytes from here to the end of their block: offset and number; none at the end.
    #[inline]
    pub fn block(&self) -> Option<(isize, usize)> {
        if self.position == self.end {
            return None;
        }
        let piece = self.leaf.piece(self.block);
        let within = piece.offset.wrapping_add(self.byte) as isize;
        Some((self.start().wrapping_add(within), (piece.bytes - self.byte) as usize))
    }

    /// Goes on by bytes of the block that the cursor is in.
    #[inline]
    fn pass(&mut self, bytes: i64, of_block: i64) {
        self.position += bytes;
        self.byte += bytes;
        if self.byte == of_block {
            self.byte = 0;
            self.block += 1;
            if self.block == self.leaf.blocks() {
                self.block = 0;
                self.pass_iterations(1);
            }
        }
    }

    #[inline]
    fn pass_iterations(&mut self, count: i64) {
        self.iteration += count;
        if self.iteration == self.leaf.count {
            self.next_leaf();
        }
    }

    /// Goes on by up to `most` bytes of the block that the cursor is in; answers where they are and how many.
    #[inline]
    pub(crate) fn take_block(&mut self, most: usize) -> Option<(isize, usize)> {
        let (offset, bytes) = self.block()?;
        let taken = bytes.min(most);
        self.pass(taken as i64, bytes as i64 + self.byte);
        Some((offset, taken))
    }

    /// Moves the next bytes, `bytes` at most; answers how many.
    #[inline]
    unsafe fn run(&mut self, way: Way, memory: *mut u8, mut packed: *mut u8, bytes: usize) -> usize {
        let bytes = bytes.min(self.remaining()) as i64;
        let goal = self.position + bytes;
        while self.position < goal {
            let left = goal - self.position;
            let leaf = self.leaf;
            if self.byte == 0 && self.block == 0 && left >= leaf.bytes {
                let count = (leaf.count - self.iteration).min(left / leaf.bytes);
                let at = memory.wrapping_offset(self.start());
                // SAFETY: the caller's promise for the bytes of these iterations.
                unsafe { iterations(way, at, packed, leaf, count) };
                self.position += count * leaf.bytes;
                packed = packed.wrapping_add((count * leaf.bytes) as usize);
                self.pass_iterations(count);
                continue;
            }
            // SAFETY: the caller's promise for these blocks.
            let listed = unsafe { self.run_list(way, memory, packed, left) };
            if listed > 0 {
                packed = packed.wrapping_add(listed);
                continue;
            }
            let Some((offset, taken)) = self.take_block(left as usize) else { break };
            let at = memory.wrapping_offset(offset);
            // SAFETY: the caller's promise for this block.
            unsafe { move_regular(way, at, packed, taken, (1, 0)) };
            packed = packed.wrapping_add(taken);
        }
        bytes as usize
    }

    /// Moves whole blocks of a list, up to its end and `left` bytes; answers the bytes, 0 where no whole
    /// block is next.
    #[inline]
    unsafe fn run_list(&mut self, way: Way, memory: *mut u8, packed: *mut u8, left: i64) -> usize {
        if self.byte != 0 {
            return 0;
        }
        let leaf = self.leaf;
        let at = memory.wrapping_offset(self.start());
        let (blocks, all, bytes) = match &leaf.body {
            Body::One => return 0,
            Body::Equal(offsets) => {
                let rest = &offsets[self.block..];
                let rest = &rest[..rest.len().min((left / leaf.block) as usize)];
                // SAFETY: the caller's promise.
                unsafe { move_equal(way, at, packed, leaf.block as usize, rest) };
                (rest.len(), offsets.len(), rest.len() as i64 * leaf.block)
            }
            Body::Varied(pieces) => {
                let rest = &pieces[self.block..];
                let begin = rest[0].at;
                let rest = &rest[..rest.partition_point(|piece| piece.at + piece.bytes - begin <= left)];
                // SAFETY: the caller's promise.
                unsafe { move_varied(way, at, packed, rest) };
                (rest.len(), pieces.len(), rest.last().map_or(0, |last| last.at + last.bytes - begin))
            }
        };
        self.position += bytes;
        self.block += blocks;
        if self.block == all {
            self.block = 0;
            self.pass_iterations(1);
        }
        bytes as usize
    }

    /// Packs the next bytes, `room` at most; answers how many.
    ///
    /// # Safety
    /// `memory` must be readable wherever the layout has these bytes, and `to` writable for `room`.
    #[inline]
    pub unsafe fn pack(&mut self, memory: *const u8, to: *mut u8, room: usize) -> usize {
        // SAFETY: the caller's promise; packing only reads `memory`.
        unsafe { self.run(Way::Pack, memory.cast_mut(), to, room) }
    }

    /// Unpacks the next bytes, `bytes` at most; answers how many.
    ///
    /// # Safety
    /// `memory` must be writable wherever the layout has these bytes, and `from` readable for `bytes`.
    #[inline]
    pub unsafe fn unpack(&mut self, from: *const u8, bytes: usize, memory: *mut u8) -> usize {
        // SAFETY: the caller's promise; unpacking only reads `from`.
        unsafe { self.run(Way::Unpack, memory, from.cast_mut(), bytes) }
    }

    /// Blocks of equal length and distance from here on, when the cursor is at the first byte of one: how
    /// many, and how far apart.
    pub(crate) fn regular(&self) -> Option<(usize, isize)> {
        let leaf = self.leaf;
        let is_at_one = self.position != self.end && self.byte == 0 && matches!(leaf.body, Body::One);
        is_at_one.then(|| ((leaf.count - self.iteration) as usize, leaf.stride as isize))
    }

    /// Goes on by whole blocks of those that [`Self::regular`] answers.
    pub(crate) fn pass_regular(&mut self, count: usize) {
        self.position += count as i64 * self.leaf.bytes;
        self.pass_iterations(count as i64);
    }
}

/// Moves whole iterations of a leaf.
#[inline]
unsafe fn iterations(way: Way, memory: *mut u8, packed: *mut u8, leaf: &Leaf, count: i64) {
    let stride = leaf.stride as isize;
    let place = |i: usize| {
        let at = memory.wrapping_offset((i as isize).wrapping_mul(stride));
        (at, packed.wrapping_add(i * leaf.bytes as usize))
    };
    // SAFETY: the caller's promise.
    unsafe {
        match &leaf.body {
            Body::One => move_regular(way, memory, packed, leaf.block as usize, (count as usize, stride)),
            _ if count >= FEW_ITERATIONS
                && (way == Way::Pack || leaf.is_apart())
                && leaf.blocks() <= FEW_BLOCKS =>
            {
                tiles(way, memory, packed, leaf, count as usize);
            }
            Body::Equal(offsets) => {
                for (at, packed) in (0..count as usize).map(place) {
                    move_equal(way, at, packed, leaf.block as usize, offsets);
                }
            }
            Body::Varied(pieces) => {
                for (at, packed) in (0..count as usize).map(place) {
                    move_varied(way, at, packed, pieces);
                }
            }
        }
    }
}

/// Fewer iterations are moved one by one.
const FEW_ITERATIONS: i64 = 4;
/// Longer lists are moved one by one.
const FEW_BLOCKS: usize = 16;
/// Iterations whose blocks are moved together: few enough to stay in the nearest cache.
const TILE: usize = 128;

/// Moves iterations of a few blocks each: the first block of all, then the second of all, and so on, so that
/// each loop moves one size. The order does not matter, as the blocks do not overlap where they are written.
unsafe fn tiles(way: Way, memory: *mut u8, packed: *mut u8, leaf: &Leaf, count: usize) {
    let (stride, bytes) = (leaf.stride as isize, leaf.bytes as isize);
    for first in (0..count).step_by(TILE) {
        let now = TILE.min(count - first);
        let memory = memory.wrapping_offset((first as isize).wrapping_mul(stride));
        let packed = packed.wrapping_add(first * leaf.bytes as usize);
        for i in 0..leaf.blocks() {
            let piece = leaf.piece(i);
            let (at, to) =
                (memory.wrapping_offset(piece.offset as isize), packed.wrapping_add(piece.at as usize));
            // SAFETY: the caller's promise for these blocks.
            unsafe {
                match way {
                    Way::Pack => copy_across(at, to, piece.bytes as usize, (stride, bytes), now),
                    Way::Unpack => copy_across(to, at, piece.bytes as usize, (bytes, stride), now),
                }
            }
        }
    }
}
