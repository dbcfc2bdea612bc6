//! Intercommunicators: two disjoint groups, each of which talks to the other (MPI-5.0, §7.6).
//!
//! Both groups share one context, so that a rank is found by its number in its own group; each has a hidden intracommunicator for what it does together. Each
//! leader takes the contexts of its own group's, and the one whose rank in the job is lower those that both share; they go with their words (file `leaders.rs`). On an intercommunicator rank 0 leads.

use super::by_group::{BETWEEN_GROUPS, NO_PARENT, check_tag, not_in_group, tag_of};
use super::create::{Kin, NO_CONTEXT, make, remove, store, subgroup, take_context};
use super::hints::Hints;
use super::idup::Duplication;
use super::leaders::{Assembly, Leading, Words, across};
use super::meeting::gather_all;
use super::{Communicator, wrong_communicator};
use crate::constants::*;
use crate::environment::error_handlers;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group::{self, Group};
use crate::process::{self, Guard, Process};
use crate::progress::party::Party;
use crate::progress::task::{drive, with};
use mds::Primitive;
use nic_emu::contexts::{self, Reach};
use nic_emu::status::WaitingFor;
use std::ffi::c_int;

/// The contexts that a leader has taken for the communicators that are being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Taken {
    /// What both groups share, of each communicator; nothing where the other leader takes these.
    shared: Vec<u32>,
    /// Of the hidden ones of the leader's own group.
    hidden: Vec<u32>,
}

impl Taken {
    /// For intercommunicators with these local groups; their shared ones, too, if this leader takes them.
    pub fn of(process: &Process, takes: bool, groups: &[Group]) -> MpiResult<Self> {
        let memory = process.port.memory();
        let shared = |_| contexts::take(memory, Reach::Messages).unwrap_or(NO_CONTEXT);
        let hidden: MpiResult<_> = groups.iter().map(|group| take_context(process, group)).collect();
        Ok(Self { shared: groups.iter().filter(|_| takes).map(shared).collect(), hidden: hidden? })
    }

    /// A leader's word: these, and what it says.
    fn word(&self, says: &[u8]) -> Vec<u8> {
        let lengths = [self.shared.len() as u32, self.hidden.len() as u32];
        let numbers = lengths.iter().chain(&self.shared).chain(&self.hidden);
        numbers.flat_map(|number| number.to_ne_bytes()).chain(says.iter().copied()).collect()
    }

    /// Reads a leader's word.
    fn read(word: &[u8]) -> Option<(Self, Vec<u8>)> {
        let (shared, rest) = number(word)?;
        let (hidden, mut rest) = number(rest)?;
        let mut numbers = |count: u32| {
            let mut read = Vec::new();
            for _ in 0..count {
                let (context, after) = number(rest)?;
                read.push(context);
                rest = after;
            }
            Some(read)
        };
        Some((Self { shared: numbers(shared)?, hidden: numbers(hidden)? }, rest.to_vec()))
    }

    /// Gives back the hidden one with this number, which nobody uses. For the leader.
    pub fn give_back(&self, process: &Process, number: usize) {
        if let Some(context) = self.hidden.get(number) {
            contexts::give_back(process.port.memory(), *context);
        }
    }

    /// Gives back all of them: no member of either group uses one. For the leader.
    fn give_all_back(&self, process: &Process) {
        for context in self.shared.iter().chain(&self.hidden) {
            contexts::give_back(process.port.memory(), *context);
        }
    }
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (u32::from_ne_bytes(*number), rest))
}

/// What both groups have agreed on: contexts, and what the leaders said beside them.
pub(super) struct Agreed {
    /// What the own group's leader has taken.
    pub mine: Taken,
    theirs: Taken,
    /// What the own group's leader said.
    own: Vec<u8>,
    /// What the other one said.
    pub other: Vec<u8>,
}

