//! BR, the Buffer Receiver (paper, §4.1, §4.3): matches messages with receives and schedules what moves in this slice.
//!
//! Message scheduling microphase: first this slice's receives are set against the messages that wait, then this slice's messages
//! against the receives that wait, each oldest first, which is MPI's order. A message whose bytes are in NIC memory is complete
//! with the match; one whose bytes are in the sender's memory becomes a transfer.

use crate::completer::Completer;
use crate::descriptor::{NO_REQUEST, Payload, PointToPoint, ReceiveDescriptor, SendDescriptor};
use crate::dma_helper::DmaHelper;
use crate::doorbell::RingKind;
use crate::matching::Envelope;
use crate::memory::{Corrupt, NicMemory, RankBlock};
use crate::request::{Delivery, SLOT_PAYLOAD_BYTES, SlotState};
use crate::ring::{CELL_WORDS, Ring};

use crate::buffer_sender::Eligible;

/// A message as the Buffer Receiver matches it: its descriptor, and who sent it.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// The descriptor.
    pub send: SendDescriptor,
    /// The sender's rank in the job.
    pub origin: u32,
}

/// What became of a ring entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// Dealt with: its cell may be used again.
    Yes,
    /// The pool is full: it stays in its ring, and so does what follows it.
    NoRoom,
}

/// The Buffer Receiver, for one slice.
pub struct BufferReceiver<'a, 'm> {
    memory: &'m NicMemory,
    completer: &'a mut Completer<'m>,
    dma: &'a mut DmaHelper<'m>,
    /// Matched pairs in this slice.
    pub matched: u64,
}

impl<'a, 'm> BufferReceiver<'a, 'm> {
    /// A Buffer Receiver that completes through `completer` and hands transfers to `dma`.
    #[inline]
    pub fn new(memory: &'m NicMemory, completer: &'a mut Completer<'m>, dma: &'a mut DmaHelper<'m>) -> Self {
        Self { memory, completer, dma, matched: 0 }
    }

    /// Takes a rank's eligible receives. Answers how many cells are free again.
    #[inline]
    pub fn take_receives(&mut self, rank: &Eligible) -> Result<u32, Corrupt> {
        let block = self.memory.rank(rank.local_index)?;
        let ring = Ring::new(&block.receive);
        let count = ring_count(rank, RingKind::Receive, &ring)?;
        let first = rank.taken.get(RingKind::Receive);
        for i in 0..count {
            let words = ring.cell(first.wrapping_add(i)).read();
            let taken = match PointToPoint::decode(&words) {
                Some(PointToPoint::Receive(receive)) => self.handle_receive(rank.local_index, block, &receive, &words)?,
                Some(PointToPoint::Cancel { request, .. }) => self.cancel_receive(rank.local_index, block, request)?,
                _ => return Err(Corrupt { what: "receive descriptor", value: words[0], limit: 0 }),
            };
            if taken == Taken::NoRoom {
                return Ok(i);
            }
        }
        Ok(count)
    }

    /// Takes a rank's eligible sends. Answers how many cells are free again.
    #[inline]
    pub fn take_sends(&mut self, rank: &Eligible) -> Result<u32, Corrupt> {
        let block = self.memory.rank(rank.local_index)?;
        let ring = Ring::new(&block.send);
        let count = ring_count(rank, RingKind::Send, &ring)?;
        let first = rank.taken.get(RingKind::Send);
        for i in 0..count {
            let words = ring.cell(first.wrapping_add(i)).read();
            let taken = match PointToPoint::decode(&words) {
                Some(PointToPoint::Send(send)) => {
                    self.handle_message(&Message { send, origin: self.memory.job_rank(rank.local_index) })?
                }
                Some(PointToPoint::Cancel { request, destination }) => {
                    self.cancel_send(rank.local_index, request, destination)?
                }
                Some(PointToPoint::Continue { transfer }) => {
                    self.dma.grant_more(transfer)?;
                    Taken::Yes
                }
                _ => return Err(Corrupt { what: "send descriptor", value: words[0], limit: 0 }),
            };
            if taken == Taken::NoRoom {
                return Ok(i);
            }
        }
        Ok(count)
    }

