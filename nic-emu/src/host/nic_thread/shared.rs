//! What the NIC thread shares with whoever has started it: when it is to end, and what it has found.

use super::finding::Finding;
use crate::hang::LOOK_PERIOD;
use crate::host::wake_pipe::WakePipe;
use crate::memory::NicMemory;
use crate::memory::status::Activity;
use crate::memory::token::Holder;
use crate::memory::unexpected;
use crate::threads::processor::Processor;
use bcs_core::NodeSet;
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long the thread sleeps when there is no work: also how often it looks for a deadlock.
pub(super) const IDLE_SLEEP: Duration = LOOK_PERIOD;

/// What the thread shares with whoever started it.
pub(super) struct Shared {
    pub(super) memory: Arc<NicMemory>,
    pub(super) alarm: Arc<OwnedFd>,
    /// Of a job on several nodes.
    pub(super) pipe: Option<Arc<WakePipe>>,
    pub(super) stop: AtomicBool,
    pub(super) finding: Mutex<Option<Finding>>,
    /// Other nodes of the job that say nothing while their hosts answer.
    pub(super) stopped: Mutex<NodeSet>,
}

impl Shared {
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The NIC processor, as the thread runs it.
    pub(super) fn processor(&self) -> Processor<'_> {
        Processor::new(&self.memory, Holder::NIC_THREAD)
    }

    /// Every [`IDLE_SLEEP`]: gives memory of pools back that have been empty for a while. True when it was
    /// time for that.
    pub(super) fn trim(&self, trimmed_ns: &mut u64, now_ns: u64) -> Result<bool, Finding> {
        let is_time = now_ns.saturating_sub(*trimmed_ns) >= IDLE_SLEEP.as_nanos() as u64;
        if is_time {
            *trimmed_ns = now_ns;
            let processor = self.processor();
            unexpected::trim(&self.memory, || processor.try_hold()).map_err(Finding::Slice)?;
        }
        Ok(is_time)
    }

    /// True when some rank waits in MPI, and has not gone to sleep.
    pub(super) fn some_rank_polls(&self) -> bool {
        (self.memory.local_ranks())
            .filter_map(|rank| self.memory.rank(rank).ok())
            .any(|block| block.status.activity() == Activity::Polling)
    }

    pub(super) fn note_stopped(&self, stopped: NodeSet) {
        *self.stopped.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = stopped;
    }

    pub(super) fn report(&self, finding: Finding) {
        // When the job is being ended ranks leave, with messages of theirs under way: that is no reason
        // for its end. Memory that is corrupt may say anything.
        let is_being_ended = self.memory.header().abort.is_said();
        if is_being_ended && !matches!(finding, Finding::Slice(_)) {
            return;
        }
        // The first is why the job ends.
        self.finding.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert(finding);
        // The launcher has the alarm in its poll set; a counter at its limit is as good as one more.
        let _ = rustix::io::write(&*self.alarm, &1u64.to_ne_bytes());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::host::mapping::create_private;
    use crate::memory::Layout;
    use crate::memory::abort;
    use bcs_core::LocalRank;
    use rustix::event::{EventfdFlags, eventfd};

    #[test]
    fn what_is_found_when_the_job_is_being_ended_is_not_why_it_ends() {
        let memory = Arc::new(create_private(Layout::new(1, 1, [0; 2]).unwrap(), 0, 1).unwrap());
        let alarm = Arc::new(eventfd(0, EventfdFlags::NONBLOCK).unwrap());
        let of_job = || Shared {
            memory: memory.clone(),
            alarm: alarm.clone(),
            pipe: None,
            stop: AtomicBool::new(false),
            finding: Mutex::new(None),
            stopped: Mutex::default(),
        };
        let died = || Finding::Told("rank 1 has died".into());
        let before = of_job();
        before.report(died());
        assert!(before.finding.lock().unwrap().is_some());
        abort::say(&memory, LocalRank(1), 3, "MPI_Abort");
        let after = of_job();
        after.report(died());
        assert!(after.finding.lock().unwrap().is_none());
    }
}
