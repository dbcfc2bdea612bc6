//! What the launching tests share: the programs to launch, bounded runs, and a look at what is left.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::disallowed_methods, reason = "tests of real processes bound real time")]

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// No run of a test may take longer.
pub const BOUND: Duration = Duration::from_secs(60);

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Ran {
    /// The exit code, or 128 and the signal, as a shell sees it.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0))
    }

    /// Checks the exit code and the one line on the standard error.
    #[track_caller]
    pub fn fails_with(&self, code: i32, words: &[&str]) -> &Self {
        assert_eq!(self.code(), code, "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {self:?}");
        }
        self
    }

    /// Checks that it went well and said nothing.
    #[track_caller]
    pub fn succeeds(&self) -> &Self {
        assert_eq!((self.code(), self.stderr.as_str()), (0, ""), "{self:?}");
        self
    }

    pub fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A run in progress, with a mark in the environment of all its processes.
pub struct Running {
    pub child: Child,
    pub mark: String,
    begun: Instant,
}

/// The `storm` program of this build.
pub fn storm_path() -> PathBuf {
    assert_cmd::cargo::cargo_bin!("storm").to_owned()
}

/// Copies the `storm` program. By another process: one of ours could fork while the copy is open for writing,
/// and a program that somebody may write cannot be run.
pub fn copy_storm(directory: &Path) {
    assert!(Command::new("cp").arg(storm_path()).arg(directory).status().unwrap().success());
}

/// `storm run` with these words as arguments.
pub fn storm(arguments: &str) -> Command {
    let mut command = Command::new(storm_path());
    // Whoever tests may have a cluster.
    command.env("BCS_CONFIG", "");
    command.arg("run").args(arguments.split_whitespace());
    command
}

/// A shell script of all ranks.
pub fn script(arguments: &str, script: &str) -> Command {
    let mut command = storm(arguments);
    command.args(["sh", "-c", script]);
    command
}

/// Starts a run with nothing to read, its output caught, and a mark of its own.
pub fn start(command: &mut Command) -> Running {
    start_with(command, Stdio::null())
}

pub fn start_with(command: &mut Command, stdin: Stdio) -> Running {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let begun = Instant::now();
    let child = command
        .env("STORM_TEST_MARK", &mark)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Running { child, mark, begun }
}

/// Runs to the end, with nothing to read.
pub fn run(command: &mut Command) -> Ran {
    start(command).wait()
}

impl Running {
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for the end; past the bound, kills it and fails.
    #[track_caller]
    pub fn wait(mut self) -> Ran {
        fn collect(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
            thread::spawn(move || {
                let mut bytes = Vec::new();
                from.read_to_end(&mut bytes).unwrap();
                String::from_utf8_lossy(&bytes).into_owned()
            })
        }
        let collect_if = |stream: Option<_>| stream.map(collect);
        let stdout = collect_if(self.child.stdout.take());
        let stderr = self.child.stderr.take().map(collect);
        let status = self.wait_status();
        let took = self.begun.elapsed();
        let text = |collected: Option<thread::JoinHandle<String>>| {
            collected.map_or(String::new(), |c| c.join().unwrap())
        };
        Ran { status, stdout: text(stdout), stderr: text(stderr), took }
    }

    #[track_caller]
    fn wait_status(&mut self) -> ExitStatus {
        let mut pause = Duration::from_micros(200);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if self.begun.elapsed() > BOUND {
                let left = processes_marked(&self.mark);
                let _ = self.child.kill();
                panic!("still running after {BOUND:?}, with {left:?}");
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// Waits until this many of its processes run a program of this name.
    #[track_caller]
    pub fn await_processes(&self, name: &str, count: usize) -> Vec<i32> {
        await_some("processes of a job", || {
            let found: Vec<i32> =
                processes_marked(&self.mark).into_iter().filter(|pid| name_of(*pid) == name).collect();
            (found.len() >= count).then_some(found)
        })
    }

    /// Sends a signal to `storm`.
    pub fn signal(&self, signal: i32) {
        send(self.pid(), signal);
    }
}

pub fn send(pid: i32, signal: i32) {
    // SAFETY: kill touches no memory.
    unsafe { libc::kill(pid, signal) };
}

/// Waits for something that must come to be.
#[track_caller]
pub fn await_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < BOUND, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The processes, not yet reaped zombies apart, that were started with a mark in their environment.
pub fn processes_marked(mark: &str) -> Vec<i32> {
    let entry = format!("STORM_TEST_MARK={mark}");
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|process| process.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environment| {
                environment.split(|byte| *byte == 0).any(|present| present == entry.as_bytes())
            })
        })
        .collect()
}

/// Fails if a process of the run is left. Processes that were killed need a moment to go.
#[track_caller]
pub fn assert_nothing_left(mark: &str) {
    let begun = Instant::now();
    loop {
        let left = processes_marked(mark);
        if left.is_empty() {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "left: {:?}",
            left.iter().map(|pid| (pid, name_of(*pid))).collect::<Vec<_>>()
        );
        thread::sleep(Duration::from_millis(1));
    }
}

pub fn name_of(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// The state of a process as `ps` shows it: `S` for sleeping, `T` for stopped.
pub fn state_of(pid: i32) -> char {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('?')
}

pub fn parent_of(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    status.rsplit_once(") ")?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The name of this host as messages give it.
pub fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

/// A directory with a compiled C program in it.
pub struct Compiled {
    pub directory: TempDir,
    pub program: PathBuf,
}

/// Compiles a C program.
pub fn compiled(name: &str, source: &str) -> Compiled {
    let directory = tempfile::tempdir().unwrap();
    let program = compile(directory.path(), name, source, &[] as &[&str]);
    Compiled { directory, program }
}

pub fn compile(directory: &Path, name: &str, source: &str, flags: &[impl AsRef<OsStr>]) -> PathBuf {
    let (text, program) = (directory.join(format!("{name}.c")), directory.join(name));
    fs::write(&text, source).unwrap();
    let status =
        Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(&text).args(flags).status().unwrap();
    assert!(status.success(), "cc {name}");
    program
}
