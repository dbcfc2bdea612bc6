//! Persistent collectives (MPI-5.0, §6.13): initialised in the same order by all members, started in any.
//!
//! Which starts belong together is decided by the call that makes the request: it makes a duplicate of
//! the communicator, of which only the request knows, and the k-th start of the request is the k-th
//! collective of that duplicate at every member. So nothing of two requests meets: neither numbers on the
//! NIC, nor tags of messages. Contexts of duplicates are agreed on in the background, in the place that
//! the call has among the collectives of the communicator: the call waits for nobody, the first start
//! does until all have made theirs. When the request is freed, so is the duplicate.
//!
//! What each start would find out anew is found out once ([`Plan`]). A request whose members give more than a
//! descriptor holds, and no more than a slab, has a slab of its own, if all members have one left when they
//! make it.
//!
//! Where the communicator asserts `mpi_assert_strict_persistent_collective_ordering`, or has one member,
//! starts take their numbers in the communicator itself.

use super::call::Call;
use crate::communicator::free::remove;
use crate::communicator::idup;
use crate::communicator::new::{Duplication, Kin};
use crate::constants::MPI_Comm;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::communicators::Communicators;
use crate::object::request::{Begun, Parts, Starter, Steps};
use crate::process::{Guard, with};
use crate::progress::{Joins, Plan};
use nic_emu::descriptor::INLINE_BYTES;
use nic_emu::slab::SLAB_BYTES;
use nic_emu::status::WaitingFor;
use std::cell::{Cell, OnceCell};
use std::future::poll_fn;
use std::marker::PhantomData;
use std::rc::Rc;
use std::task::Poll;

/// A duplicate that a persistent request has for itself.
#[derive(Clone)]
struct OwnDuplicate {
    comm: MPI_Comm,
    /// What has come of making it, once that is over.
    made: Rc<OnceCell<Result<(), Problem>>>,
    what: WaitingFor,
}

impl OwnDuplicate {
    /// Begins to make one; that goes on as what the program cannot wait for. In the end the plan keeps its
    /// slab if those of all members have one.
    fn begin(process: &mut Guard, call: Call, plan: Rc<Plan>) -> MpiResult<Self> {
        let all = Rc::new(Cell::new(plan.slab().is_some()));
        let Duplication { new, what, future } =
            idup::begin(process, call.primitive, call.comm, Kin::default(), all.clone())?;
        let own = Self { comm: new, made: Rc::default(), what };
        let made = own.made.clone();
        let state = process.start(what, async move {
            let result = future.await;
            with(|process| {
                if result.is_err() || !all.get() {
                    plan.release_slab(process);
                }
                Ok(())
            })?;
            match result {
                Err(error) if error.problem().ends_job() => return Err(error),
                result => _ = made.set(result.map_err(|error| error.problem().clone())),
            }
            Ok(())
        })?;
        process.abandon(state, call.comm);
        Ok(own)
    }

    /// Waits until it is made.
    async fn made(&self) -> MpiResult {
        let made = poll_fn(|_| self.made.get().cloned().map_or(Poll::Pending, Poll::Ready));
        made.await.map_err(MpiError::new)
    }
}

/// A persistent collective.
pub(super) struct Again<M, J> {
    make: Rc<M>,
    call: Call,
    own: Option<OwnDuplicate>,
    plan: Rc<Plan>,
    of: PhantomData<fn(J)>,
}

impl<M, J> Again<M, J> {
    /// One that `make` makes anew each time, of members who give so many bytes each at most, 0 where that is
    /// not known.
    ///
    /// # Errors
    /// No such communicator, or the NIC fails.
    pub(super) fn new(process: &mut Guard, call: Call, bytes: usize, make: M) -> MpiResult<Self> {
        let communicator = process.communicator(call.comm)?;
        let alone = communicator.size == 1 && !communicator.is_inter();
        let has_own = !alone && !communicator.hints.strict_persistent_order();
        let wanted = communicator.hints.wanted.or(&process.communicators.wanted);
        let needs_slab = has_own && (INLINE_BYTES + 1..=SLAB_BYTES).contains(&bytes);
        let plan = Rc::new(Plan::new(process, wanted, needs_slab));
        let own = if has_own { Some(OwnDuplicate::begin(process, call, plan.clone())?) } else { None };
        Ok(Self { make: Rc::new(make), call, own, plan, of: PhantomData })
    }
}

/// The members in the next start: of the request's own duplicate, if it has one.
fn join<J: Joins>(
    communicators: &mut Communicators,
    Call { primitive, comm, .. }: Call,
    own: Option<MPI_Comm>,
    plan: &Rc<Plan>,
) -> MpiResult<J> {
    if let Some(own) = own {
        // The program may have freed the one that it knows.
        let made_in = communicators.get(comm).map(|comm| comm.context.of_collectives()).ok();
        communicators.named_mut(own)?.made_in = made_in;
    }
    Ok(J::join(communicators, own.unwrap_or(comm), primitive, false)?.by_plan(plan))
}

impl<M, J, F> Starter for Again<M, J>
where
    J: Joins + 'static,
    M: Fn(J) -> F + 'static,
    F: Future<Output = MpiResult> + 'static,
{
    fn start(&mut self, parts: &mut Parts<'_>) -> MpiResult<Begun> {
        let is_made = self.own.as_ref().is_none_or(|own| matches!(own.made.get(), Some(Ok(()))));
        if is_made && self.plan.is_idle(parts.port) {
            let own = self.own.as_ref().map(|own| own.comm);
            let party = join(parts.communicators, self.call, own, &self.plan)?;
            let steps = Steps::new(J::waiting(&party), (self.make)(party));
            return Ok(Begun::Steps(steps.of_collective(self.call.primitive, self.call.comm)));
        }
        let (make, call, plan) = (self.make.clone(), self.call, self.plan.clone());
        let own = self.own.clone();
        let what = own.as_ref().map_or(WaitingFor::SOMETHING, |own| own.what);
        let steps = Steps::new(what, async move {
            if let Some(own) = &own {
                own.made().await?;
            }
            plan.idle().await?;
            let own = own.map(|own| own.comm);
            make(with(|process| join(&mut process.communicators, call, own, &plan))?).await
        });
        Ok(Begun::Steps(steps.of_collective(call.primitive, call.comm)))
    }

    fn close(&mut self) -> Option<Steps> {
        let (own, plan) = (self.own.take()?, self.plan.clone());
        Some(Steps::new(own.what, async move {
            // Where it could not be made, nothing of it has to be left.
            match own.made().await {
                Ok(()) => with(|process| {
                    plan.release_slab(process);
                    remove(process, own.comm)
                }),
                Err(_) => Ok(()),
            }
        }))
    }
}