impl Agreed {
    /// # Errors
    /// A leader had no context left; both groups are told.
    fn new(words: &Words) -> MpiResult<Self> {
        let strange = || MpiError::new(Problem::Nic("a group was told no contexts".into()));
        let (mine, own) = Taken::read(&words.own).ok_or_else(strange)?;
        let (theirs, other) = Taken::read(&words.other).ok_or_else(strange)?;
        let all = [&mine.shared, &mine.hidden, &theirs.shared, &theirs.hidden];
        if all.into_iter().flatten().any(|context| *context == NO_CONTEXT) {
            return Err(MpiError::new(Problem::NoContext));
        }
        Ok(Self { mine, theirs, own, other })
    }

    /// Whether this process's own leader has taken what both groups share.
    pub fn taken_here(&self) -> bool {
        !self.mine.shared.is_empty()
    }

    /// The context that both groups share of the communicator with this number among those of the group whose leader has taken it.
    fn shared(&self, number: usize) -> u32 {
        let by = if self.taken_here() { &self.mine } else { &self.theirs };
        by.shared.get(number).copied().unwrap_or(NO_CONTEXT)
    }

    /// The contexts of the intercommunicator with this number among those of the group whose leader has taken it, and of the hidden one with this number
    /// of this group.
    pub fn contexts(&self, number: usize, hidden: usize) -> (u32, u32) {
        (self.shared(number), self.mine.hidden.get(hidden).copied().unwrap_or(NO_CONTEXT))
    }
}

fn bytes_of(group: &Group) -> Vec<u8> {
    group.ranks().into_iter().flat_map(u32::to_ne_bytes).collect()
}

fn group_of(bytes: &[u8]) -> Group {
    let (ranks, _) = bytes.as_chunks();
    Group::of(ranks.iter().map(|rank| u32::from_ne_bytes(*rank)).collect())
}

/// An intercommunicator of these groups, and its hidden intracommunicator; MPI_COMM_NULL for who is not in the local group.
pub(super) fn build(
    process: &mut Process,
    parent: MPI_Comm,
    (group, peers): (Group, Group),
    (shared, hidden): (u32, u32),
    kin: Kin,
) -> MpiResult<MPI_Comm> {
    let (Some(local), Some(new)) =
        (make(process, parent, group.clone(), hidden)?, make(process, parent, group, shared)?)
    else {
        return Ok(MPI_COMM_NULL);
    };
    let local_comm = store(process, Some(local))?;
    let Kin { attributes, topology, hints } = kin;
    let peer_count = peers.size();
    store(process, Some(Communicator { peers, peer_count, local_comm, attributes, topology, hints, ..new }))
}

#[cold]
fn overlap(argument: &'static str, class: c_int) -> MpiError {
    let allowed = "the two groups of an intercommunicator must have no process in common";
    MpiError::argument(class, argument, "a group that overlaps the other one", allowed)
}

fn check_disjoint(one: &Group, other: &Group, argument: &'static str, class: c_int) -> MpiResult {
    let overlaps = one.ranks().into_iter().any(|rank| other.member(rank).is_some());
    if overlaps { Err(overlap(argument, class)) } else { Ok(()) }
}

/// What the leader of a group brings to MPI_Intercomm_create.
fn lead(
    process: &mut Process,
    group: &Group,
    (peer_comm, remote_leader): (MPI_Comm, c_int),
    tag: c_int,
) -> MpiResult<Leading> {
    let found = process.communicators.get(peer_comm);
    let communicator = found.map_err(|why| wrong_communicator("peer_comm", peer_comm, why))?;
    let peer = communicator.member("remote_leader", remote_leader)?;
    let (own, theirs) = (process.place.rank, communicator.job_rank(peer));
    if own == theirs {
        let value = format!("{remote_leader}, which is this process");
        let allowed = "it has to be the leader of the other group";
        return Err(MpiError::argument(MPI_ERR_RANK, "remote_leader", value, allowed));
    }
    let way = (communicator.context + 1, tag);
    let bridge = Party::loose(Primitive::IntercommCreate, way, communicator.rank, communicator.peers.clone());
    let word = Taken::of(process, own < theirs, std::slice::from_ref(group))?.word(&bytes_of(group));
    Ok(Leading { bridge, peer, word })
}

