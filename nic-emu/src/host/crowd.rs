//! The crowd: whether more want to run on this machine than it has processors.
//!
//! In a job on several nodes ranks and NIC threads wait for packets, which no yield brings about. Who polls
//! for them on a processor that nobody else wants is quickest; on one that others want it is in their way,
//! and Linux lets it be for a whole slice of a millisecond and more where the others are in another
//! scheduling group (a session of its own, a container), since a yield gives way to one's own group only. So
//! who polls asks now and then how many want to run, and sleeps where that is too many.

use crate::policy::CROWD_GOOD_FOR_NS;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};

/// Twice as many as the answers that have to outweigh the others until the machine is taken for one that
/// stays crowded.
const MOST_PRESSURE: u32 = 32;

/// Asks how many want to run.
#[derive(Debug)]
pub struct Crowd {
    /// Where the system says it; none where it does not.
    file: Option<OwnedFd>,
    processors: u32,
    asked_ns: u64,
    is_crowded: bool,
    /// Of the last answers, how many more said that it is than that it is not: 0 to [`MOST_PRESSURE`].
    pressure: u32,
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
            is_crowded: local_ranks >= cores,
            pressure: 0,
        }
    }

    /// Whether it has mostly been crowded lately, as far as somebody has asked: a thread that looks at
    /// something every now and then makes no crowd.
    pub fn stays_crowded(&self) -> bool {
        match self.file {
            Some(_) => self.pressure > MOST_PRESSURE / 2,
            None => self.is_crowded,
        }
    }

    /// Whether more want to run than there are processors, the caller included.
    pub fn is_crowded(&mut self, now_ns: u64) -> bool {
        let Some(file) = &self.file else { return self.is_crowded };
        if now_ns.saturating_sub(self.asked_ns) >= CROWD_GOOD_FOR_NS {
            self.asked_ns = now_ns;
            let mut text = [0; 128];
            let running =
                rustix::io::pread(file, &mut text, 0).ok().and_then(|length| running(&text[..length]));
            self.is_crowded = running.is_none_or(|running| running > self.processors);
            self.pressure = match self.is_crowded {
                true => MOST_PRESSURE.min(self.pressure + 1),
                false => self.pressure.saturating_sub(1),
            };
        }
        self.is_crowded
    }
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
        let mut crowd = Crowd { processors: 0, ..Crowd::new(1, u32::MAX) };
        if crowd.file.is_none() {
            return;
        }
        // This thread runs.
        assert!(crowd.is_crowded(CROWD_GOOD_FOR_NS));
        crowd.processors = u32::MAX;
        assert!(crowd.is_crowded(2 * CROWD_GOOD_FOR_NS - 1) && !crowd.is_crowded(2 * CROWD_GOOD_FOR_NS));
    }

    #[test]
    fn where_the_system_tells_nothing_the_ranks_and_cores_of_the_node_decide() {
        for (ranks, cores, crowded) in [(1, 2, false), (2, 2, true), (3, 2, true)] {
            let mut crowd = Crowd { file: None, ..Crowd::new(ranks, cores) };
            assert_eq!(crowd.is_crowded(1 << 40), crowded);
        }
    }
}
