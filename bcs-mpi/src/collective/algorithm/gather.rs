//! Gather: every member sends its block to the root, which has posted all receives. One step.

use super::super::block::{Agreed, Block, post_landing, post_wire};
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};

/// Brings every member's block to the root. `own` is none where it is in place; `all` is empty but at the root.
///
/// # Errors
/// A block is longer than its place; the NIC fails.
pub async fn gather(
    party: Party,
    own: Option<Block>,
    all: Vec<Block>,
    root: u32,
    agreed: Agreed,
) -> MpiResult {
    party.announce(root, agreed.signature, agreed.bytes)?;
    let mut join = Join::new();
    if party.rank != root {
        let Some(own) = own.filter(|own| agreed.is_message(own.bytes)) else { return Ok(()) };
        let wire = own.wire();
        // SAFETY: the wire lives until the join is complete.
        unsafe { post_wire(&party, &mut join, root, &wire)? };
        return join.all().await;
    }
    if let Some(own) = own {
        own.copy_to(&all[root as usize], root)?;
    }
    let members: Vec<u32> =
        party.others().filter(|member| agreed.is_message(all[*member as usize].bytes)).collect();
    let landings: Vec<_> = members.iter().map(|member| all[*member as usize].landing()).collect();
    for (member, landing) in members.iter().zip(&landings) {
        // SAFETY: the landings live until the join is complete.
        unsafe { post_landing(&party, &mut join, *member, landing)? };
    }
    join.all().await?;
    for (member, landing) in members.iter().zip(&landings) {
        all[*member as usize].land(landing);
    }
    Ok(())
}
