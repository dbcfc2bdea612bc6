//! A job on this node: its launcher's process, from before it is executed, what it says and is told, its
//! output and its input. The I/O around [`Life`] and the credits.
//!
//! Invariants: nothing here waits for one thing alone, so that neither a launcher that does not read, nor a
//! rank that does not, nor a slow stream to the manager holds up the rest of the job, let alone other jobs;
//! and when the task ends, no process of the job is left.

use super::credit::{InputQueue, OutputCredit};
use super::groups::Group;
use super::life::{Action, Ending, Life};
use super::limits::{CHUNK_BYTES, COMMAND_BYTES, HELD_OPEN, WAITING_BYTES};
use super::node::Node;
use super::outgoing::{Frame, Outgoing};
use super::spawn::{self, Started};
use super::users;
use bcs_core::JobId;
use bcs_core::wire;
use bcs_daemon::wait::{or_never, watch};
use bcs_protocol::node::{FromNode, LaunchOrder};
use bcs_stream::{Receiver, StreamError};
use program_launcher::control::{Command, Notice};
use program_launcher::verdict::{Exit, STATUS_USAGE, Verdict};
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// What a job is told.
#[derive(Debug)]
pub enum Order {
    /// Something for the launcher.
    Tell(Command),
    /// Input for the ranks.
    Input(Vec<u8>),
    /// So much of the output was written.
    OutputTaken(u32),
    /// The node manager ends the job.
    End(Ending),
}

/// What a job says within the node manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is prepared.
    Prepared(JobId),
    /// It is over; nothing of it is left.
    Ended(JobId),
}

/// Where a job's task gets and gives what.
#[derive(Debug)]
pub struct Ends {
    /// What it is told.
    pub orders: mpsc::UnboundedReceiver<Order>,
    /// To the machine manager.
    pub manager: Outgoing,
    /// To the node manager.
    pub events: mpsc::UnboundedSender<Event>,
}

/// Executes the launcher of a job and stays with it to its end.
pub async fn run(node: Rc<Node>, order: LaunchOrder, listen: IpAddr, ends: Ends) {
    let job = order.job;
    let (manager, events) = (ends.manager.clone(), ends.events.clone());
    let verdict = match begin(&node, order, listen, ends).await {
        Ok(mut launched) => launched.run().await,
        Err(message) => Verdict::NotStarted { message, status: STATUS_USAGE },
    };
    tracing::info!(job = job.0, status = verdict.status(), "over");
    match Frame::new(&FromNode::Launcher { job, notice: Notice::Over(verdict) }) {
        // Nobody is told if nobody is there to be.
        Ok(over) => {
            if let Some(room) = manager.room(over.bytes().len()).await {
                manager.send(over, room);
            }
        }
        Err(error) => tracing::error!(job = job.0, %error, "its end cannot be told"),
    }
    let _ = events.send(Event::Ended(job));
}

async fn begin(node: &Rc<Node>, order: LaunchOrder, listen: IpAddr, ends: Ends) -> Result<Launched, String> {
    let (user, slot, job) = (order.user.clone(), order.slot, order.job);
    let mut launch = order.into_launch()?;
    let listen = launch.network.as_mut().map(|network| {
        network.listen = listen;
        network.ports = node.ports;
        listen
    });
    tracing::info!(job = job.0, run = launch.job.run, uid = user.uid, slot, "launch");
    // Its database may be on the network.
    let (uid, host) = (user.uid, node.host.clone());
    let identity = tokio::task::spawn_blocking(move || users::identity(&user, &host)).await;
    let identity = identity.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let ranks = launch.job.placed_on(launch.node).map(|(_, ranks)| ranks.len()).sum();
    let first = wire::encode_frame(&Command::Launch(Box::new(launch))).map_err(|error| error.to_string())?;
    let group = node.group(ranks).map_err(|error| format!("{}: {error}", node.host))?;
    let started = spawn::start(&node.launcher, identity.as_ref(), &node.confinement(group.as_ref()))
        .map_err(|error| format!("{}: {error}", node.host))?;
    // From here on nothing is awaited before the launcher is known not to be a stray.
    node.children.add(started.pid);
    let pid = started.pid;
    let life = Life::new(node.host.clone(), listen, ranks);
    Launched::new(node.clone(), (job, uid), life, started, group, first, ends).map_err(|error| {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
        node.children.remove(pid);
        format!("cannot watch the program launcher on {}: {error}", node.host)
    })
}

