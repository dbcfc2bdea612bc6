//! A launcher that was executed by a node manager, until its ranks start: it is told its job, joins the job's
//! network, and waits for the others.
//!
//! ```text
//!  Launch ─► Listening ─► Roster ─► (links come up) ─► Prepared ─► Go ─► the ranks start
//! ```
//!
//! The invariants: nothing has been started before *Go*; whatever it waits for, an *End*, or the end of the
//! node manager, ends the wait at once; what the ranks will have around them is what the user had, nothing of
//! this process's own.

use super::network::{self, JobFabric, because, linked_at_start};
use super::{Base, Launcher, Prepared};
use crate::control::{Channel, Command, Notice, Received};
use crate::launch::{JobNetwork, Launch, Surroundings};
use crate::lifecycle::EXPLANATION;
use crate::nic::JobNic;
use crate::signals::{self, Signal, SignalSet};
use crate::verdict::{STATUS_USAGE, Verdict};
use bcs_core::NodeId;
use nic_emu::hang;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// How long the links to the job's other nodes may take to come up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long leaving the network may take, when the ranks are not started.
const LEAVING: Duration = Duration::from_millis(500);

/// Why the ranks are not started.
enum Stop {
    /// Told so.
    Ended,
    /// Nobody is left to work for.
    Orphaned,
    /// Something is wrong, and the message says what.
    Failed { message: String, status: u8 },
}

impl Stop {
    /// With the status of what the user or an administrator has to change.
    fn failed(message: impl Into<String>) -> Self {
        Self::Failed { message: message.into(), status: STATUS_USAGE }
    }
}

/// Runs the job that comes over the control socket to its end. False if none came.
pub fn run(control: Channel<Notice, Command>) -> bool {
    signals::set_all_default();
    let base = Base::new(&control);
    let mut waiting = Waiting { control, nic: None, deferred: Vec::new() };
    let launch = match waiting.launch() {
        Ok(launch) => launch,
        Err(stop) => return waiting.give_up(stop, None),
    };
    let base = base.map_err(|error| Stop::failed(format!("cannot set up the program launcher: {error}")));
    let ready = base.and_then(|base| Ok((base, prepare(&launch)?, waiting.join(&launch)?)));
    let (base, prepared, network) = match ready {
        Ok(ready) => ready,
        Err(stop) => return waiting.give_up(stop, Some(&launch)),
    };
    let Waiting { control, nic: Some(nic), deferred } = waiting else { return false };
    let launcher = Launcher::new(&prepared, control, nic, base).executed(network);
    launcher.run(&deferred);
    true
}

/// Takes on what was around the user, and finds everything that starting the ranks takes.
fn prepare(launch: &Launch) -> Result<Prepared<'_>, Stop> {
    check(launch)?;
    let Surroundings { environment, directory, umask } = &launch.surroundings;
    rustix::process::umask(Mode::from_raw_mode(*umask));
    let needs_directory = launch.job.placed_on(launch.node).any(|(application, ranks)| {
        !ranks.is_empty() && application.working_directory.as_ref().is_none_or(|path| path.is_relative())
    });
    match rustix::process::chdir(directory) {
        Ok(()) => {}
        Err(error) if needs_directory => {
            return Err(Stop::failed(format!(
                "the working directory {} cannot be entered: {error}; use one that is on every node, or name another with --wdir",
                directory.display()
            )));
        }
        // Wherever the launcher was started, it is not to stay in the way there.
        Err(_) => drop(rustix::process::chdir("/")),
    }
    let nothing_blocked = SignalSet::of(&[]);
    Prepared::find(&launch.job, launch.node, &launch.hosts, || environment.clone(), nothing_blocked)
        .map_err(|error| Stop::Failed { message: error.to_string(), status: error.status() })
}

/// What is told has to fit together.
fn check(launch: &Launch) -> Result<(), Stop> {
    let Launch { job, node, hosts, network, .. } = launch;
    let nodes = job.placement.nodes();
    let wrong = if node.0 >= nodes {
        format!("{node} is none of its {nodes} nodes")
    } else if hosts.len() != nodes as usize {
        format!("{} hosts are named for {nodes} nodes", hosts.len())
    } else if network.is_some() != (nodes > 1) {
        format!("a job on {nodes} nodes with {} network", if network.is_some() { "a" } else { "no" })
    } else if job.applications.iter().map(|application| u64::from(application.ranks)).sum::<u64>()
        != u64::from(job.ranks())
    {
        format!("{} ranks are placed, and its programs have others", job.ranks())
    } else {
        return Ok(());
    };
    Err(Stop::failed(format!(
        "the launcher was told a job that cannot be ({wrong}); see that the managers are of one version"
    )))
}

