//! What global slices add to SS, the Strobe Sender (paper, §4.2; table 5.1;
//! [`crate::threads::strobe_sender`]): the lead node's decision which microphase all nodes are in.
//!
//! It strobes a microphase, which goes down the tree of the job's nodes ([`super::strobe_tree`]), until the
//! reports of all of them have come up. They say what the rest of the slice needs; what no node needs is
//! skipped. At the end of a slice another one begins at once, if some node wants one; with fixed slices at
//! the next beat.
//!
//! ```text
//!  resting ─► strobe ─► all have reported ─► a microphase that somebody needs: strobe
//!     ▲                                  └─► none: does somebody want a slice? ─► yes: strobe
//!     └───────────────────────────────────────────────────────────────────────────┘ no
//! ```

use super::layout::{GlobalLayout, RUNG};
use super::strobe_tree::{Report, earlier, read_bells, strobe};
use crate::policy::Pacing;
use crate::threads::microphase::Microphase;
use bcs_core::SliceIndex;
use bcs_fabric::{Fabric, FabricError};
use mds::GlobalRecord;

/// The Strobe Sender's part on the lead node of a job on several nodes.
#[derive(Debug, Default)]
pub struct StrobeLead {
    layout: GlobalLayout,
    pacing: Pacing,
    next_ns: u64,
    /// The microphase that is under way on some node; none between slices.
    pub running: Option<Microphase>,
    /// A bell was rung that may be for the next slice.
    rung: bool,
    slice: u64,
    started_ns: u64,
    microphase_ns: u64,
    record: GlobalRecord,
    /// The record of a slice that is over, to be taken.
    pub finished: Option<GlobalRecord>,
}

impl StrobeLead {
    /// Before the first slice.
    pub fn new(layout: GlobalLayout, pacing: Pacing) -> Self {
        Self { layout, pacing, ..Self::default() }
    }

    /// When it has to be polled at the latest, if nothing arrives.
    pub fn next_ns(&self) -> Option<u64> {
        (!self.pacing.starts_on_work() && self.running.is_none()).then_some(self.next_ns)
    }

    /// Goes on: answers the next microstrobe, if there is to be one. `report` is that of all nodes of the
    /// last one, `wants` what the lead wants of the next slice, and `arrived` says that something was put
    /// here since the last look.
    ///
    /// # Errors
    /// The bells cannot be read.
    pub fn poll(
        &mut self,
        fabric: &mut (impl Fabric + ?Sized),
        now_ns: u64,
        report: Option<Report>,
        wants: Option<Microphase>,
        arrived: bool,
    ) -> Result<Option<u64>, FabricError> {
        self.rung |= fabric.test_event(RUNG)? > 0;
        let mut wanted = wants;
        if let Some(microphase) = self.running {
            let Some(report) =
                report.filter(|report| (report.slice, report.done) == (self.slice, microphase))
            else {
                if arrived {
                    self.record.usrts += 1;
                    match microphase {
                        Microphase::DescriptorExchange => self.record.usrdem += 1,
                        Microphase::MessageScheduling => self.record.usrmsm += 1,
                        _ => {}
                    }
                }
                return Ok(None);
            };
            if let Some(next) = self.after(microphase, &report, now_ns) {
                self.running = Some(next);
                return Ok(Some(strobe(self.slice, next)));
            }
            self.record.gtts_ns = now_ns.saturating_sub(self.started_ns);
            self.finished = Some(self.record);
            self.running = None;
            wanted = earlier(wanted, report.wants);
        }
        let Some(first) = self.first(fabric, now_ns, wanted)? else { return Ok(None) };
        self.slice += 1;
        let elapsed = if self.slice == 1 { 0 } else { now_ns.saturating_sub(self.started_ns) };
        self.record =
            GlobalRecord { slice: SliceIndex(self.slice), getts_ns: elapsed, ..GlobalRecord::default() };
        (self.started_ns, self.microphase_ns) = (now_ns, now_ns);
        self.running = Some(first);
        Ok(Some(strobe(self.slice, first)))
    }

    /// With which microphase a slice is to begin now, if one is.
    fn first(
        &mut self,
        fabric: &(impl Fabric + ?Sized),
        now_ns: u64,
        wanted: Option<Microphase>,
    ) -> Result<Option<Microphase>, FabricError> {
        if let Some(beat) = self.pacing.beat(|| now_ns) {
            if now_ns < self.next_ns {
                return Ok(None);
            }
            self.next_ns = self.pacing.beat_ns(beat + 1);
            return Ok(Some(Microphase::DescriptorExchange));
        }
        if !std::mem::take(&mut self.rung) {
            return Ok(wanted);
        }
        // A bell that was rung in an earlier slice was for one that has been.
        let bells = read_bells(&self.layout, fabric, 0)?.filter(|(after, _)| *after == self.slice);
        Ok(earlier(wanted, bells.map(|(_, first)| first)))
    }

    /// A microphase is over on all nodes: which one is next in the slice?
    fn after(&mut self, microphase: Microphase, report: &Report, now_ns: u64) -> Option<Microphase> {
        let elapsed = now_ns.saturating_sub(self.microphase_ns);
        self.microphase_ns = now_ns;
        match microphase {
            Microphase::DescriptorExchange => {
                self.record.gtdem_ns = elapsed;
                // What was exchanged is scheduled in the same slice.
                return Some(Microphase::MessageScheduling);
            }
            Microphase::MessageScheduling => self.record.gtmsm_ns = elapsed,
            _ => {}
        }
        report.need.filter(|need| *need > microphase)
    }
}
