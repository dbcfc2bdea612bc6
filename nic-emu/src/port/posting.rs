//! Posting: what a rank asks of its NIC, as descriptors in its rings.
//!
//! A descriptor is visible to the processor with the doorbell that is rung after it, never before. What lacks
//! room makes the poster wait (`room`).

use super::error::PortError;
use super::rank_port::Port;
use crate::host::clock::ticks;
use crate::matching::Envelope;
use crate::memory::descriptor::{
    AGREED_LIMIT, Check, CollectiveDescriptor, CollectiveKind, INLINE_BYTES, Length, Payload, PointToPoint,
    ReceiveDescriptor, SendDescriptor, encode_in_slabs, encode_inline,
};
use crate::memory::doorbell::RingKind;
use crate::memory::few;
use crate::memory::ring::{CELL_WORDS, Words};
use crate::memory::root::SidedRank;
use crate::memory::slab::{BUFFERED_BYTES, PIPELINED_BYTES, ReturnedSlabs, SLAB_BYTES, SlabAllocator};
use crate::memory::status::WaitingFor;
use crate::memory::{CommRank, Context, REQUESTS, Rank, RequestId, SlabId};
use crate::port::outstanding::{About, Purpose};
use crate::threads::strobe_sender::StrobeSender;

/// Slices after which a rank goes on that has asked for a request to be taken back, though the NIC has not
/// taken the entry: some more than the two that this takes where there is room.
const DECISION_SLICES: u32 = 8;

/// A send to be posted.
#[derive(Clone, Copy, Debug)]
pub struct Send {
    /// Context of the communicator.
    pub context: Context,
    /// The sender's rank in the communicator.
    pub source: CommRank,
    /// The tag, not negative.
    pub tag: i32,
    /// The receiver's rank in the job.
    pub destination: Rank,
    /// Complete only once matched.
    pub synchronous: bool,
    /// What the receiver's library is told of the message's type, to compare it; 0 for nothing.
    pub signature: u16,
    /// What the receiver has to say alike ([`Port::post_receive_of`]), in place of a signature.
    pub check: Check,
}

impl Send {
    /// Its descriptor, for whose end nobody waits.
    #[inline]
    pub(super) fn descriptor(&self, bytes: usize, payload: Payload) -> SendDescriptor {
        SendDescriptor {
            context: self.context,
            source: self.source,
            tag: self.tag,
            bytes: bytes as u64,
            signature: self.signature,
            destination: self.destination,
            request: RequestId::NONE,
            synchronous: self.synchronous,
            check: self.check,
            payload,
        }
    }

    /// Its words, if its bytes ride in the descriptor, and it is buffered.
    #[inline(always)]
    pub(super) fn inline(&self, bytes: usize, payload: [u64; INLINE_BYTES / 8]) -> Words {
        let peers = (self.source, self.destination);
        let length = Length::new(bytes as u64, self.signature);
        encode_inline(self.context, peers, self.tag, (length, self.check), payload)
    }

    /// The same, if they are in slabs, of which this is the first.
    #[inline(always)]
    pub(super) fn in_slabs(&self, bytes: usize, first: SlabId) -> Words {
        let peers = (self.source, self.destination);
        let length = Length::new(bytes as u64, self.signature);
        encode_in_slabs(self.context, peers, self.tag, (length, self.check), first)
    }
}

/// When a caller waits for a send that is not complete when it is posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendWait {
    /// Not in this call.
    Later,
    /// At once, and for nothing else.
    Now,
    /// At once, and for a receive that it holds.
    WithReceive,
}

/// What became of a posted send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It is buffered: the program may use its buffer again.
    Complete,
    /// This request completes it.
    Request(RequestId),
}

/// A collective to be posted.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// What it does.
    pub kind: CollectiveKind,
    /// `ReduceOp` and `ElementType` of a reduction.
    pub operation: (u8, u8),
    /// Context of the communicator.
    pub context: Context,
    /// Rank and size in the communicator.
    pub comm: (SidedRank, u32),
    /// The root.
    pub root: SidedRank,
    /// The call that the program made, as `mds::Primitive` numbers it.
    pub call: u8,
    /// For a board: the most that any member contributes. All members have to say the same.
    pub most_bytes: u64,
    /// Which collective of the communicator.
    pub sequence: u32,
    /// Position among the communicator's local members, and their number.
    pub local: (u16, u16),
}

