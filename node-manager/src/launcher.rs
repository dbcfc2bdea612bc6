//! The program launcher (PL): the process that starts the ranks of one job on this node, watches them,
//! carries their input and output, hosts the job's NIC, and leaves nothing behind (paper, §4.1).
//!
//! It is one event loop. What to do next is decided in [`crate::lifecycle`]; this file carries it out.
//! The invariants:
//! - a rank dies with the launcher (parent-death signal), and the launcher ends the job when `storm`
//!   dies (its end of the control socket closes);
//! - the launcher's main thread starts the ranks, since they would die with the thread that did;
//! - the verdict is sent when no process of the job is left.

#![expect(
    clippy::disallowed_methods,
    reason = "the launcher is a driver: it reads the clock for the state machine"
)]

use crate::binding::Groups;
use crate::control::{Channel, Command, Notice, Received};
use crate::descendants;
use crate::environment::{self, Here};
use crate::input::{Input, RankInput};
use crate::job::{Application, Job};
use crate::lifecycle::{Action, Event, Lifecycle, State};
use crate::nic::{Abort, JobNic};
use crate::output::{self, Output};
use crate::program::{LIBRARY_NAME, LibraryNeed, Program};
use crate::signals::{self, Signal, SignalQueue, SignalSet};
use crate::spawn::{Plan, Setting, StartError, Started, Step};
use crate::verdict::{
    Exit, RankName, STATUS_NOT_EXECUTABLE, STATUS_NOT_FOUND, STATUS_RUNTIME, STATUS_USAGE, Verdict,
};
use crate::watch::{Interest, Ready, Watch};
use bcs_core::{NodeId, Rank};
use rustix::process::{Pid, WaitId, WaitIdOptions};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The NIC's descriptor gets at least this number in the ranks, if it can: shell scripts use small ones freely.
const NIC_FD_AT_LEAST: i32 = 128;

/// How long ranks may take to vanish after SIGKILL before the launcher leaves them to the kernel.
const VANISHING: Duration = Duration::from_secs(5);

/// A job with everything found that starting it takes.
pub struct Prepared<'a> {
    /// The job.
    pub job: &'a Job,
    /// For each application its program and the environment that its ranks share.
    pub programs: Vec<(Program, Vec<(OsString, OsString)>)>,
    /// The limit on descriptors that the ranks get back.
    pub descriptor_limit: Option<libc::rlimit>,
    /// The signals that the ranks block.
    pub blocked: SignalSet,
    /// This node, as the job numbers its nodes.
    pub node: NodeId,
    /// The name of this node.
    pub host: &'a str,
}

impl Prepared<'_> {
    /// The job's ranks on this node.
    fn ranks(&self) -> u32 {
        self.job.placement.ranks_on(self.node)
    }
}

struct RankProcess {
    rank: Rank,
    pid: Pid,
    pidfd: OwnedFd,
    is_live: bool,
}

struct Launcher<'a> {
    prepared: &'a Prepared<'a>,
    storm: Channel<Notice, Command>,
    watch: Watch,
    signals: SignalQueue,
    nic: JobNic,
    /// By local index.
    ranks: Vec<RankProcess>,
    output: Option<Output>,
    input: Input,
    lifecycle: Lifecycle,
    begun: Instant,
    time_limit: Option<Duration>,
    killed_at: Option<Duration>,
}

/// Runs a job to its end, in the process that was forked for it, and tells `storm` the verdict.
pub fn run(prepared: &Prepared<'_>, mut storm: Channel<Notice, Command>) {
    // First the signals are blocked: a limit on file sizes is to be an error, not the launcher's death.
    let base = Base::new(&storm).map_err(|error| format!("cannot set up the program launcher: {error}"));
    let nic = base.and_then(|base| Ok((base, JobNic::create(prepared.job, prepared.node)?)));
    match nic {
        Ok((base, nic)) => Launcher::new(prepared, storm, nic, base).run(),
        Err(message) => {
            storm.send(&Notice::Over(Verdict::NotStarted { message, status: STATUS_USAGE }));
        }
    }
}

