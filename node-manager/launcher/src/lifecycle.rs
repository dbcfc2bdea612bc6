//! The life of a job on its node, as a table of states and events. No I/O, no clock: the time is an
//! argument, and what to do is an answer that the launcher carries out.
//!
//! ```text
//!             rank fails, NIC alarm,
//!             time limit, bad start,           grace over,
//!             the job ends elsewhere           second ^C
//!  Running ───────────────────────────► Ending ──────────► Killed
//!   │   │  (SIGTERM to the other ranks)   ▲ │  (SIGKILL)      │
//!   │   │ another node is lost            │ │                 │
//!   │   └────────► Severed ───────────────┘ │                 │
//!   │                 │   told so, or time over               │
//!   │ last rank gone  ▼                     ▼                 │
//!   └──────────► Serving ◄──────────────────┴─────────────────┘
//!                   │ told to finish
//!                   ▼
//!                 Over
//! ```
//!
//! Where nobody else needs this node's NIC, because its launcher was forked by `storm`, nothing is ever
//! *Serving*: a job is over when its last rank is gone.
//!
//! The invariant: the verdict is set once, by the first event that ends the job; what the ranks do
//! after that changes nothing.

use crate::signals::{self, Signal};
use crate::verdict::{Exit, Verdict};
use std::time::Duration;

/// How long ranks have between SIGTERM and SIGKILL to flush and leave. A job ends within a second
/// of its first failure; this leaves the larger part of it to the kernel, which frees memory.
pub const GRACE: Duration = Duration::from_millis(300);

/// A second SIGINT kills the job only if it comes this long after the first. `timeout -s INT` and
/// some shells send one interrupt twice, to the process and to its group.
pub const SAME_INTERRUPT: Duration = Duration::from_millis(100);

/// How long a launcher that has lost another node of its job waits to be told why, before it ends its ranks
/// by itself.
pub const EXPLANATION: Duration = Duration::from_secs(2);

/// How long the NIC of a job that was told to end goes on after the last rank, for those who are not yet so
/// far.
pub const FAREWELL: Duration = Duration::from_secs(2);

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its ranks run.
    Running,
    /// Another node of it is lost, so its ranks cannot go on; whoever knows why will say so.
    Severed {
        /// When the ranks are ended all the same.
        until: Duration,
    },
    /// It failed, and its ranks were asked to leave.
    Ending {
        /// When those that are left are killed.
        kill_at: Duration,
    },
    /// Its ranks were killed, and their ends are awaited.
    Killed,
    /// No rank is left here. The NIC goes on, for the other nodes.
    Serving {
        /// For how long at most, once it was told to end.
        until: Option<Duration>,
    },
    /// No rank is left, and nobody needs the NIC.
    Over,
}

/// What happens to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A rank ended; `Success` if there is nothing wrong with how.
    Departed(Verdict),
    /// Something other than a rank's end ends the job: the NIC's alarm, the time limit, a rank that
    /// could not be started.
    Struck(Verdict),
    /// Another node of the job cannot be reached any more.
    Severed(Verdict),
    /// The user sent a signal to `storm`.
    Forwarded(Signal),
    /// The job has failed elsewhere, or is to end.
    Ended,
    /// No rank is left on any node.
    Finished,
    /// `storm`, or the node manager, is gone: nobody is left to work for.
    Orphaned,
    /// Time has passed.
    Tick,
}

/// What the launcher is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// Send this signal to every rank.
    Send(Signal),
    /// Ask every rank to leave: SIGTERM, and SIGCONT for those that are stopped.
    Terminate,
    /// Kill every process of the job.
    Kill,
}

/// A job's state, how many of its ranks live, and what the user has asked for.
#[derive(Clone, Debug)]
pub struct Lifecycle {
    state: State,
    /// Set when it runs no more.
    verdict: Option<Verdict>,
    live: u32,
    /// Others may need the NIC when no rank is left.
    serves: bool,
    /// It is known that they do not, any more.
    is_released: bool,
    was_told_to_end: bool,
    has_failed_here: bool,
    asked_to_end: Option<Signal>,
    interrupted_at: Option<Duration>,
}

impl Lifecycle {
    /// A running job of so many ranks, at least one, which is over with the last.
    pub fn new(ranks: u32) -> Self {
        Self {
            state: State::Running,
            verdict: None,
            live: ranks,
            serves: false,
            is_released: false,
            was_told_to_end: false,
            has_failed_here: false,
            asked_to_end: None,
            interrupted_at: None,
        }
    }

