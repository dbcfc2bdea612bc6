//! A rank that waits drives its node's part in messages between nodes: it hands descriptors to the links,
//! and takes what has come over them, so far as that needs no more than NIC memory. With elastic slices, and
//! where links can be driven by ranks.
//!
//! What it can take: sends whose bytes ride in their descriptor or have come with it (they go straight to the
//! buffer of a receive of its own that waits for them), or for which a receive waits; what is told of
//! matches; grants of bytes of its own, which it sends; bytes that are its own; and invitations to write
//! messages of its own straight into their receivers' buffers ([`BufferWrites`]). Of anything else it
//! leaves the record in its link, for the NIC thread, and goes past it. Only descriptors of sends keep their
//! order, and the bytes of a message: what comes behind one that stays, because there is no room for it say,
//! stays, too. Invariant: what the NIC thread holds back of a node's, on its way out or in, no descriptor
//! goes past, and no grant or bytes of a message ([`crate::memory::node_state`]).

use super::arrival::{self, Arrived, matched_record, weight};
use super::buffer_writes::{BufferWrites, Invitation};
use super::departure::{self, finish_send};
use super::error::GlobalError;
use super::grant::Grant;
use super::landing::{self, Ahead};
use super::link::PATIENT_RECORDS;
use super::matched::Matched;
use super::message::{RawBytes, payload_bytes, place};
use super::own::Own;
use super::rank_memory;
use super::record::{Carried, HEADER_BYTES, Kind, PostingSlice, Record};
use super::staged;
use crate::channel::Buffer;
use crate::memory::descriptor::{Payload, PointToPoint, SendDescriptor, SendWords};
use crate::memory::landing::Landing;
use crate::memory::queue::PostedReceives;
use crate::memory::ring::{CELL_WORDS, LABEL};
use crate::memory::transfer::Range;
use crate::memory::{Corrupt, ENTRIES, NicMemory, Rank, RequestId};
use crate::one_sided::Target;
use crate::policy::Pacing;
use crate::threads::completer::{Completer, Touched};
use smallvec::SmallVec;
use std::ptr::NonNull;

/// Links to other nodes, as ranks drive them. Nothing here blocks. Who finds that a link has ended finds
/// nothing there and can append nothing to it: what that means is the NIC thread's to say.
pub trait NodeLinks {
    /// The longest record, in bytes.
    fn record_bytes(&self) -> usize;

    /// Receives what has come. True if something has. Long payloads of records may be put where `place` says.
    ///
    /// # Safety
    /// Where `place` answers an address, so many bytes can be written there as long as this call lasts.
    unsafe fn receive(&mut self, place: &mut Place<'_>) -> bool;

    /// Shows the records that have come, that nobody has taken, and that this rank has not gone past, of each
    /// node in its order. With each comes a call that appends an answer for the same node ([`Answer`]).
    ///
    /// # Errors
    /// Those of `take`.
    fn take(&mut self, take: &mut Take<'_>) -> Result<Left, Corrupt>;

    /// Appends a record, which has this payload. `is_last` says that no other one follows at once.
    fn append(
        &mut self,
        to: u32,
        header: &[u8; HEADER_BYTES],
        payload: RawBytes<'_>,
        is_last: bool,
    ) -> Appended;

    /// Appends records without a payload: all of them, or none and the answer is false.
    fn append_all(&mut self, to: u32, headers: &[[u8; HEADER_BYTES]]) -> bool;

    /// Sends what was appended for a node.
    fn send(&mut self, to: u32);
}

/// A record that is about to be received, and whose payload may go where it is wanted.
#[derive(Debug)]
pub struct Opening<'a> {
    /// Its node.
    pub from: u32,
    /// Its header. If the payload goes elsewhere, the record has none any more, and the header that is left
    /// here.
    pub header: &'a mut [u8; HEADER_BYTES],
    /// Bytes of the payload.
    pub payload_bytes: usize,
    /// This rank has taken, or gone past, all that came before it.
    pub is_next: bool,
}

/// Says where the payload of a record goes: answers an address, or none if it is to stay with its header.
pub type Place<'a> = dyn FnMut(Opening<'_>) -> Option<NonNull<u8>> + 'a;

