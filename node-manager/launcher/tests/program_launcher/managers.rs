//! Plays the node managers of a job: executes the real launcher for each of its nodes, all of them this
//! machine, and says what a node manager says.

use bcs_core::{JobId, Placement, PortRange, Transport};
use bcs_credentials as credentials;
use bcs_harness::runs::read_all;
use bcs_harness::waiting::{BOUND, await_some, until};
use bcs_harness::{built, processes};
use program_launcher::control::{self, Channel, Command, Notice, Received};
use program_launcher::job::{Application, Job};
use program_launcher::launch::{JobNetwork, Launch, Member, Surroundings};
use program_launcher::verdict::Verdict;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{io, process};

pub const LAUNCHER: &str = env!("CARGO_BIN_EXE_program-launcher");

/// Ranks that use their NIC, as these words say.
pub fn nic_ranks(ranks: u32, words: &[&str]) -> Application {
    application(ranks, built::program("nic_rank"), words)
}

/// Ranks that run a program with these arguments.
pub fn application(ranks: u32, program: impl Into<std::ffi::OsString>, arguments: &[&str]) -> Application {
    Application { arguments: arguments.iter().map(Into::into).collect(), ..Application::new(ranks, program) }
}

/// Ranks that run a shell script.
pub fn script(ranks: u32, text: &str) -> Application {
    application(ranks, "sh", &["-c", text])
}

/// A job whose ranks are on these nodes.
pub fn job(applications: Vec<Application>, nodes_of_ranks: &[u32]) -> Job {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Job {
        id: JobId(number.into()),
        run: format!("test-{}-{number}", process::id()),
        placement: Placement::by_rank(nodes_of_ranks).unwrap(),
        ..Job::new(applications)
    }
}

/// What a user has in a directory.
pub fn surroundings(directory: impl Into<PathBuf>) -> Surroundings {
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into()), ("COLOUR".into(), "red".into())];
    Surroundings { environment, directory: directory.into(), umask: 0o027 }
}

/// The name of a node of a job.
pub fn host(node: usize) -> String {
    format!("n{node}")
}

