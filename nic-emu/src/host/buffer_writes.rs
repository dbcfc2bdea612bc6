//! Long messages between hosts, from buffer to buffer: a rank's own endpoint at a network card
//! ([`bcs_libfabric`]), its registrations of the program's memory ([`bcs_registration`]), and its writes.
//!
//! The launcher's endpoint cannot do that: only a process itself can register its memory. An endpoint is
//! opened when the first long message comes, so that jobs without any need not wait for libfabric. Where it
//! cannot be opened, or does not reach another one, that is not tried again; a message that cannot be written
//! goes by the rings of the links, which needs no registration.
//!
//! Invariant: a registration stays as long as a write from it is under way, or the landing is there that it
//! was opened for.

use crate::channel::Buffer;
use crate::global::{BufferWrites, Invitation, Opened};
use crate::host::clock::now_ns;
use crate::host::descriptor_mark::DescriptorMark;
use crate::host::endpoint_place::EndpointPlace;
use crate::policy::BUFFER_WRITE_BYTES;
use bcs_libfabric::{
    Access, Completion, Endpoint, FiAddr, HARDWARE, Means, MemoryRegistrar, Offer, OfiError, Piece, Region,
    RemoteWrite, SignalOrder,
};
use bcs_registration::{Held, Limits, Registrar, RegistrationCache};
use std::collections::HashMap;
use std::ptr::NonNull;

/// What is kept registered of a rank's memory at most, where to register is dear: with a network card, which
/// has the pages pinned. A provider in software only notes the addresses, so there nothing is kept, and no
/// memory is watched.
const KEPT: Limits = Limits { registrations: 1024, bytes: 1 << 30 };
const KEPT_IN_SOFTWARE: Limits = Limits { registrations: 0, bytes: 0 };

/// Says that registrations are kept also with a provider in software: tests do.
const KEEPS_VARIABLE: &str = "BCS_KEEP_REGISTRATIONS";
/// Bytes of a write: while one is delivered, the next ones are under way.
const PIECE_BYTES: u64 = 1 << 20;
/// Writes that are under way at once, at most.
const PIECES: u32 = 4;
/// So long a message waits for its first write to be taken, or for its next one with none under way. An
/// endpoint that no other reaches (of a program that has closed all descriptors) is connected to for ever.
const PATIENCE_NS: u64 = 1_000_000_000;
/// So many writes are tried meanwhile at least: a process that was stopped itself has had no chance.
const PATIENT_TRIES: u32 = 1000;
/// After so many polls that found nothing, each of some microseconds, it is looked whether the endpoint has
/// its descriptors yet: libfabric does not tell.
const POLLS_UNTIL_LOOK: u32 = 4096;

/// A rank's writes: what it needs for the first one, or what it has for the next ones.
#[derive(Debug)]
pub struct CardWrites {
    place: EndpointPlace,
    card: Card,
    /// Why it cannot be used, until somebody has taken that to tell it.
    refusal: Option<OfiError>,
    /// The endpoint itself has failed: nobody is told any more how writes end.
    failure: Option<OfiError>,
}

#[derive(Debug)]
enum Card {
    Unopened,
    Open(Box<Open>),
    Unusable,
}

impl CardWrites {
    /// Writes by an endpoint in this place.
    pub fn new(place: EndpointPlace) -> Self {
        Self { place, card: Card::Unopened, refusal: None, failure: None }
    }

    /// Whether nothing is under way, so that the rank may sleep.
    pub fn is_idle(&self) -> bool {
        match &self.card {
            Card::Open(card) => card.opened.is_empty() && card.writing.is_empty(),
            Card::Unopened | Card::Unusable => true,
        }
    }

    /// Why a message did not go from buffer to buffer, since this was asked last.
    pub fn take_refusal(&mut self) -> Option<OfiError> {
        self.refusal.take()
    }

    /// Why messages that are under way never end, if that is so.
    pub fn failure(&self) -> Option<&OfiError> {
        self.failure.as_ref()
    }

