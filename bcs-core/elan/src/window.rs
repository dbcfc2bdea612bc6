//! The window: a node's memory that the cards of all nodes reach.
//!
//! ```text
//!  lines       64 bytes a node: what that node tells this one    written by that node's puts and broadcasts
//!  cells       32 bytes a node: what this node answers that one  written here, read by conditionals and gets
//!  words       64 bytes a node: what is put into its lines       read by this node's card
//!  landing     8 bytes a node: where gets of its cells go        written by this node's card
//!  incoming    3 rings a node: messages and records from it      written by that node's puts
//!  outgoing    3 rings a node: messages and records to it        read by this node's card
//!  slots       4 slots a node: broadcasts from it                written by that node's broadcasts
//!  own slots   4 slots: broadcasts from here                     read by this node's card
//! ```
//!
//! It has the same layout in all nodes, and lies at the same address of the card, so that a broadcast has one
//! destination. Invariants: every word is at a multiple of 8, and read and written as one; bytes of rings and
//! slots are read only after a word that was written behind them has been seen.

use bcs_core::ids::NodeId;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rings from a node to another.
pub(crate) const RINGS: usize = 3;
/// Messages of the tree protocol, by lane, are in the first two rings; records of the road in this one.
pub(crate) const ROAD_RING: usize = 2;
/// Slots for broadcasts of a node: one is filled while others are read.
pub(crate) const SLOTS: u64 = 4;

const LINE_BYTES: usize = 64;
const CELL_BYTES: usize = 32;
const WORD_BYTES: usize = 8;

/// A word of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// How many bytes are in a ring, from the start.
    Tail(usize),
    /// How many bytes have been read of a ring.
    Taken(usize),
    /// The number of the last broadcast.
    Broadcast,
    /// Who the node is, and whether it is still there.
    Greeting,
}

impl Word {
    fn index(self) -> usize {
        match self {
            Self::Tail(ring) => ring,
            Self::Taken(ring) => RINGS + ring,
            Self::Broadcast => 2 * RINGS,
            Self::Greeting => 2 * RINGS + 1,
        }
    }
}

/// A word that a node answers in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Cell {
    /// The number of the last operation on which it has voted.
    Voted = 0,
    /// That vote.
    Ballot = 1,
    /// The number of the last operation that it has done.
    Done = 2,
    /// The number of the last broadcast that it has taken.
    Taken = 3,
}

const _: () = assert!((2 * RINGS + 2) * WORD_BYTES <= LINE_BYTES, "the words of a line fit in it");
const _: () = assert!(4 * WORD_BYTES <= CELL_BYTES, "the cells of a node fit in their place");

/// Where what lies in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub nodes: usize,
    pub ring_bytes: usize,
    pub slot_bytes: usize,
}

impl Layout {
    /// The place of a word of a node's line.
    pub fn line(&self, node: NodeId, word: Word) -> usize {
        node.index() * LINE_BYTES + word.index() * WORD_BYTES
    }

    /// The place of a cell for a node.
    pub fn cell(&self, node: NodeId, cell: Cell) -> usize {
        self.nodes * LINE_BYTES + node.index() * CELL_BYTES + cell as usize * WORD_BYTES
    }

    /// The place of the source of a word that goes into a node's line; of broadcasts, into those of all.
    pub fn word(&self, node: NodeId, word: Word) -> usize {
        self.nodes * (LINE_BYTES + CELL_BYTES) + self.line(node, word)
    }

    /// Where a get of a node's cell goes.
    pub fn landing(&self, node: NodeId) -> usize {
        self.nodes * (2 * LINE_BYTES + CELL_BYTES) + node.index() * WORD_BYTES
    }

    fn rings(&self) -> usize {
        (self.nodes * (2 * LINE_BYTES + CELL_BYTES + WORD_BYTES)).next_multiple_of(LINE_BYTES)
    }

    /// Where a ring from a node begins.
    pub fn incoming(&self, node: NodeId, ring: usize) -> usize {
        self.rings() + (node.index() * RINGS + ring) * self.ring_bytes
    }

    /// Where a ring to a node begins.
    pub fn outgoing(&self, node: NodeId, ring: usize) -> usize {
        self.rings() + ((self.nodes + node.index()) * RINGS + ring) * self.ring_bytes
    }

    /// Where the slot of a broadcast of a node begins, by its number.
    pub fn slot(&self, node: NodeId, number: u64) -> usize {
        let slot = node.index() * SLOTS as usize + (number % SLOTS) as usize;
        self.rings() + 2 * self.nodes * RINGS * self.ring_bytes + slot * self.slot_bytes
    }

    /// Where the slot of an own broadcast begins, by its number.
    pub fn own_slot(&self, number: u64) -> usize {
        self.slot(NodeId(self.nodes as u32), number)
    }

