//! What people read of a job that hangs: who waits for what, in which circle, and who is the odd one out.

use super::state::{Full, JobState, RankState, Unreceived};
use crate::matching::naming::{communicator, counted, is_rooted, ranks_text};
use crate::memory::descriptor::ANY_TAG;
use crate::memory::slab::{BUFFERED_BYTES, SLABS};
use crate::memory::status::{Phase, Room, WaitingFor};
use crate::memory::{
    COLLECTIVE_RING, CommRank, Context, MESSAGE_ENTRIES, RECEIVE_RING, SEND_RING, TRANSFERS,
};
use crate::threads::collective_list::COMMON_INSTANCES;
use bcs_core::{ByteCount, Rank};
use mds::Primitive;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// Who waits for what, as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangReport(pub JobState);

impl HangReport {
    /// Tells of ranks whose pools have no room for what others send them.
    fn tell_full_receivers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut senders = BTreeMap::<Rank, Vec<&RankState>>::new();
        for rank in self.0.ranks.iter().filter(|rank| rank.waits_in_mpi() && rank.waits_for.sends) {
            senders.entry(rank.waits_for.peer_in_job).or_default().push(rank);
        }
        for receiver in self.0.ranks.iter() {
            let Some(senders) = senders.get(&receiver.rank) else { continue };
            let Unreceived { bytes, room_bytes, limit_bytes } = receiver.unreceived;
            let too_long = room_bytes.saturating_add(1)..=BUFFERED_BYTES as u64;
            let waits = |sender: &&&RankState| too_long.contains(&sender.waits_for.bytes);
            let waiting: Vec<Rank> = senders.iter().filter(waits).map(|sender| sender.rank).collect();
            if waiting.is_empty() {
                continue;
            }
            let (noun, ending) = if waiting.len() == 1 { ("rank", "s") } else { ("ranks", "") };
            writeln!(
                f,
                "  no room: rank {} has not received {} of messages, of at most {} (--unexpected-limit); {noun} {} \
                 wait{ending} until it receives some",
                receiver.rank,
                ByteCount(bytes),
                ByteCount(limit_bytes),
                ranks_text(&waiting),
            )?;
        }
        Ok(())
    }

    /// Ranks that wait for each other in a circle, each for the next: of several circles the one with the
    /// lowest rank, from that on. Looks at every rank once.
    pub fn cycle(&self) -> Option<Vec<Rank>> {
        let waiting = self.0.ranks.iter().filter(|rank| rank.waits_in_mpi());
        let next: HashMap<Rank, Rank> = waiting
            .map(|rank| (rank, rank.waits_for.peer_in_job))
            // A root waits for the others, and not for itself.
            .filter(|(rank, peer)| *peer < Rank::NOBODY && (*peer != rank.rank || !has_root(&rank.waits_for)))
            .map(|(rank, peer)| (rank.rank, peer))
            .collect();
        let (mut seen, mut found) = (HashSet::new(), None::<Vec<Rank>>);
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
            let lowest = (0..cycle.len()).min_by_key(|&place| cycle[place]);
            cycle.rotate_left(lowest.unwrap_or_default());
            if found.as_ref().is_none_or(|other| cycle[0] < other[0]) {
                found = Some(cycle);
            }
        }
        found
    }
}

/// What a rank, or several, are doing.
#[derive(PartialEq, Eq, Hash)]
enum Doing {
    Is(&'static str),
    Waits(String),
    Computes,
}

/// The call's name.
fn call(waits_for: &WaitingFor) -> &'static str {
    Primitive::ALL.get(waits_for.call as usize).map_or("MPI", |call| call.name())
}

/// Whether the peer is the root of a collective call, which all its ranks name.
fn has_root(waits_for: &WaitingFor) -> bool {
    waits_for.peer < CommRank::NOBODY && is_rooted(call(waits_for))
}

/// Whether the call has no room for a message, of which bytes would be said.
fn probes(waits_for: &WaitingFor) -> bool {
    ["MPI_Probe", "MPI_Mprobe"].contains(&call(waits_for))
}