    /// The endpoint, which is opened if this is the first time.
    fn card(&mut self) -> Option<&mut Open> {
        if let Card::Unopened = self.card {
            self.card = match Open::new(&self.place) {
                Ok(card) => Card::Open(Box::new(card)),
                Err(error) => self.refuse(error),
            };
        }
        match &mut self.card {
            Card::Open(card) => Some(card),
            _ => None,
        }
    }

    fn refuse(&mut self, error: OfiError) -> Card {
        self.refusal = Some(error);
        Card::Unusable
    }
}

impl BufferWrites for CardWrites {
    fn least_bytes(&self) -> u64 {
        match self.card {
            Card::Unusable => u64::MAX,
            _ => BUFFER_WRITE_BYTES,
        }
    }

    fn open(&mut self, landing: u64, buffer: Buffer) -> Option<Opened<'_>> {
        match self.card()?.open(landing, buffer) {
            Ok((at, key)) => match &self.card {
                Card::Open(card) => Some(Opened { at, key, address: card.endpoint.name() }),
                _ => None,
            },
            Err(error) => {
                self.refusal.get_or_insert(error);
                None
            }
        }
    }

    fn close_unless(&mut self, is_there: &mut dyn FnMut(u64) -> bool) {
        if let Card::Open(card) = &mut self.card {
            card.opened.retain(|(landing, _)| is_there(*landing));
        }
    }

    fn begin(&mut self, invited: &Invitation, from: Buffer, address: &[u8]) -> bool {
        let Some(card) = self.card() else { return false };
        // Nobody is invited twice to the same message.
        if card.writing.iter().any(|writing| writing.invited.request == invited.request) {
            return false;
        }
        let begun = card.begin(invited, from, address);
        // From now on it is over when it has failed.
        let result = if begun.is_ok() { card.post().map(drop) } else { Ok(()) };
        let is_begun = begun.is_ok();
        if let Err(error) = begun.and(result) {
            self.refusal.get_or_insert(error);
        }
        is_begun
    }

    fn go_on(&mut self) -> bool {
        match &mut self.card {
            Card::Open(card) if !card.opened.is_empty() || !card.writing.is_empty() => match card.go_on() {
                Ok((moved, refusal)) => {
                    self.refusal = self.refusal.take().or(refusal);
                    moved
                }
                Err(error) => {
                    self.failure = Some(error);
                    true
                }
            },
            _ => false,
        }
    }

    fn take_over(&mut self, over: &mut dyn FnMut(&Invitation, bool) -> bool) {
        if let Card::Open(card) = &mut self.card {
            card.writing
                .retain(|writing| !(writing.is_over() && over(&writing.invited, !writing.has_failed)));
        }
    }
}

/// Registers memory that both this rank and others may write from and into.
#[derive(Debug)]
struct UserMemory(MemoryRegistrar);

impl Registrar for UserMemory {
    type Region = Region;
    type Error = OfiError;

    unsafe fn register(&self, memory: NonNull<u8>, bytes: usize) -> Result<Region, OfiError> {
        // SAFETY: the range is mapped; what is unmapped later is not used any more, and its registration is
        // not found again. The endpoint is closed after the cache and all that is held.
        unsafe { self.0.register(memory, bytes, Access::Both) }
    }
}

/// A message that is written.
#[derive(Debug)]
struct Writing {
    /// What names its writes.
    number: u32,
    invited: Invitation,
    from: NonNull<u8>,
    held: Option<Held<Region>>,
    to: FiAddr,
    posted: u64,
    under_way: u32,
    /// Since when no write of it is taken, with none under way, and how many were tried.
    stuck_since_ns: Option<u64>,
    tries: u32,
    has_failed: bool,
}

impl Writing {
    /// Whether nothing of it is under way, and nothing will be.
    fn is_over(&self) -> bool {
        self.under_way == 0 && (self.has_failed || self.posted == self.invited.bytes)
    }

    /// A write of it was taken, or it waits for others.
    fn note_no_wait(&mut self) {
        (self.stuck_since_ns, self.tries) = (None, 0);
    }

