//! Moves a piece of a message: which way it goes is decided anew for each piece, by what both ends do.

use super::buffer::Buffer;
use super::cross_memory::ProcessMemory;
use super::error::ChannelError;
use super::peer::{Access, Direction, Peer};
use super::stores::Stores;
use super::window::{Filling, drain_slot, has_filled, pace};
use crate::memory::status::Activity;
use crate::memory::sync::{AtomicU32, Ordering};
use crate::memory::transfer::{Pinned, Range, Transfer, Worker};
use crate::memory::{LocalRank, NicMemory};
use crate::policy::channel::Policy;

/// [`Transfer::began`] of a message of which an end was elsewhere for a while.
const UNTIMED: u64 = u64::MAX;

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
    let worker = if end == End::Source { Worker::Source } else { Worker::Destination };
    let Some(pinned) = transfer.pin(worker) else { return Ok(Step::Blocked) };
    if transfer.bytes.get() == 0 {
        return Ok(Step::Finished);
    }
    if pinned.all_moved() {
        return Ok(Step::Over);
    }
    let job = Job { memory, index, transfer, pinned, policy, processes, ticks };
    let step = match (mine.other, end) {
        (Some(other), _) => job.copy_own(mine, &other)?,
        (None, End::Source) => job.send(&mine.buffer, stores)?,
        (None, End::Destination) => job.receive(&mine.buffer)?,
    };
    let idle = &job.pinned.side().idle;
    match step {
        Step::Blocked | Step::PeerNeeded => {
            idle.add(1);
            if idle.get() >= policy.idle_calls {
                idle.set(0);
                job.look_after_peer(end)?;
            }
        }
        _ => idle.set(0),
    }
    if step == Step::Finished {
        job.note_end()?;
    }
    Ok(step)
}

/// Set once cross-memory attach was refused to this process in [`advance_from_outside`]: a launcher may be
/// refused what its ranks are not, and the other way round.
static REFUSED_OUTSIDE: AtomicU32 = AtomicU32::new(0);

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
    let job = Job { memory, index, transfer, pinned, policy, processes, ticks: || 0 };
    job.pinned.release_held();
    if REFUSED_OUTSIDE.load(Ordering::Relaxed) != 0 || bounce.is_empty() {
        return Ok(Step::PeerNeeded);
    }
    let Some(range) = job.pinned.claim(bounce.len() as u64)? else { return Ok(job.nothing_to_claim()) };
    let here = bounce.as_mut_ptr() as u64;
    let access = |direction, rank, address: u64| -> Result<Access, ChannelError> {
        let (peer, there) = (Peer::of(memory, rank)?, address.wrapping_add(range.offset));
        Ok(Access { direction, peer, here, there, bytes: range.bytes })
    };
    let read = access(Direction::Read, transfer.source.get(), transfer.source_address.get())?;
    let write = access(Direction::Write, transfer.destination.get(), transfer.destination_address.get())?;
    // SAFETY: `here` is the bounce buffer, which is as long as what was claimed.
    let moved = unsafe { processes.attach_all(&read).and_then(|()| processes.attach_all(&write)) };
    if moved.as_ref().is_err_and(ChannelError::is_refusal) {
        job.pinned.give_back(range);
        REFUSED_OUTSIDE.store(1, Ordering::Relaxed);
        return Ok(Step::PeerNeeded);
    }
    moved?;
    Ok(if job.pinned.count_moved(range.bytes) { Step::Finished } else { Step::Progress })
}

/// One call's view of a transfer.
struct Job<'a, P, T> {
    memory: &'a NicMemory,
    index: u32,
    transfer: &'a Transfer,
    pinned: Pinned<'a>,
    policy: &'a Policy,
    processes: &'a P,
    ticks: T,
}