    #[inline]
    fn handle_receive(
        &mut self,
        local_index: u32,
        block: &RankBlock,
        receive: &ReceiveDescriptor,
        words: &[u64; CELL_WORDS],
    ) -> Result<Taken, Corrupt> {
        let envelope = Envelope { context: receive.context, source: receive.source, tag: receive.tag };
        let unexpected = &block.queues.unexpected;
        let header = self.memory.header();
        if !unexpected.is_empty()
            && let Some((entry, found)) =
                unexpected.find(self.memory, |words| envelope.takes(&Envelope::of_words(words)))?
        {
            let message = message_of_words(&found)?;
            if !self.dma.has_room_for(&message)? {
                return Ok(Taken::NoRoom);
            }
            unexpected.remove(self.memory, entry)?;
            header.slice.unexpected.set(header.slice.unexpected.get().wrapping_sub(1));
            self.schedule(local_index, receive, &message)?;
            return Ok(Taken::Yes);
        }
        if !block.queues.posted.push(self.memory, words)? {
            return Ok(Taken::NoRoom);
        }
        header.slice.posted.set(header.slice.posted.get().wrapping_add(1));
        Ok(Taken::Yes)
    }

    /// A message for a rank of this node: matches it, or keeps it until its receive is posted.
    #[inline]
    fn handle_message(&mut self, message: &Message) -> Result<Taken, Corrupt> {
        let Some(local_index) = self.memory.local_index(message.send.destination)? else {
            return Err(Corrupt { what: "destination on another node", value: message.send.destination as u64, limit: 0 });
        };
        let queues = &self.memory.rank(local_index)?.queues;
        let header = self.memory.header();
        let envelope =
            Envelope { context: message.send.context, source: message.send.source, tag: message.send.tag };
        if !queues.posted.is_empty()
            && let Some((entry, found)) =
                queues.posted.find(self.memory, |words| Envelope::of_words(words).takes(&envelope))?
        {
            let Some(PointToPoint::Receive(receive)) = PointToPoint::decode(&found) else {
                return Err(Corrupt { what: "posted receive", value: found[0], limit: 0 });
            };
            if !self.dma.has_room_for(message)? {
                return Ok(Taken::NoRoom);
            }
            queues.posted.remove(self.memory, entry)?;
            header.slice.posted.set(header.slice.posted.get().wrapping_sub(1));
            self.schedule(local_index, &receive, message)?;
            return Ok(Taken::Yes);
        }
        // Once queued, an entry's destination is the queue it is in; the word says who sent it.
        let queued = SendDescriptor { destination: message.origin, ..message.send };
        if !queues.unexpected.push(self.memory, &queued.encode())? {
            return Ok(Taken::NoRoom);
        }
        header.slice.unexpected.set(header.slice.unexpected.get().wrapping_add(1));
        Ok(Taken::Yes)
    }

    /// A matched pair: completes it, or schedules its transfer.
    #[inline]
    fn schedule(&mut self, local_index: u32, receive: &ReceiveDescriptor, message: &Message) -> Result<(), Corrupt> {
        let send = &message.send;
        self.matched += 1;
        let status = (send.source, send.tag, send.bytes);
        let delivery = match send.payload {
            Payload::Inline(bytes) => {
                let mut payload = [0; SLOT_PAYLOAD_BYTES];
                payload[..bytes.len()].copy_from_slice(&bytes);
                Delivery::InSlot(payload)
            }
            Payload::Slab(slab) => {
                let owner = self.memory.local_index(message.origin)?;
                Delivery::InSlab { owner: owner.unwrap_or(u32::MAX), slab }
            }
            Payload::Memory(_) if send.bytes == 0 || receive.capacity == 0 => Delivery::InPlace,
            Payload::Memory(address) => {
                self.memory.request(local_index, receive.request)?.write_status(status.0, status.1, status.2);
                let source = self.memory.local_index(message.origin)?.unwrap_or(u32::MAX);
                return self.dma.schedule(source, local_index, receive, message, address, self.completer);
            }
        };
        if send.request != NO_REQUEST
            && let Some(sender) = self.memory.local_index(message.origin)?
        {
            self.completer.complete(sender, send.request, status, &Delivery::InPlace)?;
        }
        self.completer.complete(local_index, receive.request, status, &delivery)
    }