    /// Whether this has been so for too long, now that a write of it was not taken.
    fn is_stuck(&mut self, now_ns: u64) -> bool {
        if self.under_way != 0 {
            self.note_no_wait();
            return false;
        }
        let since_ns = *self.stuck_since_ns.get_or_insert(now_ns);
        self.tries += 1;
        self.tries > PATIENT_TRIES && now_ns.saturating_sub(since_ns) > PATIENCE_NS
    }
}

/// An endpoint, and what belongs to it. It is closed last.
#[derive(Debug)]
struct Open {
    /// By landing: what others may write.
    opened: Vec<(u64, Held<Region>)>,
    writing: Vec<Writing>,
    next_number: u32,
    registrations: RegistrationCache<UserMemory>,
    /// Other ranks' endpoints, by their addresses.
    peers: HashMap<Box<[u8]>, FiAddr>,
    /// Those of them that have taken no write for too long.
    unreachable: Vec<FiAddr>,
    /// A descriptor beside those of the endpoint, and how many polls have found nothing one after another.
    mark: Option<DescriptorMark>,
    idle_polls: u32,
    endpoint: Endpoint<u32>,
}

impl Open {
    fn new(place: &EndpointPlace) -> Result<Self, OfiError> {
        // What was written is told by another way than it was written, so it has to be there.
        let order = Some(SignalOrder::Completion);
        let offer = Offer::choose(Some(&place.provider), order, place.address)?;
        let endpoint = Endpoint::open(&offer, PEERS, PIECES as usize)?;
        let is_card = HARDWARE.iter().any(|name| place.provider.split(';').next() == Some(name));
        let keeps = is_card || std::env::var_os(KEEPS_VARIABLE).is_some_and(|value| value == "1");
        let limits = if keeps { KEPT } else { KEPT_IN_SOFTWARE };
        let registrations = RegistrationCache::new(UserMemory(endpoint.registrar()), limits);
        let (opened, writing, peers) = (Vec::new(), Vec::new(), HashMap::new());
        Ok(Self {
            opened,
            writing,
            next_number: 0,
            registrations,
            peers,
            unreachable: Vec::new(),
            mark: DescriptorMark::new(),
            idle_polls: 0,
            endpoint,
        })
    }

    /// A registration of a buffer of the program, which is that of a request under way.
    fn hold(&self, buffer: Buffer) -> Result<(NonNull<u8>, Held<Region>), OfiError> {
        let memory = NonNull::new(buffer.address as *mut u8).ok_or_else(|| OfiError::Call {
            call: "fi_mr_reg",
            object: format!("{} bytes at address 0", buffer.bytes),
            reason: "there is no memory".into(),
        })?;
        // SAFETY: the program leaves the buffers of its messages mapped while these are under way, and the
        // message is, as long as this rank has not seen the end of its request.
        let held = unsafe { self.registrations.hold(memory, buffer.bytes as usize) }?;
        Ok((memory, held))
    }

    /// Opens a buffer; answers where it is as remote writes name it, and the key.
    fn open(&mut self, landing: u64, buffer: Buffer) -> Result<(u64, u64), OfiError> {
        let (memory, held) = self.hold(buffer)?;
        let place = (held.base + (memory.addr().get() - held.range().start) as u64, held.key);
        self.opened.push((landing, held));
        Ok(place)
    }

    fn begin(&mut self, invited: &Invitation, from: Buffer, address: &[u8]) -> Result<(), OfiError> {
        let to = match self.peers.get(address) {
            Some(to) => *to,
            None => {
                let to = self.endpoint.insert(address)?;
                self.peers.insert(address.into(), to);
                to
            }
        };
        if self.unreachable.contains(&to) {
            return Err(out_of_reach(invited.bytes));
        }
        let is_local = self.endpoint.promises().memory_mode.is_local;
        let (memory, held) = match is_local {
            true => self.hold(from).map(|(memory, held)| (memory, Some(held)))?,
            false => (NonNull::new(from.address as *mut u8).unwrap_or(NonNull::dangling()), None),
        };
        self.next_number = self.next_number.wrapping_add(1);
        self.writing.push(Writing {
            number: self.next_number,
            invited: *invited,
            from: memory,
            held,
            to,
            posted: 0,
            under_way: 0,
            stuck_since_ns: None,
            tries: 0,
            has_failed: false,
        });
        Ok(())
    }