/// What every launcher has before it knows its job.
struct Base {
    watch: Watch,
    signals: SignalQueue,
}

impl Base {
    fn new(storm: &Channel<Notice, Command>) -> io::Result<Self> {
        SignalSet::all().block_exactly();
        // For `ps`; that it cannot be set harms nobody.
        let _ = rustix::thread::set_name(c"storm-launcher");
        descendants::adopt_orphans()?;
        let watch = Watch::new()?;
        let signals = SignalQueue::of(&[libc::SIGCHLD, libc::SIGTERM])?;
        watch.add(&signals, Ready::Signal, Interest::Read)?;
        watch.add(storm, Ready::Control, Interest::Read)?;
        Ok(Self { watch, signals })
    }
}

fn standard(number: i32) -> BorrowedFd<'static> {
    // SAFETY: Rust's runtime opens descriptors 0, 1 and 2 if whoever started us did not, and nothing
    // in the launcher closes them; descriptor 0 is replaced in place.
    unsafe { BorrowedFd::borrow_raw(number) }
}

impl<'a> Launcher<'a> {
    fn new(
        prepared: &'a Prepared<'a>,
        storm: Channel<Notice, Command>,
        nic: JobNic,
        Base { watch, signals }: Base,
    ) -> Self {
        let job = prepared.job;
        Self {
            prepared,
            storm,
            watch,
            signals,
            nic,
            ranks: Vec::with_capacity(prepared.ranks() as usize),
            output: job.labels.then(|| Output::new(standard(1), standard(2))),
            input: Input::new(standard(0), job.stdin),
            lifecycle: Lifecycle::new(prepared.ranks()),
            begun: Instant::now(),
            time_limit: job.timeout,
            killed_at: None,
        }
    }

    fn run(mut self) {
        if let Err(verdict) = self.start_all() {
            self.ranks_missing();
            self.act(Event::Struck(verdict));
        }
        while !matches!(self.lifecycle.state(), State::Over { .. }) && !self.has_waited_enough() {
            match self.watch.wait(self.time_to_wait()) {
                Ok(ready) => ready.into_iter().for_each(|ready| self.handle(ready)),
                Err(error) => {
                    let message = format!("the program launcher cannot wait for its job: {error}");
                    self.act(Event::Struck(Verdict::NotStarted { message, status: STATUS_RUNTIME }));
                    self.act(Event::Orphaned);
                    break;
                }
            }
            self.reap_orphans();
            self.look_at_clock();
        }
        self.finish();
    }

    /// Ranks that were never started count as departed.
    fn ranks_missing(&mut self) {
        self.lifecycle = Lifecycle::new(self.ranks.len() as u32);
    }

