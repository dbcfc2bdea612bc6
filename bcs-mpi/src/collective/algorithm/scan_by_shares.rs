//! Scan and exscan by shares: every member gives every other the share of its vector that this one combines,
//! combines its own share of all vectors to the shares of all prefixes, and gives every member its part of
//! them. Two steps, of n - 1 messages each way for n members; a member sends less than two vectors, where one
//! that combines all lower vectors reads up to n - 1.
//!
//! The prefixes of a share come in place (Sklansky, "Conditional-Sum Addition Logic", IRE Transactions on
//! Electronic Computers, 1960): of two aligned blocks of members, the last prefix of the left one is combined
//! with every prefix of the right one. That is the order of the reduction tree over as many members, with
//! log2 n joins of a share for every second member instead of up to n - 1 of a vector for each.

use super::combine::combine_results;
use super::move_directly::move_directly;
use super::move_in_exchange::move_blocks;
use super::shares::equal_share;
use crate::collective::{Agreed, Combination, Movement, Pattern, Reduction, Vector};
use crate::error::MpiResult;
use crate::progress::{Members, Memory, Party};
use nic_emu::memory::numbers::CommRank;

/// Bytes of a vector whose shares are under way at once, at most: a member has as much scratch memory.
const SECTION_BYTES: usize = 4 << 20;

/// So many members are few: in an exchange each of them combines all vectors that count for it, in one step a
/// part.
const FEW_MEMBERS: u32 = 4;

/// As all members are on one node, shares and prefixes go in an exchange.
///
/// # Errors
/// Another member's vector is longer; no memory is left; the NIC fails.
pub async fn scan_in_exchange(party: &Party, combination: &Combination) -> MpiResult {
    let Some(exchange) = party.exchange(&combination.arrival()).await? else {
        return scan_by_shares(party, combination).await;
    };
    if party.size <= FEW_MEMBERS {
        return combine_results(&exchange, combination).await;
    }
    scan_sections(party, combination, async |movement| move_blocks(&exchange, movement).await).await
}

/// Shares and prefixes go as messages.
///
/// # Errors
/// As [`scan_in_exchange`].
pub async fn scan_by_shares(members: &impl Members, combination: &Combination) -> MpiResult {
    scan_sections(members, combination, async |movement| move_directly(members, movement).await).await
}

/// Scans section after section of the vectors; `bring` moves blocks.
async fn scan_sections(
    members: &impl Members,
    combination: &Combination,
    bring: impl AsyncFn(&Movement<'_>) -> MpiResult,
) -> MpiResult {
    let (rank, size, reduction) = (members.rank(), members.size(), &combination.reduction);
    let (count, element) = (combination.count, reduction.element);
    let most = (SECTION_BYTES / element).max(1);
    let agreed = Agreed::default();
    for first in (0..count).step_by(most) {
        let elements = most.min(count - first);
        let share = |member: CommRank| equal_share(member.index(), size as usize, elements, element);
        let (bytes, section) = (share(rank).len(), first * element..(first + elements) * element);
        let from = combination.given().part(section.clone());
        let mut scratch = Vector::new(bytes * size as usize)?;
        let prefixes = scratch.memory();
        let place = |member: CommRank| prefixes.block(member.index(), bytes);
        let given = |member| from.part(share(member));
        given(rank).copy_to(place(rank));
        bring(&Movement::new(Pattern::Alltoall, agreed, &given, &place)).await?;
        // SAFETY: the places are different ones, and nobody else uses them now.
        unsafe { combine_prefixes(reduction, size, bytes, |member| place(CommRank(member)).first())? };
        // Which prefix a member gets: that of the members whose vectors count.
        let prefix_of = |member| combination.operands_of(member, size).checked_sub(1).map(CommRank);
        let results = |member: CommRank| prefix_of(member).map_or(Memory::NOTHING, place);
        let gets = |member: CommRank| match prefix_of(rank) {
            Some(_) => combination.wanted(rank).part(section.clone()).part(share(member)),
            None => Memory::NOTHING,
        };
        // All shares of this member's vector have been read, in place, too.
        bring(&Movement::new(Pattern::Alltoall, agreed, &results, &gets)).await?;
        results(rank).copy_to(gets(rank));
    }
    Ok(())
}

/// Combines what `bytes` bytes at each member's place are to those of all members up to it.
///
/// # Safety
/// The places must be different ones of so many bytes, used by nobody else.
///
/// # Errors
/// As [`Reduction::combine`].
unsafe fn combine_prefixes(
    reduction: &Reduction,
    members: u32,
    bytes: usize,
    place: impl Fn(u32) -> *mut u8,
) -> MpiResult {
    if bytes == 0 {
        return Ok(());
    }
    let mut half = 1;
    while half < members {
        for right in (0..members).filter(|member| member & half != 0) {
            let last_of_left = (right & !(half - 1)) - 1;
            // SAFETY: the caller's promise; the left place is another one.
            let (left, inout) = unsafe {
                (
                    std::slice::from_raw_parts(place(last_of_left).cast_const(), bytes),
                    std::slice::from_raw_parts_mut(place(right), bytes),
                )
            };
            reduction.combine(left, inout)?;
        }
        half *= 2;
    }
    Ok(())
}
