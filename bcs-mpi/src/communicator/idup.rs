//! MPI_Comm_idup and MPI_Comm_idup_with_info: a duplicate whose context is agreed on in the background
//! (MPI-5.0, §7.4.2).
//!
//! Attributes are copied when the call is made. The duplicate exists at once, without a context; the
//! broadcast that brings one is a collective of the NIC, posted when the call is made, and so in its
//! place among the collectives of the communicator. Persistent collectives have such duplicates, too, of
//! which the program knows nothing ([`crate::collective::forms`]).

use super::hints::tell_of_new;
use super::inter;
use super::new::{Duplication, Kin, kin_of, make, store, take_context, taken};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::communicator::NO_CONTEXT;
use crate::process::task::with;
use crate::process::{self, Guard};
use crate::progress::meeting::Arrival;
use crate::progress::party::{Joins, Party};
use mds::Primitive;
use nic_emu::descriptor::CollectiveKind;
use std::ptr::null_mut;

/// MPI_Comm_idup and, with hints, MPI_Comm_idup_with_info: the duplicate, to be used when the request is
/// complete.
///
/// # Errors
/// No such communicator or info object, or a copy callback refuses.
pub fn idup(call: Primitive, comm: MPI_Comm, info: MPI_Info) -> MpiResult<(MPI_Comm, MPI_Request)> {
    let kin = kin_of(comm, info)?;
    let mut process = process::enter()?;
    let Duplication { new, what, future } = begin(&mut process, call, comm, kin)?;
    Ok((new, process.start_request(comm, what, future)?))
}

/// A duplicate with these kin, which `call` makes.
///
/// # Errors
/// No such communicator.
pub(crate) fn begin(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    kin: Kin,
) -> MpiResult<Duplication> {
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        return inter::idup(process, call, comm, kin);
    }
    let (root, group) = (communicator.chooser(), communicator.group.clone());
    let chosen = if communicator.rank == root { take_context(process, &group)? } else { NO_CONTEXT };
    let new = make(process, comm, group, kin)?;
    let new = store(process, new, NO_CONTEXT)?;
    let party = Party::join(&mut process.communicators, comm, call, false)?;
    let what = party.waiting();
    let future = Box::pin(async move {
        let (given, mut brought) = (chosen.to_ne_bytes(), chosen.to_ne_bytes());
        if party.size > 1 {
            let arrival = Arrival::of_library(CollectiveKind::Broadcast, root);
            let room =
                if party.rank == root { (null_mut(), 0) } else { (brought.as_mut_ptr(), brought.len()) };
            // SAFETY: the future keeps both until the answer is there.
            unsafe { party.on_nic(&arrival, (given.as_ptr(), given.len()), 0, room).await? };
        }
        let context = taken(u32::from_ne_bytes(brought))?;
        with(|process| {
            process.set_context(new, context)?;
            tell_of_new(process, call, new)
        })
    });
    Ok(Duplication { new, what, future })
}
