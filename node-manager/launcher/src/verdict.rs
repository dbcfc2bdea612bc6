//! How a job ended: the verdict that the user reads and the exit status that scripts see.
//!
//! The invariant: the verdict is the *first* failure (design, §6), never something that the
//! clean-up after it caused. Exit statuses are listed in [`EXIT_STATUSES`], from which the manual is
//! made.

#![allow(missing_docs, reason = "the resolvers that rkyv derives for enums have none; everything here has")]

use crate::signals::{self, Signal};
use rkyv::{Archive, Deserialize, Serialize};
use rustix::process::WaitIdStatus;
use std::fmt;
use std::iter;
use std::time::Duration;

/// Wrong options, or something that the machine or the user must change before the job can start.
pub const STATUS_USAGE: u8 = 1;
/// The time limit of `--timeout` struck.
pub const STATUS_TIMEOUT: u8 = 124;
/// The runtime ended the job, or could not start it: a deadlock, mismatched collectives, damaged NIC memory,
/// a lost node or manager, a rank gone without `MPI_Finalize`.
pub const STATUS_RUNTIME: u8 = nic_emu::nic_thread::FINDING_STATUS;
/// The program exists but cannot be executed.
pub const STATUS_NOT_EXECUTABLE: u8 = 126;
/// The program was not found.
pub const STATUS_NOT_FOUND: u8 = 127;
/// Added to the number of the signal that ended the job.
pub const STATUS_SIGNAL: u8 = 128;

/// The exit statuses of `storm run`, for the manual and the help.
pub const EXIT_STATUSES: &[(&str, &str)] = &[
    ("0", "Every rank exited with 0."),
    (
        "N",
        "The first rank that failed exited with N, or called MPI_Abort with N (1 if N is a multiple of 256).",
    ),
    ("1", "The command line is wrong, or the machine refuses the job; the message says what to change."),
    ("124", "The time limit of --timeout struck."),
    (
        "125",
        "The runtime ended the job, or could not start it: all ranks were deadlocked or called collectives that do not fit, NIC memory was damaged, a node or the machine manager was lost or did not answer, or a rank left without MPI_Finalize.",
    ),
    ("126", "The program exists but cannot be executed."),
    ("127", "The program was not found."),
    (
        "128+S",
        "The first rank that failed was killed by signal S, or a program launcher was, or storm or a daemon was told to end by signal S (130 after an interrupt from the keyboard).",
    ),
];

/// How a process came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this code.
    Code(u8),
    /// Killed by a signal.
    Signal {
        /// Which one.
        signal: Signal,
        /// Whether the kernel wrote its memory to a core file.
        core_dumped: bool,
    },
}

impl Exit {
    /// Reads a status as `waitpid` gives it.
    pub fn from_wait_status(status: i32) -> Self {
        if libc::WIFSIGNALED(status) {
            Exit::Signal { signal: libc::WTERMSIG(status), core_dumped: libc::WCOREDUMP(status) }
        } else {
            Exit::Code(libc::WEXITSTATUS(status) as u8)
        }
    }

    /// Reads a status as `waitid` gives it, of a process that has ended.
    pub fn from_wait_id(status: &WaitIdStatus) -> Self {
        match (status.terminating_signal(), status.exit_status()) {
            (Some(signal), _) => Exit::Signal { signal, core_dumped: status.dumped() },
            (None, code) => Exit::Code(code.unwrap_or_default() as u8),
        }
    }

    /// The exit status that a shell gives for it.
    pub fn status(self) -> u8 {
        match self {
            Exit::Code(code) => code,
            // Who says it may be another process: its number may be none of a signal.
            Exit::Signal { signal, .. } => {
                STATUS_SIGNAL.saturating_add(u8::try_from(signal).unwrap_or(u8::MAX))
            }
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => {
                write!(f, "exited with code {code}")?;
                let signal = Signal::from(code.saturating_sub(STATUS_SIGNAL));
                match signals::meaning(signal) {
                    "" => Ok(()),
                    meaning => write!(f, " (a shell's code for {}, {meaning})", signals::name(signal)),
                }
            }
            Exit::Signal { signal, core_dumped } => {
                write!(f, "was killed by signal {signal}")?;
                match (signals::meaning(signal), core_dumped) {
                    ("", _) => {}
                    (meaning, false) => write!(f, " ({}, {meaning})", signals::name(signal))?,
                    (meaning, true) => {
                        write!(f, " ({}, {meaning}; core dumped)", signals::name(signal))?;
                    }
                }
                if signal == libc::SIGKILL {
                    f.write_str(": by somebody's kill -9, or by the kernel when memory ran out (see dmesg)")?;
                }
                Ok(())
            }
        }
    }
}

/// A rank as messages name it.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct RankName {
    /// Its number in the job.
    pub rank: u32,
    /// The node it ran on.
    pub host: String,
    /// Its program, in jobs that have more than one.
    pub program: Option<String>,
}

