//! Intercommunicators: two disjoint groups, each of which talks to the other (MPI-5.0, §7.6).
//!
//! Both groups share one context, so that a rank is found by its number in its own group, and so that the
//! NIC finds calls of theirs that do not fit; each has a hidden intracommunicator for what it does
//! together. Each leader takes the contexts of its own group's, and the one whose rank in the job is
//! lower those that both share; they go with their words (file `leaders.rs`). On an intercommunicator
//! rank 0 leads.

use super::by_group::{BETWEEN_GROUPS, NO_PARENT, check_tag, own_rank, party_of_job, tag_of};
use super::free::remove;
use super::hints::tell_of_new;
use super::leaders::{Assembly, Leading, Words, across, join_words, split_words};
use super::new::{Duplication, Kin, make, reach_of, store, subgroup, take_context};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group;
use crate::object::communicator::{both, side_of};
use crate::object::communicators::local_members;
use crate::object::error_handler::{release, retain_for};
use crate::object::hints::Hints;
use crate::object::{Communicator, Group};
use crate::point_to_point::send_tag;
use crate::process::{self, Guard, Process, drive, with};
use crate::progress::meeting::gather_all;
use crate::progress::{Arrival, Joins, Party};
use mds::Primitive;
use nic_emu::contexts::{self, Context, Reach};
use nic_emu::memory::numbers::CommRank;
use nic_emu::root::{NO_ROOT, Side};
use nic_emu::status::WaitingFor;
use std::ffi::c_int;

/// The groups of an intercommunicator, as a member of one of them sees them.
#[derive(Clone, Debug)]
pub(super) struct Groups {
    /// Its own.
    pub own: Group,
    /// The other one.
    pub peers: Group,
}

impl Groups {
    fn of(process: &Process, comm: MPI_Comm) -> MpiResult<Self> {
        let communicator = process.intercommunicator("comm", comm)?;
        Ok(Self { own: communicator.group.clone(), peers: communicator.peers.clone() })
    }

    fn side(&self) -> Side {
        side_of(&self.own, &self.peers)
    }

    fn everybody(&self) -> Group {
        both(self.side(), &self.own, &self.peers)
    }
}

/// The contexts that a leader has taken for the communicators that are being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Taken {
    /// What both groups share, of each communicator; nothing where the other leader takes these.
    shared: Vec<Context>,
    /// Of the hidden ones of the leader's own group.
    hidden: Vec<Context>,
}

impl Taken {
    /// For intercommunicators of these groups; their shared ones, too, if this leader takes them.
    fn of(process: &Process, takes: bool, made: &[Groups]) -> MpiResult<Self> {
        let of_all = |groups: &Groups| take_context(process, &groups.everybody());
        let shared: MpiResult<_> = made.iter().filter(|_| takes).map(of_all).collect();
        let hidden: MpiResult<_> = made.iter().map(|groups| take_context(process, &groups.own)).collect();
        Ok(Self { shared: shared?, hidden: hidden? })
    }

    /// A leader's word: these, and what it says.
    fn word(&self, says: &[u8]) -> Vec<u8> {
        join_words([&bytes_of(&self.shared), &bytes_of(&self.hidden), says])
    }

    /// Reads a leader's word.
    fn read(word: &[u8]) -> Option<(Self, Vec<u8>)> {
        let [shared, hidden, says] = split_words(word)?;
        Some((Self { shared: numbers_of(shared), hidden: numbers_of(hidden) }, says.to_vec()))
    }

    /// Gives back all of them: no member of either group uses one. For the leader.
    fn give_back(&self, process: &Process) {
        for context in self.shared.iter().chain(&self.hidden) {
            contexts::give_back(process.port.memory(), *context);
        }
    }
}

/// What both groups have agreed on.
pub(super) struct AgreedContexts {
    /// The contexts that the own group's leader has taken.
    mine: Taken,
    theirs: Taken,
    /// What the other leader said beside its contexts.
    other: Vec<u8>,
}

