//! The jobs of this node, and their slots in the control network's memory: what is to be written there, and
//! who may start. No I/O.
//!
//! The machine manager starts a job by one Compare-And-Write: *if the job stands in `prepared` of its slot on
//! all nodes, write it into `go`* ([`bcs_protocol::commit`]). Invariants:
//! - a job stands in `prepared` only while it is prepared here and has not ended;
//! - a job goes once, also when its slot is written again in a later view;
//! - the next job of a slot is not shown as prepared before the last one has gone or ended here, so that no
//!   `go` is overwritten unseen.

use super::limits::JOBS;
use bcs_core::JobId;
use bcs_protocol::commit::SLOTS;
use std::collections::BTreeMap;

/// Why a launch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has no number: 0 is what slots hold that nobody uses.
    #[error("0 is no number for a job")]
    NoNumber,
    /// It is here already.
    #[error("{0} is on this node already")]
    Known(JobId),
    /// There is no such slot.
    #[error(
        "slot {0} is beyond the {SLOTS} that the control network has; the managers are of different releases"
    )]
    NoSlot(u32),
    /// It has as many jobs as it can have.
    #[error("it has {JOBS} jobs already; submit the job again when some of them are over")]
    Full,
    /// The node manager is shut down.
    #[error("its node manager is shut down; submit the job again")]
    Ending,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Preparing,
    Prepared,
    Gone,
}

/// All jobs of the node.
#[derive(Debug, Default)]
pub struct Jobs {
    stages: BTreeMap<JobId, (u32, Stage)>,
    /// Who has which slot, in the order in which they came.
    slots: BTreeMap<u32, Vec<JobId>>,
    /// What stands in `prepared` of the present view, or is on its way there, where it is not 0.
    shown: BTreeMap<u32, u64>,
}

impl Jobs {
    /// A job is to be launched.
    ///
    /// # Errors
    /// It cannot be; nothing has changed.
    pub fn admit(&mut self, job: JobId, slot: u32) -> Result<(), Refusal> {
        if job.0 == 0 {
            return Err(Refusal::NoNumber);
        }
        if slot >= SLOTS {
            return Err(Refusal::NoSlot(slot));
        }
        if self.stages.contains_key(&job) {
            return Err(Refusal::Known(job));
        }
        if self.stages.len() >= JOBS {
            return Err(Refusal::Full);
        }
        self.stages.insert(job, (slot, Stage::Preparing));
        self.slots.entry(slot).or_default().push(job);
        Ok(())
    }

    /// The launcher of a job has all that it needs.
    pub fn handle_prepared(&mut self, job: JobId) {
        if let Some((_, stage @ Stage::Preparing)) = self.stages.get_mut(&job) {
            *stage = Stage::Prepared;
        }
    }

    /// A job is over here.
    pub fn handle_end(&mut self, job: JobId) {
        if let Some((slot, _)) = self.stages.remove(&job)
            && let Some(holders) = self.slots.get_mut(&slot)
        {
            holders.retain(|holder| *holder != job);
            if holders.is_empty() {
                self.slots.remove(&slot);
            }
        }
    }

    /// The control network is a new one, in whose memory nothing stands yet.
    pub fn handle_view(&mut self) {
        self.shown.clear();
    }

    /// What is to be stored in `prepared` of which slot, if anything has changed. Said again until
    /// [`Jobs::handle_stored`].
    pub fn poll_store(&self) -> Option<(u32, u64)> {
        let slots = self.slots.keys().chain(self.shown.keys());
        slots.map(|&slot| (slot, self.value(slot))).find(|(slot, value)| *value != self.shown_in(*slot))
    }

    /// It is stored, before whatever is stored later.
    pub fn handle_stored(&mut self, slot: u32, value: u64) {
        match value {
            0 => self.shown.remove(&slot),
            value => self.shown.insert(slot, value),
        };
    }

    /// The jobs that are shown as prepared and may be told to go, with their slots.
    #[cfg(test)]
    fn waiting(&self) -> Vec<(u32, JobId)> {
        let shown = self.shown.iter().map(|(&slot, &job)| (slot, JobId(job)));
        shown.filter(|(_, job)| self.stage(*job) == Some(Stage::Prepared)).collect()
    }

    /// What stands in `go` of a slot: whether this job starts now, which it does once.
    pub fn handle_go(&mut self, slot: u32, value: u64) -> Option<JobId> {
        let job = JobId(value);
        match self.stages.get_mut(&job) {
            Some((its, stage @ Stage::Prepared)) if *its == slot => {
                *stage = Stage::Gone;
                Some(job)
            }
            _ => None,
        }
    }

    /// How many jobs there are.
    pub fn count(&self) -> usize {
        self.stages.len()
    }

    fn stage(&self, job: JobId) -> Option<Stage> {
        self.stages.get(&job).map(|(_, stage)| *stage)
    }

    fn shown_in(&self, slot: u32) -> u64 {
        self.shown.get(&slot).copied().unwrap_or(0)
    }

