//! Persistent collectives (MPI-5.0, §6.13): initialised in the same order by all members, started in any.
//!
//! Which starts belong together is decided by the call that makes the request: it makes a duplicate of
//! the communicator, of which only the request knows, and the k-th start of the request is the k-th
//! collective of that duplicate at every member. So nothing of two requests meets: neither numbers on the
//! NIC, nor tags of messages. Contexts of duplicates are agreed on in the background, in the place that
//! the call has among the collectives of the communicator: the call waits for nobody, the first start
//! does. When the request is freed, so is the duplicate.
//!
//! Where the communicator asserts `mpi_assert_strict_persistent_collective_ordering`, or has one member,
//! starts take their numbers in the communicator itself.

use super::call::Call;
use crate::communicator::free::remove;
use crate::communicator::idup;
use crate::communicator::new::{Duplication, Kin};
use crate::constants::MPI_Comm;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::request::{Begun, Parts, Starter, Steps};
use crate::process::{Guard, with};
use crate::progress::Joins;
use nic_emu::status::WaitingFor;
use std::cell::RefCell;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::rc::Rc;
use std::task::Poll;

/// A duplicate that a persistent request has for itself.
#[derive(Clone)]
struct OwnDuplicate {
    comm: MPI_Comm,
    /// What has come of making it, once that is over.
    made: Rc<RefCell<Option<Result<(), Problem>>>>,
    what: WaitingFor,
}

impl OwnDuplicate {
    /// Begins to make one; that goes on as what the program cannot wait for.
    fn begin(process: &mut Guard, call: Call) -> MpiResult<Self> {
        let Duplication { new, what, future } =
            idup::begin(process, call.primitive, call.comm, Kin::default())?;
        let own = Self { comm: new, made: Rc::default(), what };
        let made = own.made.clone();
        let state = process.start(what, async move {
            let result = match future.await {
                Err(error) if error.problem().ends_job() => return Err(error),
                result => result.map_err(|error| error.problem().clone()),
            };
            *made.borrow_mut() = Some(result);
            Ok(())
        })?;
        process.abandon(state, call.comm);
        Ok(own)
    }

    /// Waits until it is made.
    async fn made(&self) -> MpiResult {
        let made = poll_fn(|_| self.made.borrow().clone().map_or(Poll::Pending, Poll::Ready));
        made.await.map_err(MpiError::new)
    }
}

/// A persistent collective.
pub(super) struct Again<M, J> {
    make: Rc<M>,
    call: Call,
    own: Option<OwnDuplicate>,
    of: PhantomData<fn(J)>,
}

impl<M, J> Again<M, J> {
    /// One that `make` makes anew each time.
    ///
    /// # Errors
    /// No such communicator, or the NIC fails.
    pub(super) fn new(process: &mut Guard, call: Call, make: M) -> MpiResult<Self> {
        let communicator = process.communicator(call.comm)?;
        let alone = communicator.size == 1 && !communicator.is_inter();
        let own = match alone || communicator.hints.strict_persistent_order() {
            true => None,
            false => Some(OwnDuplicate::begin(process, call)?),
        };
        Ok(Self { make: Rc::new(make), call, own, of: PhantomData })
    }
}

impl<M, J, F> Starter for Again<M, J>
where
    J: Joins + 'static,
    M: Fn(J) -> F + 'static,
    F: Future<Output = MpiResult> + 'static,
{
    fn start(&mut self, parts: &mut Parts<'_>) -> MpiResult<Begun> {
        let (make, Call { primitive, comm, .. }) = (self.make.clone(), self.call);
        let Some(own) = self.own.clone() else {
            let party = J::join(parts.communicators, comm, primitive, false)?;
            return Ok(Begun::Steps(Steps::new(party.waiting(), make(party))));
        };
        let made_in = parts.communicators.get(comm).map(|comm| comm.context.of_collectives()).ok();
        Ok(Begun::Steps(Steps::new(own.what, async move {
            own.made().await?;
            let party = with(|process| {
                process.communicator_mut(own.comm)?.made_in = made_in;
                J::join(&mut process.communicators, own.comm, primitive, false)
            })?;
            make(party).await
        })))
    }

    fn close(&mut self) -> Option<Steps> {
        let own = self.own.take()?;
        Some(Steps::new(own.what, async move {
            // Where it could not be made, nothing of it has to be left.
            match own.made().await {
                Ok(()) => with(|process| remove(process, own.comm)),
                Err(_) => Ok(()),
            }
        }))
    }
}
