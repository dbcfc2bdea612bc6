//! From the socket to the incoming ring: receives as much as there is room for, opens the frames that are
//! whole, and publishes their records.
//!
//! ```text
//!  socket ── receive ──► stage ── open ──► ring ── published records ──► consumers
//!                         │ a frame that has come in part stays there,
//!                         ▼ and whoever drives next receives the rest of it
//! ```
//!
//! The rest of a long record may be opened where it is wanted, and not into the ring ([`Place`]): its front
//! is shown alone then, and the room that the rest has in the ring, which counts as ever, stays as it is.
//!
//! Invariant: what is published was sealed by the other end, once, and comes next; the ring has room for it,
//! or the other end has not kept to its credit and the link ends.

use super::fault::{FaultKind, LinkFault};
use super::frame::{HEADER_BYTES, Header, Kind, TAG_BYTES, is_tls};
use super::keys::{Cipher, RenewalLimits};
use super::layout::{ALIGNMENT, RECORD_HEAD_BYTES};
use super::records::MOST_FRONT_BYTES;
use super::ring::Head;
use super::state::{CLOSE, Held, PHASE_FREE, PHASE_REMOTE, Shared};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A record whose rest is about to be opened.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The position at which it begins.
    pub at: u64,
    /// Its front, without the head of the record. If the rest goes elsewhere than into the ring, what is left
    /// here is what is shown of the record: its front alone.
    pub front: &'a mut [u8],
    /// How many bytes follow.
    pub rest_bytes: usize,
}

/// Says where the rest of a record goes: answers an address, or none if it is to lie in the ring, and the
/// record is to be shown as ever.
pub type Place<'a> = dyn FnMut(Opening<'_>) -> Option<NonNull<u8>> + 'a;

/// Receives once, and opens what is whole. True when something has come.
///
/// # Safety
/// Where `place` answers an address, so many bytes can be written there as long as this call lasts.
pub(crate) unsafe fn drive(
    shared: &Shared,
    expanded: &mut Option<Cipher>,
    limits: RenewalLimits,
    process: u32,
    socket: BorrowedFd<'_>,
    place: &mut Place<'_>,
) -> Result<bool, LinkFault> {
    let state = shared.state();
    let is_over = state.receiving.closed.load(Relaxed) != 0;
    let phase = state.general.phase.load(Acquire);
    if is_over || matches!(phase, PHASE_FREE | PHASE_REMOTE) {
        return Ok(false);
    }
    let Some(_held) = shared.try_hold(&state.receiving.lock, process) else { return Ok(false) };
    let (begin, end) = make_room(shared)?;
    // SAFETY: the range lies in the stage, which is the holder's; the system only writes it.
    let received = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            shared.stage().add(end).cast(),
            shared.layout.stage_bytes() - end,
            libc::MSG_DONTWAIT,
        )
    };
    let end = match usize::try_from(received) {
        Ok(0) => return Err(shared.fail(FaultKind::Ended, (end - begin) as u64)),
        Ok(received) => end + received,
        Err(_) => match io::Error::last_os_error().raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => return Ok(false),
            Some(libc::ECONNRESET) => return Err(shared.fail(FaultKind::Ended, (end - begin) as u64)),
            number => return Err(shared.fail(FaultKind::Socket, number.unwrap_or(0) as u64)),
        },
    };
    let mut begin = begin;
    // SAFETY: the caller's promise.
    while let Some(frame) = unsafe { open(shared, (begin, end), expanded, (limits, process), place) }? {
        begin += frame;
    }
    let (begin, end) = if begin == end { (0, 0) } else { (begin, end) };
    state.receiving.stage_begin.store(begin as u32, Relaxed);
    state.receiving.stage_end.store(end as u32, Relaxed);
    Ok(true)
}

