//! What a channel is, and what it is given: a message under way, and who is to move a piece of it.

use super::buffer::Buffer;
use super::error::ChannelError;
use super::peer::Peer;
use super::process_memory::ProcessMemory;
use super::stores::Stores;
use crate::memory::status::Activity;
use crate::memory::transfer::{Pinned, Transfer};
use crate::memory::{LocalRank, NicMemory};
use crate::policy::channel::Policy;

/// Which end of a message a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its sender.
    Source,
    /// Its receiver.
    Destination,
}

/// What a rank knows of a message that it is an end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mine {
    /// Which end it is.
    pub end: End,
    /// Its buffer.
    pub buffer: Buffer,
    /// Of a message to itself: its buffer at the other end.
    pub other: Option<Buffer>,
    /// Whether the rank expects a long message meanwhile.
    pub receives: bool,
}

/// What became of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Some bytes were moved, and there may be more to do.
    Progress,
    /// Nothing to do now: what is left is in the other end's hands, which is at it, or in those of another
    /// thread.
    Blocked,
    /// Nothing to do until the other end acts, which computes or sleeps: a caller that is about to sleep
    /// wakes it.
    PeerNeeded,
    /// All that the slices so far have granted is claimed.
    Granted,
    /// All bytes are in place, and this caller, no other, is told: it calls
    /// [`crate::threads::dma_helper::finish`]. (Of a message without bytes everybody is told.)
    Finished,
    /// All bytes are in place and another one was told so: look at the request.
    Over,
}

/// A message of which a caller is to move a piece. The caller has pinned its side of the transfer.
pub(super) struct Piece<'a, P, T> {
    pub memory: &'a NicMemory,
    pub index: u32,
    pub transfer: &'a Transfer,
    pub pinned: Pinned<'a>,
    pub policy: &'a Policy,
    pub processes: &'a P,
    /// The processor's counter.
    pub ticks: T,
    /// The other end; of a piece that is moved from outside, the sender.
    pub peer: LocalRank,
    /// What the peer does.
    pub activity: Activity,
}

impl<P: ProcessMemory, T: Fn() -> u64> Piece<'_, P, T> {
    /// What a channel answers that has found nothing to claim.
    pub(super) fn nothing_to_claim(&self) -> Step {
        if self.transfer.is_elsewhere() {
            return Step::PeerNeeded;
        }
        if self.pinned.awaits_grant() { Step::Granted } else { Step::Blocked }
    }

    /// What is answered where this caller can move nothing.
    pub(super) fn waits(&self) -> Step {
        self.pinned.release_held();
        if self.pinned.awaits_grant() {
            return Step::Granted;
        }
        if self.activity == Activity::Polling { Step::Blocked } else { Step::PeerNeeded }
    }

    /// Whether ranks' memory may be read and written: the system has not refused it.
    pub(super) fn may_attach(&self) -> bool {
        self.memory.header().cross_memory.get() != 0 && !self.transfer.is_elsewhere()
    }

    /// An error if the other end's process has died.
    pub(super) fn look_after_peer(&self) -> Result<(), ChannelError> {
        if self.peer == LocalRank::ELSEWHERE {
            return Ok(());
        }
        match Peer::of(self.memory, self.peer)? {
            peer if self.processes.is_alive(peer) => Ok(()),
            peer => Err(ChannelError::Gone { peer }),
        }
    }
}

/// What a rank does that is an end of a message.
pub(super) fn activity_of(memory: &NicMemory, rank: LocalRank) -> Result<Activity, ChannelError> {
    // Never at this transfer alone: the NIC thread is woken for what there is to do.
    if rank == LocalRank::ELSEWHERE {
        return Ok(Activity::Computing);
    }
    Ok(memory.rank(rank)?.status.activity())
}

/// A channel. The table in [`super::table`] says which there are, and which is asked first. A channel claims
/// ranges of the message ([`Pinned::claim`](crate::memory::transfer::Pinned::claim)), moves them, and counts
/// them; so several may be at one message, and every byte is moved once.
pub(super) trait Channel {
    /// Moves a piece, by the end that waits in MPI. None: this channel cannot, or another one is faster; the
    /// next one of the table is asked.
    ///
    /// # Errors
    /// NIC memory is corrupt, or the bytes cannot be moved.
    fn advance<P: ProcessMemory, T: Fn() -> u64>(
        piece: &Piece<'_, P, T>,
        mine: &Mine,
        stores: &mut Stores,
    ) -> Result<Option<Step>, ChannelError>;

    /// Moves a piece by the NIC thread, while both ends compute: neither buffer is this process's. At most
    /// one `bounce` buffer full. None: this channel cannot.
    ///
    /// # Errors
    /// As [`Channel::advance`].
    fn advance_from_outside<P: ProcessMemory, T: Fn() -> u64>(
        _piece: &Piece<'_, P, T>,
        _bounce: &mut [u8],
    ) -> Result<Option<Step>, ChannelError> {
        Ok(None)
    }
}