impl fmt::Display for RankName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.program {
            Some(program) => write!(f, "rank {} ({program}) on {}", self.rank, self.host),
            None => write!(f, "rank {} on {}", self.rank, self.host),
        }
    }
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Verdict {
    /// Every rank exited with 0.
    Success,
    /// A rank failed by itself.
    RankFailed {
        /// The first that did.
        rank: RankName,
        /// How.
        exit: Exit,
        /// Whether the reader of our output has gone, and the rank died of writing to it: nothing
        /// that the user wants to read about.
        output_gone: bool,
    },
    /// A rank called `MPI_Abort`, or an MPI call of its failed and nobody handled the error.
    Aborted {
        /// Which.
        rank: RankName,
        /// The error code that it gave.
        code: i32,
        /// What it gave as the reason; may be empty.
        message: String,
    },
    /// This rank left with code 0 after `MPI_Init`, without `MPI_Finalize`, while others still ran.
    NotFinalized(RankName),
    /// The NIC found that nothing pending can ever complete, or that its memory is damaged; what it saw, in
    /// lines.
    Stuck(String),
    /// The time limit struck.
    TimedOut {
        /// The limit.
        limit: Duration,
        /// What each rank was doing, in lines.
        report: String,
    },
    /// The user or the batch system ended the job by a signal.
    Interrupted {
        /// The signal.
        signal: Signal,
        /// The exit status, which is the ranks' own if they handled the signal.
        status: u8,
    },
    /// A rank could not be started.
    NotStarted {
        /// What was tried on which object, why it failed, and what to do.
        message: String,
        /// The exit status.
        status: u8,
    },
    /// Another node of the job could not be reached any more.
    NodeLost {
        /// The node that is lost.
        host: String,
        /// Who could not reach it.
        seen_from: String,
        /// What happened to the link.
        reason: String,
    },
    /// The program launcher itself ended before its job did.
    LauncherLost {
        /// Its process id.
        pid: i32,
        /// The node it ran on.
        host: String,
        /// How it ended.
        exit: Exit,
    },
}

impl Verdict {
    /// The job was ended by this signal, with the exit status that a shell gives for it.
    pub fn interrupted(signal: Signal) -> Self {
        Self::Interrupted { signal, status: STATUS_SIGNAL + signal as u8 }
    }

    /// Cuts all texts in it, where somebody says it who is not believed: reports to so many bytes, others to
    /// fewer.
    pub fn clip_texts(&mut self, bytes: usize, report_bytes: usize) {
        let is_report = matches!(self, Verdict::Stuck(_) | Verdict::TimedOut { .. });
        let bytes = if is_report { report_bytes } else { bytes };
        self.texts().into_iter().for_each(|text| clip(text, bytes));
    }

    fn texts(&mut self) -> Vec<&mut String> {
        fn of_rank(rank: &mut RankName) -> impl Iterator<Item = &mut String> {
            iter::once(&mut rank.host).chain(&mut rank.program)
        }
        match self {
            Verdict::Success | Verdict::Interrupted { .. } => vec![],
            Verdict::RankFailed { rank, .. } | Verdict::NotFinalized(rank) => of_rank(rank).collect(),
            Verdict::Aborted { rank, message, .. } => of_rank(rank).chain([message]).collect(),
            Verdict::Stuck(report) | Verdict::TimedOut { report, .. } => vec![report],
            Verdict::NotStarted { message, .. } => vec![message],
            Verdict::NodeLost { host, seen_from, reason } => vec![host, seen_from, reason],
            Verdict::LauncherLost { host, .. } => vec![host],
        }
    }

    /// The exit status of `storm run`.
    pub fn status(&self) -> u8 {
        match self {
            Verdict::Success => 0,
            Verdict::RankFailed { exit, .. } => exit.status(),
            Verdict::Aborted { code, .. } => match (*code & 0xff) as u8 {
                0 => 1,
                code => code,
            },
            Verdict::NotFinalized(_) | Verdict::Stuck(_) | Verdict::NodeLost { .. } => STATUS_RUNTIME,
            Verdict::TimedOut { .. } => STATUS_TIMEOUT,
            Verdict::Interrupted { status, .. } | Verdict::NotStarted { status, .. } => *status,
            Verdict::LauncherLost { exit, .. } => match exit.status() {
                0 => STATUS_RUNTIME,
                status => status,
            },
        }
    }

