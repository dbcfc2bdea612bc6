//! The crowd: whether more want to run on this machine than it has processors.
//!
//! In a job on several nodes ranks and NIC threads wait for packets, which no yield brings about. Who polls
//! for them on a processor that nobody else wants is quickest. On one that others want, it depends on them.
//! Where they only wait, too, all yield, and each has its turn after microseconds. Where they compute, a
//! yield takes a slice of theirs; and there are systems where one gives way to nobody, because the others are
//! in another scheduling group (a session of its own, a container). So who polls asks now and then how many
//! want to run. A NIC thread sleeps where more want to run than there are processors. A rank looks how long
//! it waits for a processor each time, too ([`super::turns`]), and sleeps there only if that is long.
//!
//! Who sleeps leaves its messages to NIC threads, which then want to run, too: a crowd would stay one by
//! itself when those have long gone who made it. So the machine is taken for free again after a while, and
//! later each time that it turns out not to be.

use super::turns::Turns;
use crate::policy::CROWD_GOOD_FOR_NS;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::ops::RangeInclusive;

/// Twice as many as the answers that have to outweigh the others until the machine is taken for one that
/// stays crowded.
const MOST_PRESSURE: u32 = 32;

/// How long a crowded machine is taken for one, in nanoseconds: at first, and at most. To find that it still
/// is takes half of [`MOST_PRESSURE`] answers, some 0.3 ms.
const CROWDED_NS: RangeInclusive<u64> = 1_000_000..=64_000_000;

/// Asks how many want to run.
#[derive(Debug)]
pub struct Crowd {
    /// Where the system says it; none where it does not.
    file: Option<OwnedFd>,
    processors: u32,
    asked_ns: u64,
    /// More want to run than there are processors.
    are_many: bool,
    is_crowded: bool,
    /// The turns of who asks, if it yields to others.
    turns: Option<Turns>,
    /// Of the last answers, how many more said that it is than that it is not: 0 to [`MOST_PRESSURE`].
    pressure: u32,
    /// When the pressure came to count as that of a crowd last.
    crowded_at_ns: u64,
    /// How long the machine is taken for crowded from then on.
    crowded_for_ns: u64,
}

impl Crowd {
    /// For a node of so many ranks and cores: where the system tells nothing, they are all taken for awake,
    /// and the NIC thread too.
    pub fn new(local_ranks: u32, cores: u32) -> Self {
        // SAFETY: no pointers.
        let online = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Self {
            file: rustix::fs::open("/proc/loadavg", flags, Mode::empty()).ok(),
            processors: u32::try_from(online).map_or(cores, |online| online.max(1)),
            asked_ns: 0,
            are_many: local_ranks >= cores,
            is_crowded: local_ranks >= cores,
            turns: None,
            pressure: 0,
            crowded_at_ns: 0,
            crowded_for_ns: *CROWDED_NS.start(),
        }
    }

    /// The same for who yields to others.
    pub fn of_yielding(local_ranks: u32, cores: u32) -> Self {
        Self { turns: Some(Turns::default()), ..Self::new(local_ranks, cores) }
    }

    /// Whether it has mostly been crowded lately, as far as somebody has asked: a thread that looks at
    /// something every now and then makes no crowd.
    pub fn stays_crowded(&self) -> bool {
        match self.file {
            Some(_) => self.is_pressed(),
            None => self.is_crowded,
        }
    }

    /// Whether more want to run than there are processors, and some of them the caller's, as far as somebody
    /// has asked.
    pub fn shares_its_processor(&self) -> bool {
        self.are_many && self.turns.as_ref().is_none_or(Turns::are_shared)
    }

    /// Whether more want to run than there are processors, and the caller has to wait long for its turns.
    pub fn is_crowded(&mut self, now_ns: u64) -> bool {
        let Some(file) = &self.file else { return self.is_crowded };
        if now_ns.saturating_sub(self.asked_ns) >= CROWD_GOOD_FOR_NS {
            self.asked_ns = now_ns;
            let mut text = [0; 128];
            let running =
                rustix::io::pread(file, &mut text, 0).ok().and_then(|length| running(&text[..length]));
            self.are_many = running.is_none_or(|running| running > self.processors);
            self.is_crowded =
                self.are_many && !self.turns.as_mut().is_some_and(|turns| has_its_turns(turns, now_ns));
            self.press(now_ns);
        }
        self.is_crowded
    }

    fn is_pressed(&self) -> bool {
        self.pressure > MOST_PRESSURE / 2
    }

    /// Takes the last answer into account.
    fn press(&mut self, now_ns: u64) {
        let was_pressed = self.is_pressed();
        self.pressure = match self.is_crowded {
            true => MOST_PRESSURE.min(self.pressure + 1),
            false => self.pressure.saturating_sub(1),
        };
        let since_ns = now_ns.saturating_sub(self.crowded_at_ns);
        if !self.is_pressed() {
            return;
        }
        let (least, most) = CROWDED_NS.into_inner();
        if !was_pressed {
            let is_again = since_ns < 2 * self.crowded_for_ns;
            self.crowded_for_ns = if is_again { most.min(2 * self.crowded_for_ns) } else { least };
            self.crowded_at_ns = now_ns;
        } else if since_ns >= self.crowded_for_ns {
            self.pressure = 0;
            // Who sleeps has no turns, so it is tried again whether they are short.
            self.turns.iter_mut().for_each(Turns::forget);
        }
    }
}

/// Whether who asks waits for a processor only as long as those take who wait, too.
fn has_its_turns(turns: &mut Turns, now_ns: u64) -> bool {
    turns.look(now_ns);
    turns.are_short()
}

