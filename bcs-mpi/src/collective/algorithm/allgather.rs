//! Allgather: every member sends its block to all others, beginning with the next one, so that no member is everybody's first. One step.

use super::super::block::{Agreed, Block, post_landing, post_wire};
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};

/// Brings every member's block to all. `own` is none where it is in place: then it is this member's of `all`.
///
/// # Errors
/// A block is longer than its place; the NIC fails.
pub async fn allgather(party: Party, own: Option<Block>, all: Vec<Block>, agreed: Agreed) -> MpiResult {
    party.announce(0, agreed.signature, agreed.bytes)?;
    let mut join = Join::new();
    let mine = &all[party.rank as usize];
    if let Some(own) = &own {
        own.copy_to(mine, party.rank)?;
    }
    let members: Vec<u32> =
        party.others().filter(|member| agreed.is_message(all[*member as usize].bytes)).collect();
    let landings: Vec<_> = members.iter().map(|member| all[*member as usize].landing()).collect();
    for (member, landing) in members.iter().zip(&landings) {
        // SAFETY: the landings live until the join is complete.
        unsafe { post_landing(&party, &mut join, *member, landing)? };
    }
    let own = own.as_ref().unwrap_or(mine);
    let wire = own.wire();
    for member in party.others().filter(|_| agreed.is_message(own.bytes)) {
        // SAFETY: the wire lives until the join is complete.
        unsafe { post_wire(&party, &mut join, member, &wire)? };
    }
    join.all().await?;
    for (member, landing) in members.iter().zip(&landings) {
        all[*member as usize].land(landing);
    }
    Ok(())
}
