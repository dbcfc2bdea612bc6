//! A collective call.

use crate::constants::{MPI_Comm, MPI_REQUEST_NULL, MPI_Request};
use crate::error::MpiResult;
use crate::object::event::{self, EventKind, Happening};
use mds::Primitive;

/// How a call starts its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// It waits for the end.
    Blocking,
    /// It answers a request.
    NonBlocking,
    /// It answers a request that starts it when it is started.
    Persistent,
}

/// A call: which, in which form, and of which communicator.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The MPI call, as hang reports name it.
    pub primitive: Primitive,
    /// Its form.
    pub form: Form,
    /// The communicator.
    pub comm: MPI_Comm,
}

impl Call {
    /// The blocking form.
    pub fn blocking(primitive: Primitive, comm: MPI_Comm) -> Self {
        Self { primitive, form: Form::Blocking, comm }
    }

    /// The end of the blocking form: a null request.
    ///
    /// # Errors
    /// None: it is what the call answers.
    #[inline(always)]
    pub(in crate::collective) fn done(self) -> MpiResult<MPI_Request> {
        if event::is_listened(EventKind::CollectiveComplete) {
            event::note(Happening::CollectiveComplete { call: self.primitive, comm: self.comm });
        }
        Ok(MPI_REQUEST_NULL)
    }
}
