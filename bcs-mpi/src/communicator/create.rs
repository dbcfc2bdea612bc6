//! Making and freeing communicators: dup, create (MPI-5.0, §7.4).
//!
//! Who is first among the members of a new communicator takes its context (`nic_emu::contexts`) and tells
//! it in a meeting over the parent; of a duplicate the members do so in turn. When members free a
//! communicator that spans nodes they leave it on the NIC, and once all have, its context comes back.

use super::hints::{Hints, tell_of_new};
use super::meeting::{Arrival, agree, awaits_all, collective_of, gather_all, post, waiting_in};
use super::{Communicator, inter, wrong_communicator};
use crate::attributes::{self, Attributes};
use crate::collective::forms::Call;
use crate::constants::*;
use crate::environment::error_handlers;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group::{self, Group};
use crate::point_to_point::attached_buffer::{self, Level};
use crate::process::end::{end_if_unheard, is_fatal};
use crate::process::{self, Guard, Process};
use crate::progress::task::with;
use crate::topology::Topology;
use crate::topology::neighbours::Neighbours;
use crate::topology::wiring::Wiring;
use mds::Primitive;
use nic_emu::contexts::{self, ERRORS_ARE_FATAL, Reach};
use nic_emu::descriptor::CollectiveKind;
use nic_emu::global::groups;
use nic_emu::memory::NicMemory;
use nic_emu::port::PortError;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// In place of a context that is not known yet, or that nobody could take.
pub(super) const NO_CONTEXT: u32 = 0;

/// Takes a context for a communicator of this group, none if there is no more: who has taken one tells
/// the other members, also that.
pub(super) fn take_context(process: &Process, group: &Group) -> MpiResult<u32> {
    Ok(contexts::take(process.port.memory(), reach_of(process, group)?).unwrap_or(NO_CONTEXT))
}

/// Who uses the context of a communicator of this group.
pub(super) fn reach_of(process: &Process, group: &Group) -> MpiResult<Reach> {
    let memory = process.port.memory();
    let here = memory.node().0;
    for rank in group.ranks() {
        if memory.place(rank).map_err(PortError::from)?.0 != here {
            return Ok(Reach::Nodes);
        }
    }
    Ok(Reach::Here)
}

/// A context that was taken and told.
///
/// # Errors
/// There was none.
pub(super) fn taken(context: u32) -> MpiResult<u32> {
    if context != NO_CONTEXT { Ok(context) } else { Err(MpiError::new(Problem::NoContext)) }
}

/// The context of a new communicator: where all members of the parent are in it one of them takes it,
/// else the first of its own members. All members of the parent call it at once, for communicators that
/// have no member in common.
pub(super) fn context_of(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    group: &Group,
) -> MpiResult<u32> {
    if group.size() == process.communicator(comm)?.size {
        return taken(agree(process, call, comm, |process| take_context(process, group))?);
    }
    let is_first = group.size() > 0 && group.job_rank(0) == process.place.rank;
    let own = if is_first { take_context(process, group)? } else { NO_CONTEXT };
    let told = gather_all(process, call, comm, own.to_ne_bytes())?;
    if group.size() == 0 {
        return Ok(NO_CONTEXT);
    }
    let first = process.communicator(comm)?.group.member(group.job_rank(0));
    let told = first.and_then(|first| told.get(first as usize)).copied().unwrap_or_default();
    taken(u32::from_ne_bytes(told))
}

/// What a new communicator has beside its group and its parent's error handler.
#[derive(Default)]
pub struct Kin {
    /// Attributes.
    pub attributes: Attributes,
    /// Its topology.
    pub topology: Option<Topology>,
    /// Hints.
    pub hints: Hints,
}

/// Position among the members of a group that are on this node, and their number.
pub(super) fn local_members(memory: &NicMemory, group: &Group, rank: u32) -> Result<(u16, u16), PortError> {
    let mut local = (0, 0);
    for member in 0..group.size() {
        if memory.local_index(group.job_rank(member))?.is_some() {
            local.0 += (member < rank) as u16;
            local.1 += 1;
        }
    }
    Ok(local)
}

