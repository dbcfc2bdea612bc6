//! Hang reports: who waits for what, and when that is a deadlock (design §4, "Hang reports").
//!
//! At a slice boundary everything pending is known. A deadlock is stated when all ranks that are still in MPI wait, nothing
//! posted is unscheduled, no bytes are under way, no slice has run, and every rank has looked at its requests since. Then nothing can
//! change any more: it is a fact, and the report says who waits for whom.
//!
//! On one node a [`HangDetector`] states it. Of a job on several nodes each node's detector can only say that nothing goes on *here*; who has the states of
//! all nodes, read twice, states it ([`is_deadlock`]).

use crate::buffer_sender::BufferSender;
use crate::descriptor::{ANY_SOURCE, ANY_TAG};
use crate::memory::FIRST_MATCHED_CONTEXT;
use crate::memory::{Corrupt, NicMemory};
use crate::pool::NONE;
use crate::queue::MatchQueues;
use crate::status::{Activity, NOBODY, Phase, WaitingFor};
use crate::sync::{Ordering, fence};
use crate::transfer::MOVING;
use mds::Primitive;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

/// Context of `MPI_COMM_WORLD` (its point-to-point half; the collective half is the next number, and so for all).
pub const WORLD_CONTEXT: u32 = 2;
/// The first context of those that are `MPI_COMM_SELF`, above all that communicators take.
const SELF_CONTEXTS: u32 = u32::MAX << 27;

/// Context of a rank's `MPI_COMM_SELF`: one of its own, because collectives are told apart by context and number alone.
#[must_use]
pub const fn self_context(rank: u32) -> u32 {
    SELF_CONTEXTS + 2 * rank
}

/// What one rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct RankState {
    /// Its rank in the job.
    pub rank: u32,
    /// Where it is in its life.
    pub phase: Phase,
    /// Whether it computes or waits.
    pub activity: Activity,
    /// For what, if it waits.
    pub waits_for: WaitingFor,
    waits: u32,
    polls: u32,
    asleep: bool,
    concurrent: bool,
}

impl RankState {
    fn is_in_mpi(&self) -> bool {
        self.phase == Phase::Attached
    }

    fn waits_in_mpi(&self) -> bool {
        self.is_in_mpi() && self.activity != Activity::Computing
    }
}

/// What all ranks of a node do, and what the NIC has pending.
#[derive(Clone, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct JobState {
    /// The ranks.
    pub ranks: Vec<RankState>,
    /// The last slice.
    pub slice: u64,
    /// Posted receives without a message.
    pub posted: u32,
    /// Messages without a receive.
    pub unexpected: u32,
    /// Bytes are being moved, or descriptors wait for a slice, or something is under way between this node and others.
    pub under_way: bool,
    /// How far the node is in the global slices of a job on several nodes; all 0 on one node.
    pub global: GlobalState,
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
    /// Whether slices begin by the clock, also when nothing happens.
    pub fixed: bool,
}

impl JobState {
    /// Reads it. Without the token: while ranks run, it is a picture of moments close to each other.
    pub fn read(memory: &NicMemory) -> Self {
        let header = memory.header();
        let (global, global_under_way) = read_global(memory);
        let ranks = (0..memory.layout().local_ranks)
            .filter_map(|i| memory.rank(i).ok())
            .map(|block| RankState {
                rank: block.status.job_rank(),
                phase: block.status.phase(),
                activity: block.status.activity(),
                waits_for: block.status.waiting_for(),
                waits: block.status.waits(),
                polls: block.status.polls(),
                // One that has only announced it has still to look.
                asleep: block.status.activity() == Activity::Sleeping && block.status.sleep.peek() != 0,
                concurrent: block.status.is_concurrent(),
            })
            .collect();
        Self {
            ranks,
            slice: memory.control().slice.get(),
            posted: waiting(memory, |queues| queues.posted.count(memory)),
            unexpected: waiting(memory, |queues| queues.unexpected.count(memory)),
            under_way: global_under_way
                || BufferSender::has_work(memory)
                || transfers_move(memory)
                || header.slice.held_first.get() != NONE,
            global,
        }
    }

