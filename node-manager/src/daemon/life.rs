//! The life of a job's launcher, as its node manager sees it: what is passed on, when it is killed, and what
//! is said at the end. No I/O, no clock.
//!
//! ```text
//!                        Over, or it talks nonsense, or it is told to end and takes too long
//!  Executing ─► Running ──────────────────────────────────────────────────────────────────────► (killed) ─► Ended ─► the verdict
//!     │ takes   └────────────────────────── its process ends ────────────────────────────────────────────▲     ▲
//!     └ too long, or cannot be ──────────────────────────────────────────────────────────────► (killed) ───────┘
//! ```
//!
//! A launcher runs as the job's user, so nothing that it says is believed beyond its own job, and its texts
//! are cut ([`super::limits`]). The invariant: one [`Notice::Over`] is said of every job, the last, after the
//! launcher's process has ended: the launcher's own, or that it was lost.

use super::limits::{EXECUTION, PATIENCE, REPORT_BYTES, TEXT_BYTES};
use program_launcher::control::{Command, Notice};
use program_launcher::verdict::{Exit, STATUS_USAGE, Verdict, clip};
use std::net::IpAddr;
use std::time::Duration;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Say this to the machine manager.
    Say(Notice),
    /// Tell the launcher this.
    Tell(Command),
    /// The job is prepared here.
    Prepared,
    /// Kill the launcher.
    Kill,
}

/// Why the node manager itself ends a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It is shut down.
    Shutdown,
    /// The machine manager is gone, and nobody is left to be told anything.
    ManagerLost,
}

/// Where a launcher is in its life.
#[derive(Debug)]
pub struct Life {
    host: String,
    /// Where the launcher was told to listen.
    listen: Option<IpAddr>,
    /// How many ranks of the job are on this node.
    ranks: usize,
    is_executed: bool,
    is_prepared: bool,
    has_failed: bool,
    ranks_gone: bool,
    is_ending: bool,
    is_killed: bool,
    kill_at: Option<Duration>,
    verdict: Option<Verdict>,
}

impl Life {
    /// Of a launcher on this host that is being executed, and is to listen at this address if its job has a
    /// network.
    pub fn new(host: String, listen: Option<IpAddr>, ranks: usize) -> Self {
        Self {
            host,
            listen,
            ranks,
            is_executed: false,
            is_prepared: false,
            has_failed: false,
            ranks_gone: false,
            is_ending: false,
            is_killed: false,
            kill_at: Some(EXECUTION),
            verdict: None,
        }
    }

    /// The launcher is executed, or cannot be: why, in words for the user.
    pub fn handle_executed(&mut self, executed: Result<(), String>, now: Duration) {
        match executed {
            _ if self.is_executed || self.verdict.is_some() => {}
            Ok(()) => {
                self.is_executed = true;
                if !self.is_ending {
                    self.kill_at = None;
                }
            }
            Err(message) => {
                self.verdict = Some(Verdict::NotStarted { message, status: STATUS_USAGE });
                self.kill_by(now + PATIENCE);
            }
        }
    }

    /// The launcher says something.
    pub fn handle_notice(&mut self, mut notice: Notice, now: Duration) -> Vec<Action> {
        if self.verdict.is_some() {
            return vec![];
        }
        cut(&mut notice);
        match &notice {
            Notice::Over(verdict) => {
                self.verdict = Some(verdict.clone());
                self.kill_by(now + PATIENCE);
                return vec![];
            }
            Notice::Listening(address) if Some(address.ip()) != self.listen => {
                return self.handle_nonsense(&format!("it listens at '{address}'"));
            }
            Notice::Prepared if self.is_prepared => return vec![],
            Notice::Prepared => {
                self.is_prepared = true;
                return vec![Action::Say(notice), Action::Prepared];
            }
            Notice::Failed(_) if std::mem::replace(&mut self.has_failed, true) => return vec![],
            Notice::RanksGone(_) => {
                self.ranks_gone = true;
                if self.is_ending {
                    return vec![Action::Say(notice), Action::Tell(Command::Finish)];
                }
            }
            Notice::Started(pids) if pids.len() > self.ranks => {
                return self.handle_nonsense(&format!("it has {} ranks", pids.len()));
            }
            Notice::Report { state, .. } if state.ranks.len() > self.ranks => {
                return self.handle_nonsense(&format!("it reports on {} ranks", state.ranks.len()));
            }
            Notice::Remark(_)
            | Notice::Listening(_)
            | Notice::Started(_)
            | Notice::Failed(_)
            | Notice::Unreachable { .. }
            | Notice::Blocked
            | Notice::Report { .. } => {}
        }
        vec![Action::Say(notice)]
    }

    /// What the launcher says is no notice, or cannot be.
    pub fn handle_nonsense(&mut self, what: &str) -> Vec<Action> {
        if self.verdict.is_some() || self.is_killed {
            return vec![];
        }
        let host = &self.host;
        let remark =
            format!("the program launcher on {host} says what no launcher says ({what}); it is killed");
        let mut actions = vec![Action::Say(Notice::Remark(remark))];
        actions.extend(self.kill());
        actions
    }

