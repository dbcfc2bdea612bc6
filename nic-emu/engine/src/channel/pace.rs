//! What a sender has learnt of its channels' pace, by message size: whether its window is faster than
//! cross-memory attach by both ends.
//!
//! Neither is always: between cores of one L3 the window is, by two times; between cores that are far from
//! each other (other L3s, other sockets, and virtual ones that the host moves about while the job runs) lines
//! travel so slowly that attach is, by up to ten times. So each sender times what it does, in ticks of a
//! counter that its process reads, and from time to time times what it does not do. The receiver only reads
//! the outcome. All of it is a hint: whatever either end believes, ranges are claimed and moved once.

use crate::memory::Word;
use crate::policy::channel::{
    ATTACH_TRIAL_MESSAGES, FIRST_TRIAL_MESSAGES, WINDOW_TRIAL_MESSAGES, size_class,
};
use crate::policy::channel::{SIZE_CLASSES, is_slower};

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Goes through the window.
    Window,
    /// Goes by attach; its first bytes through the window when that is to be timed.
    Attach {
        /// Whether its first bytes go through the window.
        trial: bool,
    },
}

/// A sender's knowledge; in its window's header, written by that rank alone.
#[repr(C)]
pub(super) struct Pace {
    /// The outcome: a line of its own, as receivers read it with every message.
    attach: AttachWins,
    /// Messages of both ends in MPI so far, by size class.
    messages: [Word; SIZE_CLASSES],
    /// Ticks in which the window takes 64 KB; 0 when not known.
    window_ticks: [Word; SIZE_CLASSES],
    /// Ticks in which both ends together attach 64 KB; 0 when not known.
    attach_ticks: [Word; SIZE_CLASSES],
}

/// By size class: 1 when attach is the faster one.
#[repr(C, align(64))]
struct AttachWins([Word; SIZE_CLASSES]);

impl Pace {
    /// Whether attach is the faster one for a message of this size: what the receiver goes by.
    #[inline]
    pub(super) fn prefers_attach(&self, message_bytes: u64) -> bool {
        self.attach.0[size_class(message_bytes)].get() != 0
    }

    /// How a message goes; `first` says that it begins now.
    #[inline]
    pub(super) fn way(&self, message_bytes: u64, first: bool) -> Way {
        let class = size_class(message_bytes);
        let messages = self.messages[class].get().wrapping_add(first as u32);
        if first {
            self.messages[class].set(messages);
        }
        if self.attach.0[class].get() != 0 {
            return Way::Attach { trial: messages.is_multiple_of(WINDOW_TRIAL_MESSAGES) };
        }
        let unknown = self.attach_ticks[class].get() == 0 && messages >= FIRST_TRIAL_MESSAGES;
        if unknown || messages.is_multiple_of(ATTACH_TRIAL_MESSAGES) {
            return Way::Attach { trial: false };
        }
        Way::Window
    }

    /// Notes how long a chunk took to be put in the window.
    #[inline]
    pub(super) fn note_window(&self, message_bytes: u64, ticks: u64, bytes: u64) {
        let class = size_class(message_bytes);
        note(&self.window_ticks[class], ticks, bytes);
        self.compare(class);
    }

    /// Notes how long one end took to attach a range while the other end could attach another one.
    pub(super) fn note_attach(&self, message_bytes: u64, ticks: u64, bytes: u64) {
        let class = size_class(message_bytes);
        note(&self.attach_ticks[class], ticks / 2, bytes);
        self.compare(class);
    }

    #[inline]
    fn compare(&self, class: usize) {
        let (window, attach) = (self.window_ticks[class].get(), self.attach_ticks[class].get());
        if window == 0 || attach == 0 {
            return;
        }
        let now = self.attach.0[class].get() != 0;
        // The line is read by the receiver: it is written only when the outcome changes.
        if now != is_slower(class, window, attach, now) {
            self.attach.0[class].set(!now as u32);
        }
    }
}

/// Moves an estimate towards a sample: a quarter of the way, and upwards by at most a quarter of itself, so
/// that a sample during which the core was taken away counts little.
#[inline]
fn note(estimate: &Word, ticks: u64, bytes: u64) {
    if ticks == 0 || bytes == 0 {
        return;
    }
    let sample = ((ticks << 16) / bytes).clamp(1, u32::MAX as u64 / 2);
    let old = estimate.get() as u64;
    let new = match old {
        0 => sample,
        old => old - old / 4 + sample.min(2 * old) / 4,
    };
    estimate.set(new.max(1) as u32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::array::from_fn;

    fn pace() -> Pace {
        let words = || from_fn(|_| Word::default());
        Pace { attach: AttachWins(words()), messages: words(), window_ticks: words(), attach_ticks: words() }
    }

    /// Sends messages where either way costs this much; answers how many went by attach.
    fn send(pace: &Pace, messages: u32, bytes: u64, window_ticks: u64, attach_ticks: u64) -> u32 {
        let mut attached = 0;
        for _ in 0..messages {
            match pace.way(bytes, true) {
                Way::Window => pace.note_window(bytes, window_ticks, bytes),
                Way::Attach { trial } => {
                    attached += 1;
                    if trial {
                        pace.note_window(bytes, window_ticks, bytes);
                    }
                    pace.note_attach(bytes, attach_ticks, bytes);
                }
            }
        }
        attached
    }

    #[test]
    fn the_faster_way_is_found_and_found_again_when_the_machine_changes() {
        let pace = pace();
        assert!(send(&pace, 5_000, 65_536, 3_000, 20_000) < 20);
        assert!(send(&pace, 5_000, 65_536, 80_000, 20_000) > 4_800);
        assert!(pace.prefers_attach(65_536) && !pace.prefers_attach(1 << 20));
        assert!(send(&pace, 5_000, 65_536, 3_000, 20_000) < 2_000);
        assert!(!pace.prefers_attach(65_536));
    }

    #[test]
    fn a_core_that_is_taken_away_now_and_then_changes_nothing() {
        let pace = pace();
        send(&pace, 100, 65_536, 3_000, 20_000);
        for _ in 0..50 {
            pace.note_window(65_536, 50_000_000, 4_096);
            send(&pace, 20, 65_536, 3_000, 20_000);
            assert!(!pace.prefers_attach(65_536));
        }
    }

    #[test]
    fn without_a_counter_the_window_is_used_but_for_trials() {
        let pace = pace();
        pace.note_window(20_000, 0, 4_096);
        assert_eq!(pace.way(20_000, true), Way::Window);
        assert!(!pace.prefers_attach(20_000));
    }
}
