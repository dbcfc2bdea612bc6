//! MPI_Comm_idup and MPI_Comm_idup_with_info: a duplicate whose context is agreed on in the background (MPI-5.0, §7.4.2).
//!
//! Attributes are copied when the call is made. The duplicate exists at once, without a context; the broadcast that brings one is a collective of the NIC, posted
//! when the call is made, and so in its place among the collectives of the communicator.

use super::create::{NO_CONTEXT, kin_of, make, store, take_context, taken};
use super::inter;
use super::meeting::{Arrival, arrive};
use crate::constants::*;
use crate::error::MpiResult;
use crate::process::{self, Process};
use crate::request::{Operation, State, Status};
use mds::Primitive;
use nic_emu::descriptor::CollectiveKind;
use nic_emu::port::Release;

/// A duplicate that waits for its context.
struct Duplication {
    new: MPI_Comm,
    /// What the root gives; kept until the broadcast is over.
    chosen: Box<[u8; 4]>,
    /// Whether this member has chosen it.
    is_root: bool,
    /// The NIC's request; none when there is nothing to wait for.
    waits: Option<u32>,
}

impl Operation for Duplication {
    fn advance(&mut self, process: &mut Process) -> MpiResult<Option<Status>> {
        if let Some(request) = self.waits {
            let Some(released) = process.port.test_collective(request)? else { return Ok(None) };
            if !self.is_root
                && let Release::Result(payload) = released
                && let Some(brought) = payload.first_chunk::<4>()
            {
                *self.chosen = *brought;
            }
        }
        process.set_context(self.new, taken(u32::from_ne_bytes(*self.chosen))?)?;
        Ok(Some(Status::EMPTY))
    }
}

/// MPI_Comm_idup and, with hints, MPI_Comm_idup_with_info: the duplicate, to be used when the request is complete.
///
/// # Errors
/// No such communicator or info object, or a copy callback refuses.
pub fn idup(call: Primitive, comm: MPI_Comm, info: MPI_Info) -> MpiResult<(MPI_Comm, MPI_Request)> {
    let kin = kin_of(comm, info)?;
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        return inter::idup(&mut process, call, comm, kin);
    }
    let (size, root, group) = (communicator.size, communicator.chooser(), communicator.group.clone());
    let is_root = communicator.rank == root;
    let chosen = if is_root { take_context(&process, &group)? } else { NO_CONTEXT };
    let chosen = Box::new(chosen.to_ne_bytes());
    let mut waits = None;
    if size > 1 {
        let arrival = Arrival { kind: CollectiveKind::Broadcast, root, ..Arrival::default() };
        // SAFETY: the operation keeps the four bytes until it is complete.
        let waiter =
            unsafe { arrive(&mut process, call, comm, &arrival, chosen.as_ptr(), chosen.len(), true)? };
        waits = waiter.map(|waiter| waiter.request);
        process.port.nudge(true)?;
    }
    let mut new = make(&process, comm, group, u32::from_ne_bytes(*chosen))?;
    if let Some(new) = &mut new {
        new.take_in(kin);
    }
    let new = store(&mut process, new)?;
    let operation = Box::new(Duplication { new, chosen, is_root, waits });
    Ok((new, process.requests.insert(State::Operation(operation), comm)))
}
