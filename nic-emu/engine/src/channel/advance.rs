//! Moves a piece of a message: by which channel is decided anew for each piece, by what both ends do.

use super::error::ChannelError;
use super::piece::{End, Mine, Piece, Step, activity_of};
use super::process_memory::ProcessMemory;
use super::stores::Stores;
use super::table;
use super::window::{UNTIMED, pace};
use crate::memory::NicMemory;
use crate::memory::status::Activity;
use crate::memory::transfer::Worker;
use crate::policy::channel::Policy;

/// Moves a piece of a message, by the end that waits in MPI: bounded work, at most some 100 µs.
///
/// The caller is that end and has not left the transfer: its buffers are as the message needs them. `ticks`
/// is the processor's counter; 0 where there is none that a program may read.
pub fn advance(
    memory: &NicMemory,
    transfer: u32,
    mine: &Mine,
    policy: &Policy,
    stores: &mut Stores,
    processes: &impl ProcessMemory,
    ticks: impl Fn() -> u64,
) -> Result<Step, ChannelError> {
    let (index, end) = (transfer, mine.end);
    let transfer = memory.transfer(index)?;
    let (worker, peer) = match end {
        End::Source => (Worker::Source, transfer.destination.get()),
        End::Destination => (Worker::Destination, transfer.source.get()),
    };
    let Some(pinned) = transfer.pin(worker) else { return Ok(Step::Blocked) };
    if transfer.bytes.get() == 0 {
        return Ok(Step::Finished);
    }
    if pinned.all_moved() {
        return Ok(Step::Over);
    }
    let activity = activity_of(memory, peer)?;
    let piece = Piece { memory, index, transfer, pinned, policy, processes, ticks, peer, activity };
    let step = table::advance(&piece, mine, stores)?;
    let idle = &piece.pinned.side().idle;
    match step {
        Step::Blocked | Step::PeerNeeded => {
            idle.add(1);
            if idle.get() >= policy.idle_calls {
                idle.set(0);
                piece.look_after_peer()?;
            }
        }
        _ => idle.set(0),
    }
    if step == Step::Finished {
        note_end(&piece)?;
    }
    Ok(step)
}

/// The last byte is in place: notes what the message took.
fn note_end<P: ProcessMemory, T: Fn() -> u64>(piece: &Piece<'_, P, T>) -> Result<(), ChannelError> {
    let began = piece.transfer.began.get();
    let (Some(window), true) = (piece.transfer.window.get().checked_sub(1), began != 0) else {
        return Ok(());
    };
    let ticks = (piece.ticks)().saturating_sub(began >> 1);
    let ticks = if began == UNTIMED || ticks == 0 { None } else { Some(ticks) };
    pace(piece.memory, window)?.note(piece.transfer.bytes.get(), began & 1 != 0, ticks);
    Ok(())
}

/// Moves a piece of a message between two other processes, by the NIC thread while both ends compute. At most
/// one `bounce` buffer full: some 256 KB fit in its core's cache.
///
/// [`Step::PeerNeeded`] says that the system refuses and one of the ends must move the bytes.
pub fn advance_from_outside(
    memory: &NicMemory,
    transfer: u32,
    bounce: &mut [u8],
    policy: &Policy,
    processes: &impl ProcessMemory,
) -> Result<Step, ChannelError> {
    let index = transfer;
    let transfer = memory.transfer(index)?;
    let Some(pinned) = transfer.pin(Worker::Outside) else { return Ok(Step::Blocked) };
    if pinned.all_moved() {
        return Ok(if transfer.bytes.get() == 0 { Step::Finished } else { Step::Over });
    }
    pinned.release_held();
    let (peer, activity) = (transfer.source.get(), Activity::Computing);
    let piece = Piece { memory, index, transfer, pinned, policy, processes, ticks: || 0, peer, activity };
    table::advance_from_outside(&piece, bounce)
}
