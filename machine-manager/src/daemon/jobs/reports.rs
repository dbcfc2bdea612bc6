//! Questions to all launchers of a job what their ranks do, and what the answers are for: the live report of
//! a job, the report of one that its time limit ends, and the detection of deadlocks across nodes (design §4,
//! "Hang reports").
//!
//! A deadlock is looked for when every launcher has said that all its ranks are blocked. Invariant: it is
//! stated only when two whole rounds of answers, [`LOOK_PERIOD`] apart, agree.

use super::ClientId;
use nic_emu::hang::{self, HangReport, JobState, LOOK_PERIOD};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long an answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(2);
/// How long after a look that found no deadlock the next one comes, at first and at most.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(8));

/// What a round of questions is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A user wants to know.
    Status(ClientId),
    /// The time limit of the job has struck.
    TimeLimit,
    /// To look for a deadlock.
    Hang,
}

/// A round whose answers are there, or will not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// What it was for.
    pub purpose: Purpose,
    /// What the ranks do, as people read it; empty when no node has answered.
    pub report: String,
    /// The nodes of the job that have not answered.
    pub silent: Vec<usize>,
}

#[derive(Debug)]
struct Round {
    purpose: Purpose,
    awaiting: BTreeSet<usize>,
    states: BTreeMap<usize, JobState>,
    until: Duration,
}

/// Where the search for a deadlock is.
#[derive(Debug, Default)]
enum Look {
    /// Not before this time.
    #[default]
    Idle,
    NotBefore(Duration),
    Asking,
    /// The first round has answered.
    Second(Vec<JobState>, Duration),
    AskingAgain(Vec<JobState>),
}

/// The rounds of a job that are under way.
#[derive(Debug, Default)]
pub struct Reports {
    rounds: BTreeMap<u64, Round>,
    look: Look,
    pause: Option<Duration>,
}

impl Reports {
    /// Begins a round with a number of its own, for these nodes of the job.
    pub fn begin(
        &mut self,
        number: u64,
        purpose: Purpose,
        parts: impl IntoIterator<Item = usize>,
        now: Duration,
    ) {
        let awaiting = parts.into_iter().collect();
        let round = Round { purpose, awaiting, states: BTreeMap::new(), until: now + PATIENCE };
        self.rounds.insert(number, round);
    }

    /// An answer.
    pub fn handle_state(&mut self, number: u64, part: usize, state: JobState) {
        if let Some(round) = self.rounds.get_mut(&number)
            && round.awaiting.remove(&part)
        {
            round.states.insert(part, state);
        }
    }

    /// How many rounds are under way.
    pub fn under_way(&self) -> usize {
        self.rounds.len()
    }

    /// A node that will not answer.
    pub fn handle_gone(&mut self, part: usize) {
        self.rounds.values_mut().for_each(|round| {
            round.awaiting.remove(&part);
        });
    }

    /// Whether a look for a deadlock is due, given that all ranks of the job are said to be blocked or not.
    /// True at most once until its round has been begun with [`Purpose::Hang`].
    pub fn wants_look(&mut self, all_blocked: bool, now: Duration) -> bool {
        if !all_blocked {
            if !matches!(self.look, Look::Asking | Look::AskingAgain(_)) {
                (self.look, self.pause) = (Look::Idle, None);
            }
            return false;
        }
        match std::mem::take(&mut self.look) {
            Look::NotBefore(at) if now < at => self.look = Look::NotBefore(at),
            Look::Second(before, at) if now < at => self.look = Look::Second(before, at),
            Look::Idle | Look::NotBefore(_) => {
                self.look = Look::Asking;
                return true;
            }
            Look::Second(before, _) => {
                self.look = Look::AskingAgain(before);
                return true;
            }
            look @ (Look::Asking | Look::AskingAgain(_)) => self.look = look,
        }
        false
    }

    /// Takes a round that is finished. One of the search for a deadlock is given out only if there is one.
    pub fn poll_finished(&mut self, now: Duration) -> Option<Finished> {
        loop {
            let done = |round: &Round| round.awaiting.is_empty() || now >= round.until;
            let number = self.rounds.iter().find(|(_, round)| done(round)).map(|(number, _)| *number)?;
            let Round { purpose, awaiting, states, .. } = self.rounds.remove(&number)?;
            let states: Vec<JobState> = states.into_values().collect();
            let silent: Vec<usize> = awaiting.into_iter().collect();
            if purpose != Purpose::Hang {
                let report = match states.is_empty() {
                    true => String::new(),
                    false => HangReport(hang::merge(&states)).to_string(),
                };
                return Some(Finished { purpose, report, silent });
            }
            if let Some(report) = self.looked(states, silent.is_empty(), now) {
                return Some(Finished { purpose, report: report.to_string(), silent });
            }
        }
    }

    /// What follows from a round of the search; the report, when it is a deadlock.
    fn looked(&mut self, states: Vec<JobState>, is_whole: bool, now: Duration) -> Option<HangReport> {
        match std::mem::take(&mut self.look) {
            Look::Asking if is_whole => {
                self.look = Look::Second(states, now + LOOK_PERIOD);
                return None;
            }
            Look::AskingAgain(before) if is_whole => {
                if let Some(report) = hang::is_deadlock(&before, &states) {
                    return Some(report);
                }
            }
            _ => {}
        }
        let pause = self.pause.map_or(LOOK_AGAIN.0, |pause| (pause * 2).min(LOOK_AGAIN.1));
        self.pause = Some(pause);
        self.look = Look::NotBefore(now + pause);
        None
    }

    /// When something is due although nothing arrives.
    pub fn wakes_at(&self) -> Option<Duration> {
        let look = match &self.look {
            Look::NotBefore(at) | Look::Second(_, at) => Some(*at),
            Look::Idle | Look::Asking | Look::AskingAgain(_) => None,
        };
        self.rounds.values().map(|round| round.until).chain(look).min()
    }
}
