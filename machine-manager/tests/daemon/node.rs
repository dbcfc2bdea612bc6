//! A node manager that keeps to a script: it joins views, and what it makes of a job is up to the test.

use super::client::runtime;
use super::cluster::{Cluster, PORTS};
use bcs_core::PortRange;
use bcs_core::{EventTable, JobId, SparseMemory};
use bcs_credentials::Credential;
use bcs_fabric::Fabric;
use bcs_protocol::commit;
use bcs_protocol::node::{FromNode, LaunchOrder, ToNode, VERSION};
use bcs_quic::{NetworkId, QuicFabric, QuicOptions, QuicPort};
use bcs_stream as stream;
use bcs_stream::{Receiver, SecureEnds};
use program_launcher::Verdict;
use program_launcher::control::{Command, Notice};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// What a node does with its jobs.
#[derive(Clone, Debug)]
pub struct Script {
    /// What it says first.
    pub hello: FromNode,
    /// Whether its launchers ever get ready.
    pub prepares: bool,
    /// What its ranks print.
    pub prints: Vec<u8>,
    /// How its ranks end; they run for ever when it is none, and until they are told to end.
    pub ends: Option<Verdict>,
}

impl Default for Script {
    fn default() -> Self {
        let hello = FromNode::Hello {
            version: VERSION,
            release: "test".into(),
            cores: 2,
            memory: 1 << 30,
            card: None,
        };
        Self { hello, prepares: true, prints: vec![], ends: Some(Verdict::Success) }
    }
}

/// What has come of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Message(ToNode),
    /// The control network said go.
    Go(JobId),
    /// The manager has closed the connection, or never let it in.
    Closed,
}

pub struct Node {
    silent: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    seen: std::sync::mpsc::Receiver<Seen>,
    say: mpsc::UnboundedSender<FromNode>,
}

impl Node {
    pub fn join(cluster: &Cluster, name: &str, script: Script) -> Self {
        Self::join_as(cluster.credential(name), cluster.address, script)
    }