/// MPI_Intercomm_create.
///
/// # Errors
/// No such intracommunicator, no such leaders, a wrong tag, or groups that overlap; `peer_comm` and `remote_leader` matter at the leader only.
pub fn create(
    local_comm: MPI_Comm,
    local_leader: c_int,
    peer_comm: MPI_Comm,
    remote_leader: c_int,
    tag: c_int,
) -> MpiResult<MPI_Comm> {
    let call = Primitive::IntercommCreate;
    let mut process = process::enter()?;
    let local = process.intracommunicator("local_comm", local_comm)?;
    let leader = local.member("local_leader", local_leader)?;
    let (group, leads) = (local.group.clone(), local.rank == leader);
    if tag < 0 {
        return Err(MpiError::new(Problem::Tag { argument: "tag", value: tag, also: "" }));
    }
    let leading = leads.then(|| lead(&mut process, &group, (peer_comm, remote_leader), tag));
    let party = Party::join(&mut process, local_comm, call)?;
    let what = party.waiting();
    let words = drive(&mut process, &what, across(Assembly::of(party, leader), leading))?;
    let agreed = Agreed::new(&words)?;
    let peers = group_of(&agreed.other);
    if let Err(error) = check_disjoint(&group, &peers, "local_comm", MPI_ERR_COMM) {
        // All members of both groups find that.
        if leads {
            agreed.mine.give_all_back(&process);
        }
        return Err(error);
    }
    let contexts = agreed.contexts(0, 0);
    build(&mut process, local_comm, (group, peers), contexts, Kin::default())
}

/// MPI_Intercomm_create_from_groups: only the groups' members call it.
///
/// # Errors
/// No such group, info object or error handler, a local group without this process, no such leaders, groups that overlap, or a tag that is too long; `remote_leader`
/// matters at the leader only.
pub fn create_from_groups(
    (local_group, local_leader): (MPI_Group, c_int),
    (remote_group, remote_leader): (MPI_Group, c_int),
    stringtag: &str,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
) -> MpiResult<MPI_Comm> {
    let call = Primitive::IntercommCreateFromGroups;
    let mut process = process::enter()?;
    let group = group::resolve(&process, "local_group", local_group)?;
    let remote = group::resolve(&process, "remote_group", remote_group)?;
    check_tag(stringtag)?;
    let hints = Hints::of(info)?;
    if group.size() == 0 || remote.size() == 0 {
        return Ok(MPI_COMM_NULL);
    }
    let own = process.place.rank;
    let Some(rank) = group.member(own) else { return Err(not_in_group("local_group", &group)) };
    let leader = group::member("local_leader", local_leader, &group)?;
    check_disjoint(&group, &remote, "remote_group", MPI_ERR_GROUP)?;
    // The new communicator's reference, taken before the others are told anything.
    error_handlers::retain_for(MPI_COMM_SELF.into(), errhandler)?;
    let all = Group::Range { first: 0, size: process.place.size };
    let lead = |process: &mut Process| {
        let peer = remote.job_rank(group::member("remote_leader", remote_leader, &remote)?);
        let groups = if own < peer { [&group, &remote] } else { [&remote, &group] };
        let way = (BETWEEN_GROUPS, tag_of(call, stringtag, &groups));
        let bridge = Party::loose(call, way, own, all.clone());
        let taken = Taken::of(process, own < peer, std::slice::from_ref(&group))?;
        let word = taken.word(&bytes_of(&group));
        Ok(Leading { bridge, peer, word })
    };
    let leading = (rank == leader).then(|| lead(&mut process));
    let way = (NO_PARENT, tag_of(call, stringtag, &[&group]));
    let party = Party::loose(call, way, own, all.clone());
    let what = party.waiting();
    let assembly = Assembly { party, names: group.clone(), leader };
    let made = drive(&mut process, &what, across(assembly, leading)).and_then(|words| {
        let agreed = Agreed::new(&words)?;
        let kin = Kin { hints, ..Kin::default() };
        let (contexts, peers) = (agreed.contexts(0, 0), remote.size());
        let is_as_told = agreed.other == bytes_of(&remote);
        let new = build(&mut process, MPI_COMM_SELF, (group, remote), contexts, kin)?;
        if is_as_told {
            return Ok(new);
        }
        // Others of the group may have been told the right one, and have the communicator: it is over when they have left it too.
        remove(&mut process, new)?;
        let value = format!("a group of {peers}");
        let allowed = "it has to be what the other group calls its local group";
        Err(MpiError::argument(MPI_ERR_GROUP, "remote_group", value, allowed))
    });
    let new = match made {
        Ok(new) => new,
        Err(error) => {
            error_handlers::release(errhandler)?;
            return Err(error);
        }
    };
    let communicator = process.communicator_mut(new)?;
    let inherited = std::mem::replace(&mut communicator.error_handler, errhandler);
    communicator.error_handler_was_set = true;
    error_handlers::release(inherited)?;
    Ok(new)
}

