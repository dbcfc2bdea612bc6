//! What the ranks of a node do, and what its NIC has pending: read from NIC memory, and from several nodes
//! put together.

use crate::memory::queue::{PostedReceives, UnexpectedMessages};
use crate::memory::status::{Activity, Phase, WaitingFor};
use crate::memory::sync::{Ordering, fence};
use crate::memory::transfer::MOVING;
use crate::memory::unexpected::UnexpectedPool;
use crate::memory::{MESSAGE_ENTRIES, NicMemory, Rank, RankBlock, TRANSFERS};
use crate::policy::{Pacing, RANKS_A_SLICE};
use crate::threads::buffer_sender::BufferSender;
use crate::threads::collective_list::COMMON_INSTANCES;
use crate::threads::dma_helper;

/// What one rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct RankState {
    /// Its rank in the job.
    pub rank: Rank,
    /// Where it is in its life.
    pub phase: Phase,
    /// Whether it computes or waits.
    pub activity: Activity,
    /// For what, if it waits.
    pub waits_for: WaitingFor,
    pub(super) waits: u32,
    pub(super) polls: u32,
    pub(super) asleep: bool,
    pub(super) concurrent: bool,
    /// What others have sent it and it has not received.
    pub unreceived: Unreceived,
}

/// What of the messages that a rank has not received is in its pool ([`crate::memory::unexpected`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct Unreceived {
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes of the longest message for which there is room.
    pub room_bytes: u64,
    /// Bytes that the pool may have.
    pub limit_bytes: u64,
}

impl RankState {
    pub(super) fn waits_in_mpi(&self) -> bool {
        self.phase == Phase::Attached && self.activity != Activity::Computing
    }
}

/// What all ranks of a node do, and what the NIC has pending.
#[derive(Clone, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct JobState {
    /// The ranks.
    pub ranks: Vec<RankState>,
    /// The last slice.
    pub slice: u64,
    /// Posted receives without a message.
    pub posted: u32,
    /// Messages without a receive.
    pub unexpected: u32,
    /// Bytes are being moved, or something is under way between this node and others.
    pub under_way: bool,
    /// Descriptors that no slice has taken, if there are any: which, as a number that changes with them.
    pub unscheduled: Option<u64>,
    /// Slices that took none of the descriptors that they found, for want of room.
    pub in_vain: u32,
    /// Pools of this node of which all is in use.
    pub full: Full,
    /// Changes when room comes back for messages of which a rank had too many.
    pub room_news: u32,
    /// How far the node is in the global slices of a job on several nodes; 0 on one node.
    pub global: GlobalState,
}

/// Pools of a node of which all is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct Full {
    /// Of collectives under way.
    pub instances: bool,
    /// Of messages under way from memory to memory.
    pub transfers: bool,
    /// Of messages without a receive, and receives without a message.
    pub entries: bool,
}

/// How far a node is in the global slices (`crate::global`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct GlobalState {
    /// The last global slice that the node has taken part in.
    pub slice: u64,
    /// Records that the node has sent to others, since the start.
    pub sent: u64,
    /// Records of others that the node has taken, since the start.
    pub taken: u64,
    /// Changes with everything that the node sends, takes, schedules and completes.
    pub moves: u64,
    /// [`Pacing::runs_idle_slices`].
    pub runs_idle_slices: bool,
}

impl JobState {
    /// Reads it. Without the token: while ranks run, it is a picture of moments close to each other.
    pub fn read(memory: &NicMemory) -> Self {
        let header = memory.header();
        // First: a rank that has looked since the state before has looked after these, if they are the same
        // in both.
        let room_news = header.room.came();
        let (global, global_under_way) = read_global(memory);
        let ranks = memory
            .local_ranks()
            .filter_map(|i| Some((memory.rank(i).ok()?, UnexpectedPool::of(memory, i).ok()?)))
            .map(|(block, pool)| RankState {
                rank: block.status.job_rank(),
                phase: block.status.phase(),
                activity: block.status.activity(),
                waits_for: block.status.waiting_for(),
                waits: block.status.waits.get(),
                polls: block.status.polls.get(),
                // One that has only announced it has still to look.
                asleep: block.status.activity() == Activity::Sleeping && block.status.sleep.peek() != 0,
                concurrent: block.status.concurrent.get() != 0,
                unreceived: Unreceived {
                    bytes: pool.usage().bytes,
                    room_bytes: pool.room_bytes(),
                    limit_bytes: memory.layout().unexpected_bytes(),
                },
            })
            .collect();
        Self {
            ranks,
            slice: memory.control().slice.get(),
            posted: waiting(memory, |block| PostedReceives::of(memory, block).count()),
            unexpected: waiting(memory, |block| UnexpectedMessages::of(memory, block).count()),
            unscheduled: unscheduled(memory),
            in_vain: header.slice.in_vain.get(),
            full: Full {
                instances: header.pools.instances.used() as usize >= COMMON_INSTANCES,
                transfers: header.pools.transfers.used() as usize >= TRANSFERS,
                entries: memory.control().entries.used() as usize >= MESSAGE_ENTRIES,
            },
            room_news,
            under_way: global_under_way || transfers_move(memory) || !header.slice.held.is_empty(),
            global,
        }
    }

