//! A process without a launcher looks for deadlocks itself, while it waits and has nothing to do.

use nic_emu::hang::{HangDetector, HangReport, LOOK_PERIOD};
use nic_emu::port::{Port, now_ns};

/// What the NIC thread of a launcher does beside running the NIC: looks for deadlocks.
#[derive(Default)]
pub(crate) struct Watch {
    detector: HangDetector,
    looked_at_ns: u64,
}

impl Watch {
    /// Looks if it is time to; answers the report of a deadlock.
    pub(super) fn look(&mut self, port: &Port) -> Option<HangReport> {
        let now = now_ns();
        if now.saturating_sub(self.looked_at_ns) < LOOK_PERIOD.as_nanos() as u64 {
            return None;
        }
        self.looked_at_ns = now;
        self.detector.look(port.memory())
    }
}