/// Has rank 0s of both groups exchange words, and all members told; `take` takes contexts there, and is told whether that is the lower one, which takes what both
/// groups share. Answers what a hang report says of the wait, too.
fn conversation<TAKE: FnOnce(&Process, bool) -> MpiResult<Taken>>(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    take: TAKE,
    says: &[u8],
) -> MpiResult<(WaitingFor, impl Future<Output = MpiResult<Words>> + use<TAKE>)> {
    let communicator = process.intercommunicator("comm", comm)?;
    let (local_comm, leads) = (communicator.local_comm, communicator.rank == 0);
    let takes = communicator.group.job_rank(0) < communicator.peers.job_rank(0);
    let bridge = Party::join(process, comm, call)?;
    let local = Party::join(process, local_comm, call)?;
    let what = bridge.waiting();
    let leading = leads.then(|| {
        let word = take(process, takes)?.word(says);
        Ok(Leading { bridge, peer: 0, word })
    });
    Ok((what, across(Assembly::of(local, 0), leading)))
}

/// A conversation to its end.
pub(super) fn agree(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    take: impl FnOnce(&Process, bool) -> MpiResult<Taken>,
    says: &[u8],
) -> MpiResult<Agreed> {
    let (what, words) = conversation(process, call, comm, take, says)?;
    Agreed::new(&drive(process, &what, words)?)
}

/// Both groups of an intercommunicator.
fn groups(process: &Process, comm: MPI_Comm) -> MpiResult<(Group, Group)> {
    let communicator = process.intercommunicator("comm", comm)?;
    Ok((communicator.group.clone(), communicator.peers.clone()))
}

/// MPI_Comm_dup of an intercommunicator.
pub(super) fn dup(process: &mut Guard, call: Primitive, comm: MPI_Comm, kin: Kin) -> MpiResult<MPI_Comm> {
    let groups = groups(process, comm)?;
    let take = |process: &Process, takes| Taken::of(process, takes, std::slice::from_ref(&groups.0));
    let contexts = agree(process, call, comm, take, &[])?.contexts(0, 0);
    build(process, comm, groups, contexts, kin)
}

