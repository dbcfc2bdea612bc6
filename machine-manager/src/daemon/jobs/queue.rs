//! Who launches next: slots of the control network, which launches under way hold, and the jobs that wait for
//! one.
//!
//! Users take turns, each with the oldest job. A user gets another slot only while more slots are free than
//! that user holds: one user alone holds half of them at most, and whoever comes then finds some free,
//! however long the launches of others take.

use bcs_core::JobId;
use bcs_protocol::commit::SLOTS;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The slots, and who waits for one.
#[derive(Debug)]
pub struct Queue {
    free: BTreeSet<u32>,
    /// By user: the slots it holds.
    held: BTreeMap<u32, usize>,
    /// By user: its jobs that wait, the oldest first. None is empty.
    waiting: BTreeMap<u32, VecDeque<JobId>>,
    /// The user whose turn was last.
    last: u32,
}

impl Default for Queue {
    /// All slots are free.
    fn default() -> Self {
        Self { free: (0..SLOTS).collect(), held: BTreeMap::new(), waiting: BTreeMap::new(), last: 0 }
    }
}

impl Queue {
    /// A job of a user waits.
    pub fn push(&mut self, uid: u32, job: JobId) {
        self.waiting.entry(uid).or_default().push_back(job);
    }

    /// A job does not wait any more, if it did.
    pub fn withdraw(&mut self, uid: u32, job: JobId) {
        if let Some(jobs) = self.waiting.get_mut(&uid) {
            jobs.retain(|waiting| *waiting != job);
            if jobs.is_empty() {
                self.waiting.remove(&uid);
            }
        }
    }

    /// The next job that may be launched, and its slot.
    pub fn pop(&mut self) -> Option<(JobId, u32)> {
        let may = |uid: &u32| self.held.get(uid).copied().unwrap_or(0) < self.free.len();
        let after = self.waiting.keys().copied().filter(|uid| *uid > self.last).find(may);
        let uid = after.or_else(|| self.waiting.keys().copied().find(may))?;
        let jobs = self.waiting.get_mut(&uid)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.waiting.remove(&uid);
        }
        self.last = uid;
        let slot = self.free.pop_first()?;
        *self.held.entry(uid).or_default() += 1;
        Some((job?, slot))
    }

    /// The launch of a user's job is over.
    pub fn give_back(&mut self, uid: u32, slot: u32) {
        if self.free.insert(slot)
            && let Some(held) = self.held.get_mut(&uid)
        {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&uid);
            }
        }
    }

    /// Whether nobody waits and all slots are free.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.free.len() == SLOTS as usize && self.held.is_empty() && self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_user_holds_half_of_the_slots_and_others_are_launched_at_once_and_in_turn() {
        let mut queue = Queue::default();
        (0..1000).for_each(|job| queue.push(7, JobId(job)));
        let mut held: Vec<u32> = std::iter::from_fn(|| queue.pop()).map(|(_, slot)| slot).collect();
        assert_eq!(held.len(), SLOTS as usize / 2);
        for (uid, job) in [(9, 2000), (8, 2001), (9, 2002), (8, 2003)] {
            queue.push(uid, JobId(job));
        }
        let order: Vec<(u64, u32)> =
            std::iter::from_fn(|| queue.pop()).map(|(job, slot)| (job.0, slot)).collect();
        assert_eq!(order.iter().map(|(job, _)| *job).collect::<Vec<_>>(), [2001, 2000, 2003, 2002]);
        // What the others give back is theirs again before it is the first one's.
        for (job, slot) in order {
            queue.give_back(if job % 2 == 1 { 8 } else { 9 }, slot);
        }
        assert_eq!(queue.pop(), None);
        queue.give_back(7, held.pop().unwrap());
        assert!(matches!(queue.pop(), Some((JobId(128), _))));
        queue.withdraw(7, JobId(129));
        (130..1000).for_each(|job| queue.withdraw(7, JobId(job)));
        assert_eq!(queue.pop(), None);
    }
}