/// Tells the NIC on which nodes the members of a group are, of whom `here` are on this one, for the
/// collectives of the communicator with this context.
pub(super) fn register_nodes(
    memory: &NicMemory,
    group: &Group,
    here: u16,
    context: u32,
) -> Result<(), PortError> {
    if (here as u32) < group.size() && contexts::has_slot(memory, context) {
        groups::register(memory, context + 1, group.ranks())?;
    }
    Ok(())
}

impl Process {
    /// Gives a communicator that has none yet its context; to an intercommunicator when its hidden one has
    /// its own.
    ///
    /// # Errors
    /// It is gone, or NIC memory is corrupt.
    pub(super) fn set_context(&mut self, comm: MPI_Comm, context: u32) -> MpiResult {
        let memory = self.port.memory().clone();
        let communicator = self.communicator_mut(comm)?;
        communicator.context = context;
        register_nodes(&memory, &communicator.everybody(), communicator.local.1, context)?;
        if communicator.is_inter() {
            let local_comm = communicator.local_comm;
            self.communicator_mut(local_comm)?.made_in = Some(context + 1);
        }
        Ok(())
    }
}

/// A communicator of this group without a context, if this process has a rank in it.
pub(super) fn make(
    process: &Process,
    parent: MPI_Comm,
    group: Group,
    kin: Kin,
) -> MpiResult<Option<Communicator>> {
    let Some(rank) = group.member(process.place.rank) else { return Ok(None) };
    let local = local_members(process.port.memory(), &group, rank)?;
    let parent = match parent {
        // What comes from a session's group has no other parent.
        MPI_COMM_SELF => &process.communicators.own,
        _ => process.communicator(parent)?,
    };
    let Kin { attributes, topology, hints } = kin;
    let neighbours = topology.as_ref().map(|topology| Arc::new(Neighbours::of(topology, rank)));
    Ok(Some(Communicator {
        error_handler: parent.error_handler,
        error_handler_was_set: parent.error_handler_was_set,
        session: parent.session,
        attributes,
        topology,
        neighbours,
        hints,
        ..Communicator::new(group, rank, local)
    }))
}

/// Keeps a new communicator, and gives it its context if that is known.
pub(super) fn store(
    process: &mut Process,
    communicator: Option<Communicator>,
    context: u32,
) -> MpiResult<MPI_Comm> {
    let Some(communicator) = communicator else { return Ok(MPI_COMM_NULL) };
    error_handlers::retain(communicator.error_handler)?;
    let comm = process.communicators.insert(communicator);
    if context != NO_CONTEXT {
        process.set_context(comm, context)?;
    }
    Ok(comm)
}

/// A communicator of part of another's members. All of them call it at once, for communicators that have
/// no member in common.
///
/// # Errors
/// No such communicator, no context, or the NIC fails.
pub(crate) fn part_of(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    group: Group,
    kin: Kin,
) -> MpiResult<MPI_Comm> {
    let context = context_of(process, call, comm, &group)?;
    let new = make(process, comm, group, kin)?;
    store(process, new, context)
}

/// What a duplicate of a communicator has: attributes as their keys say, in callbacks that may call MPI,
/// and the topology. Hints are those of the argument `info`, none without one (since MPI-4.0 those of the
/// old communicator do not go with it).
pub(super) fn kin_of(comm: MPI_Comm, info: MPI_Info) -> MpiResult<Kin> {
    let hints = Hints::of(info)?;
    let attributes = attributes::copy_all(comm)?;
    let topology = process::enter()?.communicator(comm)?.topology.clone();
    Ok(Kin { attributes, topology, hints })
}

/// MPI_Comm_dup and, with hints, MPI_Comm_dup_with_info.
///
/// # Errors
/// No such communicator or info object, or a copy callback refuses.
pub fn dup(call: Primitive, comm: MPI_Comm, info: MPI_Info) -> MpiResult<MPI_Comm> {
    let kin = kin_of(comm, info)?;
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let new = if communicator.is_inter() {
        inter::dup(&mut process, call, comm, kin)?
    } else {
        let group = communicator.group.clone();
        part_of(&mut process, call, comm, group, kin)?
    };
    tell_of_new(&mut process, call, new)?;
    Ok(new)
}