    /// The node manager ends the job.
    pub fn handle_ending(&mut self, ending: Ending, now: Duration) -> Vec<Action> {
        if std::mem::replace(&mut self.is_ending, true) {
            return vec![];
        }
        self.kill_by(now + PATIENCE);
        let mut actions = Vec::new();
        if ending == Ending::Shutdown && !self.has_failed && !self.ranks_gone && self.verdict.is_none() {
            self.has_failed = true;
            let remark = format!("the node manager of {} is shut down, and ends its jobs", self.host);
            let verdict = Verdict::interrupted(libc::SIGTERM);
            actions.extend([Action::Say(Notice::Remark(remark)), Action::Say(Notice::Failed(verdict))]);
        }
        actions.push(Action::Tell(Command::End));
        if self.ranks_gone {
            actions.push(Action::Tell(Command::Finish));
        }
        actions
    }

    /// When to call [`Life::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Duration> {
        self.kill_at.filter(|_| !self.is_killed)
    }

    /// That time has come.
    pub fn handle_timeout(&mut self, now: Duration) -> Vec<Action> {
        match self.poll_timeout() {
            Some(at) if at <= now => {
                if !self.is_executed && self.verdict.is_none() {
                    let (host, seconds) = (&self.host, EXECUTION.as_secs());
                    let message = format!(
                        "{host}: cannot execute the program launcher: it was not done within {seconds} s, because its file system does not \
                         answer or somebody has stopped the process; see whether the job's user can execute it there"
                    );
                    self.verdict = Some(Verdict::NotStarted { message, status: STATUS_USAGE });
                }
                self.kill().into_iter().collect()
            }
            _ => vec![],
        }
    }

    /// The process of the launcher has ended, and all that it has said was handled: how the job ended.
    pub fn verdict(&self, pid: i32, exit: Exit) -> Verdict {
        let lost = || Verdict::LauncherLost { pid, host: self.host.clone(), exit };
        self.verdict.clone().unwrap_or_else(lost)
    }

    fn kill_by(&mut self, at: Duration) {
        self.kill_at = Some(self.kill_at.map_or(at, |earlier| earlier.min(at)));
    }

    fn kill(&mut self) -> Option<Action> {
        (!std::mem::replace(&mut self.is_killed, true)).then_some(Action::Kill)
    }
}

