//! A collective call.

use crate::constants::MPI_Comm;
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
}
