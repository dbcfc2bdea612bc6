//! Runs a program on a machine: ranks take turns at random; when nothing moves any more, everything that
//! could still complete is a bug; then what the program is stuck in is cancelled, and it goes on.

use crate::program::{Call, Program};
use crate::random::Random;
use crate::rank::{Outstanding, RankRun};
use crate::rules::Log;
use crate::watch::Watch;
use bcs_core::Rank;
use nic_emu::descriptor::Check;
use nic_emu::hang::HangReport;
use nic_emu::matching::Envelope;
use nic_emu::memory::NicMemory;
use nic_emu::memory::descriptor::CollectiveKind;
use nic_emu::memory::numbers::CommRank;
use nic_emu::memory::queue::{PostedReceives, UnexpectedMessages};
use nic_emu::memory::slab::{OF_COLLECTIVES, SLABS};
use nic_emu::port::{Posted, Send};
use std::cell::Cell;
use std::sync::Arc;

/// Slabs of a rank that messages may take.
const OF_MESSAGES: usize = SLABS - OF_COLLECTIVES;

thread_local! {
    /// The virtual clock of the machine that this thread runs.
    static CLOCK_NS: Cell<u64> = const { Cell::new(1) };
}

/// The clock that ports read.
pub fn clock() -> u64 {
    CLOCK_NS.get()
}

pub fn set_clock(now_ns: u64) {
    CLOCK_NS.set(now_ns);
}

/// What the ranks run on: one NIC, or many and a network.
pub trait Machine {
    /// Lets something happen beside the ranks. False when nothing did.
    fn step(&mut self, random: &mut Random) -> bool;
    /// The NICs.
    fn memories(&self) -> Vec<Arc<NicMemory>>;
    /// What they have under way, for a message.
    fn describe(&self) -> String {
        String::new()
    }
}

/// Rounds in which nothing changes before the program is taken to be stuck.
const QUIET_ROUNDS: usize = 40;
/// The same with fixed slices, of which a round is a small part: large messages go chunk by chunk, and a
/// lossy network repeats.
const QUIET_ROUNDS_FIXED: usize = 320;

/// Rounds after which a program that has neither finished nor is stated to be in a deadlock does neither.
const MOST_ROUNDS: usize = 100_000;

pub struct Run<'a, M> {
    pub program: &'a Program,
    pub machine: M,
    pub ranks: Vec<RankRun>,
    pub log: Log,
    pub random: Random,
    pub watch: Watch,
}