    /// What `prepared` of a slot should be: the first job that has not gone; one that has gone stays until
    /// another wants the slot.
    fn value(&self, slot: u32) -> u64 {
        let holders = self.slots.get(&slot).map_or(&[][..], Vec::as_slice);
        let next = holders.iter().find(|job| self.stage(**job) != Some(Stage::Gone));
        match next.or(holders.last()) {
            Some(job) if self.stage(*job) != Some(Stage::Preparing) => job.0,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: JobId = JobId(7);
    const B: JobId = JobId(8);

    fn store(jobs: &mut Jobs) -> Vec<(u32, u64)> {
        let mut stored = Vec::new();
        while let Some((slot, value)) = jobs.poll_store() {
            jobs.handle_stored(slot, value);
            stored.push((slot, value));
        }
        stored
    }

    #[test]
    fn job_is_shown_when_it_is_prepared_and_goes_once() {
        let mut jobs = Jobs::default();
        jobs.admit(A, 3).unwrap();
        assert_eq!(store(&mut jobs), []);
        assert_eq!(jobs.handle_go(3, 7), None, "it is not prepared");
        jobs.handle_prepared(A);
        assert_eq!(store(&mut jobs), [(3, 7)]);
        assert_eq!(jobs.waiting(), [(3, A)]);
        assert_eq!(jobs.handle_go(3, 0), None);
        assert_eq!(jobs.handle_go(4, 7), None, "that is not its slot");
        assert_eq!(jobs.handle_go(3, 7), Some(A));
        assert_eq!(jobs.handle_go(3, 7), None);
        assert!(jobs.waiting().is_empty());
    }

    #[test]
    fn everything_that_is_prepared_is_shown_again_in_a_new_view() {
        let mut jobs = Jobs::default();
        jobs.admit(A, 0).unwrap();
        jobs.admit(B, 1).unwrap();
        jobs.handle_prepared(A);
        jobs.handle_prepared(B);
        store(&mut jobs);
        jobs.handle_go(0, 7);
        jobs.handle_view();
        assert!(jobs.waiting().is_empty(), "nobody can have been told to go yet");
        assert_eq!(store(&mut jobs), [(0, 7), (1, 8)]);
    }

    #[test]
    fn next_job_of_a_slot_waits_until_the_last_one_has_gone_or_ended() {
        let mut jobs = Jobs::default();
        for job in [A, B] {
            jobs.admit(job, 0).unwrap();
            jobs.handle_prepared(job);
        }
        assert_eq!(store(&mut jobs), [(0, 7)]);
        jobs.handle_go(0, 7);
        assert_eq!(store(&mut jobs), [(0, 8)]);
        jobs.handle_end(B);
        assert_eq!(store(&mut jobs), [(0, 7)], "of the two it is the one that is left");
        jobs.handle_end(A);
        assert_eq!(store(&mut jobs), [(0, 0)]);
    }

    #[test]
    fn job_that_ends_before_it_goes_is_not_shown_any_more() {
        let mut jobs = Jobs::default();
        jobs.admit(A, 0).unwrap();
        jobs.handle_prepared(A);
        store(&mut jobs);
        jobs.handle_end(A);
        assert_eq!(store(&mut jobs), [(0, 0)]);
        assert_eq!(jobs.handle_go(0, 7), None);
    }

    #[test]
    fn launches_that_cannot_be_are_refused() {
        let mut jobs = Jobs::default();
        jobs.admit(A, 0).unwrap();
        assert_eq!(jobs.admit(A, 1), Err(Refusal::Known(A)));
        assert_eq!(jobs.admit(JobId(0), 1), Err(Refusal::NoNumber));
        assert_eq!(jobs.admit(B, SLOTS), Err(Refusal::NoSlot(SLOTS)));
        assert_eq!(jobs.count(), 1);
        let refused = (100..).find_map(|number| jobs.admit(JobId(number), 2).err());
        assert_eq!(refused, Some(Refusal::Full));
        assert_eq!(jobs.count(), JOBS);
        jobs.handle_end(A);
        assert_eq!(jobs.admit(B, 2), Ok(()));
    }

    #[derive(Clone, Debug)]
    enum Event {
        Admit(u64, u32),
        Prepared(u64),
        End(u64),
        View,
        Store,
        Commit(u32),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            3 => (1..6u64, 0..3u32).prop_map(|(job, slot)| Event::Admit(job, slot)),
            3 => (1..6u64).prop_map(Event::Prepared),
            2 => (1..6u64).prop_map(Event::End),
            1 => Just(Event::View),
            3 => Just(Event::Store),
            3 => (0..3u32).prop_map(Event::Commit),
        ]
    }

    proptest! {
        /// Whatever happens: no job goes twice in its life, none goes that is not prepared, and after all is
        /// stored exactly the jobs that may go stand in their slots.
        #[test]
        fn a_job_goes_once_and_only_when_it_is_prepared(events in prop::collection::vec(event(), 1..80)) {
            let mut jobs = Jobs::default();
            let (mut prepared, mut gone) = (Vec::new(), Vec::new());
            for event in events {
                match event {
                    Event::Admit(job, slot) => { let _ = jobs.admit(JobId(job), slot); }
                    Event::Prepared(job) => {
                        if jobs.stage(JobId(job)).is_some() { prepared.push(job); }
                        jobs.handle_prepared(JobId(job));
                    }
                    Event::End(job) => {
                        jobs.handle_end(JobId(job));
                        prepared.retain(|other| *other != job);
                        gone.retain(|other| *other != job);
                    }
                    Event::View => jobs.handle_view(),
                    Event::Store => {
                        store(&mut jobs);
                        for (slot, job) in jobs.waiting() { prop_assert_eq!(jobs.value(slot), job.0); }
                    }
                    Event::Commit(slot) => {
                        let value = jobs.shown_in(slot);
                        if let Some(job) = jobs.handle_go(slot, value) {
                            prop_assert!(prepared.contains(&job.0) && !gone.contains(&job.0));
                            gone.push(job.0);
                        }
                    }
                }
            }
        }
    }
}