    /// The same, of a job whose NIC goes on after the last rank, until it is told to finish.
    pub fn serving(ranks: u32) -> Self {
        Self { serves: true, ..Self::new(ranks) }
    }

    /// Only so many ranks were started: the others count as departed.
    pub fn ranks_missing(&mut self, started: u32) {
        self.live = started;
    }

    /// Where the job is.
    pub fn state(&self) -> State {
        self.state
    }

    /// How many of its ranks have not departed.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// The verdict, when there is one.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// Why the job has failed, if it did so here and is not just being ended.
    pub fn failure(&self) -> Option<&Verdict> {
        self.verdict().filter(|_| self.has_failed_here)
    }

    /// When to call with [`Event::Tick`] next.
    pub fn wakes_at(&self) -> Option<Duration> {
        match self.state {
            State::Ending { kill_at: at } | State::Severed { until: at } => Some(at),
            State::Serving { until } => until,
            State::Running | State::Killed | State::Over => None,
        }
    }

    /// Takes an event that happened at `now`, changes the state, and says what to do.
    pub fn handle(&mut self, event: Event, now: Duration) -> Action {
        match event {
            Event::Departed(verdict) => {
                self.live = self.live.saturating_sub(1);
                let verdict = self.judged(verdict);
                self.step(Some(verdict), now)
            }
            Event::Struck(verdict) => self.step(Some(verdict), now),
            Event::Severed(verdict) => {
                if self.state == State::Running {
                    self.verdict = Some(verdict);
                    self.state = State::Severed { until: now + EXPLANATION };
                }
                Action::None
            }
            Event::Forwarded(signal) => self.forwarded(signal, now),
            Event::Ended => self.end(now),
            Event::Finished => {
                self.is_released = true;
                self.end(now)
            }
            Event::Orphaned => {
                self.is_released = true;
                self.kill(Verdict::interrupted(libc::SIGKILL))
            }
            Event::Tick => self.step(None, now),
        }
    }

    /// Goes on, perhaps with a verdict on what has happened.
    fn step(&mut self, verdict: Option<Verdict>, now: Duration) -> Action {
        let is_last_gone = self.live == 0;
        match (self.state, verdict) {
            (State::Running, Some(verdict)) if is_last_gone || verdict != Verdict::Success => {
                self.has_failed_here = verdict != Verdict::Success;
                self.verdict = Some(verdict);
                if is_last_gone { self.leave(now) } else { self.terminate(now) }
            }
            (State::Severed { .. } | State::Ending { .. } | State::Killed, _) if is_last_gone => {
                self.leave(now)
            }
            (State::Severed { until }, _) if now >= until => {
                self.has_failed_here = true;
                // Where nobody says why, nobody is there who could need this node's NIC.
                self.is_released = true;
                self.terminate(now)
            }
            (State::Ending { kill_at }, _) if now >= kill_at => {
                self.state = State::Killed;
                Action::Kill
            }
            (State::Serving { until: Some(until) }, _) if now >= until => {
                self.state = State::Over;
                Action::None
            }
            (
                State::Running
                | State::Severed { .. }
                | State::Ending { .. }
                | State::Killed
                | State::Serving { .. }
                | State::Over,
                _,
            ) => Action::None,
        }
    }

    /// The ranks that are left are asked to leave.
    fn terminate(&mut self, now: Duration) -> Action {
        self.state = State::Ending { kill_at: now + GRACE };
        Action::Terminate
    }

    /// The last rank has gone.
    fn leave(&mut self, now: Duration) -> Action {
        self.state = match self.serves && !self.is_released {
            true => State::Serving { until: self.was_told_to_end.then(|| now + FAREWELL) },
            false => State::Over,
        };
        Action::None
    }

    /// The job is to end, which is no failure of this node's.
    fn end(&mut self, now: Duration) -> Action {
        self.was_told_to_end = true;
        let signal = self.asked_to_end.unwrap_or(libc::SIGTERM);
        self.verdict.get_or_insert(Verdict::interrupted(signal));
        match self.state {
            State::Running if self.live == 0 => self.leave(now),
            State::Running | State::Severed { .. } => self.terminate(now),
            State::Serving { until } if until.is_none() || self.is_released => self.leave(now),
            State::Ending { .. } | State::Killed | State::Serving { .. } | State::Over => Action::None,
        }
    }