    fn start_all(&mut self) -> Result<(), Verdict> {
        let prepared = self.prepared;
        let cannot = |what: &str, error: io::Error| Verdict::NotStarted {
            message: format!("cannot {what}: {error}"),
            status: STATUS_USAGE,
        };
        // 0, 1 and 2 are open, so this is none of them.
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
        let null = rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty())
            .map_err(|error| cannot("open /dev/null", error.into()))?;
        // A low limit on descriptors may leave no number as high as we would like.
        let high = |fd: BorrowedFd<'_>| {
            rustix::io::fcntl_dupfd_cloexec(fd, NIC_FD_AT_LEAST)
                .or_else(|_| rustix::io::fcntl_dupfd_cloexec(fd, 3))
                .map_err(|error| cannot("duplicate the NIC's descriptor", error.into()))
        };
        let nic_fd = high(self.nic.descriptor())?;
        let wake_fd = self.nic.wake_descriptor().map(high).transpose()?;
        let inherited: Vec<_> =
            [Some(&nic_fd), wake_fd.as_ref()].into_iter().flatten().map(AsRawFd::as_raw_fd).collect();
        let on_terminal = [1, 2].into_iter().any(|number| rustix::termios::isatty(standard(number)));
        let here = Here {
            node: prepared.node,
            launcher: rustix::process::getpid().as_raw_pid() as u32,
            nic_fd: nic_fd.as_raw_fd(),
            wake_fd: wake_fd.as_ref().map(AsRawFd::as_raw_fd),
        };
        let groups = Groups::here(prepared.job.binding.to, prepared.job.nic.core).map_err(|error| {
            Verdict::NotStarted {
                message: format!("--bind-to {}: {error}; bind to something else", prepared.job.binding.to),
                status: STATUS_USAGE,
            }
        })?;
        for (index, (application, ranks)) in prepared.job.placed_on(prepared.node).enumerate() {
            let (program, variables) = &prepared.programs[index];
            if let Some(remark) = self.library_remark(application, &program.library) {
                self.storm.send(&Notice::Remark(remark));
            }
            let mut variables = variables.clone();
            environment::add_job(&mut variables, prepared.job, index, &program.library, &here);
            let plan = plan(program, application, &variables);
            for &rank in ranks {
                let local_index = self.ranks.len() as u32;
                let input = self.input.connect(rank).map_err(|error| cannot("make a pipe", error))?;
                let outputs = match &mut self.output {
                    Some(output) => Some(
                        output.connect(rank.0, &self.watch).map_err(|error| cannot("make a pipe", error))?,
                    ),
                    None => None,
                };
                let stdin = match &input {
                    RankInput::Null => null.as_raw_fd(),
                    RankInput::Inherited => 0,
                    RankInput::Pipe(reader) => reader.as_raw_fd(),
                };
                let [stdout, stderr] =
                    outputs.as_ref().map_or([1, 2], |[out, error]| [out.as_raw_fd(), error.as_raw_fd()]);
                let processors = groups.processors(local_index);
                if prepared.job.binding.report {
                    let text = format!("{} is {}", self.rank_name(rank), groups.describe(local_index));
                    self.storm.send(&Notice::Remark(text));
                }
                let setting = Setting {
                    environment: &environment::of_rank(rank, local_index),
                    stdio: [stdin, stdout, stderr],
                    inherited: &inherited,
                    descriptor_limit: prepared.descriptor_limit,
                    blocked: &prepared.blocked,
                    processors: processors.as_ref(),
                    on_terminal: on_terminal && self.output.is_none(),
                };
                let Started { pid, pidfd } =
                    plan.start(&setting).map_err(|error| self.not_started(rank, program, error))?;
                self.nic.rank_started(rank, pid.as_raw_pid() as u32);
                self.watch
                    .add(&pidfd, Ready::Process(local_index), Interest::Read)
                    .map_err(|error| cannot("watch a rank", error))?;
                self.ranks.push(RankProcess { rank, pid, pidfd, is_live: true });
            }
        }
        if !self.input.relays() {
            // Whoever writes to the job's input is to see it closed when the ranks have closed it.
            let _ = rustix::stdio::dup2_stdin(&null);
        }
        self.input.start(&self.watch).map_err(|error| cannot("watch the standard input", error))?;
        self.nic
            .start(None)
            .map_err(|error| Verdict::NotStarted { message: error.to_string(), status: STATUS_USAGE })?;
        self.watch
            .add(self.nic.alarm(), Ready::Alarm, Interest::Read)
            .map_err(|error| cannot("watch the NIC", error))?;
        Ok(())
    }

    /// What to say of a program whose ranks will each run alone, with the wrong library.
    fn library_remark(&self, application: &Application, need: &LibraryNeed) -> Option<String> {
        let program = application.program.to_string_lossy();
        match (need, &self.prepared.job.library_directory) {
            (LibraryNeed::Foreign(library), _) => Some(format!(
                "{program} was built with another MPI ({library}) and will not find its other ranks; build it with this \
                 MPI's mpicc, or start it with that MPI's mpiexec"
            )),
            (LibraryNeed::SearchPath | LibraryNeed::Preload, None) => Some(format!(
                "{program} needs {LIBRARY_NAME}, and there is none beside this storm (in ../lib), so it will not find \
                 its other ranks; use an installed storm, or name the library's directory in BCS_LIBRARY_DIR"
            )),
            (LibraryNeed::SearchPath | LibraryNeed::Preload | LibraryNeed::None, _) => None,
        }
    }

    fn not_started(&self, rank: Rank, program: &Program, StartError { step, error }: StartError) -> Verdict {
        let (rank, path) = (self.rank_name(rank), program.path.display());
        let code = error.raw_os_error().unwrap_or(0);
        let (message, status) = match (step, code) {
            (Step::Clone, libc::EAGAIN) => (
                format!(
                    "cannot start {rank}: no more processes are allowed; raise the limit (ulimit -u, or the \
                     pids limit of the container), or ask for fewer ranks with -n"
                ),
                STATUS_USAGE,
            ),
            (Step::Clone, libc::EMFILE | libc::ENFILE) => (
                format!(
                    "cannot start {rank}: no more file descriptors are allowed; raise the limit with ulimit -n"
                ),
                STATUS_USAGE,
            ),
            (Step::Clone, libc::ENOMEM) => {
                (format!("cannot start {rank}: memory is short; ask for fewer ranks with -n"), STATUS_USAGE)
            }
            (Step::ChangeDirectory, _) => (
                format!(
                    "cannot start {rank}: its working directory cannot be entered: {error}; name another with --wdir"
                ),
                STATUS_USAGE,
            ),
            (Step::Execute, libc::ENOENT) => (
                format!("cannot start {rank}: {path} or its interpreter is not there: {error}"),
                STATUS_NOT_FOUND,
            ),
            (Step::Execute, libc::ENOEXEC) => (
                format!("cannot start {rank}: {path} is no program for this machine; build it here"),
                STATUS_NOT_EXECUTABLE,
            ),
            (Step::Execute, libc::E2BIG) => (
                format!(
                    "cannot start {rank}: its arguments and environment are too long; put them into a file"
                ),
                STATUS_NOT_EXECUTABLE,
            ),
            (Step::Execute, _) => {
                (format!("cannot start {rank}: {path} cannot be executed: {error}"), STATUS_NOT_EXECUTABLE)
            }
            (Step::Clone | Step::SetUp, _) => {
                (format!("cannot start {rank}: its process cannot be set up: {error}"), STATUS_USAGE)
            }
        };
        Verdict::NotStarted { message, status }
    }

    fn rank_name(&self, rank: Rank) -> RankName {
        let job = self.prepared.job;
        let program = (job.applications.len() > 1)
            .then(|| job.application_of(rank))
            .flatten()
            .map(|application| application.program.to_string_lossy().into_owned());
        RankName { rank: rank.0, host: self.prepared.host.to_owned(), program }
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn time_to_wait(&self) -> Option<Duration> {
        let vanished_at = self.killed_at.map(|killed| killed + VANISHING);
        let wakes_at = [self.lifecycle.wakes_at(), self.time_limit, vanished_at].into_iter().flatten().min();
        wakes_at.map(|at| at.saturating_sub(self.now()))
    }

    fn has_waited_enough(&self) -> bool {
        self.killed_at.is_some_and(|killed| self.now() >= killed + VANISHING)
    }

    fn look_at_clock(&mut self) {
        if let Some(limit) = self.time_limit.filter(|limit| self.now() >= *limit) {
            self.time_limit = None;
            if matches!(self.lifecycle.state(), State::Running) {
                self.act(Event::Struck(Verdict::TimedOut { limit, report: self.nic.report() }));
            }
        }
        if self.lifecycle.wakes_at().is_some_and(|at| self.now() >= at) {
            self.act(Event::Tick);
        }
    }

    fn handle(&mut self, ready: Ready) {
        match ready {
            Ready::Signal => {
                while let Some(signal) = self.signals.next() {
                    if signal != libc::SIGCHLD {
                        self.act(Event::Forwarded(signal));
                    }
                }
            }
            Ready::Control => match self.storm.receive() {
                Received::Message(Command::Forward(signal)) => self.act(Event::Forwarded(signal)),
                // Whoever has forked a launcher tells it no more than that.
                Received::Message(_) | Received::Nothing => {}
                Received::Closed => {
                    self.watch.remove(&self.storm);
                    self.act(Event::Orphaned);
                }
            },
            Ready::Alarm => {
                if let Some(report) = self.nic.finding() {
                    self.watch.remove(self.nic.alarm());
                    self.act(Event::Struck(Verdict::Stuck { report }));
                }
            }
            Ready::Process(local_index) => self.rank_ended(local_index),
            Ready::Input => self.input.source_ready(&self.watch),
            Ready::InputPipe(index) => self.input.target_ready(index, &self.watch),
            Ready::Stream(index) => {
                if let Some(output) = &mut self.output {
                    output.stream_ready(index, &self.watch);
                }
            }
            Ready::Sink(index) => {
                if let Some(output) = &mut self.output {
                    output.sink_ready(index, &self.watch);
                }
            }
        }
    }

    fn rank_ended(&mut self, local_index: u32) {
        let Some(entry) = self.ranks.get_mut(local_index as usize).filter(|entry| entry.is_live) else {
            return;
        };
        let mut status = 0;
        // SAFETY: waits for our own child; `status` lives through the call.
        let reaped = unsafe { libc::waitpid(entry.pid.as_raw_pid(), &mut status, libc::WNOHANG) };
        if reaped != entry.pid.as_raw_pid() {
            return;
        }
        entry.is_live = false;
        let rank = entry.rank;
        self.watch.remove(&entry.pidfd);
        let verdict = self.judge(rank, Exit::from_wait_status(status));
        self.nic.rank_exited(rank);
        self.act(Event::Departed(verdict));
    }

    /// What the end of a rank means for its job.
    fn judge(&self, ended: Rank, exit: Exit) -> Verdict {
        // Ranks that wait leave when one aborts or the NIC ends the job, and may be gone before who found it is.
        if let Some(report) = self.nic.finding() {
            return Verdict::Stuck { report };
        }
        if let Some(Abort { rank, code, message }) = self.nic.abort() {
            return Verdict::Aborted { rank: self.rank_name(rank), code, message };
        }
        match exit {
            Exit::Code(0) if self.lifecycle.live() > 1 && self.nic.is_in_mpi(ended) => {
                Verdict::NotFinalized { rank: self.rank_name(ended) }
            }
            Exit::Code(0) => Verdict::Success,
            exit => {
                let output_gone = matches!(exit, Exit::Signal { signal: libc::SIGPIPE, .. })
                    && (output::is_broken(standard(1)) || output::is_broken(standard(2)));
                Verdict::RankFailed { rank: self.rank_name(ended), exit, output_gone }
            }
        }
    }

    /// Reaps what was left to us by ranks' children. A rank's own end stays for its pidfd to tell,
    /// so that ranks are judged in the order in which they ended.
    fn reap_orphans(&mut self) {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while let Some(pid) = ended_child(look) {
            if self.ranks.iter().any(|entry| entry.is_live && entry.pid == pid) {
                return;
            }
            let _ = rustix::process::waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }

    fn act(&mut self, event: Event) {
        let now = self.now();
        match self.lifecycle.handle(event, now) {
            Action::None => {}
            // A rank that handles the terminal's stop may take its time; the others would wait for it.
            Action::Send(libc::SIGTSTP) => self.signal_ranks(libc::SIGSTOP),
            Action::Send(signal) => self.signal_ranks(signal),
            Action::Terminate => {
                self.signal_ranks(libc::SIGTERM);
                self.signal_ranks(libc::SIGCONT);
            }
            Action::Kill => {
                self.killed_at = Some(now);
                self.signal_ranks(libc::SIGKILL);
            }
        }
    }

    /// Sends a signal to every live rank and its process group. A live rank has not been reaped, so
    /// its number is nobody else's.
    fn signal_ranks(&self, signal: Signal) {
        for entry in self.ranks.iter().filter(|entry| entry.is_live) {
            let pid = entry.pid.as_raw_pid();
            // SAFETY: kill touches no memory of ours.
            unsafe {
                if libc::kill(-pid, signal) != 0 {
                    libc::kill(pid, signal);
                }
            }
        }
    }

    fn finish(mut self) {
        let left = descendants::kill_all(|_| true);
        if let Some(output) = &mut self.output {
            output.finish(&self.watch, self.storm.as_fd());
        }
        if let Some(why) = self.nic.cross_memory_refusal() {
            self.storm.send(&Notice::Remark(format!(
                "the system refuses cross-memory attach ({why}), so large messages went through windows in NIC memory: \
                 slower where one end computes or ranks share cores, and for large collectives; an administrator can \
                 allow it (sysctl kernel.yama.ptrace_scope=1; for a container, the capability SYS_PTRACE or a seccomp \
                 profile with process_vm_readv and process_vm_writev); --cross-memory off ends this remark"
            )));
        }
        if let Err(error) = self.nic.dump(self.prepared.job, self.prepared.host) {
            self.storm.send(&Notice::Remark(format!("the record of EMDS is lost: {error}")));
        }
        if left > 0 {
            self.storm.send(&Notice::Remark(format!(
                "{left} processes of the job could not be killed: they belong to another user, or the kernel holds \
                 them (see ps -o pid,stat,user,args --ppid {})",
                rustix::process::getpid().as_raw_pid()
            )));
        }
        let verdict = match self.lifecycle.state() {
            State::Over { verdict } | State::Killed { verdict } | State::Ending { verdict, .. } => {
                verdict.clone()
            }
            State::Running => Verdict::Success,
        };
        self.storm.send(&Notice::Over(verdict));
    }
}

/// A child that has ended, whichever.
fn ended_child(look: WaitIdOptions) -> Option<Pid> {
    // rustix does not tell which child it found.
    let mut info = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the kernel fills `info` or leaves it zeroed, both of which are valid; si_pid may be
    // read after waitid succeeded, and is 0 if no child has ended.
    let pid = unsafe {
        if libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), look.bits() as i32) != 0 {
            return None;
        }
        info.assume_init().si_pid()
    };
    Pid::from_raw(pid)
}

