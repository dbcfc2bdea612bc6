//! One-sided communication: this rank reads and writes the memory of ranks of its node, enters their doors,
//! and asks for operations on the memory of ranks of other nodes ([`crate::one_sided`]).

use super::error::PortError;
use super::outstanding::{About, Purpose};
use super::rank_port::Port;
use crate::arithmetic::Arithmetic;
use crate::channel::{ChannelError, CrossMemory, is_done};
use crate::global::most_ahead;
use crate::host::cross_memory::CrossMemoryAttach;
use crate::memory::descriptor::{Check, INLINE_BYTES, Payload, PointToPoint, SendDescriptor};
use crate::memory::door::{Door, Mode};
use crate::memory::doorbell::RingKind;
use crate::memory::slab::SLAB_BYTES;
use crate::memory::status::Room;
use crate::memory::{Corrupt, LocalRank, RequestId, SlabId};
use crate::one_sided::{MemoryOf, Message, arithmetic_of};

/// Bytes of operations that travel together at most.
const MOST_BYTES: usize = 32 << 10;

/// What came of reaching for the memory of another rank of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It is done.
    Done,
    /// The system does not let this process do so.
    Refused,
    /// The rank has no such memory, or may not do that to it itself. Some of it may have been done.
    Absent,
}

impl Reached {
    fn of(port: &Port, attempt: Result<(), ChannelError>) -> Result<Self, PortError> {
        match attempt {
            Err(ChannelError::PeerBuffer(_)) => Ok(Reached::Absent),
            attempt => Ok(if is_done(&port.memory, attempt)? { Reached::Done } else { Reached::Refused }),
        }
    }
}

impl Port {
    /// A door of this rank that no window has, open; none when all are in use.
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn take_door(&mut self) -> Result<Option<u16>, PortError> {
        let Some(door) = self.doors.take() else { return Ok(None) };
        self.memory.door(self.local_rank, door.into())?.reset();
        Ok(Some(door))
    }

    /// Gives a door back that nobody enters any more.
    pub fn give_back_door(&mut self, door: u16) {
        self.doors.give_back(door);
    }

