//! Links to other nodes in shared memory, as a rank drives them ([`bcs_link`]).
//!
//! The program launcher owns them: it has made their memory, brought them up, and sees to them while ranks
//! compute. A rank has the same memory, and the same sockets. What says which, a launcher puts into the
//! environment of its ranks: [`LinkPlaces`].
//!
//! A link without a socket is one whose bytes a network card moves, for the launcher alone: a rank appends
//! and takes, and sees what has come by a signal in memory; the NIC thread has the rest sent
//! ([`bcs_fabric::Driven::carry`]).
//!
//! Invariant: a rank drives links only while it holds the run token, so a rank that dies while it does is
//! found as a dead holder of the token is.

use crate::global::{
    Appended, Carried, HEADER_BYTES, Left, NodeLinks, Opening, Place, RawBytes, Shown, Take, Taken,
};
use crate::host::link_places::{LinkPlaces, socket_inode};
use crate::host::mapping::Mapped;
use crate::host::process::pid_namespace;
use crate::memory::{Corrupt, NicMemory};
use bcs_fabric::SHARED_MEMORY_NAME;
use bcs_link::{LINK_ALIGNMENT, LinkEnd, LinkLayout, ROAD_HEADER, ROAD_HEADER_BYTES, Record};
use bcs_link::{SignalWords, Verdict};
use rustix::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::fs::fstat;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};
use std::fmt;
use std::io;
use std::ptr::NonNull;

/// Records that one look at a link shows.
const LOOKS: usize = 64;
/// Answers to which it may come, some of which are several grants: there is room for so many before it
/// begins.
const ANSWERS: usize = 2 * LOOKS;
/// The part of a link's ring, from the first record that lies there for the NIC thread on, with which that is
/// woken: nothing of it has room for what is to come.
const KEPT_PART: u64 = 4;
/// Payloads from this length on are sealed from where they lie and sent, each with a call to the system of
/// its own; shorter ones, but for the last, are copied into the ring, so that many leave together.
const LONG_BYTES: usize = 48 << 10;
/// The last one from this length on.
const LAST_BYTES: usize = 4 << 10;
/// Bytes of an answer.
const ANSWER_BYTES: usize = ROAD_HEADER_BYTES + 64;
/// Frames that one pass sends over a link.
const FRAMES_A_PASS: usize = 8;
/// Looks without room for answers after which others are to see to that; without a socket, where a look
/// costs next to nothing.
const STUCK_LOOKS: u32 = 64;
const STUCK_LOOKS_IN_MEMORY: u32 = 2048;

/// A link, and its socket, if it has one.
struct Link {
    node: u32,
    end: LinkEnd,
    socket: Option<OwnedFd>,
    /// Up to where this rank has gone past what it left.
    past: u64,
    /// The socket has not taken all that this rank has sent, or the other end had no room for it.
    is_behind: bool,
    /// Up to where the link was free when there was no room for answers last, and for how many looks.
    stuck: (u64, u32),
}

impl Link {
    /// Sends what was appended, as far as the socket takes it.
    fn send(&mut self) -> bool {
        let Some(socket) = &self.socket else { return false };
        let mut moved = false;
        for _ in 0..FRAMES_A_PASS {
            if !matches!(self.end.drive_sending(socket.as_fd()), Ok(true)) {
                break;
            }
            moved = true;
        }
        self.is_behind = self.has_unsent();
        moved
    }

    /// Whether something lies in the link that has not left.
    fn has_unsent(&self) -> bool {
        match self.socket {
            Some(_) => self.end.queued_bytes() != 0 || self.end.has_to_send(),
            None => self.end.has_unwritten(),
        }
    }

    /// There is no room for what is to be appended. Whether it has been so for long, and no bytes have left
    /// meanwhile: the other end may be in the same case, and neither takes what would make room for the
    /// other.
    fn is_stuck(&mut self) -> bool {
        let free = self.end.freed_to();
        self.stuck = if self.stuck.0 == free { (free, self.stuck.1 + 1) } else { (free, 0) };
        self.is_behind = true;
        self.stuck.1 >= if self.socket.is_some() { STUCK_LOOKS } else { STUCK_LOOKS_IN_MEMORY }
    }
}

/// Links to other nodes, as a rank drives them.
pub struct SharedLinks {
    // Before the mapping, in which they lie.
    links: Vec<Link>,
    /// By node: which of `links`, plus one.
    numbers: Vec<u32>,
    record_bytes: usize,
    _mapping: Mapped,
}

