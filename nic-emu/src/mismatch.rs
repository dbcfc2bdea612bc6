//! Mismatched collectives: what a user is told when members of a communicator call what does not fit together.
//!
//! All members have to make the same call, with the same root, operation and size (MPI-5.0, §6.1). The arrival that differs from what
//! others have begun is found where descriptors meet (`crate::collective_list`); whose fault it is nobody can know, so
//! both sides are named, with all ranks that are known to stand there.

use crate::abort;
use crate::arith::{ElementType, ReduceOp};
use crate::collective_list::operation;
use crate::descriptor::{CollectiveDescriptor, CollectiveKind};
use crate::hang::{communicator, counted, ranks_text};
use crate::memory::NicMemory;
use mds::Primitive;
use std::fmt;

/// Ranks of a side that are listed by number: what is said has to fit in NIC memory.
const MOST_LISTED: usize = 48;

/// What one side called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Called {
    call: u32,
    kind: u32,
    operation: u32,
    root: u32,
    bytes: u64,
}

/// Says in NIC memory that this arrival does not fit what others have begun.
#[cold]
pub(crate) fn tell(memory: &NicMemory, local_index: u32, late: &CollectiveDescriptor, instance: u32) {
    if let Some(text) = describe(memory, local_index, late, instance) {
        abort::say_of_nic(memory, &text);
    }
}

fn describe(
    memory: &NicMemory,
    local_index: u32,
    late: &CollectiveDescriptor,
    instance: u32,
) -> Option<String> {
    let members = memory.members(instance).ok()?;
    let instance = memory.instance(instance).ok()?;
    let job_rank = |local: u32| memory.rank(local).ok().map(|block| block.status.job_rank());
    let mut earlier: Vec<u32> = members
        .iter()
        .take(instance.expected.get() as usize)
        .filter(|member| member.arrived.get() != 0)
        .filter_map(|member| job_rank(member.local_index.get()))
        .collect();
    earlier.sort_unstable();
    let begun = Called {
        call: instance.call.get(),
        kind: instance.kind.get(),
        operation: instance.operation.get(),
        root: instance.root.get(),
        bytes: instance.bytes.get(),
    };
    let came = Called {
        call: late.call as u32,
        kind: late.kind as u32,
        operation: operation(late),
        root: late.root,
        bytes: late.agreed_bytes,
    };
    let mut sides = [(earlier, begun), (vec![job_rank(local_index)?], came)];
    // The fewer come first: the odd one out is the first to look at.
    sides.sort_by_key(|(ranks, _)| ranks.len());
    let mut text = format!(
        "collective calls of {} that do not fit: all its ranks have to make the same ones in the same order, with the same root, operation and size",
        communicator(late.context)
    );
    for (ranks, called) in &sides {
        let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
        let listed = match ranks.get(..MOST_LISTED).filter(|first| first.len() < ranks.len()) {
            Some(first) => format!("{} and {} more", ranks_text(first), ranks.len() - first.len()),
            None => ranks_text(ranks),
        };
        text += &format!("\n  {noun} {listed}: {called}");
    }
    Some(text)
}

impl fmt::Display for Called {
    /// "MPI_Reduce, root 0, MPI_SUM of f64, 8 bytes"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = Primitive::ALL.get(self.call as usize);
        f.write_str(call.map_or("MPI", |call| call.name()))?;
        if call.is_some_and(|call| is_rooted(*call)) {
            write!(f, ", root {}", self.root)?;
        }
        let (op, element) = (self.operation as u8, (self.operation >> 8) as u8);
        let reduces = [CollectiveKind::Reduce as u32, CollectiveKind::Allreduce as u32].contains(&self.kind);
        if (reduces || self.operation != 0)
            && let (Ok(op), Ok(element)) = (ReduceOp::try_from(op), ElementType::try_from(element))
        {
            write!(f, ", {} of {}", op.name(), format!("{element:?}").to_lowercase())?;
        }
        // What communicators are made by is the library's own.
        if self.bytes > 0 && !call.is_some_and(|call| call.name().starts_with("MPI_Comm_")) {
            write!(f, ", {}", counted(self.bytes, "byte"))?;
        }
        Ok(())
    }
}

fn is_rooted(call: Primitive) -> bool {
    use Primitive as P;
    matches!(call, P::Bcast | P::Reduce | P::Gather | P::Gatherv | P::Scatter | P::Scatterv)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn called(call: Primitive, kind: CollectiveKind, operation: (u8, u8), bytes: u64) -> String {
        let operation = operation.0 as u32 | (operation.1 as u32) << 8;
        Called { call: call.index() as u32, kind: kind as u32, operation, root: 2, bytes }.to_string()
    }

    #[test]
    fn a_call_is_told_with_what_has_to_agree() {
        let sum = (ReduceOp::Sum as u8, ElementType::F64 as u8);
        assert_eq!(called(Primitive::Barrier, CollectiveKind::Barrier, (0, 0), 0), "MPI_Barrier");
        assert_eq!(
            called(Primitive::Reduce, CollectiveKind::Reduce, sum, 8),
            "MPI_Reduce, root 2, MPI_SUM of f64, 8 bytes"
        );
        assert_eq!(
            called(Primitive::Allreduce, CollectiveKind::Allreduce, (0, 0), 1),
            "MPI_Allreduce, MPI_MAX of i8, 1 byte"
        );
        assert_eq!(
            called(Primitive::Bcast, CollectiveKind::Broadcast, (0, 0), 40),
            "MPI_Bcast, root 2, 40 bytes"
        );
    }
}