/// What of the stage is filled, after the whole of a frame has room behind it.
fn make_room(shared: &Shared) -> Result<(usize, usize), LinkFault> {
    let (receiving, stage_bytes) = (&shared.state().receiving, shared.layout.stage_bytes());
    let begin = receiving.stage_begin.load(Relaxed) as usize;
    let end = receiving.stage_end.load(Relaxed) as usize;
    // What waits there is less than a frame, or it would have been opened.
    if begin > end || end > stage_bytes || end - begin >= shared.layout.frame_room() {
        return Err(shared.fail(FaultKind::Memory, (begin as u64) << 32 | end as u64));
    }
    if stage_bytes - begin >= shared.layout.frame_room() {
        return Ok((begin, end));
    }
    // SAFETY: both ranges lie in the stage, which is the holder's.
    unsafe { std::ptr::copy(shared.stage().add(begin), shared.stage(), end - begin) };
    receiving.stage_begin.store(0, Relaxed);
    receiving.stage_end.store((end - begin) as u32, Relaxed);
    Ok((0, end - begin))
}

/// Opens the frame at the beginning of what has come, if it is whole; its length.
///
/// # Safety
/// As [`drive`].
unsafe fn open(
    shared: &Shared,
    (begin, end): (usize, usize),
    expanded: &mut Option<Cipher>,
    (limits, process): (RenewalLimits, u32),
    place: &mut Place<'_>,
) -> Result<Option<usize>, LinkFault> {
    let state = shared.state();
    let receiving = &state.receiving;
    if end - begin < HEADER_BYTES || receiving.closed.load(Relaxed) != 0 {
        return Ok(None);
    }
    let mut header = [0; HEADER_BYTES];
    // SAFETY: so many bytes have come, and nobody else reads or writes them while the lock is held.
    unsafe { std::ptr::copy_nonoverlapping(shared.stage().add(begin), header.as_mut_ptr(), HEADER_BYTES) };
    let bytes = Header::announced(&header);
    let is_first = receiving.keys.sequence.load(Relaxed) == 0;
    if bytes > shared.layout.frame_payload_bytes() || !bytes.is_multiple_of(8) {
        let kind = if is_first && is_tls(&header) { FaultKind::Refused } else { FaultKind::TooLong };
        return Err(shared.fail(kind, bytes as u64));
    }
    let is_sealed = state.general.sealed.load(Relaxed) != 0;
    let whole = HEADER_BYTES + bytes + if is_sealed { TAG_BYTES } else { 0 };
    if end - begin < whole {
        return Ok(None);
    }
    let (ring, head) = (shared.incoming(), receiving.head.load(Relaxed));
    let waiting = shared.distance(state.taking.tail.load(Acquire), head)?;
    if bytes > shared.layout.ring_bytes() - waiting {
        return Err(shared.fail(FaultKind::Flooded, bytes as u64));
    }
    // Nothing of this is trusted but as a hint where to put bytes that are.
    let hint = Header::decode(&header).filter(|header| header.kind == Kind::Rest);
    let apart = hint.and_then(|rest| Apart::find(shared, process, (head, waiting), &rest, place));
    let refused = |_| shared.fail(FaultKind::Cryptography, 0);
    let sequence = receiving.keys.count(bytes, is_sealed, limits).map_err(refused)?;
    // SAFETY: the whole frame has come, and is the holder's; the ring has room for its records, of which
    // nothing is published before the head passes it; where a rest goes there is room, the caller vouches.
    unsafe {
        let payload = shared.stage().add(begin + HEADER_BYTES);
        let is_in_one = bytes <= ring.piece_bytes(head);
        let to = match &apart {
            Some(apart) => apart.to.as_ptr(),
            None if is_in_one || !is_sealed => ring.at(head),
            None => payload,
        };
        if is_sealed {
            let cipher = receiving.keys.cipher(expanded).map_err(refused)?;
            let opened = cipher.key.open(&cipher.nonce(sequence), &header, payload, bytes, to);
            opened.map_err(|_| shared.fail(FaultKind::Forged, sequence))?;
        }
        match &apart {
            Some(_) if is_sealed => {}
            Some(_) => std::ptr::copy_nonoverlapping(payload, to, bytes),
            None if is_in_one && is_sealed => {}
            None => ring.write(head, payload, bytes),
        }
    }
    // From here on the header is the other end's.
    let kind = u64::from(header[4]);
    let header = Header::decode(&header).ok_or_else(|| shared.fail(FaultKind::Kind, kind))?;
    match (header.kind, is_first) {
        (Kind::Hello, true) => {
            if header.taken != shared.layout.ring_bytes() as u64 {
                return Err(shared.fail(FaultKind::RingBytes, header.taken));
            }
            receiving.greeted.store(1, Release);
        }
        (Kind::Records | Kind::Rest, false) | (Kind::Close, _) => take_credit(shared, header.taken)?,
        (Kind::Hello, false) | (Kind::Records | Kind::Rest, true) => {
            return Err(shared.fail(FaultKind::Kind, kind));
        }
    }
    if let Some(apart) = apart {
        apart.show(shared, bytes);
    }
    receiving.head.store(head + bytes as u64, Release);
    if header.kind == Kind::Close {
        receiving.closed.store(CLOSE | u32::from(header.code), Release);
    }
    Ok(Some(whole))
}

