//! MPI_Comm_idup and MPI_Comm_idup_with_info: a duplicate whose context is agreed on in the background
//! (MPI-5.0, §7.4.2).
//!
//! Attributes are copied when the call is made. The duplicate exists at once, without a context; the
//! board that brings one is a collective of the NIC, posted when the call is made, and so in its place
//! among the collectives of the communicator. Persistent collectives have such duplicates, too, of which
//! the program knows nothing ([`crate::collective::forms`]): on the board members also say whether they
//! have a slab for it.

use super::hints::tell_of_new;
use super::inter;
use super::new::{Duplication, Kin, kin_of, make, store, take_context, taken};
use crate::constants::*;
use crate::error::MpiResult;
use crate::process::{self, Guard, with};
use crate::progress::{Arrival, Joins, Memory, Party, take_board};
use mds::Primitive;
use nic_emu::contexts::Context;
use nic_emu::descriptor::CollectiveKind;
use nic_emu::memory::numbers::CommRank;
use std::cell::Cell;
use std::rc::Rc;

/// MPI_Comm_idup and, with hints, MPI_Comm_idup_with_info: the duplicate, to be used when the request is
/// complete.
///
/// # Errors
/// No such communicator or info object, or a copy callback refuses.
pub fn idup(call: Primitive, comm: MPI_Comm, info: MPI_Info) -> MpiResult<(MPI_Comm, MPI_Request)> {
    let kin = kin_of(comm, info)?;
    let mut process = process::enter()?;
    let Duplication { new, what, future } = begin(&mut process, call, comm, kin, Rc::default())?;
    Ok((new, process.start_request(comm, what, future)?))
}

/// A duplicate with these kin, which `call` makes. When it is made, `all` is what all members have said
/// there, unless it is an intercommunicator.
///
/// # Errors
/// No such communicator.
pub(crate) fn begin(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    kin: Kin,
    all: Rc<Cell<bool>>,
) -> MpiResult<Duplication> {
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        return inter::idup(process, call, comm, kin);
    }
    let (root, group) = (communicator.chooser(), communicator.group.clone());
    let chosen = if communicator.rank == root { take_context(process, &group)? } else { Context::NONE };
    let new = make(process, comm, group, kin)?;
    let new = store(process, new, Context::NONE)?;
    let party = Party::join(&mut process.communicators, comm, call, false)?;
    let what = party.waiting();
    let future = Box::pin(async move {
        let mut told = chosen.0.to_ne_bytes();
        let [a, b, c, d] = told;
        let own = [a, b, c, d, all.get().into()];
        let arrival = Arrival::of_library(CollectiveKind::Board, root);
        // SAFETY: the future keeps it until the answer is there.
        let meet = unsafe { party.meet(&arrival, own.as_ptr(), own.len(), true) };
        if party.size > 1
            && let Some(release) = meet.await?
        {
            let mut says = vec![0; party.size as usize];
            // SAFETY: the byte lives as long as the board is read.
            let place = |byte: &mut u8| unsafe { Memory::new(byte, 1) };
            // SAFETY: as above.
            let context = unsafe { Memory::new(told.as_mut_ptr(), told.len()) };
            let pieces =
                (0..).map(CommRank).zip(&mut says).map(|(member, byte)| (member, told.len(), place(byte)));
            let pieces = pieces.chain([(root, 0, context)]);
            with(|process| take_board(process, release, own.len(), pieces))?;
            all.set(says.iter().all(|says| *says == 1));
        }
        let context = taken(Context(u32::from_ne_bytes(told)))?;
        with(|process| {
            process.set_context(new, context)?;
            tell_of_new(process, call, new)
        })
    });
    Ok(Duplication { new, what, future })
}
