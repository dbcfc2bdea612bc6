//! The wait word: how somebody says that it sleeps, and how others learn of it.
//!
//! Invariant that makes sleeping safe: a sleeper first announces that it sleeps, then looks once more at all
//! that it waits for; a waker first publishes, then looks at the word; both with a full fence between. One of
//! the two sees the other, so no wake is lost. What wakes the sleeper (a futex, a byte in a pipe) comes after
//! the word has been taken, and ends a sleep that has not begun yet, too.

use crate::memory::sync::{AtomicU32, Ordering, fence};

/// A wait word in NIC memory: 0 while its owner is awake, as it is at first, else where it sleeps.
#[derive(Default)]
#[repr(transparent)]
pub struct WaitWord(AtomicU32);

impl WaitWord {
    /// The owner says that it sleeps from now on, and where (not 0). It has to look once more before it does.
    #[inline]
    pub fn announce(&self, place: u32) {
        self.0.store(place, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// The owner says that it is awake.
    #[inline]
    pub fn retract(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Where the owner sleeps; 0 while it is awake, or once a waker has taken the word.
    #[inline]
    pub fn peek(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes the word, if its owner sleeps: who takes it has to wake it there. A waker that is not to miss a
    /// sleeper has a full fence between what it has published and this.
    #[inline]
    pub fn take(&self) -> u32 {
        let place = self.peek();
        if place != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
        place
    }

    /// The word that a futex sleeps on.
    #[inline]
    pub fn futex(&self) -> &AtomicU32 {
        &self.0
    }
}