/// A record that has come, as it is shown: the payload is what stands behind its header.
pub trait Shown: Carried {
    /// Its header; none if it is shorter.
    fn header(&self) -> Option<[u8; HEADER_BYTES]>;
}

impl Carried for &dyn Shown {
    fn payload_bytes(&self) -> usize {
        (**self).payload_bytes()
    }

    unsafe fn copy_payload(&self, to: *mut u8, room: usize) {
        // SAFETY: the caller's promise.
        unsafe { (**self).copy_payload(to, room) };
    }
}

/// What became of a record that a rank wants to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// It is appended.
    Done,
    /// There is no room for it now: there is when the other end has taken some.
    NotNow,
    /// It is the NIC thread's: there is no link that this rank can use, or nothing has left for long.
    NotByRank,
}

/// Appends a record: its header, and its payload. False when there is no room for it; for a header alone
/// there always is.
pub type Answer<'a> = dyn FnMut(&[u8], RawBytes<'_>) -> bool + 'a;

/// What is called for each record: its node, the record, and what appends an answer.
pub type Take<'a> = dyn FnMut(u32, &dyn Shown, &mut Answer<'_>) -> Result<Taken, Corrupt> + 'a;

/// What becomes of a record that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is taken.
    Here,
    /// It is the NIC thread's, and others may go past it.
    ByThread,
    /// As `ByThread`, for when the NIC thread looks anyway: nobody waits for it.
    ByThreadInTime,
    /// It stays, and so do those behind it.
    Stays,
    /// It stays until there is room for an answer, and is shown again. Others may go past it.
    StaysForNow,
}

/// What a look at the records that have come has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// There is something for the NIC thread, which others can go past.
    pub for_thread: bool,
    /// Something stays that nobody can go past before the NIC thread has taken it.
    pub in_the_way: bool,
}

/// What a pass has done.
pub struct Passed {
    /// Something has moved.
    pub moved: bool,
    /// What is left for the NIC thread.
    pub left: Left,
    /// Ranks to wake, once the run token is given back.
    pub touched: Touched,
}

/// A rank that waits, and leaves the links to others, goes on with the writes that it has begun alone. The
/// caller holds the run token.
///
/// # Errors
/// NIC memory is corrupt.
pub fn go_on_with_writes(
    memory: &NicMemory,
    links: &mut dyn NodeLinks,
    writes: &mut dyn BufferWrites,
    own: &Own<'_>,
) -> Result<Passed, Corrupt> {
    let mut completer = Completer::new(memory, Pacing::of(memory));
    let mut pass = Pass::new(memory, links, Some(writes), own);
    let moved = pass.write(&mut completer, links)?;
    pass.send(links)?;
    pass.count(moved);
    Ok(Passed { moved, left: Left::default(), touched: completer.touched })
}

/// A rank that waits hands over what has come and what is to leave, and goes on with its writes into other
/// ranks' buffers, if it can make some. The caller holds the run token.
///
/// # Errors
/// NIC memory is corrupt.
pub fn pass_over_links(
    memory: &NicMemory,
    links: &mut dyn NodeLinks,
    writes: Option<&mut dyn BufferWrites>,
    own: &Own<'_>,
) -> Result<Passed, Corrupt> {
    let mut completer = Completer::new(memory, Pacing::of(memory));
    let mut pass = Pass::new(memory, links, writes, own);
    let payload_bytes = pass.payload_bytes;
    let mut is_held_up = false;
    let has_written = pass.write(&mut completer, links)?;
    // What is to leave leaves first: somebody waits for it.
    pass.take_matches(links)?;
    let send = |to, record: &Record, payload: RawBytes<'_>| {
        let appended = match pass.is_held_up(to)? {
            true => Appended::NotByRank,
            false => {
                let is_last = memory.header().remote.outbound.get() == 1;
                links.append(to, &record.header(payload.len()), payload, is_last)
            }
        };
        if appended == Appended::Done {
            pass.note_sent(to, PATIENT_RECORDS)?;
        }
        is_held_up |= appended == Appended::NotByRank;
        Ok(appended == Appended::Done)
    };
    departure::exchange(memory, PostingSlice::default(), payload_bytes, send)?;
    pass.send(links)?;
    // SAFETY: where it says there is room in the buffer of a receive of this rank, which waits for it.
    let received = unsafe { links.receive(&mut |opening| pass.place(opening)) };
    let left = links.take(&mut |from, record, answer| pass.take(&mut completer, from, record, answer))?;
    pass.take_matches(links)?;
    pass.send(links)?;
    let did = pass.count(has_written);
    let in_the_way = left.in_the_way || is_held_up || !memory.header().remote.matches.is_empty();
    let left = Left { in_the_way, ..left };
    Ok(Passed { moved: received || did, left, touched: completer.touched })
}