    /// True when all ranks in MPI wait, at least one does, and nothing is under way. A rank whose threads
    /// call MPI at the same time is never known to wait: another thread of it may compute.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_quiet_or_over() && self.ranks.iter().any(RankState::waits_in_mpi)
    }

    /// The same for a node of several, of which all ranks may have ended.
    pub(super) fn is_quiet_or_over(&self) -> bool {
        let live = |rank: &RankState| !matches!(rank.phase, Phase::Finalized | Phase::Exited);
        !self.under_way && self.ranks.iter().filter(|r| live(r)).all(|r| r.waits_in_mpi() && !r.concurrent)
    }

    /// True when nothing has changed since an earlier state, and every rank that waits has looked `looks`
    /// times or sleeps. Descriptors that no slice has taken can
    /// still be, unless slices have found them meanwhile and had no room for them.
    pub(super) fn is_as_before(&self, before: &Self, looks: u32) -> bool {
        // A slice looks at some of very many ranks; then others have their turn.
        let turns = if self.ranks.len() > RANKS_A_SLICE { self.ranks.len() as u32 } else { 1 };
        let in_vain = self.in_vain.wrapping_sub(before.in_vain) >= looks * turns;
        (self.global.runs_idle_slices || before.slice == self.slice)
            && before.unscheduled == self.unscheduled
            && (self.unscheduled.is_none() || in_vain)
            && before.posted == self.posted
            && before.unexpected == self.unexpected
            && before.room_news == self.room_news
            && before.global.moves == self.global.moves
            && before.ranks.len() == self.ranks.len()
            && before.ranks.iter().zip(&self.ranks).all(|(then, now)| {
                let looked = now.polls.wrapping_sub(then.polls) >= looks || then.asleep && now.asleep;
                then.rank == now.rank
                    && then.phase == now.phase
                    && then.waits == now.waits
                    && (!now.waits_in_mpi() || looked)
            })
    }
}

/// How far this node is between nodes, and whether anything of it is under way there.
fn read_global(memory: &NicMemory) -> (GlobalState, bool) {
    let runs_idle_slices = Pacing::of(memory).runs_idle_slices();
    if memory.node().1 <= 1 {
        return (GlobalState { runs_idle_slices, ..GlobalState::default() }, false);
    }
    let remote = &memory.header().remote;
    let rest = remote.rest.get();
    fence(Ordering::Acquire);
    let by_ranks = &remote.by_ranks;
    let [moves, sent, taken] =
        [(&remote.moves, &by_ranks.moves), (&remote.sent, &by_ranks.sent), (&remote.taken, &by_ranks.taken)]
            .map(|(by_thread, by_ranks)| by_thread.get().wrapping_add(by_ranks.get()));
    // What a local slice has left for the global ones, and the driver has not seen.
    let left = remote.outbound.get() != 0
        || !remote.matches.is_empty()
        || remote.arrived.get() != remote.published.get()
        || memory.header().room.came() != memory.header().room.driver_saw.get();
    fence(Ordering::Acquire);
    let under_way = left || rest == 0 || remote.rest.get() != rest;
    (GlobalState { slice: rest.saturating_sub(1), sent, taken, moves, runs_idle_slices }, under_way)
}

/// Which descriptors no slice has taken yet; none if all are taken.
fn unscheduled(memory: &NicMemory) -> Option<u64> {
    if !BufferSender::has_work(memory) {
        return None;
    }
    let words =
        memory.doorbells().zip(memory.taken()).flat_map(|(posted, taken)| [posted.read().0, taken.read().0]);
    Some(words.fold(0xcbf2_9ce4_8422_2325, |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3)))
}

/// Entries of all ranks' queues. Read while they may change, a count is a hint.
fn waiting(memory: &NicMemory, count: impl Fn(&RankBlock) -> u32) -> u32 {
    memory.local_ranks().filter_map(|i| memory.rank(i).ok()).map(count).sum()
}

fn transfers_move(memory: &NicMemory) -> bool {
    let is_moving = |index| {
        let moves = memory.transfer(index)?.finished.load(Ordering::Acquire) == MOVING;
        Ok(moves.then_some(()))
    };
    // The list changes meanwhile: what cannot be followed says that there are some.
    !matches!(dma_helper::active(memory).find(is_moving), Ok(None))
}

/// One state of a job from those of its nodes, whatever these say: launchers run as the job's user. Its slice
/// is the global one, where there are several.
pub fn merge(states: &[JobState]) -> JobState {
    let mut job = JobState::default();
    for state in states {
        job.ranks.extend(&state.ranks);
        job.posted = job.posted.saturating_add(state.posted);
        job.unexpected = job.unexpected.saturating_add(state.unexpected);
        job.under_way |= state.under_way;
        job.unscheduled = job.unscheduled.or(state.unscheduled);
        job.in_vain = job.in_vain.wrapping_add(state.in_vain);
        job.full.instances |= state.full.instances;
        job.full.transfers |= state.full.transfers;
        job.full.entries |= state.full.entries;
        job.room_news = job.room_news.wrapping_add(state.room_news);
        job.global.slice = job.global.slice.max(state.global.slice);
        job.global.sent = job.global.sent.wrapping_add(state.global.sent);
        job.global.taken = job.global.taken.wrapping_add(state.global.taken);
        job.global.moves = job.global.moves.wrapping_add(state.global.moves);
        job.global.runs_idle_slices |= state.global.runs_idle_slices;
    }
    job.ranks.sort_by_key(|rank| rank.rank);
    job.slice = match states {
        [one] => one.slice,
        _ => job.global.slice,
    };
    job
}
