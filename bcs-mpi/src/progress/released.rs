//! What the NIC has for a member that it lets go of a collective: a result, or a board that it reads from.

use crate::error::{MpiError, MpiResult, Problem};
use crate::process::Process;
use nic_emu::board::Board;
use nic_emu::port::{PortError, Release};
use std::ops::Range;

/// Takes what a broadcast or a reduction on the NIC has brought: the bytes from `offset` on, as far as
/// there is room for them.
///
/// # Safety
/// `to` must be writable for `room` bytes.
///
/// # Errors
/// The NIC fails.
pub(crate) unsafe fn take_result(
    process: &mut Process,
    release: Release,
    offset: usize,
    to: *mut u8,
    room: usize,
) -> MpiResult {
    match release {
        Release::Result(payload) => {
            let from = payload.get(offset..).unwrap_or(&[]);
            // SAFETY: the caller's promise; no more is copied than there is.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, room.min(from.len())) };
        }
        Release::Instance(instance) => {
            let memory = process.port.memory().clone();
            let board = Board::new(&memory, instance).map_err(PortError::from)?;
            let from = board.result().or(board.root()).unwrap_or(0);
            let there = (board.bytes(from) as usize).saturating_sub(offset).min(room);
            // SAFETY: as above.
            unsafe { board.read(from, offset, to, there) }.map_err(PortError::from)?;
            board.depart().map_err(PortError::from)?;
        }
    }
    Ok(())
}

/// Takes pieces of what members, `each` bytes a member, have put up on a board: of the member, the bytes
/// of its contribution, and where they go.
///
/// # Safety
/// Every piece's place must be writable.
///
/// # Errors
/// A piece is beyond its contribution; the NIC fails.
pub(crate) unsafe fn take_board(
    process: &mut Process,
    release: Release,
    each: usize,
    pieces: impl Iterator<Item = (u32, Range<usize>, *mut u8)>,
) -> MpiResult {
    match release {
        Release::Result(payload) => {
            for (member, piece, to) in pieces {
                let from = payload.get(member as usize * each..).and_then(|from| from.get(piece));
                let from = from.ok_or_else(|| MpiError::new(Problem::Nic("a board is too short".into())))?;
                // SAFETY: the caller's promise.
                unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
            }
        }
        Release::Instance(instance) => {
            let memory = process.port.memory().clone();
            let board = Board::new(&memory, instance).map_err(PortError::from)?;
            let mut taken = Ok(());
            for (member, piece, to) in pieces {
                // SAFETY: the caller's promise.
                let read = unsafe { board.read(member as usize, piece.start, to, piece.len()) };
                taken = taken.and(read);
            }
            board.depart().map_err(PortError::from)?;
            taken.map_err(PortError::from)?;
        }
    }
    Ok(())
}