struct Launched {
    node: Rc<Node>,
    job: JobId,
    uid: u32,
    life: Life,
    begun: Instant,
    pid: Pid,
    pidfd: AsyncFd<OwnedFd>,
    /// Where the job's processes are, until they are to be none.
    group: Option<Group>,
    /// What is told of the launcher's execution, until it ends, and what was told.
    executing: Option<pipe::Receiver>,
    failure: Vec<u8>,
    notices: Option<Receiver<OwnedReadHalf>>,
    commands: Option<OwnedWriteHalf>,
    /// What the launcher has not read yet.
    to_launcher: VecDeque<u8>,
    /// No more of it may be left unread.
    to_launcher_limit: usize,
    input: InputQueue,
    input_pipe: Option<pipe::Sender>,
    outputs: [Option<pipe::Receiver>; 2],
    credit: OutputCredit,
    /// What waits for the stream to the manager.
    said: VecDeque<Frame>,
    said_bytes: usize,
    ends: Ends,
    exit: Option<Exit>,
    /// The search for what the ended launcher has left.
    strays: Option<Pin<Box<dyn Future<Output = usize>>>>,
    /// Nobody is left to write anything.
    is_silent: bool,
    /// When the socket is closed that a process holds open which the kernel holds.
    give_up_at: Option<Instant>,
}

enum Wake {
    Order(Option<Order>),
    Executing,
    Said,
    Notice(Result<Option<Notice>, StreamError>),
    CommandsWritable,
    Output(usize),
    InputWritable,
    InputClosed,
    Exited,
    StraysGone(usize),
    Time,
}

impl Launched {
    fn new(
        node: Rc<Node>,
        (job, uid): (JobId, u32),
        life: Life,
        started: Started,
        group: Option<Group>,
        first: Vec<u8>,
        ends: Ends,
    ) -> io::Result<Self> {
        let Started { pid, pidfd, control, input, outputs: [output, error_output], failure } = started;
        control.set_nonblocking(true)?;
        let (notices, commands) = UnixStream::from_std(control)?.into_split();
        Ok(Self {
            node,
            job,
            uid,
            life,
            begun: Instant::now(),
            pid,
            pidfd: watch(pidfd)?,
            group,
            executing: Some(pipe::Receiver::from_owned_fd(failure)?),
            failure: Vec::new(),
            notices: Some(Receiver::new(notices)),
            commands: Some(commands),
            to_launcher_limit: first.len() + COMMAND_BYTES,
            to_launcher: first.into(),
            input: InputQueue::default(),
            input_pipe: Some(pipe::Sender::from_owned_fd(input)?),
            outputs: [
                Some(pipe::Receiver::from_owned_fd(output)?),
                Some(pipe::Receiver::from_owned_fd(error_output)?),
            ],
            credit: OutputCredit::default(),
            said: VecDeque::new(),
            said_bytes: 0,
            ends,
            exit: None,
            strays: None,
            is_silent: false,
            give_up_at: None,
        })
    }

    /// To the end of the launcher, and of all that it has left.
    async fn run(&mut self) -> Verdict {
        loop {
            if self.is_silent {
                self.drain();
            }
            if let Some(exit) = self.exit
                && self.is_silent
                && self.executing.is_none()
                && self.notices.is_none()
                && self.outputs.iter().all(Option::is_none)
                && self.said.is_empty()
            {
                return self.life.verdict(self.pid.as_raw_pid(), exit);
            }
            let wake = self.wake().await;
            self.handle(wake);
        }
    }

