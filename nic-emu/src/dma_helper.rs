//! DH, the DMA Helper (paper, §4.1, §4.3): schedules the bytes of matched messages and sees their transfers through.
//!
//! The DH decides how many bytes of a transfer may move in which slice; it moves none itself. Moving is done by whoever
//! has a core to lend (`channel`), which is how the NIC is as wide as the ranks that wait. A transfer is on the active list from its match
//! until the DH finds it finished and reaps it.

use crate::completer::Completer;
use crate::descriptor::{Payload, ReceiveDescriptor};
use crate::memory::{Corrupt, NicMemory, TRANSFERS, WINDOWS};
use crate::policy;
use crate::pool::NONE;
use crate::request::{Delivery, SlotState};
use crate::transfer::{Pair, Transfer};

use crate::buffer_receiver::Message;

/// Active transfers that an elastic slice looks at to reap finished ones.
const REAPED_A_SLICE: u32 = 16;

/// The DMA Helper, for one slice.
pub struct DmaHelper<'m> {
    memory: &'m NicMemory,
    budget_bytes: u64,
}

impl<'m> DmaHelper<'m> {
    /// A DMA Helper with a slice's budget.
    #[inline]
    pub fn new(memory: &'m NicMemory) -> Self {
        Self { memory, budget_bytes: policy::slice_budget_bytes(memory) }
    }

    /// True when a message that needs a transfer can have one.
    #[inline]
    pub fn has_room_for(&mut self, message: &Message) -> Result<bool, Corrupt> {
        if !matches!(message.send.payload, Payload::Memory(_)) {
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
        source: u32,
        destination: u32,
        receive: &ReceiveDescriptor,
        message: &Message,
        address: u64,
        completer: &mut Completer<'m>,
    ) -> Result<(), Corrupt> {
        let header = self.memory.header();
        let free_link = |free| Ok(self.memory.transfer(free)?.next.get());
        let Some(index) = header.pools.transfers.take(TRANSFERS, free_link)? else {
            return Err(Corrupt { what: "transfers in use", value: TRANSFERS as u64, limit: TRANSFERS as u64 });
        };
        let transfer = self.memory.transfer(index)?;
        let pair = Pair {
            source,
            destination,
            source_request: message.send.request,
            destination_request: receive.request,
            source_address: address,
            destination_address: receive.address,
            bytes: message.send.bytes.min(receive.capacity),
        };
        transfer.start(&pair, ((index as usize) < WINDOWS).then_some(index));
        self.grant(transfer);
        self.link(index, transfer)?;
        header.slice.transfers.set(header.slice.transfers.get() + 1);
        for (rank, request) in [(source, message.send.request), (destination, receive.request)] {
            completer.refer(rank, request, index, SlotState::Moving)?;
            self.memory.rank(rank)?.status.tell_started(index);
        }
        Ok(())
    }

    /// Grants a transfer whose granted bytes are all claimed its next bytes. A rank may ask for one that has been granted more,
    /// or is over, meanwhile: then there is nothing to do, or a grant comes early.
    pub fn grant_more(&mut self, index: u32) -> Result<(), Corrupt> {
        let transfer = self.memory.transfer(index)?;
        if transfer.moved() < transfer.bytes.get() {
            self.grant(transfer);
        }
        Ok(())
    }

    /// Grants a transfer as much as policy and budget allow beyond what has been moved.
    fn grant(&mut self, transfer: &Transfer) {
        let ahead = transfer.granted() - transfer.moved().min(transfer.granted());
        let left = transfer.bytes.get() - transfer.granted();
        let more = policy::grant_bytes(self.memory).saturating_sub(ahead).min(self.budget_bytes).min(left);
        self.budget_bytes -= more;
        transfer.grant(more);
    }

    /// Point-to-point microphase: reaps finished transfers; with fixed slices also reports them to their ranks and grants
    /// every other one this slice's bytes.
    #[inline]
    pub fn run(&mut self, fixed: bool, completer: &mut Completer<'m>) -> Result<(), Corrupt> {
        if self.memory.header().slice.transfers.get() == 0 {
            return Ok(());
        }
        if fixed { self.reap(u32::MAX, Some(completer)) } else { self.reap(REAPED_A_SLICE, None) }
    }

    fn reap(&mut self, most: u32, mut report: Option<&mut Completer<'m>>) -> Result<(), Corrupt> {
        let header = self.memory.header();
        let active = header.slice.transfers.get().min(most);
        for _ in 0..active {
            let first = header.pools.active_transfers[0].get();
            if first == NONE {
                break;
            }
            let index = first - 1;
            let transfer = self.memory.transfer(index)?;
            self.unlink(index, transfer)?;
            if let Some(completer) = report.as_deref_mut() {
                if transfer.moved() < transfer.bytes.get() {
                    self.grant(transfer);
                } else if !transfer.is_finished() {
                    for (rank, request) in ends(transfer) {
                        self.memory.request(rank, request)?.write_delivery(&Delivery::ByTransfer(index));
                        completer.publish_unheld(rank, request)?;
                    }
                    transfer.set_finished();
                }
            }
            if transfer.is_finished() && transfer.retire() {
                header.slice.transfers.set(header.slice.transfers.get().wrapping_sub(1));
                header.pools.transfers.give_back(index, |link| {
                    transfer.next.set(link);
                    Ok(())
                })?;
                continue;
            }
            self.link(index, transfer)?;
        }
        Ok(())
    }

    /// Appends a transfer to the active list.
    fn link(&self, index: u32, transfer: &Transfer) -> Result<(), Corrupt> {
        let [first, last] = &self.memory.header().pools.active_transfers;
        transfer.previous.set(last.get());
        transfer.next.set(NONE);
        if last.get() == NONE {
            first.set(index + 1);
        } else {
            self.memory.transfer(last.get() - 1)?.next.set(index + 1);
        }
        last.set(index + 1);
        Ok(())
    }

    fn unlink(&self, index: u32, transfer: &Transfer) -> Result<(), Corrupt> {
        let [first, last] = &self.memory.header().pools.active_transfers;
        let (next, previous) = (transfer.next.get(), transfer.previous.get());
        if previous == NONE {
            debug_assert_eq!(first.get(), index + 1);
            first.set(next);
        } else {
            self.memory.transfer(previous - 1)?.next.set(next);
        }
        if next == NONE {
            last.set(previous);
        } else {
            self.memory.transfer(next - 1)?.previous.set(previous);
        }
        Ok(())
    }
}

/// The two ends of a transfer: local index and request slot.
fn ends(transfer: &Transfer) -> [(u32, u32); 2] {
    [
        (transfer.source.get(), transfer.source_request.get()),
        (transfer.destination.get(), transfer.destination_request.get()),
    ]
}

/// Completes both requests of a transfer: for the one process that the channel told that it moved the last byte. With
/// elastic slices they are complete at once, and the ranks to wake are answered; with fixed slices the DH
/// reports them in the next slice.
pub fn finish(memory: &NicMemory, index: u32) -> Result<Option<[u32; 2]>, Corrupt> {
    if memory.header().slice_period_ns.get() != 0 {
        return Ok(None);
    }
    let transfer = memory.transfer(index)?;
    let ends = ends(transfer);
    for (rank, request) in ends {
        let slot = memory.request(rank, request)?;
        slot.write_delivery(&Delivery::ByTransfer(index));
        slot.publish(SlotState::Done);
    }
    transfer.set_finished();
    Ok(Some([ends[0].0, ends[1].0]))
}
