//! A rank's port to its NIC: post descriptors, look at requests, lend the core while waiting.
//!
//! A port belongs to one process, and its methods to one thread at a time (the MPI library holds its lock around them). Call `post_*`, then
//! `test` the request until it is complete, with [`Port::progress`] or [`Port::wait`] in between; every request that was posted
//! must be taken by `test` once.

use crate::buffer_sender::BufferSender;
use crate::channel::{self, ChannelError, End, Step};
use crate::completer::Touched;
use crate::descriptor::{
    CollectiveDescriptor, CollectiveKind, INLINE_BYTES, NO_REQUEST, Payload, PointToPoint, ReceiveDescriptor,
    SendDescriptor, encode_inline,
};
use crate::dma_helper;
use crate::doorbell::{Heads, RingKind};
use crate::matching::Envelope;
use crate::memory::{COLLECTIVE_RING, Corrupt, MapError, NicMemory, RECEIVE_RING, REQUESTS, SEND_RING};
use crate::outstanding::{Outstanding, Purpose};
use crate::processor::{Lent, Processor};
use crate::request::{Delivery, SLOT_PAYLOAD_BYTES, SlotState};
use crate::ring::{CELL_WORDS, Ring};
use crate::slab::{SLAB_BYTES, SlabAllocator};
use crate::status::{Activity, Phase, STARTED, WaitingFor};
use crate::strobe_receiver::SliceError;
use crate::sync::Ordering;
use crate::token::Holder;
use crate::waiting::{self, Pause, Wait, WaitPolicy};
use rustix::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

/// Why a port cannot go on. All of them end the job; none is the program's fault alone.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// NIC memory cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A slice failed.
    #[error(transparent)]
    Slice(#[from] SliceError),
    /// Bytes of a message cannot be moved.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// Another rank aborted the job, or the launcher ends it.
    #[error("the job is being ended")]
    Aborted,
    /// More requests are outstanding than the NIC has slots for.
    #[error(
        "{limit} requests are outstanding, which is all that the NIC has room for; complete some before posting more"
    )]
    TooManyRequests {
        /// The number of slots.
        limit: usize,
    },
}

impl From<Corrupt> for PortError {
    fn from(corrupt: Corrupt) -> Self {
        PortError::Slice(SliceError::Corrupt(corrupt))
    }
}

/// A send to be posted.
#[derive(Clone, Copy, Debug)]
pub struct Send {
    /// Context of the communicator.
    pub context: u32,
    /// The sender's rank in the communicator.
    pub source: u32,
    /// The tag, not negative.
    pub tag: i32,
    /// The receiver's rank in the job.
    pub destination: u32,
    /// Complete only once matched.
    pub synchronous: bool,
}

/// What became of a posted send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It is buffered: the program may use its buffer again.
    Complete,
    /// This request completes it.
    Request(u32),
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The sender's rank in the communicator.
    pub source: u32,
    /// The tag.
    pub tag: i32,
    /// Length of the message; more than the receive's capacity means that it was truncated.
    pub bytes: u64,
    /// It was cancelled.
    pub cancelled: bool,
}

/// A collective to be posted.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// What it does.
    pub kind: CollectiveKind,
    /// `ReduceOp` and `ElementType` of a reduction.
    pub operation: (u8, u8),
    /// Context of the communicator.
    pub context: u32,
    /// Rank and size in the communicator.
    pub comm: (u32, u32),
    /// The root's rank.
    pub root: u32,
    /// Which collective of the communicator.
    pub sequence: u32,
    /// Position among the communicator's local members, and their number.
    pub local: (u16, u16),
}

/// A rank's port.
pub struct Port {
    memory: Arc<NicMemory>,
    local_index: u32,
    heads: Heads,
    /// The taken word as last read: at least so many cells are free.
    taken: Heads,
    slabs: SlabAllocator,
    outstanding: Outstanding,
    transfers_seen: u32,
    moving: Vec<Moving>,
    channel: channel::Policy,
    waiting: WaitPolicy,
    fixed: bool,
    clock: fn() -> u64,
}

/// A transfer that this rank is an end of.
#[derive(Clone, Copy, Debug)]
struct Moving {
    transfer: u32,
    request: u32,
    end: End,
    asked: u64,
}

