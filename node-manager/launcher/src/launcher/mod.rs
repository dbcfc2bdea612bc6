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

mod ended;
mod executed;
pub mod network;
mod prepared;
mod ranks;
mod starting;
mod stops;

use self::network::JobFabric;
use self::stops::Stops;
pub use executed::run as run_executed;
pub use prepared::Prepared;

use crate::control::{Channel, Command, Notice, Received};
use crate::descendants;
use crate::input::Input;
use crate::lifecycle::{Action, Event, Lifecycle, State};
use crate::nic::JobNic;
use crate::output::{Output, standard};
use crate::signals::{self, Signal, SignalQueue, SignalSet};
use crate::verdict::{STATUS_RUNTIME, STATUS_USAGE, Verdict};
use crate::watch::{Interest, Ready, Watch};
use bcs_core::Rank;
use nic_emu::hang::LOOK_PERIOD;
use nic_emu::nic_thread::Finding;
use rustix::process::Pid;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long ranks may take to vanish after SIGKILL before the launcher leaves them to the kernel.
const VANISHING: Duration = Duration::from_secs(5);

struct Launcher<'a> {
    prepared: &'a Prepared<'a>,
    /// To `storm`, which has forked this process, or to the node manager, which has executed it.
    control: Channel<Notice, Command>,
    /// What was told, by a launcher that was executed: it tells more than one that was forked.
    told: Option<Told>,
    watch: Watch,
    signals: SignalQueue,
    nic: JobNic,
    /// Of a job on several nodes, until the NIC thread takes it.
    network: Option<JobFabric>,
    /// By local index.
    ranks: Vec<RankProcess>,
    /// What has happened while ranks were started, in its order.
    early: Vec<Ready>,
    output: Option<Output>,
    input: Input,
    lifecycle: Lifecycle,
    begun: Instant,
    time_limit: Option<Duration>,
    killed_at: Option<Duration>,
    /// When to look at the job as a whole: of one on several nodes no NIC thread can know alone that all
    /// ranks are blocked for ever.
    look_at: Option<Duration>,
    stops: Stops,
    /// When the NIC found a rank's process dead whose end is not known yet.
    gone_at: Option<Duration>,
}

/// How long the end of a rank may take whose process the NIC has found dead: its memory is given back first,
/// which takes a while if that is much.
const GONE_PATIENCE: Duration = Duration::from_secs(5);

/// A rank that was started.
struct RankProcess {
    rank: Rank,
    pid: Pid,
    pidfd: OwnedFd,
    is_live: bool,
}

/// What a launcher says once.
#[derive(Debug, Default)]
struct Told {
    failure: bool,
    ranks_gone: bool,
}

