//! Looks for deadlocks as a job's manager does: reads the states of all nodes one after another, at times
//! that have nothing to do with each other, twice, and asks whether it is one.

use crate::random::Random;
use nic_emu::hang::{HangReport, JobState, is_deadlock};
use nic_emu::memory::NicMemory;
use std::sync::Arc;

/// Two rounds of states, as far as they have been read.
#[derive(Default)]
pub struct Watch {
    first: Vec<JobState>,
    second: Vec<JobState>,
}

impl Watch {
    /// Reads the states of some more nodes; answers the report when two rounds say that it is a deadlock.
    pub fn look(&mut self, memories: &[Arc<NicMemory>], random: &mut Random) -> Option<HangReport> {
        // Every rank has to have looked in between.
        if !random.once_in(3) {
            return None;
        }
        for _ in 0..1 + random.below(memories.len()) {
            if self.first.len() < memories.len() {
                self.first.push(JobState::read(&memories[self.first.len()]));
                continue;
            }
            self.second.push(JobState::read(&memories[self.second.len()]));
            if self.second.len() == memories.len() {
                let report = is_deadlock(&self.first, &self.second);
                let second = std::mem::take(&mut self.second);
                // Now and then one waits for longer between two rounds.
                if random.once_in(2) {
                    self.first = second;
                }
                return report;
            }
        }
        None
    }

    /// What it has read, for a message.
    pub fn describe(&self) -> String {
        format!("{:#?}\n{:#?}", self.first, self.second)
    }
}