impl Port {
    /// The port of a rank in the NIC memory behind this descriptor.
    pub fn attach(fd: OwnedFd, local_index: u32) -> Result<Self, PortError> {
        let mut memory = NicMemory::attach(fd)?;
        memory.close_descriptor();
        Self::open(Arc::new(memory), local_index)
    }

    /// The port of a rank in memory that this process has mapped.
    pub fn open(memory: Arc<NicMemory>, local_index: u32) -> Result<Self, PortError> {
        let block = memory.rank(local_index)?;
        allow_attach();
        block.status.set_pid(std::process::id());
        block.status.set_phase(Phase::Attached);
        let transfers_seen = block.status.transfers_started.load(Ordering::Acquire);
        let heads = memory.doorbells()[local_index as usize].read();
        Ok(Self {
            local_index,
            heads,
            taken: memory.taken()[local_index as usize].read(),
            slabs: SlabAllocator::new(),
            outstanding: Outstanding::default(),
            transfers_seen,
            moving: Vec::new(),
            channel: channel::Policy::measured(memory.layout().local_ranks, memory.header().cores.get()),
            waiting: WaitPolicy::for_node(&memory),
            fixed: memory.header().slice_period_ns.get() != 0,
            clock: now_ns,
            memory,
        })
    }

    /// The same port with another clock: simulations run on virtual time.
    pub fn with_clock(self, clock: fn() -> u64) -> Self {
        Self { clock, ..self }
    }

    /// The NIC memory.
    pub fn memory(&self) -> &Arc<NicMemory> {
        &self.memory
    }

    /// This rank's local index.
    pub fn local_index(&self) -> u32 {
        self.local_index
    }

    /// Enters [`Phase::Finalized`].
    pub fn finalize(&self) {
        if let Ok(block) = self.memory.rank(self.local_index) {
            block.status.set_phase(Phase::Finalized);
        }
    }

    /// Posts a send of `bytes` bytes at `data`.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes; unless the answer is [`Posted::Complete`], until the request is complete.
    #[inline(always)]
    pub unsafe fn post_send(
        &mut self,
        send: &Send,
        data: *const u8,
        bytes: usize,
    ) -> Result<Posted, PortError> {
        self.reserve(RingKind::Send, SEND_RING)?;
        if bytes <= INLINE_BYTES && !send.synchronous {
            // SAFETY: the caller's promise; the length was compared.
            let payload = unsafe { inline_words(data, bytes) };
            let peers = (send.source, send.destination);
            self.post(RingKind::Send, &encode_inline(send.context, peers, send.tag, bytes as u64, payload))?;
            return Ok(Posted::Complete);
        }
        // SAFETY: the caller's promise.
        unsafe { self.post_long_send(send, data, bytes) }
    }

    /// [`Self::post_send`] of what does not ride in the descriptor, or has to be waited for.
    #[inline(never)]
    unsafe fn post_long_send(
        &mut self,
        send: &Send,
        data: *const u8,
        bytes: usize,
    ) -> Result<Posted, PortError> {
        // SAFETY: the caller's promise.
        let payload = unsafe { self.payload(data, bytes) };
        let buffered = !matches!(payload, Payload::Memory(_)) && !send.synchronous;
        let request =
            if buffered { NO_REQUEST } else { self.arm(Purpose::Send { destination: send.destination })? };
        let descriptor = SendDescriptor {
            context: send.context,
            source: send.source,
            tag: send.tag,
            bytes: bytes as u64,
            destination: send.destination,
            request,
            synchronous: send.synchronous,
            payload,
        };
        self.post(RingKind::Send, &descriptor.encode())?;
        Ok(if buffered { Posted::Complete } else { Posted::Request(request) })
    }

    /// Posts a receive of at most `capacity` bytes at `buffer`; answers its request.
    ///
    /// # Safety
    /// `buffer` must be writable for `capacity` bytes, and nobody else may use it, until the request is complete.
    #[inline(always)]
    pub unsafe fn post_receive(
        &mut self,
        envelope: &Envelope,
        buffer: *mut u8,
        capacity: usize,
    ) -> Result<u32, PortError> {
        self.reserve(RingKind::Receive, RECEIVE_RING)?;
        let request = self.arm(Purpose::Receive { address: buffer as u64, capacity: capacity as u64 })?;
        let descriptor = ReceiveDescriptor {
            context: envelope.context,
            source: envelope.source,
            tag: envelope.tag,
            capacity: capacity as u64,
            request,
            address: buffer as u64,
        };
        self.post(RingKind::Receive, &descriptor.encode())?;
        Ok(request)
    }

