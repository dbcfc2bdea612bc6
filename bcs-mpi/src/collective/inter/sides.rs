//! A member in one collective operation of an intercommunicator.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::Communicator;
use crate::object::communicators::Communicators;
use crate::progress::{Arrival, Joins, Party, Plan};
use mds::Primitive;
use nic_emu::both_ways::BothWays;
use nic_emu::memory::numbers::CommRank;
use nic_emu::root::{BOTH_WAYS, Side};
use nic_emu::status::WaitingFor;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

/// A member in one collective operation of an intercommunicator. A group's own members may do two things
/// together: before messages have gone across, and after. Each operation begins with its announcement,
/// which all members of both groups make.
#[derive(Clone, Debug)]
pub struct Sides {
    /// Which group is the own one.
    side: Side,
    /// The other group; its members by their ranks.
    pub remote: Party,
    /// The own group, for what comes first.
    pub before: Party,
    /// The own group, for what comes last.
    pub after: Party,
}

impl Joins for Sides {
    fn join(
        communicators: &mut Communicators,
        comm: MPI_Comm,
        call: Primitive,
        blocks: bool,
    ) -> MpiResult<Self> {
        let communicator = communicators.named("comm", comm)?;
        let (local, side) = (communicator.local_comm, communicator.side());
        let remote = Party::join(communicators, comm, call, blocks)?;
        let before = Party::join(communicators, local, call, blocks)?.in_part_of(&remote);
        let after = Party::join(communicators, local, call, blocks)?.in_part_of(&remote);
        Ok(Self { side, remote, before, after })
    }

    fn by_plan(self, plan: &Rc<Plan>) -> Self {
        Self { after: self.after.by_plan(plan), ..self }
    }

    fn waiting(&self) -> WaitingFor {
        self.remote.waiting()
    }
}

impl Sides {
    /// What a member of the root's group does that is not the root: it says that another one is, and is done.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn idle(self) -> MpiResult {
        self.announce_rooted(Role::Idle, (0, 0), 0)
    }

    /// Tells the NIC of an operation ([`Party::announce`]) in which each group gives to the other: bytes and
    /// tag of a block that this one gives to each member there, and of one that each gives to it.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn announce_both_ways(&self, given: (usize, u16), taken: (usize, u16)) -> MpiResult {
        let [first, second] = match self.side {
            Side::First => [given, taken],
            Side::Second => [taken, given],
        };
        let both = BothWays { bytes: [first.0 as u64, second.0 as u64], tags: [first.1, second.1] };
        let (signature, bytes) = both.said();
        self.remote.announce(&Arrival::board(BOTH_WAYS, signature, bytes as usize))
    }

    /// The same of a rooted operation, in which an idle member knows neither.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn announce_rooted(&self, role: Role, operation: (u8, u8), bytes: usize) -> MpiResult {
        let root = match role {
            Role::Root => self.side.member(self.remote.rank),
            Role::Idle => self.side.unknown(),
            Role::Of(root) => self.side.other().member(root),
        };
        self.remote.announce(&Arrival::board(root, operation, bytes))
    }
}

/// What a member does in a rooted operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is the root (MPI_ROOT).
    Root,
    /// Another member of its group is (MPI_PROC_NULL).
    Idle,
    /// This one of the other group is.
    Of(CommRank),
}

impl Role {
    pub(super) fn of(communicator: &Communicator, root: c_int) -> MpiResult<Self> {
        match root {
            MPI_ROOT => Ok(Role::Root),
            MPI_PROC_NULL => Ok(Role::Idle),
            value if (value as u32) < communicator.peer_count => Ok(Role::Of(CommRank(value as u32))),
            value => Err(communicator.wrong_rank("root", value, " (or MPI_ROOT, MPI_PROC_NULL)")),
        }
    }
}

/// MPI_IN_PLACE has no meaning where what is sent does not stay.
pub(super) fn refuse_in_place(argument: &'static str, buffer: *const c_void) -> MpiResult {
    if buffer != MPI_IN_PLACE.cast_const() {
        return Ok(());
    }
    let allowed = "a collective operation of an intercommunicator has no buffer in place";
    Err(MpiError::argument(MPI_ERR_BUFFER, argument, "MPI_IN_PLACE", allowed))
}
