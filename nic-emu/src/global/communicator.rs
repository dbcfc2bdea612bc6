//! What this node knows of a communicator that spans nodes: which of its collectives all local members have reached, and what has become
//! of the one that is under way.

use super::agreement::Agreement;
use super::board_region::Range;
use super::gather::Signature;
use super::groups::Tree;
use super::layout::CONTEXTS;
use crate::descriptor::CollectiveKind;
use crate::microphase::Microphase;
use bcs_core::NodeSet;
use std::collections::BTreeMap;

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
    Receiving(Vec<u8>),
}

/// A communicator that spans nodes.
#[derive(Debug)]
pub struct Group {
    pub nodes: NodeSet,
    pub tree: Tree,
    /// Collectives that all local members have reached, by number, with their instances and the range of a broadcast's bytes.
    pub ready: BTreeMap<u64, (u32, Option<Range>)>,
    pub last: u64,
    /// The last collective of which this node's flag tells.
    pub flagged: Option<u64>,
    /// The lead's questions.
    pub agreement: Agreement,
    /// There is something new to ask for.
    pub ask_due: bool,
    pub active: Option<Active>,
    pub range: Option<Range>,
    /// The slice in which the last collective was completed here.
    pub completed: u64,
}

impl Group {
    /// A group of which nothing is under way.
    pub fn new(nodes: NodeSet, tree: Tree) -> Self {
        Self {
            nodes,
            tree,
            ready: BTreeMap::new(),
            last: 0,
            flagged: None,
            agreement: Agreement::default(),
            ask_due: false,
            active: None,
            range: None,
            completed: 0,
        }
    }

    /// Its collective is over here.
    pub fn complete(&mut self, slice: u64) {
        self.active = None;
        self.completed = slice;
        self.ask_due = !self.ready.is_empty();
    }
}

impl Active {
    /// The microphase that carries it out.
    pub fn microphase(&self) -> Microphase {
        match self.kind {
            kind if kind == CollectiveKind::Reduce as u32 || kind == CollectiveKind::Allreduce as u32 => {
                Microphase::Reduce
            }
            _ => Microphase::BarrierAndBroadcast,
        }
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

/// What the variables of a context hold at least once a collective is reached: those of a later context are larger.
pub fn value(context: u32, collective: u64) -> u64 {
    ((context / CONTEXTS) as u64) << 48 | (collective + 1) << KIND_BITS
}

/// The flag of a collective of this kind.
pub fn flag(context: u32, collective: u64, kind: u32) -> u64 {
    value(context, collective) | kind as u64 & ((1 << KIND_BITS) - 1)
}

/// Bits of a flag that tell the kind of the collective.
const KIND_BITS: u32 = 3;