    /// A door of a rank of this node.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn door(&self, rank: LocalRank, door: u16) -> Result<&Door, PortError> {
        Ok(self.memory.door(rank, door.into())?)
    }

    /// Enters a door of a rank of this node, if it is open. Where each rank has a core, it looks for a while.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn try_enter(&self, rank: LocalRank, door: u16, mode: Mode) -> Result<bool, PortError> {
        let door = self.door(rank, door)?;
        if door.try_enter(mode) {
            return Ok(true);
        }
        let looks = if self.is_crowded() { 0 } else { self.waiting.meeting_looks };
        for _ in 0..looks {
            std::hint::spin_loop();
            if door.try_enter(mode) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads memory of a rank of this node.
    ///
    /// # Errors
    /// The rank has no such memory.
    pub fn read_memory(&self, rank: LocalRank, address: u64, to: &mut [u8]) -> Result<Reached, PortError> {
        let read = self.memory_of(rank).and_then(|memory| memory.read(address, to));
        Reached::of(self, read)
    }

    /// Writes memory of a rank of this node.
    ///
    /// # Errors
    /// The rank has no such memory.
    pub fn write_memory(&self, rank: LocalRank, address: u64, from: &[u8]) -> Result<Reached, PortError> {
        let written = self.memory_of(rank).and_then(|memory| memory.write(address, from));
        Reached::of(self, written)
    }

    fn memory_of(&self, rank: LocalRank) -> Result<MemoryOf<'_>, ChannelError> {
        MemoryOf::rank(&self.memory, rank, None, &CrossMemoryAttach)
    }

    /// Does what is to be atomic to all that combines values with the part of a window, whose rank and door
    /// these are: as the NIC processor, or, where all members of the window are on this node, and no NIC
    /// combines for others, under a lock of the door. `act` is given the job's arithmetic.
    ///
    /// # Errors
    /// The job is being ended.
    #[inline]
    pub fn combining<R>(
        &self,
        (rank, door): (LocalRank, u16),
        spans_nodes: bool,
        act: impl FnOnce(&Port, Arithmetic) -> R,
    ) -> Result<R, PortError> {
        if spans_nodes {
            return self.as_processor(|memory| act(self, arithmetic_of(memory)));
        }
        let door = self.door(rank, door)?;
        let mut tries = 0;
        while !door.try_combine(self.local_rank) {
            tries += 1;
            if tries > 100 {
                rustix::thread::sched_yield();
            } else {
                std::hint::spin_loop();
            }
            if self.memory.header().abort.is_said() {
                return Err(PortError::Aborted);
            }
        }
        let result = act(self, arithmetic_of(&self.memory));
        door.end_combining();
        Ok(result)
    }

    /// Bytes of operations at most that can travel together.
    pub fn most_operation_bytes(&self) -> usize {
        (most_ahead(&self.memory) as usize).clamp(512, MOST_BYTES)
    }

    /// The room that operations of so many bytes lack.
    pub fn lacks_for_operations(&mut self, bytes: usize) -> Option<Room> {
        if let Some(room) = self.lacks_cell(RingKind::Send) {
            return Some(room);
        }
        if bytes <= INLINE_BYTES || self.ahead_slabs(bytes).is_some() { None } else { Some(Room::Slab) }
    }

    /// Slabs for operations of so many bytes, which the next one that is posted goes to.
    fn ahead_slabs(&mut self, bytes: usize) -> Option<SlabId> {
        let slabs = |bytes: usize| bytes.div_ceil(SLAB_BYTES);
        if self.operation_slabs.is_none_or(|(_, room)| slabs(room) != slabs(bytes)) {
            self.give_back_operation_slabs();
            let returned = &self.memory.rank(self.local_rank).ok()?.returned;
            self.operation_slabs = self.slabs.take(bytes, returned).map(|first| (first, bytes));
        }
        self.operation_slabs.map(|(first, _)| first)
    }

    fn give_back_operation_slabs(&mut self) {
        if let Some((first, room)) = self.operation_slabs.take() {
            self.block().returned.give_back(first, room as u64);
        }
    }

    /// Whether the NIC of this node reaches the memory of its ranks: then long blocks may come and go without
    /// them.
    pub fn reaches_memory(&self) -> bool {
        self.memory.header().cross_memory.get() != CrossMemory::Off as u32
    }

    /// Asks another node to take a long block out of this rank's memory, to an address of the message's
    /// target. Answers a request that is complete when it is there. There has to be a free cell in the send
    /// ring.
    ///
    /// # Safety
    /// The block must be readable until the request is complete.
    ///
    /// # Errors
    /// There is no request.
    pub unsafe fn post_pull(
        &mut self,
        message: &Message,
        address: u64,
        block: (*const u8, usize),
    ) -> Result<RequestId, PortError> {
        let (from, bytes) = (block.0 as u64, block.1 as u64);
        let mut inline = [0; INLINE_BYTES];
        for (to, word) in inline.as_chunks_mut::<8>().0.iter_mut().zip([address, from, bytes]) {
            *to = word.to_le_bytes();
        }
        let (context, peer_in_job) = (message.context, message.target);
        let about = About { context, peer_in_job, bytes, address: from, ..About::NOTHING };
        let request = self.arm(Purpose::Send, about)?;
        self.post_descriptor(message, Payload::Inline(inline), INLINE_BYTES, request)?;
        Ok(request)
    }

    /// Posts operations, for which there is room ([`Self::lacks_for_operations`]): those that `data` has, or
    /// the one that `message` asks for, with its data. Answers a request that is complete when they have been
    /// carried out, if that is `wanted`: then the rank waits for it.
    ///
    /// # Errors
    /// There is no room, or no request.
    pub fn post_operations(
        &mut self,
        message: &Message,
        data: &[u8],
        wanted: bool,
    ) -> Result<Option<RequestId>, PortError> {
        let bytes = data.len();
        let payload = if bytes <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            inline[..bytes].copy_from_slice(data);
            Payload::Inline(inline)
        } else {
            let Some(first) = self.ahead_slabs(bytes) else {
                let (what, limit) = ("bytes of operations that no room was made for", MOST_BYTES as u64);
                return Err(Corrupt { what, value: bytes as u64, limit }.into());
            };
            self.operation_slabs = None;
            let to = self.memory.run(self.local_rank, first, bytes as u64)?;
            // SAFETY: the run has room for the bytes, checked, and is this rank's until it is posted.
            unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to.as_ptr(), bytes) };
            Payload::Slab(first)
        };
        let request = if wanted {
            let about = About { context: message.context, peer_in_job: message.target, ..About::NOTHING };
            self.arm(Purpose::Send, about)?
        } else {
            RequestId::NONE
        };
        self.post_descriptor(message, payload, bytes, request)?;
        if !wanted {
            self.nudge_receiver(message.target, bytes)?;
        }
        Ok((request != RequestId::NONE).then_some(request))
    }

    fn post_descriptor(
        &mut self,
        message: &Message,
        payload: Payload,
        bytes: usize,
        request: RequestId,
    ) -> Result<(), PortError> {
        let (tag, source) = message.words();
        let descriptor = SendDescriptor {
            context: message.context,
            source,
            tag,
            bytes: bytes as u64,
            signature: message.door,
            destination: message.target,
            request,
            synchronous: request != RequestId::NONE,
            check: Check::NONE,
            payload,
        };
        self.post(RingKind::Send, &PointToPoint::Operate(descriptor).encode())
    }
}