    /// Takes completions, and posts what is next. Whether something has moved, and why a message is not
    /// written, if one is not.
    fn go_on(&mut self) -> Result<(bool, Option<OfiError>), OfiError> {
        let (writing, mut failure) = (&mut self.writing, None);
        let polled = self.endpoint.poll(|completion| {
            let (number, reason) = match completion {
                Completion::Done(number) => (number, None),
                Completion::Failed(number, reason) => (number, Some(reason)),
            };
            let Some(writing) = writing.iter_mut().find(|writing| writing.number == number) else { return };
            writing.under_way -= 1;
            writing.has_failed |= reason.is_some();
            if let Some(reason) = reason {
                let object = format!("a message of {} bytes", writing.invited.bytes);
                failure = Some(OfiError::Call { call: "fi_writemsg", object, reason });
            }
        });
        let polled = polled?;
        let (moved, failure) = match self.post() {
            Ok(posted) => (polled > 0 || posted, failure),
            Err(error) => (true, failure.or(Some(error))),
        };
        self.idle_polls = if moved { 0 } else { self.idle_polls.wrapping_add(1) };
        let is_closed = || self.mark.as_ref().is_some_and(|mark| !mark.is_there());
        if self.idle_polls % POLLS_UNTIL_LOOK == POLLS_UNTIL_LOOK - 1 && is_closed() {
            return Err(OfiError::Call {
                call: "fi_cq_read",
                object: "the endpoint of this process".into(),
                reason: "its descriptors were closed".into(),
            });
        }
        Ok((moved, failure))
    }

    /// Posts what there is room for. True if there was something.
    fn post(&mut self) -> Result<bool, OfiError> {
        let most = PIECE_BYTES.min(self.endpoint.promises().most_write_bytes as u64).max(1);
        let mut moved = false;
        let mut under_way: u32 = self.writing.iter().map(|writing| writing.under_way).sum();
        // The oldest message first: it is whole before the next ones.
        for writing in &mut self.writing {
            if under_way == PIECES {
                writing.note_no_wait();
            }
            while !writing.has_failed && under_way < PIECES && writing.posted < writing.invited.bytes {
                let bytes = most.min(writing.invited.bytes - writing.posted);
                let piece = Piece {
                    // SAFETY: within the buffer, whose length was compared when the write began.
                    from: unsafe { writing.from.add(writing.posted as usize) },
                    bytes: bytes as usize,
                    local: writing.held.as_deref(),
                    at: writing.invited.at.wrapping_add(writing.posted),
                };
                let write = RemoteWrite {
                    to: writing.to,
                    piece,
                    second: None,
                    key: writing.invited.key,
                    means: Means::Delivered,
                };
                // SAFETY: the request is one of this rank's that is complete only when all its writes are:
                // until then the program leaves the buffer as it is. Its registration is held as long.
                match unsafe { self.endpoint.post(&write, writing.number) } {
                    Ok(true) => {
                        writing.note_no_wait();
                        writing.posted += bytes;
                        writing.under_way += 1;
                        under_way += 1;
                        moved = true;
                    }
                    // The next message may be for an endpoint that can be reached.
                    Ok(false) if !writing.is_stuck(now_ns()) => break,
                    Ok(false) => {
                        writing.has_failed = true;
                        self.unreachable.push(writing.to);
                        return Err(out_of_reach(writing.invited.bytes));
                    }
                    Err(error) => {
                        writing.has_failed = true;
                        return Err(error);
                    }
                }
            }
        }
        Ok(moved)
    }
}

fn out_of_reach(bytes: u64) -> OfiError {
    OfiError::Call {
        call: "fi_writemsg",
        object: format!("a message of {bytes} bytes"),
        reason: format!("the receiver's endpoint takes nothing for {} s", PATIENCE_NS / 1_000_000_000),
    }
}

/// For how many other ranks an endpoint is opened: it takes more, and is told so for its tables.
const PEERS: usize = 64;

#[cfg(test)]
mod tests;
