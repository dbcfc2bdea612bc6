//! Reduce, as [`policy`](super::super::policy) says: by the NIC's Reduce Helper; by the root from a board; or
//! by shares in two steps: every member combines a share of all vectors, in a call that blocks on one node in
//! an exchange ([`super::combining`]), else by messages ([`super::shares`]), and gives its share's
//! result to the root; where there are few members, by the root alone. Vectors that have to be packed go
//! along the reduction tree: the holder of a left half sends it to the holder of the right one, which
//! combines; log2 n steps, and one from the last rank to the root.

use super::super::policy::{self, Way};
use super::super::reduction::{Reduction, Vector};
use super::combining::{Combined, combine_given, combine_on_board};
use super::gather_shares::gather_shares;
use super::shares::{combine_share, equal_share_bytes};
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::Party;
use crate::progress::pending::Join;
use crate::progress::task::with;
use nic_emu::arith::reduction_tree::ReductionTree;
use nic_emu::descriptor::CollectiveKind;
use std::num::NonZeroU32;
use std::ops::Range;

/// A vector of the program's that is combined with the other members'.
#[derive(Clone, Debug)]
pub struct Operands {
    /// Where this member's is.
    pub from: *const u8,
    /// Where the result goes, if this member gets one.
    pub to: *mut u8,
    /// Elements.
    pub count: usize,
}

/// Combines all members' vectors; the root gets the result.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn reduce(party: Party, reduction: Reduction, operands: Operands, root: u32) -> MpiResult {
    let Operands { from, to, count } = operands;
    let bytes = count * reduction.element;
    if bytes == 0 {
        return party.announce(root, (0, 0), 0);
    }
    if party.size == 1 {
        // SAFETY: whoever made the operands has checked them, and the program keeps them.
        unsafe { reduction.store(&reduction.load(from, 0, count), to) };
        return Ok(());
    }
    match policy::way_of_reduction(&party, &reduction, bytes) {
        Way::Nic(operation) => {
            let arrival = Arrival { kind: CollectiveKind::Reduce, operation, root, ..Arrival::default() };
            let room = if party.rank == root { bytes } else { 0 };
            // SAFETY: as above.
            unsafe { party.on_nic(&arrival, (from, bytes), 0, (to, room)).await }
        }
        Way::Board => {
            let wanted = if party.rank == root { (0..party.size, 0..bytes) } else { (0..0, 0..0) };
            // SAFETY: as above.
            unsafe { combine_on_board(&party, &reduction, (from, bytes, root), wanted, to).await }
        }
        Way::Exchange => {
            // SAFETY: as above.
            unsafe { in_exchange(&party, &reduction, (from, to, count), root).await }
        }
        Way::Shares => {
            party.announce(root, reduction.said(), bytes)?;
            // SAFETY: as above.
            unsafe { by_shares(&party, &reduction, (from, to, count), root).await }
        }
        Way::Tree => {
            party.announce(root, reduction.said(), bytes)?;
            // SAFETY: as above.
            unsafe { along_tree(&party, &reduction, (from, to, count), root).await }
        }
    }
}

/// Which bytes of a vector a member combines: all at the root if that combines alone.
fn share_of(
    party: &Party,
    element: usize,
    count: usize,
    alone: Option<u32>,
) -> impl Fn(u32) -> Range<usize> + Copy {
    let size = party.size;
    move |member| match alone {
        Some(root) if member == root => 0..count * element,
        Some(_) => 0..0,
        None => equal_share_bytes(member, size, count, element),
    }
}

