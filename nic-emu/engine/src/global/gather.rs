//! Arrivals, contributions and partial results on their way up the tree of a communicator's nodes.
//!
//! Every node waits for all its children and for its own members, adds what these gave, combines what the
//! reduction tree lets it combine (`crate::arithmetic::reduction_tree`: an order that no placement can
//! change), and sends what is left to its parent. The lead ends up knowing that all have arrived (the flags
//! of figure 4.6), and with the result of a reduction, or all contributions of a board.
//!
//! Small contributions travel with the arrival. Otherwise a collective gathers twice: arrivals first,
//! contributions in their microphase.
//!
//! ```text
//!  Up   context, collective, what (kind, operation, element, root), total bytes of the item, offset of this piece,
//!       item (first rank | log2 of the block's size << 32), end << 63 | node of the root plus one     payload: the piece
//! ```
//!
//! The record with the end has no piece: in place of total and offset it has the bytes about which members
//! have to agree, and the call; its item is 1 if all contributions of the nodes below are among those before
//! it. What these nodes have called is compared when it comes.

use super::error::GlobalError;
use super::record::{Kind, PostingSlice, Record};
use crate::arithmetic::reduction_tree::ReductionTree;
use crate::matching::called::Called;
use crate::threads::reduce_helper::Reduction;
use bcs_core::NodeId;
use std::collections::BTreeMap;

const END: u64 = 1 << 63;

/// What a collective is, in a word: kind, operation and element type (or the datatype's signature), root.
pub type Signature = u64;

/// What members have called, in a word but for its call and its bytes.
pub fn signature(called: &Called) -> Signature {
    called.kind as u64 | (called.operation as u64 & 0xff_ffff) << 8 | (called.root as u64) << 32
}

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
    /// Not all contributions of those that have arrived are here.
    is_partial: bool,
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
        root: (what >> 32) as u32,
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

    /// All contributions of those that have arrived are here.
    pub fn is_whole(&self) -> bool {
        !self.is_partial
    }

    /// Leaves contributions for later if they are more than so many bytes.
    pub fn limit(&mut self, bytes: usize) {
        self.is_partial |= self.items.values().map(|(_, value)| value.len()).sum::<usize>() > bytes;
        if self.is_partial {
            self.items.clear();
        }
    }

    /// A record of a child has arrived, in this slice.
    ///
    /// # Errors
    /// Its pieces do not fit together.
    pub fn handle_record(&mut self, from: u32, record: &Record, slice: u64) -> Result<(), GlobalError> {
        let [_, _, _, total, offset, item, end] = record.words;
        if end & END != 0 {
            self.is_partial |= item != 1;
            self.posted = self.posted.max(record.posted.near(slice));
            self.complete_children += 1;
            self.root_node = self.root_node.max(end as u32);
            return Ok(());
        }
        let building = self.building.entry(from).or_default();
        if building.len() as u64 != offset || offset + record.payload.len() as u64 > total {
            let what = "offset of a contribution";
            return Err(GlobalError::Record { node: NodeId(from), what, value: offset });
        }
        building.extend_from_slice(&record.payload);
        if building.len() as u64 == total {
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
        let mut waiting: Vec<u32> = self.items.keys().copied().collect();
        while let Some(start) = waiting.pop() {
            let Some((log2_size, _)) = self.items.get(&start) else { continue };
            let strange = |value: u64| GlobalError::Record {
                node: NodeId(self.root_node.saturating_sub(1)),
                what: "partial result",
                value,
            };
            let block = tree.block(start, *log2_size).ok_or_else(|| strange(start as u64))?;
            let Some(partner) = tree.partner(block) else { continue };
            let is_there = self
                .items
                .get(&partner.start())
                .is_some_and(|(size, _)| tree.block(partner.start(), *size) == Some(partner));
            if !is_there {
                continue;
            }
            let (left, right) =
                if block.start() < partner.start() { (block, partner) } else { (partner, block) };
            let Some(joined) = tree.join(left, right) else { continue };
            let (Some((_, low)), Some((_, mut high))) =
                (self.items.remove(&left.start()), self.items.remove(&right.start()))
            else {
                continue;
            };
            reduction.combine(&low, &mut high).map_err(|_| strange(high.len() as u64))?;
            self.items.insert(joined.start(), (joined.log2_size(), high));
            waiting.push(joined.start());
        }
        Ok(())
    }

    /// The result of the reduction, when all is combined.
    pub fn take_result(&mut self, tree: ReductionTree) -> Option<Vec<u8>> {
        let (log2_size, _) = self.items.get(&0)?;
        (tree.block(0, *log2_size)? == tree.root()).then(|| self.items.remove(&0))?.map(|(_, value)| value)
    }

    /// All contributions by rank.
    pub fn take_all(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.items).into_values().map(|(_, value)| value).collect()
    }

    /// What goes to the parent, in this slice, of a collective that is this.
    pub fn records(
        &mut self,
        context: u32,
        collective: u64,
        called: &Called,
        payload_bytes: u64,
        slice: u64,
    ) -> Vec<Record> {
        let signature = signature(called);
        let mut records = Vec::new();
        for (start, (log2_size, value)) in std::mem::take(&mut self.items) {
            let item = start as u64 | (log2_size as u64) << 32;
            let mut offset = 0;
            loop {
                let piece = &value[offset..value.len().min(offset + payload_bytes as usize)];
                let words =
                    [context as u64, collective, signature, value.len() as u64, offset as u64, item, 0];
                records.push(Record { payload: piece.to_vec(), ..Record::new(Kind::Up, 0, &words) });
                offset += piece.len();
                if offset >= value.len() {
                    break;
                }
            }
        }
        let (whole, end) = (u64::from(self.is_whole()), END | self.root_node as u64);
        let (bytes, call) = (called.bytes, called.call as u64);
        let words = [context as u64, collective, signature, bytes, call, whole, end];
        let posted = PostingSlice::in_slice(self.posted, slice);
        records.push(Record { posted, ..Record::new(Kind::Up, 0, &words) });
        records
    }
}
