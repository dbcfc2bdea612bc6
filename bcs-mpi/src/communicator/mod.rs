//! Communicators: a group with a context of its own (MPI-5.0, chapter 7).
//!
//! A context is an even number for point-to-point traffic; the next odd one is for collectives, so the
//! two never meet. Every collective of a communicator has a number that its members count alike. Where
//! contexts come from, and when they come back, is in `nic_emu::contexts`.
//!
//! An intercommunicator has a second group, of the peers that messages go to and come from; on an
//! intracommunicator these are the members. Both groups share its context. For what the local group does
//! together, it has a hidden intracommunicator.

mod attributes;
pub mod by_group;
pub mod create;
pub mod hints;
pub mod idup;
pub mod inter;
mod leaders;
pub mod meeting;
pub mod split;

pub use meeting::{Arrival, arrive, meet, released};

use crate::attributes::{Attributes, Keys};
use crate::constants::*;
use crate::environment::error_handlers;
use crate::error::{MpiError, MpiResult, Problem};
use crate::group::Group;
use crate::handle::{Kind, Stale, Table};
use crate::process::{self, Process};
use crate::progress::contexts::Contexts;
use crate::topology::Topology;
use crate::topology::neighbours::Neighbours;
use crate::topology::wiring::Wiring;
use hints::Hints;
use nic_emu::hang::{WORLD_CONTEXT, self_context};
use nic_emu::memory::NicMemory;
use nic_emu::port::PortError;
use nic_emu::root::Side;
use std::ffi::c_int;
use std::sync::Arc;

/// A communicator.
#[derive(Debug)]
pub struct Communicator {
    /// Its context, an even number.
    pub context: u32,
    /// This process's rank.
    pub rank: u32,
    /// Ranks.
    pub size: u32,
    /// Its group.
    pub group: Group,
    /// Whom messages go to and come from: the remote group of an intercommunicator, else its group.
    pub peers: Group,
    /// How many these are.
    pub peer_count: u32,
    /// The hidden intracommunicator of an intercommunicator's local group; MPI_COMM_NULL on an
    /// intracommunicator.
    pub local_comm: MPI_Comm,
    /// Its name; empty when it has none.
    pub name: String,
    /// Its error handler.
    pub error_handler: MPI_Errhandler,
    /// Whether the program has chosen that.
    pub error_handler_was_set: bool,
    /// What the NIC calls this process, and how many take part in what it does for all: of an
    /// intercommunicator, its rank with its group ([`nic_emu::root`]), and the members of both groups.
    pub on_nic: (u32, u32),
    /// Position among those of these that are on this node, and their number.
    pub local: (u16, u16),
    /// Collectives so far.
    pub sequence: u32,
    /// The context of the collectives of what this is made in: of a duplicate that a persistent request
    /// has for itself, that of what it is a duplicate of; of a hidden intracommunicator, that of the
    /// intercommunicator. If that is broken, so is this.
    pub made_in: Option<u32>,
    /// Attributes.
    pub attributes: Attributes,
    /// Its topology, if it has one.
    pub topology: Option<Topology>,
    /// This process's neighbours in that.
    pub neighbours: Option<Arc<Neighbours>>,
    /// The edges to them in NIC memory.
    pub wiring: Wiring,
    /// The hints that the program gave.
    pub hints: Hints,
    /// The session that it comes from, by its group or its parent; MPI_SESSION_NULL if none.
    pub session: MPI_Session,
    /// Every collective operation that is under way here has a clone of this.
    pub in_use: Arc<()>,
}

impl Communicator {
    /// One of this group in which this process has this rank and this place on its node, with nothing else:
    /// without a context, too.
    fn new(group: Group, rank: u32, local: (u16, u16)) -> Self {
        Self {
            context: create::NO_CONTEXT,
            rank,
            size: group.size(),
            peers: group.clone(),
            peer_count: group.size(),
            local_comm: MPI_COMM_NULL,
            name: String::new(),
            error_handler: MPI_ERRORS_ARE_FATAL,
            error_handler_was_set: false,
            on_nic: (rank, group.size()),
            local,
            sequence: 0,
            made_in: None,
            attributes: Attributes::default(),
            topology: None,
            neighbours: None,
            wiring: Wiring::Unmade,
            hints: Hints::default(),
            session: MPI_SESSION_NULL,
            in_use: Arc::default(),
            group,
        }
    }

    /// The member that chooses in its next collective, if that is about a choice.
    pub fn chooser(&self) -> u32 {
        self.sequence % self.size
    }

    /// What messages call it.
    pub fn title(&self) -> String {
        if self.name.is_empty() { format!("communicator {}", self.context) } else { self.name.clone() }
    }

