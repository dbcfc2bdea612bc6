//! Turns: how long a thread waits for a processor each time that it wants one, as the system counts it
//! (proc(5), `schedstat`; "run delay" in the kernel's `Documentation/scheduler/sched-stats.rst`).
//!
//! A thread that yields to others who only wait, too, has its next turn after microseconds. Beside one who
//! computes it loses whole slices of the system's. What counts is the share of time that is lost so: a few
//! long ones among many short ones are as bad as the time they take. Where a yield gives way to nobody,
//! because the others are in another scheduling group, the system takes the processor away in the end, and
//! that counts the same.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::thread::{Pid, gettid};

/// How long a thread waits at most for turns that count as short, in nanoseconds. With eight ranks that wait
/// on two processors it is 65,000 to 84,000 on average, beside two threads that compute and whose slices a
/// rank may cut short ([`super::time_slice`]) 76,000 to 124,000; a whole slice of the system's takes 700,000
/// and more.
const SHORT_NS: u64 = 250_000;

/// Over about this time the share that was lost is taken, in nanoseconds: a single long turn, which somebody
/// else needed once, is a small part of it.
const WINDOW_NS: u64 = 16_000_000;

/// So much of the time may be lost.
const MOST_LOST: u64 = 4;

/// What the system has counted for a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How long it has waited for a processor, in nanoseconds.
    pub waited_ns: u64,
    /// How often it was given one.
    pub turns: u64,
}

/// Threads that may ask in turn, as they wait: of more, those that have not asked for long begin anew.
const THREADS: usize = 8;

/// A thread that has asked.
#[derive(Debug)]
struct Asked {
    thread: Pid,
    /// Where the system says what it has counted for it.
    file: OwnedFd,
    /// What that was when it asked last, and when it did.
    before: Option<(Counts, u64)>,
}

/// The turns of the threads that ask.
#[derive(Debug, Default)]
pub struct Turns {
    /// Who asked last is the last one.
    asked: Vec<Asked>,
    /// Of so much time, in nanoseconds, so much was spent waiting, and lost in long turns.
    waited_ns: u64,
    lost_ns: u64,
    seen_ns: u64,
}

impl Turns {
    /// Turns as this file says, in the place of the system.
    #[cfg(test)]
    pub(super) fn told_by(file: OwnedFd) -> Self {
        Self { asked: vec![Asked { thread: gettid(), file, before: None }], ..Self::default() }
    }

    /// Looks what the system has counted for this thread since its last look.
    pub fn look(&mut self, now_ns: u64) {
        let thread = gettid();
        match self.asked.iter().position(|asked| asked.thread == thread) {
            Some(at) => self.asked[at..].rotate_left(1),
            None => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let file = rustix::fs::open("/proc/thread-self/schedstat", flags, Mode::empty());
                let Ok(file) = file else { return };
                if self.asked.len() == THREADS {
                    self.asked.remove(0);
                }
                self.asked.push(Asked { thread, file, before: None });
            }
        }
        let Some(asked) = self.asked.last_mut() else { return };
        let mut text = [0; 64];
        let told = rustix::io::pread(&asked.file, &mut text, 0).ok();
        let told = told.and_then(|length| counts(&text[..length])).map(|counts| (counts, now_ns));
        let before = std::mem::replace(&mut asked.before, told);
        if let (Some(before), Some(now)) = (before, told) {
            self.note(before, now);
        }
    }

    /// Between these two moments the system has counted so much.
    fn note(&mut self, (before, before_ns): (Counts, u64), (counts, now_ns): (Counts, u64)) {
        let waited_ns = counts.waited_ns.saturating_sub(before.waited_ns);
        let turns = counts.turns.saturating_sub(before.turns).max(1);
        self.seen_ns += now_ns.saturating_sub(before_ns);
        self.waited_ns += waited_ns;
        if waited_ns / turns > SHORT_NS {
            self.lost_ns += waited_ns;
        }
        while self.seen_ns > WINDOW_NS {
            for ns in [&mut self.waited_ns, &mut self.lost_ns, &mut self.seen_ns] {
                *ns /= 2;
            }
        }
    }

    /// Whether the thread has its turns soon, as far as it was seen. Where the system says nothing it has
    /// not.
    pub fn are_short(&self) -> bool {
        self.asked.last().is_some_and(|asked| asked.before.is_some())
            && self.lost_ns <= self.seen_ns / MOST_LOST
    }

    /// Whether others want the thread's processor for a good part of the time, so far as it was seen.
    pub fn are_shared(&self) -> bool {
        self.waited_ns > self.seen_ns / MOST_LOST
    }

    /// Forgets what was lost.
    pub fn forget(&mut self) {
        (self.waited_ns, self.lost_ns, self.seen_ns) = (0, 0, 0);
    }
}