/// "in MPI_Recv from 0, tag 7, 8 bytes, MPI_COMM_WORLD"; of several ranks together, without the peer that
/// each has of its own.
fn describe(waits_for: &WaitingFor, together: bool) -> String {
    let mut text = format!("in {}", call(waits_for));
    if waits_for.requests > 1 {
        text += &format!(" for {} requests, first", waits_for.requests);
    }
    let direction = if waits_for.sends { "to" } else { "from" };
    match waits_for.peer {
        CommRank::NOBODY => {}
        CommRank::ANY_SOURCE => text += " from any source",
        root if has_root(waits_for) => text += &format!(", root {root}"),
        _ if together => text += &format!(" {direction} one rank each"),
        peer => text += &format!(" {direction} {peer}"),
    }
    // Ranks of this report are those of the job; a peer is named as the call names it.
    let elsewhere = waits_for.peer_in_job < Rank::NOBODY && waits_for.peer_in_job.0 != waits_for.peer.0;
    if elsewhere && !together {
        text += &format!(" (rank {} of the job)", waits_for.peer_in_job);
    }
    if waits_for.peer != CommRank::NOBODY {
        match waits_for.tag {
            _ if has_root(waits_for) => {}
            ANY_TAG => text += ", any tag",
            tag => text += &format!(", tag {tag}"),
        }
        if !probes(waits_for) {
            text += &format!(", {}", counted(waits_for.bytes, "byte"));
        }
    }
    if waits_for.context != Context::NONE {
        text += &format!(", {}", communicator(waits_for.context));
    }
    if let Some(room) = lacking(waits_for.room) {
        text += &format!(", for room: {room}");
    }
    text
}

/// What room a rank lacks, and why.
fn lacking(room: Room) -> Option<String> {
    let ring =
        |name, cells| format!("all {cells} cells of its {name} ring wait for a slice that has room for them");
    Some(match room {
        Room::Enough => return None,
        Room::SendRing => ring("send", SEND_RING),
        Room::ReceiveRing => ring("receive", RECEIVE_RING),
        Room::CollectiveRing => ring("collective", COLLECTIVE_RING),
        Room::Slab => format!("its {SLABS} slabs hold what others have not taken"),
        Room::Edge => "the edge to a neighbour holds what it has not taken".into(),
    })
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
fn groups(ranks: &[RankState], together: bool) -> Vec<(Doing, Vec<Rank>)> {
    let mut groups = HashMap::<Doing, Vec<Rank>>::new();
    for rank in ranks {
        groups.entry(rank.doing(together)).or_default().push(rank.rank);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, ranks)| (ranks.len(), ranks[0]));
    groups
}

/// Lines of a report at most; with more, ranks that wait in the same call for different peers stand together.
const MOST_LINES: usize = 32;

