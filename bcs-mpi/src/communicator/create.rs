//! Making and freeing communicators: dup, create (MPI-5.0, §7.4).
//!
//! Contexts are agreed on over the parent, in one meeting.

use super::hints::Hints;
use super::meeting::agree;
use super::{Communicator, inter};
use crate::attributes::{self, Attributes};
use crate::collective::forms::Call;
use crate::constants::*;
use crate::environment::error_handlers;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group::{self, Group};
use crate::handle::{Kind, Stale};
use crate::point_to_point::attached_buffer::{self, Level};
use crate::process::{self, Guard, Process};
use crate::topology::Topology;
use crate::topology::neighbours::Neighbours;
use crate::topology::wiring::Wiring;
use mds::Primitive;
use nic_emu::global::groups;
use nic_emu::memory::NicMemory;
use nic_emu::port::PortError;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Takes contexts for `count` communicators, and answers the first; [`nth_context`] tells the others. Nodes of a job take turns: those that different nodes
/// take are different.
pub(super) fn take_contexts(process: &mut Process, count: u32) -> MpiResult<u32> {
    let memory = process.port.memory();
    let next = &memory.header().next_context.0;
    let first = next.fetch_add(nth_context(process, 0, count), Ordering::Relaxed);
    if first > u32::MAX - (1 << 28) {
        let text = "the job has made two billion communicators, which is all that it can tell apart";
        return Err(MpiError::new(Problem::Exhausted(text.into())));
    }
    Ok(first)
}

/// In place of a context that is not known yet.
pub(super) const NO_CONTEXT: u32 = 0;

/// Of contexts that were taken together, from `first` on, the one with this number.
pub(super) fn nth_context(process: &Process, first: u32, number: u32) -> u32 {
    let (_, nodes) = process.port.memory().node();
    first + 2 * nodes * number
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

/// Tells the NIC on which nodes the members of a group are, of whom `here` are on this one, for the collectives of the communicator with this context.
pub(super) fn register_nodes(
    memory: &NicMemory,
    group: &Group,
    here: u16,
    context: u32,
) -> Result<(), PortError> {
    if (here as u32) < group.size() {
        groups::register(memory, context + 1, group.ranks())?;
    }
    Ok(())
}

impl Process {
    /// Gives a communicator that has none yet its context.
    ///
    /// # Errors
    /// It is gone, or NIC memory is corrupt.
    pub(super) fn set_context(&mut self, comm: MPI_Comm, context: u32) -> MpiResult {
        let memory = self.port.memory().clone();
        let communicator = self.communicator_mut(comm)?;
        communicator.context = context;
        Ok(register_nodes(&memory, &communicator.group, communicator.local.1, context)?)
    }
}

impl Communicator {
    /// Gives a new communicator what it is made with.
    pub(super) fn take_in(&mut self, kin: Kin) {
        let Kin { attributes, topology, hints } = kin;
        self.neighbours = topology.as_ref().map(|topology| Arc::new(Neighbours::of(topology, self.rank)));
        (self.attributes, self.topology, self.hints) = (attributes, topology, hints);
    }
}

/// A communicator of this group, in which this process has a rank.
pub(super) fn make(
    process: &Process,
    parent: MPI_Comm,
    group: Group,
    context: u32,
) -> MpiResult<Option<Communicator>> {
    let Some(rank) = group.member(process.place.rank) else { return Ok(None) };
    let local = local_members(process.port.memory(), &group, rank)?;
    if context != NO_CONTEXT {
        register_nodes(process.port.memory(), &group, local.1, context)?;
    }
    let parent = match parent {
        // What comes from a session's group has no other parent.
        MPI_COMM_SELF => process.communicators.own(),
        _ => process.communicator(parent)?,
    };
    Ok(Some(Communicator {
        context,
        rank,
        size: group.size(),
        peers: group.clone(),
        peer_count: group.size(),
        local_comm: MPI_COMM_NULL,
        group,
        name: String::new(),
        error_handler: parent.error_handler,
        error_handler_was_set: parent.error_handler_was_set,
        local,
        sequence: 0,
        attributes: Attributes::default(),
        topology: None,
        neighbours: None,
        wiring: Wiring::Unmade,
        hints: Hints::default(),
        session: parent.session,
    }))
}

/// A communicator of part of another's members. All of them call it at once; `parts` says how many communicators they make together, and
/// which of them this process's is.
///
/// # Errors
/// No such communicator, or the NIC fails.
pub(crate) fn with_topology(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    parts: (u32, u32),
    group: Group,
    kin: Kin,
) -> MpiResult<MPI_Comm> {
    let first = agree(process, call, comm, |process| take_contexts(process, parts.0))?;
    let mut new = make(process, comm, group, nth_context(process, first, parts.1))?;
    if let Some(new) = &mut new {
        new.take_in(kin);
    }
    store(process, new)
}

pub(super) fn store(process: &mut Process, communicator: Option<Communicator>) -> MpiResult<MPI_Comm> {
    let Some(communicator) = communicator else { return Ok(MPI_COMM_NULL) };
    error_handlers::retain(communicator.error_handler)?;
    Ok(process.communicators.insert(communicator))
}

/// What a duplicate of a communicator has: attributes as their keys say, in callbacks that may call MPI, and the topology. Hints are those of the argument
/// `info`, none without one (since MPI-4.0 those of the old communicator do not go with it).
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
    if communicator.is_inter() {
        return inter::dup(&mut process, call, comm, kin);
    }
    let group = communicator.group.clone();
    with_topology(&mut process, call, comm, (1, 0), group, kin)
}

