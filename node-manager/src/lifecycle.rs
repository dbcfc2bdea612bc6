//! The life of a job on its node, as a table of states and events. No I/O, no clock: the time is an
//! argument, and what to do is an answer that the launcher carries out.
//!
//! ```text
//!             rank fails, NIC alarm,           grace over,
//!             time limit, bad start            second ^C
//!  Running ───────────────────────────► Ending ──────────► Killed
//!     │   (SIGTERM to the other ranks)     │  (SIGKILL)       │
//!     │ last rank gone                     │                  │
//!     └──────────────────► Over ◄──────────┴──────────────────┘
//! ```
//!
//! The invariant: the verdict is set once, by the first event that ends the job; what the ranks do
//! after that changes nothing.

use crate::signals::{self, Signal};
use crate::verdict::{Exit, STATUS_SIGNAL, Verdict};
use std::time::Duration;

/// How long ranks have between SIGTERM and SIGKILL to flush and leave. A job ends within a second
/// of its first failure; this leaves the larger part of it to the kernel, which frees memory.
pub const GRACE: Duration = Duration::from_millis(300);

/// A second SIGINT kills the job only if it comes this long after the first. `timeout -s INT` and
/// some shells send one interrupt twice, to the process and to its group.
pub const SAME_INTERRUPT: Duration = Duration::from_millis(100);

/// Where a job is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its ranks run.
    Running,
    /// It failed, and its ranks were asked to leave.
    Ending {
        /// Why.
        verdict: Verdict,
        /// When those that are left are killed.
        kill_at: Duration,
    },
    /// Its ranks were killed, and their ends are awaited.
    Killed {
        /// Why.
        verdict: Verdict,
    },
    /// No rank is left.
    Over {
        /// How it ended.
        verdict: Verdict,
    },
}

/// What happens to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A rank ended; `Success` if there is nothing wrong with how.
    Departed(Verdict),
    /// Something other than a rank's end ends the job: the NIC's alarm, the time limit, a rank that
    /// could not be started.
    Struck(Verdict),
    /// The user sent a signal to `storm`.
    Forwarded(Signal),
    /// `storm` is gone: nobody is left to work for.
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
    live: u32,
    asked_to_end: Option<Signal>,
    interrupted_at: Option<Duration>,
}

impl Lifecycle {
    /// A running job of so many ranks, at least one.
    pub fn new(ranks: u32) -> Self {
        Self { state: State::Running, live: ranks, asked_to_end: None, interrupted_at: None }
    }

    /// Where the job is.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// How many of its ranks have not departed.
    pub fn live(&self) -> u32 {
        self.live
    }

    /// When to call with [`Event::Tick`] next.
    pub fn wakes_at(&self) -> Option<Duration> {
        match &self.state {
            State::Ending { kill_at, .. } => Some(*kill_at),
            State::Running | State::Killed { .. } | State::Over { .. } => None,
        }
    }

    /// Takes an event that happened at `now`, changes the state, and says what to do.
    pub fn handle(&mut self, event: Event, now: Duration) -> Action {
        let verdict = match event {
            Event::Departed(verdict) => {
                self.live = self.live.saturating_sub(1);
                Some(self.judged(verdict))
            }
            Event::Struck(verdict) => Some(verdict),
            Event::Forwarded(signal) => return self.forwarded(signal, now),
            Event::Orphaned => {
                let verdict = Verdict::Interrupted { signal: libc::SIGKILL, status: 137 };
                return self.kill(verdict);
            }
            Event::Tick => None,
        };
        let (state, action) = match (std::mem::replace(&mut self.state, State::Running), verdict) {
            (State::Running, None) => (State::Running, Action::None),
            (State::Running, Some(verdict)) if self.live == 0 => (State::Over { verdict }, Action::None),
            (State::Running, Some(Verdict::Success)) => (State::Running, Action::None),
            (State::Running, Some(verdict)) => {
                (State::Ending { verdict, kill_at: now + GRACE }, Action::Terminate)
            }
            (State::Ending { verdict, .. } | State::Killed { verdict }, _) if self.live == 0 => {
                (State::Over { verdict }, Action::None)
            }
            (State::Ending { verdict, kill_at }, _) if now >= kill_at => {
                (State::Killed { verdict }, Action::Kill)
            }
            (state @ (State::Ending { .. } | State::Killed { .. } | State::Over { .. }), _) => {
                (state, Action::None)
            }
        };
        self.state = state;
        action
    }

