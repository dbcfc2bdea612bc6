//! Reduce, allreduce and reduce-scatter by the NIC's Reduce Helper, in the order of the reduction tree, a
//! slab at a time. One step for a slab, along the strobe's tree; whoever gets nothing of a slab does not wait
//! for it.

use super::super::combination::{Combination, Results};
use super::slab_by_slab::slab_by_slab;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::task::with;
use crate::progress::meeting::Arrival;
use crate::progress::party::Party;
use crate::progress::released::take_result;
use nic_emu::descriptor::CollectiveKind;

/// Combines vectors by an operation that the NIC has: of up to a slab, or in a call that blocks of more.
///
/// # Errors
/// It has not; the NIC fails.
pub async fn reduce_on_nic(party: &Party, combination: &Combination<'_>) -> MpiResult {
    let Some(operation) = combination.reduction.on_nic() else {
        return Err(MpiError::new(Problem::Nic("the NIC does not have this operation".into())));
    };
    let is_rooted = matches!(combination.results, Results::Root(_));
    let kind = if is_rooted { CollectiveKind::Reduce } else { CollectiveKind::Allreduce };
    let arrival = Arrival { kind, operation, ..combination.arrival() };
    let cut = combination.cut(party.rank);
    let reach = |number| {
        let (slab, waits) = (cut.slab(number), cut.wanted(number).is_some());
        // SAFETY: the promise of `Combination::new`; at most a slab is buffered when it is posted, before
        // anything of the result is stored there.
        unsafe { party.reach(&arrival, combination.from().wrapping_add(slab.start), slab.len(), waits) }
    };
    let take = |number, release| {
        let (wanted, at) = cut.wanted(number).unwrap_or_default();
        let to = combination.to().wrapping_add(at);
        // SAFETY: the promise of `Combination::new`; who waits has a place for what it gets.
        with(|process| unsafe { take_result(process, release, wanted.start, to, wanted.len()) })
    };
    slab_by_slab(party, cut.slabs(), reach, take).await
}