impl AgreedContexts {
    /// # Errors
    /// A leader had no context left; both groups are told.
    fn new(words: &Words) -> MpiResult<Self> {
        let strange = || MpiError::new(Problem::Nic("a group was told no contexts".into()));
        let (mine, _) = Taken::read(&words.own).ok_or_else(strange)?;
        let (theirs, other) = Taken::read(&words.other).ok_or_else(strange)?;
        let all = [&mine.shared, &mine.hidden, &theirs.shared, &theirs.hidden];
        if all.into_iter().flatten().any(|context| *context == Context::NONE) {
            return Err(MpiError::new(Problem::NoContext));
        }
        Ok(Self { mine, theirs, other })
    }

    /// The context that both groups share of the communicator with this number.
    fn shared(&self, number: usize) -> Context {
        let by = if self.mine.shared.is_empty() { &self.theirs } else { &self.mine };
        by.shared.get(number).copied().unwrap_or(Context::NONE)
    }

    /// The contexts of the intercommunicator with this number, and of this group's hidden intracommunicator.
    pub fn contexts(&self, number: usize) -> (Context, Context) {
        (self.shared(number), self.mine.hidden.get(number).copied().unwrap_or(Context::NONE))
    }
}

fn bytes_of<Number: Copy + Into<u32>>(numbers: &[Number]) -> Vec<u8> {
    numbers.iter().flat_map(|&number| number.into().to_ne_bytes()).collect()
}

fn numbers_of<Number: From<u32>>(bytes: &[u8]) -> Vec<Number> {
    bytes.as_chunks().0.iter().map(|number| u32::from_ne_bytes(*number).into()).collect()
}

/// An intercommunicator of these groups, and its hidden intracommunicator; MPI_COMM_NULL for who is not
/// in the local group.
pub(super) fn build(
    process: &mut Process,
    parent: MPI_Comm,
    groups: Groups,
    (shared, hidden): (Context, Context),
    kin: Kin,
) -> MpiResult<MPI_Comm> {
    let local = make(process, parent, groups.own.clone(), Kin::default())?;
    let new = make(process, parent, groups.own.clone(), kin)?;
    let (Some(local), Some(new)) = (local, new) else { return Ok(MPI_COMM_NULL) };
    // What happens there is an error of the intercommunicator.
    let local_comm =
        store(process, Some(Communicator { error_handler: MPI_ERRORS_RETURN, ..local }), hidden)?;
    let all = groups.everybody();
    let position = all.member(process.place.rank).unwrap_or_default();
    let local = local_members(process.port.memory(), &all, position)?;
    let on_nic = (groups.side().member(new.rank), all.size());
    let peers = groups.peers;
    let new = Communicator { peer_count: peers.size(), peers, local_comm, on_nic, local, ..new };
    store(process, Some(new), shared)
}

fn check_disjoint(one: &Group, other: &Group, argument: &'static str, class: c_int) -> MpiResult {
    if one.ranks().into_iter().all(|rank| other.member(rank).is_none()) {
        return Ok(());
    }
    let allowed = "the two groups of an intercommunicator must have no process in common";
    Err(MpiError::argument(class, argument, "a group that overlaps the other one", allowed))
}

/// What a leader says to the other one, which is the `peer` there: its group, and the contexts that it takes.
/// Nobody knows before whether all are on one node, so a context that both share is taken for either case, if
/// this leader `takes` it.
fn leading(process: &Process, bridge: Party, peer: CommRank, takes: bool, own: &Group) -> MpiResult<Leading> {
    let take = |reach| contexts::take(process.port.memory(), reach).unwrap_or(Context::NONE);
    let shared = if takes { EITHER.map(take).to_vec() } else { Vec::new() };
    let taken = Taken { shared, hidden: vec![take_context(process, own)?] };
    Ok(Leading { bridge, peer, word: taken.word(&bytes_of(&own.ranks())) })
}

