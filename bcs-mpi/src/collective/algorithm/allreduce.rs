//! Allreduce: by the NIC's Reduce Helper what rides in a descriptor, else along the reduction tree to the last rank and from there to all along
//! a binomial tree: 2 log2 n steps.

use super::super::reduction::Reduction;
use super::reduce::{Operands, to_last};
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};
use nic_emu::descriptor::{CollectiveKind, INLINE_BYTES};

/// Combines all members' vectors; everybody gets the result.
///
/// # Errors
/// Another member's vector is longer; the NIC fails.
pub async fn allreduce(party: Party, reduction: Reduction, operands: Operands) -> MpiResult {
    let Operands { from, to, count } = operands;
    // SAFETY: whoever made the operands has checked them, and the program keeps them.
    let mut value = unsafe { reduction.load(from, 0, count) };
    if value.is_empty() {
        return Ok(());
    }
    let on_nic = reduction.on_nic().filter(|_| value.len() <= INLINE_BYTES);
    if let (Some(operation), true) = (on_nic, party.size > 1) {
        let arrival = Arrival { kind: CollectiveKind::Allreduce, operation, ..Arrival::default() };
        let mut result = [0; INLINE_BYTES];
        let result = &mut result[..value.len()];
        party.on_nic(arrival, &value, result).await?;
        // SAFETY: as above.
        unsafe { reduction.store(result, to) };
        return Ok(());
    }
    to_last(&party, &reduction, &mut value).await?;
    // Places count down from the last rank.
    let size = party.size;
    let place = size - 1 - party.rank;
    let lowest = if place == 0 { size.next_power_of_two() } else { place & place.wrapping_neg() };
    if place != 0 {
        party.receive(size - 1 - (place - lowest), &mut value).await?;
    }
    let mut join = Join::new();
    let mut bit = lowest >> 1;
    while bit != 0 {
        if place + bit < size {
            // SAFETY: the value lives, unchanged, until the join is complete.
            join.add(unsafe { party.post_send(size - 1 - place - bit, value.as_ptr(), value.len())? });
        }
        bit >>= 1;
    }
    join.all().await?;
    // SAFETY: as above.
    unsafe { reduction.store(&value, to) };
    Ok(())
}
