//! Splitting communicators by colours (MPI-5.0, §7.4.2). Two meetings: colours and keys to all, then the
//! contexts; on an intercommunicator each group meets, and then the leaders exchange what was said.

use super::hints::tell_of_new;
use super::inter::{self, Groups};
use super::new::{Kin, part_of};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::host::{RESOURCE_TYPE, SHARED_MEMORY};
use crate::info;
use crate::object::hints::Hints;
use crate::process::{self, Guard, Process};
use crate::progress::meeting::gather_all;
use mds::Primitive;
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;

/// What a member chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ColourAndKey {
    /// The communicator, or MPI_UNDEFINED for none.
    colour: c_int,
    /// Its place there.
    key: c_int,
}

impl ColourAndKey {
    /// Both numbers on their way, as one.
    fn bytes(self) -> [u8; size_of::<i64>()] {
        (i64::from(self.colour) << 32 | i64::from(self.key.cast_unsigned())).to_ne_bytes()
    }

    /// The choices of all members, one after the other.
    fn all(bytes: &[u8]) -> Vec<Self> {
        let (choices, _) = bytes.as_chunks();
        let choices = choices.iter().map(|both| i64::from_ne_bytes(*both));
        choices.map(|both| Self { colour: (both >> 32) as c_int, key: both as c_int }).collect()
    }
}

/// The members of one colour, in the order of their keys, then of their ranks.
fn members_of(all: &[ColourAndKey], colour: c_int) -> Vec<CommRank> {
    let of_colour = all.iter().zip((0..).map(CommRank)).filter(|(choice, _)| choice.colour == colour);
    let mut members: Vec<(c_int, CommRank)> = of_colour.map(|(choice, rank)| (choice.key, rank)).collect();
    members.sort_unstable();
    members.into_iter().map(|(_, rank)| rank).collect()
}

/// The colours that are chosen, in their order.
fn colours_of(all: &[ColourAndKey]) -> Vec<c_int> {
    let chosen = all.iter().map(|choice| choice.colour).filter(|colour| *colour != MPI_UNDEFINED);
    let mut colours: Vec<c_int> = chosen.collect();
    colours.sort_unstable();
    colours.dedup();
    colours
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
    split_by(&mut process, call, comm, ColourAndKey { colour: color, key })
}

fn split_by(process: &mut Guard, call: Primitive, comm: MPI_Comm, own: ColourAndKey) -> MpiResult<MPI_Comm> {
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        return split_inter(process, call, comm, own);
    }
    let group = communicator.group.clone();
    let all = ColourAndKey::all(gather_all(process, call, comm, own.bytes())?.as_flattened());
    let members = if own.colour == MPI_UNDEFINED { Vec::new() } else { members_of(&all, own.colour) };
    part_of(process, call, comm, group.choose(&members), Kin::default())
}

/// The members of one colour in both groups.
fn split_inter(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    own: ColourAndKey,
) -> MpiResult<MPI_Comm> {
    let communicator = process.intercommunicator("comm", comm)?;
    let (group, peers) = (communicator.group.clone(), communicator.peers.clone());
    let local_comm = communicator.local_comm;
    inter::announce(process, call, comm)?;
    let here = gather_all(process, call, local_comm, own.bytes())?;
    let there = inter::exchange(process, call, comm, here.as_flattened())?.other;
    let (here, there) = (ColourAndKey::all(here.as_flattened()), ColourAndKey::all(&there));
    let mut colours = colours_of(&here);
    let of_both = colours_of(&there);
    colours.retain(|colour| of_both.binary_search(colour).is_ok());
    let groups_of = |colour: c_int| Groups {
        own: group.choose(&members_of(&here, colour)),
        peers: peers.choose(&members_of(&there, colour)),
    };
    let mut made: Vec<Groups> = colours.iter().map(|&colour| groups_of(colour)).collect();
    let agreed = inter::take_contexts(process, call, comm, &made)?;
    let Ok(number) = colours.binary_search(&own.colour) else { return Ok(MPI_COMM_NULL) };
    inter::build(process, comm, made.swap_remove(number), agreed.contexts(number), Kin::default())
}

/// The number of the node whose memory this process shares with others.
fn node(process: &Process) -> c_int {
    process.port.memory().node().0 as c_int
}

/// What the members of a new communicator share, by the hints of a split that is guided; none where they
/// name nothing that this library tells apart.
fn guided(process: &Process, split_type: c_int, hints: &[(String, String)]) -> c_int {
    let value = |key: &str| hints.iter().find(|(of, _)| of == key).map(|(_, value)| value.as_str());
    if value(RESOURCE_TYPE) == Some(SHARED_MEMORY) {
        return node(process);
    }
    match value("mpi_pset_name").filter(|_| split_type == MPI_COMM_TYPE_RESOURCE_GUIDED) {
        Some("mpi://WORLD") => 0,
        Some("mpi://SELF") => process.place.rank.0 as c_int,
        _ => MPI_UNDEFINED,
    }
}

/// MPI_Comm_split_type: by what the processes share. MPI_COMM_TYPE_SHARED is the ranks of a node;
/// MPI_COMM_TYPE_HW_GUIDED knows the resource `mpi_shared_memory`, MPI_COMM_TYPE_RESOURCE_GUIDED also the
/// process sets `mpi://WORLD` and `mpi://SELF`. Hardware below the node is not told apart:
/// MPI_COMM_TYPE_HW_UNGUIDED, which wants less than all, is the ranks of a node where there are several,
/// with the resource's name in `info`, and else MPI_COMM_NULL.
///
/// # Errors
/// No such communicator or info object, or no such type.
pub fn split_type(comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info) -> MpiResult<MPI_Comm> {
    let call = Primitive::CommSplitType;
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let has_several_nodes = !communicator.is_inter() && communicator.spans_nodes();
    let pairs = info::pairs(info)?;
    let colour = match split_type {
        MPI_COMM_TYPE_SHARED => node(&process),
        MPI_COMM_TYPE_HW_UNGUIDED if has_several_nodes => node(&process),
        MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED => guided(&process, split_type, &pairs),
        MPI_UNDEFINED | MPI_COMM_TYPE_HW_UNGUIDED => MPI_UNDEFINED,
        _ => {
            let allowed = "it must be MPI_COMM_TYPE_SHARED, another MPI_COMM_TYPE_*, or MPI_UNDEFINED";
            return Err(MpiError::argument(MPI_ERR_ARG, "split_type", split_type, allowed));
        }
    };
    let new = split_by(&mut process, call, comm, ColourAndKey { colour, key })?;
    if new != MPI_COMM_NULL {
        process.communicator_mut(new)?.hints = Hints::of(info)?;
        tell_of_new(&mut process, call, new)?;
        if split_type == MPI_COMM_TYPE_HW_UNGUIDED && info != MPI_INFO_NULL {
            info::set(info, RESOURCE_TYPE.into(), SHARED_MEMORY.into())?;
        }
    }
    Ok(new)
}
