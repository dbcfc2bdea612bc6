//! BR, the Buffer Receiver (paper, §4.1, §4.3): matches messages with receives and schedules what moves in
//! this slice.
//!
//! Message scheduling microphase: first this slice's receives are set against the messages that wait, then
//! this slice's messages against the receives that wait, each oldest first, which is MPI's order. A message
//! whose bytes are in NIC memory is complete with the match; one whose bytes are in the sender's memory
//! becomes a transfer.

use crate::matching::Envelope;
use crate::matching::mismatch;
use crate::matching::{Message, queued_message};
use crate::memory::descriptor::{
    Check, KIND, Payload, PointToPoint, ReceiveDescriptor, ReceiveWords, SendDescriptor, SendWords,
    is_receive, is_send,
};
use crate::memory::doorbell::RingKind;
use crate::memory::queue::{PostedReceives, UnexpectedMessages};
use crate::memory::request::Delivery;
use crate::memory::ring::{LABEL, Words};
use crate::memory::unexpected::UnexpectedPool;
use crate::memory::{
    CommRank, Context, Corrupt, FIRST_MATCHED_CONTEXT, LocalRank, MESSAGE_ENTRIES, NicMemory, Rank,
    RankBlock, RequestId,
};
use crate::one_sided::{Served, serve_lock};
use crate::threads::breach;
use crate::threads::buffer_sender::BufferSender;
use crate::threads::collective_arrivals;
use crate::threads::collective_list;
use crate::threads::completer::Completer;
use crate::threads::dma_helper::DmaHelper;
use crate::threads::eligible::Eligible;
use crate::threads::nic_thread::NicThread;
use crate::threads::slice_work::{SliceCounts, SliceWork};

/// The Buffer Receiver, for one slice.
pub struct BufferReceiver<'a, 'm> {
    memory: &'m NicMemory,
    completer: &'a mut Completer<'m>,
    dma: &'a mut DmaHelper<'m>,
    /// Descriptors taken in this slice, and receives of messages that were claimed.
    pub descriptors: u64,
    /// Matched pairs in this slice.
    pub matched: u64,
}

/// Message scheduling microphase: takes what is eligible, collectives first.
impl NicThread for BufferReceiver<'_, '_> {
    #[inline]
    fn is_idle(work: &SliceWork<'_>) -> bool {
        work.exchange.is_empty()
    }

    #[inline]
    fn run(work: &mut SliceWork<'_>) -> Result<(), Corrupt> {
        let memory = work.memory;
        let breaches = memory.breaches().ever();
        // Collectives first: one that does not fit is told before any of its messages is matched.
        let at_once = work.at_once.take(memory, &mut work.exchange)?;
        if at_once != 0 {
            work.counts.collective_descriptors += at_once as u64;
            // The list does so itself when somebody arrives at it, which here nobody did.
            collective_list::free_departed(memory)?;
        }
        for i in 0..work.exchange.len() {
            let reached = collective_arrivals::take(work, work.exchange[i])?;
            work.exchange[i].taken = work.exchange[i].taken.advanced_by(RingKind::Collective, reached);
            work.counts.collective_descriptors += reached as u64;
        }
        let mut dma = DmaHelper::of(work);
        let mut receiver = BufferReceiver::new(&mut work.completer, &mut dma);
        work.exchange.iter_mut().try_for_each(|rank| receiver.take_receives(rank))?;
        work.exchange.iter_mut().try_for_each(|rank| receiver.take_sends(rank))?;
        work.counts.descriptors += receiver.descriptors;
        work.counts.matched += receiver.matched;
        work.budget_bytes = dma.budget_bytes;
        if memory.breaches().ever() != breaches {
            collective_arrivals::forget_failed(work);
        }
        for rank in &work.exchange {
            memory.taken()[rank.local_rank.index()].publish(rank.taken);
        }
        work.counts.collectives = (work.arrivals.len() + work.at_once.len()) as u64;
        if work.counts == SliceCounts::default() {
            memory.header().slice.in_vain.add(1);
            if work.pacing.starts_on_work() && memory.node().1 > 1 {
                BufferSender::stall(memory, &work.exchange);
            }
        } else if memory.header().slice.stalled.get() != 0 {
            memory.header().slice.stalled.set(0);
        }
        Ok(())
    }
}

