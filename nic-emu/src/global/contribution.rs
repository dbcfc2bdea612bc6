//! What the members of a node give to a collective across nodes.

use super::delivery::{bytes_of, is_broadcast};
use super::gather::{Gather, Reduction};
use crate::arith::reduction_tree::ReductionTree;
use crate::arith::{Arithmetic, ElementType, ReduceOp};
use crate::collective::Instance;
use crate::collective_helper::members;
use crate::descriptor::CollectiveKind;
use crate::memory::{Corrupt, NicMemory};
use bcs_core::NodeId;
use std::num::NonZeroU32;

/// Whether contributions are combined.
pub fn reduces(instance: &Instance) -> bool {
    let kind = instance.kind.get();
    kind == CollectiveKind::Reduce as u32 || kind == CollectiveKind::Allreduce as u32
}

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
        let size = if reduces(instance) { tree.leaf(rank).map_or(0, |leaf| leaf.log2_size()) } else { 0 };
        gather.add(rank, size, bytes_of(memory, member)?);
    }
    Ok(())
}

/// The order in which a collective combines its contributions.
pub fn tree_of(instance: &Instance) -> Result<ReductionTree, Corrupt> {
    let ranks = NonZeroU32::new(instance.comm_size.get());
    Ok(ReductionTree::new(ranks.ok_or(Corrupt { what: "size of a communicator", value: 0, limit: 0 })?))
}

/// How a reduction combines them.
pub fn reduction(memory: &NicMemory, instance: &Instance) -> Result<Reduction, Corrupt> {
    let operation = instance.operation.get();
    let corrupt = |what| Corrupt { what, value: operation as u64, limit: 0 };
    Ok(Reduction {
        tree: tree_of(instance)?,
        op: ReduceOp::try_from(operation as u8).map_err(|_| corrupt("reduction"))?,
        element: ElementType::try_from((operation >> 8) as u8).map_err(|_| corrupt("element type"))?,
        arithmetic: if memory.header().arithmetic.get() == 1 {
            Arithmetic::SoftFloat
        } else {
            Arithmetic::Native
        },
    })
}
