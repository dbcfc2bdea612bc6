//! Rings: frames from one node to another, in order, by puts.
//!
//! The sender writes frames into its copy of the ring, puts what is new into the receiver's, and when that
//! put has ended, puts the tail: so who sees the tail sees the frames, whatever order puts arrive in. The
//! receiver reads up to the tail, and now and then puts how much it has read.
//!
//! A frame never wraps; it is at most a quarter of the ring with its header, and a receiver tells what it has
//! read at the latest after a quarter: so a frame that waits gets its room.

use crate::card::{Card, CardError, Transfer};
use crate::far::Windows;
use crate::frame::{HEADER_BYTES, Lengths};
use crate::window::Word;
use bcs_core::ids::NodeId;
use std::collections::VecDeque;

/// In place of the lengths of a frame: the rest of the ring is not used.
const PAD: u64 = u64::MAX;

/// The most bytes of a frame in such a ring, behind its header.
pub(crate) const fn frame_bytes(ring_bytes: usize) -> usize {
    ring_bytes / 4 - HEADER_BYTES
}

/// Why what another node has written is no ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RingFault {
    #[error("its ring {ring} ends at {tail}, of which {read} are read and {ring_bytes} can be there")]
    Tail { ring: usize, tail: u64, read: u64, ring_bytes: usize },
    #[error("a frame of {bytes} bytes in its ring {ring} reaches beyond what is there")]
    Frame { ring: usize, bytes: usize },
}

/// The sending end. All positions are bytes since the start.
#[derive(Debug, Default)]
pub(crate) struct SendRing {
    /// What is in the own copy.
    written: u64,
    /// What a put has been begun for.
    begun: u64,
    /// What is in the receiver's ring.
    landed: u64,
    /// Up to where the receiver knows of it.
    known: u64,
    data: Option<Transfer>,
    tail: Option<Transfer>,
    told: u64,
    /// Where messages end that have not arrived.
    ends: VecDeque<u64>,
    /// How many messages have arrived: the receiver knows of them to their end.
    pub arrived: u64,
}

impl SendRing {
    /// Appends a frame, if there is room; `is_last`: it is the last of its message.
    pub fn append(
        &mut self,
        windows: &Windows,
        (to, ring): (NodeId, usize),
        words: [u64; 3],
        parts: &[&[u8]],
        is_last: bool,
    ) -> bool {
        let (window, layout) = (&windows.own, windows.own.layout());
        let ring_bytes = layout.ring_bytes as u64;
        let bytes: usize = parts.iter().map(|part| part.len()).sum();
        let length = (HEADER_BYTES + bytes).next_multiple_of(8) as u64;
        let to_end = ring_bytes - self.written % ring_bytes;
        let padding = if length > to_end { to_end } else { 0 };
        // What the receiver says is not more than what it has been sent, or it gains nothing by it.
        let taken = window.load(layout.line(to, Word::Taken(ring))).min(self.written);
        if self.written + padding + length > taken + ring_bytes {
            return false;
        }
        let start = layout.outgoing(to, ring);
        if padding > 0 {
            window.store(start + (self.written % ring_bytes) as usize, PAD);
            self.written += padding;
        }
        let mut place = start + (self.written % ring_bytes) as usize;
        for word in words {
            window.store(place, word);
            place += 8;
        }
        for part in parts {
            window.write(place, part);
            place += part.len();
        }
        self.written += length;
        if is_last {
            self.ends.push_back(self.written);
        }
        true
    }

    /// Puts what is new. True when something has moved.
    ///
    /// # Errors
    /// The card does not begin a put.
    pub fn advance(
        &mut self,
        card: &Card,
        windows: &Windows,
        (to, ring): (NodeId, usize),
    ) -> Result<bool, CardError> {
        if self.is_idle() {
            return Ok(false);
        }
        let (window, layout, far) = (&windows.own, windows.own.layout(), &windows.far[to.index()]);
        let ring_bytes = layout.ring_bytes as u64;
        let mut moved = false;
        if self.data.is_some() && card.has_ended(&mut self.data) {
            self.landed = self.begun;
            moved = true;
        }
        if self.data.is_none() && self.begun < self.written {
            let at = self.begun % ring_bytes;
            let bytes = (self.written - self.begun).min(ring_bytes - at);
            let source = window.at(layout.outgoing(to, ring) + at as usize, bytes as usize);
            let destination = far.at(layout.incoming(windows.node, ring) + at as usize);
            // SAFETY: own copy and ring are in windows of one layout; this part of the copy is not written
            // again before the receiver has read it.
            self.data = Some(unsafe { card.put(source, destination, bytes as usize, far.process) }?);
            self.begun += bytes;
            moved = true;
        }
        if self.tail.is_some() && card.has_ended(&mut self.tail) {
            self.known = self.told;
            while self.ends.pop_front_if(|end| *end <= self.known).is_some() {
                self.arrived += 1;
            }
            moved = true;
        }
        if self.tail.is_none() && self.told < self.landed {
            let word = layout.word(to, Word::Tail(ring));
            window.store(word, self.landed);
            let destination = far.at(layout.line(windows.node, Word::Tail(ring)));
            // SAFETY: words of windows; the source is not written again while this is under way.
            self.tail = Some(unsafe { card.put(window.at(word, 8), destination, 8, far.process) }?);
            self.told = self.landed;
            moved = true;
        }
        Ok(moved)
    }

