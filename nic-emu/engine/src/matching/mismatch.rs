//! Mismatched collectives: what a user is told when members of a communicator call what does not fit
//! together.
//!
//! All members have to make the same call, with the same root, operation, size and type signature (MPI-5.0,
//! §6.1). The arrival that differs from what others have begun is found where descriptors meet
//! (`crate::threads::collective_list`); whose fault it is nobody can know, so both sides are named, with all
//! ranks that are known to stand there. In an intercommunicator, members of the root's group that are not the
//! root know nothing but its group; and somebody has to be the root.
//!
//! Of a neighbourhood all members have to make the same call, but only the two ends of an edge have to agree
//! on size and type signature (§8.6). They are found where the receiver's end meets the sender's: at the
//! match of a message, or in the edge itself ([`crate::memory::edge`]).
//!
//! Here is what is said; what becomes of the communicator is in `crate::threads::breach`.

use crate::arithmetic::{ElementType, ReduceOp};
use crate::matching::Message;
use crate::matching::both_ways::both_lengths;
use crate::matching::called::{Called, combines_on_nic};
use crate::matching::naming::{communicator, counted, is_rooted, ranks_text};
use crate::memory::descriptor::{
    Check, CollectiveDescriptor, CollectiveKind, OF_LIBRARY, OF_PROGRAM, OF_REDUCTION, ReceiveDescriptor,
};
use crate::memory::root::{BOTH_WAYS, NO_ROOT, SidedRank};
use crate::memory::{Context, Corrupt, NicMemory};
use bcs_core::{LocalRank, NodeId, Rank};
use mds::Primitive;
use std::fmt;

/// Ranks of a side that are listed by number: what is said has to fit in NIC memory.
const MOST_LISTED: usize = 48;

/// The report of nodes on which members of this context's communicator have called what does not fit.
#[cold]
pub(crate) fn report_of_nodes(context: Context, sides: [(NodeId, Called); 2]) -> String {
    let mut text = headline(context);
    for (node, called) in sides {
        text += &format!("\n  ranks of {node}: {called}");
    }
    text
}

/// The report of a communicator of this context whose members have called the same, and nobody is the root.
#[cold]
pub(crate) fn report_of_no_root(context: Context, called: Called) -> String {
    format!("{}\n  all ranks: {called}\n  {NOBODY_IS_ROOT}", headline(context))
}

const NOBODY_IS_ROOT: &str = "no rank of that group says MPI_ROOT with that rank";

/// What all members of a communicator have to do.
fn headline(context: Context) -> String {
    format!(
        "collective calls of {} that do not fit: all its ranks have to make the same ones in the same order, with the same root, operation, size and type signature",
        communicator(context)
    )
}

/// One end of an edge: what a member sends along it, or wants to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeEnd {
    /// Its rank in the job.
    pub rank: Rank,
    /// The call, and the signature of what goes along the edge.
    pub check: Check,
    /// The bytes.
    pub bytes: u64,
}

impl EdgeEnd {
    /// Whether both ends say the same.
    #[inline]
    pub fn fits(&self, other: &EdgeEnd) -> bool {
        self.bytes == other.bytes && self.check.fits(other.check)
    }
}

/// The report of two ends of an edge of this context's communicator that do not fit.
#[cold]
pub fn report_of_edge(context: Context, sender: &EdgeEnd, receiver: &EdgeEnd) -> String {
    format!(
        "neighbourhood collectives of {} that do not fit: all its ranks have to make the same calls in the same order, and both ends of an edge have to say the same of size and type signature\n  rank {} sends to rank {}: {}\n  rank {} receives from rank {}: {}",
        communicator(context),
        sender.rank,
        receiver.rank,
        called_at(sender),
        receiver.rank,
        sender.rank,
        called_at(receiver),
    )
}

fn called_at(end: &EdgeEnd) -> Called {
    Called {
        call: (end.check.call as u32).wrapping_sub(1),
        kind: CollectiveKind::Board as u32,
        operation: end.check.signature as u32,
        root: SidedRank::default(),
        bytes: end.bytes,
    }
}

/// The report of a checked receive and the message that it takes, if they do not fit.
pub(crate) fn report_of_message(
    memory: &NicMemory,
    local_rank: LocalRank,
    receive: &ReceiveDescriptor,
    message: &Message,
) -> Option<String> {
    let sender = EdgeEnd { rank: message.origin, check: message.send.check, bytes: message.send.bytes };
    let receiver =
        EdgeEnd { rank: memory.job_rank(local_rank), check: receive.check, bytes: receive.capacity };
    (!sender.fits(&receiver)).then(|| report_of_edge(receive.context, &sender, &receiver))
}

