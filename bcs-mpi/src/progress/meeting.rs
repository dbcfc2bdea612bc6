//! Meeting on the NIC: how members of a communicator reach a collective operation and are let go (paper,
//! §4.4).
//!
//! Each collective has its number in the communicator, so members that call the same collectives in the same
//! order meet in the same ones.

use super::memory::Memory;
use super::released::take_board;
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::object::Communicator;
use crate::object::contexts::Contexts;
use crate::process::progress::Waiter;
use crate::process::{Guard, Process};
use bcs_core::Rank;
use mds::Primitive;
use nic_emu::contexts::Context;
use nic_emu::descriptor::{CollectiveKind, OF_LIBRARY};
use nic_emu::memory::numbers::{CommRank, RequestId, SlabId};
use nic_emu::port::{Awaits, Collective, Release};
use nic_emu::root::SidedRank;
use nic_emu::status::WaitingFor;

/// What a member reaches.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// What the NIC does.
    pub kind: CollectiveKind,
    /// `ReduceOp` and `ElementType` of a reduction.
    pub operation: (u8, u8),
    /// The root, if there is one.
    pub root: SidedRank,
    /// For a board: the most that any member contributes, about which all say the same.
    pub most_bytes: usize,
}

impl Arrival {
    /// A barrier.
    pub const BARRIER: Self =
        Self { kind: CollectiveKind::Barrier, operation: (0, 0), root: SidedRank(0), most_bytes: 0 };

    /// A board; or what is said in an announcement, whose kind [`super::Party::announce`] sets.
    #[inline]
    pub fn board(root: impl Into<SidedRank>, operation: (u8, u8), most_bytes: usize) -> Self {
        Self { kind: CollectiveKind::Board, operation, root: root.into(), most_bytes }
    }

    /// What the library makes members agree on by itself: neither `root` nor bytes are the program's.
    pub fn of_library(kind: CollectiveKind, root: CommRank) -> Self {
        Self { kind, ..Self::board(root, (OF_LIBRARY, 0), 0) }
    }

    /// The root, if who waits waits for that alone: in an intracommunicator.
    #[inline]
    pub(super) fn awaited(&self) -> Option<CommRank> {
        (self.kind == CollectiveKind::Broadcast).then_some(CommRank(self.root.0))
    }

    /// What the NIC is told of it: the collective with this number in a context, of members of which this one
    /// is the first number's, of as many as the second one says; and the same among those on its node.
    #[inline]
    pub(super) fn collective(
        &self,
        sequence: u32,
        call: Primitive,
        context: Context,
        (comm, local): ((SidedRank, u32), (u16, u16)),
    ) -> Collective {
        let &Self { kind, operation, root, most_bytes } = self;
        let (call, most_bytes) = (call.index() as u8, most_bytes as u64);
        Collective { kind, operation, context, comm, root, call, most_bytes, sequence, local }
    }
}

/// The next collective of a communicator, which is counted with it.
#[inline]
pub(crate) fn collective_of(
    communicator: &mut Communicator,
    call: Primitive,
    arrival: &Arrival,
) -> Collective {
    let members = (communicator.on_nic, communicator.local);
    arrival.collective(communicator.next_sequence(), call, communicator.context.of_collectives(), members)
}

/// Posts this rank's arrival at a collective, whose root, if it is a broadcast, has this rank in the job;
/// answers what it waits with, or none when it has nothing to wait for
/// ([`nic_emu::port::Port::post_collective`]).
///
/// # Safety
/// `data` must be readable for `bytes` bytes.
///
/// # Errors
/// The communicator is broken, or the NIC fails.
#[inline]
pub(crate) unsafe fn post(
    process: &mut Guard,
    collective: &Collective,
    root: Rank,
    data: *const u8,
    bytes: usize,
    wanted: bool,
) -> MpiResult<Option<Waiter>> {
    let awaits = awaits(process, collective, root)?;
    process.port.check_whole(collective.context)?;
    // SAFETY: the caller's promise.
    match unsafe { tell(process, collective, (data, bytes), wanted, None)? } {
        Some(request) => Ok(Some(Waiter { request, awaits })),
        None => {
            process.port.pass(awaits)?;
            Ok(None)
        }
    }
}

/// Tells the NIC that this rank has reached a collective, once there is room, with data that is buffered in a
/// reserved `slab`, if there is one; answers its request, if it is `wanted`.
///
/// # Safety
/// As [`post`].
///
/// # Errors
/// The NIC fails.
#[inline]
pub(super) unsafe fn tell(
    process: &mut Guard,
    collective: &Collective,
    (data, bytes): (*const u8, usize),
    wanted: bool,
    slab: Option<SlabId>,
) -> MpiResult<Option<RequestId>> {
    let (what, in_any_slab) = (|| collective.waiting(bytes), if slab.is_none() { bytes } else { 0 });
    process.make_room(what, |port| port.lacks_for_collective(collective, in_any_slab))?;
    // SAFETY: the caller's promise.
    Ok(unsafe { process.port.post_collective(collective, data, bytes, wanted, slab)? })
}

