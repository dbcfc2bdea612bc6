//! Barriers: the NIC's Collective Helper completes one without the ranks, by one arrival and one release; or
//! members tell each other (D. Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization",
//! 1988): in each step a member tells the one that is twice as far as in the step before, in a ring, that it
//! and those before it are there. log2 p steps for p members, with a message of a few bytes each.

use crate::error::MpiResult;
use crate::object::history::History;
use crate::progress::{Arrival, Members, Party};
use std::cell::Cell;
use std::ptr::null;

/// Bytes of a history.
const WORD: usize = size_of::<u64>();

/// Members meet.
#[derive(Debug, Default)]
pub struct Synchronization {
    history: History,
    /// Members that tell each other have found histories that are not the same.
    differs: Cell<bool>,
}

impl Synchronization {
    /// Of a member with this history.
    pub fn of(history: History) -> Self {
        Self { history, differs: Cell::new(false) }
    }

    /// Whether histories have been found that are not the same: by all members, or by none.
    pub fn differs(&self) -> bool {
        self.differs.get()
    }

    /// What members say when they meet.
    pub fn arrival(&self) -> Arrival {
        Arrival::BARRIER
    }
}

/// Complete when all members have called it, of an intercommunicator those of both groups.
///
/// # Errors
/// The NIC fails.
pub async fn barrier(party: Party) -> MpiResult {
    barrier_on_nic(&party, &Synchronization::default()).await
}

/// The NIC completes it.
///
/// # Errors
/// The NIC fails.
pub async fn barrier_on_nic(party: &Party, synchronization: &Synchronization) -> MpiResult {
    if party.is_alone() {
        return Ok(());
    }
    let arrival = synchronization.arrival();
    // SAFETY: nothing is given.
    unsafe { party.meet(&arrival, null(), 0, true) }.await.map(drop)
}

/// Members tell each other, and compare their histories: after a step a member knows whether those of twice
/// as many members before it are all the same.
///
/// # Errors
/// The NIC fails.
pub async fn barrier_by_dissemination(
    members: &impl Members,
    synchronization: &Synchronization,
) -> MpiResult {
    let (rank, size, own) = (members.rank(), members.size(), synchronization.history.0);
    let (mut differs, mut distance) = (false, 1);
    while distance < size {
        let (next, before) = ((rank + distance) % size, (rank + size - distance) % size);
        let (mut given, mut taken) = ([0; WORD + 1], [0; WORD + 1]);
        given[..WORD].copy_from_slice(&own.to_le_bytes());
        given[WORD] = u8::from(differs);
        members.swap((next, &given), (before, &mut taken)).await?;
        differs |= taken[..WORD] != given[..WORD] || taken[WORD] != 0;
        distance *= 2;
    }
    synchronization.differs.set(differs);
    Ok(())
}
