//! Bytes whose both ends compute: the NIC thread moves them from outside, by cross-memory attach (design §4,
//! "Channels").

use super::backoff;
use super::finding::Finding;
use super::shared::Shared;
use crate::channel::{self, Policy, Step};
use crate::host::cross_memory::CrossMemoryAttach;
use crate::host::waiting;
use crate::memory::status::Activity;
use crate::memory::transfer::MOVING;
use crate::memory::{Corrupt, NicMemory};
use crate::threads::dma_helper::{self, DmaHelper};
use std::time::Duration;

/// Bytes moved from outside in one piece.
const BOUNCE_BYTES: usize = 256 << 10;

/// Moves what nobody else moves.
pub(super) struct Mover<'a> {
    shared: &'a Shared,
    memory: &'a NicMemory,
    bounce: Vec<u8>,
    policy: Policy,
    /// How long to wait for a rank that has the run token; nothing to give the processor away to whoever
    /// wants it.
    pub(super) token_held: Duration,
}

impl<'a> Mover<'a> {
    pub(super) fn new(shared: &'a Shared) -> Self {
        let memory = &*shared.memory;
        let policy = Policy::measured(memory.layout().local_ranks, memory.header().cores.get());
        Self { shared, memory, bounce: Vec::new(), policy, token_held: Duration::ZERO }
    }

    /// Moves bytes of transfers whose both ends compute, in so many pieces at most; answers whether there may
    /// be more.
    pub(super) fn move_bytes(&mut self, pieces: Option<u32>) -> Result<bool, Finding> {
        match self.memory.header().slice.transfers.get() {
            0 => Ok(false),
            _ => self.move_pieces(pieces).map_err(Finding::Slice),
        }
    }

    fn move_pieces(&mut self, pieces: Option<u32>) -> Result<bool, Corrupt> {
        let processor = self.shared.processor();
        let mut moved = 0;
        let mut active = Vec::new();
        let (shared, mut wait) = (self.shared, self.token_held);
        let mut pause = || give_way(shared, &mut wait);
        let listed = processor.with_token(&mut pause, |memory| list_active(memory, &mut active));
        if let Some(listed) = listed {
            listed?;
        }
        for transfer in active {
            loop {
                if !self.both_compute(transfer)? || self.shared.is_over() {
                    break;
                }
                if pieces.is_some_and(|pieces| moved >= pieces) {
                    return Ok(true);
                }
                moved += 1;
                if self.bounce.is_empty() {
                    self.bounce = vec![0; BOUNCE_BYTES];
                }
                let (bounce, policy) = (&mut self.bounce, &self.policy);
                match channel::advance_from_outside(self.memory, transfer, bounce, policy, &CrossMemoryAttach)
                {
                    Ok(Step::Progress) => {}
                    Ok(Step::Finished) => {
                        if let Some(ranks) = dma_helper::finish(self.memory, transfer)?
                            && processor.somebody_sleeps()
                        {
                            ranks.iter().for_each(|&rank| waiting::wake(self.memory, rank));
                        }
                        break;
                    }
                    Ok(Step::Granted) => {
                        match processor
                            .with_token(&mut pause, |memory| DmaHelper::new(memory).grant_more(transfer))
                        {
                            Some(granted) => granted?,
                            None => break,
                        }
                    }
                    // A dead peer is the launcher's to notice: it sees the process end, and says how it did.
                    Ok(_) | Err(_) => break,
                }
            }
        }
        Ok(false)
    }

    fn both_compute(&self, transfer: u32) -> Result<bool, Corrupt> {
        let record = self.memory.transfer(transfer)?;
        if record.is_elsewhere() {
            return Ok(false);
        }
        for rank in [record.source.get(), record.destination.get()] {
            if self.memory.rank(rank)?.status.activity() != Activity::Computing {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Lets somebody else have the processor who has the run token. False when the job is over.
fn give_way(shared: &Shared, wait: &mut Duration) -> bool {
    match backoff::next(wait) {
        Duration::ZERO => std::thread::yield_now(),
        held => std::thread::sleep(held),
    }
    !shared.is_over()
}

/// The transfers under way. The caller holds the token.
fn list_active(memory: &NicMemory, active: &mut Vec<u32>) -> Result<(), Corrupt> {
    let each = |index| {
        if memory.transfer(index)?.finished.load(crate::memory::sync::Ordering::Acquire) == MOVING {
            active.push(index);
        }
        Ok(None)
    };
    dma_helper::active(memory).find::<()>(each).map(drop)
}
