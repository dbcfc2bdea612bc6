//! What the machine manager and a node manager say to each other, over a stream between them (TLS 1.3, both
//! ends with a credential of the cluster).
//!
//! The node manager connects and says [`FromNode::Hello`]; everything else is an answer to what it is told.
//! What is for a launcher, or from one, is passed on as it is. Numbers of *views* grow: a view is a set of
//! nodes with a control network of their own, on which the machine manager strobes, looks for dead nodes, and
//! commits launches ([`crate::commit`]).

#![allow(missing_docs, reason = "the resolvers that rkyv derives for enums have none; everything here has")]

use bcs_core::wire::{self, WireError, WireMessage};
use bcs_core::{JobId, NetworkCard, NodeId};
use program_launcher::control::{Command, Notice};
use program_launcher::job::Job;
use program_launcher::launch::{JobNetwork, Launch, Member, Surroundings};
use rkyv::{Archive, Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;

/// The name and version of all that is said to the machine manager, in the TLS handshake: by node managers,
/// and by `storm`.
pub const ALPN: &str = "bcs-manager/1";

/// The version of this protocol; both ends have the same.
pub const VERSION: u32 = 4;

/// Bytes of output of a job on one node that may be under way to `storm`: more waits in the ranks' pipe,
/// until [`ToNode::OutputTaken`] says that some has been written.
pub const OUTPUT_CREDIT: u32 = 256 << 10;

/// Bytes of input of a job that may be under way to one node: more waits at `storm`, until
/// [`FromNode::InputTaken`].
pub const INPUT_CREDIT: u32 = 256 << 10;

/// To a node manager.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum ToNode {
    /// The node is known, and this is what it has to keep to.
    Welcome {
        /// The time between two heartbeats, in milliseconds.
        heartbeat_ms: u32,
        /// How many of them may be missed before a node counts as dead.
        missed: u32,
    },
    /// The node is refused: why, and what to do. The stream closes after this.
    Refused(String),
    /// Bind an end of the control network of this view, and say where it listens.
    Bind {
        /// The view.
        view: u64,
        /// The network's number.
        network: u128,
    },
    /// All members of a view: leave the last one, and connect. The machine manager is node 0.
    View {
        /// The view.
        view: u64,
        /// Its members, by number.
        roster: Vec<Member>,
    },
    /// Execute the launcher of a job.
    Launch(Box<LaunchOrder>),
    /// Something for the launcher of a job. A node manager says [`Command::Go`] itself, when the launch is
    /// committed.
    Launcher {
        /// The job.
        job: JobId,
        /// What.
        command: Command,
    },
    /// Input for the job.
    Input {
        /// The job.
        job: JobId,
        /// The bytes; none at the end of the input.
        bytes: Vec<u8>,
    },
    /// So many bytes of a job's output were written.
    OutputTaken {
        /// The job.
        job: JobId,
        /// How many.
        bytes: u32,
    },
}

/// From a node manager.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum FromNode {
    /// The first message.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// The release of the software.
        release: String,
        /// How many processors there are for ranks.
        cores: u32,
        /// Bytes of memory.
        memory: u64,
        /// The network card by which libfabric reaches other nodes' memory, where there is one.
        card: Option<NetworkCard>,
    },
    /// The end of a view's network is bound, and listens here.
    Bound {
        /// The view.
        view: u64,
        /// Where.
        address: SocketAddr,
    },
    /// Something from the launcher of a job. After [`Notice::Over`] nothing more comes of this job. A
    /// launcher that ended without it is reported as lost by the node manager, which has ended what was left
    /// of the job.
    Launcher {
        /// The job.
        job: JobId,
        /// What.
        notice: Notice,
    },
    /// What ranks have written.
    Output {
        /// The job.
        job: JobId,
        /// Whether it is for the standard error.
        is_error: bool,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// So many bytes of a job's input have been passed on.
    InputTaken {
        /// The job.
        job: JobId,
        /// How many.
        bytes: u32,
        /// Nobody reads the input any more.
        closed: bool,
    },
}

/// A launcher that a node manager is to execute.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct LaunchOrder {
    /// Where in the control network the launch is committed: below [`crate::commit::SLOTS`].
    pub slot: u32,
    /// As whom it runs.
    pub user: User,
    /// The job.
    pub job: JobId,
    /// The node that is told, as the job numbers its nodes.
    pub node: NodeId,
    /// The job's network; none for a job on one node. The node manager fills in where it listens.
    pub network: Option<JobNetwork>,
    /// What all nodes of the job are told alike, as [`LaunchOrder::encode`] has encoded it once for all.
    pub common: Arc<[u8]>,
}

impl LaunchOrder {
    /// Encodes what all nodes of a job are told alike.
    ///
    /// # Errors
    /// It is longer than a node manager takes.
    pub fn encode(common: &CommonPart) -> Result<Arc<[u8]>, WireError> {
        Ok(wire::encode(common)?.as_slice().into())
    }

    /// What the launcher is told.
    ///
    /// # Errors
    /// The common part is malformed, or another job's.
    pub fn into_launch(self) -> Result<Launch, String> {
        let common: CommonPart = wire::decode(&self.common).map_err(|error| error.to_string())?;
        if common.job.id != self.job {
            return Err(format!(
                "job {} is ordered with what is told of job {}",
                self.job.0, common.job.id.0
            ));
        }
        let CommonPart { job, hosts, surroundings } = common;
        Ok(Launch { job, node: self.node, hosts, surroundings, network: self.network })
    }
}

/// What all nodes of a job are told alike: nearly all of a launch, so it is encoded once for the job and not
/// once for each node.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct CommonPart {
    /// The job.
    pub job: Job,
    /// The names of all its nodes, by number.
    pub hosts: Vec<String>,
    /// What was around the user where the job was submitted.
    pub surroundings: Surroundings,
}

/// A user, as the machine manager has proved who it is.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct User {
    /// The number of the user.
    pub uid: u32,
    /// The number of its main group.
    pub gid: u32,
}

/// Launches, reports of thousands of ranks and chunks of output have to fit.
const MAX_BYTES: usize = 48 << 20;

impl WireMessage for CommonPart {
    const NAME: &'static str = "launch of a job";
    const MAX_BYTES: usize = MAX_BYTES;
}

impl WireMessage for ToNode {
    const NAME: &'static str = "message to a node manager";
    const MAX_BYTES: usize = MAX_BYTES;
}

impl WireMessage for FromNode {
    const NAME: &'static str = "message of a node manager";
    const MAX_BYTES: usize = MAX_BYTES;
}
