//! Which way a collective goes: the thresholds of all algorithms, in one place.
//!
//! All members have to take the same way, so it depends on what all know alone: the call, its form, and sizes about which all say the same.

use super::reduction::Reduction;
use crate::communicator::Communicator;
use crate::progress::party::Party;
use nic_emu::descriptor::INLINE_BYTES;
use nic_emu::slab::SLAB_BYTES;

/// The way of a reduction whose result is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The Reduce Helper combines, with these numbers of operation and element.
    Nic((u8, u8)),
    /// By messages: every member combines a share.
    Shares,
    /// By messages, whole vectors along the reduction tree.
    Tree,
}

/// Bytes from which on members combine shares of a vector. Below, the 2 log2 n messages of a tree are fewer than the 2 (n - 1) of every member.
const LEAST_OF_SHARES: usize = 4 << 10;

/// The most that the NIC does by itself: a slab, in a call that blocks. Of operations that do not block any number may be under way, in a
/// different order at each member, and slabs are few: there it is what rides in the descriptor.
pub fn most_on_nic(party: &Party) -> usize {
    if party.blocks() { SLAB_BYTES } else { INLINE_BYTES }
}

/// The way of reduce and allreduce.
pub fn way_of_reduction(party: &Party, reduction: &Reduction, bytes: usize) -> Way {
    match reduction.on_nic() {
        Some(operation) if bytes <= most_on_nic(party) => Way::Nic(operation),
        _ if bytes >= LEAST_OF_SHARES && reduction.travels_as_it_lies() => Way::Shares,
        _ => Way::Tree,
    }
}

/// Bytes that members on several nodes put on a board at most, all together: a board goes to every node as a whole, a chunk a slice.
const MOST_ON_BOARD: usize = 1 << 20;

/// Whether a blocking broadcast or scatter of so many bytes goes by messages, as its other forms do: between nodes that is what no slab holds. So is
/// nothing: members only say so to each other.
pub fn leaves_nic(communicator: &Communicator, bytes: usize) -> bool {
    bytes == 0 || communicator.spans_nodes() && bytes > SLAB_BYTES
}

/// Whether a blocking call for which members would put up contributions goes by messages instead, as its other forms do. `each` is what a member puts
/// up at most, about which all say the same; none where they do not know, and would have to ask each other first. Of nothing, as [`leaves_nic`].
pub fn leaves_board(communicator: &Communicator, each: Option<usize>) -> bool {
    let is_small = |each| each <= SLAB_BYTES && each * communicator.size as usize <= MOST_ON_BOARD;
    each == Some(0) || communicator.spans_nodes() && !each.is_some_and(is_small)
}