impl Collective {
    /// Whether this member has something to give.
    #[inline]
    pub(super) fn contributes(&self) -> bool {
        match self.kind {
            CollectiveKind::Announcement => false,
            CollectiveKind::Broadcast => self.comm.0 == self.root,
            _ => true,
        }
    }

    /// What a hang report says of a rank that waits to post it.
    pub fn waiting(&self, bytes: usize) -> WaitingFor {
        WaitingFor {
            call: self.call.into(),
            context: self.context,
            bytes: bytes as u64,
            ..WaitingFor::SOMETHING
        }
    }
}

impl Port {
    /// Posts a send of `bytes` bytes at `data`.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes; unless the answer is [`Posted::Complete`], until the
    /// request is complete.
    #[inline(always)]
    pub unsafe fn post_send(
        &mut self,
        send: &Send,
        data: *const u8,
        bytes: usize,
    ) -> Result<Posted, PortError> {
        // SAFETY: the caller's promise.
        unsafe { self.post_send_of(send, data, bytes, SendWait::Later) }
    }

    /// The same of a caller that says when it waits for its request.
    ///
    /// # Safety
    /// As [`Self::post_send`].
    #[inline(always)]
    pub unsafe fn post_send_of(
        &mut self,
        send: &Send,
        data: *const u8,
        bytes: usize,
        wait: SendWait,
    ) -> Result<Posted, PortError> {
        self.reserve(RingKind::Send)?;
        if bytes <= INLINE_BYTES && !send.synchronous {
            // SAFETY: the caller's promise; the length was compared.
            let payload = unsafe { few::as_words(data, bytes) };
            self.post(RingKind::Send, &send.inline(bytes, payload))?;
            return Ok(Posted::Complete);
        }
        // SAFETY: the caller's promise.
        unsafe { self.post_long_send(send, data, bytes, wait) }
    }

    /// [`Self::post_send`] of what does not ride in the descriptor, or has to be waited for.
    #[inline(never)]
    pub(super) unsafe fn post_long_send(
        &mut self,
        send: &Send,
        data: *const u8,
        bytes: usize,
        wait: SendWait,
    ) -> Result<Posted, PortError> {
        if (INLINE_BYTES + 1..PIPELINED_BYTES).contains(&bytes) && !send.synchronous {
            // SAFETY: the caller's promise; a slab is longer.
            return match unsafe { self.one_slab_with(data, bytes)? } {
                Some(slab) => {
                    self.post(RingKind::Send, &send.in_slabs(bytes, slab))?;
                    Ok(Posted::Complete)
                }
                // SAFETY: the caller's promise.
                None => unsafe { self.post_awaited_send(send, data, bytes, None) },
            };
        }
        let run = match self.leaves_to_reader(send.destination, bytes, wait)? {
            true => None,
            false => self.run_for(send.destination, bytes)?,
        };
        let slabs = match run {
            Some(_) => run,
            // SAFETY: the caller's promise.
            None => unsafe { self.slabs_with(send.destination, data, bytes)? },
        };
        let posted = match slabs {
            Some(first) if !send.synchronous => {
                self.post(RingKind::Send, &send.in_slabs(bytes, first))?;
                Posted::Complete
            }
            // SAFETY: the caller's promise.
            _ => unsafe { self.post_awaited_send(send, data, bytes, slabs)? },
        };
        if let Some(first) = run {
            // SAFETY: the caller's promise.
            unsafe { self.fill_run(first, data, bytes)? };
        }
        Ok(posted)
    }

    /// Slabs with a message in them that is posted next; none where it rides in the descriptor, or stays
    /// where it is.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes.
    #[inline(always)]
    unsafe fn slabs_with(
        &mut self,
        destination: Rank,
        data: *const u8,
        bytes: usize,
    ) -> Result<Option<SlabId>, PortError> {
        if bytes <= INLINE_BYTES {
            return Ok(None);
        }
        if bytes <= SLAB_BYTES {
            // SAFETY: the caller's promise; the length was compared.
            return unsafe { self.one_slab_with(data, bytes) };
        }
        let run = self.run_to_another_node(destination, bytes)?;
        if let Some(first) = run {
            let to = self.memory.run(self.local_rank, first, bytes as u64)?;
            // Through the caches: whoever sends it reads it next, most often this rank.
            // SAFETY: the run has room for the message and is this rank's until it is posted; `data` is the
            // caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(data, to.as_ptr(), bytes) };
        }
        Ok(run)
    }

