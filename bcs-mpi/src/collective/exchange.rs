//! The exchange: every member puts up its contribution on the NIC's board, and takes the pieces that it needs of the others'.
//!
//! Small contributions are buffered in NIC memory, and a member that takes nothing does not wait. Large ones stay where they are and are
//! read by cross-memory attach, each reader at once, all cores at work; then a member waits until the others have read from it. Where
//! cross-memory attach is refused, large contributions go through NIC memory in rounds.

use super::buffers::misfit;
use super::stream::{self, Brought};
use crate::communicator::meeting::{Arrival, arrive, released, waiting_in};
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::process::Guard;
use mds::Primitive;
use nic_emu::board::Board;
use nic_emu::channel::{ChannelError, copy_out};
use nic_emu::port::{PortError, Release};
use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;

/// A member's contribution: bytes of this process.
#[derive(Clone, Copy, Debug)]
pub struct Contribution {
    /// The first one.
    pub data: *const u8,
    /// How many.
    pub bytes: usize,
}

impl Contribution {
    /// Nothing to give.
    pub const NOTHING: Self = Self { data: std::ptr::null(), bytes: 0 };
}

/// A piece of a member's contribution, and where it goes. Of a contribution that ends before the piece does, what there is comes.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// The member, by its rank in the communicator.
    pub member: u32,
    /// The first byte, in that member's contribution.
    pub offset: usize,
    /// Bytes.
    pub bytes: usize,
    /// Where they go.
    pub to: *mut u8,
    /// Bytes of the whole contribution, as it turns out in the exchange.
    pub given: usize,
}

impl Piece {
    /// `bytes` bytes from `offset` on of a member's contribution.
    pub fn of(member: u32, (offset, bytes): (usize, usize), to: *mut u8) -> Self {
        Self { member, offset, bytes, to, given: 0 }
    }

    /// All that a member gives, for which there is so much room.
    pub fn all_of(member: u32, room: usize, to: *mut u8) -> Self {
        Self::of(member, (0, room), to)
    }

    /// Notes that the contribution has so many bytes; answers how many of them this piece takes.
    fn take(&mut self, given: usize) -> usize {
        self.given = given;
        given.saturating_sub(self.offset).min(self.bytes)
    }
}

/// That every member gave as much as the piece that takes all of it has room for.
///
/// # Errors
/// One did not.
pub fn check_all_taken(pieces: &[Piece]) -> MpiResult {
    match pieces.iter().find(|piece| piece.given != piece.bytes) {
        Some(piece) => Err(misfit(piece.given, piece.bytes, piece.member)),
        None => Ok(()),
    }
}

/// Who gives to whom in an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// Every member to all others.
    #[default]
    Between,
    /// The root to all others.
    FromRoot,
    /// All others to the root.
    ToRoot,
}

/// What one exchange is about.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The MPI call, as hang reports name it.
    pub primitive: Primitive,
    /// The communicator.
    pub comm: MPI_Comm,
    /// The root, where there is one.
    pub root: Option<u32>,
    /// Who gives to whom.
    pub flow: Flow,
    /// No contribution of any member has more bytes than this. All members must say the same.
    pub most_bytes: usize,
    /// `ReduceOp` and `ElementType` of a reduction, which all members have to agree on; none where nothing is combined.
    pub operation: (u8, u8),
}

/// Puts up a contribution and takes pieces of others'.
///
/// # Safety
/// The contribution must be readable, and every piece's place writable, for their bytes; they must not overlap.
///
/// # Errors
/// No such communicator, a process that died, or the NIC fails.
pub unsafe fn exchange(
    process: &mut Guard,
    call: &Call,
    own: Contribution,
    pieces: &mut [Piece],
) -> MpiResult<()> {
    // SAFETY: the caller's promise.
    unsafe { exchange_but(process, call, own, 0..0, pieces) }
}

