//! DH, the DMA Helper (paper, §4.1, §4.3): schedules the bytes of matched messages and sees their transfers
//! through.
//!
//! The DH decides how many bytes of a transfer may move in which slice; it moves none itself. Moving is done
//! by whoever has a core to lend (`channel`), which is how the NIC is as wide as the ranks that wait. A
//! transfer is on the active list from its match until the DH finds it finished and reaps it.

use crate::matching::Message;
use crate::memory::descriptor::{ReceiveDescriptor, SendWords};
use crate::memory::linked::{LinkWord, List, NONE};
use crate::memory::request::{Delivery, SlotState};
use crate::memory::sync::Ordering;
use crate::memory::transfer::{FINISHED, MOVING, Pair, REPORTED};
use crate::memory::{Corrupt, LocalRank, NicMemory, RequestId, TRANSFERS, WINDOWS};
use crate::policy::Pacing;
use crate::threads::completer::Completer;
use crate::threads::nic_thread::NicThread;
use crate::threads::slice_work::SliceWork;

/// Active transfers that an elastic slice looks at to reap finished ones.
const REAPED_A_SLICE: u32 = 16;

/// The DMA Helper, for one slice.
pub struct DmaHelper<'m> {
    memory: &'m NicMemory,
    pacing: Pacing,
    /// Bytes that may still be granted in this slice.
    pub(crate) budget_bytes: u64,
}

/// Point-to-point microphase: reaps finished transfers; with fixed slices also reports them to their ranks
/// and grants every other one this slice's bytes.
impl NicThread for DmaHelper<'_> {
    #[inline]
    fn is_idle(work: &SliceWork<'_>) -> bool {
        work.memory.header().slice.transfers.get() == 0
    }

    #[inline]
    fn run(work: &mut SliceWork<'_>) -> Result<(), Corrupt> {
        let mut dma = DmaHelper::of(work);
        match work.pacing.holds_completions() {
            true => dma.reap(u32::MAX, Some(&mut work.completer)),
            false => dma.reap(REAPED_A_SLICE, None),
        }
    }
}

impl<'m> DmaHelper<'m> {
    /// A DMA Helper with a slice's budget.
    #[inline]
    pub fn new(memory: &'m NicMemory) -> Self {
        let pacing = Pacing::of(memory);
        Self { memory, pacing, budget_bytes: pacing.budget_bytes() }
    }

    /// The DMA Helper of a slice under way, with what is left of its budget.
    #[inline]
    pub(crate) fn of(work: &SliceWork<'m>) -> Self {
        Self { memory: work.memory, pacing: work.pacing, budget_bytes: work.budget_bytes }
    }

    /// True when a message that needs a transfer can have one.
    #[inline]
    pub(crate) fn has_room_for(&mut self, send: SendWords<'_>) -> Result<bool, Corrupt> {
        if !send.is_in_memory() {
            return Ok(true);
        }
        let pools = &self.memory.header().pools;
        if pools.transfers.used() as usize == TRANSFERS {
            self.reap(u32::MAX, None)?;
        }
        Ok((pools.transfers.used() as usize) < TRANSFERS)
    }

    /// Message scheduling microphase: makes a transfer of a matched pair and grants its first bytes.
    pub fn schedule(
        &mut self,
        source: LocalRank,
        destination: LocalRank,
        receive: &ReceiveDescriptor,
        message: &Message,
        address: u64,
        completer: &mut Completer<'m>,
    ) -> Result<(), Corrupt> {
        let bytes = message.send.bytes.min(receive.capacity);
        let granted = bytes.min(self.pacing.grant_bytes()).min(self.budget_bytes);
        self.budget_bytes -= granted;
        let pair = Pair {
            source,
            destination,
            source_request: message.send.request,
            destination_request: receive.request,
            source_address: address,
            destination_address: receive.address,
            bytes,
        };
        let (started, limit) =
            (self.start(&pair, window_of(source), (0, granted), completer)?, TRANSFERS as u64);
        started.map(drop).ok_or(Corrupt { what: "transfers in use", value: limit, limit })
    }

