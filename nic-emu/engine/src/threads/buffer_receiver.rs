//! BR, the Buffer Receiver (paper, §4.1, §4.3): matches messages with receives and schedules what moves in
//! this slice.
//!
//! Message scheduling microphase: first this slice's receives are set against the messages that wait, then
//! this slice's messages against the receives that wait, each oldest first, which is MPI's order. A message
//! whose bytes are in NIC memory is complete with the match; one whose bytes are in the sender's memory
//! becomes a transfer.

use crate::matching::Envelope;
use crate::matching::breach;
use crate::matching::message::{Message, message_of_words};
use crate::matching::mismatch;
use crate::memory::descriptor::{
    Check, NO_REQUEST, Payload, PointToPoint, ReceiveDescriptor, SendDescriptor, is_buffered_inline,
    is_receive, is_send,
};
use crate::memory::doorbell::RingKind;
use crate::memory::queue::{PostedReceives, UnexpectedMessages};
use crate::memory::request::Delivery;
use crate::memory::ring::{CELL_WORDS, LABEL, Ring};
use crate::memory::transfer::ELSEWHERE;
use crate::memory::unexpected::UnexpectedPool;
use crate::memory::{Corrupt, FIRST_MATCHED_CONTEXT, MESSAGE_ENTRIES, NicMemory, RankBlock};
use crate::threads::completer::Completer;
use crate::threads::dma_helper::DmaHelper;

use crate::threads::buffer_sender::Eligible;