/// The same, where the bytes in `skip` of this member's contribution matter to nobody else.
///
/// # Safety
/// As [`exchange`].
///
/// # Errors
/// As [`exchange`].
pub unsafe fn exchange_but(
    process: &mut Guard,
    call: &Call,
    own: Contribution,
    skip: Range<usize>,
    pieces: &mut [Piece],
) -> MpiResult<()> {
    while stream::applies(process, call)? {
        let Some(key) = stream::agree(process, call)? else {
            // SAFETY: the caller's promise.
            match unsafe { board(process, call, own, pieces) }? {
                Taken::All => return Ok(()),
                // Then nobody prefers attach any more.
                Taken::Refused => {
                    pieces.iter_mut().for_each(|piece| piece.given = 0);
                    continue;
                }
            }
        };
        let take = |start: usize, bytes: usize, brought: &[Brought]| {
            for piece in &mut *pieces {
                let from = brought.iter().find(|(member, _)| *member == piece.member);
                let Some((_, (from, came))) = from else { continue };
                let mut part = part(piece, start, start + bytes);
                let there = part.take(*came);
                piece.given += part.given;
                // SAFETY: the caller's promise; so many bytes were brought.
                unsafe { copy_out(from.wrapping_add(part.offset), part.to, there) };
            }
            Ok(())
        };
        // SAFETY: the caller's promise.
        return unsafe { stream::stream(process, call, key, own, skip, 1, take) };
    }
    let attach = process.port.memory().header().cross_memory.get() != 0;
    if call.most_bytes <= SLAB_BYTES || attach {
        // SAFETY: the caller's promise.
        return match unsafe { board(process, call, own, pieces) }? {
            Taken::All => Ok(()),
            // Refused to this process only now: everybody finds that, and goes on in rounds.
            // SAFETY: as above.
            Taken::Refused => unsafe { rounds(process, call, own, pieces) },
        };
    }
    // SAFETY: the caller's promise.
    unsafe { rounds(process, call, own, pieces) }
}

/// What came of taking pieces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// They are all there.
    All,
    /// The system refuses cross-memory attach.
    Refused,
}

/// One board, of which pieces are taken.
unsafe fn board(
    process: &mut Guard,
    call: &Call,
    own: Contribution,
    pieces: &mut [Piece],
) -> MpiResult<Taken> {
    let takes = !pieces.is_empty();
    let take = |came: Came<'_>| match came {
        Came::Whole(payload) => {
            // SAFETY: the caller's promise.
            unsafe { take_whole(payload, own.bytes, pieces) };
            Ok(Ok(()))
        }
        Came::Board(board) => {
            for piece in pieces {
                let member = piece.member as usize;
                let there = piece.take(board.bytes(member) as usize);
                // SAFETY: the caller's promise.
                unsafe { board.read(member, piece.offset, piece.to, there)? };
            }
            Ok(Ok(()))
        }
    };
    // SAFETY: the caller's promise.
    unsafe { board_with(process, call, own, takes, take) }
}

/// What members find when all have put up their contributions.
pub(super) enum Came<'a> {
    /// Small ones, one after the other, all of the same length.
    Whole(&'a [u8]),
    /// A board to read from.
    Board(&'a Board<'a>),
}