    /// Posts a message that is in these slabs, or where it was, whose program waits for its request: it is
    /// synchronous, or in memory.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes, until that request is complete.
    #[inline(never)]
    unsafe fn post_awaited_send(
        &mut self,
        send: &Send,
        data: *const u8,
        bytes: usize,
        slabs: Option<SlabId>,
    ) -> Result<Posted, PortError> {
        let payload = match slabs {
            Some(first) => Payload::Slab(first),
            None if bytes > INLINE_BYTES => Payload::Memory(data as u64),
            // SAFETY: the caller's promise; the length was compared.
            None => unsafe { inline_payload(data, bytes) },
        };
        let may_be_kept =
            matches!(payload, Payload::Memory(_)) && !send.synchronous && bytes <= BUFFERED_BYTES;
        if may_be_kept && self.memory.local_rank(send.destination)?.is_some() {
            self.keeping.add();
        }
        let about = About {
            context: send.context,
            tag: send.tag,
            peer_in_job: send.destination,
            bytes: bytes as u64,
            address: data as u64,
            ..About::NOTHING
        };
        let request = self.arm(Purpose::Send, about)?;
        let descriptor = SendDescriptor { request, ..send.descriptor(bytes, payload) };
        self.post(RingKind::Send, &descriptor.encode())?;
        Ok(Posted::Request(request))
    }

    /// Posts a receive of at most `capacity` bytes at `buffer`; answers its request.
    ///
    /// # Safety
    /// `buffer` must be writable for `capacity` bytes, and nobody else may use it, until the request is
    /// complete.
    #[inline]
    pub unsafe fn post_receive(
        &mut self,
        envelope: &Envelope,
        buffer: *mut u8,
        capacity: usize,
    ) -> Result<RequestId, PortError> {
        // SAFETY: the caller's promise.
        unsafe { self.post_receive_of(envelope, Check::NONE, (Rank::NOBODY, 0), 0, (buffer, capacity)) }
    }

    /// [`Self::post_receive`] with the source's rank in the job (or `NOBODY`), a word that says whose request
    /// it is, and the signature of what is to be received: all are there to be asked for with
    /// [`Outstanding::about`](crate::port::outstanding::Outstanding::about).
    ///
    /// With a check it takes a message about which its sender has to say the same, and that has to be as long
    /// as there is room. What does not fit breaks the communicator (`crate::threads::breach`).
    ///
    /// # Safety
    /// As [`Self::post_receive`].
    #[inline(always)]
    pub unsafe fn post_receive_of(
        &mut self,
        envelope: &Envelope,
        check: Check,
        (peer_in_job, owner): (Rank, u64),
        signature: u16,
        (buffer, capacity): (*mut u8, usize),
    ) -> Result<RequestId, PortError> {
        self.post_held()?;
        self.reserve(RingKind::Receive)?;
        let about = about_receive(envelope, (peer_in_job, owner), signature, (buffer, capacity));
        let request = self.arm(Purpose::Receive, about)?;
        let descriptor = ReceiveDescriptor {
            context: envelope.context,
            source: envelope.source,
            tag: envelope.tag,
            capacity: capacity as u64,
            check,
            request,
            address: buffer as u64,
        };
        self.post(RingKind::Receive, &descriptor.encode())?;
        Ok(request)
    }