    pub fn join_as(credential: Credential, address: SocketAddr, script: Script) -> Self {
        let (silent, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (tell, seen) = std::sync::mpsc::channel();
        let (say, to_say) = mpsc::unbounded_channel();
        let thread = std::thread::spawn({
            let (silent, end) = (silent.clone(), end.clone());
            move || {
                let mut life = Life {
                    credential,
                    script,
                    port: None,
                    fabric: None,
                    jobs: BTreeMap::new(),
                    tell,
                    silent,
                    end,
                };
                let tell = life.tell.clone();
                if runtime().block_on(life.live(address, to_say)).is_err() {
                    let _ = tell.send(Seen::Closed);
                }
            }
        });
        Self { silent, end, thread: Some(thread), seen, say }
    }

    /// Does nothing any more, as a process that is stopped.
    pub fn fall_silent(&self) {
        self.silent.store(true, Ordering::Relaxed);
    }

    pub fn say(&self, message: FromNode) {
        self.say.send(message).unwrap();
    }

    /// Waits until something has been seen; answers with what.
    pub fn wait_for<T>(&self, what: &str, pick: impl Fn(Seen) -> Option<T>) -> T {
        loop {
            let seen = self.seen.recv_timeout(super::cluster::BOUND);
            let seen = seen.unwrap_or_else(|_| panic!("not in a minute: {what}"));
            if let Some(found) = pick(seen) {
                return found;
            }
        }
    }

    pub fn wait_for_close(&self) {
        self.wait_for("closed", |seen| (seen == Seen::Closed).then_some(()));
    }

    pub fn refusal(&self) -> String {
        self.wait_for("a refusal", |seen| match seen {
            Seen::Message(ToNode::Refused(reason)) => Some(reason),
            _ => None,
        })
    }

    pub fn launch(&self) -> LaunchOrder {
        self.wait_for("a launch", |seen| match seen {
            Seen::Message(ToNode::Launch(order)) => Some(*order),
            _ => None,
        })
    }

    pub fn command(&self, wanted: &Command) {
        self.wait_for(&format!("{wanted:?}"), |seen| match seen {
            Seen::Message(ToNode::Launcher { command, .. }) if command == *wanted => Some(()),
            _ => None,
        });
    }

    /// Everything that was seen up to now.
    pub fn drain(&self) -> Vec<Seen> {
        self.seen.try_iter().collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Life {
    credential: Credential,
    script: Script,
    port: Option<(u64, QuicPort)>,
    fabric: Option<QuicFabric>,
    /// The slots of jobs that have not gone.
    jobs: BTreeMap<JobId, u32>,
    tell: std::sync::mpsc::Sender<Seen>,
    silent: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
}

impl Life {
    async fn live(
        &mut self,
        address: SocketAddr,
        mut to_say: mpsc::UnboundedReceiver<FromNode>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let ends = SecureEnds::new(&self.credential, bcs_protocol::storm::ALPN)?;
        let socket = TcpStream::connect(address).await?;
        let stream = ends.connect(socket, "manager").await?;
        let (reader, mut writer) = tokio::io::split(stream);
        let mut receiver = Receiver::new(reader);
        stream::send(&mut writer, &self.script.hello).await?;
        let mut tick = tokio::time::interval(Duration::from_millis(2));
        loop {
            while self.silent.load(Ordering::Relaxed) && !self.end.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let mut answers = Vec::new();
            tokio::select! {
                message = receiver.receive::<ToNode>() => match message? {
                    Some(message) => answers = self.handle(message)?,
                    None => return Err("closed".into()),
                },
                Some(message) = to_say.recv() => answers.push(message),
                _ = tick.tick() => answers = self.progress()?,
            }
            if self.end.load(Ordering::Relaxed) {
                return Ok(());
            }
            for answer in answers {
                stream::send(&mut writer, &answer).await?;
            }
        }
    }

    fn handle(&mut self, message: ToNode) -> Result<Vec<FromNode>, Box<dyn std::error::Error>> {
        let _ = self.tell.send(Seen::Message(message.clone()));
        Ok(match message {
            ToNode::Bind { view, network } => {
                let listen = [127, 0, 0, 1].into();
                let options = QuicOptions::new(NetworkId(network), self.credential.clone(), listen);
                let port = QuicPort::bind(options)?;
                let address = port.local_address();
                self.port = Some((view, port));
                vec![FromNode::Bound { view, address }]
            }
            ToNode::View { view, roster } => {
                let (bound, port) = self.port.take().ok_or("not bound")?;
                assert_eq!((bound, roster[0].name.as_str()), (view, "manager"));
                let ports: PortRange = PORTS.parse()?;
                assert!(ports.ports().contains(&roster[0].address.port()), "{roster:?}");
                let memory = SparseMemory::new(commit::MEMORY_BYTES);
                if let Some(mut last) =
                    self.fabric.replace(port.connect(roster, memory, EventTable::new(commit::EVENTS))?)
                {
                    bcs_fabric::Driven::leave(&mut last, Duration::ZERO);
                }
                for (job, slot) in self.jobs.clone() {
                    self.prepared(slot, job)?;
                }
                vec![]
            }
            ToNode::Launch(order) if self.script.prepares => {
                let job = order.job;
                let notice = match order.network {
                    Some(_) => Notice::Listening(([127, 0, 0, 1], 9).into()),
                    None => {
                        self.jobs.insert(job, order.slot);
                        self.prepared(order.slot, job)?;
                        Notice::Prepared
                    }
                };
                if let Notice::Listening(_) = notice {
                    self.jobs.insert(job, order.slot);
                }
                vec![FromNode::Launcher { job, notice }]
            }
            ToNode::Launcher { job, command } => {
                let notices = match command {
                    Command::Roster(_) => {
                        let slot = self.jobs.get(&job).copied().ok_or("no such job")?;
                        self.prepared(slot, job)?;
                        vec![Notice::Prepared]
                    }
                    Command::End => vec![Notice::RanksGone(Verdict::Success)],
                    Command::Report { round } => {
                        let state = nic_emu::hang::JobState { posted: 2, ..nic_emu::hang::merge(&[]) };
                        vec![Notice::Report { round, state }]
                    }
                    Command::Finish => vec![Notice::Over(Verdict::Success)],
                    _ => vec![],
                };
                notices.into_iter().map(|notice| FromNode::Launcher { job, notice }).collect()
            }
            _ => vec![],
        })
    }

    fn prepared(&mut self, slot: u32, job: JobId) -> Result<(), Box<dyn std::error::Error>> {
        if let Some(fabric) = &mut self.fabric {
            fabric.store(commit::prepared(slot), job.0)?;
        }
        Ok(())
    }

    fn progress(&mut self) -> Result<Vec<FromNode>, Box<dyn std::error::Error>> {
        let Some(fabric) = &mut self.fabric else { return Ok(vec![]) };
        fabric.progress()?;
        let mut answers = Vec::new();
        let gone: Vec<JobId> = self
            .jobs
            .iter()
            .filter(|(job, slot)| fabric.load(commit::go(**slot)) == Ok(job.0))
            .map(|(job, _)| *job)
            .collect();
        for job in gone {
            self.jobs.remove(&job);
            let _ = self.tell.send(Seen::Go(job));
            answers.push(FromNode::Launcher { job, notice: Notice::Started(vec![1]) });
            if !self.script.prints.is_empty() {
                answers.push(FromNode::Output { job, is_error: false, bytes: self.script.prints.clone() });
            }
            match &self.script.ends {
                None => {}
                Some(Verdict::Success) => {
                    answers.push(FromNode::Launcher { job, notice: Notice::RanksGone(Verdict::Success) });
                }
                Some(verdict) => {
                    for notice in [Notice::Failed(verdict.clone()), Notice::RanksGone(verdict.clone())] {
                        answers.push(FromNode::Launcher { job, notice });
                    }
                }
            }
        }
        Ok(answers)
    }
}