    #[cold]
    fn wrong_rank(&self, argument: &'static str, value: c_int, also: &'static str) -> MpiError {
        let comm =
            if self.is_inter() { format!("the remote group of {}", self.title()) } else { self.title() };
        MpiError::new(Problem::Rank { argument, value, comm, size: self.peer_count, also })
    }

    /// Whether it has a remote group.
    #[inline]
    pub fn is_inter(&self) -> bool {
        self.local_comm != MPI_COMM_NULL
    }

    /// Whether members are on several nodes.
    #[inline]
    pub fn spans_nodes(&self) -> bool {
        self.local.1 as u32 != self.on_nic.1
    }

    /// Whether collective operations of it are under way in this process.
    pub(crate) fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.in_use) > 1
    }

    /// The contexts of its collectives, and of those of what it was made in.
    pub(crate) fn contexts(&self) -> Contexts {
        Contexts { own: self.context + 1, above: [self.made_in, None] }
    }

    /// Which of an intercommunicator's groups is this process's.
    pub fn side(&self) -> Side {
        side_of(&self.group, &self.peers)
    }

    /// All members: of an intercommunicator, those of the first group, then those of the second one.
    pub fn everybody(&self) -> Group {
        if !self.is_inter() {
            return self.group.clone();
        }
        both(self.side(), &self.group, &self.peers)
    }

    /// The peer that an argument names; none for MPI_PROC_NULL.
    ///
    /// # Errors
    /// Another rank than peers have.
    #[inline]
    pub fn peer(&self, argument: &'static str, value: c_int) -> MpiResult<Option<u32>> {
        if (value as u32) < self.peer_count {
            return Ok(Some(value as u32));
        }
        if value == MPI_PROC_NULL {
            return Ok(None);
        }
        Err(self.wrong_rank(argument, value, " (or MPI_PROC_NULL)"))
    }

    /// The source that an argument names: a rank or `ANY_SOURCE` of the NIC; none for MPI_PROC_NULL.
    ///
    /// # Errors
    /// Another rank than peers have.
    #[inline]
    pub fn source(&self, value: c_int) -> MpiResult<Option<u32>> {
        if (value as u32) < self.peer_count {
            return Ok(Some(value as u32));
        }
        match value {
            MPI_ANY_SOURCE => Ok(Some(nic_emu::descriptor::ANY_SOURCE)),
            MPI_PROC_NULL => Ok(None),
            _ => Err(self.wrong_rank("source", value, " (or MPI_ANY_SOURCE, MPI_PROC_NULL)")),
        }
    }

    /// The root that an argument names, on an intracommunicator.
    ///
    /// # Errors
    /// Another rank than the communicator has.
    #[inline]
    pub fn root(&self, value: c_int) -> MpiResult<u32> {
        self.member("root", value)
    }

    /// The rank among the peers that an argument names, which has to be one.
    ///
    /// # Errors
    /// Another rank than peers have.
    #[inline]
    pub fn member(&self, argument: &'static str, value: c_int) -> MpiResult<u32> {
        if (value as u32) < self.peer_count {
            Ok(value as u32)
        } else {
            Err(self.wrong_rank(argument, value, ""))
        }
    }

    /// A peer's rank in the job.
    #[inline]
    pub fn job_rank(&self, peer: u32) -> u32 {
        self.peers.job_rank(peer)
    }
}

/// Which of an intercommunicator's groups the own one is.
pub(crate) fn side_of(own: &Group, peers: &Group) -> Side {
    if own.job_rank(0) < peers.job_rank(0) { Side::First } else { Side::Second }
}

/// The members of two groups, of which the own one is on this side: the first ones first.
pub(crate) fn both(side: Side, own: &Group, peers: &Group) -> Group {
    let [first, second] = match side {
        Side::First => [own, peers],
        Side::Second => [peers, own],
    };
    Group::of([first.ranks(), second.ranks()].concat())
}

/// The communicators of this process.
pub struct Communicators {
    world: Communicator,
    /// MPI_COMM_SELF, also where programs have none.
    pub(crate) own: Communicator,
    /// Those that are made.
    pub(crate) table: Table<Communicator>,
    /// The error handlers of freed communicators that requests are still of.
    freed: Vec<(MPI_Comm, MPI_Errhandler)>,
    /// Whether there are MPI_COMM_WORLD and MPI_COMM_SELF: between MPI_Init and MPI_Finalize, and not for
    /// sessions alone.
    pub(crate) has_world: bool,
    /// Attribute keys.
    pub keys: Keys,
}