/// The longest address of an endpoint, in bytes.
const ADDRESS_BYTES: usize = 512;

/// A pass of a rank that waits.
struct Pass<'m, 'w> {
    memory: &'m NicMemory,
    own: &'m Own<'m>,
    /// What writes into other ranks' buffers, if this rank can.
    writes: Option<&'w mut dyn BufferWrites>,
    /// Bytes of a record's payload at most.
    payload_bytes: u64,
    /// Nodes for which something was appended that somebody waits for.
    urgent: SmallVec<[u32; 8]>,
    /// The node of which a grant stays for now: so do those behind it.
    stays_of: Option<u32>,
    sent: u64,
    taken: u64,
}

impl<'m, 'w> Pass<'m, 'w> {
    fn new(
        memory: &'m NicMemory,
        links: &dyn NodeLinks,
        writes: Option<&'w mut dyn BufferWrites>,
        own: &'m Own<'m>,
    ) -> Self {
        let payload_bytes = payload_bytes(links.record_bytes() as u64);
        Self {
            memory,
            own,
            writes,
            payload_bytes,
            urgent: SmallVec::new(),
            stays_of: None,
            sent: 0,
            taken: 0,
        }
    }

    /// Counts what was done, for who looks for a deadlock. True if anything was; frames without records come
    /// for as long as a link is up, and nothing is done by them.
    fn count(&self, has_written: bool) -> bool {
        let remote = &self.memory.header().remote;
        let did = self.sent != 0 || self.taken != 0 || has_written;
        if did {
            remote.rest.set(0);
            remote.by_ranks.sent.add(self.sent as i64);
            remote.by_ranks.taken.add(self.taken as i64);
            remote.by_ranks.moves.add(1);
        }
        did
    }
}