    /// A rank that left because the user asked for it has not failed: the user's signal ended it.
    fn judged(&self, verdict: Verdict) -> Verdict {
        match (verdict, self.asked_to_end) {
            (Verdict::RankFailed { exit: Exit::Signal { signal, .. }, .. }, Some(asked))
                if signal == asked =>
            {
                Verdict::Interrupted { signal, status: STATUS_SIGNAL + signal as u8 }
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
                    return self.kill(Verdict::Interrupted { signal, status: STATUS_SIGNAL + signal as u8 });
                }
                Some(_) => return Action::None,
                None => self.interrupted_at = Some(now),
            }
        }
        match &self.state {
            State::Running => Action::Send(signal),
            State::Ending { .. } if !signals::asks_to_end(signal) => Action::Send(signal),
            State::Ending { .. } | State::Killed { .. } | State::Over { .. } => Action::None,
        }
    }

    fn kill(&mut self, verdict: Verdict) -> Action {
        let (state, action) = match std::mem::replace(&mut self.state, State::Running) {
            State::Running => (State::Killed { verdict }, Action::Kill),
            State::Ending { verdict, .. } => (State::Killed { verdict }, Action::Kill),
            state @ (State::Killed { .. } | State::Over { .. }) => (state, Action::None),
        };
        self.state = state;
        action
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

    fn killed_by(signal: Signal) -> Exit {
        Exit::Signal { signal, core_dumped: false }
    }

    #[test]
    fn job_succeeds_when_its_last_rank_has_left_with_0() {
        let mut job = Lifecycle::new(2);
        assert_eq!(job.handle(Event::Departed(Verdict::Success), MS), Action::None);
        assert_eq!(*job.state(), State::Running);
        assert_eq!(job.handle(Event::Departed(Verdict::Success), MS), Action::None);
        assert_eq!(*job.state(), State::Over { verdict: Verdict::Success });
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
        assert_eq!(*job.state(), State::Over { verdict: first });
    }

    #[test]
    fn last_rank_that_fails_is_the_verdict_too() {
        let mut job = Lifecycle::new(2);
        job.handle(Event::Departed(Verdict::Success), MS);
        job.handle(Event::Departed(failed(1, Exit::Code(2))), MS);
        assert_eq!(*job.state(), State::Over { verdict: failed(1, Exit::Code(2)) });
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
        assert_eq!(*job.state(), State::Over { verdict });
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
            let State::Over { verdict } = job.state() else { panic!("{:?}", job.state()) };
            assert_eq!(verdict.status(), status);
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

    fn any_event() -> impl Strategy<Value = Event> {
        let exit = prop_oneof![
            (1u8..).prop_map(Exit::Code),
            (1i32..31).prop_map(|signal| Exit::Signal { signal, core_dumped: false })
        ];
        prop_oneof![
            2 => Just(Event::Departed(Verdict::Success)),
            4 => (0u32..64, exit).prop_map(|(rank, exit)| Event::Departed(failed(rank, exit))),
            1 => Just(Event::Struck(Verdict::Stuck { report: String::new() })),
            2 => prop_oneof![Just(libc::SIGINT), Just(libc::SIGTERM), Just(libc::SIGUSR1)].prop_map(Event::Forwarded),
            1 => Just(Event::Orphaned),
            3 => Just(Event::Tick),
        ]
    }

    proptest! {
        /// Whatever happens: the verdict never changes once there is one, the job is over exactly
        /// when no rank is left, and a job that is ending is killed when its grace is over.
        #[test]
        fn verdict_is_set_once_and_every_failing_job_is_killed_in_time(
            ranks in 1u32..20, events in prop::collection::vec((any_event(), 0u64..200), 1..80),
        ) {
            let mut job = Lifecycle::new(ranks);
            let (mut now, mut verdict) = (Duration::ZERO, None);
            for (event, wait) in events {
                if matches!(event, Event::Departed(_)) && job.live() == 0 {
                    continue;
                }
                now += MS * wait as u32;
                let ending = matches!(job.state(), State::Ending { kill_at, .. } if *kill_at <= now);
                let tick = event == Event::Tick;
                let action = job.handle(event, now);
                if ending && tick {
                    prop_assert_eq!(action, Action::Kill);
                }
                let present = match job.state() {
                    State::Running => None,
                    State::Ending { verdict, .. } | State::Killed { verdict } | State::Over { verdict } => Some(verdict.clone()),
                };
                prop_assert!(verdict.is_none() || verdict == present);
                verdict = present;
                prop_assert_eq!(matches!(job.state(), State::Over { .. }), job.live() == 0);
            }
        }
    }
}