    /// True when all ranks in MPI wait, at least one does, and nothing is under way. A rank whose threads call MPI at the
    /// same time is never known to wait: another thread of it may compute.
    fn is_quiet(&self) -> bool {
        self.is_quiet_or_over() && self.ranks.iter().any(RankState::waits_in_mpi)
    }

    /// The same for a node of several, of which all ranks may have ended.
    fn is_quiet_or_over(&self) -> bool {
        let live = |rank: &RankState| !matches!(rank.phase, Phase::Finalized | Phase::Exited);
        !self.under_way && self.ranks.iter().filter(|r| live(r)).all(|r| r.waits_in_mpi() && !r.concurrent)
    }

    /// True when nothing has changed since an earlier state, and every rank that waits has looked `looks` times or sleeps. Fixed slices go on when
    /// nothing happens.
    fn is_as_before(&self, before: &Self, fixed: bool, looks: u32) -> bool {
        (fixed || before.slice == self.slice)
            && before.posted == self.posted
            && before.unexpected == self.unexpected
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
    if memory.node().1 <= 1 {
        return (GlobalState::default(), false);
    }
    let remote = &memory.header().remote;
    let rest = remote.rest.get();
    fence(Ordering::Acquire);
    let (moves, sent, taken) = (remote.moves.get(), remote.sent.get(), remote.taken.get());
    // What a local slice has left for the global ones, and the driver has not seen.
    let left = remote.outbound.get() != 0
        || !remote.matches.is_empty()
        || remote.arrived.get() != remote.published.get();
    fence(Ordering::Acquire);
    let under_way = left || rest == 0 || remote.rest.get() != rest;
    let fixed = memory.header().slice_period_ns.get() != 0;
    (GlobalState { slice: rest.saturating_sub(1), sent, taken, moves, fixed }, under_way)
}

/// Entries of all ranks' queues. Read while they may change, a count is a hint, and a list that changes under the reader counts
/// as none.
fn waiting(memory: &NicMemory, count: impl Fn(&MatchQueues) -> Result<u32, Corrupt>) -> u32 {
    (0..memory.layout().local_ranks)
        .filter_map(|i| memory.rank(i).ok())
        .map(|block| count(&block.queues).unwrap_or(0))
        .sum()
}

fn transfers_move(memory: &NicMemory) -> bool {
    let mut at = memory.header().pools.active_transfers[0].get();
    let mut seen = 0;
    while at != NONE && seen <= crate::memory::TRANSFERS {
        let Ok(transfer) = memory.transfer(at - 1) else { return true };
        if transfer.finished.load(Ordering::Acquire) == MOVING {
            return true;
        }
        at = transfer.next.get();
        seen += 1;
    }
    false
}

/// How often to look for a deadlock.
pub const LOOK_PERIOD: Duration = Duration::from_millis(100);

/// One state of a job from those of its nodes, whatever these say: launchers run as the job's user. Its slice is the global one, where there are several.
pub fn merge(states: &[JobState]) -> JobState {
    let mut ranks: Vec<RankState> = states.iter().flat_map(|state| state.ranks.iter().copied()).collect();
    ranks.sort_by_key(|rank| rank.rank);
    let global = GlobalState {
        slice: states.iter().map(|state| state.global.slice).max().unwrap_or_default(),
        sent: sum(states, |global| global.sent),
        taken: sum(states, |global| global.taken),
        moves: sum(states, |global| global.moves),
        fixed: states.iter().any(|state| state.global.fixed),
    };
    JobState {
        ranks,
        slice: match states {
            [one] => one.slice,
            _ => global.slice,
        },
        posted: states.iter().fold(0, |sum, state| sum.saturating_add(state.posted)),
        unexpected: states.iter().fold(0, |sum, state| sum.saturating_add(state.unexpected)),
        under_way: states.iter().any(|state| state.under_way),
        global,
    }
}

fn sum(states: &[JobState], of: impl Fn(&GlobalState) -> u64) -> u64 {
    states.iter().fold(0, |sum, state| sum.wrapping_add(of(&state.global)))
}

/// Whether a job on several nodes is in a deadlock, from the states of *all* its nodes, read twice in the same order: the second round begins when the
/// first is complete. Of a job on several nodes: one node has its [`HangDetector`]. Answers the report of all of them. A node whose ranks have all ended counts as one where
/// nobody waits: its NIC still serves the others.
///
/// **Why nothing can be in flight then.** Let `T` be a moment between the two rounds.
///
/// 1. Of every node both states are quiet and say the same of waits and moves. A wait that is the same before and after `T` was under way at `T`, so at
///    `T` all live ranks were blocked; and no node has sent, taken, scheduled or completed anything between its two states, both before and after `T`.
/// 2. What a node tells the others of its messages and collectives, it tells in records, which it counts when it sends them and when it takes them. All nodes
///    together have sent at `T` what they had sent before both their states, and so with taken (by 1): the sums are those of the second round. They are equal, so no record
///    was in flight at `T`. Chunks of collectives are no records; but a collective whose bytes have not all come is under way on its nodes.
/// 3. What is left are microstrobes, reports and bells. None of them makes something happen that no node wants; and at `T` nobody had
///    anything to send, to match, to grant or to start: a node that has wants a slice, and is not quiet.
/// 4. What could change that is a rank that goes on. A rank that was blocked at `T` goes on only when something is completed for it; completions come of slices
///    in which something is done, of which by (3) there is none; and one that was completed before has been seen: every rank has begun and ended a look between
///    its two states, or slept in both, and who completes wakes.
pub fn is_deadlock(first: &[JobState], second: &[JobState]) -> Option<HangReport> {
    let is_still = first.len() == second.len()
        && first.iter().chain(second).all(JobState::is_quiet_or_over)
        && first
            .iter()
            .zip(second)
            .all(|(before, after)| after.is_as_before(before, after.global.fixed, WHOLE_LOOK));
    let job = merge(second);
    (is_still && job.global.sent == job.global.taken && job.is_quiet()).then(|| HangReport::new(job))
}

/// A rank counts its looks as they end, so of two that ended since one began since.
const WHOLE_LOOK: u32 = 2;

/// Looks for deadlocks. Call [`HangDetector::look`] every [`LOOK_PERIOD`].
#[derive(Debug, Default)]
pub struct HangDetector {
    quiet: Option<JobState>,
    looks: u32,
}

/// Looks in a row that have to agree.
const LOOKS: u32 = 3;

impl HangDetector {
    /// A detector that has not looked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks; answers the report if it is a deadlock. For one node of several it answers when all its ranks wait and nothing of it is under way: blocked
    /// *here*, which is no deadlock as long as another node goes on. A node on which no rank is left never answers.
    pub fn look(&mut self, memory: &NicMemory) -> Option<HangReport> {
        let state = JobState::read(memory);
        let fixed = memory.header().slice_period_ns.get() != 0;
        let same = |before: &JobState| state.is_as_before(before, fixed, 1);
        if !state.is_quiet() || !self.quiet.as_ref().is_none_or(same) {
            self.quiet = state.is_quiet().then_some(state);
            self.looks = 0;
            return None;
        }
        self.quiet = Some(state.clone());
        self.looks += 1;
        (self.looks >= LOOKS).then(|| HangReport::new(state))
    }
}

/// Who waits for what, as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangReport {
    state: JobState,
}