/// Tells two groups that have no communicator of both yet what the other one is, and the contexts that both
/// share and that of the own group's hidden intracommunicator; of the former one is given back. `leading` is
/// none at all but the leader; what is wrong there is told too.
async fn introduce(
    assembly: Assembly,
    own: Group,
    leading: Option<MpiResult<Leading>>,
) -> MpiResult<(Groups, (Context, Context))> {
    let leads = leading.is_some();
    let agreed = AgreedContexts::new(&across(assembly, leading).await?)?;
    let peers = Group::of(numbers_of(&agreed.other));
    let disjoint = check_disjoint(&own, &peers, "local_comm", MPI_ERR_COMM);
    with(|process| {
        if disjoint.is_err() && leads {
            // All members of both groups find that.
            agreed.mine.give_back(process);
        }
        disjoint?;
        let groups = Groups { own, peers };
        let reach = reach_of(process, &groups.everybody())?;
        let number = usize::from(reach != EITHER[0]);
        if let Some(unused) = agreed.mine.shared.get(1 - number).filter(|_| leads) {
            contexts::give_back(process.port.memory(), *unused);
        }
        Ok((groups, (agreed.shared(number), agreed.contexts(0).1)))
    })
}

/// What may become of groups that do not know each other.
const EITHER: [Reach; 2] = [Reach::Here, Reach::Nodes];

/// What the leader of a group says in MPI_Intercomm_create.
fn leading_to(
    process: &Process,
    (peer_comm, remote_leader): (MPI_Comm, c_int),
    tag: c_int,
    group: &Group,
) -> MpiResult<Leading> {
    let communicator = process.communicators.named("peer_comm", peer_comm)?;
    let peer = communicator.member("remote_leader", remote_leader)?;
    let (own, theirs) = (process.place.rank, communicator.job_rank(peer));
    if own == theirs {
        let value = format!("{remote_leader}, which is this process");
        let allowed = "it has to be the leader of the other group";
        return Err(MpiError::argument(MPI_ERR_RANK, "remote_leader", value, allowed));
    }
    let place = (communicator.context.of_collectives(), tag);
    let bridge =
        Party::loose(Primitive::IntercommCreate, place, communicator.rank, communicator.peers.clone());
    leading(process, bridge, peer, own < theirs, group)
}

/// MPI_Intercomm_create.
///
/// # Errors
/// No such intracommunicator, no such leaders, a wrong tag, or groups that overlap; `peer_comm` and
/// `remote_leader` matter at the leader only.
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
    send_tag("tag", tag)?;
    let leading = leads.then(|| leading_to(&process, (peer_comm, remote_leader), tag, &group));
    let party = Party::join(&mut process.communicators, local_comm, call, false)?;
    let what = party.waiting();
    let introduced = introduce(Assembly::of(party, leader), group, leading);
    let (groups, contexts) = drive(&mut process, &what, introduced)?;
    build(&mut process, local_comm, groups, contexts, Kin::default())
}

