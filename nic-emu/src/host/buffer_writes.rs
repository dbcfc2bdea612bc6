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
use crate::policy::BUFFER_WRITE_BYTES;
use bcs_libfabric::{
    Access, Completion, Endpoint, FiAddr, HARDWARE, Means, MemoryRegistrar, Offer, OfiError, Piece, Region,
    RemoteWrite, SignalOrder,
};
use bcs_registration::{Held, Limits, Registrar, RegistrationCache};
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::ptr::NonNull;
use std::str::FromStr;

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

/// Where a rank opens its endpoint, as text: `ADDRESS PROVIDER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointPlace {
    /// The node's address in the job's network.
    pub address: IpAddr,
    /// The provider, as libfabric names it.
    pub provider: String,
}

impl EndpointPlace {
    /// The variable in which a launcher tells its ranks.
    pub const VARIABLE: &str = "BCS_CARD";
}

impl fmt::Display for EndpointPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.address, self.provider)
    }
}

impl FromStr for EndpointPlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, provider) = text.split_once(' ').ok_or(())?;
        Ok(Self { address: address.parse().map_err(drop)?, provider: provider.into() })
    }
}

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
    fn is_not_stuck(&mut self) {
        (self.stuck_since_ns, self.tries) = (None, 0);
    }

    /// Whether this has been so for too long, now that a write of it was not taken.
    fn is_stuck(&mut self, now_ns: u64) -> bool {
        if self.under_way != 0 {
            self.is_not_stuck();
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
                writing.is_not_stuck();
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
                        writing.is_not_stuck();
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
mod tests {
    use super::*;
    use crate::host::clock::now_ns;
    use crate::memory::{Rank, RequestId};
    use std::net::Ipv4Addr;

    const PROVIDER: &str = "tcp;ofi_rxm";

    /// Who waits gives up when it has polled so often, and for so long: a machine that is busy with other
    /// things must not look like a write that hangs.
    const POLLS: u32 = 200_000;
    /// As `POLLS`.
    const POLLING_NS: u64 = 60_000_000_000;

    /// Around the edges of a piece, and more pieces than are under way at once.
    const SIZES: [usize; 6] =
        [128 << 10, (128 << 10) + 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (9 << 20) + 5];

    /// Bytes on both sides of a buffer, which nobody may touch. No buffer begins where a page does.
    const NEIGHBOURS: usize = 5003;

    fn place(provider: &str) -> EndpointPlace {
        EndpointPlace { address: Ipv4Addr::LOCALHOST.into(), provider: provider.into() }
    }

    /// So many ranks that can write; none, and the test counts as skipped, where the provider is not there.
    fn cards<const N: usize>() -> Option<[CardWrites; N]> {
        let address = Ipv4Addr::LOCALHOST.into();
        match Offer::choose(Some(PROVIDER), Some(SignalOrder::Completion), address) {
            Ok(_) => Some([(); N].map(|()| CardWrites::new(place(PROVIDER)))),
            Err(error @ (OfiError::Missing { .. } | OfiError::NoProvider { .. })) => {
                bcs_harness::skip(error);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// What was over, and whether it was delivered.
    type Ended = Vec<(Invitation, bool)>;

    /// A message: the buffers of both ends, each with its neighbours.
    struct Message {
        landing: u64,
        from: Vec<u8>,
        to: Vec<u8>,
    }

    impl Message {
        fn new(landing: u64, bytes: usize) -> Self {
            let word = |i: usize| (i as u64 / 8 + landing).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let pattern = |i: usize| (word(i) >> (8 * (i % 8))) as u8;
            let all = bytes + 2 * NEIGHBOURS;
            Self { landing, from: (0..all).map(pattern).collect(), to: vec![0xa5; all] }
        }

        fn bytes(&self) -> usize {
            self.from.len() - 2 * NEIGHBOURS
        }

        fn buffer(&self, all: &[u8]) -> Buffer {
            Buffer { address: all[NEIGHBOURS..].as_ptr() as u64, bytes: self.bytes() as u64 }
        }

        /// The receiver opens its buffer. What the sender is invited to, and the endpoint's address.
        fn open(&mut self, receiver: &mut CardWrites) -> (Invitation, Vec<u8>) {
            let target = self.to[NEIGHBOURS..].as_mut_ptr() as u64;
            let buffer = Buffer { address: target, bytes: self.bytes() as u64 };
            let opened = receiver.open(self.landing, buffer).expect("memory can be registered");
            let invitation = Invitation {
                node: 3,
                rank: Rank(5),
                request: RequestId(self.landing as u32),
                from: self.buffer(&self.from).address,
                landing: self.landing,
                bytes: self.bytes() as u64,
                at: opened.at,
                key: opened.key,
            };
            (invitation, opened.address.to_vec())
        }

        fn begin(&self, sender: &mut CardWrites, invited: &Invitation, address: &[u8]) -> bool {
            sender.begin(invited, self.buffer(&self.from), address)
        }

        fn invite(&mut self, sender: &mut CardWrites, receiver: &mut CardWrites) -> Invitation {
            let (invited, address) = self.open(receiver);
            assert!(self.begin(sender, &invited, &address));
            invited
        }

        fn assert_is_there(&self) {
            let inside = NEIGHBOURS..NEIGHBOURS + self.bytes();
            let is_same = self.to[inside.clone()] == self.from[inside.clone()];
            assert!(is_same, "{} bytes are not those that were sent", self.bytes());
            self.assert_untouched_but(inside);
        }

        fn assert_untouched_but(&self, inside: std::ops::Range<usize>) {
            let mut touched =
                self.to.iter().enumerate().filter(|(i, byte)| !inside.contains(i) && **byte != 0xa5);
            let first = touched.next().map(|(i, _)| i as isize - NEIGHBOURS as isize);
            assert_eq!(first, None, "touched beside or in a buffer of {} bytes", self.bytes());
        }
    }

    /// Has all go on until `is_done` says so.
    fn go_on_until(cards: &mut [CardWrites], mut is_done: impl FnMut(&mut [CardWrites]) -> bool) {
        let (begin, mut polls) = (now_ns(), 0);
        while !is_done(cards) {
            polls += 1;
            assert!(polls < POLLS || now_ns() - begin < POLLING_NS, "it hangs");
            for card in &mut *cards {
                card.go_on();
                assert_eq!(card.failure(), None);
            }
            std::thread::yield_now();
        }
    }

    /// What is over by now.
    fn over(card: &mut CardWrites) -> Ended {
        let mut over = Vec::new();
        card.take_over(&mut |invited, is_delivered| {
            over.push((*invited, is_delivered));
            true
        });
        over
    }

    /// Has all go on until the first is done with all that it has begun.
    fn end(cards: &mut [CardWrites]) -> Ended {
        let mut ended = Vec::new();
        go_on_until(cards, |cards| {
            ended.extend(over(&mut cards[0]));
            cards[0].is_idle()
        });
        ended
    }

    #[test]
    fn a_message_is_there_when_it_is_said_to_be_and_its_neighbours_are_untouched() {
        let Some(mut cards) = cards::<2>() else { return };
        for (landing, bytes) in (1..).zip(SIZES) {
            let mut message = Message::new(landing, bytes);
            let [sender, receiver] = &mut cards;
            let invited = message.invite(sender, receiver);
            assert_eq!(end(&mut cards), [(invited, true)]);
            message.assert_is_there();
            cards[1].close_unless(&mut |_| false);
        }
        assert_eq!(cards.map(|mut card| card.take_refusal()), [None, None]);
    }

    #[test]
    fn messages_cross_each_other_in_both_directions() {
        let Some(mut cards) = cards::<2>() else { return };
        let messages = |first: u64| (first..).zip(SIZES).map(|(landing, bytes)| Message::new(landing, bytes));
        let mut messages = [100, 200].map(|first| messages(first).collect::<Vec<_>>());
        messages[1].reverse();
        let mut expected = [Vec::new(), Vec::new()];
        let [first, second] = &mut cards;
        for i in 0..SIZES.len() {
            let [there, back] = &mut messages;
            expected[0].push((there[i].invite(first, second), true));
            expected[1].push((back[i].invite(second, first), true));
        }
        let mut ended = [Vec::new(), Vec::new()];
        go_on_until(&mut cards, |cards| {
            for (from, ended) in ended.iter_mut().enumerate() {
                for (invited, is_delivered) in over(&mut cards[from]) {
                    let message = messages[from].iter().find(|it| it.landing == invited.landing).unwrap();
                    message.assert_is_there();
                    ended.push((invited, is_delivered));
                }
            }
            ended.iter().all(|ended| ended.len() == SIZES.len())
        });
        for ended in ended.iter_mut().chain(&mut expected) {
            ended.sort_by_key(|(invited, _)| invited.landing);
        }
        assert_eq!(ended, expected, "each is named once, as it was invited");
        messages.iter().flatten().for_each(Message::assert_is_there);
    }

    #[test]
    fn it_is_idle_while_nothing_is_opened_and_nothing_is_written() {
        let Some(mut cards) = cards::<2>() else { return };
        assert!(cards.iter().all(CardWrites::is_idle), "before anything");
        let mut message = Message::new(1, SIZES[0]);
        let (invited, address) = message.open(&mut cards[1]);
        assert!(!cards[1].is_idle(), "a buffer is open");
        assert!(message.begin(&mut cards[0], &invited, &address));
        let mut is_over = false;
        go_on_until(&mut cards, |cards| {
            assert!(!cards[0].is_idle(), "a write is under way, or nobody has been told that it is over");
            cards[0].take_over(&mut |_, is_delivered| {
                is_over = is_delivered;
                false
            });
            is_over
        });
        assert!(!cards[0].is_idle(), "who was told wants to be told again");
        assert_eq!((over(&mut cards[0]), cards[0].is_idle()), (vec![(invited, true)], true));
        cards[1].close_unless(&mut |landing| landing == 1);
        assert!(!cards[1].is_idle(), "the landing is there");
        cards[1].close_unless(&mut |_| false);
        assert!(cards[1].is_idle());
        assert!(!cards.each_mut().map(|card| card.go_on()).contains(&true), "nothing is left to do");
    }

    #[test]
    fn a_buffer_is_open_as_long_as_its_landing_is_there_and_no_longer() {
        let Some(mut cards) = cards::<2>() else { return };
        let [mut closed, mut open] = [1, 2].map(|landing| Message::new(landing, SIZES[0]));
        let (of_closed, address) = closed.open(&mut cards[1]);
        let (of_open, _) = open.open(&mut cards[1]);
        let mut asked = Vec::new();
        cards[1].close_unless(&mut |landing| {
            asked.push(landing);
            landing == 2
        });
        assert_eq!(asked, [1, 2]);
        assert!(open.begin(&mut cards[0], &of_open, &address));
        assert_eq!(end(&mut cards), [(of_open, true)]);
        open.assert_is_there();
        if std::env::var_os(KEEPS_VARIABLE).is_some() {
            return; // A registration that is kept can be written to as before.
        }
        assert!(closed.begin(&mut cards[0], &of_closed, &address));
        assert_eq!(end(&mut cards), [(of_closed, false)]);
        closed.assert_untouched_but(0..0);
    }

    /// Has a message of so many bytes written otherwise than was invited: that fails, nothing is written, and
    /// why is told once. False where the provider is not there.
    fn fails(bytes: usize, adapt: impl FnOnce(&mut Invitation, &mut Vec<u8>)) -> bool {
        let Some(mut cards) = cards::<2>() else { return false };
        let mut message = Message::new(1, bytes);
        let (mut invited, mut address) = message.open(&mut cards[1]);
        adapt(&mut invited, &mut address);
        let is_begun = message.begin(&mut cards[0], &invited, &address);
        let expected = if is_begun { vec![(invited, false)] } else { vec![] };
        assert_eq!(end(&mut cards), expected);
        let why = cards[0].take_refusal().expect("why is told").to_string();
        let call = if is_begun { "fi_writemsg" } else { "fi_av_insert" };
        assert!(why.contains(call) && (!is_begun || why.contains(&bytes.to_string())), "{why}");
        assert_eq!(cards.each_mut().map(CardWrites::take_refusal), [None, None], "once");
        assert_eq!(over(&mut cards[0]), []);
        message.assert_untouched_but(0..0);
        true
    }

    #[test]
    fn nothing_is_begun_for_a_message_that_is_written_already() {
        let Some([mut sender, mut receiver]) = cards() else { return };
        let (mut first, mut second) = (Message::new(1, SIZES[5]), Message::new(2, SIZES[0]));
        let (invited, address) = first.open(&mut receiver);
        let (other, _) = second.open(&mut receiver);
        assert!(first.begin(&mut sender, &invited, &address));
        assert!(!first.begin(&mut sender, &invited, &address));
        assert!(!second.begin(&mut sender, &Invitation { request: invited.request, ..other }, &address));
        assert!(second.begin(&mut sender, &other, &address));
        let mut cards = [sender, receiver];
        assert_eq!(end(&mut cards), [(invited, true), (other, true)]);
        first.assert_is_there();
        second.assert_is_there();
    }

    #[test]
    fn a_write_with_a_wrong_key_fails_and_why_is_told_once() {
        for bytes in SIZES {
            if !fails(bytes, |invited, _| invited.key ^= 1 << 17) {
                return;
            }
        }
    }

    #[test]
    fn a_write_to_what_is_no_address_of_an_endpoint_fails_and_why_is_told_once() {
        for length in [0, 1, 3, 16, 28, 512, 513] {
            for byte in [0, 1, 2, 0xff] {
                if !fails(SIZES[0], |_, address| *address = vec![byte; length]) {
                    return;
                }
            }
        }
    }

    /// A message to an endpoint that is gone, and then one to an endpoint that is there: what was over, in
    /// that order, and the two. None where the provider is not there.
    fn to_one_that_is_gone() -> Option<(Ended, [Invitation; 2])> {
        let [mut gone, mut sender, mut receiver] = cards::<3>()?;
        let (mut lost, mut good) = (Message::new(1, SIZES[5]), Message::new(2, SIZES[0]));
        let (to_gone, address) = lost.open(&mut gone);
        drop(gone);
        assert!(lost.begin(&mut sender, &to_gone, &address));
        let to_there = good.invite(&mut sender, &mut receiver);
        let mut cards = [sender, receiver];
        let ended = end(&mut cards);
        good.assert_is_there();
        lost.assert_untouched_but(0..0);
        assert!(!lost.begin(&mut cards[0], &to_gone, &address), "nobody waits for it again");
        assert!(cards[0].is_idle() && cards[0].take_refusal().is_some());
        assert_eq!(cards[0].least_bytes(), BUFFER_WRITE_BYTES);
        Some((ended, [to_gone, to_there]))
    }

    #[test]
    fn a_write_to_an_endpoint_that_is_gone_fails_and_holds_up_no_other() {
        // Another one may be late all the same, where this process is not run for long.
        for _ in 0..8 {
            let Some((mut ended, [to_gone, to_there])) = to_one_that_is_gone() else { return };
            let is_first = ended[0] == (to_there, true);
            ended.sort_by_key(|(invited, _)| invited.landing);
            assert_eq!(ended, [(to_gone, false), (to_there, true)]);
            if is_first {
                return;
            }
        }
        panic!("another message waited until that had failed");
    }

    #[test]
    fn after_a_write_that_fails_others_are_written() {
        let Some(mut cards) = cards::<2>() else { return };
        let [mut bad, mut good] = [1, 2].map(|landing| Message::new(landing, SIZES[5]));
        let (invited, address) = bad.open(&mut cards[1]);
        let wrong = Invitation { key: invited.key ^ 1, ..invited };
        assert!(bad.begin(&mut cards[0], &wrong, &address));
        assert_eq!(end(&mut cards), [(wrong, false)]);
        assert_eq!(cards[0].least_bytes(), BUFFER_WRITE_BYTES);
        // The connection went with it. What is begun before both ends know that may fail, too.
        for tries in 0.. {
            assert!(tries < 100, "nothing is written any more");
            let [sender, receiver] = &mut cards;
            let invited = good.invite(sender, receiver);
            if end(&mut cards) == [(invited, true)] {
                break;
            }
            cards[1].close_unless(&mut |_| false);
        }
        good.assert_is_there();
        bad.assert_untouched_but(0..0);
    }

    #[test]
    fn what_is_over_is_named_until_it_is_taken_and_then_no_more() {
        let Some(mut cards) = cards::<2>() else { return };
        let mut messages = [1, 2, 3].map(|landing| Message::new(landing, SIZES[0]));
        let [sender, receiver] = &mut cards;
        let invited = messages.each_mut().map(|message| message.invite(sender, receiver));
        let named = |card: &mut CardWrites, taken: &[u64]| {
            let mut named = Vec::new();
            card.take_over(&mut |invited, is_delivered| {
                named.push((invited.landing, is_delivered));
                taken.contains(&invited.landing)
            });
            named
        };
        go_on_until(&mut cards, |cards| named(&mut cards[0], &[]).len() == invited.len());
        assert_eq!(named(&mut cards[0], &[2]), [(1, true), (2, true), (3, true)]);
        assert_eq!(named(&mut cards[0], &[]), [(1, true), (3, true)]);
        assert_eq!(over(&mut cards[0]), [(invited[0], true), (invited[2], true)]);
        assert_eq!(over(&mut cards[0]), []);
        messages.iter().for_each(Message::assert_is_there);
    }

    #[test]
    fn without_its_provider_nothing_goes_from_buffer_to_buffer_and_why_is_told_once() {
        let mut card = CardWrites::new(place("no such provider"));
        assert_eq!((card.least_bytes(), card.take_refusal()), (BUFFER_WRITE_BYTES, None), "nobody has tried");
        let mut message = Message::new(1, SIZES[0]);
        let target = Buffer { address: message.to.as_mut_ptr() as u64, bytes: SIZES[0] as u64 };
        assert!(card.open(1, target).is_none());
        assert_eq!(card.least_bytes(), u64::MAX);
        let why = card.take_refusal().expect("why is told");
        assert!(matches!(why, OfiError::Missing { .. } | OfiError::NoProvider { .. }), "{why}");
        let (node, rank, request) = (3, Rank(5), RequestId(7));
        let (from, bytes) = (message.from.as_ptr() as u64, SIZES[0] as u64);
        let invited = Invitation { node, rank, request, from, landing: 1, bytes, at: target.address, key: 1 };
        assert!(!message.begin(&mut card, &invited, b"address"));
        assert!(card.open(1, target).is_none());
        assert!(card.is_idle() && !card.go_on() && over(&mut card).is_empty());
        assert_eq!((card.take_refusal(), card.failure()), (None, None), "once");
    }

    #[test]
    fn a_buffer_that_cannot_be_registered_is_not_opened_and_others_are() {
        let Some(mut cards) = cards::<2>() else { return };
        assert!(cards[1].open(1, Buffer { address: 0, bytes: 4096 }).is_none());
        assert!(cards[1].take_refusal().is_some() && cards[1].is_idle());
        let mut message = Message::new(2, SIZES[0]);
        let [sender, receiver] = &mut cards;
        let invited = message.invite(sender, receiver);
        assert_eq!(end(&mut cards), [(invited, true)]);
        message.assert_is_there();
        assert_eq!(cards[1].take_refusal(), None, "once");
    }

    #[test]
    fn places_are_read_as_they_are_written() {
        for text in ["127.0.0.1 tcp;ofi_rxm", "fd00::1 verbs", "10.0.0.1 a b"] {
            assert_eq!(text.parse::<EndpointPlace>().unwrap().to_string(), text);
        }
        for text in ["", "tcp", "127.0.0.1", "300.0.0.1 tcp"] {
            assert_eq!(text.parse::<EndpointPlace>(), Err(()), "{text}");
        }
    }
}