    /// The length of a window in bytes; none where it is more than there are addresses.
    pub fn bytes(&self) -> Option<usize> {
        let fixed = 2 * LINE_BYTES + CELL_BYTES + WORD_BYTES;
        let rings = 2 * RINGS;
        let per_node = rings.checked_mul(self.ring_bytes)?.checked_add(SLOTS as usize * self.slot_bytes)?;
        let nodes = self.nodes.checked_mul(per_node.checked_add(fixed)?)?;
        nodes.checked_add(LINE_BYTES)?.checked_add(SLOTS as usize * self.slot_bytes)
    }
}

/// A window.
#[derive(Debug)]
pub(crate) struct Window {
    base: NonNull<u8>,
    layout: Layout,
    bytes: usize,
}

// SAFETY: the memory is libelan's, which keeps it; words are atomics, and bytes are handed over by words.
unsafe impl Send for Window {}

impl Window {
    /// The window in memory of the card.
    ///
    /// # Safety
    /// `base` points to the layout's bytes, zeroed, at a multiple of 64, that stay as long as the process and
    /// that only cards and this window use.
    pub unsafe fn new(base: NonNull<u8>, layout: Layout, bytes: usize) -> Self {
        Self { base, layout, bytes }
    }

    /// Its layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The address of a place, for the card.
    pub fn at(&self, place: usize, bytes: usize) -> *mut u8 {
        assert!(place + bytes <= self.bytes, "the place {place} of {bytes} bytes is not in the window");
        // SAFETY: the place lies in the window.
        unsafe { self.base.as_ptr().add(place) }
    }

    fn word(&self, place: usize) -> &AtomicU64 {
        debug_assert!(place.is_multiple_of(WORD_BYTES), "words lie at multiples of 8");
        // SAFETY: in the window, aligned, and used as an atomic by all but cards, which write words whole.
        unsafe { AtomicU64::from_ptr(self.at(place, WORD_BYTES).cast()) }
    }

    /// Reads a word, and all that was written before it.
    pub fn load(&self, place: usize) -> u64 {
        self.word(place).load(Ordering::Acquire)
    }

    /// Writes a word, after all that was written before.
    pub fn store(&self, place: usize, value: u64) {
        self.word(place).store(value, Ordering::Release);
    }

    /// Appends bytes to what is at hand.
    pub fn append_to(&self, place: usize, bytes: usize, to: &mut Vec<u8>) {
        let from = self.at(place, bytes);
        to.reserve(bytes);
        // SAFETY: the range is in the window, and no card writes it before it was taken; the vector has room,
        // and is elsewhere.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr().add(to.len()), bytes);
            to.set_len(to.len() + bytes);
        }
    }

    /// Writes bytes.
    pub fn write(&self, place: usize, from: &[u8]) {
        let to = self.at(place, from.len());
        // SAFETY: the range is in the window, and no card reads it before it is told to; the slice is
        // elsewhere.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_things_share_a_byte_and_all_lie_in_the_window() {
        for nodes in [1, 2, 7] {
            let layout = Layout { nodes, ring_bytes: 4096, slot_bytes: 1024 };
            let mut ranges = Vec::new();
            let words: Vec<Word> =
                (0..RINGS).flat_map(|ring| [Word::Tail(ring), Word::Taken(ring)]).collect();
            for node in (0..nodes as u32).map(NodeId) {
                for word in words.iter().copied().chain([Word::Broadcast, Word::Greeting]) {
                    ranges.push((layout.line(node, word), WORD_BYTES));
                    ranges.push((layout.word(node, word), WORD_BYTES));
                }
                for cell in [Cell::Voted, Cell::Ballot, Cell::Done, Cell::Taken] {
                    ranges.push((layout.cell(node, cell), WORD_BYTES));
                }
                ranges.push((layout.landing(node), WORD_BYTES));
                for ring in 0..RINGS {
                    ranges.push((layout.incoming(node, ring), layout.ring_bytes));
                    ranges.push((layout.outgoing(node, ring), layout.ring_bytes));
                }
                ranges.extend((0..SLOTS).map(|number| (layout.slot(node, number), layout.slot_bytes)));
            }
            ranges.extend((0..SLOTS).map(|number| (layout.own_slot(number), layout.slot_bytes)));
            ranges.sort_unstable();
            assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "{ranges:?}");
            assert!(ranges.iter().all(|(at, _)| at.is_multiple_of(WORD_BYTES)));
            let end = ranges.last().map_or(0, |(at, bytes)| at + bytes);
            assert!(layout.bytes().is_some_and(|bytes| end <= bytes));
        }
        assert_eq!(Layout { nodes: usize::MAX, ring_bytes: 4096, slot_bytes: 1024 }.bytes(), None);
    }
}
