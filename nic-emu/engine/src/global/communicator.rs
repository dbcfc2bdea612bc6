//! What this node knows of a communicator that spans nodes: which of its collectives all local members have
//! reached, and what has become of the one that is under way.

use super::gather::{Gather, Signature};
use super::groups::Tree;
use super::record::Record;
use crate::memory::contexts;
use crate::memory::descriptor::CollectiveKind;
use crate::threads::microphase::Microphase;
use bcs_core::{NodeId, NodeSet};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A collective under way on this node.
#[derive(Debug)]
pub struct Active {
    pub collective: u64,
    pub instance: u32,
    pub kind: u32,
    pub signature: Signature,
    /// The slice in which all nodes were found to have reached it.
    pub since: u64,
    pub stage: Stage,
}

#[derive(Debug)]
pub enum Stage {
    /// It waits for its microphase.
    Scheduled,
    /// Contributions of this node are in its gather, which waits for children.
    Gathering,
    /// This node sends its bytes to the others, chunk by chunk.
    Sending { bytes: Vec<u8>, sent: usize, to: NodeSet, chunk_slice: u64 },
    /// This node waits for bytes.
    Receiving,
}

/// A communicator that spans nodes.
#[derive(Debug, Default)]
pub struct Group {
    pub nodes: NodeSet,
    pub tree: Tree,
    /// Collectives that all local members have reached, by number.
    pub ready: BTreeMap<u64, Ready>,
    /// Those of which local members, or a node below, have said something since this node last looked whether
    /// to tell its parent.
    pub changed: BTreeSet<u64>,
    /// On the lead: those that all nodes have reached.
    pub reached: BTreeSet<u64>,
    pub last: u64,
    /// The collectives of which this node has told its parent, until it is told that all have reached them.
    /// Members may reach those that do not block in another order than those of other nodes.
    pub told: BTreeSet<u64>,
    /// Words that all have reached a collective, which came while another one was under way here.
    pub postponed: VecDeque<(u32, Record)>,
    pub active: Option<Active>,
    /// What has come of the large bytes of the collective that is told or active.
    pub received: Option<ReceivedChunks>,
    /// The slice in which the last collective was completed here.
    pub completed: u64,
}

/// Bytes that have come in chunks.
#[derive(Debug)]
pub struct ReceivedChunks {
    pub bytes: Vec<u8>,
    /// Bytes that will have come in the end.
    pub total: u64,
    pub signature: Signature,
}

/// A collective that all local members have reached.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub instance: u32,
    /// The slice in which the last of them posted.
    pub posted: u64,
}

impl Group {
    /// A group of which nothing is under way.
    pub fn new(nodes: NodeSet, tree: Tree) -> Self {
        Self { nodes, tree, ..Self::default() }
    }

    /// All its nodes but this one.
    pub fn others(&self, here: NodeId) -> NodeSet {
        self.nodes.difference(&NodeSet::single(here))
    }

    /// What a collective has gathered so far has changed.
    pub fn note(&mut self, collective: u64, gather: &Gather) {
        let children = self.tree.children.len();
        if self.tree.is_lead() && gather.has_own && gather.complete_children == children {
            self.reached.insert(collective);
        }
    }

    /// Its collective is over here.
    pub fn complete(&mut self, slice: u64) {
        self.active = None;
        self.received = None;
        self.completed = slice;
    }
}

impl Active {
    /// The microphase that carries it out.
    pub fn microphase(&self) -> Microphase {
        let reductions = [CollectiveKind::Reduce as u32, CollectiveKind::Allreduce as u32];
        if reductions.contains(&self.kind) { Microphase::Reduce } else { Microphase::BarrierAndBroadcast }
    }
}

/// By context, then by sequence number, which may have wrapped around.
pub fn in_order(mut new: Vec<(u32, u32, u32)>) -> Vec<(u32, u32, u32)> {
    new.sort_by(|a, b| a.0.cmp(&b.0).then((a.1.wrapping_sub(b.1) as i32).cmp(&0)));
    new
}

/// The number of a collective from its 32 bits, as it is not far from the last one.
pub fn unwrapped(sequence: u32, last: u64) -> u64 {
    last.wrapping_add_signed((sequence.wrapping_sub(last as u32) as i32) as i64)
}

/// What stands in the cell of a context with the bytes of a collective: unlike that of another context which
/// has had the cell.
pub fn stamp(context: u32, collective: u64) -> u64 {
    u64::from(contexts::generation(context)) << 48 | (collective + 1)
}
