//! Which way a collective goes: the thresholds of all algorithms, in one place.
//!
//! All members have to take the same way, so it depends on what all know alone: the call, its form, and sizes
//! about which all say the same.

use super::block::Agreed;
use super::reduction::Reduction;
use crate::progress::party::Party;
use nic_emu::descriptor::INLINE_BYTES;
use nic_emu::lane::LANE_MEMBERS;
use nic_emu::slab::SLAB_BYTES;

/// The way of a reduction whose result is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The Reduce Helper combines, with these numbers of operation and element.
    Nic((u8, u8)),
    /// From a board, on which all have put up their whole vectors.
    Board,
    /// In an exchange, as all members are on this node: every member combines a share, or the root all.
    Exchange,
    /// By messages: every member combines a share.
    Shares,
    /// By messages, whole vectors along the reduction tree.
    Tree,
}

/// Bytes from which on members combine shares of a vector. Below, the 2 log2 n messages of a tree are fewer
/// than the 2 (n - 1) of every member.
const LEAST_OF_SHARES: usize = 4 << 10;

/// The most that the NIC does by itself: a slab, in a call that blocks. Of operations that do not block any
/// number may be under way, in a different order at each member, and slabs are few: there it is what rides in
/// the descriptor.
pub fn most_on_nic(party: &Party) -> usize {
    if party.blocks() { SLAB_BYTES } else { INLINE_BYTES }
}

/// The way of reduce and allreduce.
pub fn way_of_reduction(party: &Party, reduction: &Reduction, bytes: usize) -> Way {
    match reduction.on_nic() {
        Some(operation) if bytes <= most_on_nic(party) => Way::Nic(operation),
        _ if fits_board(party, bytes) && reduction.travels_as_it_lies() => Way::Board,
        _ if exchanges(party, bytes) && reduction.travels_as_it_lies() => Way::Exchange,
        _ if bytes >= LEAST_OF_SHARES && reduction.travels_as_it_lies() => Way::Shares,
        _ => Way::Tree,
    }
}

/// The way of reductions of which every member combines what it gets itself: reduce-scatter and the scans.
pub fn way_of_shares(party: &Party, reduction: &Reduction, bytes: usize) -> Way {
    match reduction.travels_as_it_lies() {
        false => Way::Tree,
        true if fits_board(party, bytes) => Way::Board,
        true if exchanges(party, bytes) => Way::Exchange,
        true => Way::Shares,
    }
}

/// The way of blocks that go from member to member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlocksWay {
    /// From a board, on which all who give have put up what they give.
    Board,
    /// In an exchange, as all members are on this node.
    Exchange,
    /// By messages.
    Messages,
}

/// The way of gather, allgather, alltoall, and of a scatter that the NIC does not do, in which a member gives
/// `bytes` bytes at most, unless each has its own. Of nothing, members only say so to each other.
pub fn way_of_blocks(party: &Party, agreed: Agreed, bytes: usize) -> BlocksWay {
    match party.size > 1 && (agreed.differs || bytes > 0) {
        true if !agreed.differs && fits_board(party, bytes) => BlocksWay::Board,
        true if can_exchange(party) => BlocksWay::Exchange,
        _ => BlocksWay::Messages,
    }
}

/// Whether members put up contributions of so many bytes on a board: in a call that blocks, as slabs are few.
fn fits_board(party: &Party, bytes: usize) -> bool {
    let is_small = party.is_on_one_node() || bytes * party.size as usize <= MOST_ON_BOARD;
    party.blocks() && bytes <= SLAB_BYTES && is_small
}

/// Whether members may exchange contributions: all are on this node, and are not so many that looking at all
/// of them takes long. In a call that blocks: nobody takes what is given while ranks compute.
fn can_exchange(party: &Party) -> bool {
    party.blocks() && party.is_on_one_node() && party.size <= LANE_MEMBERS
}

/// Whether contributions of so many bytes, about which all say the same, go in an exchange.
pub fn exchanges(party: &Party, bytes: usize) -> bool {
    can_exchange(party) && bytes > SLAB_BYTES
}

/// Bytes that members on several nodes put on a board at most, all together: a board goes to every node as a
/// whole, a chunk a slice.
const MOST_ON_BOARD: usize = 1 << 20;