/// Of `schedstat`: time on a processor, time of waiting for one, turns. A system that counts nothing says
/// zeros: who reads that has been given a processor.
fn counts(text: &[u8]) -> Option<Counts> {
    let mut fields = std::str::from_utf8(text).ok()?.split_ascii_whitespace().map(str::parse);
    let (Some(Ok(_ran_ns)), Some(Ok(waited_ns)), Some(Ok(turns))) =
        (fields.next() as Option<Result<u64, _>>, fields.next(), fields.next())
    else {
        return None;
    };
    (turns != 0).then_some(Counts { waited_ns, turns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_from_what_the_system_writes() {
        assert_eq!(counts(b"68201 1507 12\n"), Some(Counts { waited_ns: 1507, turns: 12 }));
        assert_eq!([b"".as_slice(), b"1 2\n", b"1 2 x\n", b"\xff 2 3\n", b"0 0 0\n"].map(counts), [None; 5]);
    }

    /// Looks each 100 us at somebody who has waited so long in each turn, with so many turns a look.
    fn looks(turns: &mut Turns, looks: u64, a_turn_ns: u64, a_look: u64) {
        for _ in 0..looks {
            let now = Counts { waited_ns: a_turn_ns * a_look, turns: a_look };
            turns.note((Counts::default(), 0), (now, (a_turn_ns * a_look).max(100_000)));
        }
    }

    /// Of somebody who has asked, of whom the system has counted nothing.
    fn asked() -> Turns {
        let file = rustix::fs::open("/dev/null", OFlags::RDONLY, Mode::empty()).unwrap();
        let before = Some((Counts::default(), 0));
        Turns { asked: vec![Asked { thread: gettid(), file, before }], ..Turns::default() }
    }

    #[test]
    fn turns_among_those_who_wait_are_short_and_those_beside_who_computes_are_not() {
        assert!(!Turns::default().are_short(), "nothing is known");
        let mut turns = asked();
        // Alone, in turns with many others, and at the limit.
        for (a_turn_ns, a_look) in [(0, 0), (1_300, 40), (SHORT_NS, 1)] {
            looks(&mut turns, 1000, a_turn_ns, a_look);
            assert!(turns.are_short(), "{a_turn_ns} {a_look}");
            assert_eq!(turns.are_shared(), a_turn_ns != 0, "{a_turn_ns} {a_look}");
        }
        looks(&mut turns, 1, 3_000_000, 1);
        assert!(turns.are_short(), "one long turn");
        looks(&mut turns, 10, 3_000_000, 1);
        assert!(!turns.are_short());
        looks(&mut turns, 1000, 1_300, 40);
        assert!(turns.are_short(), "whoever computed has gone");
        // Seldom, but a third of the time.
        for _ in 0..20 {
            looks(&mut turns, 60, 1_300, 40);
            looks(&mut turns, 1, 3_000_000, 1);
        }
        assert!(!turns.are_short());
        turns.forget();
        assert!(turns.are_short());
    }

    #[test]
    fn each_thread_is_seen_by_the_system_from_its_first_look_to_its_next() {
        let mut turns = Turns::default();
        turns.look(1);
        if !turns.are_short() {
            bcs_harness::skip("this system does not count how long threads wait");
            return;
        }
        turns.look(100);
        assert_eq!(turns.seen_ns, 99);
        std::thread::scope(|scope| {
            let turns = &mut turns;
            scope.spawn(|| {
                turns.look(200);
                assert_eq!(turns.seen_ns, 99, "the first look of this thread");
                turns.look(300);
            });
        });
        assert_eq!(turns.seen_ns, 199);
        turns.look(400);
        assert_eq!(turns.seen_ns, 499, "since this thread's last look");
    }
}