/// MPI_Intercomm_create_from_groups: only the groups' members call it.
///
/// # Errors
/// No such group, info object or error handler, a local group without this process, no such leaders,
/// groups that overlap, or a tag that is too long; `remote_leader` matters at the leader only.
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
    let rank = own_rank(&process, "local_group", &group)?;
    let leader = group::member("local_leader", local_leader, &group)?;
    check_disjoint(&group, &remote, "remote_group", MPI_ERR_GROUP)?;
    // The new communicator's reference, taken before the others are told anything.
    retain_for(MPI_COMM_SELF.into(), errhandler)?;
    let leading = || {
        let peer = remote.job_rank(group::member("remote_leader", remote_leader, &remote)?);
        let takes = own < peer;
        let groups = if takes { [&group, &remote] } else { [&remote, &group] };
        let place = (BETWEEN_GROUPS, tag_of(call, stringtag, &groups));
        let bridge = party_of_job(&process, call, place);
        leading(&process, bridge, CommRank(peer.0), takes, &group)
    };
    let leading = (rank == leader).then(leading);
    let place = (NO_PARENT, tag_of(call, stringtag, &[&group]));
    let party = party_of_job(&process, call, place);
    let what = party.waiting();
    let assembly = Assembly { party, group: group.clone(), leader };
    let introduced = introduce(assembly, group.clone(), leading);
    let made = drive(&mut process, &what, introduced).and_then(|(told, contexts)| {
        let is_as_told = told.peers.ranks() == remote.ranks();
        let kin = Kin { hints, ..Kin::default() };
        let new = build(&mut process, MPI_COMM_SELF, told, contexts, kin)?;
        if is_as_told {
            return Ok(new);
        }
        // Others of the group may have been told the right one, and have the communicator: it is over
        // when they have left it too.
        remove(&mut process, new)?;
        let value = format!("a group of {}", remote.size());
        let allowed = "it has to be what the other group calls its local group";
        Err(MpiError::argument(MPI_ERR_GROUP, "remote_group", value, allowed))
    });
    let new = made.or_else(|error| release(errhandler).and(Err(error)))?;
    let communicator = process.communicator_mut(new)?;
    let inherited = std::mem::replace(&mut communicator.error_handler, errhandler);
    communicator.error_handler_was_set = true;
    release(inherited)?;
    tell_of_new(&mut process, call, new)?;
    Ok(new)
}

/// Tells the NIC that this process makes something of an intercommunicator, so that members who call what
/// does not fit are found. Comes first in the call.
pub(super) fn announce(process: &mut Guard, call: Primitive, comm: MPI_Comm) -> MpiResult {
    let party = Party::join(&mut process.communicators, comm, call, false)?;
    party.announce_in(process, &Arrival::board(NO_ROOT, (0, 0), 0))
}

/// Has rank 0s of both groups exchange words, and all members told. `word` makes that of rank 0, and is
/// told whether it takes what both groups share. Answers what a hang report says of the wait, too.
fn conversation<WORD: FnOnce(&Process, bool) -> MpiResult<Vec<u8>>>(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    word: WORD,
) -> MpiResult<(WaitingFor, impl Future<Output = MpiResult<Words>> + use<WORD>)> {
    let communicator = process.intercommunicator("comm", comm)?;
    let (local_comm, leads, side) =
        (communicator.local_comm, communicator.rank == CommRank(0), communicator.side());
    let bridge = Party::join(&mut process.communicators, comm, call, false)?;
    let local = Party::join(&mut process.communicators, local_comm, call, false)?;
    let what = bridge.waiting();
    let leading =
        leads.then(|| Ok(Leading { bridge, peer: CommRank(0), word: word(process, side == Side::First)? }));
    Ok((what, across(Assembly::of(local, CommRank(0)), leading)))
}

/// What rank 0s of both groups say.
pub(super) fn exchange(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    says: &[u8],
) -> MpiResult<Words> {
    let (what, words) = conversation(process, call, comm, |_, _| Ok(says.to_vec()))?;
    drive(process, &what, words)
}

/// Contexts for intercommunicators of these groups, which are members of one.
pub(super) fn take_contexts(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    made: &[Groups],
) -> MpiResult<AgreedContexts> {
    let word = |process: &Process, takes| Ok(Taken::of(process, takes, made)?.word(&[]));
    let (what, words) = conversation(process, call, comm, word)?;
    AgreedContexts::new(&drive(process, &what, words)?)
}

/// MPI_Comm_dup of an intercommunicator.
pub(super) fn dup(process: &mut Guard, call: Primitive, comm: MPI_Comm, kin: Kin) -> MpiResult<MPI_Comm> {
    announce(process, call, comm)?;
    let groups = Groups::of(process, comm)?;
    let agreed = take_contexts(process, call, comm, std::slice::from_ref(&groups))?;
    build(process, comm, groups, agreed.contexts(0), kin)
}