    /// Whether the receiver knows of all that was appended.
    pub fn is_idle(&self) -> bool {
        self.known == self.written
    }
}

/// A frame that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub lengths: Lengths,
    pub after: u64,
    pub stamp: u64,
    /// Where its bytes lie in the window.
    pub place: usize,
}

/// The receiving end.
#[derive(Debug, Default)]
pub(crate) struct ReceiveRing {
    read: u64,
    told: u64,
    telling: Option<Transfer>,
}

impl ReceiveRing {
    /// The next frame; it stays until it is taken.
    ///
    /// # Errors
    /// The sender does not keep the protocol.
    pub fn next(
        &mut self,
        windows: &Windows,
        (from, ring): (NodeId, usize),
    ) -> Result<Option<Frame>, RingFault> {
        let (window, layout) = (&windows.own, windows.own.layout());
        let ring_bytes = layout.ring_bytes as u64;
        loop {
            let tail = window.load(layout.line(from, Word::Tail(ring)));
            let Some(bytes) = tail.checked_sub(self.read).filter(|bytes| *bytes <= ring_bytes) else {
                return Err(RingFault::Tail { ring, tail, read: self.read, ring_bytes: layout.ring_bytes });
            };
            if bytes == 0 {
                return Ok(None);
            }
            let at = self.read % ring_bytes;
            let (place, to_end) = (layout.incoming(from, ring) + at as usize, ring_bytes - at);
            let word = window.load(place);
            if word == PAD {
                if to_end > bytes {
                    return Err(RingFault::Frame { ring, bytes: to_end as usize });
                }
                self.read += to_end;
                continue;
            }
            let lengths = Lengths::from_word(word);
            if length_of(lengths) > to_end.min(bytes) || lengths.bytes > frame_bytes(layout.ring_bytes) {
                return Err(RingFault::Frame { ring, bytes: lengths.bytes });
            }
            let (after, stamp) = (window.load(place + 8), window.load(place + 16));
            return Ok(Some(Frame { lengths, after, stamp, place: place + HEADER_BYTES }));
        }
    }

    /// The frame that was next has been read.
    pub fn take(&mut self, frame: &Frame) {
        self.read += length_of(frame.lengths);
    }

    /// Whether all has been read that is known to have come.
    pub fn is_empty(&self, windows: &Windows, (from, ring): (NodeId, usize)) -> bool {
        windows.own.load(windows.own.layout().line(from, Word::Tail(ring))) == self.read
    }

    /// Tells the sender what was read, where that is enough to be told. True when something has moved.
    ///
    /// # Errors
    /// The card does not begin a put.
    pub fn tell(
        &mut self,
        card: &Card,
        windows: &Windows,
        (from, ring): (NodeId, usize),
    ) -> Result<bool, CardError> {
        let (window, layout, far) = (&windows.own, windows.own.layout(), &windows.far[from.index()]);
        let has_ended = self.telling.is_some() && card.has_ended(&mut self.telling);
        if self.telling.is_some() || self.read - self.told < layout.ring_bytes as u64 / 4 {
            return Ok(has_ended);
        }
        let word = layout.word(from, Word::Taken(ring));
        window.store(word, self.read);
        let destination = far.at(layout.line(windows.node, Word::Taken(ring)));
        // SAFETY: words of windows; the source is not written again while this is under way.
        self.telling = Some(unsafe { card.put(window.at(word, 8), destination, 8, far.process) }?);
        self.told = self.read;
        Ok(true)
    }

    /// Whether the sender is being told.
    pub fn is_telling(&self) -> bool {
        self.telling.is_some()
    }
}

/// The length of a frame in its ring.
fn length_of(lengths: Lengths) -> u64 {
    (HEADER_BYTES + lengths.bytes).next_multiple_of(8) as u64
}
