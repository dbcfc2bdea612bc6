//! What ranks of a node give each other in collectives, through this rank's lane and those of others
//! ([`crate::memory::lane`]).

use super::error::PortError;
use super::rank_port::Port;
use crate::channel::{Access, CrossMemory, Direction, Peer, ProcessMemory, is_done};
use crate::host::clock::ticks;
use crate::host::cross_memory::CrossMemoryAttach;
use crate::memory::lane::{By, LANE_CHUNK_BYTES, LaneKey, LaneReader, LaneWriter, Loan, Shape};
use crate::policy;
use bcs_core::LocalRank;

/// Bytes of a chunk from which on filling it says how fast the lane is.
const PACED_BYTES: usize = 4 << 10;

/// What a rank gives to others of its node in one step of a collective.
#[derive(Clone, Debug)]
pub enum Giving<'a> {
    /// The same to all.
    Same {
        /// The first byte.
        data: *const u8,
        /// How many there are.
        bytes: usize,
    },
    /// To every member, by its rank, a block of its own.
    Each {
        /// Where it is, and how many bytes it has.
        blocks: &'a [(*const u8, usize)],
        /// Readers combine them, from where they lie if they lie in the lane; otherwise they copy them.
        combined: bool,
    },
}

impl Giving<'_> {
    fn bytes(&self) -> usize {
        match self {
            Giving::Same { bytes, .. } => *bytes,
            Giving::Each { blocks, .. } => {
                blocks.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
            }
        }
    }
}

impl Port {
    /// How this rank gives that; `in_parts` says that more follows, and the others copy what comes while it
    /// lays the next.
    pub fn way_to_give(&mut self, giving: &Giving<'_>, in_parts: bool) -> By {
        let (bytes, word) = (giving.bytes(), self.memory.header().cross_memory.get());
        if word == 0 {
            return if bytes <= LANE_CHUNK_BYTES { By::Lane } else { By::Message };
        }
        let is_copied = matches!(giving, Giving::Each { combined: false, .. });
        let most = if is_copied { policy::laid_blocks_bytes(self.is_crowded()) } else { LANE_CHUNK_BYTES };
        let by_attach = word == CrossMemory::Always as u32 || bytes > most || self.is_slow_to_lay(in_parts);
        if by_attach { By::Attach } else { By::Lane }
    }

    /// Whether filling the lane is slower than having others read this rank's memory, by the fastest chunk
    /// since this was asked last. Not before it was tried past the caches; where that is faster, only parts
    /// that are copied meanwhile are worth it.
    fn is_slow_to_lay(&mut self, in_parts: bool) -> bool {
        let slow_ns = policy::slow_lane_ns_a_kb(self.is_crowded());
        let pace = &mut self.lane_pace;
        let best = std::mem::replace(&mut pace.best, u64::MAX);
        if best != u64::MAX {
            pace.slow = best > slow_ns && self.stores.have_tried_streaming();
            pace.untried = 0;
        }
        pace.untried += 1;
        let is_slow = pace.slow || !in_parts && self.stores.are_settled_on_streaming();
        is_slow && !pace.untried.is_multiple_of(policy::LANE_TRIAL_COLLECTIVES)
    }

    /// Whether ranks of this node share cores: then chunks are long, as each may cost a context switch.
    #[inline]
    pub fn is_crowded(&self) -> bool {
        self.waiting.shares_cores()
    }

    /// Whether cores of this node are slow to take written lines from each other.
    #[inline]
    pub fn has_slow_lines(&self) -> bool {
        self.memory.header().slow_lines.get() != 0
    }

    /// Where another rank's lane is read next.
    #[inline]
    pub fn lane_reader(&self, local_rank: LocalRank) -> LaneReader {
        self.lane_readers.get(local_rank.index()).copied().unwrap_or_default()
    }

    /// Notes where it is read next, when a collective is over.
    #[inline]
    pub fn note_lane_reader(&mut self, local_rank: LocalRank, reader: LaneReader) {
        if let Some(noted) = self.lane_readers.get_mut(local_rank.index()) {
            *noted = reader;
        }
    }

    /// Says that something has come or gone through lanes: who looks for a deadlock does not see that
    /// otherwise.
    #[inline]
    pub fn note_flow(&self) {
        self.status().waits.add(1);
    }

