//! From the socket to the incoming ring: receives as much as there is room for, opens the frames that are
//! whole, and publishes their records.
//!
//! ```text
//!  socket ── receive ──► stage ── open ──► ring ── published records ──► consumers
//!                         │ a frame that has come in part stays there,
//!                         ▼ and whoever drives next receives the rest of it
//! ```
//!
//! Invariant: what is published was sealed by the other end, once, and comes next; the ring has room for it,
//! or the other end has not kept to its credit and the link ends.

use super::fault::{FaultKind, LinkFault};
use super::frame::{HEADER_BYTES, Header, Kind, TAG_BYTES, is_tls};
use super::keys::{Cipher, RenewalLimits};
use super::state::{CLOSE, PHASE_FREE, PHASE_REMOTE, Shared};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Receives once, and opens what is whole. True when something has come.
pub(crate) fn drive(
    shared: &Shared,
    expanded: &mut Option<Cipher>,
    limits: RenewalLimits,
    process: u32,
    socket: BorrowedFd<'_>,
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
    while let Some(frame) = open(shared, begin, end, expanded, limits)? {
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
fn open(
    shared: &Shared,
    begin: usize,
    end: usize,
    expanded: &mut Option<Cipher>,
    limits: RenewalLimits,
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
    if bytes > (shared.layout.ring_bytes() - waiting).min(ring.piece_bytes(head)) {
        return Err(shared.fail(FaultKind::Flooded, bytes as u64));
    }
    let refused = |_| shared.fail(FaultKind::Cryptography, 0);
    let sequence = receiving.keys.count(bytes, is_sealed, limits).map_err(refused)?;
    // SAFETY: the whole frame has come, and is the holder's; the ring has room for its records in one piece,
    // of which nothing is published before the head passes it.
    unsafe {
        let payload = shared.stage().add(begin + HEADER_BYTES);
        if is_sealed {
            let cipher = receiving.keys.cipher(expanded).map_err(refused)?;
            let nonce = cipher.nonce(sequence);
            let opened = cipher.key.open(&nonce, &header, payload, bytes, ring.at(head));
            opened.map_err(|_| shared.fail(FaultKind::Forged, sequence))?;
        } else {
            std::ptr::copy_nonoverlapping(payload, ring.at(head), bytes);
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
        (Kind::Records, false) | (Kind::Close, _) => take_credit(shared, header.taken)?,
        (Kind::Hello, false) | (Kind::Records, true) => return Err(shared.fail(FaultKind::Kind, kind)),
    }
    receiving.head.store(head + bytes as u64, Release);
    if header.kind == Kind::Close {
        receiving.closed.store(CLOSE | u32::from(header.code), Release);
    }
    Ok(Some(whole))
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
