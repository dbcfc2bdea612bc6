//! Messages to and from other nodes where the system refuses cross-memory attach: the NIC thread cannot read
//! a rank's memory then, nor write it. So each of them is a transfer between the rank and
//! [`LocalRank::ELSEWHERE`], and goes through a window in NIC memory ([`crate::channel`]): the sender puts
//! what was granted into its window, whenever it is in MPI, and the receiver takes what has come out of the
//! one that the NIC thread fills for it.
//!
//! Invariants: a rank is told which request to serve, and knows itself where the buffer of that is; the bytes
//! of a message go, come and are granted in their order. A rank that computes holds up its own messages and
//! nobody else's: what has come for it is bounded by [`AHEAD_BYTES`].

use super::error::GlobalError;
use super::grant::Grant;
use super::link::Links;
use super::rank_memory;
use super::record::{Kind, Record};
use crate::channel::{self, Policy};
use crate::memory::sync::Ordering;
use crate::memory::transfer::{MOVING, Pair, Range};
use crate::memory::{Corrupt, LocalRank, NicMemory, Rank, RequestId};
use crate::threads::completer::{Completer, RankRequest};
use crate::threads::dma_helper::{self, DmaHelper};
use std::collections::{BTreeMap, VecDeque};

/// Bytes for a rank that it has not taken, from which on no more are granted for it.
pub const AHEAD_BYTES: u64 = 1 << 20;

/// A transfer with both ends on other nodes.
const ELSEWHERE_PAIR: Pair = Pair {
    source: LocalRank::ELSEWHERE,
    destination: LocalRank::ELSEWHERE,
    source_request: RequestId::NONE,
    destination_request: RequestId::NONE,
    source_address: 0,
    destination_address: 0,
    bytes: 0,
};

/// Whether messages go this way.
pub fn applies(memory: &NicMemory) -> bool {
    memory.header().cross_memory.get() == 0
}

/// A message of this node's, of which another node has granted bytes.
#[derive(Debug)]
pub(super) struct Outgoing {
    to: u32,
    /// The receiver's name for it.
    id: u64,
    bytes: u64,
    granted: u64,
    sent: u64,
    transfer: Option<u32>,
}

/// A message for a rank of this node.
#[derive(Debug)]
struct StagedReceive {
    to: RankRequest,
    bytes: u64,
    /// Where the bytes begin that go this way.
    first: u64,
    granted: u64,
    /// Up to where they are in the window.
    put: u64,
    /// What follows, and finds no room there yet.
    come: VecDeque<Vec<u8>>,
    transfer: Option<u32>,
}

/// All of them on a node.
#[derive(Debug, Default)]
pub struct Staged {
    pub(super) outgoing: BTreeMap<RankRequest, Outgoing>,
    /// By the number that names it.
    landing: BTreeMap<u64, StagedReceive>,
    /// How windows are filled.
    policy: Option<Policy>,
}

