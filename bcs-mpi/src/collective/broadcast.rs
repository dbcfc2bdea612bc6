//! MPI_Bcast and its forms (MPI-5.0, §6.4).

use super::block::{Block, Wire};
use super::policy::{self, Situation};
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

    /// Tells the NIC of it.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn announce(&self, party: &Party) -> MpiResult {
        party.announce(self.root, self.signature, self.bytes)
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
    let (wire, landing) =
        (is_root.then(|| block.wire()).transpose()?, (!is_root).then(|| block.landing()).transpose()?);
    let place = landing.as_ref().map(|landing| landing.data());
    let place = place.or(wire.as_ref().map(|wire: &Wire| wire.data().cast_mut()));
    let place = place.unwrap_or(std::ptr::null_mut());
    // SAFETY: wire and landing live until the operation is over; the wire is only read.
    let broadcast = unsafe { Broadcast::new(root, block.agreed().signature, (place, block.bytes)) };
    let number = policy::bcast::choice(party.wanted(), &Situation::of_blocks(&party, Some(block.bytes)));
    policy::bcast::run(number, &party, &broadcast).await?;
    if let Some(landing) = &landing {
        block.land(landing);
    }
    Ok(())
}
