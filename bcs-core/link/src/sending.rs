//! From the outgoing ring to the socket: seals what is queued into one frame, and sends it as far as the
//! socket takes it. The rest of a long record may be sealed from where it lies, in a frame of its own that
//! leaves with the frame of its front: its bytes are never in the ring.
//!
//! ```text
//!  queued records ── seal ──► frame ── send ──► socket
//!                              │ the socket takes a part of it: the rest stays in shared memory,
//!                              ▼ and whoever drives next goes on in mid-frame
//! ```

use super::fault::{FaultKind, LinkFault};
use super::frame::{HEADER_BYTES, Header, Kind, TAG_BYTES};
use super::keys::{Cipher, LinkSecrets, RenewalLimits};
use super::layout::ALIGNMENT;
use super::seal::Refused;
use super::state::{
    CLOSE, CLOSE_AT_ONCE, CLOSE_SEALED, Held, PHASE_ACCEPTED, PHASE_FREE, PHASE_REMOTE, Shared,
};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// What the next frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Next {
    kind: Kind,
    code: u8,
    bytes: usize,
}

/// How much may be sealed now, by what is queued and by credit. Without the lock it is what it was a moment
/// ago.
fn sealable_bytes(shared: &Shared) -> u64 {
    let state = shared.state();
    let tail = state.sending.tail.load(Relaxed);
    let queued = state.appending.head.load(Acquire).wrapping_sub(tail);
    let limit = state.receiving.acknowledged.load(Acquire).wrapping_add(shared.layout.ring_bytes() as u64);
    queued.min(limit.wrapping_sub(tail))
}

/// Whether the other end should be told how much was taken: half of the ring.
pub(crate) fn owes_credit(shared: &Shared) -> bool {
    let state = shared.state();
    let untold = state.taking.tail.load(Relaxed).wrapping_sub(state.sending.told.load(Relaxed));
    untold >= shared.layout.ring_bytes() as u64 / 2
}

/// Whether there is something to seal, or a frame to go on with.
pub(crate) fn has_work(shared: &Shared) -> bool {
    shared.state().sending.frame_bytes.load(Relaxed) != 0 || next_frame(shared).is_some()
}

fn next_frame(shared: &Shared) -> Option<Next> {
    let state = shared.state();
    let closing = state.general.closing.load(Relaxed);
    let phase = state.general.phase.load(Relaxed);
    let close = Next { kind: Kind::Close, code: closing as u8, bytes: 0 };
    let credit = Next { kind: Kind::Records, code: 0, bytes: 0 };
    if matches!(phase, PHASE_FREE | PHASE_REMOTE) || closing & CLOSE_SEALED != 0 {
        return None;
    }
    if state.sending.keys.sequence.load(Relaxed) == 0 {
        let may_greet = phase == PHASE_ACCEPTED || state.receiving.greeted.load(Acquire) != 0;
        return may_greet.then_some(Next { kind: Kind::Hello, ..credit });
    }
    if closing & CLOSE_AT_ONCE != 0 {
        return Some(close);
    }
    match sealable_bytes(shared) {
        0 if closing & CLOSE != 0 && !has_queued(shared) => Some(close),
        0 => (owes_credit(shared) || state.general.wanted.load(Relaxed) != 0).then_some(credit),
        bytes => {
            Some(Next { bytes: bytes.min(shared.layout.frame_payload_bytes() as u64) as usize, ..credit })
        }
    }
}

/// Whether records wait that are in no frame yet.
pub(crate) fn has_queued(shared: &Shared) -> bool {
    let state = shared.state();
    state.appending.head.load(Acquire) != state.sending.tail.load(Relaxed)
}

/// Where the bytes of a frame are.
#[derive(Clone, Copy)]
enum From {
    /// In the outgoing ring, from a position on.
    Ring(u64),
    /// At an address outside of the link, all of which can be read.
    Memory(*const u8),
}