fn plan(program: &Program, application: &Application, variables: &[(OsString, OsString)]) -> Plan {
    use std::os::unix::ffi::OsStringExt;
    let text = |text: &OsString| environment::c_string(text.clone().into_vec());
    let path = environment::c_string(program.path.clone().into_os_string().into_vec());
    let directory = application
        .working_directory
        .as_ref()
        .map(|path| environment::c_string(path.clone().into_os_string().into_vec()));
    let arguments = application.arguments.iter().map(text);
    let environment = variables.iter().map(|(name, value)| environment::entry(name, value)).collect();
    if program.is_shell_text {
        let shell = c"/bin/sh".to_owned();
        let arguments = [shell.clone(), path].into_iter().chain(arguments).collect();
        Plan::new(shell, arguments, environment, directory)
    } else {
        let arguments = std::iter::once(text(&application.program)).chain(arguments).collect();
        Plan::new(path, arguments, environment, directory)
    }
}

/// The signals of a user or a batch system that `storm` passes on to its ranks.
pub const FORWARDED: &[Signal] = &[
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// Those of [`FORWARDED`] that this process was not told to ignore.
pub fn forwarded_here() -> Vec<Signal> {
    FORWARDED.iter().copied().filter(|signal| !signals::is_ignored(*signal)).collect()
}