/// What became of a ring entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
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
        let count = rank.heads.ahead_of(rank.taken, RingKind::Receive);
        if count == 0 {
            return Ok(0);
        }
        let block = self.memory.rank(rank.local_index)?;
        let ring = Ring::new(&block.receive);
        check_count(count, &ring)?;
        let first = rank.taken.get(RingKind::Receive);
        for i in 0..count {
            let words = ring.cell(first.wrapping_add(i)).read();
            let taken = if is_receive(&words) {
                self.handle_receive(rank.local_index, block, &words)?
            } else {
                self.handle_receive_ring(rank.local_index, block, &words)?
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
        let count = rank.heads.ahead_of(rank.taken, RingKind::Send);
        if count == 0 {
            return Ok(0);
        }
        let block = self.memory.rank(rank.local_index)?;
        let ring = Ring::new(&block.send);
        check_count(count, &ring)?;
        let first = rank.taken.get(RingKind::Send);
        let origin = self.memory.job_rank(rank.local_index);
        for i in 0..count {
            let words = ring.cell(first.wrapping_add(i)).read();
            let taken = if is_send(&words) {
                self.handle_message((origin, rank.local_index), &words)?
            } else {
                self.handle_send_ring(rank.local_index, &words)?
            };
            if taken == Taken::NoRoom {
                return Ok(i);
            }
        }
        Ok(count)
    }

    /// An entry of a receive ring that is no receive.
    #[cold]
    fn handle_receive_ring(
        &mut self,
        local_index: u32,
        block: &RankBlock,
        words: &[u64; CELL_WORDS],
    ) -> Result<Taken, Corrupt> {
        match PointToPoint::decode(words) {
            Some(PointToPoint::Cancel { request, .. }) => self.cancel_receive(local_index, block, request),
            _ => Err(Corrupt { what: "receive descriptor", value: words[0], limit: 0 }),
        }
    }

    /// An entry of a send ring that is no send.
    #[cold]
    fn handle_send_ring(&mut self, local_index: u32, words: &[u64; CELL_WORDS]) -> Result<Taken, Corrupt> {
        match PointToPoint::decode(words) {
            Some(PointToPoint::Cancel { request, destination }) => {
                self.cancel_send(local_index, request, destination)
            }
            Some(PointToPoint::Continue { transfer }) => {
                self.dma.grant_more(transfer)?;
                Ok(Taken::Yes)
            }
            _ => Err(Corrupt { what: "send descriptor", value: words[0], limit: 0 }),
        }
    }

    /// A receive: matches it with the oldest message that waits, or queues it.
    #[inline]
    fn handle_receive(
        &mut self,
        local_index: u32,
        block: &RankBlock,
        words: &[u64; CELL_WORDS],
    ) -> Result<Taken, Corrupt> {
        let unexpected = UnexpectedMessages::of(self.memory, block);
        if !unexpected.is_empty() {
            let envelope = Envelope::of_words(words[0], words[1]);
            let takes = |first, second| envelope.takes(&Envelope::of_words(first, second));
            if let Some((entry, found)) = unexpected.find_message((words[0], words[1]), takes)? {
                let message = found.read();
                if !self.has_room_for(&message, message[3] as u32)? {
                    return Ok(Taken::NoRoom);
                }
                unexpected.remove(entry)?;
                // A queued message's destination word says who sent it.
                self.schedule(local_index, words, &message, message[3] as u32)?;
                return Ok(Taken::Yes);
            }
        }
        Ok(if PostedReceives::of(self.memory, block).push(words)? { Taken::Yes } else { Taken::NoRoom })
    }

    /// A message for a rank of this node: matches it with the oldest receive that waits, or keeps it until
    /// its receive is posted; passes over it if the rank has claimed it. Of the sender it is told the rank in
    /// the job, and the local index, which is [`ELSEWHERE`] where that is on another node.
    #[inline]
    pub(crate) fn handle_message(
        &mut self,
        (origin, sender): (u32, u32),
        words: &[u64; CELL_WORDS],
    ) -> Result<Taken, Corrupt> {
        let destination = words[3] as u32;
        let Some(local_index) = self.memory.local_index(destination)? else {
            return self.send_out(origin, words);
        };
        let block = self.memory.rank(local_index)?;
        if block.claims.is_passed_over(sender, words[LABEL]) {
            self.matched += 1;
            return Ok(Taken::Yes);
        }
        let posted = PostedReceives::of(self.memory, block);
        if !posted.is_empty() {
            let envelope = Envelope::of_words(words[0], words[1]);
            let takes = |first, second| Envelope::of_words(first, second).takes(&envelope);
            if let Some((at, receive)) = posted.find_receive((words[0], words[1]), takes)? {
                if !self.has_room_for(words, origin)? {
                    return Ok(Taken::NoRoom);
                }
                posted.remove(at)?;
                self.schedule(local_index, &receive, words, origin)?;
                return Ok(Taken::Yes);
            }
        }
        let mut queued = *words;
        queued[3] = origin as u64 | words[3] & !0xffff_ffff;
        Ok(if UnexpectedMessages::of(self.memory, block).push_message(&queued)? {
            Taken::Yes
        } else {
            Taken::NoRoom
        })
    }

    /// A matched pair: completes it, or schedules its transfer.
    #[inline]
    fn schedule(
        &mut self,
        local_index: u32,
        receive: &[u64; CELL_WORDS],
        send: &[u64; CELL_WORDS],
        origin: u32,
    ) -> Result<(), Corrupt> {
        self.matched += 1;
        if is_buffered_inline(send) {
            return self.completer.complete_inline(local_index, (receive[3] >> 32) as u32, send);
        }
        self.schedule_other(local_index, receive, send, origin)
    }

    fn schedule_other(
        &mut self,
        local_index: u32,
        receive: &[u64; CELL_WORDS],
        send: &[u64; CELL_WORDS],
        origin: u32,
    ) -> Result<(), Corrupt> {
        let Some(PointToPoint::Receive(receive)) = PointToPoint::decode(receive) else {
            return Err(Corrupt { what: "posted receive", value: receive[0], limit: 0 });
        };
        let message = Message { origin, ..message_of_words(send)? };
        if receive.check != Check::NONE
            && let Some(report) = mismatch::report_of_message(self.memory, local_index, &receive, &message)
        {
            // Both ends complete as they would, with what there is room for, and find that their communicator
            // is broken.
            breach::break_context(self.memory, self.completer, receive.context, &report)?;
        }
        if self.memory.local_index(origin)?.is_none() {
            return self.schedule_remote(local_index, &receive, &message, send);
        }
        let send = &message.send;
        let status = (send.source, send.tag, send.length().word());
        let delivery = match send.payload {
            Payload::Inline(bytes) => Delivery::in_slot(&bytes),
            Payload::Slab(slab) => {
                let owner = self.memory.local_index(message.origin)?;
                Delivery::InSlab { owner: owner.unwrap_or(ELSEWHERE), slab }
            }
            Payload::Pooled(block) => Delivery::InPool(block),
            Payload::Memory(_) if send.bytes == 0 || receive.capacity == 0 => Delivery::InPlace,
            Payload::Memory(address) => {
                self.memory.request(local_index, receive.request)?.write_status(status.0, status.1, status.2);
                let source = self.memory.local_index(message.origin)?.unwrap_or(ELSEWHERE);
                return self.dma.schedule(source, local_index, &receive, &message, address, self.completer);
            }
        };
        if send.request != NO_REQUEST
            && let Some(sender) = self.memory.local_index(message.origin)?
        {
            self.completer.complete(sender, send.request, status, &Delivery::InPlace)?;
        }
        self.completer.complete(local_index, receive.request, status, &delivery)
    }

    fn cancel_receive(
        &mut self,
        local_index: u32,
        block: &RankBlock,
        request: u32,
    ) -> Result<Taken, Corrupt> {
        let posted = PostedReceives::of(self.memory, block);
        if let Some(at) = posted.find_request(request)? {
            posted.remove(at)?;
            self.completer.complete_cancelled(local_index, request)?;
        }
        Ok(Taken::Yes)
    }

    fn cancel_send(&mut self, local_index: u32, request: u32, destination: u32) -> Result<Taken, Corrupt> {
        if self.memory.local_index(destination)?.is_none() {
            return self.cancel_remote_send(local_index, request, destination);
        }
        match self.take_back(self.memory.job_rank(local_index), request, destination)? {
            Some(send) => self.complete_cancelled(local_index, &send),
            None => Ok(Taken::Yes),
        }
    }

    /// A send of this rank is taken back.
    fn complete_cancelled(&mut self, sender: u32, send: &SendDescriptor) -> Result<Taken, Corrupt> {
        if let Payload::Slab(slab) = send.payload {
            self.memory.rank(sender)?.returned.give_back(slab, send.bytes);
        }
        self.completer.complete_cancelled(sender, send.request)?;
        Ok(Taken::Yes)
    }

    /// A message for a rank of another node: it waits for a global slice, in the order of posting.
    #[cold]
    fn send_out(&mut self, origin: u32, words: &[u64; CELL_WORDS]) -> Result<Taken, Corrupt> {
        let Some(sender) = self.memory.local_index(origin)? else {
            let what = "destination of a message from another node";
            return Err(Corrupt { what, value: words[3] & 0xffff_ffff, limit: 0 });
        };
        self.push_outbound(sender, words)
    }

    fn push_outbound(&mut self, sender: u32, words: &[u64; CELL_WORDS]) -> Result<Taken, Corrupt> {
        if !self.memory.rank(sender)?.outbound.push(self.memory, words)? {
            return Ok(Taken::NoRoom);
        }
        let outbound = &self.memory.header().remote.outbound;
        outbound.set(outbound.get() + 1);
        Ok(Taken::Yes)
    }

    /// A receive matched with a message of another node: one whose bytes are here is complete; of every other
    /// one, and where the sender waits to be told, a global slice takes the pair.
    #[cold]
    fn schedule_remote(
        &mut self,
        local_index: u32,
        receive: &ReceiveDescriptor,
        message: &Message,
        queued: &[u64; CELL_WORDS],
    ) -> Result<(), Corrupt> {
        let send = &message.send;
        let delivery = match send.payload {
            Payload::Inline(bytes) => Some(Delivery::in_slot(&bytes)),
            Payload::Pooled(block) => Some(Delivery::InPool(block)),
            Payload::Slab(_) | Payload::Memory(_) => None,
        };
        if let Some(delivery) = &delivery {
            let status = (send.source, send.tag, send.length().word());
            self.completer.complete(local_index, receive.request, status, delivery)?;
            if send.request == NO_REQUEST {
                return Ok(());
            }
        }
        // With the number that it may have: see `global::point_to_point`.
        let mut queued = *queued;
        queued[3] = message.origin as u64 | queued[3] & !0xffff_ffff;
        let mut words = receive.encode();
        words[3] |= local_index as u64;
        let matches = &self.memory.header().remote.matches;
        // `has_room_for` has seen to it that there is room.
        if matches.push(self.memory, &queued)? && matches.push(self.memory, &words)? {
            return Ok(());
        }
        Err(Corrupt {
            what: "queue entries in use",
            value: MESSAGE_ENTRIES as u64,
            limit: MESSAGE_ENTRIES as u64,
        })
    }

    #[inline]
    fn has_room_for(&mut self, message: &[u64; CELL_WORDS], origin: u32) -> Result<bool, Corrupt> {
        if self.memory.local_index(origin)?.is_none() {
            return Ok(self.memory.control().entries.used() as usize + 2 <= MESSAGE_ENTRIES);
        }
        self.dma.has_room_for(message)
    }

    /// Takes back a send that has not left this node, or asks the destination's node to do so.
    #[cold]
    fn cancel_remote_send(&mut self, sender: u32, request: u32, destination: u32) -> Result<Taken, Corrupt> {
        let outbound = &self.memory.rank(sender)?.outbound;
        let is_it = |words: &[u64; CELL_WORDS]| matches!(PointToPoint::decode(words), Some(PointToPoint::Send(send)) if send.request == request);
        let Some((entry, found)) = outbound.find(self.memory, is_it)? else {
            return self.push_outbound(sender, &PointToPoint::Cancel { request, destination }.encode());
        };
        outbound.remove(self.memory, entry)?;
        let count = &self.memory.header().remote.outbound;
        count.set(count.get().wrapping_sub(1));
        self.complete_cancelled(sender, &message_of_words(&found)?.send)
    }

    /// Takes back a message, if it still waits here.
    pub(crate) fn take_back(
        &mut self,
        origin: u32,
        request: u32,
        destination: u32,
    ) -> Result<Option<SendDescriptor>, Corrupt> {
        let Some(at) = self.memory.local_index(destination)? else { return Ok(None) };
        let unexpected = UnexpectedMessages::of(self.memory, self.memory.rank(at)?);
        let is_it = |words: &[u64; CELL_WORDS]| is_unmatched(words, origin, request);
        let Some((entry, found)) = unexpected.find_words(is_it)? else { return Ok(None) };
        unexpected.remove(entry)?;
        let send = message_of_words(&found)?.send;
        if let Payload::Pooled(block) = send.payload {
            UnexpectedPool::of(self.memory, at)?.free(block)?;
        }
        Ok(Some(send))
    }
}

