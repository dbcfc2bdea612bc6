//! What ranks that want to know it are told of a hang before their job is ended: that there is one.

use crate::memory::sync::{AtomicU32, Ordering};

/// The news of a hang.
#[repr(C)]
#[derive(Default)]
pub struct HangNews {
    /// Ranks of the node that want to know.
    listeners: AtomicU32,
    /// Those of them that know.
    told: AtomicU32,
    /// Not 0: there is a hang.
    found: AtomicU32,
}

impl HangNews {
    /// A rank wants to know.
    pub fn listen(&self) {
        self.listeners.fetch_add(1, Ordering::AcqRel);
    }

    /// Says that there is a hang. True while somebody who wants to know does not.
    pub fn announce(&self) -> bool {
        self.found.store(1, Ordering::Release);
        self.told.load(Ordering::Acquire) < self.listeners.load(Ordering::Acquire)
    }

    /// Whether there is a hang.
    #[inline]
    pub fn is_found(&self) -> bool {
        self.found.load(Ordering::Acquire) != 0
    }

    /// A rank that wants to know does.
    pub fn take_note(&self) {
        self.told.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_hang_is_announced_until_all_who_want_to_know_do() {
        let news = HangNews::default();
        assert!(!news.announce(), "nobody wants to know");
        (0..2).for_each(|_| news.listen());
        assert!(news.announce() && news.is_found());
        news.take_note();
        assert!(news.announce());
        news.take_note();
        assert!(!news.announce());
    }
}