/// MPI_Comm_idup of an intercommunicator: the duplicate gets its contexts when the words have been exchanged.
pub(super) fn idup(process: &mut Guard, call: Primitive, comm: MPI_Comm, kin: Kin) -> MpiResult<Duplication> {
    let groups = groups(process, comm)?;
    let group = groups.0.clone();
    let new = build(process, comm, groups, (NO_CONTEXT, NO_CONTEXT), kin)?;
    let take = |process: &Process, takes| Taken::of(process, takes, &[group]);
    let (what, words) = conversation(process, call, comm, take, &[])?;
    let future = Box::pin(async move {
        let agreed = Agreed::new(&words.await?)?;
        with(|process| {
            let (shared, hidden) = agreed.contexts(0, 0);
            process.set_context(new, shared)?;
            let local_comm = process.communicator(new)?.local_comm;
            process.set_context(local_comm, hidden)
        })
    });
    Ok(Duplication { new, what, future })
}

/// What a group says of the order that its members want in a merged communicator.
const SAY_LOW: u8 = 0;
const SAY_HIGH: u8 = 1;
const SAY_BOTH: u8 = 2;

/// MPI_Intercomm_merge. Where both groups say the same, that of the lower leader comes first.
///
/// # Errors
/// No such intercommunicator, or a group whose members say different things.
pub fn merge(comm: MPI_Comm, high: bool) -> MpiResult<MPI_Comm> {
    let call = Primitive::IntercommMerge;
    let mut process = process::enter()?;
    let communicator = process.intercommunicator("intercomm", comm)?;
    let local_comm = communicator.local_comm;
    let (group, peers) = groups(&process, comm)?;
    let said = gather_all(&mut process, call, local_comm, [u8::from(high)])?;
    let says = match said.iter().all(|of| *of == said[0]) {
        true => said[0][0],
        false => SAY_BOTH,
    };
    let all = Group::of([group.ranks(), peers.ranks()].concat());
    let take = |process: &Process, takes: bool| {
        let context = takes.then(|| take_context(process, &all)).transpose()?;
        Ok(Taken { shared: context.into_iter().collect(), ..Taken::default() })
    };
    let agreed = agree(&mut process, call, comm, take, &[says])?;
    let first = match (says, agreed.other.first()) {
        (SAY_LOW, Some(&SAY_HIGH)) => true,
        (SAY_HIGH, Some(&SAY_LOW)) => false,
        (SAY_LOW, Some(&SAY_LOW)) | (SAY_HIGH, Some(&SAY_HIGH)) => agreed.taken_here(),
        _ => {
            // All members of both groups find that.
            if process.communicator(comm)?.rank == 0 {
                agreed.mine.give_all_back(&process);
            }
            let allowed = "all members of a group have to say the same";
            return Err(MpiError::argument(MPI_ERR_ARG, "high", i32::from(high), allowed));
        }
    };
    let (low, high) = if first { (group, peers) } else { (peers, group) };
    let all = Group::of([low.ranks(), high.ranks()].concat());
    let new = make(&process, comm, all, agreed.shared(0))?;
    store(&mut process, new)
}

/// MPI_Comm_create on an intercommunicator.
pub(super) fn create_of(process: &mut Guard, comm: MPI_Comm, group: MPI_Group) -> MpiResult<MPI_Comm> {
    let group = subgroup(process, comm, group)?;
    let take = |process: &Process, takes| Taken::of(process, takes, std::slice::from_ref(&group));
    let agreed = agree(process, Primitive::CommCreate, comm, take, &bytes_of(&group))?;
    if group.size() > 0 && agreed.own != bytes_of(&group) {
        let value = format!("a group of {}, not the one that rank 0 gives", group.size());
        let allowed = "all members of a group of an intercommunicator have to give the same";
        return Err(MpiError::argument(MPI_ERR_GROUP, "group", value, allowed));
    }
    let peers = group_of(&agreed.other);
    if peers.size() == 0 {
        if process.communicator(comm)?.rank == 0 {
            agreed.mine.give_back(process, 0);
        }
        return Ok(MPI_COMM_NULL);
    }
    let contexts = agreed.contexts(0, 0);
    build(process, comm, (group, peers), contexts, Kin::default())
}
