//! Freeing communicators (MPI-5.0, §7.4.3).
//!
//! When members free a communicator that spans nodes they leave it on the NIC, and once all have, its context
//! comes back.

use crate::attributes;
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::Communicator;
use crate::object::attached_buffer::Level;
use crate::object::communicators::wrong_communicator;
use crate::object::error_handler::release;
use crate::object::topology::wiring::Wiring;
use crate::point_to_point::attached_buffer;
use crate::process::exit::end_if_unheard;
use crate::process::{self, Guard, Process, with};
use crate::progress::Arrival;
use crate::progress::meeting::{collective_of, post, waiting_in};
use bcs_core::Rank;
use mds::Primitive;
use nic_emu::contexts::{self, ERRORS_ARE_FATAL};
use std::future::poll_fn;
use std::task::Poll;

/// MPI_Comm_free. Pending operations of the communicator complete as if it lived.
///
/// # Errors
/// No such communicator, a predefined one, or a delete callback refuses.
pub fn free(comm: &mut MPI_Comm) -> MpiResult {
    refuse_predefined(*comm, "freed")?;
    process::enter()?.communicator(*comm)?;
    attributes::delete_all(*comm)?;
    let mut process = process::enter()?;
    attached_buffer::release(&mut process, Primitive::CommFree, Level::Communicator(*comm))?;
    remove(&mut process, std::mem::replace(comm, MPI_COMM_NULL))
}

/// Forgets a communicator. When no operation of it is under way any more, this process leaves it; its
/// context comes back when all members have done so, but for that of a broken one.
///
/// # Errors
/// No such communicator, or the NIC fails.
pub(crate) fn remove(process: &mut Guard, comm: MPI_Comm) -> MpiResult {
    let table = &mut process.communicators.table;
    let freed = table.remove(comm.0).map_err(|why| wrong_communicator("comm", comm, why))?;
    let local = table.remove(freed.local_comm.0).ok();
    let Process { communicators, requests, .. } = &mut **process;
    communicators.keep_handler(comm, freed.error_handler, |comm| requests.are_of(comm))?;
    let is_in_use = |local: &Option<Communicator>, freed: &Communicator| {
        freed.is_in_use() || local.as_ref().is_some_and(Communicator::is_in_use)
    };
    if !is_in_use(&local, &freed) {
        return give_up(process, local, freed);
    }
    let what = waiting_in(&freed, Primitive::CommFree, None, 0);
    let mut left = Some((local, freed));
    let state = process.start(
        what,
        poll_fn(move |_| match left.take_if(|(local, freed)| !is_in_use(local, freed)) {
            Some((local, freed)) => Poll::Ready(with(|process| give_up(process, local, freed))),
            None => Poll::Pending,
        }),
    )?;
    process.abandon(state, MPI_COMM_SELF);
    Ok(())
}

/// Leaves a communicator, and the hidden one that it has, in which nothing is under way here.
fn give_up(process: &mut Guard, local: Option<Communicator>, mut freed: Communicator) -> MpiResult {
    let is_whole = process.port.check_whole(freed.context.of_collectives()).is_ok();
    if let Some(mut local) = local {
        leave(process, &mut local)?;
        release(local.error_handler)?;
    }
    leave(process, &mut freed)?;
    // Along the edges of a broken one something may still come.
    if let Wiring::Made(wires) = &freed.wiring
        && is_whole
    {
        wires.close(&mut process.port);
    }
    release(freed.error_handler)
}

/// The last collective of a communicator, for which no member waits: when the NIC sees that all have
/// left, the context comes back. Where it does not come back, the leave is for a mismatch that is not
/// found yet, if there were collectives in which others could call something else.
fn leave(process: &mut Guard, communicator: &mut Communicator) -> MpiResult {
    let (context, members) = (communicator.context, communicator.local.1);
    // Members of a broken communicator do not meet any more.
    end_if_unheard(&process.port, communicator);
    if communicator.contexts().check_whole(&mut process.port).is_err() {
        process.port.leave_broken(context.of_collectives(), members);
        return Ok(());
    }
    let may_not_fit = communicator.on_nic.1 > 1 && communicator.sequence != 0;
    if !may_not_fit && !contexts::comes_back(process.port.memory(), context) {
        return Ok(());
    }
    let operation = if communicator.errors_are_fatal() { ERRORS_ARE_FATAL } else { (0, 0) };
    let arrival = Arrival { operation, ..Arrival::BARRIER };
    let collective = collective_of(communicator, Primitive::CommFree, &arrival);
    // SAFETY: nothing is contributed.
    match unsafe { post(process, &collective, Rank::NOBODY, std::ptr::null(), 0, false) } {
        Ok(waiter) => {
            debug_assert!(waiter.is_none(), "a barrier contributes nothing, so its request is not wanted");
            Ok(())
        }
        // Others have found that it is broken since the look above.
        Err(error) if matches!(error.problem(), Problem::Mismatch(_)) => {
            process.port.leave_broken(context.of_collectives(), members);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// That a communicator is none of the predefined ones, which are not `done`.
pub(crate) fn refuse_predefined(comm: MPI_Comm, done: &str) -> MpiResult {
    let name = match comm {
        MPI_COMM_WORLD => "MPI_COMM_WORLD",
        MPI_COMM_SELF => "MPI_COMM_SELF",
        _ => return Ok(()),
    };
    let allowed = format!("predefined communicators are not {done}");
    Err(MpiError::argument(MPI_ERR_COMM, "comm", name, allowed))
}