/// The group of an argument whose members are all in the communicator.
pub(super) fn subgroup(process: &Process, comm: MPI_Comm, handle: MPI_Group) -> MpiResult<Group> {
    let group = group::resolve(process, "group", handle)?;
    let communicator = process.communicator(comm)?;
    if !communicator.group.contains(&group) {
        let allowed = format!("its members must all be members of {}", communicator.title());
        let value = format!("a group of {}", group.size());
        return Err(MpiError::argument(MPI_ERR_GROUP, "group", value, allowed));
    }
    Ok(group)
}

/// MPI_Comm_create: every member calls it; on an intracommunicator disjoint groups give one communicator
/// each.
///
/// # Errors
/// No such communicator or group, or a group that is not part of the communicator.
pub fn create(comm: MPI_Comm, group: MPI_Group) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        return inter::create_of(&mut process, comm, group);
    }
    let group = subgroup(&process, comm, group)?;
    part_of(&mut process, Primitive::CommCreate, comm, group, Kin::default())
}

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
    let freed = process.communicators.remove(comm).map_err(|why| wrong_communicator("comm", comm, why))?;
    let local = process.communicators.remove(freed.local_comm).ok();
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
    let is_whole = process.port.check_whole(freed.context + 1).is_ok();
    if let Some(mut local) = local {
        leave(process, &mut local)?;
        error_handlers::release(local.error_handler)?;
    }
    leave(process, &mut freed)?;
    // Along the edges of a broken one something may still come.
    if let Wiring::Made(wires) = &freed.wiring
        && is_whole
    {
        wires.close(&mut process.port);
    }
    error_handlers::release(freed.error_handler)
}

/// The last collective of a communicator, for which no member waits: when the NIC sees that all have
/// left, the context comes back. Where it does not come back, the leave is for a mismatch that is not
/// found yet, if there were collectives in which others could call something else.
fn leave(process: &mut Guard, communicator: &mut Communicator) -> MpiResult {
    let (context, members) = (communicator.context, communicator.local.1);
    // Members of a broken communicator do not meet any more.
    end_if_unheard(&process.port, communicator);
    if communicator.contexts().check_whole(process).is_err() {
        process.port.leave_broken(context + 1, members);
        return Ok(());
    }
    let may_not_fit = communicator.on_nic.1 > 1 && communicator.sequence != 0;
    if !may_not_fit && !contexts::comes_back(process.port.memory(), context) {
        return Ok(());
    }
    let operation = if is_fatal(communicator) { ERRORS_ARE_FATAL } else { (0, 0) };
    let arrival = Arrival { kind: CollectiveKind::Barrier, operation, ..Arrival::default() };
    let collective = collective_of(communicator, Primitive::CommFree, &arrival);
    // SAFETY: nothing is contributed.
    match unsafe { post(process, &collective, awaits_all(&collective), std::ptr::null(), 0, false) } {
        Ok(waiter) => {
            debug_assert!(waiter.is_none(), "a barrier contributes nothing, so its request is not wanted");
            Ok(())
        }
        // Others have found that it is broken since the look above.
        Err(error) if matches!(error.problem(), Problem::Mismatch(_)) => {
            process.port.leave_broken(context + 1, members);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// MPI_Comm_disconnect: as MPI_Comm_free, when all members are there. What they have sent is with the NIC
/// by then, which delivers it.
///
/// # Errors
/// As [`free`].
pub fn disconnect(comm: &mut MPI_Comm) -> MpiResult {
    refuse_predefined(*comm, "disconnected")?;
    crate::collective::forms::barrier(Call::blocking(Primitive::CommDisconnect, *comm))?;
    free(comm)
}

fn refuse_predefined(comm: MPI_Comm, done: &str) -> MpiResult {
    let name = match comm {
        MPI_COMM_WORLD => "MPI_COMM_WORLD",
        MPI_COMM_SELF => "MPI_COMM_SELF",
        _ => return Ok(()),
    };
    let allowed = format!("predefined communicators are not {done}");
    Err(MpiError::argument(MPI_ERR_COMM, "comm", name, allowed))
}