/// Writes a frame of these bytes, behind the first `at` bytes of the frame that is to be sent. Answers up to
/// where that is written then. Under the lock for sending.
///
/// # Safety
/// There is room for the frame; the bytes can be read, as [`From`] says, and nobody writes those of the ring.
unsafe fn write_frame(
    shared: &Shared,
    expanded: &mut Option<Cipher>,
    limits: RenewalLimits,
    header: Header,
    from: From,
    at: usize,
) -> Result<usize, LinkFault> {
    let (state, ring, bytes) = (shared.state(), shared.outgoing(), header.bytes as usize);
    let header = header.encode();
    let refused = |_| shared.fail(FaultKind::Cryptography, 0);
    let is_sealed = state.general.sealed.load(Relaxed) != 0;
    let sequence = state.sending.keys.count(bytes, is_sealed, limits).map_err(refused)?;
    // SAFETY: the frame has room, and is the holder's; the caller vouches for the bytes.
    unsafe {
        let frame = shared.frame().add(at);
        std::ptr::copy_nonoverlapping(header.as_ptr(), frame, HEADER_BYTES);
        let payload = frame.add(HEADER_BYTES);
        let input = match from {
            From::Ring(position) if is_sealed && bytes <= ring.piece_bytes(position) => ring.at(position),
            From::Ring(position) => {
                ring.read_to(position, payload, bytes);
                payload
            }
            From::Memory(from) if is_sealed => from,
            From::Memory(from) => {
                std::ptr::copy_nonoverlapping(from, payload, bytes);
                payload
            }
        };
        if !is_sealed {
            return Ok(at + HEADER_BYTES + bytes);
        }
        let cipher = state.sending.keys.cipher(expanded).map_err(refused)?;
        cipher.key.seal(&cipher.nonce(sequence), &header, input, bytes, payload).map_err(refused)?;
    }
    Ok(at + HEADER_BYTES + bytes + TAG_BYTES)
}

/// Seals the next frame, if there is one to seal. True when it did. Under the lock for sending.
fn seal(shared: &Shared, expanded: &mut Option<Cipher>, limits: RenewalLimits) -> Result<bool, LinkFault> {
    let Some(Next { kind, code, bytes }) = next_frame(shared) else { return Ok(false) };
    let state = shared.state();
    let tail = state.sending.tail.load(Relaxed);
    // Both ends of what was looked at are where they can be, or this is an error.
    let queued = shared.distance(tail, state.appending.head.load(Acquire))?;
    shared.distance(state.receiving.acknowledged.load(Acquire), tail)?;
    let bytes = bytes.min(queued);
    let taken = state.taking.tail.load(Acquire);
    let told = if kind == Kind::Hello { shared.layout.ring_bytes() as u64 } else { taken };
    let header = Header { bytes: bytes as u32, kind, code, taken: told };
    state.general.wanted.store(0, Relaxed);
    // SAFETY: the frame has room for the most bytes of records, and more; those that are queued were
    // published, and stay as they are until the tail passes them.
    let written = unsafe { write_frame(shared, expanded, limits, header, From::Ring(tail), 0) }?;
    if kind != Kind::Hello {
        state.sending.told.store(taken, Relaxed);
    }
    if kind == Kind::Close {
        state.general.closing.fetch_or(CLOSE_SEALED, Release);
    }
    state.sending.tail.store(tail + bytes as u64, Release);
    state.sending.frame_sent.store(0, Relaxed);
    state.sending.frame_bytes.store(written as u32, Release);
    Ok(true)
}

/// A record can be sent, and nobody else sends.
pub(crate) struct Way<'a> {
    /// What was appended before it and has not left: where that begins, and how much it is.
    tail: u64,
    queued: usize,
    _held: Held<'a>,
}

