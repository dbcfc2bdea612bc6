//! The requests of a process.

use super::state::State;
use crate::constants::{MPI_Comm, MPI_Request};
use crate::handle::Table;
use crate::kind::Kind;
use bcs_core::Rank;
use nic_emu::matching::Envelope;
use nic_emu::memory::REQUESTS;

/// An operation that may be under way and is more than a slot of the NIC.
pub struct Request {
    /// What it waits for.
    pub state: State,
    /// Its communicator.
    pub comm: MPI_Comm,
}

/// A message that a probe has matched and no receive has taken.
#[derive(Clone, Copy, Debug)]
pub struct Matched {
    pub(crate) envelope: Envelope,
    /// The sender's rank in the job.
    pub(crate) peer_in_job: Rank,
    pub(crate) comm: MPI_Comm,
}

/// The request of every send that was complete when it was posted: it has nothing to tell, so one serves for
/// all.
pub const BUFFERED: MPI_Request = MPI_Request(Table::<Request>::shared(Kind::Request));

/// The requests of this process that are more than slots of the NIC.
pub struct Requests {
    pub(crate) table: Table<Request>,
    /// Messages that probes have matched.
    pub messages: Table<Matched>,
    /// Freed while under way (MPI_Request_free): they complete all the same.
    pub(crate) abandoned: Vec<Request>,
}

impl Default for Requests {
    fn default() -> Self {
        let table = Table::from_index(Kind::Request, REQUESTS as u32);
        let messages = Table::new(Kind::Message);
        Self { table, messages, abandoned: Vec::new() }
    }
}

impl Requests {
    /// The handle of a new request.
    pub fn insert(&mut self, state: State, comm: MPI_Comm) -> MPI_Request {
        MPI_Request(self.table.insert(Request { state, comm }))
    }

    /// Whether there are any of this communicator, beside those that are slots of the NIC.
    pub(crate) fn are_of(&self, comm: MPI_Comm) -> bool {
        self.table.iter().any(|request| request.comm == comm)
    }

    /// Takes a request out, if there is one.
    pub(crate) fn remove(&mut self, handle: MPI_Request) -> Option<Request> {
        self.table.remove(handle.0).ok()
    }
}
