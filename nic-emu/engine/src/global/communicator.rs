//! What this node knows of a communicator that spans nodes: which of its collectives all local members have
//! reached, and which all other nodes have.

use super::gather::Gather;
use super::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

/// A communicator that spans nodes.
#[derive(Debug, Default)]
pub struct Group {
    pub tree: Tree,
    /// Collectives that all local members have reached, by number.
    pub ready: BTreeMap<u64, Ready>,
    /// Of these, those for which somebody waits.
    pub awaited: usize,
    /// Those of which local members, or a node below, have said something since this node last looked whether
    /// to tell its parent.
    pub changed: BTreeSet<u64>,
    /// On the lead: those that all nodes have reached.
    pub reached: BTreeSet<u64>,
    pub last: u64,
    /// The collectives of which this node has told its parent, until it is told that all have reached them.
    /// Members may reach those that do not block in another order than those of other nodes.
    pub told: BTreeSet<u64>,
    /// What has come of the result of the collective that all have reached.
    pub result: Vec<u8>,
}

/// A collective that all local members have reached.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub instance: u32,
    /// The slice in which the last of them posted.
    pub posted: u64,
    /// It is no announcement.
    pub is_awaited: bool,
}

impl Group {
    /// What a collective has gathered so far has changed.
    pub fn note(&mut self, collective: u64, gather: &Gather) {
        let children = self.tree.children.len();
        if self.tree.is_lead() && gather.has_own && gather.complete_children == children {
            self.reached.insert(collective);
        }
    }
}

/// The number of a collective from its 32 bits, as it is not far from the last one.
pub fn unwrapped(sequence: u32, last: u64) -> u64 {
    last.wrapping_add_signed((sequence.wrapping_sub(last as u32) as i32) as i64)
}
