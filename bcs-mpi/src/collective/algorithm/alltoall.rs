//! Alltoall, of all kinds: every member sends every other its block, beginning with the next one. One step.

use super::super::block::{Agreed, Block, post_landing, post_wire};
use crate::error::MpiResult;
use crate::progress::party::{Join, Party};

/// Brings block j of member i to place i at member j. `send` is none where it is in place: then blocks of `receive` are exchanged.
///
/// # Errors
/// A block is longer than its place; the NIC fails.
pub async fn alltoall(
    party: Party,
    send: Option<Vec<Block>>,
    receive: Vec<Block>,
    agreed: Agreed,
) -> MpiResult {
    party.announce(0, agreed.signature, agreed.bytes)?;
    let mut join = Join::new();
    if let Some(send) = &send {
        let own = party.rank as usize;
        send[own].copy_to(&receive[own], party.rank)?;
    }
    // In place, what is sent goes before anything arrives where it was.
    let members: Vec<u32> = party.others().collect();
    let wires: Vec<_> = match &send {
        Some(send) => members.iter().map(|member| send[*member as usize].wire()).collect(),
        None => members.iter().map(|member| receive[*member as usize].snapshot()).collect(),
    };
    let landings: Vec<_> = members.iter().map(|member| receive[*member as usize].landing()).collect();
    for (member, landing) in members.iter().zip(&landings) {
        if agreed.is_message(receive[*member as usize].bytes) {
            // SAFETY: the landings live until the join is complete.
            unsafe { post_landing(&party, &mut join, *member, landing)? };
        }
    }
    let outgoing = send.as_ref().unwrap_or(&receive);
    for (member, wire) in members.iter().zip(&wires) {
        if agreed.is_message(outgoing[*member as usize].bytes) {
            // SAFETY: the wires live until the join is complete.
            unsafe { post_wire(&party, &mut join, *member, wire)? };
        }
    }
    join.all().await?;
    for (member, landing) in members.iter().zip(&landings) {
        receive[*member as usize].land(landing);
    }
    Ok(())
}