impl Pass<'_, '_> {
    fn take(
        &mut self,
        completer: &mut Completer<'_>,
        from: u32,
        shown: &dyn Shown,
        answer: &mut Answer<'_>,
    ) -> Result<Taken, Corrupt> {
        // What makes no sense the NIC thread finds, too, and says so.
        let Some(header) = shown.header() else { return Ok(Taken::Stays) };
        let Some(record) = Record::decode(&header, shown.payload_bytes()) else { return Ok(Taken::Stays) };
        match record.kind {
            Kind::Matched if self.memory.local_rank(record.rank)?.is_some() => {
                finish_send(self.memory, completer, from, &record)?;
            }
            Kind::Send if self.may_take(from, &record, shown.payload_bytes())? => {
                let target = Target { processes: self.own.processes, own: Some(self.own.rank) };
                let mut has_answered = false;
                let mut reply = |reply: &Record, bytes: &[u8]| {
                    let answered = answer(&reply.header(bytes.len()), RawBytes::of_slice(bytes));
                    has_answered |= answered;
                    answered
                };
                let operations = (&target, &mut reply as &mut dyn FnMut(&Record, &[u8]) -> bool);
                let of = (&record, shown);
                let taken =
                    arrival::take(self.memory, completer, from, of, Some(self.own), false, operations);
                if has_answered {
                    self.note_sent(from, PATIENT_RECORDS)?;
                }
                match taken {
                    Err(GlobalError::Corrupt(corrupt)) => return Err(corrupt),
                    Err(_) | Ok(Arrived::NoRoom) => return Ok(Taken::Stays),
                    Ok(Arrived::Taken { answer: told, .. }) => {
                        if let Some(told) = told {
                            answer(&told.header(0), RawBytes::NONE);
                            self.note_sent(from, weight(self.memory, &told, shown.payload_bytes() as u64))?;
                        }
                    }
                }
            }
            Kind::Grant => {
                let taken = self.carry_out(completer, from, &Grant::of(&record), answer)?;
                if taken != Taken::Here {
                    return Ok(taken);
                }
            }
            Kind::Data | Kind::Placed => {
                let taken = self.land(completer, from, &record, shown, answer)?;
                if taken != Taken::Here {
                    return Ok(taken);
                }
            }
            Kind::Invite => {
                if !self.accept(&Invitation::of(&record, from), shown)? {
                    return Ok(Taken::ByThread);
                }
            }
            Kind::Written | Kind::Declined => {
                if self.is_held_up(from)? {
                    return Ok(Taken::Stays);
                }
                let due = landing::handle_answer(completer, from, &record, self.payload_bytes, Ahead::Ring);
                match due {
                    Ok(due) => self.answer_grants(from, &due, answer)?,
                    Err(GlobalError::Corrupt(corrupt)) => return Err(corrupt),
                    Err(_) => return Ok(Taken::Stays),
                }
            }
            Kind::Matched | Kind::Send => return Ok(Taken::Stays),
            Kind::Announced | Kind::Agreed => return Ok(Taken::ByThreadInTime),
            _ => return Ok(Taken::ByThread),
        }
        self.taken += 1;
        Ok(Taken::Here)
    }

    /// Sends what is granted of a message of this rank's. It goes past no grant of its own: whoever carries
    /// out the last one says that the message is over.
    fn carry_out(
        &mut self,
        completer: &mut Completer<'_>,
        from: u32,
        grant: &Grant,
        answer: &mut Answer<'_>,
    ) -> Result<Taken, Corrupt> {
        let Self { memory, own, .. } = *self;
        let sender = memory.local_rank(grant.rank)?;
        // Nobody has sent it: another node gets it out of a window.
        let is_got = grant.place == 0 && grant.request == RequestId::NONE;
        // Where cross-memory attach is refused the NIC thread carries out all of them, in their order.
        if sender != Some(own.rank) && !is_got || grant.place == 0 && staged::applies(memory) {
            return Ok(Taken::ByThread);
        }
        if self.stays_of == Some(from) {
            return Ok(Taken::StaysForNow);
        }
        let state = memory.node_state(from)?;
        let (length, mut got) = (grant.range.bytes, Vec::new());
        if state.grants.get() != 0 || state.data.get() != 0 || length > self.payload_bytes {
            return Ok(Taken::Stays);
        }
        let bytes = if grant.place != 0 {
            let Ok(bytes) = grant.in_slabs(memory, own.rank) else { return Ok(Taken::Stays) };
            bytes
        } else if is_got {
            let from = (own.processes, memory);
            let Some(sender) = sender else { return Ok(Taken::Stays) };
            // SAFETY: a block of this process's window, whose bounds the origin has checked.
            let here = if sender == own.rank { unsafe { grant.in_window() } } else { None };
            if let Some(bytes) = here {
                bytes
            } else if grant.append_from_process(from, sender, &mut got).is_ok() {
                RawBytes::of_slice(&got)
            } else {
                return Ok(Taken::Stays);
            }
        } else if let Some(buffer) = (own.sent_from)(grant.request, grant.buffer()) {
            // SAFETY: the request is one of this rank's sends that it has not seen the end of: the program
            // has not got its buffer back.
            let Ok(bytes) = (unsafe { grant.own(&buffer) }) else { return Ok(Taken::Stays) };
            RawBytes::of_slice(bytes)
        } else {
            return Ok(Taken::Stays);
        };
        if !answer(&grant.data().header(length as usize), bytes) {
            self.stays_of = Some(from);
            return Ok(Taken::StaysForNow);
        }
        self.note_sent(from, PATIENT_RECORDS)?;
        grant.finish(memory, completer, from)?;
        Ok(Taken::Here)
    }