impl fmt::Debug for SharedLinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedLinks").field("links", &self.links.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
impl SharedLinks {
    /// Links to nobody.
    pub(crate) fn to_nobody() -> Self {
        let bytes = rustix::param::page_size();
        let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: it is a new mapping.
        let base = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, rights, flags) };
        let base = NonNull::new(base.expect("there is memory").cast()).expect("a mapping has an address");
        Self { links: Vec::new(), numbers: Vec::new(), record_bytes: 4096, _mapping: Mapped { base, bytes } }
    }
}

impl SharedLinks {
    /// The links of a job with this NIC memory, where its launcher has put them; none where this process has
    /// not inherited them, or counts processes in another way than the launcher, which could not tell then
    /// whether a process that holds one of their locks is alive.
    ///
    /// # Errors
    /// Their memory cannot be mapped.
    pub fn attach(places: &LinkPlaces, memory: &NicMemory) -> io::Result<Option<Self>> {
        let (theirs, own) = (memory.header().pid_namespace.get(), pid_namespace());
        let Ok(layout) = LinkLayout::new(places.ring_bytes) else { return Ok(None) };
        let stride = places.stride_bytes;
        let is_stride = stride >= layout.bytes() && stride.is_multiple_of(LINK_ALIGNMENT);
        if theirs != own || places.nodes != memory.node().1 || !is_stride || !is_memory(places.memory) {
            return Ok(None);
        }
        // SAFETY: the descriptor is open, and is the memory of links, which nobody but this library knows of
        // in this process.
        let file = unsafe { OwnedFd::from_raw_fd(places.memory) };
        let Some(bytes) = (places.nodes as usize).checked_mul(stride) else { return Ok(None) };
        if fstat(&file)?.st_size as u64 != bytes as u64 {
            return Ok(None);
        }
        let flags = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the system's choice, which nothing else uses.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, flags.0, flags.1, &file, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Mapped { base, bytes };
        // It holds secrets: no core dump is to hold it, and no child is to have it.
        // SAFETY: the whole of the mapping that was just made, of whose contents the advice changes nothing.
        unsafe {
            madvise(base.as_ptr().cast(), bytes, Advice::LinuxDontDump)?;
            madvise(base.as_ptr().cast(), bytes, Advice::LinuxDontFork)?;
        }
        let (mut links, mut numbers) = (Vec::new(), vec![0; places.nodes as usize]);
        let signal_at = layout.signal_at();
        for &(node, socket) in &places.links {
            let Some(number) = numbers.get_mut(node as usize) else { continue };
            // SAFETY: the range lies in the mapping, which stays longer than the links, and is that of a link
            // of this layout.
            let link = unsafe { base.add(node as usize * stride) };
            // SAFETY: as above.
            let mut end = unsafe { LinkEnd::attach(link, layout) };
            let socket = match socket {
                Some((socket, inode)) => match inherited(socket, inode)? {
                    Some(socket) => Some(socket),
                    None => continue,
                },
                None if stride < signal_at + size_of::<SignalWords>() => continue,
                None => {
                    // SAFETY: it lies in the range of this link, at a page.
                    end = unsafe { end.with_signal(link.add(signal_at).cast()) };
                    None
                }
            };
            links.push(Link { node, end, socket, past: 0, is_behind: false, stuck: (0, 0) });
            *number = links.len() as u32;
        }
        let record_bytes = layout.record_bytes() - ROAD_HEADER_BYTES;
        Ok(Some(Self { links, numbers, record_bytes, _mapping: mapping }))
    }

    /// Whether something lies in a link that has not left: records, or a part of a frame.
    pub fn has_unsent(&self) -> bool {
        self.links.iter().any(Link::has_unsent)
    }

    fn link(&mut self, node: u32) -> Option<&mut Link> {
        let number = self.numbers.get(node as usize)?.checked_sub(1)?;
        self.links.get_mut(number as usize)
    }
}

/// The socket that the launcher means, if this process has inherited it.
fn inherited(socket: RawFd, inode: u64) -> io::Result<Option<OwnedFd>> {
    // SAFETY: looked at alone, by the system.
    if socket_inode(unsafe { BorrowedFd::borrow_raw(socket) }) != Some(inode) {
        return Ok(None);
    }
    // SAFETY: the descriptor is open, and the socket that the launcher means.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // What this process executes later has no use for it.
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    Ok(Some(socket))
}

