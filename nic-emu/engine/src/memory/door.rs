//! Doors: who may work on a rank's part of a window (MPI-5.0, §12.5.3).
//!
//! A rank has a door for each window that it is a member of. Its word says who holds the lock. Whoever maps
//! NIC memory enters and leaves by itself, with one exchange of the word, as long as nobody waits. Who finds
//! the door shut asks the NIC of the door's rank ([`crate::one_sided`]), which lets those who wait in one
//! after the other, in the order in which they have asked.
//!
//! Invariant: while somebody waits, the word says so, and only the holder of the run token lets somebody in.

use crate::memory::sync::{AtomicU32, AtomicU64, Ordering};
use bcs_core::LocalRank;

/// Doors of a rank: windows that it is a member of at the same time.
pub const DOORS: usize = 1 << 14;

/// Somebody is in, and wants to be alone.
const ALONE: u64 = 1 << 63;
/// Somebody waits.
const WAITED: u64 = 1 << 62;

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Beside others that share it.
    Shared = 1,
    /// Alone.
    Exclusive = 2,
}

impl Mode {
    /// The mode of a number.
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Mode::Shared),
            2 => Some(Mode::Exclusive),
            _ => None,
        }
    }
}

/// A door: open at first, which is zeros.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Door {
    /// [`ALONE`], [`WAITED`], and how many share it.
    held: AtomicU64,
    /// One more than the rank of the node that combines values with the part's memory; 0 for nobody. Of
    /// windows alone whose members are all on this node.
    combines: AtomicU32,
}

impl Door {
    /// Opens it anew, for another window.
    pub fn reset(&self) {
        self.combines.store(0, Ordering::Relaxed);
        self.held.store(0, Ordering::Release);
    }

    /// Begins to combine values with the part's memory, unless somebody else does.
    #[inline]
    pub fn try_combine(&self, rank: LocalRank) -> bool {
        self.combines.compare_exchange(0, rank.0 + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends that.
    #[inline]
    pub fn end_combining(&self) {
        self.combines.store(0, Ordering::Release);
    }

    /// Enters, if it is open and nobody waits.
    #[inline]
    pub fn try_enter(&self, mode: Mode) -> bool {
        self.enter(mode, WAITED)
    }

    /// Enters, if it is open, whoever waits: for the holder of the run token.
    pub fn try_let_in(&self, mode: Mode) -> bool {
        self.enter(mode, 0)
    }

    fn enter(&self, mode: Mode, also_shut_by: u64) -> bool {
        let mut held = self.held.load(Ordering::Relaxed);
        loop {
            let (next, shut) = match mode {
                Mode::Exclusive => (held | ALONE, held & !WAITED != 0),
                Mode::Shared => (held + 1, held & ALONE != 0),
            };
            if shut || held & also_shut_by != 0 {
                return false;
            }
            match self.held.compare_exchange_weak(held, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => held = other,
            }
        }
    }

    /// Leaves. True when somebody waits who may enter now: then the NIC is to be told.
    #[inline]
    pub fn leave(&self, mode: Mode) -> bool {
        let held = match mode {
            Mode::Exclusive => self.held.fetch_and(!ALONE, Ordering::AcqRel) & !ALONE,
            Mode::Shared => self.held.fetch_sub(1, Ordering::AcqRel) - 1,
        };
        held == WAITED
    }

    /// Somebody waits from now on.
    pub(crate) fn set_waited(&self) {
        self.held.fetch_or(WAITED, Ordering::AcqRel);
    }

    /// Nobody waits any more.
    pub(crate) fn clear_waited(&self) {
        self.held.fetch_and(!WAITED, Ordering::AcqRel);
    }
}

/// Which of a rank's doors are in use. Private to the rank.
#[derive(Debug, Default)]
pub struct DoorAllocator {
    free: Vec<u16>,
    touched: u16,
}

impl DoorAllocator {
    /// A door that no window has; none when all are in use.
    pub fn take(&mut self) -> Option<u16> {
        self.free.pop().or_else(|| {
            let next = self.touched;
            self.touched += ((next as usize) < DOORS) as u16;
            ((next as usize) < DOORS).then_some(next)
        })
    }

    /// Gives one back.
    pub fn give_back(&mut self, door: u16) {
        self.free.push(door);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn many_share_a_door_or_one_is_alone() {
        let door = Door::default();
        assert!(door.try_enter(Mode::Shared) && door.try_enter(Mode::Shared));
        assert!(!door.try_enter(Mode::Exclusive));
        assert!(!door.leave(Mode::Shared) && !door.leave(Mode::Shared), "nobody waits");
        assert!(door.try_enter(Mode::Exclusive));
        assert!(!door.try_enter(Mode::Shared) && !door.try_enter(Mode::Exclusive));
        assert!(!door.leave(Mode::Exclusive));
    }

    #[test]
    fn one_rank_at_a_time_combines() {
        let door = Door::default();
        assert!(door.try_combine(LocalRank(0)));
        assert!(!door.try_combine(LocalRank(0)) && !door.try_combine(LocalRank(1)));
        door.end_combining();
        assert!(door.try_combine(LocalRank(1)));
    }

    #[test]
    fn nobody_goes_past_who_waits_but_by_the_holder_of_the_token() {
        let door = Door::default();
        assert!(door.try_enter(Mode::Shared));
        door.set_waited();
        assert!(!door.try_enter(Mode::Shared));
        assert!(door.try_let_in(Mode::Shared) && !door.try_let_in(Mode::Exclusive));
        assert!(!door.leave(Mode::Shared), "one is still in");
        assert!(door.leave(Mode::Shared));
        assert!(door.try_let_in(Mode::Exclusive));
        assert!(door.leave(Mode::Exclusive));
        door.clear_waited();
        assert!(door.try_enter(Mode::Exclusive) && !door.leave(Mode::Exclusive));
    }
}