/// Cuts the texts of a notice. Of an honest launcher's none is so long.
fn cut(notice: &mut Notice) {
    match notice {
        Notice::Remark(text) | Notice::Unreachable { reason: text, .. } => clip(text, TEXT_BYTES),
        Notice::Failed(verdict) | Notice::RanksGone(verdict) | Notice::Over(verdict) => {
            verdict.clip_texts(REPORT_BYTES, REPORT_BYTES);
        }
        Notice::Listening(_)
        | Notice::Prepared
        | Notice::Started(_)
        | Notice::Blocked
        | Notice::Report { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::{JobId, NodeId};
    use program_launcher::nic::JobNic;
    use program_launcher::verdict::RankName;
    use program_launcher::{Application, Job};

    const MS: Duration = Duration::from_millis(1);

    /// Of a launcher of two ranks that runs.
    fn life() -> Life {
        let mut life = Life::new("n7".into(), Some("10.0.0.7".parse().unwrap()), 2);
        life.handle_executed(Ok(()), MS);
        life
    }

    #[test]
    fn launcher_that_is_not_executed_in_time_is_killed_and_its_job_not_started() {
        let mut life = Life::new("n7".into(), None, 1);
        assert_eq!(life.poll_timeout(), Some(EXECUTION));
        assert_eq!(life.handle_timeout(EXECUTION), [Action::Kill]);
        // What shows afterwards changes nothing.
        life.handle_executed(Ok(()), EXECUTION);
        let verdict = life.verdict(17, Exit::Signal { signal: libc::SIGKILL, core_dumped: false });
        let Verdict::NotStarted { message, .. } = verdict else { panic!("{verdict:?}") };
        assert!(
            message.starts_with("n7: cannot execute the program launcher") && message.contains("5 s"),
            "{message}"
        );
    }

    #[test]
    fn launcher_that_cannot_be_executed_says_why_and_one_that_is_to_end_first_goes_sooner() {
        let mut life = Life::new("n7".into(), None, 1);
        life.handle_executed(Err("no".into()), MS);
        assert_eq!(life.poll_timeout(), Some(MS + PATIENCE));
        let not_started = Verdict::NotStarted { message: "no".into(), status: STATUS_USAGE };
        assert_eq!(life.verdict(17, Exit::Code(127)), not_started);
        let mut life = Life::new("n7".into(), None, 1);
        life.handle_ending(Ending::ManagerLost, MS);
        life.handle_executed(Ok(()), MS * 2);
        assert_eq!(life.poll_timeout(), Some(MS + PATIENCE));
    }

    #[test]
    fn texts_of_a_launcher_are_cut_and_ranks_that_its_job_has_not_are_nonsense() {
        let mut life = life();
        let long = "x".repeat(1 << 20);
        let said = |actions: &[Action]| match actions {
            [Action::Say(Notice::Remark(text) | Notice::Unreachable { reason: text, .. })] => text.len(),
            [Action::Say(Notice::Failed(Verdict::Aborted { message, .. }))] => message.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!(said(&life.handle_notice(Notice::Remark(long.clone()), MS)), TEXT_BYTES);
        let lost = Notice::Unreachable { node: 1, reason: long.clone() };
        assert_eq!(said(&life.handle_notice(lost, MS)), TEXT_BYTES);
        let rank = RankName { rank: 0, host: long.clone(), program: Some(long.clone()) };
        let aborted = Verdict::Aborted { rank, code: 1, message: long };
        assert_eq!(said(&life.handle_notice(Notice::Failed(aborted), MS)), REPORT_BYTES);
        assert_eq!(life.handle_notice(Notice::Started(vec![1, 2]), MS).len(), 1);
        assert!(life.handle_notice(Notice::Started(vec![1, 2, 3]), MS).contains(&Action::Kill));
        let mut life = self::life();
        let state = |ranks| {
            let job = Job { id: JobId(1), ..Job::new(vec![Application::new(ranks, "./a")]) };
            JobNic::create(&job, NodeId(0)).unwrap().state()
        };
        let report = |ranks| Notice::Report { round: 1, state: state(ranks) };
        assert_eq!(life.handle_notice(report(2), MS).len(), 1);
        assert!(life.handle_notice(report(3), MS).contains(&Action::Kill));
    }

    #[test]
    fn verdict_of_the_launcher_is_the_last_word_and_it_has_to_go_then() {
        let mut life = life();
        let over = Notice::Over(Verdict::Success);
        assert_eq!(life.handle_notice(over, MS), []);
        assert_eq!(life.handle_notice(Notice::Remark("more".into()), MS), []);
        assert_eq!(life.handle_nonsense("more"), []);
        assert_eq!(life.poll_timeout(), Some(MS + PATIENCE));
        assert_eq!(life.handle_timeout(MS), []);
        assert_eq!(life.handle_timeout(MS + PATIENCE), [Action::Kill]);
        assert_eq!((life.handle_timeout(MS * 9000), life.poll_timeout()), (vec![], None));
        assert_eq!(life.verdict(17, Exit::Code(1)), Verdict::Success);
    }

    #[test]
    fn launcher_that_ends_without_a_verdict_is_lost() {
        let exit = Exit::Signal { signal: libc::SIGKILL, core_dumped: false };
        assert_eq!(life().verdict(17, exit), Verdict::LauncherLost { pid: 17, host: "n7".into(), exit });
    }

    #[test]
    fn launcher_that_listens_elsewhere_than_it_was_told_is_killed() {
        let elsewhere = Notice::Listening(([10, 0, 0, 8], 4000).into());
        let actions = life().handle_notice(elsewhere, MS);
        assert!(matches!(&actions[..], [Action::Say(Notice::Remark(_)), Action::Kill]), "{actions:?}");
        let honest = Notice::Listening(([10, 0, 0, 7], 4000).into());
        assert_eq!(life().handle_notice(honest.clone(), MS), [Action::Say(honest.clone())]);
        let mut alone = Life::new("n7".into(), None, 2);
        assert!(alone.handle_notice(honest, MS).contains(&Action::Kill), "its job has no network");
    }

    #[test]
    fn prepared_and_failed_are_said_once() {
        let mut life = life();
        let failed = Notice::Failed(Verdict::Stuck(String::new()));
        assert_eq!(
            life.handle_notice(Notice::Prepared, MS),
            [Action::Say(Notice::Prepared), Action::Prepared]
        );
        assert_eq!(life.handle_notice(Notice::Prepared, MS), []);
        assert_eq!(life.handle_notice(failed.clone(), MS).len(), 1);
        assert_eq!(life.handle_notice(failed, MS), []);
    }

    #[test]
    fn job_of_a_node_manager_that_is_shut_down_fails_with_its_name_and_is_finished_here() {
        let mut life = life();
        let actions = life.handle_ending(Ending::Shutdown, MS);
        let [
            Action::Say(Notice::Remark(remark)),
            Action::Say(Notice::Failed(verdict)),
            Action::Tell(Command::End),
        ] = &actions[..]
        else {
            panic!("{actions:?}")
        };
        assert!(remark.contains("n7") && verdict.status() == 143);
        assert_eq!(life.handle_ending(Ending::Shutdown, MS), []);
        let gone = Notice::RanksGone(Verdict::Success);
        assert_eq!(life.handle_notice(gone.clone(), MS), [Action::Say(gone), Action::Tell(Command::Finish)]);
        assert_eq!(life.handle_timeout(MS + PATIENCE), [Action::Kill]);
    }

    #[test]
    fn job_without_a_manager_is_ended_and_finished_at_once_if_no_rank_is_left() {
        let mut life = life();
        life.handle_notice(Notice::RanksGone(Verdict::Success), MS);
        assert_eq!(
            life.handle_ending(Ending::ManagerLost, MS),
            [Action::Tell(Command::End), Action::Tell(Command::Finish)]
        );
    }
}
