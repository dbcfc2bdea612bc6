//! What the NIC does slab by slab: a member reaches one collective for each slab, and several before it waits
//! for the first. So one slice does several slabs for all members.

use crate::error::MpiResult;
use crate::process::progress::Waiter;
use crate::progress::party::Party;
use nic_emu::port::Release;

/// Slabs that are under way at once, as long as most of the rank's are free: other threads want some, too. In
/// fixed slices one slice does that many.
const SLABS_UNDER_WAY: usize = 16;

/// Reaches so many collectives: `reach` posts the arrival at one, and `take` takes what that one has brought,
/// if this member waits for it.
///
/// # Errors
/// What these fail with; the NIC fails.
pub async fn slab_by_slab(
    party: &Party,
    slabs: usize,
    mut reach: impl FnMut(usize) -> MpiResult<Option<Waiter>>,
    mut take: impl FnMut(usize, Release) -> MpiResult,
) -> MpiResult {
    if slabs == 1 {
        return match reach(0)? {
            Some(waiter) => take(0, party.release(waiter).await?),
            None => Ok(()),
        };
    }
    let mut under_way: [Option<Waiter>; SLABS_UNDER_WAY] = [None; SLABS_UNDER_WAY];
    for slab in 0..slabs + SLABS_UNDER_WAY {
        let place = slab % SLABS_UNDER_WAY;
        if let Some(waiter) = under_way[place].take() {
            take(slab - SLABS_UNDER_WAY, party.release(waiter).await?)?;
        }
        if slab < slabs {
            under_way[place] = reach(slab)?;
        }
        if !party.has_many_slabs()
            && let Some(waiter) = under_way[place].take()
        {
            take(slab, party.release(waiter).await?)?;
        }
    }
    Ok(())
}