    /// Posts this rank's arrival at a collective with its contribution of at most [`SLAB_BYTES`], which is
    /// buffered; answers its request, or none when `wanted` is false: then the rank has nothing to wait for.
    /// With a reserved slab ([`Self::reserve_slab`]), which nobody may read any more, it is buffered there,
    /// where it does not ride in the descriptor.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes.
    ///
    /// # Errors
    /// The contribution is larger than a slab; the rank has no request left; or the NIC fails.
    #[inline]
    pub unsafe fn post_collective(
        &mut self,
        collective: &Collective,
        data: *const u8,
        bytes: usize,
        wanted: bool,
        slab: Option<SlabId>,
    ) -> Result<Option<RequestId>, PortError> {
        let contributes = collective.contributes();
        if contributes && bytes > SLAB_BYTES {
            let (operation, limit) = (collective.kind, SLAB_BYTES);
            return Err(PortError::LongContribution { operation, bytes, limit });
        }
        self.approach();
        let what = || collective.waiting(bytes);
        let in_any_slab = if slab.is_none() { bytes } else { 0 };
        self.make_room(what, |port| port.lacks_for_collective(collective, in_any_slab))?;
        let payload = if contributes {
            let take = |slabs: &mut SlabAllocator, returned: &_| match slab {
                Some(slab) => slabs.take_reserved(slab, returned),
                None => slabs.take_first(returned),
            };
            // SAFETY: the caller's promise.
            unsafe { self.payload(data, bytes, take) }
        } else {
            Payload::Inline([0; INLINE_BYTES])
        };
        debug_assert!(!matches!(payload, Payload::Memory(_)), "there is a slab");
        let request = if wanted { self.arm(Purpose::Collective, About::NOTHING)? } else { RequestId::NONE };
        let descriptor = CollectiveDescriptor {
            kind: collective.kind,
            call: collective.call,
            agreed_bytes: match collective.most_bytes {
                0 if collective.kind != CollectiveKind::Board => bytes as u64,
                most => most.min(AGREED_LIMIT - 1),
            },
            op: collective.operation.0,
            element: collective.operation.1,
            context: collective.context,
            comm_rank: collective.comm.0,
            comm_size: collective.comm.1,
            // Who gives nothing to a broadcast says with the others how long that is.
            bytes: if contributes || bytes <= INLINE_BYTES { bytes as u64 } else { 0 },
            root: collective.root,
            request,
            payload,
            sequence: collective.sequence,
            position: collective.local.0,
            local_size: collective.local.1,
        };
        self.post(RingKind::Collective, &descriptor.encode())?;
        Ok((request != RequestId::NONE).then_some(request))
    }

    /// Asks to take a request's descriptor back; the request still completes, cancelled or not. See
    /// [`Self::await_decision`].
    pub fn cancel(&mut self, request: RequestId) -> Result<(), PortError> {
        let Some((ring, destination)) = self.way_of(request) else { return Ok(()) };
        self.post_held()?;
        self.reserve(ring)?;
        self.post(ring, &PointToPoint::Cancel { request, destination }.encode())
    }

    /// The ring that a request of point-to-point communication went into, and the destination of a send.
    fn way_of(&self, request: RequestId) -> Option<(RingKind, Rank)> {
        let about = self.outstanding.about(request)?;
        match self.outstanding.purpose(request)? {
            Purpose::Send => Some((RingKind::Send, about.peer_in_job)),
            Purpose::Receive => Some((RingKind::Receive, Rank::NOBODY)),
            _ => None,
        }
    }

    /// After [`Self::cancel`]: waits until the NIC has decided what becomes of the request, and the rank can
    /// see it: a slice, or with fixed slices the start of the one after it. Otherwise the program could look
    /// at the request, find it neither complete nor cancelled, and post the receive of a message that the NIC
    /// takes back a moment later.
    ///
    /// Not for longer than some slices: while its pools are full the NIC leaves entries in their rings until
    /// others receive, which may be other threads of this rank. `call` is the one that waits, as hang reports
    /// name it.
    pub fn await_decision(&mut self, request: RequestId, call: u32) -> Result<(), PortError> {
        let Some((ring, _)) = self.way_of(request) else { return Ok(()) };
        let what = self.waiting_for(request, call, 1);
        let (mut slices, mut index) = (0, self.memory.control().slice.get());
        // The slice count when the NIC was first seen to have taken the entry.
        let mut taken_at = None;
        self.wait(&what, |port| {
            if port.pacing.starts_on_work() {
                // As long as the entry is in its ring there is a slice to run.
                slices += port.lend()? as u32;
            } else {
                let now = port.memory.control().slice.get();
                slices += (now != index) as u32;
                index = now;
            }
            if !port.slot(request)?.is_pending() || slices >= DECISION_SLICES {
                return Ok(Some(()));
            }
            port.read_taken();
            if port.heads.ahead_of(port.taken, ring) > 0 {
                return Ok(None);
            }
            // What this slice completed is published at the start of the next one, unless nothing was.
            let since = slices - *taken_at.get_or_insert(slices);
            let is_visible =
                !port.pacing.holds_completions() || since >= 2 || StrobeSender::rests(&port.memory);
            Ok(is_visible.then_some(()))
        })
    }

