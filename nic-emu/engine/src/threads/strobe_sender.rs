//! SS, the Strobe Sender (paper, §4.1, §4.2): drives a slice through its microphases.
//!
//! Here the node set is {self}: a microstrobe is a call of the node's Strobe Receiver, "all nodes are done"
//! is its return, and a microphase in which this node has no work is one that all nodes agree to skip. So are
//! the slices of a job on one node, and the local slices of a node of several. What is between nodes is
//! strobed along a tree, by the lead node (`crate::global::strobe_lead`).
//!
//! Fixed slices start on the beat: a multiple of the period on the driver's clock. A slice that leaves
//! nothing to do lets the NIC *rest*: no slice runs at the beats that follow, and so nobody has to be awake
//! for them. Who finds something posted while the NIC rests sets the next beat; what was posted between two
//! beats is eligible at the second of them, as if the NIC had never rested.

use crate::memory::status::Activity;
use crate::memory::unexpected::UnexpectedPool;
use crate::memory::{Corrupt, NicMemory};
use crate::policy::Pacing;
use crate::threads::buffer_sender::BufferSender;
use crate::threads::microphase::Microphase;
use crate::threads::slice_work::SliceCounts;
use crate::threads::strobe_receiver::StrobeReceiver;
use bcs_core::SliceIndex;
use mds::{EmdsRing, GlobalRecord, LocalRecord};

use crate::threads::completer::Touched;

/// What came of trying to run a slice.
pub struct Slice {
    /// What it did.
    pub counts: SliceCounts,
    /// Whom it completed something for.
    pub touched: Touched,
}

/// The Strobe Sender of a node's slices. Its state is in NIC memory: whoever holds the run token is it.
pub struct StrobeSender;

impl StrobeSender {
    /// With fixed slices: true when the next slice is due; false while the NIC rests. Elastic slices are
    /// always due.
    #[inline]
    pub(crate) fn is_due(memory: &NicMemory, now_ns: impl Fn() -> u64) -> bool {
        Pacing::of(memory).starts_on_work()
            || match memory.header().slice.next_ns.get() {
                0 => false,
                next => now_ns() >= next,
            }
    }

    /// With fixed slices: true when there is something for the holder of the token to do: a slice that is
    /// due, or a rest to end.
    #[inline]
    pub fn is_wanted(memory: &NicMemory, now_ns: impl Fn() -> u64) -> bool {
        if Self::rests(memory) { Self::has_work(memory) } else { Self::is_due(memory, now_ns) }
    }

    /// With fixed slices: true while no slice is planned, as there is nothing to do.
    #[inline]
    pub fn rests(memory: &NicMemory) -> bool {
        memory.header().slice.next_ns.get() == 0
    }

    /// With fixed slices, ends a rest if there is work again: the next slice starts on the next beat. True if
    /// it did. The caller holds the run token.
    pub(crate) fn end_rest(memory: &NicMemory, now_ns: impl Fn() -> u64) -> bool {
        let ends = Self::rests(memory) && Self::has_work(memory);
        let pacing = Pacing::of(memory);
        if ends && let Some(beat) = pacing.beat(now_ns) {
            memory.header().slice.next_ns.set(pacing.beat_ns(beat + 1));
        }
        ends
    }

    /// Something that a fixed slice would deal with: descriptors, bytes under way, completions that are held
    /// back.
    #[inline]
    fn has_work(memory: &NicMemory) -> bool {
        let slice = &memory.header().slice;
        !slice.held.is_empty() || slice.transfers.get() != 0 || BufferSender::has_work(memory)
    }

