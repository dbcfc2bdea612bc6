//! Where everything is in the job's global memory: the same on every node.
//!
//! ```text
//!  0        strobe      the last microstrobe                                written by the parent in the strobe tree
//!  8        reports     a word per child in the strobe tree                 written by that child
//!  64       bells       a word per node: its wish for a slice               where that node rings, written by it
//!           tails       a word per node: bytes it has written to its link   written by that node
//!           consumed    a word per node: bytes it has read of ours          written by that node
//!           links       a ring per node: the records that it sends here     written by that node
//! ```
//!
//! It is sparse: what no pair of nodes uses is never touched.

use super::tree::FANOUT;
use bcs_core::{EventId, GlobalAddress, GlobalVariable};

/// Nodes that ring at one of them.
const BELL_BLOCK: u32 = 64;

/// From more nodes than this on, rings are smaller.
const MANY_NODES: u32 = 256;

/// Signalled when a transfer of this node is complete on all its destinations.
pub(crate) const SENT: EventId = EventId(0);
/// Signalled when something was put here that this node has to look at.
pub(crate) const ARRIVED: EventId = EventId(1);
/// Signalled with the tail of a link: there are records to read. Without it nobody looks at the tails, of
/// which there are as many as nodes.
pub(crate) const LINKED: EventId = EventId(2);
/// Where bells are rung: signalled with a bell.
pub(crate) const RUNG: EventId = EventId(3);
/// Events that a node needs.
pub const EVENTS: u32 = 4;

/// The layout for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalLayout {
    /// Nodes of the job.
    pub nodes: u32,
    /// Bytes of the ring of records from one node to another.
    pub link_bytes: u64,
}

impl GlobalLayout {
    /// The layout with measured sizes: a ring holds some chunks, so that one is read while others are on
    /// their way, and no more, so that what follows them does not wait for long; with very many nodes less,
    /// as each node has a ring from each.
    pub const fn new(nodes: u32) -> Self {
        Self::sized(nodes, if nodes <= MANY_NODES { 512 << 10 } else { 256 << 10 })
    }

    /// A layout with rings of another size, rounded up to what can work.
    pub const fn sized(nodes: u32, link_bytes: u64) -> Self {
        let link_bytes = if link_bytes < 1024 { 1024 } else { link_bytes.next_multiple_of(64) };
        Self { nodes, link_bytes }
    }

    /// Bytes of global memory that the job's fabric has to offer.
    pub const fn memory_bytes(&self) -> u64 {
        self.rings() + self.nodes as u64 * self.link_bytes
    }

    /// Bytes of the longest record of a link.
    pub(crate) const fn record_bytes(&self) -> u64 {
        self.link_bytes / 4
    }

    /// The word of a node in a row of such words: of the bells, the tails, and what was consumed.
    const fn word(&self, row: u64, node: u32) -> u64 {
        64 + (row * self.nodes as u64 + node as u64) * 8
    }

    const fn rings(&self) -> u64 {
        self.word(3, 0).next_multiple_of(64)
    }

    /// The last microstrobe.
    pub fn strobe(&self) -> GlobalVariable {
        variable(0)
    }

    /// What the child of this place in the strobe tree, from 0, has reported here.
    pub fn report(&self, child: u32) -> GlobalVariable {
        debug_assert!(child < FANOUT as u32, "there is a word for every child");
        variable(8 + child as u64 * 8)
    }

    /// Where a node rings: at the lead, or with very many nodes at the first of its block, which rings there
    /// for all of them: the lead's port is not to be kept busy by as many bells as there are nodes.
    pub(crate) const fn rings_at(&self, node: u32) -> u32 {
        if self.nodes <= BELL_BLOCK || node.is_multiple_of(BELL_BLOCK) { 0 } else { node - node % BELL_BLOCK }
    }

    /// The nodes that may ring here.
    pub(crate) fn ringers(&self, here: u32) -> impl Iterator<Item = u32> {
        let is_rung = here == 0 || self.nodes > BELL_BLOCK && here.is_multiple_of(BELL_BLOCK);
        let block = if is_rung { here..self.nodes.min(here + BELL_BLOCK) } else { 0..0 };
        let firsts = (BELL_BLOCK..self.nodes).step_by(BELL_BLOCK as usize);
        block.chain(firsts.filter(move |_| here == 0)).filter(move |node| *node != here)
    }

    /// What `node` has rung for, where it rings.
    pub(crate) fn bell(&self, node: u32) -> GlobalVariable {
        variable(self.word(0, node))
    }

    /// Bytes that `node` has written to its link with this node.
    pub fn tail(&self, node: u32) -> GlobalVariable {
        variable(self.word(1, node))
    }

    /// Bytes of this node's link with `node` that `node` has read.
    pub(crate) fn consumed(&self, node: u32) -> GlobalVariable {
        variable(self.word(2, node))
    }

    /// The ring of records from `node`.
    pub fn ring(&self, node: u32) -> GlobalAddress {
        GlobalAddress(self.rings() + node as u64 * self.link_bytes)
    }
}

fn variable(at: u64) -> GlobalVariable {
    GlobalVariable::at(GlobalAddress(at)).expect("all regions are multiples of 8")
}