    /// One slab with a message in it that is posted next; none where it finds no room.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes, at most [`SLAB_BYTES`].
    #[inline(always)]
    pub(super) unsafe fn one_slab_with(
        &mut self,
        data: *const u8,
        bytes: usize,
    ) -> Result<Option<SlabId>, PortError> {
        let slab = self.one_slab(bytes)?;
        if let Some(slab) = slab {
            // SAFETY: the caller's promise.
            unsafe { self.fill_slab(slab, data, bytes)? };
        }
        Ok(slab)
    }

    /// A slab for a message of so many bytes; where none is free, those of messages without a receive are
    /// freed first.
    #[inline]
    pub(super) fn one_slab(&mut self, bytes: usize) -> Result<Option<SlabId>, PortError> {
        match self.slabs.take(bytes, &self.memory.rank(self.local_rank)?.returned) {
            None => self.take_slabs_again(bytes),
            slab => Ok(slab),
        }
    }

    /// Writes a message into one slab.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes, at most [`SLAB_BYTES`].
    #[inline(always)]
    unsafe fn fill_slab(&mut self, slab: SlabId, data: *const u8, bytes: usize) -> Result<(), PortError> {
        let to = self.memory.slab(self.local_rank, slab)?;
        // SAFETY: the slab has SLAB_BYTES and is this rank's until it is posted; the rest is the caller's
        // promise.
        unsafe { self.stores.copy_in(data, to.as_ptr(), bytes, ticks) };
        if bytes >= PIPELINED_BYTES {
            self.memory.filled(self.local_rank, slab)?.publish(bytes as u32);
        }
        Ok(())
    }

    /// Where a send's or a contribution's bytes go: the descriptor, a slab, or they stay where they are.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes.
    #[inline]
    pub(super) unsafe fn payload(
        &mut self,
        data: *const u8,
        bytes: usize,
        take: impl FnOnce(&mut SlabAllocator, &ReturnedSlabs) -> Option<SlabId>,
    ) -> Payload {
        if bytes <= INLINE_BYTES {
            // SAFETY: the caller's promise; the length was compared.
            return unsafe { inline_payload(data, bytes) };
        }
        if bytes <= SLAB_BYTES
            && let Ok(block) = self.memory.rank(self.local_rank)
            && let Some(slab) = take(&mut self.slabs, &block.returned)
            // SAFETY: the caller's promise; the length was compared.
            && unsafe { self.fill_slab(slab, data, bytes) }.is_ok()
        {
            return Payload::Slab(slab);
        }
        Payload::Memory(data as u64)
    }

    #[inline(always)]
    pub(super) fn arm(&mut self, purpose: Purpose, about: About) -> Result<RequestId, PortError> {
        let Some(request) = self.outstanding.add(purpose, about) else {
            return Err(PortError::TooManyRequests { limit: REQUESTS });
        };
        // Of a send that waits for its receiver nobody tells a sleeping rank before that is in MPI.
        if self.wake_pipe.is_some()
            && (purpose != Purpose::Receive || !self.is_of_this_node(about.peer_in_job))
        {
            self.outstanding.note_elsewhere(request);
        }
        self.slot(request)?.arm();
        Ok(request)
    }

    #[inline]
    pub(super) fn post(&mut self, kind: RingKind, words: &[u64; CELL_WORDS]) -> Result<(), PortError> {
        self.sent += (kind == RingKind::Send) as u64;
        let cell = self.block().ring(kind).cell(self.heads.get(kind));
        if kind == RingKind::Send {
            cell.write_labelled(words, self.sent);
        } else {
            cell.write(words);
        }
        self.heads = self.heads.advanced(kind);
        self.doorbell().publish(self.heads);
        Ok(())
    }
}

/// Bytes that ride in a descriptor.
///
/// # Safety
/// `data` must be readable for `bytes` bytes, at most [`INLINE_BYTES`].
#[inline(always)]
unsafe fn inline_payload(data: *const u8, bytes: usize) -> Payload {
    let mut inline = [0; INLINE_BYTES];
    // SAFETY: the caller's promise.
    unsafe { few::copy(data, inline.as_mut_ptr(), bytes) };
    Payload::Inline(inline)
}

/// What is known of a receive.
#[inline(always)]
pub(super) fn about_receive(
    envelope: &Envelope,
    (peer_in_job, owner): (Rank, u64),
    signature: u16,
    (buffer, capacity): (*mut u8, usize),
) -> About {
    let Envelope { context, source: peer, tag } = *envelope;
    let (bytes, address) = (capacity as u64, buffer as u64);
    About { context, peer, peer_in_job, tag, bytes, address, owner, signature }
}
