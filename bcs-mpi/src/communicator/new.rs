//! A new communicator: its context, what it takes over from its parent, and its handle.
//!
//! Who is first among the members of a new communicator takes its context (`nic_emu::contexts`) and tells
//! it in a meeting over the parent; of a duplicate the members do so in turn.

use crate::attributes;
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group;
use crate::object::attributes::Attributes;
use crate::object::communicators::{local_members, register_nodes};
use crate::object::error_handler::retain;
use crate::object::hints::Hints;
use crate::object::topology::{Neighbours, Topology};
use crate::object::{Communicator, Group};
use crate::process::{self, Guard, Process};
use crate::progress::meeting::{agree, gather_all};
use mds::Primitive;
use nic_emu::contexts::{self, Context, Reach};
use nic_emu::memory::numbers::CommRank;
use nic_emu::status::WaitingFor;
use std::pin::Pin;
use std::sync::Arc;

/// Takes a context for a communicator of this group, none if there is no more: who has taken one tells
/// the other members, also that.
pub(super) fn take_context(process: &Process, group: &Group) -> MpiResult<Context> {
    Ok(contexts::take(process.port.memory(), reach_of(process, group)?).unwrap_or(Context::NONE))
}

/// Who uses the context of a communicator of this group.
pub(super) fn reach_of(process: &Process, group: &Group) -> MpiResult<Reach> {
    let memory = process.port.memory();
    let here = memory.node().0;
    for rank in group.ranks() {
        if memory.place(rank)?.0 != here {
            return Ok(Reach::Nodes);
        }
    }
    Ok(Reach::Here)
}

/// A context that was taken and told.
///
/// # Errors
/// There was none.
pub(super) fn taken(context: Context) -> MpiResult<Context> {
    if context != Context::NONE { Ok(context) } else { Err(MpiError::new(Problem::NoContext)) }
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

impl Process {
    /// Gives a communicator that has none yet its context; to an intercommunicator when its hidden one has
    /// its own.
    ///
    /// # Errors
    /// It is gone, or NIC memory is corrupt.
    pub(super) fn set_context(&mut self, comm: MPI_Comm, context: Context) -> MpiResult {
        let memory = self.port.memory().clone();
        let communicator = self.communicator_mut(comm)?;
        communicator.context = context;
        register_nodes(&memory, &communicator.everybody(), communicator.local.1, context)?;
        if communicator.is_inter() {
            let local_comm = communicator.local_comm;
            self.communicator_mut(local_comm)?.made_in = Some(context.of_collectives());
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
    context: Context,
) -> MpiResult<MPI_Comm> {
    let Some(communicator) = communicator else { return Ok(MPI_COMM_NULL) };
    retain(communicator.error_handler)?;
    let comm = MPI_Comm(process.communicators.table.insert(communicator));
    if context != Context::NONE {
        process.set_context(comm, context)?;
    }
    Ok(comm)
}

/// A communicator of part of another's members. All of them call it at once, for communicators that have
/// no member in common. Where all are in it one of them takes its context, else the first of its own members.
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
    let context = if group.size() == process.communicator(comm)?.size {
        agree(process, call, comm, |process| take_context(process, &group))?
    } else {
        let is_first = group.size() > 0 && group.job_rank(CommRank(0)) == process.place.rank;
        let own = if is_first { take_context(process, &group)? } else { Context::NONE };
        let told = gather_all(process, call, comm, own.0.to_ne_bytes())?;
        if group.size() == 0 {
            return Ok(MPI_COMM_NULL);
        }
        let first = process.communicator(comm)?.group.member(group.job_rank(CommRank(0)));
        let told = first.and_then(|first| told.get(first.index())).copied().unwrap_or_default();
        Context(u32::from_ne_bytes(told))
    };
    let new = make(process, comm, group, kin)?;
    store(process, new, taken(context)?)
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

/// A duplicate that is being made in the background.
pub(crate) struct Duplication {
    /// The duplicate; it has no context before the future is over.
    pub new: MPI_Comm,
    /// What a hang report says of a rank that waits for it.
    pub what: WaitingFor,
    /// What brings the context; to be polled at once.
    pub future: Pin<Box<dyn Future<Output = MpiResult>>>,
}
