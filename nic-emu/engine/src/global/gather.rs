//! Arrivals, contributions and partial results on their way up the tree of a communicator's nodes.
//!
//! Every node waits for all its children and for its own members, adds what these gave, combines what the
//! reduction tree lets it combine (`crate::arithmetic::reduction_tree`: an order that no placement can
//! change), and sends what is left to its parent. The lead ends up knowing that all have arrived (the flags
//! of figure 4.6), and with the result of a reduction, or all contributions of a board.
//!
//! ```text
//!  Up   context, collective, what (kind, operation, element, root), total bytes of the item, offset of this piece,
//!       item (first rank | log2 of the block's size << 32), end << 63 | node of the root plus one     payload: the piece
//! ```
//!
//! The record with the end has no piece: in place of total and offset it has the bytes about which members
//! have to agree, and the call. What these nodes have called is compared when it comes.

use super::error::{GlobalError, strange};
use super::record::{Kind, PostingSlice, Record, in_pieces};
use crate::arithmetic::reduction_tree::{Block, ReductionTree};
use crate::matching::called::Called;
use crate::memory::contexts::Context;
use crate::memory::root::SidedRank;
use crate::threads::reduction::Reduction;
use bcs_core::{NodeId, Rank};
use std::collections::BTreeMap;

const END: u64 = 1 << 63;

/// One collective's gathering on one node.
#[derive(Debug, Default)]
pub struct Gather {
    /// Values by first rank, with the base-2 logarithm of the block's size: all that is here and not
    /// combined.
    items: BTreeMap<u32, (u32, Vec<u8>)>,
    /// Items of which pieces have come, by child.
    building: BTreeMap<u32, Vec<u8>>,
    /// Children that have sent everything.
    pub complete_children: usize,
    /// The node of the collective's root plus one, once it is known.
    pub root_node: u32,
    /// The slice in which the last of those that are here arrived.
    pub posted: u64,
    /// This node's members are among them.
    pub has_own: bool,
    /// Somebody waits for it: it is no announcement.
    pub is_awaited: bool,
    /// What the collective is, as far as those say that are here, and who said so first.
    called: Option<(NodeId, Called)>,
}

/// What the sender of a record on its way up says that was called, if it is the record with the end.
pub fn called(record: &Record) -> Option<Called> {
    let [_, _, what, bytes, call, _, end] = record.words;
    (end & END != 0).then_some(Called {
        call: call as u32,
        kind: what as u32 & 0xff,
        operation: (what >> 8) as u32 & 0xff_ffff,
        root: SidedRank((what >> 32) as u32),
        bytes,
    })
}

impl Gather {
    /// Adds the contribution of a rank of the communicator.
    pub fn add(&mut self, rank: u32, log2_size: u32, value: Vec<u8>) {
        self.items.insert(rank, (log2_size, value));
    }

    /// A node says what the members there, and on the nodes below it, have called. Answers the node that said
    /// what does not fit before, and what that was.
    pub fn sign(&mut self, node: NodeId, called: Called) -> Option<(NodeId, Called)> {
        let (first, before) = *self.called.get_or_insert((node, called));
        match before.joined(called) {
            Some(joined) => {
                self.called = Some((first, joined));
                None
            }
            None => Some((first, before)),
        }
    }

    /// What all that are here have called.
    pub fn called(&self) -> Option<Called> {
        self.called.map(|(_, called)| called)
    }

    /// A record of a child has arrived, in this slice.
    ///
    /// # Errors
    /// Its pieces do not fit together.
    pub fn handle_record(&mut self, from: u32, record: &Record, slice: u64) -> Result<(), GlobalError> {
        let [.., item, end] = record.words;
        if end & END != 0 {
            self.posted = self.posted.max(record.posted.near(slice));
            self.complete_children += 1;
            self.root_node = self.root_node.max(end as u32);
            return Ok(());
        }
        let building = self.building.entry(from).or_default();
        if record.append_to(from, building)? {
            let value = std::mem::take(building);
            self.add(item as u32, (item >> 32) as u32, value);
        }
        Ok(())
    }

    /// Combines as far as the tree goes.
    ///
    /// # Errors
    /// Values that cannot be combined.
    pub fn combine(&mut self, tree: ReductionTree, reduction: Reduction) -> Result<(), GlobalError> {
        let wrong = |value: u64| strange(self.root_node.saturating_sub(1), "partial result", value);
        // Halves of a block are neighbours.
        let mut combined: Vec<(Block, Vec<u8>)> = Vec::new();
        for (start, (log2_size, value)) in std::mem::take(&mut self.items) {
            let block = tree.block(start, log2_size).ok_or_else(|| wrong(start.into()))?;
            combined.push((block, value));
            while let [.., (left, low), (right, high)] = &mut combined[..]
                && let Some(joined) = tree.join(*left, *right)
            {
                reduction.combine(low, high).map_err(|_| wrong(high.len() as u64))?;
                *right = joined;
                combined.swap_remove(combined.len() - 2);
            }
        }
        self.items =
            combined.into_iter().map(|(block, value)| (block.start(), (block.log2_size(), value))).collect();
        Ok(())
    }

    /// The result of the reduction, when all is combined.
    pub fn take_result(&mut self, tree: ReductionTree) -> Option<Vec<u8>> {
        let (start, (log2_size, value)) = self.items.pop_first()?;
        (tree.block(start, log2_size)? == tree.root()).then_some(value)
    }

    /// All contributions by rank.
    pub fn take_all(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.items).into_values().map(|(_, value)| value).collect()
    }

    /// What goes to the parent, in this slice, of a collective that is this.
    pub fn records(
        self,
        (context, collective): (Context, u64),
        called: &Called,
        payload_bytes: u64,
        slice: u64,
    ) -> Vec<Record> {
        let what =
            called.kind as u64 | (called.operation as u64 & 0xff_ffff) << 8 | (called.root.0 as u64) << 32;
        let kind = if self.is_awaited { Kind::Up } else { Kind::Announced };
        let up = |words: [u64; 4]| {
            let [one, two, item, end] = words;
            Record::new(kind, Rank(0), &[context.0.into(), collective, what, one, two, item, end])
        };
        let mut records = Vec::new();
        for (start, (log2_size, value)) in self.items {
            let item = up([0, 0, start as u64 | (log2_size as u64) << 32, 0]);
            records.extend(in_pieces(item, &value, payload_bytes));
        }
        let posted = PostingSlice::in_slice(self.posted, slice);
        let end = up([called.bytes, called.call.into(), 0, END | self.root_node as u64]);
        records.push(Record { posted, ..end });
        records
    }
}