/// One board, of which `take` takes what it needs; `takes` says that there is something.
///
/// # Safety
/// `own` must be readable.
pub(super) unsafe fn board_with(
    process: &mut Guard,
    call: &Call,
    own: Contribution,
    takes: bool,
    take: impl FnOnce(Came<'_>) -> Result<MpiResult<()>, ChannelError>,
) -> MpiResult<Taken> {
    let large = call.most_bytes > SLAB_BYTES;
    let what = waiting_in(process.communicator(call.comm)?, call.primitive, call.root, own.bytes);
    let arrival = Arrival {
        operation: call.operation,
        root: call.root.unwrap_or(0),
        most_bytes: call.most_bytes,
        ..Arrival::default()
    };
    // With large contributions everybody stays until all have read, and learns whether they could.
    let wanted = large || takes;
    // SAFETY: the caller's promise; this function returns only after everybody has read.
    let waiter =
        unsafe { arrive(process, call.primitive, call.comm, &arrival, own.data, own.bytes, wanted)? };
    let Some(waiter) = waiter else { return Ok(Taken::All) };
    let instance = match released(process, &what, waiter)? {
        Release::Instance(instance) => instance,
        Release::Result(payload) => {
            return take(Came::Whole(&payload)).map_err(PortError::from)?.map(|()| Taken::All);
        }
    };
    let memory = process.port.memory().clone();
    let board = Board::new(&memory, instance).map_err(PortError::from)?;
    let (took, mut taken) = match take(Came::Board(&board)) {
        Ok(took) => (took, Taken::All),
        Err(error) if error.is_refusal() => {
            memory.header().cross_memory.set(0);
            (Ok(()), Taken::Refused)
        }
        Err(error) => return Err(PortError::from(error).into()),
    };
    let departure = board.depart(instance).map_err(PortError::from)?;
    // Also who could not use what came has departed, and leaves when nobody reads from it any more.
    if large {
        process.wait(&what, |_| Ok(departure.is_over(&memory).map_err(PortError::from)?.then_some(())))?;
        // A refusal to one is a refusal to all: whoever was refused said so before it departed.
        if memory.header().cross_memory.get() == 0 {
            taken = Taken::Refused;
        }
    }
    took.map(|()| taken)
}

/// Takes pieces from a small board that came whole: the contributions, `each` bytes long, one after the other.
///
/// # Safety
/// Every piece's place must be writable.
unsafe fn take_whole(payload: &[u8], each: usize, pieces: &mut [Piece]) {
    for piece in pieces {
        let there = piece.take(each);
        let from = payload.get(piece.member as usize * each + piece.offset..).unwrap_or(&[]);
        // SAFETY: the caller's promise; no more is copied than there is.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), piece.to, there.min(from.len())) };
    }
}

/// Boards of contributions cut to a slab each.
unsafe fn rounds(process: &mut Guard, call: &Call, own: Contribution, pieces: &mut [Piece]) -> MpiResult<()> {
    let slice = Call { most_bytes: SLAB_BYTES, ..*call };
    pieces.iter_mut().for_each(|piece| piece.given = 0);
    for start in (0..call.most_bytes).step_by(SLAB_BYTES) {
        let end = start + SLAB_BYTES;
        let own = Contribution {
            // Past its end nothing is read; the address is not used then.
            data: own.data.wrapping_add(start.min(own.bytes)),
            bytes: own.bytes.saturating_sub(start).min(SLAB_BYTES),
        };
        let mut parts: Vec<Piece> = pieces.iter().map(|piece| part(piece, start, end)).collect();
        // SAFETY: parts of what the caller promises.
        unsafe { board(process, &slice, own, &mut parts)? };
        pieces.iter_mut().zip(&parts).for_each(|(piece, part)| piece.given += part.given);
    }
    Ok(())
}

/// What of a piece lies in bytes `start` to `end` of its contribution, which are put up alone; perhaps nothing.
fn part(piece: &Piece, start: usize, end: usize) -> Piece {
    let first = piece.offset.clamp(start, end);
    let last = (piece.offset + piece.bytes).clamp(first, end);
    Piece::of(
        piece.member,
        (first - start, last - first),
        piece.to.wrapping_add(first.saturating_sub(piece.offset)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_of_all_rounds_are_the_piece(offset in 0usize..200_000, bytes in 0usize..200_000) {
            let piece = Piece::of(3, (offset, bytes), std::ptr::without_provenance_mut(1 << 20));
            let mut next = offset;
            for start in (0..offset + bytes).step_by(SLAB_BYTES) {
                let part = part(&piece, start, start + SLAB_BYTES);
                if part.bytes > 0 {
                    prop_assert_eq!(start + part.offset, next);
                    prop_assert_eq!(part.to.addr() - piece.to.addr(), next - offset);
                    prop_assert!(part.offset + part.bytes <= SLAB_BYTES);
                    next += part.bytes;
                }
            }
            prop_assert_eq!(next, offset + bytes);
        }
    }
}
