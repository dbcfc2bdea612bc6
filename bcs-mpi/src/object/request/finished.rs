//! How an operation ended.

use super::generalized::Callbacks;
use super::status::Status;
use crate::constants::MPI_Comm;
use crate::error::{MpiError, Problem};
use crate::object::communicators::Communicators;
use crate::object::datatype::type_check;
use nic_emu::port::Outcome;

/// How an operation ended.
#[derive(Debug)]
pub struct Finished {
    /// Its status.
    pub status: Status,
    /// What went wrong, if something did.
    pub error: Option<MpiError>,
    /// Of a generalized request: what is to be called, without the lock, for its status.
    pub generalized: Option<Box<Callbacks>>,
}

impl Finished {
    /// An operation that ended well.
    #[inline]
    pub const fn well(status: Status) -> Self {
        Self { status, error: None, generalized: None }
    }

    /// An operation that failed.
    #[cold]
    pub fn failed(error: MpiError) -> Self {
        Self { error: Some(error), ..Self::well(Status::EMPTY) }
    }

    /// The same with its error, if there is one, that of a communicator.
    #[inline]
    pub(crate) fn of(mut self, comm: MPI_Comm) -> Self {
        self.error = self.error.map(|error| error.of(comm));
        self
    }

    /// Calls the functions of a generalized request that is gone: its status is theirs to say. The caller
    /// holds no guard.
    #[cold]
    pub(crate) fn conclude(mut self) -> Self {
        if let Some(callbacks) = self.generalized.take() {
            let (status, queried) = callbacks.query();
            let freed = callbacks.free();
            self.status = status;
            self.error = queried.and(freed).err();
        }
        self
    }

    /// The end of a send.
    pub fn sent(outcome: &Outcome) -> Self {
        Self::well(Status { cancelled: outcome.cancelled, ..Status::EMPTY })
    }

    /// The end of a receive of this communicator, with so much room, that told this of its type.
    #[inline]
    pub fn received(
        communicators: &Communicators,
        comm: MPI_Comm,
        outcome: &Outcome,
        (room, told): (u64, u16),
    ) -> Self {
        let mut finished = Self::well(Status::received(outcome, room));
        if outcome.length.is_to_be_looked_at(room) {
            finished.error = wrong_message(communicators, comm, outcome, (room, told));
        }
        finished
    }
}

/// The error of a message that is longer than its receive, or of another type, if it is.
#[cold]
#[inline(never)]
fn wrong_message(
    communicators: &Communicators,
    comm: MPI_Comm,
    outcome: &Outcome,
    wanted: (u64, u16),
) -> Option<MpiError> {
    let (length, from, tag) = (outcome.length, outcome.source.0 as i32, outcome.tag);
    if length.bytes() > wanted.0 {
        let (sent, room) = (length.bytes(), wanted.0);
        return Some(MpiError::new(Problem::Truncated { sent, room, from, tag }));
    }
    type_check::differ((length.bytes(), length.signature()), wanted).then(|| {
        MpiError::new(Problem::TypesDiffer {
            sent: type_check::told_name(length.signature()),
            wanted: type_check::told_name(wanted.1),
            from,
            tag,
            comm: communicators
                .get(comm)
                .map_or_else(|_| "a communicator that was freed".into(), |communicator| communicator.title()),
        })
    })
}