impl<P: ProcessMemory, T: Fn() -> u64> Job<'_, P, T> {
    /// The sender's piece of work.
    fn send(&self, buffer: &Buffer, stores: &mut Stores) -> Result<Step, ChannelError> {
        let peer = self.activity(self.transfer.destination.get())?;
        let window = self.transfer.window.get();
        let flows = self.together(peer) && !self.goes_by_attach()?;
        if window != 0 && (flows || !self.may_attach()) {
            let filling = Filling::lock(self.memory, window - 1, self.index, self.policy)?;
            return filling
                .map_or(Ok(Step::Blocked), |filling| self.fill_window(&filling, buffer, peer, stores));
        }
        self.attach_or_wait(Direction::Write, buffer, self.transfer.destination.get(), peer)
    }

    /// The receiver's piece of work.
    fn receive(&self, buffer: &Buffer) -> Result<Step, ChannelError> {
        let peer = self.activity(self.transfer.source.get())?;
        let mut done = 0;
        let mut patience = 0;
        if self.transfer.window.get() != 0 {
            let number = self.transfer.window.get() - 1;
            let window = self.memory.window(number)?;
            let flows = self.together(peer) && !self.goes_by_attach()?;
            loop {
                if has_filled(self.transfer) {
                    // SAFETY: this side is pinned by its own process, whose receive this buffer was given
                    // for; a window was answered.
                    let bytes = unsafe { drain_slot(&self.pinned, self.transfer, window, buffer)? };
                    if self.pinned.count_moved(bytes) {
                        return Ok(Step::Finished);
                    }
                    done += bytes;
                    if done >= self.policy.step_bytes {
                        return Ok(Step::Progress);
                    }
                    patience = 0;
                } else if patience < self.policy.patience && flows && !self.pinned.all_moved() {
                    patience += 1;
                    std::hint::spin_loop();
                } else {
                    break;
                }
            }
            if done > 0 {
                return Ok(Step::Progress);
            }
            if flows {
                self.pinned.release_held();
                return Ok(if self.pinned.awaits_grant() { Step::Granted } else { Step::Blocked });
            }
        }
        self.attach_or_wait(Direction::Read, buffer, self.transfer.source.get(), peer)
    }

    fn fill_window(
        &self,
        filling: &Filling<'_>,
        buffer: &Buffer,
        peer: Activity,
        stores: &mut Stores,
    ) -> Result<Step, ChannelError> {
        let mut done = 0;
        let mut patience = 0;
        while done < self.policy.step_bytes {
            let chunk = self.policy.chunk_bytes(self.pinned.claimed(), self.pinned.unclaimed());
            if let Some(place) = filling.room(chunk as usize)? {
                let Some(range) = self.pinned.claim(chunk)? else {
                    return Ok(if done > 0 { Step::Progress } else { self.nothing_to_claim() });
                };
                let from = buffer.at(range)? as *const u8;
                // SAFETY: the place was answered for this length, this side is pinned by its own process, and
                // the range is within the buffer that was given for the send.
                unsafe { filling.fill(place, from, range, stores, &self.ticks) };
                done += range.bytes;
                patience = 0;
            } else if patience < self.policy.patience && peer == Activity::Polling {
                patience += 1;
                std::hint::spin_loop();
            } else if done == 0 {
                return Ok(if peer == Activity::Polling { Step::Blocked } else { Step::PeerNeeded });
            } else {
                break;
            }
        }
        Ok(Step::Progress)
    }

    fn attach_or_wait(
        &self,
        direction: Direction,
        buffer: &Buffer,
        peer: LocalRank,
        activity: Activity,
    ) -> Result<Step, ChannelError> {
        let waiting = if activity == Activity::Polling { Step::Blocked } else { Step::PeerNeeded };
        if !self.may_attach() {
            self.pinned.release_held();
            return Ok(if self.pinned.awaits_grant() { Step::Granted } else { waiting });
        }
        let peer = Peer::of(self.memory, peer)?;
        let chunk = self.policy.attach_chunk_bytes(self.transfer.bytes.get(), activity == Activity::Polling);
        let mut done = 0;
        while done < self.policy.step_bytes {
            let Some(range) = self.pinned.claim(chunk)? else {
                return Ok(if done > 0 { Step::Progress } else { self.nothing_to_claim() });
            };
            // The peer's own word, which the kernel checks; the rest of what it says is this process's.
            let there = match direction {
                Direction::Read => &self.transfer.source_address,
                Direction::Write => &self.transfer.destination_address,
            };
            let (here, there) = (buffer.at(range)?, there.get().wrapping_add(range.offset));
            let access = Access { direction, peer, here, there, bytes: range.bytes };
            // SAFETY: the range is within the buffer that the program gave for this message, and this side is
            // pinned by its own process.
            let moved = unsafe { self.processes.attach(&access) };
            if moved.as_ref().is_err_and(ChannelError::is_refusal) {
                self.memory.header().cross_memory.set(0);
                self.pinned.give_back(range);
                return Ok(waiting);
            }
            let bytes = moved?;
            if bytes < range.bytes {
                self.pinned.give_back(Range { offset: range.offset + bytes, bytes: range.bytes - bytes });
            }
            if self.pinned.count_moved(bytes) {
                return Ok(Step::Finished);
            }
            done += bytes;
        }
        Ok(Step::Progress)
    }

    /// A rank's message to itself.
    fn copy_own(&self, mine: &Mine, other: &Buffer) -> Result<Step, ChannelError> {
        let (source, destination) = match mine.end {
            End::Source => (&mine.buffer, other),
            End::Destination => (other, &mine.buffer),
        };
        let mut done = 0;
        while done < self.policy.step_bytes {
            let Some(range) = self.pinned.claim(self.policy.step_bytes)? else {
                return Ok(if done > 0 { Step::Progress } else { self.nothing_to_claim() });
            };
            let (from, to) = (source.at(range)? as *const u8, destination.at(range)? as *mut u8);
            // SAFETY: the range is within both buffers, which the program gave for this message and which are
            // its own until that is over; `copy` allows a program's mistake of letting them overlap.
            unsafe { std::ptr::copy(from, to, range.bytes as usize) };
            if self.pinned.count_moved(range.bytes) {
                return Ok(Step::Finished);
            }
            done += range.bytes;
        }
        Ok(Step::Progress)
    }

    fn nothing_to_claim(&self) -> Step {
        if self.transfer.is_elsewhere() {
            return Step::PeerNeeded;
        }
        if self.pinned.awaits_grant() { Step::Granted } else { Step::Blocked }
    }

    /// Whether both ends are at work, so that the window flows. A message that they are not at all the time
    /// is not timed.
    fn together(&self, peer: Activity) -> bool {
        let together = self.policy.pipeline && peer == Activity::Polling;
        if !together && self.transfer.began.get() != UNTIMED {
            self.transfer.began.set(UNTIMED);
        }
        together
    }

    /// Whether a message goes by attach although its window flows, by what others took.
    fn goes_by_attach(&self) -> Result<bool, ChannelError> {
        let learns = self.policy.learn && self.may_attach();
        let Some(window) = self.transfer.window.get().checked_sub(1).filter(|_| learns) else {
            return Ok(false);
        };
        let by_attach = pace(self.memory, window)?.goes_by_attach(self.transfer.bytes.get());
        let began = &self.transfer.began;
        match began.get() {
            0 if self.pinned.claimed() == 0 => began.set((self.ticks)() << 1 | by_attach as u64),
            0 => began.set(UNTIMED),
            UNTIMED => {}
            began => return Ok(began & 1 != 0),
        }
        Ok(by_attach)
    }

    /// The last byte is in place: notes what the message took.
    fn note_end(&self) -> Result<(), ChannelError> {
        let began = self.transfer.began.get();
        let (Some(window), true) = (self.transfer.window.get().checked_sub(1), began != 0) else {
            return Ok(());
        };
        let ticks = (self.ticks)().saturating_sub(began >> 1);
        let ticks = if began == UNTIMED || ticks == 0 { None } else { Some(ticks) };
        pace(self.memory, window)?.note(self.transfer.bytes.get(), began & 1 != 0, ticks);
        Ok(())
    }

    fn may_attach(&self) -> bool {
        self.memory.header().cross_memory.get() != 0 && !self.transfer.is_elsewhere()
    }

    fn activity(&self, rank: LocalRank) -> Result<Activity, ChannelError> {
        // Never at this transfer alone: the NIC thread is woken for what there is to do.
        if rank == LocalRank::ELSEWHERE {
            return Ok(Activity::Computing);
        }
        Ok(self.memory.rank(rank)?.status.activity())
    }

    fn look_after_peer(&self, end: End) -> Result<(), ChannelError> {
        let peer = match end {
            End::Source => self.transfer.destination.get(),
            End::Destination => self.transfer.source.get(),
        };
        if peer == LocalRank::ELSEWHERE {
            return Ok(());
        }
        match Peer::of(self.memory, peer)? {
            peer if self.processes.is_alive(peer) => Ok(()),
            peer => Err(ChannelError::Gone { peer }),
        }
    }
}