/// Whether this is the message of that send, and no matched probe has taken it: then it cannot be taken back.
fn is_unmatched(words: &[u64; CELL_WORDS], origin: u32, request: u32) -> bool {
    words[3] == origin as u64 | (request as u64) << 32
        && Envelope::of_words(words[0], words[1]).context < FIRST_MATCHED_CONTEXT
}

/// More eligible entries than a ring has cells is corruption.
#[inline]
pub(crate) fn check_count(count: u32, ring: &Ring<'_>) -> Result<(), Corrupt> {
    if count > ring.capacity() {
        return Err(Corrupt {
            what: "entries of a ring",
            value: count as u64,
            limit: ring.capacity() as u64 + 1,
        });
    }
    Ok(())
}

/// The oldest unexpected message of a rank that a receive with this envelope would take: what a probe sees.
/// The caller holds the run token.
#[inline]
pub fn probe(memory: &NicMemory, local_index: u32, envelope: &Envelope) -> Result<Option<Message>, Corrupt> {
    let unexpected = UnexpectedMessages::of(memory, memory.rank(local_index)?);
    let takes = |first, second| envelope.takes(&Envelope::of_words(first, second));
    let found = unexpected.find_message(envelope.words(), takes)?;
    found.map(|(_, cell)| message_of_words(&cell.read())).transpose()
}

/// Takes the oldest unexpected message of a rank that a receive with this envelope would take, so that from
/// now on only a receive in the context `matched`, a context of its own, takes it: what a matched probe does.
/// The message stays in the queue, with its payload. The caller holds the run token, so no receive comes
/// between.
#[inline]
pub fn take_matched(
    memory: &NicMemory,
    local_index: u32,
    envelope: &Envelope,
    matched: u32,
) -> Result<Option<Message>, Corrupt> {
    let unexpected = UnexpectedMessages::of(memory, memory.rank(local_index)?);
    let takes = |first, second| envelope.takes(&Envelope::of_words(first, second));
    let Some((entry, cell)) = unexpected.find_message(envelope.words(), takes)? else { return Ok(None) };
    let message = message_of_words(&cell.read())?;
    unexpected.set_context(entry, matched)?;
    Ok(Some(message))
}