impl Communicators {
    /// MPI_COMM_WORLD and MPI_COMM_SELF of a rank of a job.
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn of_job(rank: u32, size: u32, memory: &NicMemory) -> Result<Self, PortError> {
        let all = Group::Range { first: 0, size };
        let alone = Group::Range { first: rank, size: 1 };
        let local = create::local_members(memory, &all, rank)?;
        create::register_nodes(memory, &all, local.1, WORLD_CONTEXT)?;
        Ok(Self {
            world: Communicator {
                context: WORLD_CONTEXT,
                name: "MPI_COMM_WORLD".into(),
                ..Communicator::new(all, rank, local)
            },
            own: Communicator {
                context: self_context(rank),
                name: "MPI_COMM_SELF".into(),
                ..Communicator::new(alone, 0, (0, 1))
            },
            table: Table::new(Kind::Communicator),
            freed: Vec::new(),
            has_world: false,
            keys: Keys::of_kind(0),
        })
    }

    /// The communicator of a handle.
    ///
    /// # Errors
    /// [`Stale`] when it names none.
    #[inline]
    pub fn get(&self, handle: MPI_Comm) -> Result<&Communicator, Stale> {
        match handle {
            MPI_COMM_WORLD | MPI_COMM_SELF if !self.has_world => Err(Stale::NoWorld),
            MPI_COMM_WORLD => Ok(&self.world),
            MPI_COMM_SELF => Ok(&self.own),
            MPI_COMM_NULL => Err(Stale::Null),
            other => self.table.get(other.0),
        }
    }

    /// The communicator of a handle, to be changed.
    ///
    /// # Errors
    /// [`Stale`] when it names none.
    #[inline]
    pub fn get_mut(&mut self, handle: MPI_Comm) -> Result<&mut Communicator, Stale> {
        match handle {
            MPI_COMM_WORLD | MPI_COMM_SELF if !self.has_world => Err(Stale::NoWorld),
            MPI_COMM_WORLD => Ok(&mut self.world),
            MPI_COMM_SELF => Ok(&mut self.own),
            MPI_COMM_NULL => Err(Stale::Null),
            other => self.table.get_mut(other.0),
        }
    }

    /// Keeps the error handler of a communicator that is freed as long as there are requests of it.
    ///
    /// # Errors
    /// There is no such error handler.
    fn keep_handler(
        &mut self,
        comm: MPI_Comm,
        handler: MPI_Errhandler,
        has_requests: impl Fn(MPI_Comm) -> bool,
    ) -> MpiResult {
        for (_, handler) in self.freed.extract_if(.., |(comm, _)| !has_requests(*comm)) {
            error_handlers::release(handler)?;
        }
        if has_requests(comm) {
            error_handlers::retain(handler)?;
            self.freed.push((comm, handler));
        }
        Ok(())
    }

    /// The error handler of a communicator, also of one that is freed and has requests.
    pub(crate) fn error_handler(&self, comm: MPI_Comm) -> Option<MPI_Errhandler> {
        let kept = || self.freed.iter().find(|(freed, _)| *freed == comm).map(|(_, handler)| *handler);
        self.get(comm).map_or_else(|_| kept(), |communicator| Some(communicator.error_handler))
    }

    pub(crate) fn insert(&mut self, communicator: Communicator) -> MPI_Comm {
        MPI_Comm(self.table.insert(communicator))
    }

    pub(crate) fn remove(&mut self, handle: MPI_Comm) -> Result<Communicator, Stale> {
        self.table.remove(handle.0)
    }
}

impl Process {
    /// The communicator of an argument `comm`.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn communicator(&self, handle: MPI_Comm) -> MpiResult<&Communicator> {
        self.communicator_of("comm", handle)
    }

    /// The communicator of an argument of this name.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn communicator_of(&self, argument: &'static str, handle: MPI_Comm) -> MpiResult<&Communicator> {
        match self.communicators.get(handle) {
            Ok(communicator) => Ok(communicator),
            Err(why) => Err(wrong_communicator(argument, handle, why)),
        }
    }

    /// The communicator of an argument `comm`, to be changed.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn communicator_mut(&mut self, handle: MPI_Comm) -> MpiResult<&mut Communicator> {
        match self.communicators.get_mut(handle) {
            Ok(communicator) => Ok(communicator),
            Err(why) => Err(wrong_communicator("comm", handle, why)),
        }
    }

    /// The communicator of an argument of this name, which has to be an intracommunicator.
    ///
    /// # Errors
    /// It names none, or an intercommunicator.
    pub fn intracommunicator(&self, argument: &'static str, handle: MPI_Comm) -> MpiResult<&Communicator> {
        self.of_kind(false, argument, handle)
    }

    /// The communicator of an argument of this name, which has to be an intercommunicator.
    ///
    /// # Errors
    /// It names none, or an intracommunicator.
    pub fn intercommunicator(&self, argument: &'static str, handle: MPI_Comm) -> MpiResult<&Communicator> {
        self.of_kind(true, argument, handle)
    }

    fn of_kind(&self, inter: bool, argument: &'static str, handle: MPI_Comm) -> MpiResult<&Communicator> {
        let communicator = self.communicator_of(argument, handle)?;
        if communicator.is_inter() == inter {
            Ok(communicator)
        } else {
            Err(wrong_kind(argument, communicator))
        }
    }
}

