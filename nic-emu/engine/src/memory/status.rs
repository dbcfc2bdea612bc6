//! What a rank says of itself in NIC memory: whether it computes or waits, and for what.
//!
//! The rank alone writes its status, but for what others tell it (transfers that have started, messages that
//! were claimed); the processor, the program launcher and other ranks read it. It decides how bytes move (a
//! rank that waits can copy, one that computes cannot), who must be woken, and what a hang report says.

use crate::memory::sync::{AtomicU32, Ordering};
use crate::memory::wait_word::WaitWord;
use crate::memory::{CommRank, Context, LocalRank, Rank, Word, Word64};

/// Where a rank is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[repr(u32)]
pub enum Phase {
    /// Started, has not called `MPI_Init`; perhaps not an MPI program.
    NotAttached = 0,
    /// Between `MPI_Init` and `MPI_Finalize`.
    Attached = 1,
    /// Has left `MPI_Finalize`.
    Finalized = 2,
    /// Is dead.
    Exited = 3,
}

/// What a rank does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
#[repr(u32)]
pub enum Activity {
    /// Computes, or is in a call that does not block.
    Computing = 0,
    /// Blocked in a call, polling, yielding, or asleep for a moment after which it looks again: its core is
    /// lent.
    Polling = 1,
    /// Blocked in a call, asleep until whoever completes what it waits for wakes it.
    Sleeping = 2,
}

/// Room that a rank waits for before it can post or give anything: whoever waits for it looks again all the
/// time, and frees what it can.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize,
)]
#[repr(u32)]
pub enum Room {
    /// None: it waits for what others give.
    #[default]
    Enough = 0,
    /// A cell of its send ring.
    SendRing = 1,
    /// A cell of its receive ring.
    ReceiveRing = 2,
    /// A cell of its collective ring.
    CollectiveRing = 3,
    /// A slab for a contribution to a collective.
    Slab = 4,
    /// A cell of an edge to a neighbour.
    Edge = 5,
}

impl Room {
    fn of_word(word: u32) -> Self {
        use Room::{CollectiveRing, Edge, Enough, ReceiveRing, SendRing, Slab};
        let rooms = [Enough, SendRing, ReceiveRing, CollectiveRing, Slab, Edge];
        rooms.get(word as usize).copied().unwrap_or_default()
    }
}

/// What a blocked rank waits for; the numbers are in the units of the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize)]
pub struct WaitingFor {
    /// The call, as `mds::mmds::Primitive` numbers it.
    pub call: u32,
    /// Context of the communicator.
    pub context: Context,
    /// The peer's rank in the communicator, `ANY_SOURCE`, or the root; `NOBODY` for calls without one.
    pub peer: CommRank,
    /// The tag, or `ANY_TAG`.
    pub tag: i32,
    /// Size of the message or of the contribution.
    pub bytes: u64,
    /// Requests waited for; 1 for a blocking call.
    pub requests: u32,
    /// The peer's rank in the job, `NOBODY` when there is none or any.
    pub peer_in_job: Rank,
    /// True for a send: the peer is the destination.
    pub sends: bool,
    /// The room that the call lacks before it can wait for anything else.
    pub room: Room,
}

impl WaitingFor {
    /// Something, in some call.
    pub const SOMETHING: Self = Self {
        call: u32::MAX,
        context: Context::NONE,
        peer: CommRank::NOBODY,
        tag: 0,
        bytes: 0,
        requests: 1,
        peer_in_job: Rank::NOBODY,
        sends: false,
        room: Room::Enough,
    };
}

/// A rank's status: four cache lines and a list.
#[repr(C, align(64))]
pub struct RankStatus {
    phase: AtomicU32,
    activity: AtomicU32,
    pid: AtomicU32,
    call: Word,
    context: Word<Context>,
    peer: Word<CommRank>,
    tag: Word,
    bytes: Word64,
    requests: Word,
    peer_in_job: Word<Rank>,
    sends: Word,
    /// Blocking calls so far: tells one wait from the next. It changes, too, when something has come of what
    /// the rank waits for, so that the wait goes on as another one, and is in no deadlock.
    pub waits: Word,
    job_rank: Word<Rank>,
    /// Not 0 while a thread of the rank may compute although another one waits: several call MPI at the same
    /// time, or one does some work for the library.
    pub concurrent: Word,

    /// The wait word: not 0 while the rank sleeps.
    pub sleep: WaitWord,
    /// Times the blocked rank has looked whether it may go on; shows the hang detector that it looked after
    /// the last change. Not in the first line, which the peers of a transfer read.
    pub polls: Word,
    /// A [`Room`], of what the rank waits for.
    room: Word,
    _pad1: [u32; 13],

    /// Transfers of this rank that the processor has started; the rank looks for work when it changes.
    pub transfers_started: AtomicU32,
    _pad2: [u32; 15],

