//! Reduce and allreduce by the NIC's Reduce Helper, in the order of the reduction tree: what rides in a
//! descriptor or a slab. One step, along the strobe's tree.

use super::super::combination::Combination;
use crate::communicator::meeting::Arrival;
use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::party::Party;
use nic_emu::descriptor::CollectiveKind;

/// Combines vectors of up to a slab by an operation that the NIC has.
///
/// # Errors
/// It has not; the NIC fails.
pub async fn reduce_on_nic(party: &Party, combination: &Combination<'_>) -> MpiResult {
    let Some(operation) = combination.reduction.on_nic() else {
        return Err(MpiError::new(Problem::Nic("the NIC does not have this operation".into())));
    };
    let kind = if combination.is_for_all() { CollectiveKind::Allreduce } else { CollectiveKind::Reduce };
    let arrival = Arrival { kind, operation, root: combination.root(), ..Arrival::default() };
    let bytes = combination.bytes();
    let room = if combination.gets_all(party.rank) { bytes } else { 0 };
    // SAFETY: the promise of `Combination::new`.
    unsafe { party.on_nic(&arrival, (combination.from(), bytes), 0, (combination.to(), room)).await }
}