/// A launcher that waits for what it is told next.
struct Waiting {
    control: Channel<Notice, Command>,
    nic: Option<JobNic>,
    /// Signals for the ranks that came before there were any.
    deferred: Vec<Signal>,
}

impl Waiting {
    /// Ends without having started anything.
    fn give_up(mut self, stop: Stop, launch: Option<&Launch>) -> bool {
        let verdict = match stop {
            Stop::Orphaned => return launch.is_some(),
            Stop::Ended => Verdict::interrupted(libc::SIGTERM),
            Stop::Failed { message, status } => {
                let several = launch.filter(|launch| launch.hosts.len() > 1);
                let host = several.and_then(|launch| launch.hosts.get(launch.node.index()));
                let message = host.map_or(message.clone(), |host| format!("on {host}: {message}"));
                Verdict::NotStarted { message, status }
            }
        };
        self.control.send(&Notice::Over(verdict));
        true
    }

    /// The job.
    fn launch(&mut self) -> Result<Launch, Stop> {
        match self.await_command()? {
            Command::Launch(launch) => Ok(*launch),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Makes the NIC, joins the job's network, if it has one, and waits until the ranks are to start.
    fn join(&mut self, launch: &Launch) -> Result<Option<JobFabric>, Stop> {
        self.nic = Some(JobNic::create(&launch.job, launch.node).map_err(Stop::failed)?);
        let mut network = match &launch.network {
            None => None,
            Some(network) => Some(self.connect(launch, network)?),
        };
        self.control.send(&Notice::Prepared);
        let told = self.await_go(launch, network.as_mut());
        if let (Err(_), Some(fabric)) = (&told, &mut network) {
            fabric.leave(LEAVING);
        }
        told.map(|()| network)
    }

    fn await_go(&mut self, launch: &Launch, mut network: Option<&mut JobFabric>) -> Result<(), Stop> {
        loop {
            let command = match &mut network {
                None => Some(self.await_command()?),
                Some(fabric) => self.drive(launch, fabric, None)?,
            };
            match command {
                Some(Command::Go) => return Ok(()),
                Some(other) => return Err(out_of_turn(&other)),
                None => {}
            }
        }
    }

    /// Binds this node's end of the job's network, and brings up the links that ranks are to find up.
    fn connect(&mut self, launch: &Launch, network: &JobNetwork) -> Result<JobFabric, Stop> {
        let broken = |what: &str, error: &dyn std::fmt::Display| Stop::failed(because(what, error));
        let port = network::bind(network).map_err(Stop::failed)?;
        self.control.send(&Notice::Listening(port.local_address()));
        let roster = match self.await_command()? {
            Command::Roster(roster) => roster,
            other => return Err(out_of_turn(&other)),
        };
        let nodes = launch.job.placement.nodes();
        if roster.len() != nodes as usize {
            return Err(broken("its roster", &format!("{} members for {nodes} nodes", roster.len())));
        }
        let mut fabric = port.connect(roster).map_err(Stop::failed)?;
        if fabric.node() != launch.node {
            let error = format!("{} of the job stands there as {}", launch.node, fabric.node());
            return Err(broken("its roster", &error));
        }
        self.bring_up(launch, &mut fabric).inspect_err(|_| fabric.leave(LEAVING))?;
        Ok(fabric)
    }

    fn bring_up(&mut self, launch: &Launch, fabric: &mut JobFabric) -> Result<(), Stop> {
        let needed = linked_at_start(fabric, launch.job.placement.nodes());
        fabric.begin_connect(&needed);
        let until = Instant::now() + PATIENCE;
        while fabric.unconnected().intersects(&needed) {
            if let Some(command) = self.drive(launch, fabric, Some(until))? {
                return Err(out_of_turn(&command));
            }
        }
        if let Some(remark) = fabric.take_remark() {
            self.control.send(&Notice::Remark(remark));
        }
        Ok(())
    }

    /// Drives the network until a command comes, or something else has happened. With a time, all links are
    /// to be up by then.
    fn drive(
        &mut self,
        launch: &Launch,
        fabric: &mut JobFabric,
        until: Option<Instant>,
    ) -> Result<Option<Command>, Stop> {
        fabric
            .progress()
            .map_err(|error| Stop::failed(format!("cannot drive the job's network: {error}")))?;
        let needed = linked_at_start(fabric, launch.job.placement.nodes());
        let missing = fabric.unconnected().intersection(&needed);
        let broken = missing.iter().find_map(|node| Some((node, fabric.why_lost(node)?)));
        // Without one they were up, and who has left in order since then was told to.
        let late = missing.first().filter(|_| until.is_some_and(|until| Instant::now() >= until));
        let late = late.map(|node| (node, format!("no answer within {} s", PATIENCE.as_secs())));
        if let Some((node, reason)) = broken.or(late) {
            return Err(self.sever(launch, node, &reason)?);
        }
        if let Some(command) = self.next_command()? {
            return Ok(Some(command));
        }
        let is_done = until.is_some() && missing.is_empty();
        if !is_done {
            let due = fabric.timeout().map(|timeout| Instant::now() + timeout);
            self.pause(Some(fabric.as_fd()), due.into_iter().chain(until).min());
        }
        Ok(None)
    }

    /// Another node cannot be reached: says so, and waits to be told why.
    fn sever(&mut self, launch: &Launch, node: NodeId, reason: &str) -> Result<Stop, Stop> {
        self.control.send(&Notice::Unreachable { node: node.0, reason: reason.to_owned() });
        let until = Instant::now() + EXPLANATION;
        while Instant::now() < until {
            if self.next_command()?.is_none() {
                self.pause(None, Some(until));
            }
        }
        let host = launch.hosts.get(node.index()).map_or("", String::as_str);
        let protocol = launch.network.as_ref().map_or("", |network| network.transport.protocol());
        Ok(Stop::failed(format!(
            "cannot reach {host} over the job's network ({reason}); see whether it runs, and that {protocol} gets from node to node"
        )))
    }

    /// Waits for the next command, with nothing else to do.
    fn await_command(&mut self) -> Result<Command, Stop> {
        loop {
            if let Some(command) = self.next_command()? {
                return Ok(command);
            }
            self.pause(None, None);
        }
    }

    /// The next command that is a step of the launch, if one has come. Others are dealt with here.
    fn next_command(&mut self) -> Result<Option<Command>, Stop> {
        loop {
            match self.control.receive() {
                Received::Message(Command::End | Command::Finish) => return Err(Stop::Ended),
                Received::Message(Command::Forward(signal)) => {
                    if !self.deferred.contains(&signal) {
                        self.deferred.push(signal);
                    }
                }
                Received::Message(Command::Report { round }) => {
                    let state = self.nic.as_ref().map_or_else(|| hang::merge(&[]), JobNic::state);
                    self.control.send(&Notice::Report { round, state });
                }
                Received::Message(command @ (Command::Launch(_) | Command::Roster(_) | Command::Go)) => {
                    return Ok(Some(command));
                }
                Received::Nothing => return Ok(None),
                Received::Closed => return Err(Stop::Orphaned),
            }
        }
    }

    /// Sleeps until the node manager says something, the network is readable, or a time has come.
    fn pause(&self, network: Option<BorrowedFd<'_>>, until: Option<Instant>) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let control = PollFd::from_borrowed_fd(self.control.as_fd(), PollFlags::IN);
        let network = network.map(|network| PollFd::from_borrowed_fd(network, PollFlags::IN));
        let mut wait: Vec<PollFd<'_>> = [Some(control), network].into_iter().flatten().collect();
        // Interrupted, or refused for want of memory: whoever called looks again.
        let _ = poll(&mut wait, timeout.as_ref());
    }
}

/// The node manager says something that cannot follow what it has said.
fn out_of_turn(command: &Command) -> Stop {
    let name = match command {
        Command::Launch(_) => "Launch",
        Command::Roster(_) => "Roster",
        Command::Go => "Go",
        Command::Forward(_) => "Forward",
        Command::End => "End",
        Command::Finish => "Finish",
        Command::Report { .. } => "Report",
    };
    Stop::failed(format!(
        "the launcher was told {name} out of turn; see that the managers and the launcher are of one version"
    ))
}