    /// What the user reads on the standard error, without the name of the program in front. One
    /// line, but for the reports of the NIC. Nothing when there is nothing to say.
    pub fn message(&self) -> Option<String> {
        Some(match self {
            Verdict::Success => return None,
            Verdict::RankFailed { output_gone: true, .. } => return None,
            Verdict::RankFailed { rank, exit, .. } => format!("{rank} {exit}"),
            Verdict::Aborted { rank, code, message } if message.is_empty() => {
                format!("{rank} called MPI_Abort with code {code}")
            }
            Verdict::Aborted { rank, code, message } => {
                format!("{rank} aborted the job with code {code}: {message}")
            }
            Verdict::NotFinalized(rank) => format!(
                "{rank} exited with code 0 after MPI_Init but without MPI_Finalize, while other ranks still \
                 ran; call MPI_Finalize before the program ends, or MPI_Abort to end all ranks"
            ),
            Verdict::Stuck(report) => report.trim_end().to_owned(),
            Verdict::TimedOut { limit, report } => {
                let head = format!("the job was ended by its time limit of {} s", limit.as_secs_f64());
                match report.trim_end() {
                    "" => head,
                    report => format!("{head}; what its ranks were doing:\n{report}"),
                }
            }
            Verdict::Interrupted { signal, .. } => {
                format!("the job was ended by {} ({})", signals::name(*signal), signals::meaning(*signal))
            }
            Verdict::NotStarted { message, .. } => message.clone(),
            Verdict::NodeLost { host, seen_from, reason } => format!(
                "{host} was lost: {seen_from} cannot reach it any more ({reason}); see whether it runs and is on the \
                 network, and start the job again, or without it"
            ),
            Verdict::LauncherLost { pid, host, exit } => {
                format!("the program launcher (process {pid}) on {host} {exit}; its ranks were ended with it")
            }
        })
    }
}

/// Cuts a text that is longer than so many bytes, between two characters, and says so.
pub fn clip(text: &mut String, bytes: usize) {
    const CUT: &str = " ... (cut)";
    if text.len() > bytes {
        let mut end = bytes - CUT.len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        // What was cut off is not to be kept.
        text.shrink_to_fit();
        text.push_str(CUT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank() -> RankName {
        RankName { rank: 3, host: "n7".into(), program: None }
    }

    #[test]
    fn text_is_cut_between_characters_to_no_more_than_the_limit_and_says_so() {
        for (text, expected) in [
            ("short".to_owned(), "short".to_owned()),
            ("x".repeat(20), "x".repeat(20)),
            ("x".repeat(21), "xxxxxxxxxx ... (cut)".into()),
            (format!("x{}", "\u{e4}".repeat(20)), "x\u{e4}\u{e4}\u{e4}\u{e4} ... (cut)".into()),
        ] {
            let mut clipped = text;
            clip(&mut clipped, 20);
            assert_eq!(clipped, expected);
        }
    }

    #[test]
    fn exit_status_is_the_shells_for_every_way_to_end() {
        let killed = Exit::Signal { signal: libc::SIGSEGV, core_dumped: false };
        let by = |signal| Exit::Signal { signal, core_dumped: false };
        assert_eq!([200, 300, -1].map(|signal| by(signal).status()), [255; 3], "of no signal that there is");
        let cases = [
            (Verdict::Success, 0),
            (Verdict::RankFailed { rank: rank(), exit: Exit::Code(7), output_gone: false }, 7),
            (Verdict::RankFailed { rank: rank(), exit: killed, output_gone: false }, 139),
            (Verdict::Aborted { rank: rank(), code: 7, message: String::new() }, 7),
            (Verdict::Aborted { rank: rank(), code: 0, message: String::new() }, 1),
            (Verdict::Aborted { rank: rank(), code: 512, message: String::new() }, 1),
            (Verdict::Aborted { rank: rank(), code: -1, message: String::new() }, 255),
            (Verdict::Stuck(String::new()), 125),
            (Verdict::TimedOut { limit: Duration::from_secs(1), report: String::new() }, 124),
            (Verdict::Interrupted { signal: libc::SIGINT, status: 130 }, 130),
            (
                Verdict::NodeLost { host: "n7".into(), seen_from: "n1".into(), reason: "timed out".into() },
                125,
            ),
            (Verdict::LauncherLost { pid: 1, host: "n7".into(), exit: Exit::Code(0) }, 125),
        ];
        for (verdict, status) in cases {
            assert_eq!(verdict.status(), status, "{verdict:?}");
        }
    }

    #[test]
    fn message_names_rank_host_and_signal_or_code() {
        let failed = |exit| Verdict::RankFailed { rank: rank(), exit, output_gone: false }.message().unwrap();
        assert_eq!(failed(Exit::Code(7)), "rank 3 on n7 exited with code 7");
        assert_eq!(
            failed(Exit::Code(139)),
            "rank 3 on n7 exited with code 139 (a shell's code for SIGSEGV, segmentation fault)"
        );
        assert_eq!(
            failed(Exit::Signal { signal: libc::SIGSEGV, core_dumped: true }),
            "rank 3 on n7 was killed by signal 11 (SIGSEGV, segmentation fault; core dumped)"
        );
        let aborted = Verdict::Aborted { rank: rank(), code: 7, message: "no mesh".into() };
        assert_eq!(aborted.message().unwrap(), "rank 3 on n7 aborted the job with code 7: no mesh");
    }
}
