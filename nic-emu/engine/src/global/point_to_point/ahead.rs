//! What is ahead of its match: bytes of slabs that travelled with their descriptors. The sender's node bounds
//! them for each node.

use bcs_core::Rank;
use std::collections::{BTreeMap, HashMap};

/// Bytes of slabs that travelled with their descriptors, of messages that are not matched.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// To each node.
    to: BTreeMap<u32, u64>,
    /// By rank and its slab plus one: which node, and how many.
    of: HashMap<(Rank, u64), (u32, u64)>,
}

impl Ahead {
    /// Takes the bytes into account, if no more than `most` are ahead to that node then.
    pub fn try_add(&mut self, node: u32, message: (Rank, u64), bytes: u64, most: u64) -> bool {
        let to = self.to.entry(node).or_default();
        if bytes > most.saturating_sub(*to) {
            return false;
        }
        *to += bytes;
        self.of.insert(message, (node, bytes));
        true
    }

    /// The message is matched, or was taken back.
    pub fn remove(&mut self, message: (Rank, u64)) {
        if let Some((node, bytes)) = self.of.remove(&message)
            && let Some(to) = self.to.get_mut(&node)
        {
            *to = to.saturating_sub(bytes);
        }
    }
}