impl<M: Machine> Run<'_, M> {
    /// Runs to the end and checks everything.
    pub fn complete(&mut self) {
        self.until_finished();
        self.receive_the_rest();
        self.log.check();
        assert!(self.log.unreceived().is_empty());
        self.check_nothing_is_left();
    }

    /// The same without looking what is left in NIC memory.
    pub fn finish(&mut self) {
        self.until_finished();
        self.receive_the_rest();
        self.log.check();
        assert!(self.log.unreceived().is_empty());
    }

    fn patience(&self) -> usize {
        let elastic = self.machine.memories().iter().all(|memory| memory.header().slice_period_ns.get() == 0);
        if elastic { QUIET_ROUNDS } else { QUIET_ROUNDS_FIXED }
    }

    fn until_finished(&mut self) {
        let mut quiet = 0;
        while !self.ranks.iter().all(RankRun::is_finished) {
            let moved = self.round();
            self.check_watch();
            if moved {
                quiet = 0;
                continue;
            }
            quiet += 1;
            if quiet > self.patience() {
                self.check_stuck();
                self.check_that_it_is_seen();
                let cancelled =
                    self.ranks.iter_mut().map(RankRun::cancel_all).filter(|&cancelled| cancelled).count();
                if cancelled == 0 {
                    panic!("stuck, with nothing to cancel:\n{}", self.describe());
                }
                quiet = 0;
            }
        }
    }

    pub fn describe(&self) -> String {
        let ranks: String =
            self.ranks.iter().filter(|r| !r.is_finished()).map(|r| r.describe() + "\n").collect();
        ranks + &self.machine.describe()
    }

    /// What is stated to be a deadlock is one: no rank gets anything any more. Answers what was stated.
    fn check_watch(&mut self) -> Option<HangReport> {
        let memories = self.machine.memories();
        if is_alone_in_fixed_slices(&memories) {
            return None;
        }
        let report = self.watch.look(&memories, &mut self.random)?;
        for _ in 0..QUIET_ROUNDS {
            let changed = self.ranks_step();
            assert!(!changed, "a rank goes on after a deadlock was stated:\n{report}\n{}", self.describe());
            self.machine.step(&mut self.random);
        }
        Some(report)
    }

    /// Runs until all ranks have finished, or until they are stated to be in a deadlock: answers what was
    /// stated.
    pub fn until_finished_or_stated(&mut self) -> Option<HangReport> {
        for _ in 0..MOST_ROUNDS {
            if self.ranks.iter().all(RankRun::is_finished) {
                return None;
            }
            self.round();
            let report = self.check_watch();
            if report.is_some() {
                return report;
            }
        }
        panic!("neither finished nor stated to be in a deadlock:\n{}", self.describe());
    }

    /// Stuck: that is stated to be a deadlock.
    fn check_that_it_is_seen(&mut self) {
        let memories = self.machine.memories();
        if is_alone_in_fixed_slices(&memories) {
            return;
        }
        for _ in 0..9 * memories.len() + QUIET_ROUNDS_FIXED {
            if self.watch.look(&memories, &mut self.random).is_some() {
                return;
            }
            self.round();
        }
        panic!("stuck, and no deadlock is stated:\n{}\n{}", self.watch.describe(), self.describe());
    }

    fn ranks_step(&mut self) -> bool {
        let Self { ranks, program, log, random, .. } = self;
        ranks.iter_mut().fold(false, |changed, rank| rank.step(program, log, random) | changed)
    }

    /// Every rank has some turns. True if something changed.
    fn round(&mut self) -> bool {
        let changed = self.round_of(|_, _| true);
        self.ranks_step() | changed
    }

    /// Some of the ranks that live have some turns.
    pub fn round_of(&mut self, lives: impl Fn(&M, usize) -> bool) -> bool {
        let mut changed = false;
        for _ in 0..self.ranks.len() {
            let rank = self.random.below(self.ranks.len());
            if !lives(&self.machine, rank) {
                continue;
            }
            for _ in 0..1 + self.random.below(4) {
                changed |= self.ranks[rank].step(self.program, &mut self.log, &mut self.random);
            }
            changed |= self.machine.step(&mut self.random);
        }
        changed | self.machine.step(&mut self.random)
    }

    /// Nothing moves: then nothing that was posted can be matched, and no complete collective waits.
    fn check_stuck(&mut self) {
        self.log.check();
        let unreceived = self.log.unreceived();
        for rank in &self.ranks {
            for outstanding in rank.outstanding() {
                match outstanding {
                    Outstanding::Receive(receive) => {
                        let receive = &self.log.receives[receive];
                        for &message in &unreceived {
                            let message = &self.log.messages[message];
                            assert!(
                                message.destination != receive.destination
                                    || !receive.envelope.takes(&message.envelope),
                                "{receive:?} and {message:?} wait for each other\n{}",
                                self.describe()
                            );
                        }
                    }
                    Outstanding::Send(message) => {
                        assert!(
                            unreceived.contains(&message),
                            "send {message} was received, but is not complete"
                        );
                    }
                    Outstanding::Collective { comm, index } => {
                        let members = self.program.comms[comm].members.len();
                        let call = &self.program.comms[comm].collectives[index];
                        assert!(
                            self.log.arrived(comm, index) < members,
                            "all are in collective {index} of {comm} ({:?}), and rank {} has not left\n{}",
                            call.kind,
                            rank.rank,
                            self.describe()
                        );
                    }
                }
            }
        }
        // What waits is seen by a probe.
        for &message in &unreceived {
            let (envelope, destination) =
                (self.log.messages[message].envelope, self.log.messages[message].destination);
            let found = self.ranks[destination].port().probe(&envelope).unwrap();
            assert!(found.is_some(), "message {message} waits, but a probe does not see it");
        }
    }

    /// Messages that no rank wanted are received now.
    fn receive_the_rest(&mut self) {
        self.until_quiet();
        self.log.check();
        for message in self.log.unreceived() {
            let message = self.log.messages[message].clone();
            let Envelope { context, source, tag } = message.envelope;
            let comm = self.program.comms.iter().position(|c| c.context == context).unwrap();
            let (from, tag) = (Some(source.index()), Some(tag));
            self.ranks[message.destination].add_call(Call::Receive {
                comm,
                from,
                tag,
                capacity: message.bytes,
            });
        }
        self.ranks.iter_mut().for_each(|rank| rank.add_call(Call::WaitAll));
        self.until_finished();
        for (comm, calls) in self.program.comms.iter().enumerate() {
            for (index, call) in calls.collectives.iter().enumerate() {
                if matches!(
                    call.kind,
                    CollectiveKind::Barrier | CollectiveKind::Allreduce | CollectiveKind::Board
                ) {
                    self.log.check_barrier(comm, index, calls.members.len());
                }
            }
        }
    }

    fn until_quiet(&mut self) {
        let mut quiet = 0;
        while quiet < self.patience() {
            quiet = if self.round() { 0 } else { quiet + 1 };
        }
    }

    /// All pools are empty, and every rank has all its slabs.
    fn check_nothing_is_left(&mut self) {
        // A collective that its members have departed from is taken off the list when the next one begins.
        let closing = self.program.closing_barrier();
        self.ranks.iter_mut().for_each(|rank| rank.add_call(closing.clone()));
        self.until_finished();
        let context = self.program.comms[0].context;
        for i in 0..self.ranks.len() {
            // As many buffered messages to itself as it has slabs for them: all are buffered, so all those
            // slabs are there.
            let data = [7; 100];
            let send = Send {
                context,
                source: CommRank(i as u32),
                tag: 99,
                destination: Rank(i as u32),
                synchronous: false,
                check: Check::NONE,
                signature: 0,
            };
            for slab in 0..OF_MESSAGES {
                // SAFETY: buffered, or else the test fails.
                let posted =
                    unsafe { self.ranks[i].port().post_send(&send, data.as_ptr(), data.len()) }.unwrap();
                assert_eq!(posted, Posted::Complete, "rank {i} has lost slabs: only {slab} are left");
            }
            let mut back = vec![[0; 100]; OF_MESSAGES];
            let envelope = Envelope { context, source: CommRank(i as u32), tag: 99 };
            let mut requests = Vec::new();
            for buffer in &mut back {
                // SAFETY: the buffer outlives the wait for the request.
                let request =
                    unsafe { self.ranks[i].port().post_receive(&envelope, buffer.as_mut_ptr(), 100) };
                requests.push(request.unwrap());
            }
            while !requests.is_empty() {
                self.ranks[i].port().progress().unwrap();
                self.machine.step(&mut self.random);
                requests.retain(|&request| self.ranks[i].port().test(request).unwrap().is_none());
            }
            assert!(back.iter().all(|buffer| *buffer == data));
        }
        self.until_quiet();
        for memory in self.machine.memories() {
            let header = memory.header();
            assert_eq!(memory.control().entries.used(), 0, "queued descriptors are left");
            assert_eq!(header.pools.transfers.used(), 0, "transfers are left");
            for rank in memory.local_ranks() {
                let block = memory.rank(rank).unwrap();
                assert!(
                    PostedReceives::of(&memory, block).is_empty()
                        && UnexpectedMessages::of(&memory, block).list().is_empty(),
                    "rank {rank} has queued descriptors"
                );
            }
            assert_eq!(header.pools.instances.used(), 0, "collectives are left");
        }
    }
}

/// One node alone has no global slices by whose numbers its states could be compared; its own detector waits
/// for some of its beats.
fn is_alone_in_fixed_slices(memories: &[Arc<NicMemory>]) -> bool {
    memories.len() == 1 && memories[0].header().slice_period_ns.get() != 0
}