impl fmt::Display for HangReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = groups(&self.0.ranks, false);
        if lines.len() > MOST_LINES {
            lines = groups(&self.0.ranks, true);
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
            let path: Vec<String> = cycle.iter().take(MOST_LINES).map(Rank::to_string).collect();
            let gap = if cycle.len() > MOST_LINES { "... -> " } else { "" };
            let (path, first) = (path.join(" -> "), cycle[0]);
            match cycle[..] {
                [alone] => writeln!(f, "  rank {alone} waits for itself")?,
                _ => writeln!(f, "  cycle: {path} -> {gap}{first} (each waits for the next)")?,
            }
        }
        if self.0.unexpected > 0 || self.0.posted > 0 {
            writeln!(
                f,
                "  pending: {} without a message, {} without a receive",
                counted(self.0.posted.into(), "receive"),
                counted(self.0.unexpected.into(), "message")
            )?;
        }
        let Full { instances, transfers, entries } = self.0.full;
        for (is_full, most, what) in [
            (instances, COMMON_INSTANCES, "collectives that members have still to come to"),
            (transfers, TRANSFERS, "messages from memory to memory"),
            (entries, MESSAGE_ENTRIES, "messages and receives that wait for each other"),
        ] {
            if is_full {
                writeln!(f, "  no room: a node holds no more than {most} {what}")?;
            }
        }
        self.tell_full_receivers(f)?;
        write!(f, "  at slice {}", self.0.slice)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::state::merge;
    use super::*;

    const NOBODY: u32 = CommRank::NOBODY.0;
    use crate::memory::contexts::WORLD_CONTEXT;
    use crate::memory::status::Activity;

    fn rank(rank: u32, call: Primitive, peer: u32, tag: i32) -> RankState {
        let waits_for = WaitingFor {
            call: call.index() as u32,
            context: WORLD_CONTEXT,
            peer: CommRank(peer),
            peer_in_job: Rank(peer),
            tag,
            bytes: 8,
            requests: 1,
            ..WaitingFor::default()
        };
        RankState {
            rank: Rank(rank),
            phase: Phase::Attached,
            activity: Activity::Polling,
            waits_for,
            waits: 1,
            polls: 1,
            asleep: false,
            concurrent: false,
            unreceived: Unreceived { bytes: 0, room_bytes: 65_536, limit_bytes: 1 << 20 },
        }
    }

    fn report(ranks: Vec<RankState>) -> HangReport {
        HangReport(JobState { ranks, slice: 12, posted: 1, ..JobState::default() })
    }

    fn assert_says(report: &HangReport, expected: &[&str], absent: &[&str]) {
        let text = report.to_string();
        expected.iter().for_each(|line| assert!(text.contains(line), "{line} is not in:\n{text}"));
        absent.iter().for_each(|line| assert!(!text.contains(line), "{line} is in:\n{text}"));
    }

    #[test]
    fn a_cycle_of_receives_is_named() {
        let report = report((0..3).map(|i| rank(i, Primitive::Recv, (i + 1) % 3, 7)).collect());
        assert_eq!(report.cycle(), Some([0, 1, 2].map(Rank).to_vec()));
        let first = "rank 0: waits in MPI_Recv from 1, tag 7, 8 bytes, MPI_COMM_WORLD";
        assert_says(&report, &[first, "cycle: 0 -> 1 -> 2 -> 0"], &[]);
    }

    #[test]
    fn who_waits_for_itself_is_told_so_and_a_root_does_not() {
        let alone = report(vec![rank(0, Primitive::Recv, 0, 7), rank(1, Primitive::Barrier, NOBODY, 0)]);
        assert_says(&alone, &["\n  rank 0 waits for itself\n"], &[]);
        for call in [Primitive::Reduce, Primitive::Ibcast, Primitive::GatherInit] {
            let report = report((0..2).map(|i| rank(i, call, 0, 0)).collect());
            let line = format!("  ranks 0, 1: wait in {}, root 0, 8 bytes, MPI_COMM_WORLD\n", call.name());
            assert_says(&report, &[&line], &["itself", "cycle"]);
        }
    }

    #[test]
    fn a_rank_whose_messages_are_at_the_limit_is_named_with_the_limit_and_who_waits() {
        let mut sender = rank(0, Primitive::Send, 1, 7);
        sender.waits_for.sends = true;
        let mut receiver = rank(1, Primitive::Barrier, NOBODY, 0);
        // There is room.
        assert_says(&report(vec![sender, receiver]), &[], &["no room"]);
        receiver.unreceived = Unreceived { bytes: 1 << 20, room_bytes: 0, limit_bytes: 1 << 20 };
        let expected = "no room: rank 1 has not received 1MiB of messages, of at most 1MiB (--unexpected-limit); rank 0 waits until";
        assert_says(&report(vec![sender, receiver]), &[expected], &[]);
        // It would wait anyway.
        sender.waits_for.bytes = BUFFERED_BYTES as u64 + 1;
        assert_says(&report(vec![sender, receiver]), &[], &["no room"]);
    }

    #[test]
    fn one_of_a_thing_is_singular_and_several_are_plural() {
        let mut single = rank(0, Primitive::Recv, 1, 7);
        single.waits_for.bytes = 1;
        let busy = |rank| RankState { rank, activity: Activity::Computing, ..single };
        let mut report = report(vec![single, busy(Rank(1))]);
        let lines = [
            "  rank 0: waits in MPI_Recv from 1, tag 7, 1 byte, MPI_COMM_WORLD\n",
            "  rank 1: computes\n",
            "  pending: 1 receive without a message, 0 messages without a receive\n",
        ];
        assert_says(&report, &lines, &[]);
        report.0.ranks = vec![single, RankState { rank: Rank(3), ..single }, busy(Rank(1)), busy(Rank(2))];
        (report.0.posted, report.0.unexpected) = (2, 1);
        let lines = [
            "  ranks 0, 3: wait in MPI_Recv from 1, tag 7, 1 byte, MPI_COMM_WORLD\n",
            "  ranks 1, 2: compute\n",
            "  pending: 2 receives without a message, 1 message without a receive\n",
        ];
        assert_says(&report, &lines, &[]);
    }

    #[test]
    fn the_odd_one_out_stands_first_and_the_others_are_one_line() {
        let mut ranks: Vec<_> = [0, 2, 3].map(|i| rank(i, Primitive::Barrier, NOBODY, 0)).into();
        ranks.push(rank(1, Primitive::Recv, 0, 7));
        let report = report(ranks);
        assert!(report.to_string().starts_with("  rank 1: waits in MPI_Recv from 0"), "{report}");
        assert_says(&report, &["ranks 0, 2, 3: wait in MPI_Barrier, MPI_COMM_WORLD"], &[]);
    }

    #[test]
    fn a_peer_of_another_communicator_is_named_as_the_call_names_it_and_as_the_report_does() {
        let mut odd = rank(3, Primitive::Recv, 0, 7);
        odd.waits_for.context = Context(18);
        odd.waits_for.peer_in_job = Rank(2);
        let line = "waits in MPI_Recv from 0 (rank 2 of the job), tag 7, 8 bytes, communicator 18";
        assert_says(&report(vec![odd]), &[line], &[]);
    }

    #[test]
    fn of_a_probe_no_bytes_are_said() {
        for call in [Primitive::Probe, Primitive::Mprobe] {
            let line = format!("rank 0: waits in {} from 1, tag 7, MPI_COMM_WORLD\n", call.name());
            assert_says(&report(vec![rank(0, call, 1, 7)]), &[&line], &["byte"]);
        }
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
    fn a_rank_that_waits_for_room_says_in_which_call_and_for_what_room() {
        let mut root = rank(0, Primitive::Bcast, NOBODY, 0);
        root.waits_for.room = Room::Slab;
        let mut report = report(vec![root]);
        report.0.full.instances = true;
        let lines = [
            "  rank 0: waits in MPI_Bcast, MPI_COMM_WORLD, for room: its 256 slabs hold what others have not taken\n",
            "  no room: a node holds no more than 2048 collectives that members have still to come to\n",
        ];
        assert_says(&report, &lines, &[]);
    }

    #[test]
    fn of_several_cycles_that_with_the_lowest_rank_is_named() {
        let peers = [5, 2, 3, 1, NOBODY, 6, 5];
        let ranks = peers.iter().zip(0..).map(|(&peer, i)| rank(i, Primitive::Recv, peer, 7));
        assert_eq!(report(ranks.collect()).cycle(), Some([1, 2, 3].map(Rank).to_vec()));
    }

    /// Each rank is looked at once: with a step for each pair of ranks this would not end.
    #[test]
    fn a_chain_of_many_ranks_is_read_in_one_pass() {
        let last = crate::memory::Layout::MAX_JOB_RANKS >> 8;
        let chain = (0..=last).map(|i| rank(i, Primitive::Recv, if i < last { i + 1 } else { 9 }, i as i32));
        let report = report(chain.collect());
        assert_eq!(report.cycle().map(|cycle| (cycle[0], cycle.len() as u32)), Some((Rank(9), last - 8)));
        assert!(report.to_string().contains("each waits for the next"));
    }

    #[test]
    fn states_that_cannot_be_are_merged_and_read_all_the_same() {
        let most = u32::MAX;
        let ranks = vec![rank(most, Primitive::Recv, most, -1), rank(most, Primitive::Send, 0, 0)];
        let mut state = report(ranks).0;
        (state.posted, state.unexpected, state.global.sent) = (most, most, u64::MAX);
        let whole = merge(&[state.clone(), state]);
        assert_eq!((whole.posted, whole.unexpected, whole.ranks.len()), (most, most, 4));
        assert!(HangReport(whole).to_string().contains("4294967295"));
    }
}