/// The report of an arrival that does not fit what others have begun.
///
/// # Errors
/// [`Corrupt`] when there is no such instance.
#[cold]
pub(crate) fn report(
    memory: &NicMemory,
    local_rank: LocalRank,
    late: &CollectiveDescriptor,
    instance: u32,
) -> Result<String, Corrupt> {
    let members = memory.members(instance)?;
    let instance = memory.instance(instance)?;
    let mut earlier: Vec<Rank> = members
        .iter()
        .take(instance.expected.get() as usize)
        .filter(|member| member.arrived.get() != 0)
        .map(|member| memory.job_rank(member.local_rank.get()))
        .collect();
    earlier.sort_unstable();
    let (begun, came) = (Called::of(instance), Called::by(late));
    let mut sides = [(earlier, begun), (vec![memory.job_rank(local_rank)], came)];
    // The fewer come first: the odd one out is the first to look at.
    sides.sort_by_key(|(ranks, _)| ranks.len());
    let mut text = headline(late.context);
    for (ranks, called) in &sides {
        let noun = if ranks.len() == 1 { "rank" } else { "ranks" };
        let listed = match ranks.get(..MOST_LISTED).filter(|first| first.len() < ranks.len()) {
            Some(first) => format!("{} and {} more", ranks_text(first), ranks.len() - first.len()),
            None => ranks_text(ranks),
        };
        text += &format!("\n  {noun} {listed}: {called}");
    }
    if begun.joined(came).is_some_and(|called| called.root.is_said_by_itself()) {
        text += &format!("\n  {NOBODY_IS_ROOT}");
    }
    let named = sides.iter().map(|(ranks, _)| ranks.len()).sum::<usize>();
    let others = (late.local_size as usize).saturating_sub(named);
    if others > 0 {
        let place = if instance.spans_nodes() { " of this node" } else { "" };
        text += &format!("\n  {} more{place} had not come yet", counted(others as u64, "rank"));
    }
    Ok(text)
}

impl fmt::Display for Called {
    /// "MPI_Reduce, root 0, MPI_SUM of f64, 8 bytes"
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = Primitive::ALL.get(self.call as usize);
        let name = call.map_or("MPI", |call| call.name());
        f.write_str(name)?;
        if self.root == BOTH_WAYS {
            write!(f, ", {}", both_lengths(self.bytes))?;
            let tags = [self.operation as u8, (self.operation >> 8) as u8];
            return match tags {
                [0, _] => Ok(()),
                [first, second] => write!(f, ", of types with signatures {first:02x} and {second:02x}"),
            };
        }
        let (op, element) = (self.operation as u8, (self.operation >> 8) as u8);
        // A root, and bytes, of what is agreed on there are the library's own.
        if op == OF_LIBRARY && element & OF_REDUCTION == 0 {
            return match element {
                0 => Ok(()),
                _ => write!(f, ", algorithms of collectives (bcs_collective) with hash {:08x}", self.bytes),
            };
        }
        if is_rooted(name) && self.root != NO_ROOT {
            write!(f, ", root {}", self.root)?;
        }
        let reduces = combines_on_nic(self.kind);
        if op == OF_PROGRAM && combines(name) {
            f.write_str(", an operation of the program")?;
        } else if (reduces || op & OF_REDUCTION != 0 && combines(name))
            && let (Some(op), Some(element)) =
                (ReduceOp::numbered(op & !OF_REDUCTION), ElementType::numbered(element))
        {
            write!(f, ", {} of {}", op.name(), element.name())?;
        }
        let elements = elements(self.operation as u16);
        let has_elements = !reduces && !combines(name) && self.operation != 0;
        match (self.bytes, has_elements) {
            (0, false) => {}
            // Each member says its own bytes.
            (0, true) => write!(f, ", {elements}")?,
            (bytes, false) => write!(f, ", {}", counted(bytes, "byte"))?,
            (bytes, true) => write!(f, ", {} of {elements}", counted(bytes, "byte"))?,
        }
        if has_counts(name) && (1..NO_ROOT.0).contains(&self.root.0) {
            write!(f, ", counts with hash {:08x}", self.root.0)?;
        }
        Ok(())
    }
}

