//! What a process does about deadlocks while it waits: without a launcher it looks for them itself, and where
//! a tool wants to be told of them, it hears what its launcher has found.

use nic_emu::hang::{HangDetector, HangReport, LOOK_PERIOD};
use nic_emu::memory::NicMemory;
use nic_emu::port::{Port, now_ns};

/// Who looks for deadlocks.
pub(crate) enum Watch {
    /// This process, which has no launcher.
    Itself { detector: HangDetector, looked_at_ns: u64 },
    /// The launcher, which a tool wants to be told of.
    Launcher {
        /// It was told.
        is_told: bool,
    },
}

/// What there is to be done.
pub(super) enum Hang {
    /// The tool is to be told; the launcher ends the job.
    Told,
    /// The job is to be ended.
    Found(HangReport),
}

impl Watch {
    /// Of a process without a launcher.
    pub(crate) fn itself() -> Self {
        Self::Itself { detector: HangDetector::default(), looked_at_ns: 0 }
    }

    /// Of a process whose tool wants to know what its launcher finds.
    pub(crate) fn launcher(memory: &NicMemory) -> Self {
        memory.header().hang_news.listen();
        Self::Launcher { is_told: false }
    }

    /// Looks, if it is time to.
    pub(super) fn look(&mut self, port: &Port) -> Option<Hang> {
        match self {
            Self::Itself { detector, looked_at_ns } => {
                let now = now_ns();
                if now.saturating_sub(*looked_at_ns) < LOOK_PERIOD.as_nanos() as u64 {
                    return None;
                }
                *looked_at_ns = now;
                detector.look(port.memory()).map(Hang::Found)
            }
            Self::Launcher { is_told } => {
                let is_news = !*is_told && port.memory().header().hang_news.is_found();
                *is_told |= is_news;
                is_news.then_some(Hang::Told)
            }
        }
    }
}