    /// A rank that left because the user asked for it has not failed: the user's signal ended it.
    fn judged(&self, verdict: Verdict) -> Verdict {
        match (verdict, self.asked_to_end) {
            (Verdict::RankFailed { exit: Exit::Signal { signal, .. }, .. }, Some(asked))
                if signal == asked =>
            {
                Verdict::interrupted(signal)
            }
            (Verdict::RankFailed { exit: Exit::Code(status), .. }, Some(signal)) => {
                Verdict::Interrupted { signal, status }
            }
            (verdict, _) => verdict,
        }
    }

    fn forwarded(&mut self, signal: Signal, now: Duration) -> Action {
        if signals::asks_to_end(signal) {
            self.asked_to_end.get_or_insert(signal);
        }
        if signal == libc::SIGINT {
            match self.interrupted_at {
                Some(first) if now.saturating_sub(first) >= SAME_INTERRUPT => {
                    return self.kill(Verdict::interrupted(signal));
                }
                Some(_) => return Action::None,
                None => self.interrupted_at = Some(now),
            }
        }
        match self.state {
            State::Running | State::Severed { .. } => Action::Send(signal),
            State::Ending { .. } if !signals::asks_to_end(signal) => Action::Send(signal),
            State::Ending { .. } | State::Killed | State::Serving { .. } | State::Over => Action::None,
        }
    }

