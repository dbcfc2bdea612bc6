//! The forms of a collective call (MPI-5.0, §6.12, §6.13): blocking, non-blocking, persistent.
//!
//! A call's arguments are checked and resolved once; what comes of it makes a future each time that the
//! operation starts. The blocking form drives it on its own stack, the non-blocking one has a request for
//! it, the persistent one keeps what makes it. What the NIC does at once in a blocking call needs no future.

mod at_once;
mod movement;
mod neighbourhood;
mod persistent;
mod reduction;

pub use movement::{allgather, alltoall, barrier, bcast, gather, scatter};
pub use neighbourhood::{neighbour_allgather, neighbour_alltoall};
pub use reduction::{Vectors, allreduce, reduce, reduce_local, reduce_scatter, scan};

use crate::constants::{MPI_Comm, MPI_REQUEST_NULL, MPI_Request};
use crate::error::MpiResult;
use crate::process::Guard;
use crate::progress::party::Joins;
use crate::progress::task::drive;
use crate::request::persistent as request;
use mds::Primitive;
use persistent::Again;

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
    /// The non-blocking form.
    pub fn immediate(primitive: Primitive, comm: MPI_Comm) -> Self {
        Self { primitive, form: Form::NonBlocking, comm }
    }

    /// The persistent form.
    pub fn persistent(primitive: Primitive, comm: MPI_Comm) -> Self {
        Self { primitive, form: Form::Persistent, comm }
    }

    /// The blocking form.
    pub fn blocking(primitive: Primitive, comm: MPI_Comm) -> Self {
        Self { primitive, form: Form::Blocking, comm }
    }

    /// Starts what `make` makes for the members of the communicator; answers the request, which is null
    /// in the blocking form.
    #[inline(never)]
    pub(super) fn launch<J, F>(
        self,
        process: &mut Guard,
        make: impl Fn(J) -> F + 'static,
    ) -> MpiResult<MPI_Request>
    where
        J: Joins + 'static,
        F: Future<Output = MpiResult> + 'static,
    {
        if self.form == Form::Persistent {
            let starter = Box::new(Again::new(process, self, make)?);
            return Ok(request::create(process, starter, self.comm));
        }
        let blocks = self.form == Form::Blocking;
        let party = J::join(process, self.comm, self.primitive, blocks)?;
        let what = party.waiting();
        if !blocks {
            return process.start_request(self.comm, what, make(party));
        }
        drive(process, &what, make(party))?;
        Ok(MPI_REQUEST_NULL)
    }
}