    /// Puts bytes where they go that are this rank's, and grants the next ones.
    fn land(
        &mut self,
        completer: &mut Completer<'_>,
        from: u32,
        record: &Record,
        shown: &dyn Shown,
        answer: &mut Answer<'_>,
    ) -> Result<Taken, Corrupt> {
        let [id, offset, placed, ..] = record.words;
        let Some(landing) = self.memory.landings().named(id) else {
            return Ok(Taken::ByThread);
        };
        let (receiver, is_put) = (landing::receiver(landing).0, landing::is_put(landing));
        if receiver != self.own.rank && !is_put {
            return Ok(Taken::ByThread);
        }
        if self.is_held_up(from)? {
            // The next grants would go past those that the NIC thread holds back.
            return Ok(Taken::Stays);
        }
        let is_placed = record.kind == Kind::Placed;
        let range = match is_placed {
            true => landing::placed_range(landing, from, offset, placed),
            false => landing::range_of(landing, from, offset, shown.payload_bytes() as u64),
        };
        let Ok(range) = range else { return Ok(Taken::Stays) };
        if !is_placed && receiver == self.own.rank {
            let Some(to) = self.address_of(landing, range) else { return Ok(Taken::Stays) };
            // SAFETY: within the buffer of a receive of which this rank has not seen the end, so that the
            // program has not got it back; and a landing is gone when its receive is complete. Or within a
            // window, as the origin has checked.
            unsafe { shown.copy_payload(to.as_ptr(), range.bytes as usize) };
        } else if !is_placed {
            let (mut bytes, length) = (Vec::<u8>::with_capacity(range.bytes as usize), range.bytes as usize);
            let address = landing.to.get().wrapping_add(range.offset);
            // SAFETY: there is room for so many bytes, and from then on they are there.
            let written = unsafe {
                shown.copy_payload(bytes.as_mut_ptr(), length);
                let (processes, from) = (self.own.processes, bytes.as_ptr());
                rank_memory::write(processes, self.memory, receiver, address, from, length)
            };
            if written.is_err() {
                return Ok(Taken::Stays);
            }
        }
        let due = landing::count(landing, completer, range.bytes, self.payload_bytes, Ahead::Ring)?;
        if let Some(told) = arrival::placed_answer(record) {
            answer(&told.header(0), RawBytes::NONE);
            self.note_sent(from, weight(self.memory, &told, range.bytes))?;
        }
        if let Some(placed) = due.placed {
            answer(&placed.header(0), RawBytes::NONE);
            self.note_sent(from, PATIENT_RECORDS)?;
        }
        self.answer_grants(from, &due.grants, answer)?;
        Ok(Taken::Here)
    }

    /// Grants what is due to a node, as far as there is room.
    fn answer_grants(&mut self, from: u32, due: &[Grant], answer: &mut Answer<'_>) -> Result<(), Corrupt> {
        for (i, grant) in due.iter().enumerate() {
            if !answer(&grant.record().header(0), RawBytes::NONE) {
                return landing::take_back(self.memory, from, &due[i..]);
            }
            self.note_sent(from, PATIENT_RECORDS)?;
        }
        Ok(())
    }