    /// Posts this rank's arrival at a collective with its contribution; answers its request, or none when `wanted` is
    /// false and the contribution is buffered: then the rank has nothing to wait for.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes, until the request is complete if the contribution is larger than
    /// [`SLAB_BYTES`] (then others read it, and the rank has to wait until all have departed).
    #[inline]
    pub unsafe fn post_collective(
        &mut self,
        collective: &Collective,
        data: *const u8,
        bytes: usize,
        wanted: bool,
    ) -> Result<Option<u32>, PortError> {
        self.reserve(RingKind::Collective, COLLECTIVE_RING)?;
        let contributes =
            collective.kind != CollectiveKind::Broadcast || collective.comm.0 == collective.root;
        let payload = if contributes {
            // SAFETY: the caller's promise.
            let mut payload = unsafe { self.payload(data, bytes) };
            while matches!(payload, Payload::Memory(_)) && bytes <= SLAB_BYTES {
                // All slabs are under way: they come back as others read them.
                self.lend()?;
                rustix::thread::sched_yield();
                // SAFETY: as above.
                payload = unsafe { self.payload(data, bytes) };
            }
            payload
        } else {
            Payload::Inline([0; INLINE_BYTES])
        };
        let request = if wanted || matches!(payload, Payload::Memory(_)) {
            self.arm(Purpose::Collective)?
        } else {
            NO_REQUEST
        };
        let descriptor = CollectiveDescriptor {
            kind: collective.kind,
            op: collective.operation.0,
            element: collective.operation.1,
            context: collective.context,
            comm_rank: collective.comm.0,
            comm_size: collective.comm.1,
            bytes: bytes as u64,
            root: collective.root,
            request,
            payload,
            sequence: collective.sequence,
            local_index: collective.local.0,
            local_size: collective.local.1,
        };
        self.post(RingKind::Collective, &descriptor.encode())?;
        Ok((request != NO_REQUEST).then_some(request))
    }

    /// Asks to take a request's descriptor back; the request still completes, cancelled or not.
    pub fn cancel(&mut self, request: u32) -> Result<(), PortError> {
        let (ring, size, destination) = match self.outstanding.purpose(request) {
            Some(Purpose::Send { destination }) => (RingKind::Send, SEND_RING, destination),
            Some(Purpose::Receive { .. }) => (RingKind::Receive, RECEIVE_RING, 0),
            _ => return Ok(()),
        };
        self.reserve(ring, size)?;
        self.post(ring, &PointToPoint::Cancel { request, destination }.encode())
    }

    /// The oldest message that a receive with this envelope would take, if one has arrived: its source, tag and length. Runs a slice first, so that
    /// what was posted before is seen.
    pub fn probe(&mut self, envelope: &Envelope) -> Result<Option<Outcome>, PortError> {
        self.lend()?;
        let local_index = self.local_index;
        let memory = self.memory.clone();
        let mut tries = 0;
        let give_up = || {
            tries += 1;
            if tries > 100 {
                rustix::thread::sched_yield();
            }
            memory.header().aborted.0.load(Ordering::Relaxed) == 0
        };
        let found = self
            .processor()
            .with_token(give_up, |memory| crate::buffer_receiver::probe(memory, local_index, envelope))
            .ok_or(PortError::Aborted)??;
        Ok(found.map(|message| Outcome {
            source: message.send.source,
            tag: message.send.tag,
            bytes: message.send.bytes,
            cancelled: false,
        }))
    }

    /// Looks whether a request is complete; takes it if it is, with the bytes in their place.
    #[inline]
    pub fn test(&mut self, request: u32) -> Result<Option<Outcome>, PortError> {
        let slot = self.memory.request(self.local_index, request)?;
        if slot.is_pending() {
            return Ok(None);
        }
        if let Some((source, tag, bytes, payload)) = slot.inline_completion() {
            if let Some(Purpose::Receive { address, capacity }) = self.outstanding.take(request) {
                let length = bytes.min(capacity).min(SLOT_PAYLOAD_BYTES as u64) as usize;
                // SAFETY: `post_receive`'s caller vouches for the buffer until now; the slot's payload has SLOT_PAYLOAD_BYTES, and
                // the processor is done with the slot.
                unsafe { copy_small(payload, address as *mut u8, length) };
            }
            return Ok(Some(Outcome { source, tag, bytes, cancelled: false }));
        }
        self.test_other(request)
    }

