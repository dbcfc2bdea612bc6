//! How a call starts its operation, in each form.

use super::call::{Call, Form};
use super::persistent::Again;
use crate::constants::MPI_Request;
use crate::error::MpiResult;
use crate::object::request::Steps;
use crate::process::{Guard, drive};
use crate::progress::Joins;
use crate::request::persistent::create;

impl Call {
    /// Starts what `make` makes for the members of the communicator, who give so many bytes each at most, 0
    /// where that is not known; answers the request, which is null in the blocking form.
    ///
    /// # Errors
    /// Those of the operation where it blocks; the NIC fails.
    #[inline(never)]
    pub(in crate::collective) fn launch<J, F>(
        self,
        process: &mut Guard,
        bytes: usize,
        make: impl Fn(J) -> F + 'static,
    ) -> MpiResult<MPI_Request>
    where
        J: Joins + 'static,
        F: Future<Output = MpiResult> + 'static,
    {
        if self.form == Form::Persistent {
            let starter = Box::new(Again::new(process, self, bytes, make)?);
            return Ok(create(process, starter, self.comm));
        }
        let blocks = self.form == Form::Blocking;
        let party = J::join(&mut process.communicators, self.comm, self.primitive, blocks)?;
        let what = party.waiting();
        if !blocks {
            let steps = Steps::new(what, make(party)).of_collective(self.primitive, self.comm);
            let state = process.start_steps(steps)?;
            return Ok(process.requests.insert(state, self.comm));
        }
        drive(process, &what, make(party))?;
        self.done()
    }
}