/// The launcher of one node, and all that it has said.
pub struct Node {
    pub child: Child,
    pub control: Option<Channel<Command, Notice>>,
    pub remarks: Vec<String>,
    /// How often it has said that all its ranks are blocked.
    pub blocked: u32,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl Node {
    /// Executes a launcher, as a node manager does.
    pub fn start() -> Self {
        let (ours, theirs) = control::pair().unwrap();
        Self::start_with(&mut process::Command::new(LAUNCHER), theirs.as_fd().as_raw_fd(), Some(ours))
    }

    /// Executes one that gets this descriptor as its control socket.
    pub fn start_with(
        command: &mut process::Command,
        theirs: i32,
        control: Option<Channel<Command, Notice>>,
    ) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What a process has around it is nothing to its ranks.
        command.env_clear().env("COLOUR", "blue").current_dir("/");
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(move || {
                // One that has the number already is inherited when it loses its flag.
                let passed =
                    if theirs == 3 { libc::fcntl(3, libc::F_SETFD, 0) } else { libc::dup2(theirs, 3) };
                if passed < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
            })
        };
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().map(read_all), child.stderr.take().map(read_all));
        Self { child, control, remarks: Vec::new(), blocked: 0, stdout, stderr }
    }

    pub fn tell(&mut self, command: Command) {
        self.control.as_mut().unwrap().send(&command);
    }

    /// Writes to the job's input on this node, and ends it.
    pub fn give_input(&mut self, bytes: &[u8]) {
        // A launcher without a reader of the input has closed it.
        let _ = self.child.stdin.take().unwrap().write_all(bytes);
    }

    /// The next notice that is no remark, and not that all ranks are blocked, which may come at any time;
    /// none at the end of the conversation.
    #[track_caller]
    pub fn next(&mut self) -> Option<Notice> {
        let control = self.control.as_mut().unwrap();
        let begun = Instant::now();
        loop {
            match control.receive() {
                Received::Message(Notice::Remark(text)) => self.remarks.push(text),
                Received::Message(Notice::Blocked) => self.blocked += 1,
                Received::Message(notice) => return Some(notice),
                Received::Closed => return None,
                Received::Nothing => {
                    assert!(begun.elapsed() < BOUND, "waited in vain for a notice");
                    pause(control);
                }
            }
        }
    }

    /// Waits for a remark of these words, before which comes no notice but remarks.
    #[track_caller]
    pub fn remark(&mut self, words: &str) {
        let control = self.control.as_mut().unwrap();
        let begun = Instant::now();
        while !self.remarks.iter().any(|remark| remark.contains(words)) {
            assert!(begun.elapsed() < BOUND, "waited in vain for {words:?} behind {:?}", self.remarks);
            match control.receive() {
                Received::Message(Notice::Remark(text)) => self.remarks.push(text),
                Received::Message(Notice::Blocked) => self.blocked += 1,
                Received::Nothing => pause(control),
                other => panic!("no {words:?} but {other:?}"),
            }
        }
    }

    /// The next notice, which must be one of these.
    #[track_caller]
    pub fn expect<T>(&mut self, what: &str, pick: impl FnOnce(&Notice) -> Option<T>) -> T {
        let notice = self.next();
        notice.as_ref().and_then(pick).unwrap_or_else(|| panic!("no {what} but {notice:?}"))
    }

    #[track_caller]
    pub fn listening(&mut self) -> SocketAddr {
        self.expect("Listening", |notice| match notice {
            Notice::Listening(address) => Some(*address),
            _ => None,
        })
    }

    #[track_caller]
    pub fn prepared(&mut self) {
        self.expect("Prepared", |notice| (*notice == Notice::Prepared).then_some(()));
    }

    #[track_caller]
    pub fn started(&mut self) -> Vec<u32> {
        self.expect("Started", |notice| match notice {
            Notice::Started(pids) => Some(pids.clone()),
            _ => None,
        })
    }

    #[track_caller]
    pub fn failed(&mut self) -> Verdict {
        self.expect("Failed", |notice| match notice {
            Notice::Failed(verdict) => Some(verdict.clone()),
            _ => None,
        })
    }

    #[track_caller]
    pub fn unreachable(&mut self) -> (u32, String) {
        self.expect("Unreachable", |notice| match notice {
            Notice::Unreachable { node, reason } => Some((*node, reason.clone())),
            _ => None,
        })
    }

    #[track_caller]
    pub fn ranks_gone(&mut self) -> Verdict {
        self.expect("RanksGone", |notice| match notice {
            Notice::RanksGone(verdict) => Some(verdict.clone()),
            _ => None,
        })
    }

    /// The last notice, after which the launcher ends without a failure of its own.
    #[track_caller]
    pub fn over(&mut self) -> Verdict {
        let verdict = self.expect("Over", |notice| match notice {
            Notice::Over(verdict) => Some(verdict.clone()),
            _ => None,
        });
        assert_eq!(self.next(), None, "Over is the last");
        assert!(self.exit().success());
        verdict
    }

    /// Told to finish, it says how the job ended.
    #[track_caller]
    pub fn finish(&mut self) -> Verdict {
        self.tell(Command::Finish);
        self.over()
    }

    /// Waits for the end of the process.
    #[track_caller]
    pub fn exit(&mut self) -> ExitStatus {
        await_some("a launcher's end", || self.child.try_wait().unwrap())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What the ranks have written to their standard output, once nobody can write any more.
    pub fn stdout(&mut self) -> String {
        self.stdout.take().unwrap().join().unwrap()
    }

    pub fn stderr(&mut self) -> String {
        self.stderr.take().unwrap().join().unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // Closes the control socket: the launcher ends its job. One that does not is killed, and its ranks
        // with it.
        self.control = None;
        let begun = Instant::now();
        while self.child.try_wait().is_ok_and(|status| status.is_none()) {
            if begun.elapsed() > Duration::from_secs(10) {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Waits a moment for what a launcher says.
fn pause(control: &Channel<Command, Notice>) {
    let timeout = Timespec::try_from(Duration::from_millis(100)).ok();
    let _ = poll(&mut [PollFd::new(control, PollFlags::IN)], timeout.as_ref());
}

/// The launchers of a job.
pub struct Launched {
    pub nodes: Vec<Node>,
    run: String,
}

/// Tells a launcher for each node of the job what it is.
pub fn launch(job: &Job) -> Launched {
    launch_in(job, &surroundings("/tmp"))
}

pub fn launch_in(job: &Job, surroundings: &Surroundings) -> Launched {
    launch_over(Transport::Tcp, job, surroundings)
}

pub fn launch_over(transport: Transport, job: &Job, surroundings: &Surroundings) -> Launched {
    let nodes = job.placement.nodes() as usize;
    let hosts: Vec<String> = (0..nodes).map(host).collect();
    let credentials = credentials::mint("job", hosts.iter().map(String::as_str)).unwrap();
    let told = (0..).zip(credentials).map(|(node, credential)| Launch {
        job: job.clone(),
        node: bcs_core::NodeId(node),
        hosts: hosts.clone(),
        surroundings: surroundings.clone(),
        network: (nodes > 1).then(|| JobNetwork {
            id: 77,
            credential: credential.to_pem(),
            listen: [127, 0, 0, 1].into(),
            ports: PortRange::ANY,
            transport: transport.clone(),
            seal: true,
        }),
    });
    let start = |launch| {
        let mut node = Node::start();
        node.tell(Command::Launch(Box::new(launch)));
        node
    };
    Launched { nodes: told.map(start).collect(), run: job.run.clone() }
}

impl Launched {
    /// Until all are prepared.
    #[track_caller]
    pub fn prepare(&mut self) {
        if self.nodes.len() > 1 {
            let members: Vec<Member> = self
                .nodes
                .iter_mut()
                .enumerate()
                .map(|(number, node)| Member { name: host(number), address: node.listening() })
                .collect();
            self.nodes.iter_mut().for_each(|node| node.tell(Command::Roster(members.clone())));
        }
        self.nodes.iter_mut().for_each(Node::prepared);
    }

    /// Until all ranks have been started; gives their processes, by node.
    #[track_caller]
    pub fn go(&mut self) -> Vec<Vec<u32>> {
        self.nodes.iter_mut().for_each(|node| node.tell(Command::Go));
        self.nodes.iter_mut().map(Node::started).collect()
    }

    #[track_caller]
    pub fn start(&mut self) -> Vec<Vec<u32>> {
        self.prepare();
        self.go()
    }

    /// From the end of all ranks, which must have gone well, to the end of the launchers.
    #[track_caller]
    pub fn succeed(&mut self) {
        for node in &mut self.nodes {
            assert_eq!(node.ranks_gone(), Verdict::Success);
        }
        // All are told before one is waited for: they leave the network together.
        self.nodes.iter_mut().for_each(|node| node.tell(Command::Finish));
        for node in &mut self.nodes {
            assert_eq!(node.over(), Verdict::Success);
        }
        self.assert_nothing_left();
    }

    /// Fails if a process of the job is left. Processes that were killed need a moment to go.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        until("the end of all ranks", || processes::started_with("BCS_JOB", &self.run).is_empty());
    }
}

/// A descriptor that the launcher of a test inherits.
pub fn inheritable(fd: &OwnedFd) -> OwnedFd {
    // SAFETY: duplicates a descriptor of ours, without the flag that closes it on exec.
    unsafe { OwnedFd::from_raw_fd(libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD, 100)) }
}