async unsafe fn in_exchange(
    party: &Party,
    reduction: &Reduction,
    (from, to, count): (*const u8, *mut u8, usize),
    root: u32,
) -> MpiResult {
    let (element, bytes) = (reduction.element, count * reduction.element);
    let arrival = Arrival { operation: reduction.said(), root, most_bytes: bytes, ..Arrival::default() };
    let exchange = party.exchange(&arrival).await?;
    let alone = with(|process| Ok(nic_emu::policy::root_combines(process.port.is_crowded(), party.size)))?;
    let share = share_of(party, element, count, alone.then_some(root));
    let (own, is_root) = (share(party.rank), party.rank == root);
    let mut elsewhere = Vector::new(if is_root { 0 } else { own.len() });
    let result = if is_root { to.wrapping_add(own.start) } else { elsewhere.as_mut_ptr() };
    let combined = Combined::share_of_all(party, &share);
    // SAFETY: the caller's promise: both vectors of the root have `count` elements; the others' results are
    // as long as their shares.
    unsafe { combine_given(&exchange, reduction, (from, bytes), &combined, result).await? };
    if alone {
        return Ok(());
    }
    let readers: &[u32] = if is_root { &[] } else { &[root] };
    // SAFETY: the shares of the root's vector are disjoint; the result lives, unchanged, until the answer is
    // there.
    unsafe { gather_shares(&exchange, (result, readers), is_root, &share, to).await }
}

async unsafe fn by_shares(
    party: &Party,
    reduction: &Reduction,
    (from, to, count): (*const u8, *mut u8, usize),
    root: u32,
) -> MpiResult {
    let element = reduction.element;
    let alone = party.is_on_one_node()
        && with(|process| Ok(nic_emu::policy::root_combines(process.port.is_crowded(), party.size)))?;
    let share = share_of(party, element, count, alone.then_some(root));
    let own = share(party.rank);
    let is_root = party.rank == root;
    let mut elsewhere = Vector::new(if is_root { 0 } else { own.len() });
    // SAFETY: the caller's promise: both vectors of the root have `count` elements.
    let result = if is_root { unsafe { to.add(own.start) } } else { elsewhere.as_mut_ptr() };
    // SAFETY: as above; in place, no other share is written before all have been sent.
    unsafe { combine_share(party, reduction, from, share, result).await? };
    let mut join = Join::new();
    if is_root {
        for member in party.others() {
            let theirs = share(member);
            if !theirs.is_empty() {
                // SAFETY: the shares of the result are disjoint.
                join.add(unsafe { party.post_receive(member, to.add(theirs.start), theirs.len())? });
            }
        }
    } else if !own.is_empty() {
        // SAFETY: the result lives, unchanged, until the join is complete.
        join.add(unsafe { party.post_send(root, result, own.len())? });
    }
    join.all().await
}

async unsafe fn along_tree(
    party: &Party,
    reduction: &Reduction,
    (from, to, count): (*const u8, *mut u8, usize),
    root: u32,
) -> MpiResult {
    // SAFETY: the caller's promise.
    let mut value = unsafe { reduction.load(from, 0, count) };
    let is_root = party.rank == root;
    to_last(party, reduction, &mut value).await?;
    let last = party.size - 1;
    if root != last {
        if party.rank == last {
            return party.send(root, &value).await;
        }
        if is_root {
            party.receive(last, &mut value).await?;
        }
    }
    if is_root {
        // SAFETY: as above.
        unsafe { reduction.store(&value, to) };
    }
    Ok(())
}

/// Combines the members' values along the reduction tree; the last member's becomes the result.
pub(in crate::collective) async fn to_last(
    party: &Party,
    reduction: &Reduction,
    value: &mut Vector,
) -> MpiResult {
    let Some(ranks) = NonZeroU32::new(party.size) else { return Ok(()) };
    let mut left = Vector::default();
    for step in ReductionTree::new(ranks).steps(0..ranks.get()) {
        if step.left == party.rank {
            // A left half is taken once: this member has no part in later steps.
            return party.send(step.right, value).await;
        }
        if step.right == party.rank {
            if left.is_empty() {
                left = Vector::new(value.len());
            }
            party.receive(step.left, &mut left).await?;
            reduction.combine(&left, value)?;
        }
    }
    Ok(())
}
