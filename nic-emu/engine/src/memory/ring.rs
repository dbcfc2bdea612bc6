//! Descriptor rings: one producer (the rank), one consumer at a time (the holder of the run token).
//!
//! ```text
//!   cell 0      cell 1      ...      cell N-1         N a power of two, a cell 64 bytes, one cache line
//!   [8 words]   [8 words]            [8 words]
//! ```
//!
//! The heads are not here: they are packed in the rank's doorbell ([`crate::memory::doorbell`]), the tails in
//! its taken word. Writing an entry and publishing it are two steps: `write` fills a cell, the doorbell
//! publishes it. A cell may be written again once the taken word has passed it. A ring that is full makes the
//! poster wait; nothing is ever dropped.

use crate::memory::sync::{AtomicU64, Ordering};

/// 64-bit words of a cell.
pub const CELL_WORDS: usize = 8;
/// The word of a cell of a send ring that holds the entry's label: 1 + the entries posted before it.
pub const LABEL: usize = 7;

/// What a cell holds.
pub type Words = [u64; CELL_WORDS];

/// One entry: a descriptor as eight words, which are zeros at first.
#[derive(Default)]
#[repr(C, align(64))]
pub struct Cell([AtomicU64; CELL_WORDS]);

impl Cell {
    /// Fills the cell. It is not visible as an entry before its doorbell is rung.
    #[inline]
    pub fn write(&self, words: &[u64; CELL_WORDS]) {
        for (cell, &word) in self.0.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
    }

    /// [`Self::write`], with the entry's label in the last word: who finds the label finds the entry.
    #[inline]
    pub fn write_labelled(&self, words: &[u64; CELL_WORDS], label: u64) {
        for (cell, &word) in self.0.iter().zip(&words[..LABEL]) {
            cell.store(word, Ordering::Relaxed);
        }
        self.0[LABEL].store(label, Ordering::Release);
    }

    /// The label of the entry that was written last; the words that are read after it are not older.
    #[inline]
    pub fn label(&self) -> u64 {
        self.0[LABEL].load(Ordering::Acquire)
    }

    /// One word of the cell.
    #[inline]
    pub fn word(&self, word: usize) -> u64 {
        self.0[word].load(Ordering::Relaxed)
    }

    /// Sets one word of the cell.
    #[inline]
    pub fn set_word(&self, word: usize, value: u64) {
        self.0[word].store(value, Ordering::Relaxed);
    }

    /// One word of the cell, for who keeps more in it than a number.
    #[inline]
    pub fn atomic(&self, word: usize) -> &AtomicU64 {
        &self.0[word]
    }

    /// Copies the cell out.
    #[inline]
    pub fn read(&self) -> [u64; CELL_WORDS] {
        std::array::from_fn(|i| self.0[i].load(Ordering::Relaxed))
    }
}

/// A ring over cells in NIC memory.
#[derive(Clone, Copy)]
pub struct Ring<'m> {
    cells: &'m [Cell],
}

impl<'m> Ring<'m> {
    /// A ring over these cells; their number must be a power of two.
    #[inline]
    pub fn new(cells: &'m [Cell]) -> Self {
        debug_assert!(cells.len().is_power_of_two());
        Self { cells }
    }

    /// The cell of the entry with this counter value. Any value names a cell: the counter is masked.
    #[inline]
    pub fn cell(&self, counter: u32) -> &'m Cell {
        &self.cells[counter as usize & (self.cells.len() - 1)]
    }

    /// Entries it holds.
    #[inline]
    pub fn capacity(&self) -> u32 {
        self.cells.len() as u32
    }
}