/// Whether a descriptor of this process is the memory of links.
fn is_memory(fd: RawFd) -> bool {
    let name = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    name.is_ok_and(|name| name.to_string_lossy().starts_with(&format!("/memfd:{SHARED_MEMORY_NAME}")))
}

impl NodeLinks for SharedLinks {
    fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    unsafe fn receive(&mut self, place: &mut Place<'_>) -> bool {
        let mut moved = false;
        for link in &mut self.links {
            let Link { node, end, socket, past, .. } = link;
            let Some(socket) = socket else {
                moved |= end.publish_signalled().unwrap_or(false);
                continue;
            };
            let mut place = |opening: bcs_link::Opening<'_>| {
                let (road, header) = opening.front.split_first_chunk_mut::<ROAD_HEADER_BYTES>()?;
                let header = header.try_into().ok()?;
                let (payload_bytes, is_next) = (opening.rest_bytes, opening.at == *past);
                let opening = Opening { from: *node, header, payload_bytes, is_next };
                if *road == ROAD_HEADER { place(opening) } else { None }
            };
            // SAFETY: the caller's promise.
            let received = unsafe { end.drive_receiving_to(socket.as_fd(), &mut place) };
            moved |= received.unwrap_or(false);
            if link.is_behind || link.end.owes_credit() {
                moved |= link.send();
            }
        }
        moved
    }

    fn take(&mut self, take: &mut Take<'_>) -> Result<Left, Corrupt> {
        let mut left = Left::default();
        for link in &mut self.links {
            let Link { node, end, socket, past, is_behind, .. } = link;
            if end.received_to() == *past || !end.has_records() {
                continue;
            }
            let most_kept = end.layout().ring_bytes() as u64 / KEPT_PART;
            // The NIC thread is at it just now, and may have looked before the last of it came.
            let socket = socket.as_ref().map(AsFd::as_fd);
            let Ok(Some((mut taker, mut appender))) = end.taker_and_appender(socket, LONG_BYTES) else {
                left.for_thread = true;
                continue;
            };
            if !appender.has_room(ANSWERS, ANSWER_BYTES).unwrap_or(false) {
                drop((taker, appender));
                left.in_the_way |= link.is_stuck();
                continue;
            }
            let (mut failed, mut looks, mut stays, mut takes) = (None, 0, false, false);
            let gone_past = taker.go_past(*past, |record| {
                looks += 1;
                if looks > LOOKS {
                    // More than one look takes: somebody is to go on, also if this rank does not.
                    left.for_thread = true;
                    return Verdict::Stop;
                }
                let mut front = [0; ROAD_HEADER_BYTES];
                if record.copy(0, &mut front) < ROAD_HEADER_BYTES || front != ROAD_HEADER {
                    left.for_thread = true;
                    return Verdict::Leave;
                }
                let mut answer = |header: &[u8], payload: RawBytes<'_>| {
                    // Room stays for what is answered to the other records.
                    let as_answers = payload.len().div_ceil(ANSWER_BYTES);
                    let has_room = payload.is_empty()
                        || appender.has_room(1 + as_answers + ANSWERS, ANSWER_BYTES).unwrap_or(false);
                    // SAFETY: so many bytes can be read there, and nothing of them lies in the link.
                    has_room
                        && unsafe {
                            appender.push_from(&[&ROAD_HEADER, header], payload.as_ptr(), payload.len())
                        }
                        .unwrap_or(false)
                };
                match take(*node, &OnRoad(record), &mut answer) {
                    Ok(Taken::Here) => {
                        takes = true;
                        return Verdict::Take;
                    }
                    Ok(Taken::ByThread) => {
                        left.for_thread = true;
                        return Verdict::Leave;
                    }
                    Ok(Taken::Stays) => left.in_the_way = true,
                    Ok(Taken::ByThreadInTime) => return Verdict::Leave,
                    Ok(Taken::StaysForNow) => {
                        (*is_behind, stays) = (true, true);
                        return Verdict::Leave;
                    }
                    Err(error) => failed = Some(error),
                }
                Verdict::Stop
            });
            if let Some(error) = failed {
                return Err(error);
            }
            // A link that has ended is the NIC thread's.
            let Ok(gone_past) = gone_past else { continue };
            // What lies there for later keeps the room of all behind it.
            left.for_thread |= taker.kept_before(gone_past) >= most_kept;
            // What stays for now is shown again: for as long as something leaves.
            drop((taker, appender));
            match stays {
                true if takes => link.stuck = (0, 0),
                true => left.in_the_way |= link.is_stuck(),
                false => link.past = gone_past,
            }
        }
        Ok(left)
    }

    fn append_all(&mut self, to: u32, headers: &[[u8; HEADER_BYTES]]) -> bool {
        let Some(link) = self.link(to).filter(|link| link.end.is_up()) else { return false };
        let Ok(Some(mut appender)) = link.end.appender() else { return false };
        appender.has_room(headers.len(), ROAD_HEADER_BYTES + HEADER_BYTES).unwrap_or(false)
            && headers.iter().all(|header| appender.push(&[&ROAD_HEADER, header]).unwrap_or(false))
    }

    fn append(
        &mut self,
        to: u32,
        header: &[u8; HEADER_BYTES],
        payload: RawBytes<'_>,
        is_last: bool,
    ) -> Appended {
        let Some(link) = self.link(to).filter(|link| link.end.is_up()) else { return Appended::NotByRank };
        let least = if is_last { LAST_BYTES } else { LONG_BYTES };
        let Ok(appender) = link.end.appender_to(link.socket.as_ref().map(AsFd::as_fd), least) else {
            return Appended::NotByRank;
        };
        let appended = appender.is_some_and(|mut appender| {
            // SAFETY: so many bytes can be read there, and nothing of them lies in the link.
            let pushed =
                unsafe { appender.push_from(&[&ROAD_HEADER, header], payload.as_ptr(), payload.len()) };
            pushed.unwrap_or(false)
        });
        match appended {
            true => Appended::Done,
            false if link.is_stuck() => Appended::NotByRank,
            false => Appended::NotNow,
        }
    }

    fn send(&mut self, to: u32) {
        if let Some(link) = self.link(to) {
            link.send();
        }
    }
}