impl HangReport {
    /// The report of a job's state.
    pub fn new(state: JobState) -> Self {
        Self { state }
    }

    /// What it is about.
    pub fn state(&self) -> &JobState {
        &self.state
    }

    /// Ranks that wait for each other in a circle, each for the next: of several circles the one with the lowest rank, from that on. Looks at
    /// every rank once.
    pub fn cycle(&self) -> Option<Vec<u32>> {
        let waiting = self.state.ranks.iter().filter(|rank| rank.waits_in_mpi());
        let next: HashMap<u32, u32> = waiting
            .map(|rank| (rank.rank, rank.waits_for.peer_in_job))
            .filter(|(_, peer)| *peer < NOBODY)
            .collect();
        let (mut seen, mut found) = (HashSet::new(), None::<Vec<u32>>);
        for &start in next.keys() {
            let (mut path, mut at) = (Vec::new(), start);
            while let Some(&peer) = next.get(&at)
                && seen.insert(at)
            {
                path.push(at);
                at = peer;
            }
            // A path ends where nobody waits, where an earlier one has been, or in a circle.
            let Some(begin) = path.iter().position(|rank| *rank == at) else { continue };
            let mut cycle = path.split_off(begin);
            let lowest =
                cycle.iter().enumerate().min_by_key(|(_, rank)| **rank).map_or(0, |(place, _)| place);
            cycle.rotate_left(lowest);
            if found.as_ref().is_none_or(|other| cycle[0] < other[0]) {
                found = Some(cycle);
            }
        }
        found
    }
}

