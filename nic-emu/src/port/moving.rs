//! The transfers that this rank is an end of: each rank moves the bytes of its own first (design §4).
//!
//! A transfer is this rank's exactly while one of its requests says so.

use super::error::PortError;
use super::rank_port::{OwnTransfer, Port};
use crate::channel::{self, End, Mine, Step};
use crate::host::clock::ticks;
use crate::host::cross_memory::CrossMemoryAttach;
use crate::host::waiting::{self};
use crate::memory::descriptor::PointToPoint;
use crate::memory::doorbell::RingKind;
use crate::memory::request::SlotState;
use crate::memory::status::STARTED;
use crate::memory::sync::Ordering;
use crate::memory::transfer::Transfer;
use crate::memory::{Corrupt, LocalRank, REQUESTS, RequestId};
use crate::port::outstanding::Purpose;
use crate::threads::dma_helper;

/// Transfers that a rank looks at in one step of a wait, at most.
const LOOKS: usize = 64;

impl Port {
    /// Moves bytes of this rank's transfers.
    #[inline]
    pub(super) fn move_bytes(&mut self) -> Result<bool, PortError> {
        let started = self.status().transfers_started.load(Ordering::Acquire);
        if started != self.transfers_seen {
            self.find_started(started)?;
        }
        if self.moving.is_empty() {
            return Ok(false);
        }
        self.advance_transfers()
    }

    /// Learns which of its requests have become transfers.
    #[cold]
    pub(super) fn find_started(&mut self, started: u32) -> Result<(), PortError> {
        let new = started.wrapping_sub(self.transfers_seen);
        if new as usize <= STARTED / 2 {
            for count in 0..new {
                let transfer = self.status().started(self.transfers_seen.wrapping_add(count));
                self.start_moving(transfer)?;
            }
        } else {
            // More than the list holds: every moving request names its transfer.
            for request in self.outstanding.requests() {
                let slot = self.memory.request(self.local_rank, request)?;
                if slot.state() == SlotState::Moving && !self.moving.iter().any(|m| m.request == request) {
                    self.start_moving(slot.reference())?;
                }
            }
        }
        self.transfers_seen = started;
        Ok(())
    }

    /// Begins to work at a transfer that this rank was told of, unless that is over: it is this rank's
    /// exactly while one of its requests says so.
    ///
    /// Of a transfer that is over, the record may be written for other ranks while it is read here: all that
    /// it says then is which requests to look at. A request of this rank that names the transfer is proof
    /// that it is the rank's, and which end the rank is, that request's purpose says.
    pub(super) fn start_moving(&mut self, transfer: u32) -> Result<(), PortError> {
        let record = self.memory.transfer(transfer)?;
        for (rank, request) in record.ends() {
            if rank != self.local_rank {
                continue;
            }
            let end = match self.outstanding.purpose(request) {
                Some(Purpose::Send) => End::Source,
                Some(Purpose::Receive) => End::Destination,
                Some(Purpose::Collective) | None => continue,
            };
            let slot = self.memory.request(self.local_rank, request)?;
            let known = self.moving.iter().any(|m| m.request == request);
            if slot.state() == SlotState::Moving && slot.reference() == transfer && !known {
                let mine = self.mine(record, end, request)?;
                self.moving.push(OwnTransfer { transfer, request, mine, asked: 0 });
            }
        }
        Ok(())
    }

    /// What this rank knows of a transfer that a request of it names, and that is therefore its own: the
    /// record stays as it is until the rank leaves it. Of the record it believes whether the message is to
    /// itself.
    fn mine(&self, record: &Transfer, end: End, request: RequestId) -> Result<Mine, Corrupt> {
        let buffer_of = |request: RequestId| {
            let limit = REQUESTS as u64;
            let unknown = Corrupt { what: "request of a transfer", value: request.0.into(), limit };
            self.outstanding.buffer(request).ok_or(unknown)
        };
        let [(source, of_source), (destination, of_destination)] = record.ends();
        let other_request = if end == End::Source { of_destination } else { of_source };
        let other = if source == destination { Some(buffer_of(other_request)?) } else { None };
        Ok(Mine { end, buffer: buffer_of(request)?, other, receives: false })
    }