/// A record of the road, without what stands before it.
struct OnRoad<'a>(Record<'a>);

impl Shown for OnRoad<'_> {
    fn header(&self) -> Option<[u8; HEADER_BYTES]> {
        let mut header = [0; HEADER_BYTES];
        (self.0.copy(ROAD_HEADER_BYTES, &mut header) == HEADER_BYTES).then_some(header)
    }
}

impl Carried for OnRoad<'_> {
    fn payload_bytes(&self) -> usize {
        self.0.len().saturating_sub(ROAD_HEADER_BYTES + HEADER_BYTES)
    }

    unsafe fn copy_payload(&self, to: *mut u8, room: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.0.copy_to(ROAD_HEADER_BYTES + HEADER_BYTES, to, room) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_link::{Protection, Side};
    use rustix::fd::AsRawFd;
    use rustix::mm::mmap_anonymous;
    use std::os::unix::net::UnixStream;

    /// Links of a node to another one of two, over this socket, in memory of their own.
    fn links(peer: u32, side: Side, layout: LinkLayout, socket: UnixStream) -> SharedLinks {
        let (bytes, protection) = (layout.bytes(), ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: a new mapping at an address of the system's choice.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE) };
        let base = NonNull::new(base.unwrap().cast()).unwrap();
        let mapping = Mapped { base, bytes };
        // SAFETY: the mapping is of this layout, zeros, and stays longer than the link.
        let mut end = unsafe { LinkEnd::attach(base, layout) };
        end.open(side, Protection::Plain).unwrap();
        socket.set_nonblocking(true).unwrap();
        let links = vec![Link {
            node: peer,
            end,
            socket: Some(socket.into()),
            past: 0,
            is_behind: false,
            stuck: (0, 0),
        }];
        let numbers = (0..2).map(|node| u32::from(node == peer)).collect();
        let record_bytes = layout.record_bytes() - ROAD_HEADER_BYTES;
        SharedLinks { links, numbers, record_bytes, _mapping: mapping }
    }

    fn receive(links: &mut SharedLinks) -> bool {
        // SAFETY: nothing is put anywhere.
        unsafe { links.receive(&mut |_| None) }
    }

    fn pair(ring_bytes: usize) -> [SharedLinks; 2] {
        let layout = LinkLayout::new(ring_bytes).unwrap();
        let (one, other) = UnixStream::pair().unwrap();
        let mut pair = [links(1, Side::Dialler, layout, one), links(0, Side::Acceptor, layout, other)];
        for _ in 0..4 {
            let ends = pair.iter_mut().map(|links| &mut links.links[0]);
            ends.for_each(|Link { end, socket, .. }| {
                _ = end.drive(socket.as_ref().unwrap().as_fd()).unwrap()
            });
        }
        assert!(pair.iter().all(|links| links.links[0].end.is_up()));
        pair
    }

    const HEADER: [u8; HEADER_BYTES] = [7; HEADER_BYTES];

    /// Appends a record, whose payload is in no slabs.
    fn append(links: &mut SharedLinks, to: u32, record: &[u8]) -> bool {
        links.link(to).unwrap().end.append(&[&ROAD_HEADER, record]).unwrap()
    }

    #[test]
    fn what_lies_there_for_later_is_soon_wanted_when_much_has_come_behind_it() {
        let mut pair = pair(16 << 10);
        let [one, other] = &mut pair;
        let record: Vec<u8> = HEADER.iter().copied().chain((0..900).map(|i| i as u8)).collect();
        let mut wanted = Vec::new();
        for round in 0..6 {
            assert!(append(one, 1, &record));
            one.send(1);
            receive(other);
            let mut look = |_: u32, _: &dyn Shown, _: &mut crate::global::Answer<'_>| {
                Ok(if round == 0 { Taken::ByThreadInTime } else { Taken::Here })
            };
            let left = other.take(&mut look).unwrap();
            assert!(!left.in_the_way);
            wanted.push(left.for_thread);
        }
        // A quarter of the ring is 4 KB.
        assert_eq!(wanted, [false, false, false, false, true, true]);
    }

    /// Rings of 16 KB, and 400 KB that go one way: what has come is taken, and the other end says no more
    /// than that.
    #[test]
    fn what_an_end_has_no_room_for_leaves_when_it_has_although_nobody_else_drives_the_links() {
        let mut pair = pair(16 << 10);
        let [one, other] = &mut pair;
        let record: Vec<u8> = HEADER.iter().copied().chain((0..4000).map(|i| i as u8)).collect();
        let (mut appended, mut taken) = (0, 0);
        for _ in 0..2000 {
            while appended < 100 && append(one, 1, &record) {
                appended += 1;
                one.send(1);
            }
            receive(one);
            receive(other);
            let left = other.take(&mut |_, shown, _| {
                let mut payload = vec![0; shown.payload_bytes()];
                // SAFETY: so many bytes can be written there.
                unsafe { shown.copy_payload(payload.as_mut_ptr(), payload.len()) };
                assert_eq!((shown.header(), &payload[..]), (Some(HEADER), &record[HEADER_BYTES..]));
                taken += 1;
                Ok(Taken::Here)
            });
            assert_eq!(left.unwrap(), Left::default());
        }
        assert_eq!((appended, taken), (100, 100));
    }

    /// Both ends have filled their rings and find no room for answers: while that changes they wait, and when
    /// it does not it is the NIC thread's, which has room elsewhere.
    #[test]
    fn no_room_for_answers_is_in_the_way_only_when_it_lasts() {
        let mut pair = pair(16 << 10);
        let record = [7; HEADER_BYTES + 4000];
        let mut looks = 0;
        loop {
            let [one, other] = &mut pair;
            while append(one, 1, &record) {}
            while append(other, 0, &record) {}
            one.send(1);
            other.send(0);
            receive(one);
            receive(other);
            if other.take(&mut |_, _, _| Ok(Taken::Here)).unwrap().in_the_way {
                break;
            }
            looks += 1;
            assert!(looks < 10_000, "somebody has to be told");
        }
        assert!(looks >= STUCK_LOOKS, "{looks}");
    }

    /// Each of 64 records of a look is answered with 4 KB, for which a ring of 16 KB has seldom room, and
    /// then with a header, for which it has it always.
    #[test]
    fn a_record_stays_for_now_until_there_is_room_for_its_answer_and_headers_always_find_some() {
        let mut pair = pair(16 << 10);
        let payload = [3; 4000];
        let (mut asked, mut answered, mut came, mut stayed) = (0, 0, 0, 0);
        for _ in 0..2000 {
            let [one, other] = &mut pair;
            while asked < 200 && append(one, 1, &HEADER) {
                asked += 1;
            }
            one.send(1);
            receive(other);
            let left = other.take(&mut |from, _, answer| {
                if !answer(&HEADER, RawBytes::of_slice(&payload)) {
                    stayed += 1;
                    return Ok(Taken::StaysForNow);
                }
                assert!(from == 0 && answer(&HEADER, RawBytes::NONE), "there is room for a header");
                answered += 1;
                Ok(Taken::Here)
            });
            assert!(!left.unwrap().in_the_way, "it is nothing for the NIC thread");
            other.send(0);
            receive(one);
            one.take(&mut |_, shown, _| {
                came += usize::from(shown.payload_bytes() == payload.len());
                Ok(Taken::Here)
            })
            .unwrap();
        }
        assert_eq!((asked, answered, came), (200, 200, 200));
        assert!(stayed > 0, "the ring is short");
    }

    /// Long payloads go from the sender's buffer to where the receiver wants them, short ones by the rings;
    /// and who says where knows whether it has seen all that came before.
    #[test]
    fn a_long_payload_is_put_where_it_is_wanted_and_its_record_has_none() {
        let mut pair = pair(256 << 10);
        for (bytes, is_last, is_asked) in [
            (LAST_BYTES - 8, true, false),
            (LAST_BYTES, true, true),
            (LAST_BYTES, false, false),
            (LONG_BYTES - 8, false, false),
            (LONG_BYTES, false, true),
            (LONG_BYTES + 4, true, false),
            (64 << 10, false, true),
        ] {
            let [one, other] = &mut pair;
            let payload: Vec<u8> = (0..bytes).map(|at| (at / 3) as u8).collect();
            let appended = one.append(1, &HEADER, RawBytes::of_slice(&payload), is_last);
            assert_eq!(appended, Appended::Done);
            let mut wanted = vec![0; bytes];
            let mut asked = Vec::new();
            for _ in 0..4 {
                one.send(1);
                let mut place = |Opening { from, header, payload_bytes, is_next }: Opening<'_>| {
                    asked.push((from, *header, payload_bytes, is_next));
                    header[0] = 9;
                    NonNull::new(wanted.as_mut_ptr())
                };
                // SAFETY: there is room for the payload.
                unsafe { other.receive(&mut place) };
            }
            assert_eq!(asked, if is_asked { vec![(0, HEADER, bytes, true)] } else { vec![] }, "{bytes}");
            let mut shown_bytes = Vec::new();
            other
                .take(&mut |_, shown, _| {
                    shown_bytes.push((shown.header().unwrap()[0], shown.payload_bytes()));
                    Ok(Taken::Here)
                })
                .unwrap();
            assert_eq!(shown_bytes, [if is_asked { (9, 0) } else { (7, bytes) }], "{bytes}");
            assert!(!is_asked || wanted == payload, "{bytes}");
            other.send(0);
            receive(one);
        }
    }

    #[test]
    fn what_was_not_taken_is_known_to_who_says_where_the_next_payload_goes() {
        let mut pair = pair(256 << 10);
        let [one, other] = &mut pair;
        let payload = vec![5; LONG_BYTES];
        let mut asked = Vec::new();
        for verdict in [Taken::Stays, Taken::Here, Taken::ByThreadInTime, Taken::Here] {
            one.append(1, &HEADER, RawBytes::of_slice(&payload), false);
            one.send(1);
            let mut place = |opening: Opening<'_>| {
                asked.push(opening.is_next);
                None
            };
            // SAFETY: nothing is put anywhere.
            while unsafe { other.receive(&mut place) } {}
            other.take(&mut |_, _, _| Ok(verdict)).unwrap();
        }
        assert_eq!(asked, [true, false, true, true], "what is left for later is gone past");
    }

    #[test]
    fn records_without_a_payload_are_appended_all_or_none() {
        let mut pair = pair(32 << 10);
        let [one, other] = &mut pair;
        let mut appended = 0;
        while one.append_all(1, &[HEADER; 20]) {
            appended += 20;
        }
        assert!(appended > 0 && !one.append_all(0, &[HEADER]), "there is no link to itself");
        let mut came = 0;
        for _ in 0..100 {
            one.send(1);
            receive(other);
            other
                .take(&mut |_, _, _| {
                    came += 1;
                    Ok(Taken::Here)
                })
                .unwrap();
        }
        assert_eq!(came, appended);
    }

    #[test]
    fn a_file_is_no_socket() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(socket_inode(file.as_fd()), None);
        assert!(!is_memory(file.as_raw_fd()));
    }
}
