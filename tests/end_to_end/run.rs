//! Runs programs: bounded in time, with all that they said, and with a mark that tells which processes are
//! theirs.

use std::fmt;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What no run may exceed: a hang fails the test instead of holding it.
const BOUND: Duration = Duration::from_secs(120);

/// The variable that marks the processes of a run.
const MARK: &str = "END_TO_END_MARK";

/// The repository.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the repository")
}

/// The installation under test.
pub fn prefix() -> PathBuf {
    let prefix = std::env::var_os("BCS_PREFIX")
        .map_or_else(|| repository().join("target/stage"), |prefix| repository().join(prefix));
    assert!(
        prefix.join("bin/storm").is_file(),
        "there is no installation in {}: run scripts/install --prefix {0}",
        prefix.display()
    );
    prefix
}

/// How a run ended, and all that it said.
pub struct Ended {
    command: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, status, stdout, stderr } = self;
        write!(f, "{command}\n{status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

impl Ended {
    /// Of a command that others have run.
    pub fn of(command: &str, output: &std::process::Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        Self { command: command.to_owned(), status: output.status, stdout, stderr }
    }

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

    /// Checks that both outputs together have this text.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text) || self.stderr.contains(text), "no \"{text}\" in: {self:?}");
        self
    }
}

/// A run that has been started.
pub struct Running {
    command: String,
    mark: String,
    child: Child,
    begun: Instant,
    outputs: [JoinHandle<String>; 2],
}

/// Starts the command with nothing to read.
pub fn start(command: &mut Command) -> Running {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }
    let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    command.env(MARK, &mark).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = format!("{command:?}");
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {shown}: {error}"));
    let outputs = [collect(child.stdout.take().unwrap()), collect(child.stderr.take().unwrap())];
    Running { command: shown, mark, child, begun: Instant::now(), outputs }
}

/// Runs the command to its end, with nothing to read.
#[track_caller]
pub fn run(command: &mut Command) -> Ended {
    start(command).wait()
}

impl Running {
    /// The process that was started.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// All processes of the run that are alive.
    pub fn processes(&self) -> Vec<u32> {
        processes_marked(&self.mark)
    }

    /// Waits for the end, and for the last process of the run.
    #[track_caller]
    pub fn wait(mut self) -> Ended {
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if self.begun.elapsed() > BOUND {
                let left = self.processes();
                left.iter().for_each(|pid| kill(*pid, libc::SIGKILL));
                let [stdout, stderr] = self.outputs.map(|output| output.join().unwrap());
                panic!(
                    "{} runs for more than {BOUND:?}, with processes {left:?}\n{stdout}\n{stderr}",
                    self.command
                );
            }
            thread::sleep(Duration::from_millis(2));
        };
        // The outputs end when the last process that could write to them has.
        let [stdout, stderr] = self.outputs.map(|output| output.join().unwrap());
        let ended = Ended { command: self.command, status, stdout, stderr };
        let end = Instant::now();
        while end.elapsed() < Duration::from_secs(2) && !processes_marked(&self.mark).is_empty() {
            thread::sleep(Duration::from_millis(5));
        }
        let left = processes_marked(&self.mark);
        assert!(left.is_empty(), "processes {left:?} are left of {ended:?}");
        ended
    }
}

/// Sends a signal to a process, which may have ended.
pub fn kill(pid: u32, signal: i32) {
    // SAFETY: kill takes plain numbers.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

fn processes_marked(mark: &str) -> Vec<u32> {
    let wanted = format!("{MARK}={mark}");
    let processes = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    processes
        .filter(|pid: &u32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}

/// A program of the installation.
pub fn installed(name: &str) -> Command {
    in_tree(&prefix(), name)
}

/// A program of an installation that lies in `tree`, which knows of no other.
pub fn in_tree(tree: &Path, name: &str) -> Command {
    let mut command = Command::new(tree.join("bin").join(name));
    // Whoever tests may have a cluster.
    command.env("BCS_CONFIG", "");
    for variable in ["LD_LIBRARY_PATH", "LD_PRELOAD", "BCS_CC", "MPICH_CC", "OMPI_CC"] {
        command.env_remove(variable);
    }
    command
}

/// `mpiexec` with these words as its first arguments.
pub fn mpiexec(arguments: &str) -> Command {
    let mut command = installed("mpiexec");
    command.args(arguments.split_whitespace());
    command
}

/// A program from our examples, built once with the installed `mpicc`.
pub fn example(name: &'static str) -> PathBuf {
    static BUILT: OnceLock<TempDir> = OnceLock::new();
    let directory = BUILT.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        for name in ["hello", "heat", "hydro", "sweep"] {
            let mut make = Command::new("make");
            make.args(["-s", "-B", "-C"]).arg(repository().join("examples").join(name));
            make.arg(format!("CC={}", prefix().join("bin/mpicc").display()));
            run(make.arg(format!("OUT={}", directory.path().join(name).display()))).succeeds();
        }
        directory
    });
    directory.path().join(name)
}

/// A deck of an example.
pub fn deck(example: &str, name: &str) -> PathBuf {
    repository().join("examples").join(example).join("decks").join(format!("{name}.deck"))
}

/// A program that lives as long as this value.
pub struct Compiled {
    directory: TempDir,
}

impl Compiled {
    /// Compiles C with a compiler.
    pub fn with(mut compiler: Command, source: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("program.c");
        std::fs::write(&file, source).unwrap();
        compiler.args(["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o"]);
        run(compiler.arg(directory.path().join("program")).arg(file)).succeeds();
        Self { directory }
    }

    /// Compiles C with the installed `mpicc`.
    pub fn new(source: &str) -> Self {
        Self::with(installed("mpicc"), source)
    }

    /// Compiles one of the programs that check themselves (`tests/mpi/NAME.c`).
    pub fn checking(name: &str) -> Self {
        let sources = repository().join("tests/mpi");
        let source =
            std::fs::read_to_string(sources.join(name).with_extension("c")).expect("a program of tests/mpi");
        let mut compiler = installed("mpicc");
        compiler.arg("-I").arg(sources);
        Self::with(compiler, &source)
    }

    /// The program's file.
    pub fn program(&self) -> PathBuf {
        self.directory.path().join("program")
    }
}