/// Runs a job to its end, in the process that was forked for it, and tells `storm` the verdict.
pub fn run(prepared: &Prepared<'_>, mut storm: Channel<Notice, Command>) {
    // First the signals are blocked: a limit on file sizes is to be an error, not the launcher's death.
    let base = Base::new(&storm).map_err(|error| format!("cannot set up the program launcher: {error}"));
    let nic = base.and_then(|base| Ok((base, JobNic::create(prepared.job, prepared.node)?)));
    match nic {
        Ok((base, nic)) => Launcher::new(prepared, storm, nic, base).run(&[]),
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

impl<'a> Launcher<'a> {
    fn new(
        prepared: &'a Prepared<'a>,
        control: Channel<Notice, Command>,
        nic: JobNic,
        Base { watch, signals }: Base,
    ) -> Self {
        let job = prepared.job;
        Self {
            prepared,
            control,
            told: None,
            watch,
            signals,
            nic,
            network: None,
            ranks: Vec::with_capacity(prepared.ranks() as usize),
            early: Vec::new(),
            output: job.labels.then(|| Output::new(standard(1), standard(2))),
            input: Input::new(standard(0), job.stdin),
            lifecycle: Lifecycle::new(prepared.ranks()),
            begun: Instant::now(),
            time_limit: job.timeout,
            killed_at: None,
            look_at: None,
            stops: Stops::default(),
            gone_at: None,
        }
    }

    /// The same, executed by a node manager, which is told more, and with a network, if the job has one.
    fn executed(mut self, network: Option<JobFabric>) -> Self {
        self.told = Some(Told::default());
        self.network = network;
        self.lifecycle = Lifecycle::serving(self.prepared.ranks());
        self.look_at = self.prepared.spans_nodes().then_some(LOOK_PERIOD);
        self
    }

    /// Starts the ranks, and sees the job to its end. The signals are for them, as soon as they are there.
    fn run(mut self, signals: &[Signal]) {
        match self.start_all() {
            Ok(()) if self.told.is_some() => {
                let pids = self.ranks.iter().map(|entry| entry.pid.as_raw_pid() as u32).collect();
                self.control.send(&Notice::Started(pids));
            }
            Ok(()) => {}
            Err(mut verdict) => {
                if let Verdict::NotStarted { message, .. } = &mut verdict {
                    self.prepared.name_host(message);
                }
                self.lifecycle.ranks_missing(self.ranks.len() as u32);
                self.act(Event::Struck(verdict));
                if self.network.is_some() {
                    // The other nodes are to see this one leave in order.
                    let _ = self.start_nic();
                }
            }
        }
        std::mem::take(&mut self.early).into_iter().for_each(|ready| self.handle(ready));
        signals.iter().for_each(|signal| self.act(Event::Forwarded(*signal)));
        while self.lifecycle.state() != State::Over && !self.has_waited_enough() {
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

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn time_to_wait(&self) -> Option<Duration> {
        let vanished_at =
            self.killed_at.filter(|_| self.lifecycle.live() > 0).map(|killed| killed + VANISHING);
        let wakes_at = [self.lifecycle.wakes_at(), self.time_limit, vanished_at, self.look_at];
        wakes_at.into_iter().flatten().min().map(|at| at.saturating_sub(self.now()))
    }

    fn has_waited_enough(&self) -> bool {
        self.lifecycle.live() > 0 && self.killed_at.is_some_and(|killed| self.now() >= killed + VANISHING)
    }

    fn look_at_clock(&mut self) {
        if let Some(limit) = self.time_limit.filter(|limit| self.now() >= *limit) {
            self.time_limit = None;
            if self.lifecycle.state() == State::Running {
                self.act(Event::Struck(Verdict::TimedOut {
                    limit,
                    report: self.nic.host.report().to_string(),
                }));
            }
        }
        if self.lifecycle.wakes_at().is_some_and(|at| self.now() >= at) {
            self.act(Event::Tick);
        }
        if self.look_at.is_some_and(|at| self.now() >= at) {
            let is_running = self.lifecycle.state() == State::Running;
            self.look_at = is_running.then(|| self.now() + LOOK_PERIOD);
            if is_running {
                self.look_at_nodes();
            }
        }
    }

    /// Says what is known of the job as a whole while its ranks run.
    fn look_at_nodes(&mut self) {
        let prepared = self.prepared;
        for remark in self.stops.handle(self.nic.host.stopped_nodes(), |node| prepared.host_of(node)) {
            self.control.send(&Notice::Remark(remark));
        }
        if self.nic.has_blocked() {
            self.control.send(&Notice::Blocked);
        }
        // No rank of this launcher's has ended, so the dead process is none that it can tell of.
        if self.gone_at.is_some_and(|at| self.now().saturating_sub(at) >= GONE_PATIENCE)
            && let Some(finding) = self.nic.host.finding()
        {
            self.act(Event::Struck(Verdict::Stuck(finding.to_string())));
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
            Ready::Control => self.take_commands(),
            Ready::Alarm => self.take_finding(),
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

    fn take_commands(&mut self) {
        loop {
            match self.control.receive() {
                Received::Message(Command::Forward(signal)) => self.act(Event::Forwarded(signal)),
                Received::Message(Command::End) => self.act(Event::Ended),
                Received::Message(Command::Finish) => self.act(Event::Finished),
                Received::Message(Command::Report { round }) => {
                    self.control.send(&Notice::Report { round, state: self.nic.state() });
                }
                // All of it has been said before the ranks were started.
                Received::Message(Command::Launch(_) | Command::Roster(_) | Command::Go) => {}
                Received::Nothing => return,
                Received::Closed => {
                    self.watch.remove(&self.control);
                    return self.act(Event::Orphaned);
                }
            }
        }
    }

    fn take_finding(&mut self) {
        let Some(finding) = self.nic.host.finding() else { return };
        self.watch.remove(self.nic.host.alarm());
        match finding {
            // All ranks here are gone. Others may have been told to finish first, and have left the network;
            // who has ranks and cannot do without them says so.
            Finding::Unreachable { .. }
                if matches!(self.lifecycle.state(), State::Serving { .. } | State::Over) => {}
            Finding::Unreachable { node, reason } => {
                self.control.send(&Notice::Unreachable { node: node.0, reason: reason.clone() });
                let host = self.prepared.host_of(node).to_owned();
                let seen_from = self.prepared.host().to_owned();
                self.act(Event::Severed(Verdict::NodeLost { host, seen_from, reason }));
            }
            Finding::RankGone(_) if self.lifecycle.state() == State::Running => {
                self.gone_at = Some(self.now());
            }
            finding => self.act(Event::Struck(Verdict::Stuck(finding.to_string()))),
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
        self.tell();
    }

    /// Says what the node manager has to know and was not told yet.
    fn tell(&mut self) {
        let Some(told) = &mut self.told else { return };
        if !told.failure
            && let Some(verdict) = self.lifecycle.failure()
        {
            told.failure = true;
            self.control.send(&Notice::Failed(verdict.clone()));
        }
        if !told.ranks_gone
            && matches!(self.lifecycle.state(), State::Serving { .. } | State::Over)
            && let Some(verdict) = self.lifecycle.verdict()
        {
            told.ranks_gone = true;
            self.control.send(&Notice::RanksGone(verdict.clone()));
        }
    }

    fn finish(mut self) {
        let left = descendants::kill_all(|_| true);
        let verdict = self.lifecycle.verdict().cloned().unwrap_or(Verdict::Success);
        if let Some(told) = self.told.as_ref().filter(|told| !told.ranks_gone) {
            // Some could not be killed, or waiting for them failed.
            if !told.failure {
                self.control.send(&Notice::Failed(verdict.clone()));
            }
            self.control.send(&Notice::RanksGone(verdict.clone()));
        }
        if let Some(output) = &mut self.output {
            let (nic, was_forked) = (&self.nic, self.told.is_none());
            let is_given_up = |control: &mut Channel<Notice, Command>| was_forked || is_over(control, nic);
            output.finish(&self.watch, &mut self.control, is_given_up);
        }
        if self.told.is_some() {
            self.nic.host.stop();
        }
        if let Some(why) = self.nic.cross_memory_refusal() {
            // The same words on all nodes: what several say the user is told once.
            let (place, way) = match self.prepared.spans_nodes() {
                true => (" on nodes of the job", "messages between nodes and large ones"),
                false => ("", "large messages"),
            };
            self.control.send(&Notice::Remark(format!(
                "the system{place} refuses cross-memory attach ({why}), so {way} went through windows in NIC memory: \
                 slower where one end computes or ranks share cores, and for large collectives; an administrator can \
                 allow it (sysctl kernel.yama.ptrace_scope=1; for a container, the capability SYS_PTRACE or a seccomp \
                 profile with process_vm_readv and process_vm_writev); --cross-memory off ends this remark"
            )));
        }
        if let Err(error) = self.nic.dump(self.prepared.job, self.prepared.host()) {
            self.control.send(&Notice::Remark(format!("the record of EMDS is lost: {error}")));
        }
        if left > 0 {
            self.control.send(&Notice::Remark(format!(
                "{left} processes of the job could not be killed: they belong to another user, or the kernel holds \
                 them (see ps -o pid,stat,user,args --ppid {})",
                rustix::process::getpid().as_raw_pid()
            )));
        }
        self.control.send(&Notice::Over(verdict));
    }
}

/// Whether, as far as the control socket says now, nobody waits for the rest of the job's output any more.
fn is_over(control: &mut Channel<Notice, Command>, nic: &JobNic) -> bool {
    loop {
        match control.receive() {
            Received::Message(Command::End) | Received::Closed => return true,
            Received::Message(Command::Forward(signal)) if signals::asks_to_end(signal) => return true,
            Received::Message(Command::Report { round }) => {
                control.send(&Notice::Report { round, state: nic.state() });
            }
            Received::Message(_) => {}
            Received::Nothing => return false,
        }
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