    async fn wake(&mut self) -> Wake {
        let has_room = self.has_room();
        let next = self.said.front().map_or(0, |frame| frame.bytes().len());
        let may_read = has_room && self.credit.chunk() > 0 && !self.is_silent;
        let kill_at = self.life.poll_timeout().map(|at| self.begun + at);
        let due = kill_at.into_iter().chain(self.give_up_at).min();
        let [output, error_output] = &self.outputs;
        let input = |interest| self.input_pipe.as_ref().map(|pipe| pipe.ready(interest));
        // An error of a pipe shows when it is used.
        tokio::select! {
            order = self.ends.orders.recv(), if !self.ends.orders.is_closed() => Wake::Order(order),
            _ = or_never(self.executing.as_ref().map(pipe::Receiver::readable)) => Wake::Executing,
            room = self.ends.manager.room(next), if !self.said.is_empty() => {
                match (room, self.said.pop_front()) {
                    (Some(room), Some(frame)) => {
                        self.said_bytes -= frame.bytes().len();
                        self.ends.manager.send(frame, room);
                    }
                    // The manager is gone.
                    _ => (self.said, self.said_bytes) = (VecDeque::new(), 0),
                }
                Wake::Said
            }
            notice = or_never(self.notices.as_mut().map(Receiver::receive)), if has_room => Wake::Notice(notice),
            _ = or_never(self.commands.as_ref().map(OwnedWriteHalf::writable)), if !self.to_launcher.is_empty() => Wake::CommandsWritable,
            _ = or_never(output.as_ref().map(pipe::Receiver::readable)), if may_read => Wake::Output(0),
            _ = or_never(error_output.as_ref().map(pipe::Receiver::readable)), if may_read => Wake::Output(1),
            _ = or_never(input(Interest::WRITABLE)), if !self.input.front().is_empty() => Wake::InputWritable,
            _ = or_never(input(Interest::ERROR)) => Wake::InputClosed,
            _ = self.pidfd.readable(), if self.exit.is_none() => Wake::Exited,
            left = or_never(self.strays.as_mut()) => Wake::StraysGone(left),
            () = or_never(due.map(sleep_until)) => Wake::Time,
        }
    }

    fn handle(&mut self, wake: Wake) {
        let now = self.begun.elapsed();
        match wake {
            Wake::Order(Some(order)) => self.handle_order(order, now),
            // Nobody is left who would end the job.
            Wake::Order(None) => {
                self.ends.orders.close();
                let actions = self.life.handle_ending(Ending::ManagerLost, now);
                self.act(actions);
            }
            Wake::Executing => self.read_failure(now),
            Wake::Said => {}
            Wake::Notice(Ok(Some(notice))) => {
                let actions = self.life.handle_notice(notice, now);
                self.act(actions);
            }
            Wake::Notice(Err(StreamError::Wire(error))) => {
                self.notices = None;
                self.refuse(&error.to_string());
            }
            Wake::Notice(Ok(None) | Err(_)) => self.notices = None,
            Wake::CommandsWritable => self.write_commands(),
            Wake::Output(index) => self.read_output(index),
            Wake::InputWritable => self.write_input(),
            Wake::InputClosed => self.close_input(),
            Wake::Exited => self.reap(),
            Wake::StraysGone(left) => {
                self.strays = None;
                self.is_silent = true;
                if left > 0 {
                    tracing::error!(
                        job = self.job.0,
                        left,
                        "processes that were killed are still there: the kernel holds them"
                    );
                    self.give_up_at = Some(Instant::now() + HELD_OPEN);
                }
            }
            Wake::Time => {
                if self.give_up_at.is_some_and(|at| at <= Instant::now()) {
                    (self.give_up_at, self.notices) = (None, None);
                }
                let actions = self.life.handle_timeout(now);
                self.act(actions);
            }
        }
        self.say_input_taken();
    }

    fn handle_order(&mut self, order: Order, now: Duration) {
        match order {
            Order::Tell(command) => self.tell(&command),
            Order::Input(bytes) => {
                if let Err(error) = self.input.push(&bytes) {
                    tracing::error!(job = self.job.0, %error, "the job is ended");
                    let actions = self.life.handle_ending(Ending::ManagerLost, now);
                    self.act(actions);
                }
                self.write_input();
            }
            Order::OutputTaken(bytes) => self.credit.give_back(bytes),
            Order::End(ending) => {
                let actions = self.life.handle_ending(ending, now);
                self.act(actions);
            }
        }
    }

