//! What has been learnt of a sender's channels, by message size: whether messages that both ends wait for are
//! faster through its window or by cross-memory attach of both ends.
//!
//! Neither is always: between cores of one L3 the window is, by up to three times; between cores that are far
//! from each other (other L3s, other sockets, and virtual ones that the host moves about while the job runs)
//! lines travel so slowly that attach can be. So whole messages are timed, from the first byte that is
//! claimed to the last one in place: a few by what is in use, and, one after the other, as many by the other
//! channel, whose memory is at hand again after the first of them. The fastest ones are compared. Parts of a
//! message would say less: each end sees only its own, and waits for the other one's.
//!
//! Whoever moves a message's last byte notes what it took. All of it is a hint: whatever either end believes,
//! ranges are claimed and moved once.

use crate::memory::Word;
use crate::policy::channel::{
    FIRST_TRIAL_MESSAGES, ROUND_MESSAGES, SIZE_CLASSES, TRIAL_MESSAGES, is_faster, size_class,
};

/// What has been learnt of a sender's channels; in its window's header.
#[repr(C)]
#[derive(Default)]
pub(super) struct Pace {
    /// What messages do now: a line of its own, as receivers read it with every message.
    attach: AttachInUse,
    learnt: [Learnt; SIZE_CLASSES],
}

/// By size class: 1 when messages go by attach.
#[repr(C, align(64))]
#[derive(Default)]
struct AttachInUse([Word; SIZE_CLASSES]);

/// Of a size class.
#[repr(C, align(64))]
#[derive(Default)]
struct Learnt {
    /// Messages so far.
    messages: Word,
    /// 1 when attach is the faster one; a trial of the other one changes nothing here.
    settled: Word,
    /// The fewest ticks of a message for 64 KB of it: through the window, and by attach; 0 when not known.
    ticks: [Word; 2],
}

impl Pace {
    /// Whether a message of this size goes by attach.
    #[inline]
    pub(super) fn goes_by_attach(&self, message_bytes: u64) -> bool {
        self.attach.0[size_class(message_bytes)].get() != 0
    }

    /// Notes that a message is over, and the ticks that it took by attach or through the window, if it went
    /// one way and both ends were at it.
    #[inline]
    pub(super) fn note(&self, message_bytes: u64, by_attach: bool, ticks: Option<u64>) {
        let class = size_class(message_bytes);
        let learnt = &self.learnt[class];
        if let Some(ticks) = ticks {
            let sample = (ticks << 16).checked_div(message_bytes).unwrap_or(0).clamp(1, u32::MAX as u64);
            let best = &learnt.ticks[by_attach as usize];
            if best.get() == 0 || sample < best.get() as u64 {
                best.set(sample as u32);
            }
        }
        let messages = learnt.messages.get().wrapping_add(1);
        learnt.messages.set(messages);
        let settled = learnt.settled.get() != 0;
        const FROM_NOW: u32 = ROUND_MESSAGES - TRIAL_MESSAGES;
        match messages.wrapping_sub(FIRST_TRIAL_MESSAGES) % ROUND_MESSAGES {
            FROM_NOW => learnt.ticks[settled as usize].set(0),
            0 => {
                learnt.ticks[!settled as usize].set(0);
                self.attach.0[class].set(!settled as u32);
            }
            TRIAL_MESSAGES => {
                let (tried, known) =
                    (learnt.ticks[!settled as usize].get(), learnt.ticks[settled as usize].get());
                let changes = tried != 0 && (known == 0 || is_faster(tried, known));
                learnt.settled.set((settled != changes) as u32);
                self.attach.0[class].set((settled != changes) as u32);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends messages that take this long either way; answers how many went by attach.
    fn send(pace: &Pace, messages: u32, bytes: u64, mut ticks: impl FnMut(bool, u32) -> Option<u64>) -> u32 {
        let mut attached = 0;
        for message in 0..messages {
            let by_attach = pace.goes_by_attach(bytes);
            attached += by_attach as u32;
            pace.note(bytes, by_attach, ticks(by_attach, message));
        }
        attached
    }

    fn taking(window: u64, attach: u64) -> impl Fn(bool, u32) -> Option<u64> {
        move |by_attach, _| Some(if by_attach { attach } else { window })
    }

    #[test]
    fn the_faster_way_is_found_and_found_again_when_the_machine_changes() {
        let pace = Pace::default();
        assert!(send(&pace, 5_000, 65_536, taking(3_000, 20_000)) < 50);
        assert!(send(&pace, 5_000, 65_536, taking(80_000, 20_000)) > 3_900);
        assert!(pace.goes_by_attach(65_536) && !pace.goes_by_attach(1 << 20));
        assert!(send(&pace, 5_000, 65_536, taking(3_000, 20_000)) < 1_100);
        assert!(!pace.goes_by_attach(65_536));
    }

    #[test]
    fn a_core_that_is_taken_away_now_and_then_changes_nothing() {
        let pace = Pace::default();
        let attached = send(&pace, 50_000, 1 << 20, |by_attach, message| {
            let slow = message.is_multiple_of(3);
            Some(if slow {
                50_000_000
            } else if by_attach {
                200_000
            } else {
                90_000
            })
        });
        assert!(attached < 50_000 / 100, "{attached}");
    }

    #[test]
    fn what_is_slow_at_first_because_its_memory_is_not_at_hand_is_not_judged_by_that() {
        let pace = Pace::default();
        let mut in_a_row = 0;
        let attached = send(&pace, 20_000, 1 << 20, |by_attach, message| {
            in_a_row = if by_attach { 0 } else { in_a_row + 1 };
            let cold = in_a_row < 3 || message < 10;
            Some(if by_attach {
                200_000
            } else if cold {
                900_000
            } else {
                90_000
            })
        });
        assert!(attached < 20_000 / 100, "{attached}");
    }

    #[test]
    fn without_a_counter_the_window_is_used_but_for_trials() {
        let pace = Pace::default();
        assert!(send(&pace, 10_000, 20_000, |_, _| None) <= 10 * TRIAL_MESSAGES);
    }
}
