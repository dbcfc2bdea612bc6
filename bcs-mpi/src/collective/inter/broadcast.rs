//! Broadcast: the root sends to rank 0 of the other group, which broadcasts. One step more than a broadcast
//! in that group.

use super::sides::{Role, Sides};
use crate::collective::block::Block;
use crate::collective::futures::broadcast as broadcast_in_group;
use crate::error::MpiResult;
use crate::progress::{Members, Message};
use nic_emu::memory::numbers::CommRank;

/// Brings the root's block to all members of the other group.
///
/// # Errors
/// The NIC fails.
pub async fn broadcast(sides: Sides, block: Block, role: Role) -> MpiResult {
    sides.announce_rooted(role, block.agreed().signature, block.bytes)?;
    if block.bytes == 0 {
        return Ok(());
    }
    let Sides { remote, after, .. } = sides;
    match role {
        Role::Idle => Ok(()),
        Role::Root => {
            let wire = block.wire()?;
            remote.post_send(CommRank(0), wire.memory)?.await
        }
        Role::Of(root) => {
            if after.rank == CommRank(0) {
                let landing = block.landing()?;
                remote.post_receive(root, landing.memory)?.exactly().await?;
                block.land(&landing);
            }
            broadcast_in_group(after, block, CommRank(0)).await
        }
    }
}
