//! What the NIC does by itself, a slab at a time: it brings a broadcast or a scatter, which ride in the
//! root's descriptor or in slabs, and its Reduce Helper combines in the order of the reduction tree. One step
//! for a slab, along the strobe's tree; whoever gets nothing of a slab, as the root, does not wait for it.
//!
//! A scatter is a broadcast of as many blocks as a slab holds: more bytes than are wanted, of which there are
//! few.

use super::slab_by_slab::{Cut, slab_by_slab};
use crate::collective::{Broadcast, Combination, Movement, Results};
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::with;
use crate::progress::{Arrival, Memory, Party, take_result};
use nic_emu::descriptor::CollectiveKind;

/// Brings a block to all: of up to a slab, or in a call that blocks of more.
///
/// # Errors
/// The root's is longer; the NIC fails.
pub async fn broadcast_on_nic(party: &Party, broadcast: &Broadcast) -> MpiResult {
    let arrival = Arrival { kind: CollectiveKind::Broadcast, ..broadcast.arrival() };
    let (is_root, memory) = (party.rank == broadcast.root, broadcast.memory);
    let cut = Cut::of(memory.bytes(), 1, if is_root { 0..0 } else { 0..memory.bytes() });
    bring(party, &arrival, &cut, is_root.then_some(memory), memory).await
}

/// Scatters blocks that lie one behind the other.
///
/// # Errors
/// The NIC fails.
pub async fn scatter_on_nic(party: &Party, movement: &Movement<'_>) -> MpiResult {
    let (root, rank, each) = (movement.pattern.root(), party.rank, movement.agreed.bytes);
    let most_bytes = each * party.size as usize;
    let arrival = Arrival { kind: CollectiveKind::Broadcast, most_bytes, ..movement.arrival() };
    // SAFETY: blocks that go slab by slab lie so.
    let given = (rank == root).then(|| unsafe { movement.row(party.size) });
    let to = if rank == root { Memory::NOTHING } else { movement.incoming(root) };
    let cut = Cut::of_row(party.size, each, (rank != root).then_some(rank.0));
    bring(party, &arrival, &cut, given, to).await
}

/// Combines vectors by an operation that the NIC has: of up to a slab, or in a call that blocks of more.
///
/// # Errors
/// It has not; the NIC fails.
pub async fn reduce_on_nic(party: &Party, combination: &Combination) -> MpiResult {
    let Some(operation) = combination.reduction.on_nic() else {
        return Err(MpiError::new(Problem::Nic("the NIC does not have this operation".into())));
    };
    let is_rooted = matches!(combination.results, Results::Root(_));
    let kind = if is_rooted { CollectiveKind::Reduce } else { CollectiveKind::Allreduce };
    let arrival = Arrival { kind, operation, ..combination.arrival() };
    let (cut, given) = (combination.cut(party.rank), combination.given());
    bring(party, &arrival, &cut, Some(given), combination.wanted(party.rank)).await
}

/// Has the NIC bring what this member gets of a vector.
async fn bring(party: &Party, arrival: &Arrival, cut: &Cut, given: Option<Memory>, to: Memory) -> MpiResult {
    slab_by_slab(party, arrival, cut, given, |wanted, release| {
        with(|process| take_result(process, release, wanted.part.start, to.part(wanted.place)))
    })
    .await
}