/// The rest of a record, which does not go into the ring.
struct Apart<'a> {
    to: NonNull<u8>,
    /// Where the record begins.
    at: u64,
    /// Its front as it is to be shown, and how long that is.
    front: [u8; MOST_FRONT_BYTES],
    front_bytes: usize,
    /// Nobody takes records meanwhile: what is changed was published.
    _held: Held<'a>,
}

impl<'a> Apart<'a> {
    /// Where the rest goes of the record whose front was opened last, if `place` wants it elsewhere than in
    /// the ring, which is filled up to this position, with so many bytes.
    fn find(
        shared: &'a Shared,
        process: u32,
        (end, waiting): (u64, usize),
        header: &Header,
        place: &mut Place<'_>,
    ) -> Option<Self> {
        let (state, ring, bytes) = (shared.state(), shared.incoming(), header.bytes as usize);
        let whole_front = usize::from(header.code) * ALIGNMENT;
        let front_bytes = whole_front.checked_sub(RECORD_HEAD_BYTES)?;
        let is_long = front_bytes + bytes > shared.layout.record_bytes();
        if whole_front > waiting || whole_front > MOST_FRONT_BYTES || is_long || bytes < RECORD_HEAD_BYTES {
            return None;
        }
        let held = shared.try_hold(&state.taking.lock, process)?;
        let at = end.wrapping_sub(whole_front as u64);
        let mut front = [0; MOST_FRONT_BYTES];
        // SAFETY: what waits in the ring is written by nobody while both locks are held; both positions are
        // multiples of 8.
        let head = unsafe {
            ring.read_to(at + RECORD_HEAD_BYTES as u64, front.as_mut_ptr(), front_bytes);
            ring.read_head(at)?
        };
        if head.is_taken || head.length != front_bytes + bytes {
            return None;
        }
        let to = place(Opening { at, front: &mut front[..front_bytes], rest_bytes: bytes })?;
        Some(Self { to, at, front, front_bytes, _held: held })
    }

    /// Its rest is in place: the front is a record of its own, and the room of the rest one that was taken.
    fn show(self, shared: &Shared, bytes: usize) {
        let Self { at, front, front_bytes: length, .. } = self;
        let (ring, front_at) = (shared.incoming(), at + RECORD_HEAD_BYTES as u64);
        let rest = Head { length: bytes - RECORD_HEAD_BYTES, is_taken: true };
        // SAFETY: as in `find`; the ring has room for the rest, of which nothing is published yet.
        unsafe {
            ring.write(front_at, front.as_ptr(), length);
            ring.write_head(at, Head { length, is_taken: false });
            ring.write_head(front_at + length as u64, rest);
        }
    }
}

/// The other end has said how much its consumers have taken.
fn take_credit(shared: &Shared, taken: u64) -> Result<(), LinkFault> {
    let state = shared.state();
    let before = state.receiving.acknowledged.load(Relaxed);
    let sent = state.sending.tail.load(Acquire);
    if taken < before || taken > sent || !taken.is_multiple_of(8) {
        return Err(shared.fail(FaultKind::Credit, taken));
    }
    state.receiving.acknowledged.store(taken, Release);
    Ok(())
}
