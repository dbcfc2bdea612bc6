//! What the members of a node give to a collective across nodes, and what comes of all contributions.

use super::delivery::bytes_of;
use super::error::{GlobalError, strange};
use super::gather::Gather;
use super::image::image;
use crate::arithmetic::reduction_tree::ReductionTree;
use crate::memory::descriptor::CollectiveKind;
use crate::memory::instance::Instance;
use crate::memory::members::members;
use crate::memory::{Corrupt, NicMemory};
use crate::threads::reduction::Reduction;
use bcs_core::NodeId;
use std::num::NonZeroU32;

/// Adds what this node's members give to a collective.
pub fn contribute(
    memory: &NicMemory,
    node: NodeId,
    gather: &mut Gather,
    index: u32,
    instance: &Instance,
) -> Result<(), Corrupt> {
    let root = instance.root_member.get();
    if root != 0 {
        gather.root_node = node.0 + 1;
    }
    if instance.is_without_bytes() {
        return Ok(());
    }
    let tree = tree_of(instance)?;
    for (place, member) in (1..).zip(members(memory, index, instance)?) {
        // Of a broadcast only the root has something to give.
        if !instance.is(CollectiveKind::Broadcast) || place == root {
            let rank = member.comm_rank.get();
            let leaf = tree.leaf(rank).filter(|_| instance.reduces());
            gather.add(rank, leaf.map_or(0, |leaf| leaf.log2_size()), bytes_of(memory, member)?);
        }
    }
    Ok(())
}

/// The bytes that all members get, from the contributions of all.
///
/// # Errors
/// Not all contributions are there.
pub fn result(memory: &NicMemory, gather: &mut Gather, instance: &Instance) -> Result<Vec<u8>, GlobalError> {
    if instance.reduces() {
        combine(memory, gather, instance)?;
        let (node, sequence) = (memory.node().0, instance.sequence.get());
        let result = gather.take_result(tree_of(instance)?);
        return result.ok_or_else(|| strange(node, "contributions to a reduction", sequence.into()));
    }
    let mut all = gather.take_all();
    Ok(match instance.is(CollectiveKind::Broadcast) {
        true => all.pop().unwrap_or_default(),
        false if instance.is_without_bytes() => Vec::new(),
        false => image(&all),
    })
}

/// The order in which a collective combines its contributions.
fn tree_of(instance: &Instance) -> Result<ReductionTree, Corrupt> {
    let ranks = NonZeroU32::new(instance.comm_size.get());
    Ok(ReductionTree::new(ranks.ok_or(Corrupt { what: "size of a communicator", value: 0, limit: 0 })?))
}

/// Combines what of a reduction is here, as far as the tree goes.
pub fn combine(memory: &NicMemory, gather: &mut Gather, instance: &Instance) -> Result<(), GlobalError> {
    match instance.reduces() {
        true => gather.combine(tree_of(instance)?, Reduction::of(memory, instance.operation.get())?),
        false => Ok(()),
    }
}
