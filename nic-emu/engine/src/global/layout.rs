//! Where everything is in the job's global memory: the same on every node.
//!
//! ```text
//!  0        strobe      the last microstrobe                                written by the parent in the strobe tree
//!  8        reports     a word per child in the strobe tree                 written by that child
//!  64       bells       a word per node: its wish for a slice               where that node rings, written by it
//! ```
//!
//! Records between nodes have a road of their own ([`bcs_fabric::Road`]).

use super::tree::FANOUT;
use bcs_core::{EventId, GlobalAddress, GlobalVariable};
use bcs_fabric::{Fabric, ROAD_EVENTS, RingRoad, road_bytes};

/// Nodes that ring at one of them.
const BELL_BLOCK: u32 = 64;

/// Signalled when something was put here that this node has to look at.
pub(crate) const ARRIVED: EventId = EventId(0);
/// Where bells are rung: signalled with a bell.
pub(crate) const RUNG: EventId = EventId(1);
/// Events that a node needs.
pub const EVENTS: u32 = 2;
/// Events that a node needs whose network has a road of rings ([`GlobalLayout::with_rings`]).
pub const EVENTS_WITH_RINGS: u32 = EVENTS + ROAD_EVENTS;

/// The layout for a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GlobalLayout {
    /// Nodes of the job.
    pub nodes: u32,
}

impl GlobalLayout {
    /// The layout for a job on so many nodes.
    pub const fn new(nodes: u32) -> Self {
        Self { nodes }
    }

    /// Bytes of global memory that it takes, a multiple of 64.
    pub const fn memory_bytes(&self) -> u64 {
        (64 + self.nodes as u64 * 8).next_multiple_of(64)
    }

    /// A network without a road of its own, with one of rings in its global memory, which has
    /// [`GlobalLayout::bytes_with_rings`] then.
    pub fn with_rings<F: Fabric>(&self, fabric: F) -> RingRoad<F> {
        RingRoad::new(fabric, GlobalAddress(self.memory_bytes()), EventId(EVENTS))
    }

    /// Bytes of global memory with a road of rings.
    pub const fn bytes_with_rings(&self) -> u64 {
        self.memory_bytes() + road_bytes(self.nodes)
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
        variable(64 + u64::from(node) * 8)
    }
}

fn variable(at: u64) -> GlobalVariable {
    GlobalVariable::at(GlobalAddress(at)).expect("all regions are multiples of 8")
}