    /// Invites the sender of a message that is matched with a receive of this rank to write it there, if both
    /// can. None where it is to be granted as any other; else whether there was room for the invitation.
    fn invite(&mut self, landing: &Landing, links: &mut dyn NodeLinks) -> Result<Option<bool>, Corrupt> {
        let (receiver, request) = landing::receiver(landing);
        let bytes = landing.bytes.get();
        let Some(writes) = self.writes.as_deref_mut() else { return Ok(None) };
        if receiver != self.own.rank
            || landing.place.get() != 0
            || landing.sent_by.get() == RequestId::NONE
            || landing::is_put(landing)
            || bytes < writes.least_bytes()
            || !(self.own.stays_for)(request)
        {
            return Ok(None);
        }
        let told = Buffer { address: landing.to.get(), bytes };
        let Some(buffer) = (self.own.received_in)(request, told).filter(|buffer| buffer.bytes >= bytes)
        else {
            return Ok(None);
        };
        let (node, id) = (landing.node.get(), landing.id.get());
        let Some(opened) = writes.open(id, Buffer { bytes, ..buffer }) else { return Ok(None) };
        let invitation = Invitation {
            node,
            rank: Rank(landing.origin.get()),
            request: landing.sent_by.get(),
            from: landing.from.get(),
            landing: id,
            bytes,
            at: opened.at,
            key: opened.key,
        };
        let header = invitation.record().header(opened.address.len());
        if links.append(node, &header, RawBytes::of_slice(opened.address), false) != Appended::Done {
            return Ok(Some(false));
        }
        landing::invite(landing);
        self.note_sent(node, PATIENT_RECORDS)?;
        Ok(Some(true))
    }

    /// Begins to write a message of this rank's where it is wanted, if the rank stays until that is done.
    fn accept(&mut self, invited: &Invitation, shown: &dyn Shown) -> Result<bool, Corrupt> {
        let Some(writes) = self.writes.as_deref_mut() else { return Ok(false) };
        let mut address = [0; ADDRESS_BYTES];
        let length = shown.payload_bytes();
        if self.memory.local_rank(invited.rank)? != Some(self.own.rank)
            || length > ADDRESS_BYTES
            || !(self.own.stays_for)(invited.request)
        {
            return Ok(false);
        }
        let told = invited.buffer();
        let buffer = (self.own.sent_from)(invited.request, told);
        let Some(buffer) = buffer.filter(|buffer| buffer.bytes >= invited.bytes) else { return Ok(false) };
        // SAFETY: so many bytes can be written there.
        unsafe { shown.copy_payload(address.as_mut_ptr(), ADDRESS_BYTES) };
        Ok(writes.begin(invited, Buffer { bytes: invited.bytes, ..buffer }, &address[..length]))
    }

    /// Goes on with the writes of this rank, and says of which it is done. True if something has moved.
    fn write(&mut self, completer: &mut Completer<'_>, links: &mut dyn NodeLinks) -> Result<bool, Corrupt> {
        let Some(writes) = self.writes.take() else { return Ok(false) };
        writes.close_unless(&mut |landing| self.memory.landings().named(landing).is_some());
        let mut moved = writes.go_on();
        let mut failed = None;
        writes.take_over(&mut |invited, is_delivered| match self.conclude(
            completer,
            links,
            invited,
            is_delivered,
        ) {
            Ok(is_told) => {
                moved |= is_told;
                is_told
            }
            Err(error) => {
                failed = Some(error);
                false
            }
        });
        self.writes = Some(writes);
        failed.map_or(Ok(moved), Err)
    }

    /// A message was written, or cannot be: tells its receiver's node. False while there is no room for that.
    fn conclude(
        &mut self,
        completer: &mut Completer<'_>,
        links: &mut dyn NodeLinks,
        invited: &Invitation,
        is_delivered: bool,
    ) -> Result<bool, Corrupt> {
        let answer = invited.answer(is_delivered);
        if self.is_held_up(invited.node)?
            || links.append(invited.node, &answer.header(0), RawBytes::NONE, false) != Appended::Done
        {
            return Ok(false);
        }
        self.note_sent(invited.node, PATIENT_RECORDS)?;
        if is_delivered {
            let matched = Record::new(Kind::Matched, invited.rank, &[invited.request.0.into(), 0]);
            finish_send(self.memory, completer, invited.node, &matched)?;
            self.memory.header().remote.by_ranks.written.add(1);
        }
        Ok(true)
    }