    fn kill(&mut self, verdict: Verdict) -> Action {
        match self.state {
            State::Running | State::Severed { .. } | State::Ending { .. } => {
                self.has_failed_here |= self.state == State::Running;
                self.verdict.get_or_insert(verdict);
                self.state = State::Killed;
                return Action::Kill;
            }
            State::Serving { .. } if self.is_released => self.state = State::Over,
            State::Killed | State::Serving { .. } | State::Over => {}
        }
        Action::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::RankName;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_millis(1);

    fn failed(rank: u32, exit: Exit) -> Verdict {
        let rank = RankName { rank, host: "n0".into(), program: None };
        Verdict::RankFailed { rank, exit, output_gone: false }
    }

    fn end(job: &Lifecycle) -> (State, &Verdict) {
        (job.state(), job.verdict().expect("it runs no more"))
    }

    fn killed_by(signal: Signal) -> Exit {
        Exit::Signal { signal, core_dumped: false }
    }

    #[test]
    fn job_succeeds_when_its_last_rank_has_left_with_0() {
        let mut job = Lifecycle::new(2);
        assert_eq!(job.handle(Event::Departed(Verdict::Success), MS), Action::None);
        assert_eq!(job.state(), State::Running);
        assert_eq!(job.handle(Event::Departed(Verdict::Success), MS), Action::None);
        assert_eq!(end(&job), (State::Over, &Verdict::Success));
    }

    #[test]
    fn first_failure_is_the_verdict_and_the_clean_up_signal_is_not() {
        let mut job = Lifecycle::new(3);
        let first = failed(1, Exit::Code(7));
        assert_eq!(job.handle(Event::Departed(first.clone()), MS), Action::Terminate);
        assert_eq!(job.wakes_at(), Some(MS + GRACE));
        job.handle(Event::Departed(failed(0, killed_by(libc::SIGTERM))), MS * 2);
        assert_eq!(job.handle(Event::Tick, MS + GRACE), Action::Kill);
        job.handle(Event::Departed(failed(2, killed_by(libc::SIGKILL))), MS * 400);
        assert_eq!(end(&job), (State::Over, &first));
    }

    #[test]
    fn last_rank_that_fails_is_the_verdict_too() {
        let mut job = Lifecycle::new(2);
        job.handle(Event::Departed(Verdict::Success), MS);
        job.handle(Event::Departed(failed(1, Exit::Code(2))), MS);
        assert_eq!(end(&job), (State::Over, &failed(1, Exit::Code(2))));
    }

    #[test]
    fn interrupt_is_forwarded_and_a_second_one_kills() {
        let mut job = Lifecycle::new(2);
        assert_eq!(job.handle(Event::Forwarded(libc::SIGINT), MS), Action::Send(libc::SIGINT));
        assert_eq!(
            job.handle(Event::Forwarded(libc::SIGINT), MS * 2),
            Action::None,
            "sent twice by `timeout`"
        );
        assert_eq!(job.handle(Event::Forwarded(libc::SIGINT), MS * 500), Action::Kill);
        job.handle(Event::Departed(failed(0, killed_by(libc::SIGKILL))), MS * 501);
        job.handle(Event::Departed(failed(1, killed_by(libc::SIGKILL))), MS * 501);
        let verdict = Verdict::Interrupted { signal: libc::SIGINT, status: 130 };
        assert_eq!(end(&job), (State::Over, &verdict));
    }

    #[test]
    fn ranks_that_handle_the_interrupt_decide_the_exit_status() {
        for (verdict, status) in [
            (failed(0, killed_by(libc::SIGINT)), 130),
            (failed(0, Exit::Code(3)), 3),
            (failed(0, killed_by(libc::SIGSEGV)), 139),
            (Verdict::Success, 0),
        ] {
            let mut job = Lifecycle::new(1);
            job.handle(Event::Forwarded(libc::SIGINT), MS);
            job.handle(Event::Departed(verdict), MS * 2);
            let (state, verdict) = end(&job);
            assert_eq!((state, verdict.status()), (State::Over, status));
        }
    }

    #[test]
    fn other_signals_are_forwarded_every_time() {
        let mut job = Lifecycle::new(1);
        for signal in [libc::SIGUSR1, libc::SIGUSR1, libc::SIGTERM, libc::SIGTERM] {
            assert_eq!(job.handle(Event::Forwarded(signal), MS), Action::Send(signal));
        }
    }

    #[test]
    fn launcher_without_storm_kills_at_once() {
        let mut job = Lifecycle::new(4);
        assert_eq!(job.handle(Event::Orphaned, MS), Action::Kill);
        assert_eq!(job.handle(Event::Orphaned, MS), Action::None);
    }

    fn lost() -> Verdict {
        Verdict::NodeLost { host: "n1".into(), seen_from: "n0".into(), reason: "timed out".into() }
    }

    fn told_to_end() -> Verdict {
        Verdict::interrupted(libc::SIGTERM)
    }

    #[test]
    fn nic_of_a_job_that_went_well_goes_on_until_it_is_told_to_finish() {
        let mut job = Lifecycle::serving(1);
        job.handle(Event::Departed(Verdict::Success), MS);
        assert_eq!(end(&job), (State::Serving { until: None }, &Verdict::Success));
        assert_eq!((job.wakes_at(), job.failure()), (None, None));
        job.handle(Event::Tick, MS * 1_000_000);
        assert_eq!(end(&job), (State::Serving { until: None }, &Verdict::Success));
        job.handle(Event::Finished, MS * 1_000_001);
        assert_eq!(end(&job), (State::Over, &Verdict::Success));
    }

    #[test]
    fn ranks_that_are_told_to_end_have_not_failed() {
        let mut job = Lifecycle::serving(2);
        assert_eq!(job.handle(Event::Ended, MS), Action::Terminate);
        job.handle(Event::Departed(failed(0, killed_by(libc::SIGTERM))), MS * 2);
        assert_eq!(job.handle(Event::Tick, MS + GRACE), Action::Kill);
        job.handle(Event::Departed(failed(1, killed_by(libc::SIGKILL))), MS * 400);
        let until = Some(MS * 400 + FAREWELL);
        assert_eq!(end(&job), (State::Serving { until }, &told_to_end()));
        assert_eq!((job.wakes_at(), job.failure()), (until, None));
        job.handle(Event::Tick, MS * 400 + FAREWELL);
        assert_eq!(end(&job), (State::Over, &told_to_end()));
    }

    #[test]
    fn job_that_failed_here_is_told_to_end_without_another_verdict() {
        let mut job = Lifecycle::serving(2);
        let first = failed(0, Exit::Code(7));
        assert_eq!(job.handle(Event::Departed(first.clone()), MS), Action::Terminate);
        assert_eq!(job.failure(), Some(&first));
        assert_eq!(job.handle(Event::Ended, MS * 2), Action::None);
        job.handle(Event::Departed(failed(1, killed_by(libc::SIGTERM))), MS * 3);
        assert_eq!(end(&job), (State::Serving { until: Some(MS * 3 + FAREWELL) }, &first));
    }

    #[test]
    fn job_that_lost_a_node_waits_for_the_reason_and_ends_by_itself_if_none_comes() {
        for is_told in [true, false] {
            let mut job = Lifecycle::serving(1);
            assert_eq!(job.handle(Event::Severed(lost()), MS), Action::None);
            assert_eq!((job.wakes_at(), job.failure()), (Some(MS + EXPLANATION), None));
            let event = if is_told { Event::Ended } else { Event::Tick };
            assert_eq!(job.handle(event, MS + EXPLANATION), Action::Terminate);
            assert_eq!(job.failure(), (!is_told).then_some(&lost()));
            job.handle(Event::Departed(failed(0, killed_by(libc::SIGTERM))), MS * 3000);
            assert_eq!(job.verdict(), Some(&lost()));
            // Who was told is told again when nobody needs the NIC any more.
            assert_eq!(job.state() == State::Over, !is_told);
        }
    }

    #[test]
    fn node_that_is_lost_after_the_last_rank_changes_nothing() {
        let mut job = Lifecycle::serving(1);
        job.handle(Event::Departed(Verdict::Success), MS);
        job.handle(Event::Severed(lost()), MS * 2);
        assert_eq!(end(&job), (State::Serving { until: None }, &Verdict::Success));
    }

    #[test]
    fn launcher_without_node_manager_is_over_with_its_last_rank() {
        let mut job = Lifecycle::serving(1);
        assert_eq!(job.handle(Event::Orphaned, MS), Action::Kill);
        job.handle(Event::Departed(failed(0, killed_by(libc::SIGKILL))), MS * 2);
        assert!(job.state() == State::Over);
        let mut job = Lifecycle::serving(1);
        job.handle(Event::Departed(Verdict::Success), MS);
        assert_eq!(job.handle(Event::Orphaned, MS * 2), Action::None);
        assert_eq!(end(&job), (State::Over, &Verdict::Success));
    }

    fn any_event() -> impl Strategy<Value = Event> {
        let exit = prop_oneof![
            (1u8..).prop_map(Exit::Code),
            (1i32..31).prop_map(|signal| Exit::Signal { signal, core_dumped: false })
        ];
        prop_oneof![
            2 => Just(Event::Departed(Verdict::Success)),
            4 => (0u32..64, exit).prop_map(|(rank, exit)| Event::Departed(failed(rank, exit))),
            1 => Just(Event::Struck(Verdict::Stuck(String::new()))),
            2 => prop_oneof![Just(libc::SIGINT), Just(libc::SIGTERM), Just(libc::SIGUSR1)].prop_map(Event::Forwarded),
            1 => Just(Event::Orphaned),
            1 => Just(Event::Ended),
            1 => Just(Event::Severed(lost())),
            3 => Just(Event::Tick),
        ]
    }

    proptest! {
        /// Whatever happens: the verdict never changes once there is one; no rank is left exactly when the
        /// job is over, or waits to be told that it is; a job that is ending is killed when its grace is
        /// over, and one that has lost a node ends when its wait is over.
        #[test]
        fn verdict_is_set_once_and_every_failing_job_is_killed_in_time(
            ranks in 1u32..20, serves in any::<bool>(), events in prop::collection::vec((any_event(), 0u64..200), 1..80),
        ) {
            let mut job = if serves { Lifecycle::serving(ranks) } else { Lifecycle::new(ranks) };
            let (mut now, mut verdict) = (Duration::ZERO, None);
            let mut is_orphaned = false;
            for (event, wait) in events {
                if matches!(event, Event::Departed(_)) && job.live() == 0 {
                    continue;
                }
                now += MS * wait as u32;
                let expected = match job.state() {
                    State::Ending { kill_at } if kill_at <= now => Some(Action::Kill),
                    State::Severed { until } if until <= now => Some(Action::Terminate),
                    _ => None,
                };
                let tick = event == Event::Tick;
                is_orphaned |= event == Event::Orphaned;
                let action = job.handle(event, now);
                if tick && let Some(expected) = expected {
                    prop_assert_eq!(action, expected);
                }
                let present = job.verdict().cloned();
                prop_assert!(verdict.is_none() || verdict == present);
                verdict = present;
                let is_serving = matches!(job.state(), State::Serving { .. });
                let is_over = job.state() == State::Over;
                prop_assert_eq!(is_serving || is_over, job.live() == 0);
                prop_assert!(!is_serving || serves && !is_orphaned);
            }
            // And it comes to its end when it is told so, whatever was before.
            for _ in 0..job.live() {
                job.handle(Event::Departed(Verdict::Success), now);
            }
            job.handle(Event::Finished, now);
            prop_assert!(job.state() == State::Over, "{:?}", job);
        }
    }
}
