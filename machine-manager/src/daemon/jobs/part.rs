//! What one node has of a job, as far as its launcher has said it.

use crate::daemon::HostId;
use std::net::SocketAddr;

/// How far the launcher of a node is. Steps only go forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// It has not been ordered yet.
    Unasked,
    /// It is ordered, and has not said anything.
    Ordered,
    /// It listens on the job's network.
    Listening,
    /// It knows the other nodes, and brings up its links to them.
    Linking,
    /// It is prepared to start its ranks.
    Prepared,
    /// Its ranks run.
    Started,
    /// None of its ranks is left.
    RanksGone,
    /// Nothing of the job is left on the node, or the node is lost.
    Over,
}

impl Step {
    /// What a launcher that stands here has not done yet, as it follows on "hosts c03, c04".
    pub fn missing(self) -> &'static str {
        match self {
            Self::Unasked => "had not been told of the job",
            Self::Ordered => "had not made the job's launcher ready",
            Self::Listening => "did not know the other nodes",
            Self::Linking => "had not reached the other nodes",
            Self::Prepared => "had not started its ranks",
            Self::Started => "had ranks that run",
            Self::RanksGone => "had not cleaned up",
            Self::Over => "was done",
        }
    }
}

/// The job on one node.
#[derive(Clone, Debug)]
pub struct Part {
    /// The node.
    pub host: HostId,
    /// Its name.
    pub name: String,
    /// How far it is.
    pub step: Step,
    /// Where it listens on the job's network.
    pub address: Option<SocketAddr>,
    /// It ends its ranks: it said so, or it was told to.
    pub is_ending: bool,
    /// All its ranks have been blocked for some time.
    pub is_blocked: bool,
}

impl Part {
    /// A node of which nobody has heard yet.
    pub fn new(host: HostId, name: String) -> Self {
        Self { host, name, step: Step::Unasked, address: None, is_ending: false, is_blocked: false }
    }

    /// Whether there is a launcher that can be told something.
    pub fn has_launcher(&self) -> bool {
        (Step::Ordered..Step::Over).contains(&self.step)
    }

    /// Goes forward to a step; never back.
    pub fn reach(&mut self, step: Step) {
        self.step = self.step.max(step);
    }
}
