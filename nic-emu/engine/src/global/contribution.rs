//! What the members of a node give to a collective across nodes.

use super::delivery::{bytes_of, is_broadcast};
use super::error::GlobalError;
use super::gather::Gather;
use crate::arithmetic::reduction_tree::ReductionTree;
use crate::memory::descriptor::CollectiveKind;
use crate::memory::instance::Instance;
use crate::memory::members::members;
use crate::memory::{Corrupt, NicMemory};
use crate::threads::reduce_helper::Reduction;
use bcs_core::NodeId;
use std::num::NonZeroU32;

/// The bytes of a broadcast's root, if it is one of this node's members.
pub fn root_bytes(memory: &NicMemory, index: u32, instance: &Instance) -> Result<Option<Vec<u8>>, Corrupt> {
    let Some(root) = instance.root_member.get().checked_sub(1) else { return Ok(None) };
    let member = members(memory, index, instance)?.get(root as usize).ok_or(Corrupt {
        what: "root of a broadcast",
        value: root as u64,
        limit: instance.expected.get() as u64,
    })?;
    bytes_of(memory, member).map(Some)
}

/// Adds what this node's members give to a collective.
pub fn contribute(
    memory: &NicMemory,
    node: NodeId,
    gather: &mut Gather,
    index: u32,
    instance: &Instance,
) -> Result<(), Corrupt> {
    if instance.root_member.get() != 0 {
        gather.root_node = node.0 + 1;
    }
    if instance.kind.get() == CollectiveKind::Barrier as u32 {
        return Ok(());
    }
    if is_broadcast(instance) {
        if let Some(bytes) = root_bytes(memory, index, instance)? {
            gather.add(instance.root.get(), 0, bytes);
        }
        return Ok(());
    }
    let tree = tree_of(instance)?;
    for member in members(memory, index, instance)? {
        let rank = member.comm_rank.get();
        let size = if instance.reduces() { tree.leaf(rank).map_or(0, |leaf| leaf.log2_size()) } else { 0 };
        gather.add(rank, size, bytes_of(memory, member)?);
    }
    Ok(())
}

/// The order in which a collective combines its contributions.
pub fn tree_of(instance: &Instance) -> Result<ReductionTree, Corrupt> {
    let ranks = NonZeroU32::new(instance.comm_size.get());
    Ok(ReductionTree::new(ranks.ok_or(Corrupt { what: "size of a communicator", value: 0, limit: 0 })?))
}

/// Combines what of a reduction is here, as far as the tree goes.
pub fn combine(memory: &NicMemory, gather: &mut Gather, instance: &Instance) -> Result<(), GlobalError> {
    gather.combine(tree_of(instance)?, Reduction::of(memory, instance.operation.get())?)
}
