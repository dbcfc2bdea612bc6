//! A launcher for tests of the library: N processes on one NIC, without a machine manager.
//!
//! It does what every launcher of ours has to: NIC memory inherited, the environment set, the NIC thread started after the processes, the
//! job ended when a rank fails, a deadlock is found or time is up, and whoever is left killed.

use bcs_core::{JobId, NodeId, Placement, Rank, SliceLength};
use nic_emu::arith::Arithmetic;
use nic_emu::host::{NicConfig, NicHost, RankPhase};
use nic_emu::nic_thread::Finding;
use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How a job is to be run.
pub struct Job {
    pub ranks: u32,
    pub slice: SliceLength,
    pub cross_memory: bool,
    pub environment: Vec<(String, String)>,
    pub limit: Duration,
    /// Standard output and standard error go to the launcher's instead of being kept.
    pub inherit: bool,
}

impl Job {
    pub fn of(ranks: u32) -> Self {
        Self {
            ranks,
            slice: SliceLength::Elastic,
            cross_memory: true,
            environment: Vec::new(),
            limit: Duration::from_secs(60),
            inherit: false,
        }
    }
}

/// How a job ended.
#[derive(Debug)]
pub struct Ended {
    /// By rank: exit code, or 128 and the signal.
    pub codes: Vec<i32>,
    pub stdout: String,
    pub stderr: String,
    /// The exit code and the message of who aborted the job.
    pub abort: Option<(i32, String)>,
    /// What the NIC thread found: a deadlock, as people read it.
    pub finding: Option<String>,
    pub timed_out: bool,
}

impl Ended {
    pub fn is_well(&self) -> bool {
        self.codes.iter().all(|code| *code == 0)
            && self.abort.is_none()
            && self.finding.is_none()
            && !self.timed_out
    }
}

/// Runs a program as a job.
pub fn launch<S: AsRef<OsStr>>(job: &Job, program: &Path, arguments: &[S]) -> Ended {
    let config = NicConfig {
        job: JobId(1),
        placement: Placement::one_node(job.ranks),
        node: NodeId(0),
        slice: job.slice,
        arithmetic: Arithmetic::Native,
        cross_memory: job.cross_memory,
        emds: None,
        nic_core: None,
    };
    let mut host = NicHost::create(&config).expect("NIC memory for a test");
    let fd = host.descriptor().as_raw_fd();
    let mut children: Vec<Child> = (0..job.ranks)
        .map(|rank| {
            let mut command = Command::new(program);
            command.args(arguments).envs(job.environment.iter().map(|(name, value)| (name, value)));
            for (name, value) in [
                ("BCS_RANK", rank),
                ("BCS_SIZE", job.ranks),
                ("BCS_LOCAL_RANK", rank),
                ("BCS_NIC_FD", fd as u32),
            ] {
                command.env(name, value.to_string());
            }
            command.env("BCS_JOB", "test").env("BCS_LAUNCHER_PID", std::process::id().to_string());
            if !job.inherit {
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
            }
            command.stdin(Stdio::null());
            // SAFETY: between fork and exec one system call is made: the child keeps the descriptor of NIC memory.
            unsafe {
                command.pre_exec(move || {
                    if libc::fcntl(fd, libc::F_SETFD, 0) == 0 {
                        Ok(())
                    } else {
                        Err(std::io::Error::last_os_error())
                    }
                })
            };
            let child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", program.display()));
            host.rank_started(Rank(rank), child.id());
            child
        })
        .collect();
    host.start(None).expect("the NIC thread of a test");
    let readers: Vec<_> = children
        .iter_mut()
        .map(|child| {
            let (out, err) = (child.stdout.take(), child.stderr.take());
            std::thread::spawn(move || (read_all(out), read_all(err)))
        })
        .collect();
    let (codes, timed_out) = wait(&host, &mut children, job.limit);
    let (mut stdout, mut stderr) = (String::new(), String::new());
    for reader in readers {
        let (out, err) = reader.join().expect("a reader of output");
        stdout += &out;
        stderr += &err;
    }
    let abort = (0..job.ranks).find_map(|rank| match host.phase(Rank(rank)) {
        RankPhase::Aborted { code, message } => Some((code, message)),
        _ => None,
    });
    let finding = host.finding().map(|finding| match finding {
        Finding::Deadlock(report) => report.to_string(),
        Finding::Slice(error) => error.to_string(),
        Finding::Told(text) => text,
    });
    host.stop();
    Ended { codes, stdout, stderr, abort, finding, timed_out }
}

/// Waits for all; ends the job when one fails, when the NIC has found something, or when time is up.
fn wait(host: &NicHost, children: &mut [Child], limit: Duration) -> (Vec<i32>, bool) {
    let begin = now();
    let mut codes = vec![None; children.len()];
    let mut ending: Option<Instant> = None;
    let mut timed_out = false;
    while codes.iter().any(Option::is_none) {
        for (rank, child) in children.iter_mut().enumerate() {
            if codes[rank].is_none()
                && let Some(status) = child.try_wait().expect("a child of this process")
            {
                host.rank_exited(Rank(rank as u32));
                codes[rank] = Some(code_of(status));
                if !status.success() {
                    ending.get_or_insert_with(now);
                }
            }
        }
        timed_out |= begin.elapsed() > limit;
        if host.finding().is_some() || timed_out {
            ending.get_or_insert_with(now);
        }
        if let Some(since) = ending {
            nic_emu::abort::end_job(host.memory());
            if since.elapsed() > Duration::from_millis(500) {
                children.iter_mut().for_each(|child| drop(child.kill()));
            }
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    (codes.into_iter().flatten().collect(), timed_out)
}

/// The clock of a launcher, which is a driver.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

fn read_all(from: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut from) = from {
        from.read_to_end(&mut bytes).expect("output of a child");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
