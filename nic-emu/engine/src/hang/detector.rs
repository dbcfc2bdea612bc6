//! When a job is in a deadlock.
//!
//! On one node a [`HangDetector`] states it. Of a job on several nodes each node's detector can only say that
//! nothing goes on *here*; who has the states of all nodes, read twice, states it ([`is_deadlock`]).

use super::report::HangReport;
use super::state::{JobState, merge};
use crate::memory::NicMemory;
use std::time::Duration;

/// How often to look for a deadlock.
pub const LOOK_PERIOD: Duration = Duration::from_millis(100);

/// Whether a job on several nodes is in a deadlock, from the states of *all* its nodes, read twice in the
/// same order: the second round begins when the first is complete. Of a job on several nodes: one node has
/// its [`HangDetector`]. Answers the report of all of them. A node whose ranks have all ended counts as one
/// where nobody waits: its NIC still serves the others.
///
/// **Why nothing can be in flight then.** Let `T` be a moment between the two rounds.
///
/// 1. Of every node both states are quiet and say the same of waits and moves. A wait that is the same before
///    and after `T` was under way at `T`, so at `T` all live ranks were blocked; and no node has sent, taken,
///    scheduled or completed anything between its two states, both before and after `T`.
/// 2. What a node tells the others of its messages and collectives, it tells in records, which it counts when
///    it sends them and when it takes them. All nodes together have sent at `T` what they had sent before
///    both their states, and so with taken (by 1): the sums are those of the second round. They are equal, so
///    no record was in flight at `T`.
/// 3. What is left are microstrobes, reports and bells. None of them makes something happen that no node
///    wants; and at `T` nobody had anything to send, to match, to grant or to start: a node that has wants a
///    slice, and is not quiet.
/// 4. What could change that is a rank that goes on. A rank that was blocked at `T` goes on only when
///    something is completed for it; completions come of slices in which something is done, of which by (3)
///    there is none, or of ranks that claim messages, which count as computing, or count no looks, meanwhile;
///    and one that was completed before has been seen: every rank has begun and ended a look
///    between its two states, or slept in both, and who completes wakes. Of room that has come back nobody
///    tells who waits for it: that rank has looked.
pub fn is_deadlock(first: &[JobState], second: &[JobState]) -> Option<HangReport> {
    let is_still = first.len() == second.len()
        && first.iter().chain(second).all(JobState::is_quiet_or_over)
        && first.iter().zip(second).all(|(before, after)| after.is_as_before(before, WHOLE_LOOK));
    let job = merge(second);
    (is_still && job.global.sent == job.global.taken && job.is_quiet()).then_some(HangReport(job))
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
    /// Looks; answers the report if it is a deadlock. For one node of several it answers when all its ranks
    /// wait and nothing of it is under way: blocked *here*, which is no deadlock as long as another node goes
    /// on. A node on which no rank is left never answers.
    pub fn look(&mut self, memory: &NicMemory) -> Option<HangReport> {
        let state = JobState::read(memory);
        if !state.is_quiet() || self.quiet.as_ref().is_some_and(|before| !state.is_as_before(before, 1)) {
            self.quiet = state.is_quiet().then_some(state);
            self.looks = 0;
            return None;
        }
        self.quiet = Some(state.clone());
        self.looks += 1;
        (self.looks >= LOOKS).then_some(HangReport(state))
    }
}
