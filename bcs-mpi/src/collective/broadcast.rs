//! MPI_Bcast and its forms (MPI-5.0, §6.4).

use super::block::Block;
use super::policy::{self, Collective, Situation};
use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::party::Party;

/// A block that goes from one member to all others: what it looks like on its way.
pub struct Broadcast {
    /// Who has it.
    pub root: u32,
    /// As a descriptor's operation carries it.
    pub signature: (u8, u8),
    /// Its bytes.
    pub bytes: usize,
    /// Where it is, and where it goes.
    place: *mut u8,
}

impl Broadcast {
    /// A block of so many bytes.
    ///
    /// # Safety
    /// The place must be readable, and writable unless this member is the root, and used by nobody else, as
    /// long as the operation is under way.
    pub unsafe fn new(root: u32, signature: (u8, u8), (place, bytes): (*mut u8, usize)) -> Self {
        Self { root, signature, bytes, place }
    }

    /// Its first byte.
    pub fn place(&self) -> *mut u8 {
        self.place
    }

    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        Arrival { operation: self.signature, root: self.root, most_bytes: self.bytes, ..Arrival::default() }
    }
}

/// Brings the root's block to all.
///
/// # Errors
/// The root sent more than there is room for; the NIC fails.
pub async fn broadcast(party: Party, block: Block, root: u32) -> MpiResult {
    if party.size == 1 {
        return Ok(());
    }
    if block.bytes == 0 {
        return party.announce(root, (0, 0), 0);
    }
    let is_root = party.rank == root;
    let wire = if is_root { block.wire()? } else { block.landing()? };
    // SAFETY: the wire lives until the operation is over; the root's is only read.
    let broadcast = unsafe { Broadcast::new(root, block.agreed().signature, (wire.data, wire.bytes)) };
    let number = Collective::bcast.choice(&Situation::of_blocks(&party, Some(block.bytes)));
    policy::bcast::run(number, &party, &broadcast).await?;
    if !is_root {
        block.land(&wire);
    }
    Ok(())
}
