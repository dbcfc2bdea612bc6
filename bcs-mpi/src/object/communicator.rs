//! Communicators: a group with a context of its own (MPI-5.0, chapter 7).
//!
//! A context is an even number for point-to-point traffic; the next odd one is for collectives, so the
//! two never meet. Every collective of a communicator has a number that its members count alike. Where
//! contexts come from, and when they come back, is in `nic_emu::contexts`.
//!
//! An intercommunicator has a second group, of the peers that messages go to and come from; on an
//! intracommunicator these are the members. Both groups share its context. For what the local group does
//! together, it has a hidden intracommunicator.

use super::attributes::Attributes;
use super::contexts::Contexts;
use super::group::Group;
use super::hints::Hints;
use super::history::History;
use super::partitioned::Partitioned;
use super::topology::wiring::Wiring;
use super::topology::{Neighbours, Topology};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use bcs_core::Rank;
use nic_emu::contexts::Context;
use nic_emu::memory::numbers::CommRank;
use nic_emu::root::{Side, SidedRank};
use std::ffi::c_int;
use std::sync::Arc;

/// A communicator.
#[derive(Debug)]
pub struct Communicator {
    /// Its context, an even number.
    pub context: Context,
    /// This process's rank.
    pub rank: CommRank,
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
    /// intercommunicator, the members of both groups.
    pub on_nic: (SidedRank, u32),
    /// Position among those of these that are on this node, and their number.
    pub local: (u16, u16),
    /// Collectives so far.
    pub sequence: u32,
    /// What this member has announced since all members last met on the NIC to compare it.
    pub history: History,
    /// The context of the collectives of what this is made in: of a duplicate that a persistent request
    /// has for itself, that of what it is a duplicate of; of a hidden intracommunicator, that of the
    /// intercommunicator. If that is broken, so is this.
    pub made_in: Option<Context>,
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
    /// Partitioned operations that were initialised here.
    pub partitioned: Partitioned,
    /// Every collective operation that is under way here has a clone of this, and every partitioned one.
    pub in_use: Arc<()>,
}

impl Communicator {
    /// One of this group in which this process has this rank and this place on its node, with nothing else:
    /// without a context, too.
    pub(crate) fn new(group: Group, rank: CommRank, local: (u16, u16)) -> Self {
        Self {
            context: Context::NONE,
            rank,
            size: group.size(),
            peers: group.clone(),
            peer_count: group.size(),
            local_comm: MPI_COMM_NULL,
            name: String::new(),
            error_handler: MPI_ERRORS_ARE_FATAL,
            error_handler_was_set: false,
            on_nic: (rank.into(), group.size()),
            local,
            sequence: 0,
            history: History::default(),
            made_in: None,
            attributes: Attributes::default(),
            topology: None,
            neighbours: None,
            wiring: Wiring::Unmade,
            hints: Hints::default(),
            session: MPI_SESSION_NULL,
            partitioned: Partitioned::default(),
            in_use: Arc::default(),
            group,
        }
    }

    /// Counts one more collective: answers its number.
    #[inline]
    pub(crate) fn next_sequence(&mut self) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        sequence
    }

    /// The member that chooses in its next collective, if that is about a choice.
    pub fn chooser(&self) -> CommRank {
        CommRank(self.sequence % self.size)
    }

    /// What messages call it.
    pub fn title(&self) -> String {
        if self.name.is_empty() { format!("communicator {}", self.context) } else { self.name.clone() }
    }

    /// The error of an argument that is none of its peers' ranks, nor what is `also` allowed.
    #[cold]
    pub(crate) fn wrong_rank(&self, argument: &'static str, value: c_int, also: &'static str) -> MpiError {
        let comm =
            if self.is_inter() { format!("the remote group of {}", self.title()) } else { self.title() };
        MpiError::new(Problem::Rank { argument, value, comm, size: self.peer_count, also })
    }

    /// The error of a call about a topology that this has not.
    #[cold]
    pub(crate) fn wrong_topology(&self, wanted: &str) -> MpiError {
        let has = self.topology.as_ref().map_or("no topology", |of| of.about().1);
        let value = format!("{}, which has {has}", self.title());
        MpiError::argument(MPI_ERR_TOPOLOGY, "comm", value, format!("it has to be one with {wanted}"))
    }

    /// The neighbours of this process in neighbourhood collectives.
    ///
    /// # Errors
    /// There is no topology.
    pub fn neighbours(&self) -> MpiResult<Arc<Neighbours>> {
        self.neighbours.clone().ok_or_else(|| self.wrong_topology("a topology"))
    }

    /// Whether errors of it end the job.
    pub fn errors_are_fatal(&self) -> bool {
        [MPI_ERRORS_ARE_FATAL, MPI_ERRORS_ABORT].contains(&self.error_handler)
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
        Contexts { own: self.context.of_collectives(), above: [self.made_in, None] }
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
    pub fn peer(&self, argument: &'static str, value: c_int) -> MpiResult<Option<CommRank>> {
        if (value as u32) < self.peer_count {
            return Ok(Some(CommRank(value as u32)));
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
    pub fn source(&self, value: c_int) -> MpiResult<Option<CommRank>> {
        if (value as u32) < self.peer_count {
            return Ok(Some(CommRank(value as u32)));
        }
        match value {
            MPI_ANY_SOURCE => Ok(Some(CommRank::ANY_SOURCE)),
            MPI_PROC_NULL => Ok(None),
            _ => Err(self.wrong_rank("source", value, " (or MPI_ANY_SOURCE, MPI_PROC_NULL)")),
        }
    }

    /// The rank among the peers that an argument names, which has to be one.
    ///
    /// # Errors
    /// Another rank than peers have.
    #[inline]
    pub fn member(&self, argument: &'static str, value: c_int) -> MpiResult<CommRank> {
        if (value as u32) < self.peer_count {
            Ok(CommRank(value as u32))
        } else {
            Err(self.wrong_rank(argument, value, ""))
        }
    }

    /// A peer's rank in the job.
    #[inline]
    pub fn job_rank(&self, peer: CommRank) -> Rank {
        self.peers.job_rank(peer)
    }
}

/// Which of an intercommunicator's groups the own one is.
pub(crate) fn side_of(own: &Group, peers: &Group) -> Side {
    if own.job_rank(CommRank(0)) < peers.job_rank(CommRank(0)) { Side::First } else { Side::Second }
}

/// The members of two groups, of which the own one is on this side: the first ones first.
pub(crate) fn both(side: Side, own: &Group, peers: &Group) -> Group {
    let [first, second] = match side {
        Side::First => [own, peers],
        Side::Second => [peers, own],
    };
    Group::of([first.ranks(), second.ranks()].concat())
}