impl Staged {
    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.outgoing.is_empty() && self.landing.is_empty()
    }

    /// Another node wants bytes of a message of this rank. Answers whether they are what it has to want next.
    pub fn handle_grant(&mut self, to: u32, rank: LocalRank, grant: &Grant) -> bool {
        let Grant { request, range: Range { offset, bytes }, transfer: id, total, .. } = *grant;
        if request == RequestId::NONE || offset.checked_add(bytes).is_none_or(|end| end > total) {
            return false;
        }
        let new = || Outgoing { to, id, bytes: total, granted: offset, sent: offset, transfer: None };
        let outgoing = self.outgoing.entry((rank, request)).or_insert_with(new);
        let is_next = (outgoing.to, outgoing.id, outgoing.bytes, outgoing.granted) == (to, id, total, offset);
        outgoing.granted += bytes;
        is_next
    }

    /// A message is on its way to a request of this rank: so many bytes in all, of which those before `first`
    /// are in place.
    pub fn expect(&mut self, id: u64, to: RankRequest, (bytes, first): (u64, u64)) {
        let (put, granted, come) = (first, first, VecDeque::new());
        self.landing.insert(id, StagedReceive { to, bytes, first, granted, put, come, transfer: None });
    }

    /// Whether [`Self::expect`] was told of it.
    pub fn expects(&self, id: u64) -> bool {
        self.landing.contains_key(&id)
    }

    /// Bytes of a message up to this one are on their way.
    pub fn note_granted(&mut self, id: u64, granted: u64) {
        if let Some(landing) = self.landing.get_mut(&id) {
            landing.granted = granted;
        }
    }

    /// The next bytes of a message have come.
    pub fn bring(&mut self, id: u64, bytes: Vec<u8>) {
        if let Some(landing) = self.landing.get_mut(&id) {
            landing.come.push_back(bytes);
        }
    }

    /// By rank: bytes that are granted for it, and that it has not taken.
    pub fn ahead(&self, memory: &NicMemory) -> Result<BTreeMap<LocalRank, u64>, Corrupt> {
        let mut ahead = BTreeMap::new();
        for landing in self.landing.values() {
            *ahead.entry(landing.to.0).or_default() += landing.granted - landing.taken(memory)?;
        }
        Ok(ahead)
    }

    /// Lets the ranks of this node have what has come for them. True if something was done.
    pub fn land(&mut self, completer: &mut Completer<'_>) -> Result<bool, GlobalError> {
        let memory = completer.memory;
        let policy = self.policy.get_or_insert_with(|| Policy::for_node(memory));
        let (mut moved, mut over) = (false, Vec::new());
        for (&id, landing) in &mut self.landing {
            let Some(transfer) = landing.start(completer)? else { continue };
            while let Some(bytes) = landing.come.front_mut() {
                let range = Range { offset: landing.put, bytes: bytes.len() as u64 };
                // SAFETY: the bytes are there.
                let put = unsafe { channel::put_chunk(memory, transfer, range, bytes.as_ptr(), policy)? };
                moved |= put != 0;
                landing.put += put;
                if put < range.bytes {
                    bytes.drain(..put as usize);
                    break;
                }
                landing.come.pop_front();
            }
            let record = memory.transfer(transfer)?;
            if landing.put == landing.bytes && record.finished.load(Ordering::Acquire) != MOVING {
                record.left.fetch_add(1, Ordering::AcqRel);
                over.push(id);
            }
        }
        moved |= !over.is_empty();
        over.iter().for_each(|id| _ = self.landing.remove(id));
        Ok(moved)
    }

    /// Sends what the ranks of this node have put into their windows: so many bytes at most, and to no node
    /// more than it takes.
    pub fn send(
        &mut self,
        completer: &mut Completer<'_>,
        links: &mut Links,
        (mut budget, most_waiting, payload_bytes): (u64, u64, u64),
    ) -> Result<bool, GlobalError> {
        let memory = completer.memory;
        let (mut moved, mut over) = (false, Vec::new());
        for (&(rank, request), outgoing) in &mut self.outgoing {
            let Some(transfer) = outgoing.start(completer, (rank, request))? else { continue };
            while budget > 0 && links.waiting_data_bytes(outgoing.to) < most_waiting {
                let before = outgoing.sent;
                let take = |range, from| outgoing.send_chunk(links, payload_bytes, range, from);
                if !channel::take_chunk(memory, transfer, take)? {
                    break;
                }
                moved = true;
                budget = budget.saturating_sub(outgoing.sent - before);
            }
            if outgoing.sent == outgoing.bytes {
                dma_helper::finish(memory, transfer)?;
                memory.transfer(transfer)?.left.fetch_add(1, Ordering::AcqRel);
                completer.touched.add(rank);
                over.push((rank, request));
            }
        }
        over.iter().for_each(|key| _ = self.outgoing.remove(key));
        Ok(moved)
    }
}

impl Outgoing {
    /// The transfer by which its rank sends it, up to what is granted; none while all are in use.
    fn start(
        &mut self,
        completer: &mut Completer<'_>,
        (rank, request): RankRequest,
    ) -> Result<Option<u32>, Corrupt> {
        let memory = completer.memory;
        if let Some(transfer) = self.transfer {
            memory.transfer(transfer)?.granted.store(self.granted, Ordering::Release);
            return Ok(self.transfer);
        }
        let pair = Pair { source: rank, source_request: request, bytes: self.bytes, ..ELSEWHERE_PAIR };
        let (window, moved) = (dma_helper::window_of(rank), (self.sent, self.granted));
        self.transfer = DmaHelper::new(memory).start(&pair, window, moved, completer)?;
        Ok(self.transfer)
    }

    /// Sends a chunk of it, which is at `from`.
    fn send_chunk(
        &mut self,
        links: &mut Links,
        payload_bytes: u64,
        range: Range,
        from: *const u8,
    ) -> Result<(), GlobalError> {
        let end = range.offset.checked_add(range.bytes).filter(|&end| end <= self.granted);
        if range.offset != self.sent || end.is_none() {
            return Err(
                Corrupt { what: "part of a message", value: range.offset, limit: self.granted }.into()
            );
        }
        let mut done = 0;
        while done < range.bytes {
            let bytes = (range.bytes - done).min(payload_bytes);
            let record = Record::new(Kind::Data, Rank(0), &[self.id, range.offset + done]);
            links.send_with(self.to, &record, bytes as usize, |payload| {
                // SAFETY: the chunk is in its window, and this is a part of it.
                unsafe { rank_memory::append_copy(from.add(done as usize), bytes as usize, payload) };
                Ok::<(), GlobalError>(())
            })?;
            done += bytes;
        }
        self.sent += range.bytes;
        Ok(())
    }
}

impl StagedReceive {
    /// The transfer by which its rank gets it; none while all are in use.
    fn start(&mut self, completer: &mut Completer<'_>) -> Result<Option<u32>, Corrupt> {
        if self.transfer.is_none() {
            let (destination, destination_request) = self.to;
            let pair = Pair { destination, destination_request, bytes: self.bytes, ..ELSEWHERE_PAIR };
            let (window, moved) = (dma_helper::landing_window_of(destination), (self.first, self.bytes));
            self.transfer = DmaHelper::new(completer.memory).start(&pair, window, moved, completer)?;
        }
        Ok(self.transfer)
    }

    /// Up to where its rank has taken it.
    fn taken(&self, memory: &NicMemory) -> Result<u64, Corrupt> {
        let Some(transfer) = self.transfer else { return Ok(self.first) };
        Ok(memory.transfer(transfer)?.moved.load(Ordering::Acquire).clamp(self.first, self.granted))
    }
}