#[cold]
fn wrong_kind(argument: &'static str, communicator: &Communicator) -> MpiError {
    let (is, has_to_be) = match communicator.is_inter() {
        true => ("an intercommunicator", "an intracommunicator"),
        false => ("an intracommunicator", "an intercommunicator"),
    };
    let value = format!("{}, {is}", communicator.title());
    MpiError::argument(MPI_ERR_COMM, argument, value, format!("it has to be {has_to_be}"))
}

#[cold]
fn wrong_communicator(argument: &'static str, handle: MPI_Comm, why: Stale) -> MpiError {
    MpiError::handle(argument, handle.0, Kind::Communicator, why)
}

/// MPI_Comm_rank.
///
/// # Errors
/// No such communicator.
#[inline]
pub fn rank(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(process::enter()?.communicator(comm)?.rank as c_int)
}

/// MPI_Comm_size.
///
/// # Errors
/// No such communicator.
#[inline]
pub fn size(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(process::enter()?.communicator(comm)?.size as c_int)
}

/// MPI_Comm_test_inter.
///
/// # Errors
/// No such communicator.
pub fn is_inter(comm: MPI_Comm) -> MpiResult<bool> {
    Ok(process::enter()?.communicator(comm)?.is_inter())
}

/// MPI_Comm_remote_size.
///
/// # Errors
/// No such communicator, or an intracommunicator.
pub fn remote_size(comm: MPI_Comm) -> MpiResult<c_int> {
    Ok(process::enter()?.intercommunicator("comm", comm)?.peer_count as c_int)
}

/// MPI_Comm_remote_group.
///
/// # Errors
/// No such communicator, or an intracommunicator.
pub fn remote_group(comm: MPI_Comm) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let group = process.intercommunicator("comm", comm)?.peers.clone();
    Ok(crate::group::store(&mut process, group, MPI_SESSION_NULL))
}

/// MPI_Comm_group.
///
/// # Errors
/// No such communicator.
pub fn group(comm: MPI_Comm) -> MpiResult<MPI_Group> {
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let (group, session) = (communicator.group.clone(), communicator.session);
    Ok(crate::group::store(&mut process, group, session))
}

/// MPI_Comm_compare.
///
/// # Errors
/// No such communicators.
pub fn compare(first: MPI_Comm, second: MPI_Comm) -> MpiResult<c_int> {
    let process = process::enter()?;
    let (one, other) = (process.communicator_of("comm1", first)?, process.communicator_of("comm2", second)?);
    let local = one.group.compare(&other.group);
    let remote = if one.is_inter() { one.peers.compare(&other.peers) } else { local };
    Ok(match (local, remote) {
        _ if one.is_inter() != other.is_inter() => MPI_UNEQUAL,
        (MPI_IDENT, MPI_IDENT) if first == second => MPI_IDENT,
        (MPI_IDENT, MPI_IDENT) => MPI_CONGRUENT,
        (MPI_UNEQUAL, _) | (_, MPI_UNEQUAL) => MPI_UNEQUAL,
        _ => MPI_SIMILAR,
    })
}

/// MPI_Comm_get_name.
///
/// # Errors
/// No such communicator.
pub fn get_name(comm: MPI_Comm) -> MpiResult<String> {
    let process = process::enter()?;
    if comm == MPI_COMM_NULL {
        // Allowed since MPI-4.1 (§7.8): the null handle has a name.
        return Ok("MPI_COMM_NULL".into());
    }
    Ok(process.communicator(comm)?.name.clone())
}

/// MPI_Comm_set_name; what does not fit in MPI_MAX_OBJECT_NAME is cut off.
///
/// # Errors
/// No such communicator.
pub fn set_name(comm: MPI_Comm, name: String) -> MpiResult {
    let mut process = process::enter()?;
    process.communicator_mut(comm)?.name = name;
    Ok(())
}
