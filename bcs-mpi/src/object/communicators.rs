//! The communicators of a process.

use super::attributes::Keys;
use super::communicator::Communicator;
use super::group::Group;
use super::wanted::Wanted;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::handle::Table;
use crate::kind::{Kind, Stale};
use crate::object::error_handler::{release, retain};
use bcs_core::Rank;
use nic_emu::contexts::{self, Context};
use nic_emu::hang::{WORLD_CONTEXT, self_context};
use nic_emu::memory::NicMemory;
use nic_emu::memory::groups;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::PortError;

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
    /// Algorithms of collectives that the user wants.
    pub(crate) wanted: Wanted,
}

impl Communicators {
    /// MPI_COMM_WORLD and MPI_COMM_SELF of a rank of a job, whose user wants these algorithms.
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn of_job(rank: Rank, size: u32, memory: &NicMemory, wanted: Wanted) -> Result<Self, PortError> {
        let all = Group::Range { first: Rank(0), size };
        let alone = Group::Range { first: rank, size: 1 };
        // Of all, members have the numbers of the job.
        let member = CommRank(rank.0);
        let local = local_members(memory, &all, member)?;
        register_nodes(memory, &all, local.1, WORLD_CONTEXT)?;
        Ok(Self {
            world: Communicator {
                context: WORLD_CONTEXT,
                name: "MPI_COMM_WORLD".into(),
                ..Communicator::new(all, member, local)
            },
            own: Communicator {
                context: self_context(rank),
                name: "MPI_COMM_SELF".into(),
                ..Communicator::new(alone, CommRank(0), (0, 1))
            },
            table: Table::new(Kind::Communicator),
            freed: Vec::new(),
            has_world: false,
            keys: Keys::of_kind(0),
            wanted,
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
            other => self.table.get(other.0),
        }
    }

    /// Keeps the error handler of a communicator that is freed as long as there are requests of it.
    ///
    /// # Errors
    /// There is no such error handler.
    pub(crate) fn keep_handler(
        &mut self,
        comm: MPI_Comm,
        handler: MPI_Errhandler,
        has_requests: impl Fn(MPI_Comm) -> bool,
    ) -> MpiResult {
        for (_, handler) in self.freed.extract_if(.., |(comm, _)| !has_requests(*comm)) {
            release(handler)?;
        }
        if has_requests(comm) {
            retain(handler)?;
            self.freed.push((comm, handler));
        }
        Ok(())
    }

    /// The error handler of a communicator, also of one that is freed and has requests.
    pub(crate) fn error_handler(&self, comm: MPI_Comm) -> Option<MPI_Errhandler> {
        let kept = || self.freed.iter().find(|(freed, _)| *freed == comm).map(|(_, handler)| *handler);
        self.get(comm).map_or_else(|_| kept(), |communicator| Some(communicator.error_handler))
    }

    /// The session that a communicator comes from; MPI_SESSION_NULL if none, and for one that is freed, which
    /// a persistent send outlives.
    pub(crate) fn session_of(&self, comm: MPI_Comm) -> MPI_Session {
        self.get(comm).map_or(MPI_SESSION_NULL, |communicator| communicator.session)
    }

    /// The communicator of an argument of this name.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn named(&self, argument: &'static str, handle: MPI_Comm) -> MpiResult<&Communicator> {
        self.get(handle).map_err(|why| wrong_communicator(argument, handle, why))
    }

    /// The communicator of an argument `comm`, to be changed.
    ///
    /// # Errors
    /// It names none.
    #[inline]
    pub fn named_mut(&mut self, handle: MPI_Comm) -> MpiResult<&mut Communicator> {
        let found = match handle {
            MPI_COMM_WORLD | MPI_COMM_SELF if !self.has_world => Err(Stale::NoWorld),
            MPI_COMM_WORLD => Ok(&mut self.world),
            MPI_COMM_SELF => Ok(&mut self.own),
            other => self.table.get_mut(other.0),
        };
        found.map_err(|why| wrong_communicator("comm", handle, why))
    }

    /// The communicator of an argument of this name, which has to be an intercommunicator if `inter`, else an
    /// intracommunicator.
    ///
    /// # Errors
    /// It names none, or one of the other kind.
    pub(crate) fn of_kind(
        &self,
        inter: bool,
        argument: &'static str,
        handle: MPI_Comm,
    ) -> MpiResult<&Communicator> {
        let communicator = self.named(argument, handle)?;
        if communicator.is_inter() == inter {
            return Ok(communicator);
        }
        let kinds = ["an intracommunicator", "an intercommunicator"];
        let value = format!("{}, {}", communicator.title(), kinds[usize::from(!inter)]);
        let allowed = format!("it has to be {}", kinds[usize::from(inter)]);
        Err(MpiError::argument(MPI_ERR_COMM, argument, value, allowed))
    }
}

/// Position among the members of a group that are on this node, and their number.
pub(crate) fn local_members(
    memory: &NicMemory,
    group: &Group,
    rank: CommRank,
) -> Result<(u16, u16), PortError> {
    let mut local = (0, 0);
    for member in CommRank::all(group.size()) {
        if memory.local_rank(group.job_rank(member))?.is_some() {
            local.0 += (member < rank) as u16;
            local.1 += 1;
        }
    }
    Ok(local)
}

/// Tells the NIC on which nodes the members of a group are, of whom `here` are on this one, for the
/// collectives of the communicator with this context.
pub(crate) fn register_nodes(
    memory: &NicMemory,
    group: &Group,
    here: u16,
    context: Context,
) -> Result<(), PortError> {
    if (here as u32) < group.size() && contexts::has_slot(memory, context) {
        groups::register(memory, context.of_collectives(), group.ranks())?;
    }
    Ok(())
}

#[cold]
pub(crate) fn wrong_communicator(argument: &'static str, handle: MPI_Comm, why: Stale) -> MpiError {
    MpiError::handle(argument, handle.0, Kind::Communicator, why)
}