    /// Runs one slice. The caller holds the run token; `now_ns` reads its monotonic clock, and is called only
    /// with fixed slices or while EMDS records.
    #[inline]
    pub fn run(memory: &NicMemory, now_ns: impl Fn() -> u64) -> Result<Slice, Corrupt> {
        let header = memory.header();
        let previous = memory.control().slice.get();
        let pacing = Pacing::of(memory);
        let index = match pacing.beat(&now_ns) {
            None => previous + 1,
            Some(beat) => {
                // Slices are numbered by the beat, also while nobody ran the NIC.
                let passed = match header.slice.beat.get() {
                    0 => 1,
                    last => beat.saturating_sub(last).max(1),
                };
                header.slice.beat.set(beat);
                header.slice.next_ns.set(pacing.beat_ns(beat + 1));
                previous + passed
            }
        };
        let (emds, has_others) = (memory.emds_local(), memory.node().1 > 1);
        // With several nodes, a node's slices are the global ones, and what is recorded is those.
        let slice = if emds.is_empty() || has_others {
            Self::run_microphases(memory, |_| ())?
        } else {
            Self::run_recorded(memory, SliceIndex(index), &now_ns)?
        };
        // A fixed slice that left nothing to do lets the NIC rest. Not while EMDS records, which is to see
        // every slice, and not with several nodes, whose Strobe Sender keeps the beat for all.
        if !pacing.starts_on_work() && emds.is_empty() && !has_others && !Self::has_work(memory) {
            header.slice.next_ns.set(0);
        }
        if pacing.runs_idle_slices() || slice.counts != SliceCounts::default() {
            memory.control().slice.set(index);
            if slice.counts.matched != 0 {
                // A line that goes from core to core only when there is something to count.
                header.slice.matched.add(slice.counts.matched as i64);
            }
        }
        Ok(slice)
    }

    #[inline]
    fn run_microphases(memory: &NicMemory, mut over: impl FnMut(Microphase)) -> Result<Slice, Corrupt> {
        let mut receiver = StrobeReceiver::new(memory);
        for microphase in Microphase::ALL {
            if !receiver.is_idle_in(microphase) {
                receiver.handle_microstrobe(microphase)?;
                over(microphase);
            }
        }
        Ok(Slice { counts: receiver.work.counts, touched: receiver.work.completer.touched })
    }

    /// The same with a record of every microphase (tables 5.1 and 5.2).
    #[cold]
    fn run_recorded(
        memory: &NicMemory,
        index: SliceIndex,
        now_ns: &impl Fn() -> u64,
    ) -> Result<Slice, Corrupt> {
        let local =
            EmdsRing::<LocalRecord>::open(memory.emds_local()).ok().filter(|ring| ring.selects(index));
        let Some(local) = local else { return Self::run_microphases(memory, |_| ()) };
        let header = memory.header();
        let started = now_ns();
        let (mut record, mut last) = (LocalRecord { slice: index, ..LocalRecord::default() }, started);
        let slice = Self::run_microphases(memory, |microphase| {
            let now = now_ns();
            microphase.note_length(&mut record, now - last);
            last = now;
        })?;
        if slice.counts == SliceCounts::default() && !Pacing::of(memory).runs_idle_slices() {
            return Ok(slice);
        }
        let before = header.slice.started_ns.get();
        header.slice.started_ns.set(started);
        record.letts_ns = if before == 0 { 0 } else { started - before };
        record.ltts_ns = last - started;
        local.record(&counted(memory, &slice.counts, record));
        if let Ok(global) = EmdsRing::<GlobalRecord>::open(memory.emds_global()) {
            // One node: nobody has to be asked twice whether it is done.
            global.record(&GlobalRecord {
                slice: index,
                getts_ns: record.letts_ns,
                gtdem_ns: record.ltdem_ns,
                gtmsm_ns: record.ltmsm_ns,
                gtts_ns: record.ltts_ns,
                ..GlobalRecord::default()
            });
        }
        Ok(slice)
    }
}

/// A slice's record for EMDS, with what it did, which ranks of this node wait in MPI, and what they have not
/// received.
pub(crate) fn counted(memory: &NicMemory, counts: &SliceCounts, record: LocalRecord) -> LocalRecord {
    let ranks = memory.local_ranks().filter_map(|rank| memory.rank(rank).ok());
    let (mut messages, mut bytes) = (0u64, 0u64);
    for pool in memory.local_ranks().filter_map(|rank| UnexpectedPool::of(memory, rank).ok()) {
        messages = messages.wrapping_add(pool.usage().messages);
        bytes = bytes.wrapping_add(pool.usage().bytes);
    }
    LocalRecord {
        np2pdem: counts.descriptors,
        np2pmsm: counts.matched,
        ncolldem: counts.collective_descriptors,
        ncollmsm: counts.collectives,
        bpts: ranks.filter(|rank| rank.status.activity() != Activity::Computing).count() as u64,
        umts: messages,
        ubts: bytes,
        ..record
    }
}
