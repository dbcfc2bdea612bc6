//! From the outgoing ring to the socket: seals what is queued into one frame, and sends it as far as the
//! socket takes it.
//!
//! ```text
//!  queued records ── seal ──► frame ── send ──► socket
//!                              │ the socket takes a part of it: the rest stays in shared memory,
//!                              ▼ and whoever drives next goes on in mid-frame
//! ```

use super::fault::{FaultKind, LinkFault};
use super::frame::{HEADER_BYTES, Header, Kind, TAG_BYTES};
use super::keys::{Cipher, LinkSecrets, RenewalLimits};
use super::seal::Refused;
use super::state::{CLOSE, CLOSE_AT_ONCE, CLOSE_SEALED, PHASE_ACCEPTED, PHASE_FREE, PHASE_REMOTE, Shared};
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

/// Seals the next frame, if there is one to seal. True when it did. Under the lock for sending.
fn seal(shared: &Shared, expanded: &mut Option<Cipher>, limits: RenewalLimits) -> Result<bool, LinkFault> {
    let Some(Next { kind, code, bytes }) = next_frame(shared) else { return Ok(false) };
    let (state, ring) = (shared.state(), shared.outgoing());
    let tail = state.sending.tail.load(Relaxed);
    // Both ends of what was looked at are where they can be, or this is an error.
    let queued = shared.distance(tail, state.appending.head.load(Acquire))?;
    shared.distance(state.receiving.acknowledged.load(Acquire), tail)?;
    let bytes = bytes.min(queued).min(ring.piece_bytes(tail));
    let taken = state.taking.tail.load(Acquire);
    let told = if kind == Kind::Hello { shared.layout.ring_bytes() as u64 } else { taken };
    let header = Header { bytes: bytes as u32, kind, code, taken: told }.encode();
    let refused = |_| shared.fail(FaultKind::Cryptography, 0);
    let is_sealed = state.general.sealed.load(Relaxed) != 0;
    state.general.wanted.store(0, Relaxed);
    let sequence = state.sending.keys.count(bytes, is_sealed, limits).map_err(refused)?;
    let frame = shared.frame();
    // SAFETY: the frame has room for the header, the most bytes of records and a tag; it is the holder's. The
    // records lie in one piece, were published, and stay as they are until the tail passes them.
    unsafe {
        std::ptr::copy_nonoverlapping(header.as_ptr(), frame, HEADER_BYTES);
        let payload = frame.add(HEADER_BYTES);
        if is_sealed {
            let cipher = state.sending.keys.cipher(expanded).map_err(refused)?;
            let nonce = cipher.nonce(sequence);
            cipher.key.seal(&nonce, &header, ring.at(tail), bytes, payload).map_err(refused)?;
        } else {
            std::ptr::copy_nonoverlapping(ring.at(tail), payload, bytes);
        }
    }
    if kind != Kind::Hello {
        state.sending.told.store(taken, Relaxed);
    }
    if kind == Kind::Close {
        state.general.closing.fetch_or(CLOSE_SEALED, Release);
    }
    state.sending.tail.store(tail + bytes as u64, Release);
    let tag = if is_sealed { TAG_BYTES } else { 0 };
    state.sending.frame_sent.store(0, Relaxed);
    state.sending.frame_bytes.store((HEADER_BYTES + bytes + tag) as u32, Release);
    Ok(true)
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
            Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS) => Ok(has_sealed),
            // The other end has gone; what it has said last is still to be read, and then that it has gone.
            Some(libc::EPIPE | libc::ECONNRESET) => Ok(has_sealed),
            number => Err(shared.fail(FaultKind::Socket, number.unwrap_or(0) as u64)),
        },
    }
}
