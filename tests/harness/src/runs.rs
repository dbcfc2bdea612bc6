//! Runs of programs: bounded in time, with all that they said, and with a mark that tells which processes are
//! theirs.

use crate::processes;
use crate::waiting::{BOUND, await_some};
use std::fmt;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The variable that marks the processes of a run.
const MARK: &str = "BCS_TEST_MARK";

/// How a run ended, and all that it said.
pub struct Ended {
    command: String,
    mark: String,
    /// How the process ended.
    pub status: ExitStatus,
    /// What was written to the standard output, unless the test has read it.
    pub stdout: String,
    /// What was written to the standard error.
    pub stderr: String,
    /// From the start to the end of the process.
    pub took: Duration,
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, status, stdout, stderr, took, .. } = self;
        write!(f, "{command}\n{status} after {took:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

impl Ended {
    /// The exit code, or 128 and the signal, as a shell sees it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or_default())
    }

    /// Checks that it went well.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        assert!(self.status.success(), "{self:?}");
        self
    }

    /// Checks that it went well and said nothing on the standard error.
    #[track_caller]
    pub fn succeeds_quietly(&self) -> &Self {
        assert_eq!((self.code(), self.stderr.as_str()), (0, ""), "{self:?}");
        self
    }

    /// Checks the exit code, and the one line on the standard error.
    #[track_caller]
    pub fn fails_with(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code(), code, "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {self:?}");
        }
        self
    }

    /// Checks that both outputs together have this text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "no \"{text}\" in: {self:?}");
        self
    }

    /// The lines of the standard output.
    pub fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }

    /// The processes of the run that are still there.
    pub fn left(&self) -> Vec<u32> {
        processes::started_with(MARK, &self.mark)
    }
}

/// A run that has been started.
pub struct Running {
    /// The process that was started. Who reads its outputs here has them to itself.
    pub child: Child,
    command: String,
    mark: String,
    begun: Instant,
}

/// Starts the command with nothing to read.
pub fn start(command: &mut Command) -> Running {
    start_with(command, Stdio::null())
}

/// Starts the command with this as its input.
pub fn start_with(command: &mut Command, stdin: Stdio) -> Running {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    command.env(MARK, &mark).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = format!("{command:?}");
    let begun = Instant::now();
    let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
    Running { child, command: shown, mark, begun }
}

/// Runs the command to its end, with nothing to read.
#[track_caller]
pub fn run(command: &mut Command) -> Ended {
    start(command).wait()
}

/// What the command, which has to go well, writes to its standard output.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    run(command).succeeds().stdout
}

/// Runs the command, which leaves processes on purpose, to its end, with nothing to read.
#[track_caller]
pub fn run_leaving(command: &mut Command) -> Ended {
    start(command).wait_leaving()
}

impl Running {
    /// The process that was started.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All processes of the run that are alive.
    pub fn processes(&self) -> Vec<u32> {
        processes::started_with(MARK, &self.mark)
    }

    /// The processes of the run with this name.
    pub fn processes_called(&self, name: &str) -> Vec<u32> {
        self.processes().into_iter().filter(|pid| processes::name(*pid) == name).collect()
    }

    /// Waits until so many processes of the run have this name.
    #[track_caller]
    pub fn await_processes(&self, name: &str, count: usize) -> Vec<u32> {
        await_some(&format!("{count} processes called {name}"), || {
            let found = self.processes_called(name);
            (found.len() >= count).then_some(found)
        })
    }

    /// Sends a signal to the process that was started.
    pub fn signal(&self, signal: i32) {
        processes::signal(self.pid(), signal);
    }

    /// Waits for the end, after which no process of the run may be left.
    #[track_caller]
    pub fn wait(self) -> Ended {
        let ended = self.wait_leaving();
        // Processes that were killed need a moment to go.
        let since = Instant::now();
        loop {
            let left = ended.left();
            if left.is_empty() {
                return ended;
            }
            let named: Vec<_> = left.iter().map(|pid| (pid, processes::name(*pid))).collect();
            assert!(since.elapsed() < Duration::from_secs(5), "processes {named:?} are left of {ended:?}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for the end; processes of the run that hold none of its outputs may be left.
    #[track_caller]
    pub fn wait_leaving(mut self) -> Ended {
        let outputs = [self.child.stdout.take().map(read_all), self.child.stderr.take().map(read_all)];
        let text = |output: Option<JoinHandle<String>>| output.map_or(String::new(), |it| it.join().unwrap());
        let mut pause = Duration::from_micros(200);
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.begun.elapsed() > BOUND {
                let left = self.processes();
                left.iter().for_each(|pid| processes::kill(*pid));
                let [stdout, stderr] = outputs.map(text);
                panic!("{} runs for more than {BOUND:?}, as {left:?}\n{stdout}\n{stderr}", self.command);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        };
        let took = self.begun.elapsed();
        // The outputs end when the last process that could write to them has.
        let [stdout, stderr] = outputs.map(text);
        Ended { command: self.command, mark: self.mark, status, stdout, stderr, took }
    }
}

/// Reads to the end, in a thread of its own.
pub fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
