//! Barriers: the NIC's Collective Helper completes one without the ranks, by one arrival and one release; or
//! members tell each other (D. Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization",
//! 1988): in each step a member tells the one that is twice as far as in the step before, in a ring, that it
//! and those before it are there. log2 p steps for p members, with a message of a few bytes each.

use crate::error::MpiResult;
use crate::object::history::History;
use crate::progress::{Arrival, Join, Members, Party, Subgroup};
use nic_emu::memory::numbers::CommRank;
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
    let state = disseminate(members, State::of(synchronization)).await?;
    synchronization.differs.set(state.differs);
    Ok(())
}

/// The first member of each node learns that its others are there, tells those of the other nodes as above,
/// and lets its own go on. The others of a node wait for that one alone, and leave the processors to it. A
/// step to it and one back, and log2 N steps for N nodes; the first of n members sends n - 1 messages more.
///
/// # Errors
/// The NIC fails.
pub async fn barrier_by_nodes(members: &impl Members, synchronization: &Synchronization) -> MpiResult {
    let (nodes, mut state) = (members.nodes()?, State::of(synchronization));
    let (node, place) = nodes.place(members.rank());
    let (first, others) =
        nodes.members(node).split_first().map_or((CommRank(0), &[][..]), |(first, others)| (*first, others));
    if place == 0 {
        for other in others {
            state = state.met(State::receive(members, *other).await?);
        }
        let firsts = (0..nodes.count()).map(|node| nodes.members(node)[0]).collect();
        state = disseminate(&Subgroup::new(members, firsts, node), state).await?;
        let mut join = Join::new();
        let told = state.told();
        for other in others {
            join.send(members, *other, &told)?;
        }
        join.all().await?;
    } else {
        members.send(first, &state.told()).await?;
        state = state.met(State::receive(members, first).await?);
    }
    synchronization.differs.set(state.differs);
    Ok(())
}

/// What a member knows of histories.
#[derive(Clone, Copy, Debug)]
struct State {
    own: u64,
    /// There are some that are not the same.
    differs: bool,
}

impl State {
    fn of(synchronization: &Synchronization) -> Self {
        Self { own: synchronization.history.0, differs: false }
    }

    /// As it travels.
    fn told(self) -> [u8; WORD + 1] {
        let mut told = [0; WORD + 1];
        told[..WORD].copy_from_slice(&self.own.to_le_bytes());
        told[WORD] = u8::from(self.differs);
        told
    }

    /// What a member knows that has been told that.
    fn met(self, told: [u8; WORD + 1]) -> Self {
        let differs = self.differs || told[..WORD] != self.own.to_le_bytes() || told[WORD] != 0;
        Self { differs, ..self }
    }

    async fn receive(members: &impl Members, from: CommRank) -> MpiResult<[u8; WORD + 1]> {
        let mut told = [0; WORD + 1];
        members.receive(from, &mut told).await?;
        Ok(told)
    }
}

/// Members tell each other, in log2 p steps.
async fn disseminate(members: &impl Members, mut state: State) -> MpiResult<State> {
    let (rank, size) = (members.rank(), members.size());
    let mut distance = 1;
    while distance < size {
        let (next, before) = (rank.after(distance, size), rank.before(distance, size));
        let mut told = [0; WORD + 1];
        members.swap((next, &state.told()), (before, &mut told)).await?;
        state = state.met(told);
        distance *= 2;
    }
    Ok(state)
}
