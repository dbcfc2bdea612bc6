//! What `storm` and the machine manager of a cluster say to each other: over the manager's Unix socket, where
//! the kernel proves who the user is (`SO_PEERCRED`), or over a stream with TLS 1.3, where a certificate for
//! `user.NAME` does.
//!
//! One request a connection. [`Request::Run`] is followed by what happens to the job, in both directions; all
//! others have one answer.

#![allow(missing_docs, reason = "the resolvers that rkyv derives for enums have none; everything here has")]

use bcs_core::wire::WireMessage;
use bcs_core::{JobId, NetworkCard};
use program_launcher::launch::Surroundings;
use program_launcher::signals::Signal;
use program_launcher::{Description, Verdict};
use rkyv::{Archive, Deserialize, Serialize};
use std::time::Duration;

/// The protocol's name and version in the TLS handshake, of managers and of `storm`.
pub use crate::node::ALPN;

/// The longest time limit of a job: ten years.
pub const LONGEST_TIMEOUT: Duration = Duration::from_secs(10 * 365 * 86_400);

/// From `storm`.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Request {
    /// Run a job, and end it when this connection closes.
    Run(Box<Submission>),
    /// Which nodes there are.
    Nodes,
    /// What a job does.
    Status {
        /// The job.
        job: JobId,
    },
    /// After [`Request::Run`]: pass this signal on to the ranks.
    Forward(Signal),
    /// After [`Request::Run`]: input for the job; nothing at its end.
    Input(Vec<u8>),
    /// After [`Request::Run`]: so many bytes of the job's output were written.
    OutputTaken {
        /// The node of the job that they came from.
        node: u32,
        /// How many.
        bytes: u32,
    },
}

/// To `storm`.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Reply {
    /// The request cannot be granted; nothing was started. The last.
    Refused {
        /// Why, and what to do.
        reason: String,
        /// The exit status of `storm`.
        status: u8,
    },
    /// The job is known by this number, and runs on these nodes, in the order of the job's numbers.
    Accepted {
        /// The job.
        job: JobId,
        /// Its nodes.
        hosts: Vec<String>,
    },
    /// Something that the user should know.
    Remark(String),
    /// What ranks have written.
    Output {
        /// The node of the job that it comes from.
        node: u32,
        /// Whether it is for the standard error.
        is_error: bool,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// So many bytes of the input have been passed on to all who read it.
    InputTaken {
        /// How many.
        bytes: u32,
        /// Nobody reads it any more.
        closed: bool,
    },
    /// The job is over, and nothing of it is left. The last.
    Over(Verdict),
    /// The nodes. The last.
    Nodes(Vec<NodeRow>),
    /// What the job does, as people read it. The last.
    Status(String),
}

/// A job that is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct Submission {
    /// The job.
    pub job: Description,
    /// Where its ranks are to run.
    pub wish: Wish,
    /// What is around the user.
    pub surroundings: Surroundings,
}

/// Where the ranks of a job are to run, as far as the user says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct Wish {
    /// At most so many ranks on a node (`--ppn`).
    pub ranks_per_node: Option<u32>,
    /// On so many nodes (`--nodes`).
    pub nodes: Option<u32>,
    /// On these hosts, in this order, with so many slots each (`--host`, `--hostfile`); on any if there are
    /// none.
    pub hosts: Vec<HostSlots>,
    /// How ranks are dealt to the nodes (`--map-by`).
    pub mapping: Mapping,
}

/// A host that the user names.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct HostSlots {
    /// Its name.
    pub host: String,
    /// How many ranks it takes before the next one gets some; as many as it has cores, if the user does not
    /// say.
    pub slots: Option<u32>,
}

/// How ranks are dealt to nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Mapping {
    /// Consecutive ranks fill the slots of a node before the next one gets some; when all are full, it starts
    /// again (as `mpiexec` does).
    #[default]
    Slot,
    /// One to each node in turn.
    Node,
}