    /// Whether the lane has slots for so many collectives that are under way at once.
    pub fn has_lane_for(&mut self, collectives: usize) -> Result<bool, PortError> {
        Ok(self.lane.has_slots_for(&self.memory, self.local_rank, collectives)?)
    }

    /// How this rank gives what the lane has no room for.
    pub fn way_past_lane(&self) -> By {
        if self.memory.header().cross_memory.get() == 0 { By::Message } else { By::Attach }
    }

    /// Gives that, in the way that [`Self::way_to_give`] has said, to so many of the members. None when the
    /// lane has no room now, for which one may look thoroughly; else what has to be taken back, if anything
    /// is lent.
    ///
    /// # Safety
    /// What is given must be readable, and stay so until it was taken back.
    pub unsafe fn give(
        &mut self,
        key: LaneKey,
        by: By,
        giving: &Giving<'_>,
        (members, readers): (u32, u32),
        thorough: bool,
    ) -> Result<Option<Option<Loan>>, PortError> {
        let shape = Shape { by, each: matches!(giving, Giving::Each { .. }), members };
        let bytes = if by == By::Lane { giving.bytes() } else { 0 };
        let Some(room) = self.lane.room(&self.memory, self.local_rank, shape, bytes, thorough)? else {
            return Ok(None);
        };
        let to = room.data.as_ptr();
        let same = match giving {
            &Giving::Same { data, bytes } => {
                if by == By::Lane {
                    // SAFETY: the caller's promise; there is room for `bytes`.
                    unsafe { self.lay(&[(data, bytes)], to) };
                }
                (if by == By::Attach { data as u64 } else { 0 }, bytes as u64)
            }
            Giving::Each { blocks, .. } => {
                if by == By::Lane {
                    // SAFETY: as above: there is room for all blocks.
                    unsafe { self.lay(blocks, to) };
                }
                let mut next = 0;
                for (member, &(data, bytes)) in blocks.iter().enumerate() {
                    let at = if by == By::Lane { next } else { data as u64 };
                    let portion = (at, bytes as u64);
                    next += portion.1;
                    LaneWriter::set_portion(&self.memory, self.local_rank, &room, member as u32, portion)?;
                }
                (0, 0)
            }
        };
        Ok(Some(self.lane.publish(&self.memory, self.local_rank, key, room, same, readers)?))
    }

    /// Copies blocks into the lane, one behind the other, and notes how long that takes.
    ///
    /// # Safety
    /// They must be readable, and `to` writable for all of them.
    unsafe fn lay(&mut self, blocks: &[(*const u8, usize)], to: *mut u8) {
        let total: usize = blocks.iter().map(|(_, bytes)| bytes).sum();
        let started = if total >= PACED_BYTES { (self.clock)() } else { 0 };
        let mut next = 0;
        for &(data, bytes) in blocks {
            // SAFETY: the caller's promise.
            unsafe { self.stores.copy_in(data, to.wrapping_add(next), bytes, ticks) };
            next += bytes;
        }
        if total >= PACED_BYTES {
            let pace = (self.clock)().saturating_sub(started) * 1024 / total as u64;
            self.lane_pace.best = self.lane_pace.best.min(pace);
        }
    }

    /// Takes back what was lent, once nobody reads it any more: answers who was refused it. None before.
    pub fn take_back(&mut self, lent: &Loan) -> Result<Option<Vec<u32>>, PortError> {
        Ok(self.lane.take_back(&self.memory, self.local_rank, lent)?)
    }

    /// Reads what another rank of the node has lent. False when the system refuses that.
    ///
    /// # Safety
    /// `to` must be writable for `bytes` bytes.
    pub unsafe fn read_lent_memory(
        &mut self,
        local_rank: LocalRank,
        address: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<bool, PortError> {
        if bytes == 0 {
            return Ok(true);
        }
        let (direction, peer) = (Direction::Read, Peer::of(&self.memory, local_rank)?);
        let access = Access { direction, peer, here: to as u64, there: address, bytes: bytes as u64 };
        // SAFETY: the caller's promise.
        Ok(is_done(&self.memory, unsafe { CrossMemoryAttach.attach_all(&access) })?)
    }
}