/// The group of an argument whose members are all in the communicator.
pub(super) fn subgroup(process: &Process, comm: MPI_Comm, handle: MPI_Group) -> MpiResult<Group> {
    let group = group::resolve(process, "group", handle)?;
    let communicator = process.communicator(comm)?;
    if !communicator.group.contains(&group) {
        let allowed = format!("its members must all be members of {}", communicator.title());
        return Err(MpiError::argument(
            MPI_ERR_GROUP,
            "group",
            format!("a group of {}", group.size()),
            allowed,
        ));
    }
    Ok(group)
}

/// MPI_Comm_create: every member calls it; on an intracommunicator disjoint groups give one communicator each.
///
/// # Errors
/// No such communicator or group, or a group that is not part of the communicator.
pub fn create(comm: MPI_Comm, group: MPI_Group) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        return inter::create_of(&mut process, comm, group);
    }
    let size = communicator.size;
    let group = subgroup(&process, comm, group)?;
    let first = agree(&mut process, Primitive::CommCreate, comm, |process| take_contexts(process, size))?;
    if group.size() == 0 {
        return Ok(MPI_COMM_NULL);
    }
    // Groups of other members are disjoint, so their first members differ.
    let leader = process.communicator(comm)?.group.member(group.job_rank(0)).unwrap_or(0);
    let new = make(&process, comm, group, nth_context(&process, first, leader))?;
    store(&mut process, new)
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
    let freed = match process.communicators.remove(*comm) {
        Ok(freed) => freed,
        Err(why) => return Err(wrong(*comm, why)),
    };
    *comm = MPI_COMM_NULL;
    if let Wiring::Made(wires) = &freed.wiring {
        wires.close(&mut process.port);
    }
    if let Ok(local) = process.communicators.remove(freed.local_comm) {
        error_handlers::release(local.error_handler)?;
    }
    error_handlers::release(freed.error_handler)
}

/// MPI_Comm_disconnect: as MPI_Comm_free, when all members are there. What they have sent is with the NIC by then, which delivers it.
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

#[cold]
fn wrong(comm: MPI_Comm, why: Stale) -> MpiError {
    MpiError::handle("comm", comm.0, Kind::Communicator, why)
}