/// A record whose front is in the outgoing ring and whose rest is elsewhere.
#[derive(Clone, Copy)]
pub(crate) struct Apart {
    /// Where the record begins: up to where records are appended.
    pub head: u64,
    /// Bytes of its front, with its head; a multiple of 8.
    pub front_bytes: usize,
    /// The rest.
    pub from: *const u8,
    /// As `from`; a multiple of 8.
    pub bytes: usize,
}

/// Whether a record that begins here can be sent at once: what was appended before it has left, or goes with
/// its front, there is credit for it, and nobody else sends. Sends what is in its way.
///
/// # Errors
/// The link has ended.
pub(crate) fn makes_way<'a>(
    shared: &'a Shared,
    expanded: &mut Option<Cipher>,
    limits: RenewalLimits,
    process: u32,
    socket: BorrowedFd<'_>,
    (head, front_bytes, bytes): (u64, usize, usize),
) -> Result<Option<Way<'a>>, LinkFault> {
    let state = shared.state();
    let is_up = !matches!(state.general.phase.load(Relaxed), PHASE_FREE | PHASE_REMOTE)
        && state.sending.keys.sequence.load(Relaxed) != 0;
    if !is_up || bytes > shared.layout.frame_payload_bytes() {
        return Ok(None);
    }
    let Some(held) = shared.try_hold(&state.sending.lock, process) else { return Ok(None) };
    for _ in 0..FRAMES_IN_THE_WAY {
        let tail = state.sending.tail.load(Relaxed);
        let queued = shared.distance(tail, head)?;
        let acknowledged = state.receiving.acknowledged.load(Acquire);
        let unacknowledged = shared.distance(acknowledged, tail)? + queued;
        if unacknowledged + front_bytes + bytes > shared.layout.ring_bytes() {
            return Ok(None);
        }
        let is_under_way = state.sending.frame_bytes.load(Relaxed) != 0;
        if !is_under_way && queued + front_bytes <= shared.layout.front_bytes() {
            return Ok((state.general.closing.load(Relaxed) == 0).then_some(Way {
                tail,
                queued,
                _held: held,
            }));
        }
        // What waits and this share a frame, unless it fills one nearly by itself.
        let is_short = bytes < shared.layout.frame_payload_bytes() / 2;
        if is_short && !is_under_way || !go_on(shared, expanded, limits, socket)? {
            break;
        }
    }
    Ok(None)
}

/// Frames that are sent before a record goes to the ring instead.
const FRAMES_IN_THE_WAY: usize = 4;

/// Sends a record: what was appended before it and its front as a frame, and its rest as another one, sealed
/// from where it lies. What the socket does not take waits as that of any frame does.
///
/// # Safety
/// [`makes_way`] has answered so for this record, the lock for appending is held, too, the front is in the
/// ring, and the rest can be read.
///
/// # Errors
/// The link has ended.
pub(crate) unsafe fn send_apart(
    shared: &Shared,
    expanded: &mut Option<Cipher>,
    limits: RenewalLimits,
    socket: BorrowedFd<'_>,
    Way { tail, queued, .. }: Way<'_>,
    Apart { head, front_bytes, from, bytes }: Apart,
) -> Result<(), LinkFault> {
    let (state, first) = (shared.state(), queued + front_bytes);
    let taken = state.taking.tail.load(Acquire);
    state.general.wanted.store(0, Relaxed);
    let front = Header { bytes: first as u32, kind: Kind::Records, code: 0, taken };
    let code = (front_bytes / ALIGNMENT) as u8;
    let rest = Header { bytes: bytes as u32, kind: Kind::Rest, code, taken };
    // SAFETY: the frame has room for a front and the longest frame behind it; what is in the ring was
    // written, and the lock for appending is held; the caller vouches for the rest.
    let written = unsafe {
        let at = write_frame(shared, expanded, limits, front, From::Ring(tail), 0)?;
        write_frame(shared, expanded, limits, rest, From::Memory(from), at)?
    };
    let end = head + (front_bytes + bytes) as u64;
    state.sending.told.store(taken, Relaxed);
    // In this order: nobody is to see a tail beyond the head.
    state.appending.head.store(end, Release);
    state.sending.tail.store(end, Release);
    state.sending.frame_sent.store(0, Relaxed);
    state.sending.frame_bytes.store(written as u32, Release);
    transmit(shared, socket).map(drop)
}

