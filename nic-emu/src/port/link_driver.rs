//! What a rank has that drives the links to other nodes: the links, and whose turn it is.

use crate::host::buffer_writes::CardWrites;
use crate::host::shared_links::SharedLinks;
use crate::policy::{AWAY_NS, PUSHED_BYTES, PUSHED_SENDS};

/// The links, and who drives them.
pub struct LinkDriver {
    pub(super) links: SharedLinks,
    /// What writes long messages from buffer to buffer, if a network card can.
    pub(super) writes: Option<CardWrites>,
    /// This rank has left something to the NIC thread, and leaves the links to it until then; 0 after that.
    pub(super) away_until_ns: u64,
    /// How long it does so, and when it has left something last.
    away_ns: u64,
    left_ns: u64,
    /// Messages that this rank has posted for other nodes since it drove the links last, and their bytes.
    posted: (u32, usize),
}

impl LinkDriver {
    /// Drives these, and writes by that card.
    pub fn new(links: SharedLinks, writes: Option<CardWrites>) -> Self {
        Self { links, writes, away_until_ns: 0, away_ns: 0, left_ns: 0, posted: (0, 0) }
    }

    /// A message of so many bytes was posted. Whether there is much that has not left.
    pub(super) fn note_posted(&mut self, bytes: usize) -> bool {
        self.posted = (self.posted.0 + 1, self.posted.1.saturating_add(bytes));
        self.posted.0 >= PUSHED_SENDS || self.posted.1 >= PUSHED_BYTES
    }

    /// The links are driven: what was posted counts no more.
    pub(super) fn note_driven(&mut self) {
        self.posted = (0, 0);
    }

    /// Something is left to the NIC thread.
    pub(super) fn leave(&mut self, now_ns: u64) {
        let (least, most) = (*AWAY_NS.start(), *AWAY_NS.end());
        let is_soon = now_ns.saturating_sub(self.left_ns) < SOON * self.away_ns;
        self.away_ns = if is_soon { (2 * self.away_ns).min(most) } else { least };
        self.left_ns = now_ns;
        self.away_until_ns = now_ns + self.away_ns;
    }
}

/// After how many times as long as a rank was away it has driven the links for a good while.
const SOON: u64 = 4;