    /// Where in this rank's memory these bytes of a message go, if its receive is under way.
    fn address_of(&self, landing: &Landing, range: Range) -> Option<NonNull<u8>> {
        let told = Buffer { address: landing.to.get(), bytes: landing.bytes.get() };
        let buffer = match landing::is_put(landing) {
            true => told,
            false => (self.own.received_in)(landing.request.get(), told)?,
        };
        NonNull::new(buffer.at(range).ok()? as *mut u8)
    }

    /// Where the payload of a record goes, if that is in this rank's memory: the next bytes of a landing, or
    /// those of a message that has come with them, and for which a receive waits. They count when the record
    /// is taken, which says then that they are in place.
    fn place(&self, opening: Opening<'_>) -> Option<NonNull<u8>> {
        let Opening { from, header, payload_bytes, is_next } = opening;
        let record = Record::decode(header, payload_bytes)?;
        let bytes = payload_bytes as u64;
        let (placed, to) = match record.kind {
            Kind::Data => {
                let [id, offset, ..] = record.words;
                let landing = self.memory.landings().named(id)?;
                if landing::receiver(landing).0 != self.own.rank {
                    return None;
                }
                let to = self.address_of(landing, Range { offset, bytes })?;
                if !landing::place_next(landing, from, offset, bytes) {
                    return None;
                }
                (Record::new(Kind::Placed, Rank(0), &[id, offset, bytes, 0]), to)
            }
            Kind::Send if is_next && self.may_take(from, &record, payload_bytes).ok()? => {
                arrival::place(self.memory, self.own, &record, bytes).ok()??
            }
            _ => return None,
        };
        *header = placed.header(0);
        Some(to)
    }

    /// Whether a descriptor is one of those that a rank can take.
    fn may_take(&self, from: u32, record: &Record, payload_bytes: usize) -> Result<bool, Corrupt> {
        if self.memory.node_state(from)?.inbox.get() != 0 {
            return Ok(false);
        }
        let mut words = [0; CELL_WORDS];
        words[..LABEL].copy_from_slice(&record.words);
        let (send, is_operation) = match PointToPoint::decode(&words) {
            Some(PointToPoint::Send(send)) => (send, false),
            Some(PointToPoint::Operate(message)) => (message, true),
            _ => return Ok(false),
        };
        let may_be = match send.payload {
            Payload::Inline(_) => payload_bytes == 0,
            _ if payload_bytes == 0 && !is_operation => self.can_land(&send, &words)?,
            _ => payload_bytes as u64 == send.bytes,
        };
        Ok(may_be && self.memory.local_rank(send.destination)?.is_some())
    }

    /// Whether a receive waits for a message whose bytes are on its node, so that they can come at once.
    fn can_land(&self, send: &SendDescriptor, words: &[u64; CELL_WORDS]) -> Result<bool, Corrupt> {
        let memory = self.memory;
        let Some(receiver) = memory.local_rank(send.destination)? else { return Ok(false) };
        if staged::applies(memory) || !memory.landings().has_free() {
            return Ok(false);
        }
        let message = SendWords(words).envelope();
        let posted = PostedReceives::of(memory, memory.rank(receiver)?);
        Ok(posted.find_receive(message, |receive| receive.takes(&message))?.is_some())
    }