    /// Whose ring the rank looks into for a message to claim: [`NOBODY`], [`SEVERAL`], or a local rank,
    /// counted from the next number on.
    looks_into: Word,
    /// Who has claimed a message that this rank waits for, since this rank has last asked; counted so, too.
    claimed_by: Word,
    _pad3: [u32; 14],

    /// The latest of them, by their number modulo the array's length.
    started: [Word; STARTED],
}

/// Words for nobody's ring, and for several ranks' rings, in [`RankStatus::looks_into`].
const NOBODY: u32 = 0;
const SEVERAL: u32 = 1;

/// Started transfers that a rank is told by number; with more at once it looks through its requests.
pub const STARTED: usize = 64;

const _: () = assert!(size_of::<RankStatus>() == 256 + 4 * STARTED);

impl RankStatus {
    /// The rank's phase.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            1 => Phase::Attached,
            2 => Phase::Finalized,
            3 => Phase::Exited,
            _ => Phase::NotAttached,
        }
    }

    /// Enters a phase.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u32, Ordering::Release);
    }

    /// The rank's number in the job.
    pub fn job_rank(&self) -> Rank {
        self.job_rank.get()
    }

    /// Sets the rank's number in the job, when NIC memory is made.
    pub fn set_job_rank(&self, job_rank: Rank) {
        self.job_rank.set(job_rank);
    }

    /// What the rank does.
    #[inline]
    pub fn activity(&self) -> Activity {
        match self.activity.load(Ordering::Relaxed) {
            1 => Activity::Polling,
            2 => Activity::Sleeping,
            _ => Activity::Computing,
        }
    }

    /// Says what the rank does.
    #[inline]
    pub fn set_activity(&self, activity: Activity) {
        self.activity.store(activity as u32, Ordering::Relaxed);
    }

    /// Says that the rank looks into this ring for a message to claim; into several without one.
    #[inline]
    pub fn begin_looking(&self, sender: Option<LocalRank>) {
        self.looks_into.set(sender.map_or(SEVERAL, |sender| sender.0 + SEVERAL + 1));
    }

    /// Says that it does not any more.
    #[inline]
    pub fn end_looking(&self) {
        self.looks_into.set(NOBODY);
    }

    /// Whether it looks into the ring of this rank.
    #[inline]
    pub fn looks_for(&self, sender: LocalRank) -> bool {
        let looks_into = self.looks_into.get();
        looks_into == SEVERAL || looks_into == sender.0 + SEVERAL + 1
    }

    /// A receiver says that it has claimed a message that the rank waits for.
    #[inline]
    pub fn note_claim(&self, receiver: LocalRank) {
        self.claimed_by.set(receiver.0 + SEVERAL + 1);
    }

    /// Whether this receiver has claimed a message that the rank waits for, as the last one since the rank
    /// asked. The rank asks.
    #[inline]
    pub fn take_claim(&self, receiver: LocalRank) -> bool {
        let claimed = self.is_claimed_by(receiver);
        self.claimed_by.set(NOBODY);
        claimed
    }

    /// The same, without forgetting it.
    #[inline]
    pub fn is_claimed_by(&self, receiver: LocalRank) -> bool {
        self.claimed_by.get() == receiver.0 + SEVERAL + 1
    }

    /// The process that is the rank, as the kernel numbers it; 0 before one is.
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// A process becomes the rank: the first that asks, and no other ever.
    ///
    /// # Errors
    /// The process that is the rank already.
    pub fn claim(&self, pid: u32) -> Result<(), u32> {
        self.pid.compare_exchange(0, pid, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }

    /// Says what the rank is about to wait for.
    #[inline]
    pub fn set_waiting_for(&self, what: &WaitingFor) {
        self.call.set(what.call);
        self.context.set(what.context);
        self.peer.set(what.peer);
        self.tag.set(what.tag as u32);
        self.bytes.set(what.bytes);
        self.requests.set(what.requests);
        self.peer_in_job.set(what.peer_in_job);
        self.sends.set(what.sends as u32);
        self.room.set(what.room as u32);
        self.waits.add(1);
    }

    /// What the rank waits for; meaningful while it is blocked.
    pub fn waiting_for(&self) -> WaitingFor {
        WaitingFor {
            call: self.call.get(),
            context: self.context.get(),
            peer: self.peer.get(),
            tag: self.tag.get() as i32,
            bytes: self.bytes.get(),
            requests: self.requests.get(),
            peer_in_job: self.peer_in_job.get(),
            sends: self.sends.get() != 0,
            room: Room::of_word(self.room.get()),
        }
    }

    /// Tells the rank of a transfer; the processor does.
    #[inline]
    pub(crate) fn tell_started(&self, transfer: u32) {
        let count = self.transfers_started.load(Ordering::Relaxed);
        self.started[count as usize % STARTED].set(transfer);
        self.transfers_started.store(count.wrapping_add(1), Ordering::Release);
    }

    /// The transfer that was the `count`-th to be started.
    #[inline]
    pub fn started(&self, count: u32) -> u32 {
        self.started[count as usize % STARTED].get()
    }
}