/// A node as `storm nodes` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct NodeRow {
    /// Its host.
    pub host: String,
    /// Whether it is up, and why it is not.
    pub state: NodeState,
    /// Cores for ranks; 0 when it was never up.
    pub cores: u32,
    /// Bytes of memory; 0 when it was never up.
    pub memory: u64,
    /// The network card by which libfabric reaches other nodes' memory, where the node has one.
    pub card: Option<NetworkCard>,
    /// Ranks that run there.
    pub ranks: u32,
    /// The jobs that run there.
    pub jobs: Vec<JobId>,
}

/// Whether a node is up.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum NodeState {
    /// It takes jobs.
    Up,
    /// It has connected, and is not yet on the control network.
    Joining,
    /// It is configured, and has not connected, or has left; why, as far as it is known.
    Down(String),
}

/// A submission holds an environment; a reply, a report of thousands of ranks.
const MAX_BYTES: usize = 32 << 20;

impl WireMessage for Request {
    const NAME: &'static str = "request of storm";
    const MAX_BYTES: usize = MAX_BYTES;
}

impl WireMessage for Reply {
    const NAME: &'static str = "reply to storm";
    const MAX_BYTES: usize = MAX_BYTES;
}

/// Messages of every kind, for the tests of those who receive them.
#[cfg(any(test, feature = "damage"))]
pub mod examples {
    use super::*;
    use program_launcher::{Application, Job};

    /// Requests of every kind.
    pub fn requests() -> Vec<Request> {
        let wish = Wish {
            ranks_per_node: Some(2),
            nodes: Some(2),
            hosts: vec![
                HostSlots { host: "c0".into(), slots: Some(4) },
                HostSlots { host: "c1".into(), slots: None },
            ],
            mapping: Mapping::Node,
        };
        let surroundings = Surroundings {
            environment: vec![("HOME".into(), "/home/alice".into())],
            directory: "/work".into(),
            umask: 0o022,
        };
        let program = Application { arguments: vec!["-x".into()], ..Application::new(3, "./a") };
        let description =
            Description { timeout: Some(Duration::from_secs(9)), ..Job::new(vec![program]).description };
        every_variant! {
            Request::Run(_) => Request::Run(Box::new(Submission { job: description, wish, surroundings })),
            Request::Nodes => Request::Nodes,
            Request::Status { .. } => Request::Status { job: JobId(17) },
            Request::Forward(_) => Request::Forward(libc::SIGINT),
            Request::Input(_) => Request::Input(b"line\n".repeat(20)),
            Request::OutputTaken { .. } => Request::OutputTaken { node: 1, bytes: 4096 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::damage::{DamagedStream, run};
    use bcs_stream::damage::check_receiver;

    /// Replies of every kind.
    fn replies() -> Vec<Reply> {
        let row = |host: &str, state| NodeRow {
            host: host.into(),
            state,
            cores: 2,
            memory: 1 << 34,
            card: Some("verbs mlx5_0".parse().unwrap()),
            ranks: 3,
            jobs: vec![JobId(17), JobId(18)],
        };
        let host = || String::from("c7");
        let rows = vec![
            row("c0", NodeState::Up),
            row("c1", NodeState::Joining),
            row("c2", NodeState::Down("it has left".into())),
        ];
        let lost = Verdict::NodeLost { host: host(), seen_from: host(), reason: "timed out".into() };
        every_variant! {
            Reply::Refused { .. } => Reply::Refused { reason: "no nodes".into(), status: 1 },
            Reply::Accepted { .. } => Reply::Accepted { job: JobId(17), hosts: vec![host(), host()] },
            Reply::Remark(_) => Reply::Remark("one\ntwo".into()),
            Reply::Output { .. } => Reply::Output { node: 1, is_error: true, bytes: b"line\n".repeat(20) },
            Reply::InputTaken { .. } => Reply::InputTaken { bytes: 4096, closed: false },
            Reply::Over(_) => Reply::Over(lost),
            Reply::Nodes(_) => Reply::Nodes(rows),
            Reply::Status(_) => Reply::Status("rank 0 waits".into()),
        }
    }

    #[test]
    fn damaged_replies_end_the_stream_of_storm() {
        let examples = replies();
        run(|random| check_receiver(&DamagedStream::of(&examples, random), random));
    }
}
