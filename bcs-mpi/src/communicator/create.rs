//! Making and freeing communicators: dup, split, create (MPI-5.0, §7.4).
//!
//! Contexts are agreed on over the parent. MPI_Comm_split costs two meetings: colours and keys to all, then one number;
//! the others cost one.

use super::Communicator;
use super::hints::Hints;
use super::meeting::{agree, gather_all};
use crate::attributes::{self, Attributes};
use crate::constants::*;
use crate::environment::SHARED_MEMORY;
use crate::environment::error_handlers;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group::{self, Group};
use crate::handle::{Kind, Stale};
use crate::point_to_point::attached_buffer::{self, Level};
use crate::process::{self, Guard, Process};
use crate::topology::Topology;
use mds::Primitive;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Takes contexts for `count` communicators.
pub(super) fn take_contexts(process: &mut Process, count: u32) -> MpiResult<u32> {
    let next = &process.port.memory().header().next_context.0;
    let first = next.fetch_add(2 * count, Ordering::Relaxed);
    if first > u32::MAX - (1 << 28) {
        let text = "the job has made two billion communicators, which is all that it can tell apart";
        return Err(MpiError::new(Problem::Exhausted(text.into())));
    }
    Ok(first)
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

/// A communicator of this group, in which this process has a rank.
pub(super) fn make(
    process: &Process,
    parent: MPI_Comm,
    group: Group,
    context: u32,
) -> MpiResult<Option<Communicator>> {
    let Some(rank) = group.member(process.place.rank) else { return Ok(None) };
    let memory = process.port.memory();
    let mut local = (0, 0);
    for member in 0..group.size() {
        if memory.local_index(group.job_rank(member))?.is_some() {
            local.0 += (member < rank) as u16;
            local.1 += 1;
        }
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
        group,
        name: String::new(),
        error_handler: parent.error_handler,
        error_handler_was_set: parent.error_handler_was_set,
        local,
        sequence: 0,
        attributes: Attributes::default(),
        topology: None,
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
    let mut new = make(process, comm, group, first + 2 * parts.1)?;
    if let Some(new) = &mut new {
        (new.attributes, new.topology, new.hints) = (kin.attributes, kin.topology, kin.hints);
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
    let group = process.communicator(comm)?.group.clone();
    with_topology(&mut process, call, comm, (1, 0), group, kin)
}

/// The members of one colour, in the order of their keys, then of their ranks; and which of the colours it is.
fn members_of(all: &[(c_int, c_int)], colour: c_int) -> (Vec<u32>, u32) {
    let mut members: Vec<(c_int, u32)> = all
        .iter()
        .enumerate()
        .filter(|(_, (of, _))| *of == colour)
        .map(|(rank, (_, key))| (*key, rank as u32))
        .collect();
    members.sort_unstable();
    (members.into_iter().map(|(_, rank)| rank).collect(), distinct(all, |of| of < colour))
}

/// Distinct colours for which `counts`.
fn distinct(all: &[(c_int, c_int)], counts: impl Fn(c_int) -> bool) -> u32 {
    let mut colours: Vec<c_int> = all
        .iter()
        .map(|(colour, _)| *colour)
        .filter(|&colour| colour != MPI_UNDEFINED && counts(colour))
        .collect();
    colours.sort_unstable();
    colours.dedup();
    colours.len() as u32
}

/// MPI_Comm_split.
///
/// # Errors
/// No such communicator, or a colour that is neither MPI_UNDEFINED nor positive or 0.
pub fn split(call: Primitive, comm: MPI_Comm, color: c_int, key: c_int) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    process.communicator(comm)?;
    if color < 0 && color != MPI_UNDEFINED {
        let allowed = "it must be 0 or more, or MPI_UNDEFINED";
        return Err(MpiError::argument(MPI_ERR_ARG, "color", color, allowed));
    }
    split_by(&mut process, call, comm, color, key)
}

fn split_by(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    colour: c_int,
    key: c_int,
) -> MpiResult<MPI_Comm> {
    let mut own = [0; 8];
    own[..4].copy_from_slice(&colour.to_ne_bytes());
    own[4..].copy_from_slice(&key.to_ne_bytes());
    let int = |bytes: &[u8]| c_int::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let all: Vec<(c_int, c_int)> =
        gather_all(process, call, comm, own)?.iter().map(|pair| (int(pair), int(&pair[4..]))).collect();
    let colours = distinct(&all, |_| true);
    let first = agree(process, call, comm, |process| take_contexts(process, colours))?;
    if colour == MPI_UNDEFINED {
        return Ok(MPI_COMM_NULL);
    }
    let (members, index) = members_of(&all, colour);
    let parent = &process.communicator(comm)?.group;
    let group = Group::of(members.iter().map(|&rank| parent.job_rank(rank)).collect());
    let new = make(process, comm, group, first + 2 * index)?;
    store(process, new)
}

/// What the members of a new communicator share, by the hints of a split that is guided; none where they name nothing that this library tells apart.
fn guided(
    process: &Process,
    comm: MPI_Comm,
    split_type: c_int,
    hints: &[(String, String)],
) -> MpiResult<c_int> {
    let value = |key: &str| hints.iter().find(|(of, _)| of == key).map(|(_, value)| value.as_str());
    if value("mpi_hw_resource_type") == Some(SHARED_MEMORY) {
        return Ok(0);
    }
    Ok(match value("mpi_pset_name").filter(|_| split_type == MPI_COMM_TYPE_RESOURCE_GUIDED) {
        Some("mpi://WORLD") => 0,
        Some("mpi://SELF") => process.communicator(comm)?.rank as c_int,
        _ => MPI_UNDEFINED,
    })
}

/// MPI_Comm_split_type: by what the processes share. MPI_COMM_TYPE_SHARED is the ranks of a node; MPI_COMM_TYPE_HW_GUIDED knows the resource `mpi_shared_memory`,
/// MPI_COMM_TYPE_RESOURCE_GUIDED also the process sets `mpi://WORLD` and `mpi://SELF`. Hardware below the node is not told apart, so MPI_COMM_TYPE_HW_UNGUIDED,
/// which wants less than all, gives MPI_COMM_NULL.
///
/// # Errors
/// No such communicator or info object, or no such type.
pub fn split_type(comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info) -> MpiResult<MPI_Comm> {
    let call = Primitive::CommSplitType;
    let mut process = process::enter()?;
    process.communicator(comm)?;
    let pairs = crate::environment::info::pairs(info)?;
    let colour = match split_type {
        MPI_COMM_TYPE_SHARED => 0,
        MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED => {
            guided(&process, comm, split_type, &pairs)?
        }
        MPI_UNDEFINED | MPI_COMM_TYPE_HW_UNGUIDED => MPI_UNDEFINED,
        _ => {
            let allowed = "it must be MPI_COMM_TYPE_SHARED, another MPI_COMM_TYPE_*, or MPI_UNDEFINED";
            return Err(MpiError::argument(MPI_ERR_ARG, "split_type", split_type, allowed));
        }
    };
    let new = split_by(&mut process, call, comm, colour, key)?;
    if new != MPI_COMM_NULL {
        process.communicator_mut(new)?.hints = Hints::of(info)?;
    }
    Ok(new)
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

/// MPI_Comm_create: every member calls it; disjoint groups give one communicator each.
///
/// # Errors
/// No such communicator or group, or a group that is not part of the communicator.
pub fn create(comm: MPI_Comm, group: MPI_Group) -> MpiResult<MPI_Comm> {
    let mut process = process::enter()?;
    process.communicator(comm)?;
    let group = subgroup(&process, comm, group)?;
    let size = process.communicator(comm)?.size;
    let first = agree(&mut process, Primitive::CommCreate, comm, |process| take_contexts(process, size))?;
    if group.size() == 0 {
        return Ok(MPI_COMM_NULL);
    }
    // Groups of other members are disjoint, so their first members differ.
    let leader = process.communicator(comm)?.group.member(group.job_rank(0)).unwrap_or(0);
    let new = make(&process, comm, group, first + 2 * leader)?;
    store(&mut process, new)
}

/// MPI_Comm_free. Pending operations of the communicator complete as if it lived.
///
/// # Errors
/// No such communicator, a predefined one, or a delete callback refuses.
pub fn free(comm: &mut MPI_Comm) -> MpiResult {
    if matches!(*comm, MPI_COMM_WORLD | MPI_COMM_SELF) {
        let name = if *comm == MPI_COMM_WORLD { "MPI_COMM_WORLD" } else { "MPI_COMM_SELF" };
        return Err(MpiError::argument(MPI_ERR_COMM, "comm", name, "predefined communicators are not freed"));
    }
    process::enter()?.communicator(*comm)?;
    attributes::delete_all(*comm)?;
    let mut process = process::enter()?;
    attached_buffer::release(&mut process, Primitive::CommFree, Level::Communicator(*comm))?;
    let freed = match process.communicators.remove(*comm) {
        Ok(freed) => freed,
        Err(why) => return Err(wrong(*comm, why)),
    };
    *comm = MPI_COMM_NULL;
    error_handlers::release(freed.error_handler)
}

#[cold]
fn wrong(comm: MPI_Comm, why: Stale) -> MpiError {
    MpiError::handle("comm", comm.0, Kind::Communicator, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_orders_by_key_then_rank_and_numbers_colours_alike() {
        let all = [(7, 0), (3, 5), (7, -1), (MPI_UNDEFINED, 0), (3, 5), (9, 0)];
        assert_eq!(members_of(&all, 7), (vec![2, 0], 1));
        assert_eq!(members_of(&all, 3), (vec![1, 4], 0));
        assert_eq!(members_of(&all, 9), (vec![5], 2));
        assert_eq!(distinct(&all, |_| true), 3);
    }
}