    /// Makes a transfer of a pair, of which the first bytes are in place, and so many are granted; none when
    /// all are in use.
    pub fn start(
        &self,
        pair: &Pair,
        window: u32,
        (done, granted): (u64, u64),
        completer: &mut Completer<'m>,
    ) -> Result<Option<u32>, Corrupt> {
        let header = self.memory.header();
        let list = active(self.memory);
        let Some(index) = header.pools.transfers.take(TRANSFERS, &list.links)? else { return Ok(None) };
        let transfer = self.memory.transfer(index)?;
        transfer.prepare(pair, Some(window), granted);
        transfer.skip(done);
        list.append(index)?;
        header.slice.transfers.add(1);
        // Both ends before either may begin: an end can move all bytes by itself, and complete both requests,
        // at any moment.
        for (rank, request) in transfer.ends() {
            if request != RequestId::NONE {
                completer.refer((rank, request), index, SlotState::Moving)?;
            }
        }
        transfer.begin();
        for (rank, _) in transfer.ends() {
            if rank != LocalRank::ELSEWHERE {
                self.memory.rank(rank)?.status.tell_started(index);
            }
        }
        Ok(Some(index))
    }

    /// Grants a transfer whose granted bytes are all claimed its next bytes. (The bytes that go to another
    /// node that node grants.)
    pub fn grant_more(&mut self, index: u32) -> Result<(), Corrupt> {
        let transfer = self.memory.transfer(index)?;
        if transfer.is_elsewhere() {
            return Ok(());
        }
        let (bytes, granted, cursor) = (
            transfer.bytes.get(),
            transfer.granted.load(Ordering::Relaxed),
            transfer.cursor.load(Ordering::Relaxed),
        );
        // A rank may ask for a transfer that has been granted more, or even reaped, meanwhile.
        if transfer.finished.load(Ordering::Relaxed) == MOVING && granted < bytes && cursor >= granted {
            let more = (bytes - granted).min(self.pacing.grant_bytes()).min(self.budget_bytes);
            self.budget_bytes -= more;
            transfer.granted.store(granted + more, Ordering::Release);
        }
        Ok(())
    }

    fn reap(&mut self, most: u32, mut report: Option<&mut Completer<'m>>) -> Result<(), Corrupt> {
        let header = self.memory.header();
        let list = active(self.memory);
        for _ in 0..header.slice.transfers.get().min(most) {
            let first = list.ends.next();
            if first == NONE {
                break;
            }
            let index = first - 1;
            let transfer = self.memory.transfer(index)?;
            list.remove(index)?;
            let mut state = transfer.finished.load(Ordering::Acquire);
            if state == FINISHED
                && let Some(completer) = report.as_deref_mut()
            {
                for (rank, request) in transfer.ends() {
                    if request != RequestId::NONE {
                        completer.complete_moved((rank, request), index)?;
                    }
                }
                transfer.finished.store(REPORTED, Ordering::Release);
                state = REPORTED;
            }
            let left =
                transfer.left.load(Ordering::Acquire) == 2 && transfer.helped.load(Ordering::Acquire) == 0;
            if state == REPORTED && left {
                header.slice.transfers.add(-1);
                header.pools.transfers.give_back(index, transfer.links());
                continue;
            }
            if report.is_some() && state == MOVING {
                self.grant_more(index)?;
            }
            list.append(index)?;
        }
        Ok(())
    }
}

/// The transfers under way.
pub fn active<'m>(memory: &'m NicMemory) -> List<'m, impl Fn(u32) -> Result<LinkWord<'m>, Corrupt>> {
    let ends = LinkWord(&memory.header().pools.active_transfers);
    List { ends, links: |index| Ok(memory.transfer(index)?.links()), limit: TRANSFERS }
}

/// The window into which a rank puts what it sends.
#[inline]
pub(crate) fn window_of(sender: LocalRank) -> u32 {
    sender.0 % WINDOWS as u32
}

/// The window through which a rank gets what comes from other nodes.
pub(crate) fn landing_window_of(receiver: LocalRank) -> u32 {
    WINDOWS as u32 + receiver.0 % WINDOWS as u32
}

/// Finishes a transfer whose bytes are all in place; any process may, once. With elastic slices both requests
/// are complete at once, and the ranks to wake are answered; with fixed slices the DH reports them in the
/// next slice.
#[inline]
pub fn finish(memory: &NicMemory, index: u32) -> Result<Option<[LocalRank; 2]>, Corrupt> {
    let transfer = memory.transfer(index)?;
    if transfer.finished.compare_exchange(MOVING, FINISHED, Ordering::AcqRel, Ordering::Relaxed).is_err()
        || Pacing::of(memory).holds_completions()
    {
        return Ok(None);
    }
    let ends = transfer.ends();
    for (rank, request) in ends {
        if request != RequestId::NONE {
            let slot = memory.request(rank, request)?;
            let kind = slot.write_delivery(&Delivery::ByTransfer(index));
            slot.publish(SlotState::Done, kind);
        }
    }
    transfer.finished.store(REPORTED, Ordering::Release);
    Ok(Some([ends[0].0, ends[1].0]))
}