    /// Looks at transfers of this rank, from where the last call has stopped: at most at [`LOOKS`], until one
    /// gets on. Otherwise each that gets on would cost a look at all that wait.
    pub(super) fn advance_transfers(&mut self) -> Result<bool, PortError> {
        let mut moved = false;
        for _ in 0..self.moving.len().min(LOOKS) {
            let i = if self.next_moving < self.moving.len() { self.next_moving } else { 0 };
            self.next_moving = i;
            let Some(&OwnTransfer { transfer, mine, asked, .. }) = self.moving.get(i) else { break };
            let mine = Mine { receives: self.outstanding.has_long_receives(), ..mine };
            let (policy, stores) = (&self.channel, &mut self.stores);
            match channel::advance(&self.memory, transfer, &mine, policy, stores, &CrossMemoryAttach, ticks)?
            {
                Step::Progress => {
                    self.tell_elsewhere(transfer)?;
                    moved = true;
                    break;
                }
                Step::Blocked => {}
                Step::PeerNeeded => self.wake_peer(transfer, mine.end)?,
                Step::Granted => {
                    let granted = self.memory.transfer(transfer)?.granted.load(Ordering::Acquire);
                    // Without a free cell it asks at its next look.
                    if granted != asked
                        && !self.pacing.has_budget()
                        && self.lacks_cell(RingKind::Send).is_none()
                    {
                        self.moving[i].asked = granted;
                        self.post(RingKind::Send, &PointToPoint::Continue { transfer }.encode())?;
                        moved = true;
                    }
                }
                Step::Finished => {
                    if let Some(ranks) = dma_helper::finish(&self.memory, transfer)?
                        && self.processor().somebody_sleeps()
                    {
                        ranks.iter().for_each(|&rank| waiting::wake(&self.memory, rank));
                    }
                    self.tell_elsewhere(transfer)?;
                    self.moving.swap_remove(i);
                    moved = true;
                    continue;
                }
                Step::Over => {
                    self.moving.swap_remove(i);
                    continue;
                }
            }
            self.next_moving += 1;
        }
        Ok(moved)
    }

    /// Leaves a transfer whose request is complete: this end does not touch it any more.
    pub(super) fn leave(&mut self, transfer: u32, request: RequestId) -> Result<(), PortError> {
        self.moving.retain(|m| m.request != request);
        self.memory.transfer(transfer)?.left.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    pub(super) fn wake_peer(&self, transfer: u32, end: End) -> Result<(), PortError> {
        let record = self.memory.transfer(transfer)?;
        let peer = match end {
            End::Source => record.destination.get(),
            End::Destination => record.source.get(),
        };
        match peer {
            LocalRank::ELSEWHERE => self.wake_nic_thread(),
            peer => waiting::wake(&self.memory, peer),
        }
        Ok(())
    }

    /// What was done of a transfer to or from another node the NIC thread goes on with.
    fn tell_elsewhere(&self, transfer: u32) -> Result<(), PortError> {
        if self.wake_pipe.is_some() && self.memory.transfer(transfer)?.is_elsewhere() {
            self.wake_nic_thread();
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::host::mapping::create_private;
    use crate::memory::Layout;
    use crate::memory::transfer::Pair;
    use crate::port::outstanding::About;
    use crate::threads::completer::Completer;
    use std::sync::Arc;

    /// A message of 1 MB from rank 0 to rank 1, with the same request number at both ends.
    fn pair_of(request: RequestId) -> Pair {
        Pair {
            source: LocalRank(0),
            destination: LocalRank(1),
            source_request: request,
            destination_request: request,
            source_address: 0x1000,
            destination_address: 0x2000,
            bytes: 1 << 20,
        }
    }

    /// The transfer that rank 0 is told of once was of a send of its request 0; that request is a receive by
    /// now, of the same transfer, and the record was read before it was written anew.
    #[test]
    fn which_end_a_rank_is_says_its_request_and_not_a_record_that_is_out_of_date() {
        let memory = create_private(Layout::new(2, 2, [0; 2]).unwrap(), 0, 1).unwrap();
        let mut port = Port::open(Arc::new(memory), LocalRank(0)).unwrap();
        let (transfer, request) = (5, port.arm(Purpose::Receive, About::NOTHING).unwrap());
        let pair = pair_of(request);
        port.memory.transfer(transfer).unwrap().prepare(&pair, None, 1 << 20);
        let start = |port: &mut Port| {
            port.start_moving(transfer).unwrap();
            std::mem::take(&mut port.moving)
        };
        assert_eq!(start(&mut port), []);
        Completer::new(&port.memory, port.pacing)
            .refer((LocalRank(0), request), transfer, SlotState::Moving)
            .unwrap();
        let ends: Vec<_> = start(&mut port).iter().map(|m| (m.transfer, m.request, m.mine.end)).collect();
        assert_eq!(ends, [(transfer, request, End::Destination)]);
    }

    #[test]
    fn a_step_looks_at_some_of_many_transfers_and_forgets_those_that_are_over() {
        let memory = create_private(Layout::new(2, 2, [0; 2]).unwrap(), 0, 1).unwrap();
        let mut port = Port::open(Arc::new(memory), LocalRank(0)).unwrap();
        for transfer in 0..3 * LOOKS as u32 {
            let request = port.arm(Purpose::Send, About::NOTHING).unwrap();
            let pair = pair_of(request);
            port.memory.transfer(transfer).unwrap().prepare(&pair, None, 0);
            Completer::new(&port.memory, port.pacing)
                .refer((LocalRank(0), request), transfer, SlotState::Moving)
                .unwrap();
            port.start_moving(transfer).unwrap();
        }
        for left in [2 * LOOKS, LOOKS, 0] {
            port.advance_transfers().unwrap();
            assert_eq!(port.moving.len(), left);
        }
    }
}