/// The one frame of an end that accepted and will not have the link: a close with this code. There are no
/// secrets on a network without seals.
///
/// # Errors
/// The library for cryptography refuses.
pub fn refusal(secrets: Option<&LinkSecrets>, code: u8) -> Result<Vec<u8>, Refused> {
    let header = Header { bytes: 0, kind: Kind::Close, code, taken: 0 }.encode();
    let mut frame = header.to_vec();
    if let Some(LinkSecrets { outgoing: secret, .. }) = secrets {
        frame.resize(HEADER_BYTES + TAG_BYTES, 0);
        let cipher = Cipher::first(secret)?;
        // SAFETY: the frame has room for the tag behind its header; nothing is read.
        unsafe {
            cipher.key.seal(
                &cipher.nonce(0),
                &header,
                header.as_ptr(),
                0,
                frame.as_mut_ptr().add(HEADER_BYTES),
            )?
        };
    }
    Ok(frame)
}

/// Seals a frame if none is under way, and sends of it what the socket takes. True when something has moved.
pub(crate) fn drive(
    shared: &Shared,
    expanded: &mut Option<Cipher>,
    limits: RenewalLimits,
    process: u32,
    socket: BorrowedFd<'_>,
) -> Result<bool, LinkFault> {
    if !has_work(shared) {
        return Ok(false);
    }
    let state = shared.state();
    let Some(_held) = shared.try_hold(&state.sending.lock, process) else { return Ok(false) };
    go_on(shared, expanded, limits, socket)
}

/// [`drive`], under the lock for sending.
pub(crate) fn go_on(
    shared: &Shared,
    expanded: &mut Option<Cipher>,
    limits: RenewalLimits,
    socket: BorrowedFd<'_>,
) -> Result<bool, LinkFault> {
    let sending = &shared.state().sending;
    let has_sealed = sending.frame_bytes.load(Relaxed) == 0 && seal(shared, expanded, limits)?;
    Ok(transmit(shared, socket)? || has_sealed)
}

/// Sends of the frame that is sealed what the socket takes. True if that was anything. Under the lock for
/// sending.
fn transmit(shared: &Shared, socket: BorrowedFd<'_>) -> Result<bool, LinkFault> {
    let sending = &shared.state().sending;
    let (bytes, sent) = (sending.frame_bytes.load(Relaxed), sending.frame_sent.load(Relaxed));
    if bytes == 0 {
        // Another process has done it meanwhile.
        return Ok(false);
    }
    if bytes as usize > shared.layout.frame_room() || sent > bytes {
        return Err(shared.fail(FaultKind::Memory, sent.into()));
    }
    // SAFETY: the range lies in the frame, which is the holder's; the system only reads it.
    let written = unsafe {
        libc::send(
            socket.as_raw_fd(),
            shared.frame().add(sent as usize).cast(),
            (bytes - sent) as usize,
            libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
        )
    };
    match u32::try_from(written) {
        Ok(written) if written == bytes - sent => {
            sending.frame_bytes.store(0, Release);
            Ok(true)
        }
        Ok(written) => {
            sending.frame_sent.store(sent + written, Relaxed);
            Ok(true)
        }
        Err(_) => match io::Error::last_os_error().raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS) => Ok(false),
            // The other end has gone; what it has said last is still to be read, and then that it has gone.
            Some(libc::EPIPE | libc::ECONNRESET) => Ok(false),
            number => Err(shared.fail(FaultKind::Socket, number.unwrap_or(0) as u64)),
        },
    }
}