/// What a member waits for: of a broadcast the root, which has this rank in the job, else all others.
#[inline]
pub(super) fn awaits(process: &Process, collective: &Collective, root: Rank) -> MpiResult<Awaits> {
    if collective.kind == CollectiveKind::Broadcast && collective.comm.0 != collective.root {
        let root = process.port.memory().local_rank(root)?;
        return Ok(root.map_or(Awaits::Members(0), Awaits::Rank));
    }
    let local = collective.local.1 as u32;
    // Where members are on other nodes, nobody here knows when it is worth running a slice.
    Ok(Awaits::Members(if local == collective.comm.1 { local } else { 0 }))
}

/// What a hang report says of a member that waits in a collective.
#[inline]
pub fn waiting_in(
    communicator: &Communicator,
    call: Primitive,
    root: Option<CommRank>,
    bytes: usize,
) -> WaitingFor {
    WaitingFor {
        call: call.index() as u32,
        context: communicator.context.of_collectives(),
        peer: root.unwrap_or(CommRank::NOBODY),
        bytes: bytes as u64,
        peer_in_job: root.map_or(Rank::NOBODY, |root| communicator.job_rank(root)),
        ..WaitingFor::SOMETHING
    }
}

/// Arrives at the next collective of the communicator, which this rank reaches in `call`, and waits for the
/// release if it is `wanted`: for `peer`, a hang report says, and so many bytes. In `hidden` contexts others
/// may call what does not fit, so it waits also until these are broken.
///
/// # Safety
/// As [`post`].
///
/// # Errors
/// No such communicator, or the NIC fails.
// Inlined, as what callers say is constant: a small collective takes less than a microsecond.
#[inline(always)]
pub(crate) unsafe fn attend(
    process: &mut Guard,
    (call, comm): (Primitive, MPI_Comm),
    (peer, awaited, hidden): (Option<CommRank>, usize, Option<Contexts>),
    arrival: &Arrival,
    (data, bytes): (*const u8, usize),
    wanted: bool,
) -> MpiResult<Option<Release>> {
    let communicator = process.communicator_mut(comm)?;
    let what = waiting_in(communicator, call, peer, awaited);
    let collective = collective_of(communicator, call, arrival);
    let root = arrival.awaited().map_or(Rank::NOBODY, |root| communicator.job_rank(root));
    // SAFETY: the caller's promise.
    let waiter = unsafe { post(process, &collective, root, data, bytes, wanted)? };
    let Some(Waiter { request, awaits }) = waiter else { return Ok(None) };
    let shared = process.is_shared();
    if hidden.is_none()
        && let Some(release) = process.port.meet(request, awaits, shared)?
    {
        return Ok(Some(release));
    }
    let released = process.wait_for_some(&what, |process| {
        let released = process.port.test_collective(request)?;
        if let Some(contexts) = hidden.as_ref().filter(|_| released.is_none()) {
            // The NIC refuses what waits in it.
            let _ = contexts.check_whole(&mut process.port);
        }
        Ok(released)
    });
    released.map(Some)
}

/// Arrives with a small contribution and waits for the release: members of an intercommunicator's hidden
/// one also until that is broken.
///
/// # Errors
/// No such communicator, or the NIC fails.
pub fn meet(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    arrival: &Arrival,
    data: &[u8],
) -> MpiResult<Option<Release>> {
    let communicator = process.communicator(comm)?;
    let hidden = communicator.made_in.map(|_| communicator.contexts());
    let (waits, data) = ((None, data.len(), hidden), (data.as_ptr(), data.len()));
    // SAFETY: a slice is readable, and borrowed until the release.
    unsafe { attend(process, (call, comm), waits, arrival, data, true) }
}

/// The small contributions of all members, by rank: what communicators are made by.
///
/// # Errors
/// No such communicator, or the NIC fails.
pub fn gather_all<const BYTES: usize>(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    own: [u8; BYTES],
) -> MpiResult<Vec<[u8; BYTES]>> {
    let mut all = vec![own; process.communicator(comm)?.size as usize];
    let board = Arrival::of_library(CollectiveKind::Board, CommRank(0));
    if all.len() > 1
        && let Some(release) = meet(process, call, comm, &board, &own)?
    {
        // SAFETY: each element has BYTES.
        let place = |place: &mut [u8; BYTES]| unsafe { Memory::new(place.as_mut_ptr(), BYTES) };
        let places = (0..).map(CommRank).zip(&mut all).map(|(member, of)| (member, 0, place(of)));
        take_board(process, release, BYTES, places)?;
    }
    Ok(all)
}

/// A number that one member chooses and all get. Members choose in turn, so that nodes give as many
/// contexts as each other.
///
/// # Errors
/// No such communicator, or the NIC fails.
pub fn agree(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    choose: impl FnOnce(&mut Process) -> MpiResult<Context>,
) -> MpiResult<Context> {
    let communicator = process.communicator(comm)?;
    let (rank, size, root) = (communicator.rank, communicator.size, communicator.chooser());
    let chosen = if rank == root { choose(process)? } else { Context::NONE };
    if size == 1 {
        return Ok(chosen);
    }
    let arrival = Arrival::of_library(CollectiveKind::Broadcast, root);
    let released = meet(process, call, comm, &arrival, &chosen.0.to_ne_bytes())?;
    Ok(match released {
        Some(Release::Result(payload)) if rank != root => {
            Context(u32::from_ne_bytes([payload[0], payload[1], payload[2], payload[3]]))
        }
        _ => chosen,
    })
}