/// The elements of a type with this tag of its signature (`bcs-mpi`, `object::datatype::signature`).
fn elements(tag: u16) -> String {
    let kind = match tag >> 8 {
        1 => "integers",
        2 => "floating point numbers",
        3 => "complex numbers",
        _ => return format!("elements of several types, signature {tag:04x}"),
    };
    format!("{}-byte {kind}", tag as u8)
}

/// Whether a call of this name has a number of elements for each member, about which all say the same.
fn has_counts(call: &str) -> bool {
    call.to_lowercase().contains("reduce_scatter")
}

/// Whether a call of this name combines operands.
fn combines(call: &str) -> bool {
    let call = call.to_lowercase();
    call.contains("reduce") || call.contains("scan")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::numbers::CommRank;
    use crate::memory::root::Side;

    #[test]
    fn ends_of_an_edge_fit_with_the_same_call_size_and_signature() {
        let end =
            |call, signature, bytes| EdgeEnd { rank: Rank(0), check: Check::of(call, signature), bytes };
        let one = end(Primitive::NeighborAlltoall, 0x0104, 8);
        assert!(one.fits(&one) && one.fits(&end(Primitive::NeighborAlltoall, 0, 8)));
        assert!(!one.fits(&end(Primitive::NeighborAllgather, 0x0104, 8)));
        assert!(!one.fits(&end(Primitive::NeighborAlltoall, 0x0204, 8)));
        assert!(!one.fits(&end(Primitive::NeighborAlltoall, 0x0104, 4)));
        assert_eq!(called_at(&one).to_string(), "MPI_Neighbor_alltoall, 8 bytes of 4-byte integers");
    }

    #[test]
    fn who_does_not_know_the_root_fits_who_does_and_knows_no_sizes() {
        let call = Primitive::Reduce.index() as u32;
        let of = |root, operation, bytes| Called {
            call,
            kind: CollectiveKind::Board as u32,
            operation,
            root,
            bytes,
        };
        let (first, second) = (Side::First, Side::Second);
        let [one, two] = [1, 2].map(CommRank);
        let (idle, known) = (of(first.unknown(), 0, 0), of(first.member(two), 7, 80));
        assert_eq!((idle.joined(known), known.joined(idle)), (Some(known), Some(known)));
        assert_eq!(idle.joined(idle), Some(idle));
        for other in
            [of(first.member(one), 7, 80), of(first.member(two), 7, 81), of(first.member(two), 8, 80)]
        {
            assert_eq!((known.joined(other), other.joined(known)), (None, None));
        }
        for other in [of(second.member(two), 7, 80), of(second.unknown(), 0, 0), of(two.into(), 7, 80)] {
            assert_eq!((idle.joined(other), other.joined(idle)), (None, None));
        }
        let another_call = Called { call: call + 1, ..idle };
        assert_eq!((known.joined(another_call), another_call.joined(known)), (None, None));
    }

    #[test]
    fn a_call_is_told_with_what_has_to_agree() {
        use CollectiveKind::{Allreduce, Barrier, Board, Broadcast, Reduce};
        let sum = (ReduceOp::Sum as u8, ElementType::F64 as u8);
        let sum_on_board = (sum.0 | OF_REDUCTION, sum.1);
        for (call, kind, operation, bytes, told) in [
            (Primitive::Barrier, Barrier, (0, 0), 0, "MPI_Barrier"),
            (Primitive::Reduce, Reduce, sum, 8, "MPI_Reduce, root 2, MPI_SUM of f64, 8 bytes"),
            (Primitive::Allreduce, Allreduce, (0, 0), 1, "MPI_Allreduce, MPI_MAX of i8, 1 byte"),
            (Primitive::Bcast, Broadcast, (0, 0), 40, "MPI_Bcast, root 2, 40 bytes"),
            (
                Primitive::Iscatter,
                Board,
                (0x08, 0x02),
                40,
                "MPI_Iscatter, root 2, 40 bytes of 8-byte floating point numbers",
            ),
            (
                Primitive::ReduceScatter,
                Board,
                sum_on_board,
                8,
                "MPI_Reduce_scatter, MPI_SUM of f64, 8 bytes, counts with hash 00000002",
            ),
            (
                Primitive::Ireduce,
                Board,
                (OF_PROGRAM, 0),
                8,
                "MPI_Ireduce, root 2, an operation of the program, 8 bytes",
            ),
        ] {
            let operation = operation.0 as u32 | (operation.1 as u32) << 8;
            let (call, kind, root) = (call.index() as u32, kind as u32, SidedRank(2));
            let called = Called { call, kind, operation, root, bytes };
            assert_eq!(called.to_string(), told);
        }
    }
}