/// Of `/proc/loadavg`: the first number of the fourth field, "currently runnable kernel scheduling entities"
/// (proc_loadavg(5)).
fn running(text: &[u8]) -> Option<u32> {
    let field = text.split(|&byte| byte == b' ').nth(3)?;
    let (number, _) = std::str::from_utf8(field).ok()?.split_once('/')?;
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks in a second.
    const SECOND: u64 = 1_000_000_000 / CROWD_GOOD_FOR_NS;

    /// A crowd, if the system says how many want to run.
    fn asked(crowd: Crowd) -> Option<Crowd> {
        if crowd.file.is_none() {
            bcs_harness::skip("this system does not say how many want to run");
            return None;
        }
        Some(crowd)
    }

    #[test]
    fn the_number_of_those_who_want_to_run_is_read_from_what_the_system_writes() {
        assert_eq!(running(b"0.90 3.87 7.14 2/85 20460\n"), Some(2));
        assert_eq!(running(b"120.00 3.87 7.14 1024/8500 4194304\n"), Some(1024));
        assert_eq!(running(b""), None);
        assert_eq!(running(b"0.90 3.87 7.14"), None);
        assert_eq!(running(b"0.90 3.87 7.14 none 1"), None);
    }

    #[test]
    fn a_machine_with_fewer_processors_than_run_is_crowded_and_an_answer_is_good_for_a_while() {
        let Some(crowd) = asked(Crowd::new(1, u32::MAX)) else { return };
        let mut crowd = Crowd { processors: 0, ..crowd };
        // This thread runs.
        assert!(crowd.is_crowded(CROWD_GOOD_FOR_NS));
        crowd.processors = u32::MAX;
        assert!(crowd.is_crowded(2 * CROWD_GOOD_FOR_NS - 1) && !crowd.is_crowded(2 * CROWD_GOOD_FOR_NS));
    }

    /// What a crowd of so many stays taken for, in looks of 20 us: for how many of them it is crowded.
    fn crowded_looks(crowd: &mut Crowd, processors: u32, looks: std::ops::Range<u64>) -> u64 {
        crowd.processors = processors;
        let mut crowded = 0;
        for look in looks {
            crowd.is_crowded((look + 1) * CROWD_GOOD_FOR_NS);
            crowded += u64::from(crowd.stays_crowded());
        }
        crowded
    }

    #[test]
    fn a_crowd_that_lasts_is_taken_for_one_nearly_always_and_one_that_has_gone_is_soon_forgotten() {
        let Some(mut crowd) = asked(Crowd::new(1, u32::MAX)) else { return };
        let crowded = crowded_looks(&mut crowd, 0, 0..SECOND / 2);
        assert!(crowded > SECOND / 2 * 9 / 10, "{crowded} of {}", SECOND / 2);
        // Now and then it is tried whether it still is.
        let crowded = crowded_looks(&mut crowd, 0, SECOND / 2..SECOND);
        assert!(crowded > SECOND / 2 * 9 / 10 && crowded < SECOND / 2, "{crowded} of {}", SECOND / 2);
        let longest = CROWDED_NS.end() / CROWD_GOOD_FOR_NS;
        let crowded = crowded_looks(&mut crowd, u32::MAX, SECOND..2 * SECOND);
        assert!(crowded <= longest, "{crowded}");
        // A short one, after a while without any.
        let crowded = crowded_looks(&mut crowd, 0, 2 * SECOND..2 * SECOND + 20);
        assert_eq!(crowded, 20 - u64::from(MOST_PRESSURE / 2));
        assert_eq!(crowd.crowded_for_ns, *CROWDED_NS.start());
    }

    #[test]
    fn who_has_its_turns_soon_is_in_no_crowd() {
        let Some(crowd) = asked(Crowd::of_yielding(1, u32::MAX)) else { return };
        let told = rustix::fs::memfd_create("schedstat", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let mut crowd = Crowd { turns: Some(Turns::told_by(told.try_clone().unwrap())), ..crowd };
        let (mut waited_ns, mut turns, mut looks) = (0, 1, 0);
        let mut after_turns_of = |crowd: &mut Crowd, ns: u64| {
            let from = looks;
            looks += SECOND / 4;
            (from..looks)
                .map(|look| {
                    // Who is in a crowd sleeps, and wants no processor.
                    if !crowd.stays_crowded() {
                        (waited_ns, turns) = (waited_ns + ns, turns + 1);
                    }
                    let text = format!("{:020} {waited_ns:020} {turns:020}\n", 0);
                    rustix::io::pwrite(&told, text.as_bytes(), 0).unwrap();
                    crowded_looks(crowd, 0, look..look + 1)
                })
                .sum::<u64>()
        };
        for alone_or_beside_who_waits in [0, 2_000, 100_000] {
            assert_eq!(after_turns_of(&mut crowd, alone_or_beside_who_waits), 0);
        }
        for beside_who_computes in [700_000, 3_000_000] {
            let crowded = after_turns_of(&mut crowd, beside_who_computes);
            assert!(crowded > SECOND / 4 * 8 / 10, "{crowded} of {}", SECOND / 4);
        }
        let longest = CROWDED_NS.end() / CROWD_GOOD_FOR_NS;
        assert!(after_turns_of(&mut crowd, 2_000) <= longest);
    }

    #[test]
    fn where_the_system_tells_nothing_the_ranks_and_cores_of_the_node_decide() {
        for (ranks, cores, crowded) in [(1, 2, false), (2, 2, true), (3, 2, true)] {
            let mut crowd = Crowd { file: None, ..Crowd::new(ranks, cores) };
            assert_eq!(crowd.is_crowded(1 << 40), crowded);
        }
    }
}
