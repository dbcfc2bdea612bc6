//! What a launcher that is executed, not forked, has to be told: the job, this node's place in it, what the
//! user's process had where the job was submitted, and the keys of the job's network.

use crate::job::Job;
use bcs_core::wire::{PathBufDef, Variable, VariableDef};
use bcs_core::{NodeId, PortRange, Transport};
use rkyv::with::Map;
use rkyv::{Archive, Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

pub use bcs_fabric::Member;

/// A job as one of its launchers is told it.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct Launch {
    /// The job.
    pub job: Job,
    /// This node, as the job numbers its nodes.
    pub node: NodeId,
    /// The names of all its nodes, by number.
    pub hosts: Vec<String>,
    /// What was around the user where the job was submitted.
    pub surroundings: Surroundings,
    /// The job's network; none for a job on one node.
    pub network: Option<JobNetwork>,
}

/// What a process of the user had where it submitted the job, and its ranks are to have too.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct Surroundings {
    /// Its environment.
    #[rkyv(with = Map<VariableDef>)]
    pub environment: Vec<Variable>,
    /// Its working directory.
    #[rkyv(with = PathBufDef)]
    pub directory: PathBuf,
    /// The permissions that it takes from new files.
    pub umask: u32,
}

/// What a node needs to join the network of a job.
#[derive(Clone, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub struct JobNetwork {
    /// The network's number.
    pub id: u128,
    /// This node's credential, as PEM text: a key that was minted for this job, and is in no file.
    pub credential: String,
    /// The address of this node that the other nodes reach.
    pub listen: IpAddr,
    /// The ports of which this node's end takes one.
    pub ports: PortRange,
    /// What carries it.
    pub transport: Transport,
    /// Whether what travels over TCP is sealed. QUIC seals everything.
    pub seal: bool,
}

impl fmt::Debug for JobNetwork {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobNetwork")
            .field("id", &self.id)
            .field("listen", &self.listen)
            .field("ports", &self.ports)
            .field("transport", &self.transport)
            .field("seal", &self.seal)
            .finish_non_exhaustive()
    }
}