/// MPI_Comm_idup of an intercommunicator: the duplicate gets its contexts when the words have been exchanged.
pub(super) fn idup(process: &mut Guard, call: Primitive, comm: MPI_Comm, kin: Kin) -> MpiResult<Duplication> {
    announce(process, call, comm)?;
    let groups = Groups::of(process, comm)?;
    let new = build(process, comm, groups.clone(), (Context::NONE, Context::NONE), kin)?;
    let word = move |process: &Process, takes| Ok(Taken::of(process, takes, &[groups])?.word(&[]));
    let (what, words) = conversation(process, call, comm, word)?;
    let future = Box::pin(async move {
        let agreed = AgreedContexts::new(&words.await?)?;
        with(|process| {
            let (shared, hidden) = agreed.contexts(0);
            let local_comm = process.communicator(new)?.local_comm;
            process.set_context(local_comm, hidden)?;
            process.set_context(new, shared)?;
            tell_of_new(process, call, new)
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
    let local_comm = process.intercommunicator("intercomm", comm)?.local_comm;
    announce(&mut process, call, comm)?;
    let groups = Groups::of(&process, comm)?;
    let said = gather_all(&mut process, call, local_comm, [u8::from(high)])?;
    let says = if said.iter().all(|of| *of == said[0]) { said[0][0] } else { SAY_BOTH };
    let word = |process: &Process, takes: bool| {
        let context = takes.then(|| take_context(process, &groups.everybody())).transpose()?;
        Ok(Taken { shared: context.into_iter().collect(), ..Taken::default() }.word(&[says]))
    };
    let (what, words) = conversation(&mut process, call, comm, word)?;
    let agreed = AgreedContexts::new(&drive(&mut process, &what, words)?)?;
    let first = match (says, agreed.other.first()) {
        (SAY_LOW, Some(&SAY_HIGH)) => Side::First,
        (SAY_HIGH, Some(&SAY_LOW)) => Side::Second,
        (SAY_LOW, Some(&SAY_LOW)) | (SAY_HIGH, Some(&SAY_HIGH)) => groups.side(),
        _ => {
            // All members of both groups find that.
            if process.communicator(comm)?.rank == CommRank(0) {
                agreed.mine.give_back(&process);
            }
            let allowed = "all members of a group have to say the same";
            return Err(MpiError::argument(MPI_ERR_ARG, "high", i32::from(high), allowed));
        }
    };
    let all = both(first, &groups.own, &groups.peers);
    let new = make(&process, comm, all, Kin::default())?;
    store(&mut process, new, agreed.shared(0))
}

/// MPI_Comm_create on an intercommunicator.
pub(super) fn create_of(process: &mut Guard, comm: MPI_Comm, group: MPI_Group) -> MpiResult<MPI_Comm> {
    let (call, own) = (Primitive::CommCreate, subgroup(process, comm, group)?);
    announce(process, call, comm)?;
    let words = exchange(process, call, comm, &bytes_of(&own.ranks()))?;
    let groups =
        Groups { own: Group::of(numbers_of(&words.own)), peers: Group::of(numbers_of(&words.other)) };
    let made = (groups.own.size() > 0 && groups.peers.size() > 0).then_some(groups);
    let agreed = take_contexts(process, call, comm, made.as_slice())?;
    if own.size() > 0 && words.own != bytes_of(&own.ranks()) {
        let value = format!("a group of {}, not the one that rank 0 gives", own.size());
        let allowed = "all members of a group of an intercommunicator have to give the same";
        return Err(MpiError::argument(MPI_ERR_GROUP, "group", value, allowed));
    }
    match made {
        Some(groups) if own.size() > 0 => build(process, comm, groups, agreed.contexts(0), Kin::default()),
        _ => Ok(MPI_COMM_NULL),
    }
}