/// The communicator of a context, as the report names it.
pub(crate) fn communicator(context: u32) -> String {
    match context & !1 {
        WORLD_CONTEXT => "MPI_COMM_WORLD".into(),
        SELF_CONTEXTS..FIRST_MATCHED_CONTEXT => "MPI_COMM_SELF".into(),
        other => format!("communicator {other}"),
    }
}

/// "1 byte", "2 bytes"
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// What a rank, or several, are doing.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Doing {
    Is(&'static str),
    Waits(String),
    Computes,
}

/// "in MPI_Recv from 0, tag 7, 8 bytes, MPI_COMM_WORLD"; of several ranks together, without the peer that each has of its own.
fn describe(waits_for: &WaitingFor, together: bool) -> String {
    let call = Primitive::ALL.get(waits_for.call as usize).map_or("MPI", |p| p.name());
    let mut text = format!("in {call}");
    if waits_for.requests > 1 {
        text += &format!(" for {} requests, first", waits_for.requests);
    }
    let direction = if waits_for.sends { "to" } else { "from" };
    match waits_for.peer {
        NOBODY => {}
        ANY_SOURCE => text += " from any source",
        _ if together => text += &format!(" {direction} one rank each"),
        peer => text += &format!(" {direction} {peer}"),
    }
    // Ranks of this report are those of the job; a peer is named as the call names it.
    let elsewhere = waits_for.peer_in_job < NOBODY && waits_for.peer_in_job != waits_for.peer;
    if elsewhere && !together {
        text += &format!(" (rank {} of the job)", waits_for.peer_in_job);
    }
    if waits_for.peer != NOBODY {
        text +=
            &if waits_for.tag == ANY_TAG { ", any tag".into() } else { format!(", tag {}", waits_for.tag) };
        text += &format!(", {}", counted(waits_for.bytes, "byte"));
    }
    if waits_for.context != u32::MAX {
        text += &format!(", {}", communicator(waits_for.context));
    }
    text
}

impl RankState {
    fn doing(&self, together: bool) -> Doing {
        match self.phase {
            Phase::NotAttached => Doing::Is("not in MPI (before MPI_Init, or no MPI program)"),
            Phase::Finalized => Doing::Is("finished: left MPI_Finalize"),
            Phase::Exited => Doing::Is("exited"),
            Phase::Attached if self.waits_in_mpi() => Doing::Waits(describe(&self.waits_for, together)),
            Phase::Attached => Doing::Computes,
        }
    }
}

/// Ranks that do the same, in one group each: the smallest group, where the odd one out is, first.
fn groups(ranks: &[RankState], together: bool) -> Vec<(Doing, Vec<u32>)> {
    let (mut groups, mut places) = (Vec::<(Doing, Vec<u32>)>::new(), HashMap::<Doing, usize>::new());
    for rank in ranks {
        let doing = rank.doing(together);
        match places.entry(doing.clone()) {
            Entry::Occupied(place) => groups[*place.get()].1.push(rank.rank),
            Entry::Vacant(place) => {
                place.insert(groups.len());
                groups.push((doing, vec![rank.rank]));
            }
        }
    }
    groups.sort_by_key(|(_, ranks)| ranks.len());
    groups
}

/// Lines of a report at most; with more, ranks that wait in the same call for different peers stand together.
const MOST_LINES: usize = 32;