impl<'a, 'm> BufferReceiver<'a, 'm> {
    /// A Buffer Receiver that completes through `completer` and hands transfers to `dma`.
    #[inline]
    pub fn new(completer: &'a mut Completer<'m>, dma: &'a mut DmaHelper<'m>) -> Self {
        Self { memory: completer.memory, completer, dma, descriptors: 0, matched: 0 }
    }

    /// Takes a rank's eligible receives.
    #[inline]
    pub fn take_receives(&mut self, rank: &mut Eligible) -> Result<(), Corrupt> {
        let local_rank = rank.local_rank;
        self.take(rank, RingKind::Receive, |receiver, block, words| match is_receive(words) {
            true => receiver.handle_receive(local_rank, block, ReceiveWords(words)),
            false => receiver.handle_other(local_rank, RingKind::Receive, words),
        })
    }

    /// Takes a rank's eligible sends.
    #[inline]
    pub fn take_sends(&mut self, rank: &mut Eligible) -> Result<(), Corrupt> {
        if rank.count(RingKind::Send) == 0 {
            return Ok(());
        }
        let (local_rank, origin) = (rank.local_rank, self.memory.job_rank(rank.local_rank));
        self.take(rank, RingKind::Send, |receiver, _, words| match is_send(words) {
            true => receiver.handle_message((origin, local_rank), SendWords(words)),
            false => receiver.handle_other(local_rank, RingKind::Send, words),
        })
    }

    /// Passes over the first of a rank's eligible sends as far as their receivers have claimed them: all that
    /// a rank needs whose ring is full, where messages are claimed.
    pub fn pass_over_claimed(memory: &NicMemory, rank: &Eligible) -> Result<(), Corrupt> {
        let (mut passed, block) = (0, memory.rank(rank.local_rank)?);
        for cell in rank.cells(block, RingKind::Send)? {
            let words = cell.read();
            let send = SendWords(&words);
            if !is_send(&words) || send.is_kept() {
                break;
            }
            let Some(receiver) = memory.local_rank(send.destination())? else { break };
            if !memory.rank(receiver)?.claims.is_passed_over(rank.local_rank, words[LABEL]) {
                break;
            }
            passed += 1;
        }
        if passed > 0 {
            memory.header().slice.matched.add(passed.into());
            let taken = rank.taken.advanced_by(RingKind::Send, passed);
            memory.taken()[rank.local_rank.index()].publish(taken);
        }
        Ok(())
    }

