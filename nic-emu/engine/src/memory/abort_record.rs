//! The abort record: who ended the job, with which exit code and message.
//!
//! Several may want to at the same moment: two ranks that abort, or both ends of an edge that find that they
//! do not fit. Who claims the record first writes it, alone, and then publishes; so what is read was written
//! by one.

use crate::memory::sync::{AtomicU32, Ordering};
use crate::memory::text::{TEXT_BYTES, Text};

/// Who ended the job, and what they said. All zeros at first.
#[cfg_attr(any(test, loom), derive(Default))]
#[repr(C, align(64))]
pub struct AbortRecord<const WORDS: usize = { TEXT_BYTES / 8 }> {
    /// 0 while nobody has, 1 + the local rank of the rank, or what `crate::memory::abort` has for the NIC
    /// and the launcher.
    said_by: AtomicU32,
    /// 1 once somebody is about to say: nobody else writes then.
    claimed: AtomicU32,
    code: AtomicU32,
    message: Text<WORDS>,
}

impl<const WORDS: usize> AbortRecord<WORDS> {
    /// Whether the job is to end. What was said is not yet to be read because of it.
    #[inline]
    pub fn is_said(&self) -> bool {
        self.said_by.load(Ordering::Relaxed) != 0
    }

    /// Who said it; 0 while nobody has.
    pub fn said_by(&self) -> u32 {
        self.said_by.load(Ordering::Acquire)
    }

    /// Says that `who`, which is not 0, ends the job; of a message too long its beginning. Only the first is
    /// heard; answers whether it was.
    pub fn say(&self, who: u32, code: i32, message: &str) -> bool {
        if self.is_said() || self.claimed.swap(1, Ordering::Relaxed) != 0 {
            return false;
        }
        self.code.store(code as u32, Ordering::Relaxed);
        self.message.write(message);
        // The launcher may have ended the job meanwhile.
        self.said_by.compare_exchange(0, who, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Ends the job without a word, if nobody has ended it.
    pub fn end(&self, who: u32) {
        let _ = self.said_by.compare_exchange(0, who, Ordering::Release, Ordering::Relaxed);
    }

    /// The exit code and the message of whom [`AbortRecord::said_by`] told.
    pub fn read(&self) -> (i32, String) {
        (self.code.load(Ordering::Relaxed) as i32, self.message.read())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_heard_whole_and_the_others_are_told_that_they_were_not() {
        let record = AbortRecord::<4>::default();
        assert_eq!(record.said_by(), 0);
        assert!(record.say(3, -7, "no mesh"));
        assert!(!record.say(4, 1, "no file"));
        assert_eq!((record.said_by(), record.read()), (3, (-7, "no mesh".to_owned())));
    }

    #[test]
    fn a_message_too_long_is_cut() {
        let record = AbortRecord::<2>::default();
        assert!(record.say(2, 0, "seventeen letters"));
        assert_eq!(record.read().1, "seventeen letter");
    }
}