    fn act(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Say(notice) => {
                    if let Notice::Remark(remark) = &notice {
                        tracing::debug!(job = self.job.0, remark);
                    }
                    self.say(FromNode::Launcher { job: self.job, notice });
                }
                Action::Tell(command) => self.tell(&command),
                Action::Prepared => {
                    let _ = self.ends.events.send(Event::Prepared(self.job));
                }
                Action::Kill if self.exit.is_none() => {
                    tracing::warn!(job = self.job.0, "the program launcher is killed");
                    // It has not been waited for, so its number is its own.
                    let _ = rustix::process::kill_process(self.pid, Signal::KILL);
                }
                Action::Kill => {}
            }
        }
    }

    /// The launcher is of no use.
    fn refuse(&mut self, what: &str) {
        let actions = self.life.handle_nonsense(what);
        self.act(actions);
    }

    fn say(&mut self, message: FromNode) {
        if self.ends.manager.is_closed() {
            return;
        }
        match Frame::new(&message) {
            Ok(frame) => {
                self.said_bytes += frame.bytes().len();
                self.said.push_back(frame);
            }
            Err(error) => tracing::error!(job = self.job.0, %error, "not passed on"),
        }
    }

    /// Whether more may be said now.
    fn has_room(&self) -> bool {
        self.said_bytes < WAITING_BYTES
    }

    /// What is told of the launcher's execution: nothing, if it was executed.
    fn read_failure(&mut self, now: Duration) {
        let Some(pipe) = &self.executing else { return };
        let mut told = [0; 8];
        match pipe.try_read(&mut told) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return;
            }
            Ok(length @ 1..) => return self.failure.extend(&told[..length]),
            Ok(0) | Err(_) => self.executing = None,
        }
        let (host, uid) = (&self.node.host, self.uid);
        let executed = spawn::outcome(&self.node.launcher, &self.failure)
            .map_err(|error| format!("{host}: {error}; see whether user {uid} may execute it there"));
        self.life.handle_executed(executed, now);
    }

    fn tell(&mut self, command: &Command) {
        match wire::encode_frame(command) {
            Ok(frame) => self.to_launcher.extend(frame),
            Err(error) => tracing::error!(job = self.job.0, %error, "not passed on"),
        }
        self.write_commands();
        if self.to_launcher.len() > self.to_launcher_limit {
            self.refuse("nothing: it does not listen");
        }
    }

    fn write_commands(&mut self) {
        while let Some(socket) = self.commands.as_ref().filter(|_| !self.to_launcher.is_empty()) {
            match socket.try_write(self.to_launcher.as_slices().0) {
                Ok(written) => drop(self.to_launcher.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It is gone, which shows elsewhere.
                Err(_) => self.commands = None,
            }
        }
        if self.commands.is_none() {
            self.to_launcher.clear();
        }
    }

    fn read_output(&mut self, index: usize) {
        let Some(pipe) = &self.outputs[index] else { return };
        let mut chunk = [0; CHUNK_BYTES];
        match pipe.try_read(&mut chunk[..self.credit.chunk()]) {
            Ok(0) => self.outputs[index] = None,
            Ok(length) => self.handle_output(index, &chunk[..length]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.outputs[index] = None,
        }
    }

    fn handle_output(&mut self, index: usize, bytes: &[u8]) {
        if !self.ends.manager.is_closed() {
            self.credit.spend(bytes.len());
            self.say(FromNode::Output { job: self.job, is_error: index == 1, bytes: bytes.to_vec() });
        }
    }

    /// Takes what is still in the pipes, to which nobody writes any more.
    fn drain(&mut self) {
        for index in [0, 1] {
            while let Some(pipe) = &self.outputs[index] {
                let may_take = self.credit.chunk();
                if may_take == 0 || !self.has_room() {
                    return;
                }
                let mut chunk = [0; CHUNK_BYTES];
                match rustix::io::read(pipe, &mut chunk[..may_take]) {
                    Ok(1..) if self.ends.manager.is_closed() => {}
                    Ok(length @ 1..) => self.handle_output(index, &chunk[..length]),
                    Err(Errno::INTR) => {}
                    Ok(0) | Err(_) => self.outputs[index] = None,
                }
            }
        }
    }

    fn write_input(&mut self) {
        while let Some(pipe) = self.input_pipe.as_ref().filter(|_| !self.input.front().is_empty()) {
            match pipe.try_write(self.input.front()) {
                Ok(written) => self.input.handle_written(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.close_input(),
            }
        }
        if self.input.is_finished() {
            self.input_pipe = None;
        }
    }

    fn close_input(&mut self) {
        self.input_pipe = None;
        self.input.handle_closed();
    }

    /// Once there is room for it: what was taken since is told with it.
    fn say_input_taken(&mut self) {
        if self.has_room()
            && let Some((bytes, closed)) = self.input.poll_taken()
        {
            self.say(FromNode::InputTaken { job: self.job, bytes, closed });
        }
    }

    fn reap(&mut self) {
        let (pid, mut status) = (self.pid.as_raw_pid(), 0);
        // SAFETY: waits for our own child; `status` lives through the call.
        if unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } != pid {
            return;
        }
        self.exit = Some(Exit::from_wait_status(status));
        self.node.children.remove(self.pid);
        self.close_input();
        let (node, group) = (self.node.clone(), self.group.take());
        self.strays = Some(Box::pin(async move {
            let is_empty = match group {
                Some(group) => group.end().await,
                None => true,
            };
            // Those of the group have to be reaped, too.
            node.children.kill_strays().await.max(usize::from(!is_empty))
        }));
    }
}