    /// [`Self::test`] for all but the commonest end.
    #[inline(never)]
    fn test_other(&mut self, request: u32) -> Result<Option<Outcome>, PortError> {
        let slot = self.memory.request(self.local_index, request)?;
        if !matches!(slot.state(), SlotState::Done | SlotState::Cancelled) {
            return Ok(None);
        }
        let completion = slot.completion();
        let purpose = self.outstanding.take(request);
        match completion.delivery {
            Delivery::InPlace => {}
            Delivery::ByTransfer(transfer) => self.leave(transfer, request)?,
            Delivery::InSlot(payload) => {
                if let Some(Purpose::Receive { address, capacity }) = purpose {
                    let bytes = completion.bytes.min(capacity) as usize;
                    // SAFETY: `post_receive`'s caller vouches for the buffer until now; a slot's payload is at least as long
                    // as any inline message.
                    unsafe { copy_small(payload.as_ptr(), address as *mut u8, bytes.min(payload.len())) };
                }
            }
            Delivery::InSlab { owner, slab } => {
                let from = self.memory.slab(owner, slab)?;
                if let Some(Purpose::Receive { address, capacity }) = purpose {
                    let bytes = completion.bytes.min(capacity).min(SLAB_BYTES as u64) as usize;
                    // SAFETY: the slab has SLAB_BYTES and is ours to read until it is given back; the buffer as above.
                    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), address as *mut u8, bytes) };
                }
                self.memory.rank(owner)?.returned.give_back(slab);
            }
        }
        Ok(Some(Outcome {
            source: completion.source,
            tag: completion.tag,
            bytes: completion.bytes,
            cancelled: completion.cancelled,
        }))
    }

    /// Looks at a collective's request: complete with a small result, released to read from the instance, or neither.
    #[inline]
    pub fn test_collective(&mut self, request: u32) -> Result<Option<Release>, PortError> {
        let slot = self.memory.request(self.local_index, request)?;
        match slot.state() {
            SlotState::Done => {
                let payload = slot.payload();
                self.outstanding.take(request);
                Ok(Some(Release::Result(payload)))
            }
            SlotState::Released => {
                let instance = slot.reference();
                self.outstanding.take(request);
                Ok(Some(Release::Instance(instance)))
            }
            _ => Ok(None),
        }
    }

    /// One step of whatever there is to do: a transfer of this rank's, or a slice. True if something was done.
    #[inline]
    pub fn progress(&mut self) -> Result<bool, PortError> {
        let moved = self.move_bytes()?;
        Ok(self.lend()? || moved)
    }

    /// Lends the core for a slice, if one is wanted.
    #[inline]
    pub fn lend(&mut self) -> Result<bool, PortError> {
        let lent = self.processor().lend(self.clock);
        self.lent(lent)
    }

    #[inline]
    fn lent(&self, lent: Result<Lent, SliceError>) -> Result<bool, PortError> {
        match lent {
            Ok(Lent::Nothing) => Ok(false),
            Ok(Lent::Slice(touched)) => {
                self.wake(&touched);
                Ok(true)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until `ready` answers something, lending the core meanwhile. `what` is what a hang report says of this wait.
    #[inline]
    pub fn wait<T>(
        &mut self,
        what: &WaitingFor,
        mut ready: impl FnMut(&mut Port) -> Result<Option<T>, PortError>,
    ) -> Result<T, PortError> {
        if let Some(done) = ready(self)? {
            return Ok(done);
        }
        let mut waiting = self.begin_wait();
        let result = loop {
            match self.wait_step(&mut waiting, what) {
                Ok(Stepped::Something) => {}
                Ok(Stepped::Nothing) => {
                    if waiting.pause() == Pause::MaySleep {
                        self.sleep();
                    }
                }
                Err(error) => break Err(error),
            }
            match ready(self) {
                Ok(Some(done)) => break Ok(done),
                Ok(None) => {}
                Err(error) => break Err(error),
            }
        };
        self.end_wait();
        result
    }

    /// Begins a wait that the caller drives itself, because it must let go of its lock between two looks: [`Port::wait_step`],
    /// then, after [`Stepped::Nothing`], [`Waiting::pause`] without the lock, and so on until what it waits for has come; then
    /// [`Port::end_wait`]. Where threads wait at the same time, the first begins and the last ends.
    #[inline]
    pub fn begin_wait(&mut self) -> Waiting {
        self.set_activity(Activity::Polling);
        Waiting { wait: Wait::new(self.waiting), told: false, looks: 0 }
    }

    /// One step of a wait: progress, and what others are told of it.
    #[inline]
    pub fn wait_step(&mut self, waiting: &mut Waiting, what: &WaitingFor) -> Result<Stepped, PortError> {
        if self.progress_in(waiting)? {
            waiting.wait.restart();
            return Ok(Stepped::Something);
        }
        if waiting.wait.is_about_to_yield() {
            if !waiting.told {
                self.status().set_waiting_for(what);
                waiting.told = true;
            }
            self.status().count_poll();
            if self.memory.header().aborted.0.load(Ordering::Relaxed) != 0 {
                return Err(PortError::Aborted);
            }
        }
        Ok(Stepped::Nothing)
    }

    /// Progress of a rank that waits. It goes for the token at once when it has just posted; later, what it finds posted is mostly
    /// another rank's, which is about to run it itself: that one is left some time, so that the NIC's state does not go from core to core
    /// for nothing.
    #[inline]
    fn progress_in(&mut self, waiting: &mut Waiting) -> Result<bool, PortError> {
        let moved = self.move_bytes()?;
        if waiting.looks == 0 {
            waiting.looks = 1;
            let lent = self.processor().lend_after_posting(self.clock);
            return Ok(self.lent(lent)? || moved);
        }
        if !self.fixed {
            if !BufferSender::has_work(&self.memory) {
                return Ok(moved);
            }
            waiting.looks += 1;
            if waiting.looks <= self.waiting.patience {
                return Ok(moved);
            }
            waiting.looks = 1;
        }
        Ok(self.lend()? || moved)
    }

    /// Ends a wait that was driven by the caller.
    #[inline]
    pub fn end_wait(&mut self) {
        self.set_activity(Activity::Computing);
    }

    /// Says that threads of this rank call MPI at the same time. Then a rank that waits in one thread may compute in
    /// another, and its waiting is no evidence of a deadlock.
    pub fn set_concurrent(&mut self) {
        self.status().set_concurrent();
    }

    /// What a thread needs to sleep without the port, when [`Waiting::pause`] says that it may.
    pub fn sleeper(&self) -> Sleeper {
        Sleeper {
            memory: self.memory.clone(),
            local_index: self.local_index,
            longest: self.longest_sleep(),
            must_not: !self.moving.is_empty(),
        }
    }

    fn longest_sleep(&self) -> Duration {
        if self.fixed { Duration::from_micros(200) } else { Duration::from_millis(2) }
    }

    /// Called after posting when the rank goes on computing: sees to it that somebody runs the NIC. `overlap` says that there
    /// is something for the NIC thread to do meanwhile.
    #[inline]
    pub fn nudge(&mut self, overlap: bool) -> Result<(), PortError> {
        if self.memory.header().attention.sleepers.load(Ordering::Relaxed) != 0 {
            self.lend()?;
        }
        if overlap {
            waiting::wake_nic_thread(&self.memory);
        }
        Ok(())
    }

    /// The processor, as this rank runs it.
    #[inline]
    pub fn processor(&self) -> Processor<'_> {
        Processor::new(&self.memory, Holder::rank(self.local_index))
    }

    #[inline]
    fn status(&self) -> &crate::status::RankStatus {
        &self.memory.rank(self.local_index).expect("checked when the port was opened").status
    }

    #[inline]
    fn set_activity(&self, activity: Activity) {
        self.status().set_activity(activity);
    }

    fn wake(&self, touched: &Touched) {
        waiting::wake_touched(&self.memory, touched);
    }

    /// Sleeps for a while unless there is something to do. Part of a wait that the caller drives.
    #[cold]
    pub fn sleep(&mut self) {
        self.sleeper().sleep();
    }

    /// Where a send's or a contribution's bytes go: the descriptor, a slab, or they stay where they are.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes.
    #[inline]
    unsafe fn payload(&mut self, data: *const u8, bytes: usize) -> Payload {
        if bytes <= INLINE_BYTES {
            let mut inline = [0; INLINE_BYTES];
            // SAFETY: the caller's promise; the length was compared.
            unsafe { copy_small(data, inline.as_mut_ptr(), bytes) };
            return Payload::Inline(inline);
        }
        if bytes <= SLAB_BYTES
            && let Ok(block) = self.memory.rank(self.local_index)
            && let Some(slab) = self.slabs.take(&block.returned)
            && let Ok(to) = self.memory.slab(self.local_index, slab)
        {
            // SAFETY: the slab has SLAB_BYTES and is this rank's until it is posted; `data` is the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(data, to.as_ptr(), bytes) };
            return Payload::Slab(slab);
        }
        Payload::Memory(data as u64)
    }

    #[inline]
    fn arm(&mut self, purpose: Purpose) -> Result<u32, PortError> {
        let request = self.outstanding.add(purpose).ok_or(PortError::TooManyRequests { limit: REQUESTS })?;
        self.memory.request(self.local_index, request)?.arm();
        Ok(request)
    }

    /// Waits until a ring has a free cell.
    #[inline]
    fn reserve(&mut self, ring: RingKind, cells: usize) -> Result<(), PortError> {
        if self.heads.ahead_of(self.taken, ring) < cells as u32 {
            return Ok(());
        }
        self.wait_for_cell(ring, cells)
    }

    #[cold]
    fn wait_for_cell(&mut self, ring: RingKind, cells: usize) -> Result<(), PortError> {
        let mut wait = Wait::new(self.waiting);
        loop {
            self.taken = self.memory.taken()[self.local_index as usize].read();
            if self.heads.ahead_of(self.taken, ring) < cells as u32 {
                return Ok(());
            }
            if self.memory.header().aborted.0.load(Ordering::Relaxed) != 0 {
                return Err(PortError::Aborted);
            }
            // There is no wait word for a full ring: whoever empties it is at work, so this wait does not sleep.
            if self.progress()? || wait.pause() == Pause::MaySleep {
                wait.restart();
            }
        }
    }

    #[inline]
    fn post(&mut self, kind: RingKind, words: &[u64; CELL_WORDS]) -> Result<(), PortError> {
        let block = self.memory.rank(self.local_index)?;
        let ring = match kind {
            RingKind::Send => Ring::new(&block.send),
            RingKind::Receive => Ring::new(&block.receive),
            RingKind::Collective => Ring::new(&block.collective),
        };
        ring.cell(self.heads.get(kind)).write(words);
        self.heads = self.heads.advanced(kind);
        self.memory.doorbells()[self.local_index as usize].publish(self.heads);
        Ok(())
    }

    /// Moves bytes of this rank's transfers.
    #[inline]
    fn move_bytes(&mut self) -> Result<bool, PortError> {
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
    fn find_started(&mut self, started: u32) -> Result<(), PortError> {
        let new = started.wrapping_sub(self.transfers_seen);
        if new as usize <= STARTED / 2 {
            for count in 0..new {
                let transfer = self.status().started(self.transfers_seen.wrapping_add(count));
                self.start_moving(transfer)?;
            }
        } else {
            // More than the list holds: every moving request names its transfer.
            for request in self.outstanding.requests() {
                let slot = self.memory.request(self.local_index, request)?;
                if slot.state() == SlotState::Moving && !self.moving.iter().any(|m| m.request == request) {
                    self.start_moving(slot.reference())?;
                }
            }
        }
        self.transfers_seen = started;
        Ok(())
    }

    /// Begins to work at a transfer that this rank was told of, unless that is over: it is this rank's exactly while one of its
    /// requests says so.
    fn start_moving(&mut self, transfer: u32) -> Result<(), PortError> {
        let record = self.memory.transfer(transfer)?;
        let ends = [
            (End::Source, record.source.get(), record.source_request.get()),
            (End::Destination, record.destination.get(), record.destination_request.get()),
        ];
        for (end, rank, request) in ends {
            if rank != self.local_index || self.outstanding.purpose(request).is_none() {
                continue;
            }
            let slot = self.memory.request(self.local_index, request)?;
            let known = self.moving.iter().any(|m| m.request == request);
            if slot.state() == SlotState::Moving && slot.reference() == transfer && !known {
                self.moving.push(Moving { transfer, request, end, asked: 0 });
            }
        }
        Ok(())
    }

    fn advance_transfers(&mut self) -> Result<bool, PortError> {
        let mut moved = false;
        let mut i = 0;
        while i < self.moving.len() {
            let Moving { transfer, end, asked, .. } = self.moving[i];
            match channel::advance(&self.memory, transfer, end, &self.channel)? {
                Step::Progress => {
                    moved = true;
                    break;
                }
                Step::Blocked => {}
                Step::PeerNeeded => self.wake_peer(transfer, end)?,
                Step::Granted => {
                    let granted = self.memory.transfer(transfer)?.granted.load(Ordering::Acquire);
                    if granted != asked && !self.fixed {
                        self.moving[i].asked = granted;
                        self.reserve(RingKind::Send, SEND_RING)?;
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
                    self.moving.swap_remove(i);
                    moved = true;
                    continue;
                }
                Step::Over => {
                    self.moving.swap_remove(i);
                    continue;
                }
            }
            i += 1;
        }
        Ok(moved)
    }

    /// Leaves a transfer whose request is complete: this end does not touch it any more.
    fn leave(&mut self, transfer: u32, request: u32) -> Result<(), PortError> {
        self.moving.retain(|m| m.request != request);
        self.memory.transfer(transfer)?.left.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    fn wake_peer(&self, transfer: u32, end: End) -> Result<(), PortError> {
        let record = self.memory.transfer(transfer)?;
        let peer = match end {
            End::Source => record.destination.get(),
            End::Destination => record.source.get(),
        };
        waiting::wake(&self.memory, peer);
        Ok(())
    }
}

/// A wait that its caller drives; see [`Port::begin_wait`].
pub struct Waiting {
    wait: Wait,
    told: bool,
    /// Looks that found work since this rank last went for the token; 0 before it has done so for the first time.
    looks: u32,
}

impl Waiting {
    /// Pauses between two looks, without the port.
    #[inline]
    pub fn pause(&mut self) -> Pause {
        self.wait.pause()
    }
}

/// What a step of a wait did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// Some progress: look again at once.
    Something,
    /// Nothing: pause, then look again.
    Nothing,
}

/// Sleeping on a rank's wait word, by one thread of the rank at a time.
pub struct Sleeper {
    memory: Arc<NicMemory>,
    local_index: u32,
    longest: Duration,
    must_not: bool,
}

impl Sleeper {
    /// Sleeps until woken or for a while, unless there is something to do.
    pub fn sleep(&self) {
        waiting::sleep(&self.memory, self.local_index, self.longest, || {
            crate::buffer_sender::BufferSender::has_work(&self.memory) || self.must_not
        });
    }
}

/// How a collective let a member go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Complete; a small result is here.
    Result([u8; crate::request::SLOT_PAYLOAD_BYTES]),
    /// The member reads what it needs from this instance ([`crate::board`]), then departs.
    Instance(u32),
}

/// A message that rides in a descriptor, as words. Eight bytes, the commonest length by far, do not go through memory: bytes that are
/// written one way and read another wait for each other.
///
/// # Safety
/// `data` must be readable for `bytes` bytes, which are at most [`INLINE_BYTES`].
#[inline(always)]
unsafe fn inline_words(data: *const u8, bytes: usize) -> [u64; INLINE_BYTES / 8] {
    if bytes == 8 {
        // SAFETY: the caller's promise.
        return [unsafe { data.cast::<u64>().read_unaligned() }, 0, 0];
    }
    let mut words = [0; INLINE_BYTES / 8];
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(data, words.as_mut_ptr().cast(), bytes) };
    words
}

/// Copies a few bytes without a call.
///
/// # Safety
/// Both must be valid for `bytes` bytes and not overlap.
#[inline(always)]
unsafe fn copy_small(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; eight bytes are the commonest length by far.
    unsafe {
        if bytes == 8 {
            to.cast::<[u8; 8]>().write_unaligned(from.cast::<[u8; 8]>().read_unaligned());
        } else {
            std::ptr::copy_nonoverlapping(from, to, bytes);
        }
    }
}

/// Lets the other ranks of the job read and write this process's buffers where the system allows that to ancestors only (Yama,
/// ptrace_scope 1). The kernel still asks for the same user.
fn allow_attach() {
    // SAFETY: a system call without pointers. Where Yama is not there it is refused, and not needed.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

/// The driver's monotonic clock, in nanoseconds.
pub fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
