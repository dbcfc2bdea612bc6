//! Scatter: the root sends every member its block. One step.

use super::super::block::{Agreed, Block, post_landing, post_wire};
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};

/// Brings every member its block of the root's. `own` is none where it is in place; `all` is empty but at the root.
///
/// # Errors
/// A block is longer than its place; the NIC fails.
pub async fn scatter(
    party: Party,
    all: Vec<Block>,
    own: Option<Block>,
    root: u32,
    agreed: Agreed,
) -> MpiResult {
    party.announce(root, agreed.signature, agreed.bytes)?;
    let mut join = Join::new();
    if party.rank != root {
        let Some(own) = own.filter(|own| agreed.is_message(own.bytes)) else { return Ok(()) };
        let landing = own.landing();
        // SAFETY: the landing lives until the join is complete.
        unsafe { post_landing(&party, &mut join, root, &landing)? };
        join.all().await?;
        own.land(&landing);
        return Ok(());
    }
    if let Some(own) = own {
        all[root as usize].copy_to(&own, root)?;
    }
    let members: Vec<u32> =
        party.others().filter(|member| agreed.is_message(all[*member as usize].bytes)).collect();
    let wires: Vec<_> = members.iter().map(|member| all[*member as usize].wire()).collect();
    for (member, wire) in members.iter().zip(&wires) {
        // SAFETY: the wires live until the join is complete.
        unsafe { post_wire(&party, &mut join, *member, wire)? };
    }
    join.all().await
}