/// "0, 2-5"
pub(crate) fn ranks_text(ranks: &[u32]) -> String {
    let mut text = String::new();
    let mut i = 0;
    while i < ranks.len() {
        let mut j = i;
        while j + 1 < ranks.len() && ranks[j].checked_add(1) == Some(ranks[j + 1]) {
            j += 1;
        }
        if !text.is_empty() {
            text += ", ";
        }
        text += &match j - i {
            0 => format!("{}", ranks[i]),
            1 => format!("{}, {}", ranks[i], ranks[j]),
            _ => format!("{}-{}", ranks[i], ranks[j]),
        };
        i = j + 1;
    }
    text
}

impl fmt::Display for HangReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = groups(&self.state.ranks, false);
        if lines.len() > MOST_LINES {
            lines = groups(&self.state.ranks, true);
        }
        for (doing, ranks) in lines.iter().take(MOST_LINES) {
            let (noun, ending) = if ranks.len() == 1 { ("rank", "s") } else { ("ranks", "") };
            write!(f, "  {noun} {}: ", ranks_text(ranks))?;
            match doing {
                Doing::Is(text) => writeln!(f, "{text}")?,
                Doing::Waits(what) => writeln!(f, "wait{ending} {what}")?,
                Doing::Computes => writeln!(f, "compute{ending}")?,
            }
        }
        let more: usize = lines.iter().skip(MOST_LINES).map(|(_, ranks)| ranks.len()).sum();
        if more > 0 {
            writeln!(f, "  and {more} ranks more, each in a call of its own")?;
        }
        if let Some(cycle) = self.cycle() {
            let path: Vec<String> =
                cycle.iter().take(MOST_LINES).chain(&cycle[..1]).map(u32::to_string).collect();
            let (last, path) =
                path.split_last().map_or(("", &path[..]), |(last, path)| (last.as_str(), path));
            let gap = if cycle.len() > MOST_LINES { "... -> " } else { "" };
            writeln!(f, "  cycle: {} -> {gap}{last} (each waits for the next)", path.join(" -> "))?;
        }
        if self.state.unexpected > 0 || self.state.posted > 0 {
            writeln!(
                f,
                "  pending: {} without a message, {} without a receive",
                counted(self.state.posted.into(), "receive"),
                counted(self.state.unexpected.into(), "message")
            )?;
        }
        write!(f, "  at slice {}", self.state.slice)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn rank(rank: u32, call: Primitive, peer: u32, tag: i32) -> RankState {
        let waits_for = WaitingFor {
            call: call.index() as u32,
            context: WORLD_CONTEXT,
            peer,
            peer_in_job: peer,
            tag,
            bytes: 8,
            requests: 1,
            ..WaitingFor::default()
        };
        let (phase, activity) = (Phase::Attached, Activity::Polling);
        RankState { rank, phase, activity, waits_for, waits: 1, polls: 1, asleep: false, concurrent: false }
    }

    fn report(ranks: Vec<RankState>) -> HangReport {
        let global = GlobalState::default();
        HangReport::new(JobState { ranks, slice: 12, posted: 1, unexpected: 0, under_way: false, global })
    }

    #[test]
    fn a_cycle_of_receives_is_named() {
        let report = report((0..3).map(|i| rank(i, Primitive::Recv, (i + 1) % 3, 7)).collect());
        assert_eq!(report.cycle(), Some(vec![0, 1, 2]));
        let text = report.to_string();
        assert!(text.contains("rank 0: waits in MPI_Recv from 1, tag 7, 8 bytes, MPI_COMM_WORLD"), "{text}");
        assert!(text.contains("cycle: 0 -> 1 -> 2 -> 0"), "{text}");
    }

    #[test]
    fn one_of_a_thing_is_singular_and_several_are_plural() {
        let mut single = rank(0, Primitive::Recv, 1, 7);
        single.waits_for.bytes = 1;
        let busy = |rank| RankState { rank, activity: Activity::Computing, ..single };
        let mut state = report(vec![single, busy(1)]).state().clone();
        let text = HangReport::new(state.clone()).to_string();
        for line in [
            "  rank 0: waits in MPI_Recv from 1, tag 7, 1 byte, MPI_COMM_WORLD\n",
            "  rank 1: computes\n",
            "  pending: 1 receive without a message, 0 messages without a receive\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
        state.ranks = vec![single, RankState { rank: 3, ..single }, busy(1), busy(2)];
        (state.posted, state.unexpected) = (2, 1);
        let text = HangReport::new(state).to_string();
        for line in [
            "  ranks 0, 3: wait in MPI_Recv from 1, tag 7, 1 byte, MPI_COMM_WORLD\n",
            "  ranks 1, 2: compute\n",
            "  pending: 2 receives without a message, 1 message without a receive\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn the_odd_one_out_stands_first_and_the_others_are_one_line() {
        let mut ranks: Vec<_> = [0, 2, 3].map(|i| rank(i, Primitive::Barrier, NOBODY, 0)).into();
        ranks.push(rank(1, Primitive::Recv, 0, 7));
        let text = report(ranks).to_string();
        let first = text.lines().next().unwrap();
        assert!(first.contains("rank 1: waits in MPI_Recv from 0"), "{text}");
        assert!(text.contains("ranks 0, 2, 3: wait in MPI_Barrier, MPI_COMM_WORLD"), "{text}");
    }

    #[test]
    fn a_peer_of_another_communicator_is_named_as_the_call_names_it_and_as_the_report_does() {
        let mut odd = rank(3, Primitive::Recv, 0, 7);
        odd.waits_for.context = 18;
        odd.waits_for.peer_in_job = 2;
        let text = report(vec![odd]).to_string();
        assert!(
            text.contains("waits in MPI_Recv from 0 (rank 2 of the job), tag 7, 8 bytes, communicator 18"),
            "{text}"
        );
    }

    #[test]
    fn a_report_of_a_thousand_ranks_fits_a_screen() {
        let text =
            report((0..1000).map(|i| rank(i, Primitive::Recv, (i + 1) % 1000, 7)).collect()).to_string();
        assert!(text.contains("ranks 0-999: wait in MPI_Recv from one rank each, tag 7, 8 bytes"), "{text}");
        assert!(text.contains(" -> 31 -> ... -> 0 (each waits for the next)"), "{text}");
        let each_its_own = (0..1000).map(|i| rank(i, Primitive::Recv, 0, i as i32)).collect();
        let text = report(each_its_own).to_string();
        assert!(text.contains("and 968 ranks more"), "{text}");
        assert!(text.lines().count() < 40 && text.len() < 8000, "{text}");
    }

    #[test]
    fn of_several_cycles_that_with_the_lowest_rank_is_named() {
        let peers = [5, 2, 3, 1, NOBODY, 6, 5];
        let ranks = peers.iter().zip(0..).map(|(&peer, i)| rank(i, Primitive::Recv, peer, 7));
        assert_eq!(report(ranks.collect()).cycle(), Some(vec![1, 2, 3]));
    }

    /// Each rank is looked at once: with a step for each pair of ranks this would not end.
    #[test]
    fn a_chain_of_many_ranks_is_read_in_one_pass() {
        let last = crate::memory::Layout::MAX_JOB_RANKS >> 8;
        let chain = (0..=last).map(|i| rank(i, Primitive::Recv, if i < last { i + 1 } else { 9 }, i as i32));
        let report = report(chain.collect());
        assert_eq!(report.cycle().map(|cycle| (cycle[0], cycle.len() as u32)), Some((9, last - 8)));
        assert!(report.to_string().contains("each waits for the next"));
    }

    #[test]
    fn states_that_cannot_be_are_merged_and_read_all_the_same() {
        let most = u32::MAX;
        let ranks = vec![rank(most, Primitive::Recv, most, -1), rank(most, Primitive::Send, 0, 0)];
        let mut state = report(ranks).state().clone();
        (state.posted, state.unexpected, state.global.sent) = (most, most, u64::MAX);
        let whole = merge(&[state.clone(), state]);
        assert_eq!((whole.posted, whole.unexpected, whole.ranks.len()), (most, most, 4));
        assert!(HangReport::new(whole).to_string().contains("4294967295"));
    }
}