    fn cancel_receive(&mut self, local_index: u32, block: &RankBlock, request: u32) -> Result<Taken, Corrupt> {
        let found = block.queues.posted.find(self.memory, |words| (words[3] >> 32) as u32 == request)?;
        if let Some((entry, _)) = found {
            block.queues.posted.remove(self.memory, entry)?;
            let header = self.memory.header();
            header.slice.posted.set(header.slice.posted.get().wrapping_sub(1));
            self.cancelled(local_index, request)?;
        }
        Ok(Taken::Yes)
    }

    fn cancel_send(&mut self, local_index: u32, request: u32, destination: u32) -> Result<Taken, Corrupt> {
        let origin = self.memory.job_rank(local_index);
        let Some(at) = self.memory.local_index(destination)? else { return Ok(Taken::Yes) };
        let unexpected = &self.memory.rank(at)?.queues.unexpected;
        let is_it = |words: &[u64; CELL_WORDS]| words[3] == origin as u64 | (request as u64) << 32;
        if let Some((entry, found)) = unexpected.find(self.memory, is_it)? {
            let message = message_of_words(&found)?;
            unexpected.remove(self.memory, entry)?;
            let header = self.memory.header();
            header.slice.unexpected.set(header.slice.unexpected.get().wrapping_sub(1));
            if let Payload::Slab(slab) = message.send.payload {
                self.memory.rank(local_index)?.returned.give_back(slab);
            }
            self.cancelled(local_index, request)?;
        }
        Ok(Taken::Yes)
    }

    fn cancelled(&mut self, local_index: u32, request: u32) -> Result<(), Corrupt> {
        let slot = self.memory.request(local_index, request)?;
        slot.write_status(0, 0, 0);
        slot.write_delivery(&Delivery::InPlace);
        self.completer.publish(local_index, request, SlotState::Cancelled)
    }
}

/// Eligible entries of a ring; more than it has cells is corruption.
#[inline]
fn ring_count(rank: &Eligible, kind: RingKind, ring: &Ring<'_>) -> Result<u32, Corrupt> {
    let count = rank.heads.ahead_of(rank.taken, kind);
    if count > ring.capacity() {
        return Err(Corrupt { what: "entries of a ring", value: count as u64, limit: ring.capacity() as u64 + 1 });
    }
    Ok(count)
}

/// The message that an unexpected-queue entry holds.
fn message_of_words(words: &[u64; CELL_WORDS]) -> Result<Message, Corrupt> {
    match PointToPoint::decode(words) {
        Some(PointToPoint::Send(send)) => Ok(Message { send, origin: send.destination }),
        _ => Err(Corrupt { what: "unexpected message", value: words[0], limit: 0 }),
    }
}

/// The oldest unexpected message of a rank that a receive with this envelope would take: what a probe sees. The caller
/// holds the run token.
pub fn probe(memory: &NicMemory, local_index: u32, envelope: &Envelope) -> Result<Option<Message>, Corrupt> {
    let unexpected = &memory.rank(local_index)?.queues.unexpected;
    match unexpected.find(memory, |words| envelope.takes(&Envelope::of_words(words)))? {
        Some((_, words)) => Ok(Some(message_of_words(&words)?)),
        None => Ok(None),
    }
}
