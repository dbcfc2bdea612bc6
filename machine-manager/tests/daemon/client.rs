//! A `storm` that says what it likes.

use super::cluster::{BOUND, Cluster};
use bcs_core::JobId;
use bcs_harness::waiting::until;
use bcs_protocol::storm::{ALPN, HostSlots, NodeRow, NodeState, Reply, Request, Submission, Wish};
use bcs_stream as stream;
use bcs_stream::{Receiver, SecureEnds};
use program_launcher::launch::Surroundings;
use program_launcher::{Application, Job, Verdict};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Runtime;
use tokio::time::timeout;

pub struct Client {
    runtime: Runtime,
    receiver: Receiver<Box<dyn AsyncRead + Unpin + Send>>,
    writer: Box<dyn AsyncWrite + Unpin + Send>,
}

pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

impl Client {
    pub fn connect(cluster: &Cluster) -> Self {
        Self::try_connect(cluster).expect("a connection")
    }

    /// The same; none when more wait to be let in than the system keeps.
    pub fn try_connect(cluster: &Cluster) -> Option<Self> {
        let runtime = runtime();
        let (reader, writer) = runtime.block_on(UnixStream::connect(cluster.socket())).ok()?.into_split();
        Some(Self { runtime, receiver: Receiver::new(Box::new(reader)), writer: Box::new(writer) })
    }

    /// Comes through the manager's port, as a user who has a credential; none when the manager refuses the
    /// connection.
    pub fn connect_as(cluster: &Cluster, user: &str) -> Option<Self> {
        let ends = SecureEnds::new(&cluster.credential(&format!("user.{user}")), ALPN).unwrap();
        let runtime = runtime();
        let stream = runtime.block_on(async {
            let socket = TcpStream::connect(cluster.address).await.ok()?;
            ends.connect(socket, "manager").await.ok()
        })?;
        let (reader, writer) = tokio::io::split(stream);
        Some(Self { runtime, receiver: Receiver::new(Box::new(reader)), writer: Box::new(writer) })
    }

    /// Asks for something, on a connection of its own.
    pub fn ask(cluster: &Cluster, request: &Request) -> Self {
        let mut client = Self::connect(cluster);
        client.say(request);
        client
    }

    pub fn say(&mut self, request: &Request) {
        // Who has been told all that there is to say may close the connection.
        let _ = self.runtime.block_on(stream::send(&mut self.writer, request));
    }

    pub fn say_bytes(&mut self, bytes: &[u8]) {
        // It may be closed by now, which is what is tested.
        let _ = self.runtime.block_on(self.writer.write_all(bytes));
    }

    /// The next reply; none when the manager has closed the connection.
    pub fn reply(&mut self) -> Option<Reply> {
        let receiving = async { timeout(BOUND, self.receiver.receive()).await };
        self.runtime.block_on(receiving).expect("no reply in a minute").unwrap_or_default()
    }

    /// Skips what the user may know, and answers with the job and its hosts.
    pub fn accepted(&mut self) -> (JobId, Vec<String>) {
        match self.reply() {
            Some(Reply::Accepted { job, hosts }) => (job, hosts),
            other => panic!("not accepted: {other:?}"),
        }
    }

    /// Reads to the end of the job: what came on the standard output, all remarks, and the verdict. What came
    /// counts as written at once.
    pub fn finish(&mut self) -> (String, Vec<String>, Verdict) {
        let (mut output, mut remarks) = (Vec::new(), Vec::new());
        loop {
            match self.reply() {
                Some(Reply::Output { node, bytes, .. }) => {
                    self.say(&Request::OutputTaken { node, bytes: bytes.len() as u32 });
                    output.extend(bytes);
                }
                Some(Reply::Remark(text)) => remarks.push(text),
                Some(Reply::InputTaken { .. }) => {}
                Some(Reply::Over(verdict)) => {
                    assert_eq!(self.reply(), None, "nothing comes after the verdict");
                    return (String::from_utf8(output).unwrap(), remarks, verdict);
                }
                other => panic!("the job has no end: {other:?}"),
            }
        }
    }
}

pub fn nodes(cluster: &Cluster) -> Vec<NodeRow> {
    match Client::ask(cluster, &Request::Nodes).reply() {
        Some(Reply::Nodes(rows)) => rows,
        other => panic!("no nodes: {other:?}"),
    }
}

/// Waits until exactly these hosts are up.
pub fn wait_until_up(cluster: &Cluster, hosts: &[&str]) {
    wait_until(cluster, &format!("up: {hosts:?}"), |rows| {
        let up = rows.iter().filter(|row| row.state == NodeState::Up).map(|row| row.host.as_str());
        up.collect::<Vec<_>>() == hosts
    });
}

pub fn wait_until(cluster: &Cluster, what: &str, done: impl Fn(&[NodeRow]) -> bool) {
    until(what, || done(&nodes(cluster)));
}

/// A job whose ranks run a script of the shell, as `storm` would submit it.
pub fn shell(ranks: u32, script: &str, wish: Wish) -> Submission {
    let arguments = vec!["-c".into(), script.into()];
    let job = Job::new(vec![Application { arguments, ..Application::new(ranks, "/bin/sh") }]);
    let surroundings = Surroundings {
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: "/tmp".into(),
        umask: 0o022,
    };
    Submission { job: job.description, wish, surroundings }
}

pub fn run(cluster: &Cluster, ranks: u32, wish: Wish) -> Client {
    Client::ask(cluster, &Request::Run(Box::new(shell(ranks, "true", wish))))
}

pub fn on_nodes(nodes: u32) -> Wish {
    Wish { nodes: Some(nodes), ..Wish::default() }
}

/// Hosts by name, as a user asks for them.
pub fn host(names: &str) -> Vec<HostSlots> {
    names.split(',').map(|name| HostSlots { host: name.into(), slots: None }).collect()
}