    /// Tells the senders of messages that are matched, and of which nothing has to move; of others, grants
    /// bytes. What it leaves is the NIC thread's.
    fn take_matches(&mut self, links: &mut dyn NodeLinks) -> Result<(), Corrupt> {
        let memory = self.memory;
        for _ in 0..ENTRIES {
            let Some(matched) = Matched::oldest(memory)? else { break };
            let send = &matched.message.send;
            let (node, _) = memory.place(matched.message.origin)?;
            if matched.is_here() {
                let answer = matched_record(matched.message.origin, send.request, place(send.payload).0);
                if let Some(answer) = answer {
                    if self.is_held_up(node)?
                        || links.append(node, &answer.header(0), RawBytes::NONE, false) != Appended::Done
                    {
                        break;
                    }
                    self.note_sent(node, weight(memory, &answer, matched.message.send.bytes))?;
                }
            } else {
                if matched.number != 0
                    || matched.bytes() == 0
                    || staged::applies(memory)
                    || self.is_held_up(node)?
                {
                    break;
                }
                let Some(landing) =
                    landing::begin(memory, &matched.message, &matched.receive, matched.receiver)?
                else {
                    break;
                };
                match self.invite(landing, links)? {
                    None => {}
                    Some(true) => {
                        matched.remove(memory)?;
                        continue;
                    }
                    Some(false) => {
                        memory.landings().free(landing);
                        break;
                    }
                }
                let due = landing::due_grants(memory, node, self.payload_bytes, Ahead::Ring)?;
                let grants: SmallVec<[_; 8]> = due.iter().map(|grant| grant.record().header(0)).collect();
                if !grants.is_empty() && !links.append_all(node, &grants) {
                    landing::take_back(memory, node, &due)?;
                    memory.landings().free(landing);
                    break;
                }
                grants.iter().try_for_each(|_| self.note_sent(node, PATIENT_RECORDS))?;
            }
            matched.remove(memory)?;
        }
        Ok(())
    }

    /// Sends what somebody waits for, and what was appended for the same nodes.
    fn send(&mut self, links: &mut dyn NodeLinks) -> Result<(), Corrupt> {
        for to in std::mem::take(&mut self.urgent) {
            self.memory.node_state(to)?.patient.set(0);
            links.send(to);
        }
        Ok(())
    }

    /// Whether the NIC thread has something for a node that nothing goes past.
    fn is_held_up(&self, node: u32) -> Result<bool, Corrupt> {
        Ok(self.memory.node_state(node)?.waiting.get() != 0)
    }

    /// A record of this weight was appended for a node: of [`PATIENT_RECORDS`] if somebody waits for it.
    fn note_sent(&mut self, to: u32, weight: u32) -> Result<(), Corrupt> {
        self.sent += 1;
        let patient = &self.memory.node_state(to)?.patient;
        patient.set(patient.get().saturating_add(weight));
        if patient.get() >= PATIENT_RECORDS && !self.urgent.contains(&to) {
            self.urgent.push(to);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Layout, LocalRank};

    /// A link over which nothing comes but frames that say that the other end lives.
    struct KeptAlive;

    impl NodeLinks for KeptAlive {
        fn record_bytes(&self) -> usize {
            4096
        }

        unsafe fn receive(&mut self, _: &mut Place<'_>) -> bool {
            true
        }

        fn take(&mut self, _: &mut Take<'_>) -> Result<Left, Corrupt> {
            Ok(Left::default())
        }

        fn append(&mut self, _: u32, _: &[u8; HEADER_BYTES], _: RawBytes<'_>, _: bool) -> Appended {
            Appended::NotByRank
        }

        fn append_all(&mut self, _: u32, _: &[[u8; HEADER_BYTES]]) -> bool {
            false
        }

        fn send(&mut self, _: u32) {}
    }

    #[test]
    fn what_only_says_that_the_other_end_lives_is_no_move_of_this_node() {
        let memory = NicMemory::create_private(Layout::new(1, 2, [0; 2]).unwrap(), 0, 2).unwrap();
        (0..2).for_each(|rank| memory.set_place(Rank(rank), rank, LocalRank(0)));
        let remote = &memory.header().remote;
        remote.rest.set(8);
        let own = Own {
            rank: LocalRank(0),
            processes: &crate::channel::OwnProcess,
            sent_from: &|_, _| None,
            received_in: &|_, _| None,
            stays_for: &|_| false,
        };
        let passed = pass_over_links(&memory, &mut KeptAlive, None, &own).unwrap();
        assert!(passed.moved, "something has come");
        assert_eq!(
            (remote.rest.get(), remote.by_ranks.moves.get()),
            (8, 0),
            "what looks for a deadlock sees"
        );
    }
}