    /// Takes the eligible entries of a ring one by one, until there is no room for one.
    #[inline(always)]
    fn take(
        &mut self,
        rank: &mut Eligible,
        kind: RingKind,
        mut handle: impl FnMut(&mut Self, &'m RankBlock, &Words) -> Result<bool, Corrupt>,
    ) -> Result<(), Corrupt> {
        if rank.count(kind) == 0 {
            return Ok(());
        }
        let block = self.memory.rank(rank.local_rank)?;
        let mut taken = 0;
        for cell in rank.cells(block, kind)? {
            if !handle(self, block, &cell.read())? {
                break;
            }
            taken += 1;
        }
        rank.taken = rank.taken.advanced_by(kind, taken);
        self.descriptors += taken as u64;
        Ok(())
    }

    /// An entry that is neither a send nor a receive.
    #[cold]
    fn handle_other(
        &mut self,
        local_rank: LocalRank,
        ring: RingKind,
        words: &Words,
    ) -> Result<bool, Corrupt> {
        match (PointToPoint::decode(words), ring) {
            (Some(PointToPoint::Cancel { request, .. }), RingKind::Receive) => {
                self.cancel_receive(local_rank, request)?;
            }
            (Some(PointToPoint::Cancel { request, destination }), RingKind::Send) => {
                return self.cancel_send(local_rank, request, destination);
            }
            (Some(PointToPoint::Continue { transfer }), RingKind::Send) => self.dma.grant_more(transfer)?,
            (Some(PointToPoint::Operate(message)), RingKind::Send) => {
                return self.handle_operation(local_rank, words, &message);
            }
            _ => {
                let what = if ring == RingKind::Send { "send descriptor" } else { "receive descriptor" };
                return Err(Corrupt { what, value: words[KIND], limit: 0 });
            }
        }
        Ok(true)
    }

    /// An operation of a rank of this node on another one's memory, or on its door: what concerns this node
    /// ranks do by themselves, but for locks that they wait for.
    fn handle_operation(
        &mut self,
        sender: LocalRank,
        words: &Words,
        message: &SendDescriptor,
    ) -> Result<bool, Corrupt> {
        let Some(target) = self.memory.local_rank(message.destination)? else {
            return self.push_outbound(sender, words);
        };
        match serve_lock(self.completer, (target, self.memory.job_rank(sender)), message)? {
            Served::NoRoom => return Ok(false),
            Served::Waits => {}
            Served::Done if message.request == RequestId::NONE => {}
            Served::Done => {
                let to = (sender, message.request);
                self.completer.complete(to, (CommRank(0), 0, 0), &Delivery::InPlace)?;
            }
        }
        Ok(true)
    }

    /// A receive: matches it with the oldest message that waits, or queues it. False, here and below, when
    /// there is no room for what it needs: it stays in its ring, and so does what follows it.
    #[inline]
    fn handle_receive(
        &mut self,
        local_rank: LocalRank,
        block: &RankBlock,
        receive: ReceiveWords<'_>,
    ) -> Result<bool, Corrupt> {
        let unexpected = UnexpectedMessages::of(self.memory, block);
        if !unexpected.list().is_empty() {
            let envelope = receive.envelope();
            let takes = |message| envelope.takes(&message);
            if let Some((entry, found)) = unexpected.find_message(envelope, takes)? {
                let words = found.read();
                let message = SendWords(&words);
                let origin = message.origin();
                if !self.has_room_for(message, origin)? {
                    return Ok(false);
                }
                unexpected.remove(entry)?;
                self.schedule(local_rank, receive, message, origin)?;
                return Ok(true);
            }
        }
        PostedReceives::of(self.memory, block).push(receive.0)
    }

    /// A message for a rank of this node: matches it with the oldest receive that waits, or keeps it until
    /// its receive is posted; passes over it if the rank has claimed it. Of the sender it is told the rank in
    /// the job, and the local rank, which is `ELSEWHERE` where that is on another node.
    #[inline]
    pub(crate) fn handle_message(
        &mut self,
        (origin, sender): (Rank, LocalRank),
        send: SendWords<'_>,
    ) -> Result<bool, Corrupt> {
        let Some(local_rank) = self.memory.local_rank(send.destination())? else {
            return self.push_outbound(sender, send.0);
        };
        let block = self.memory.rank(local_rank)?;
        if !send.is_kept() && block.claims.is_passed_over(sender, send.0[LABEL]) {
            // Its receive has no descriptor, and counts as if it had.
            (self.matched, self.descriptors) = (self.matched + 1, self.descriptors + 1);
            return Ok(true);
        }
        let posted = PostedReceives::of(self.memory, block);
        if !posted.is_empty() {
            let envelope = send.envelope();
            let takes = |receive: Envelope| receive.takes(&envelope);
            if let Some((at, receive)) = posted.find_receive(envelope, takes)? {
                if !self.has_room_for(send, origin)? {
                    return Ok(false);
                }
                posted.remove(at)?;
                self.schedule(local_rank, ReceiveWords(&receive), send, origin)?;
                return Ok(true);
            }
        }
        UnexpectedMessages::of(self.memory, block).push_message(&send.queued_by(origin))
    }

    /// A matched pair: completes it, or schedules its transfer.
    #[inline]
    fn schedule(
        &mut self,
        local_rank: LocalRank,
        receive: ReceiveWords<'_>,
        send: SendWords<'_>,
        origin: Rank,
    ) -> Result<(), Corrupt> {
        self.matched += 1;
        if send.is_buffered_inline() {
            return self.completer.complete_inline((local_rank, receive.request()), send);
        }
        if receive.is_unchecked()
            && send.is_claimable(Check::NONE)
            && send.is_buffered()
            && let (Some(slab), Some(owner)) = (send.slab(), self.memory.local_rank(origin)?)
        {
            return self.completer.complete_in_slabs((local_rank, receive.request()), send, owner, slab);
        }
        self.schedule_other(local_rank, receive, send, origin)
    }

    fn schedule_other(
        &mut self,
        local_rank: LocalRank,
        receive: ReceiveWords<'_>,
        words: SendWords<'_>,
        origin: Rank,
    ) -> Result<(), Corrupt> {
        let receive = receive.decode()?;
        let message = Message { send: words.decode()?, origin };
        if receive.check != Check::NONE
            && let Some(report) = mismatch::report_of_message(self.memory, local_rank, &receive, &message)
        {
            // Both ends complete as they would, with what there is room for, and find that their communicator
            // is broken.
            breach::break_context(self.completer, receive.context, &report)?;
        }
        let sender = self.memory.local_rank(origin)?;
        let send = &message.send;
        let status = send.status();
        let delivery = match (send.payload, sender) {
            (Payload::Inline(bytes), _) => Delivery::in_slot(&bytes),
            (Payload::Pooled(block), _) => Delivery::InPool(block),
            (_, None) => return self.leave_match(local_rank, &receive, words, origin),
            (Payload::Slab(slab), Some(owner)) => Delivery::InSlab { owner, slab },
            (Payload::Memory(_), _) if send.bytes == 0 || receive.capacity == 0 => Delivery::InPlace,
            (Payload::Memory(address), Some(source)) => {
                self.memory.request(local_rank, receive.request)?.write_status(status.0, status.1, status.2);
                return self.dma.schedule(source, local_rank, &receive, &message, address, self.completer);
            }
        };
        self.completer.complete((local_rank, receive.request), status, &delivery)?;
        match (send.request, sender) {
            (RequestId::NONE, _) => Ok(()),
            (request, Some(sender)) => self.completer.complete((sender, request), status, &Delivery::InPlace),
            (_, None) => self.leave_match(local_rank, &receive, words, origin),
        }
    }

    /// A receive was matched with a message of another node whose bytes are there, or whose sender waits to
    /// be told: a global slice takes the pair.
    #[cold]
    fn leave_match(
        &mut self,
        local_rank: LocalRank,
        receive: &ReceiveDescriptor,
        message: SendWords<'_>,
        origin: Rank,
    ) -> Result<(), Corrupt> {
        // With the number that it may have: see `global::point_to_point`.
        let (queued, words) = (message.queued_by(origin), receive.encode_of(local_rank));
        let matches = &self.memory.header().remote.matches;
        // `has_room_for` has seen to it that there is room.
        if matches.push(self.memory, &queued)? && matches.push(self.memory, &words)? {
            return Ok(());
        }
        let entries = MESSAGE_ENTRIES as u64;
        Err(Corrupt { what: "queue entries in use", value: entries, limit: entries })
    }

    fn cancel_receive(&mut self, local_rank: LocalRank, request: RequestId) -> Result<(), Corrupt> {
        let posted = PostedReceives::of(self.memory, self.memory.rank(local_rank)?);
        let Some(at) = posted.find_request(request)? else { return Ok(()) };
        posted.remove(at)?;
        self.completer.complete_cancelled((local_rank, request))
    }

    /// Takes back a send, or asks the destination's node to do so.
    fn cancel_send(
        &mut self,
        sender: LocalRank,
        request: RequestId,
        destination: Rank,
    ) -> Result<bool, Corrupt> {
        let send = if self.memory.local_rank(destination)?.is_some() {
            self.take_back(self.memory.job_rank(sender), request, destination)?
        } else {
            let outbound = &self.memory.rank(sender)?.outbound;
            let is_it = |words: &Words| matches!(PointToPoint::decode(words), Some(PointToPoint::Send(send)) if send.request == request);
            let Some((entry, found)) = outbound.find(self.memory, is_it)? else {
                return self.push_outbound(sender, &PointToPoint::Cancel { request, destination }.encode());
            };
            outbound.remove(self.memory, entry)?;
            self.memory.header().remote.outbound.add(-1);
            Some(SendWords(&found).decode()?)
        };
        if let Some(send) = send {
            if let Payload::Slab(slab) = send.payload {
                self.memory.rank(sender)?.returned.give_back(slab, send.bytes);
            }
            self.completer.complete_cancelled((sender, send.request))?;
        }
        Ok(true)
    }

    /// What is for another node: it waits for a global slice, in the order of posting.
    #[cold]
    fn push_outbound(&mut self, sender: LocalRank, words: &Words) -> Result<bool, Corrupt> {
        let has_room = self.memory.rank(sender)?.outbound.push(self.memory, words)?;
        self.memory.header().remote.outbound.add(has_room.into());
        Ok(has_room)
    }

    #[inline]
    fn has_room_for(&mut self, message: SendWords<'_>, origin: Rank) -> Result<bool, Corrupt> {
        if self.memory.local_rank(origin)?.is_none() {
            return Ok(self.memory.control().entries.used() as usize + 2 <= MESSAGE_ENTRIES);
        }
        self.dma.has_room_for(message)
    }

    /// Takes back a message, if it still waits here.
    pub(crate) fn take_back(
        &mut self,
        origin: Rank,
        request: RequestId,
        destination: Rank,
    ) -> Result<Option<SendDescriptor>, Corrupt> {
        let Some(at) = self.memory.local_rank(destination)? else { return Ok(None) };
        let unexpected = UnexpectedMessages::of(self.memory, self.memory.rank(at)?);
        let is_it = |words: &Words| is_unmatched(words, origin, request);
        let Some((entry, found)) = unexpected.list().find(self.memory, is_it)? else { return Ok(None) };
        unexpected.remove(entry)?;
        let send = SendWords(&found).decode()?;
        if let Payload::Pooled(block) = send.payload {
            UnexpectedPool::of(self.memory, at)?.free(block)?;
        }
        Ok(Some(send))
    }
}

/// Whether this is the message of that send, and no matched probe has taken it: then it cannot be taken back.
fn is_unmatched(words: &Words, origin: Rank, request: RequestId) -> bool {
    let queued = SendWords(words);
    (queued.origin(), queued.request()) == (origin, request)
        && queued.envelope().context < FIRST_MATCHED_CONTEXT
}

/// The oldest unexpected message of a rank that a receive with this envelope would take: what a probe sees.
/// With `matched`, a context of its own, only a receive in that context takes it from now on: what a matched
/// probe does. The message stays in the queue, with its payload. The caller holds the run token, so no
/// receive comes between.
#[inline]
pub fn probe(
    memory: &NicMemory,
    local_rank: LocalRank,
    envelope: &Envelope,
    matched: Option<Context>,
) -> Result<Option<Message>, Corrupt> {
    let unexpected = UnexpectedMessages::of(memory, memory.rank(local_rank)?);
    let takes = |message| envelope.takes(&message);
    let Some((entry, cell)) = unexpected.find_message(*envelope, takes)? else { return Ok(None) };
    let message = queued_message(&cell.read())?;
    if let Some(context) = matched {
        unexpected.set_context(entry, context)?;
    }
    Ok(Some(message))
}
