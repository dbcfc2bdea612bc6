//! What the NIC has for a member that it lets go of a collective: a result, or a board that it reads from.

use super::memory::Memory;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::Process;
use nic_emu::board::Board;
use nic_emu::memory::Corrupt;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::Release;

/// Takes what a broadcast or a reduction on the NIC has brought: the bytes from `offset` on, as far as
/// there is room for them.
///
/// # Errors
/// The NIC fails.
pub(crate) fn take_result(process: &mut Process, release: Release, offset: usize, to: Memory) -> MpiResult {
    match release {
        Release::Result(payload) => {
            let from = payload.get(offset..).unwrap_or(&[]);
            // SAFETY: the promise of `Memory::new`; no more is copied than there is.
            unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.first(), to.bytes().min(from.len())) };
        }
        Release::Instance(instance) => read(process, instance, |board| {
            let from = board.result().or(board.root()).unwrap_or(0);
            let there = (board.bytes(from) as usize).saturating_sub(offset).min(to.bytes());
            // SAFETY: as above.
            unsafe { board.read(from, offset, to.first(), there) }
        })?,
    }
    Ok(())
}

/// Reads from the board of an instance, and departs from it.
fn read(process: &Process, instance: u32, read: impl FnOnce(&Board<'_>) -> Result<(), Corrupt>) -> MpiResult {
    let board = Board::new(process.port.memory(), instance)?;
    let done = read(&board);
    board.depart()?;
    Ok(done?)
}

/// Takes pieces of what members, `each` bytes a member, have put up on a board: of the member, from which
/// byte of its contribution on, and where they go.
///
/// # Errors
/// A piece is beyond its contribution; the NIC fails.
pub(crate) fn take_board(
    process: &mut Process,
    release: Release,
    each: usize,
    pieces: impl Iterator<Item = (CommRank, usize, Memory)>,
) -> MpiResult {
    match release {
        Release::Result(payload) => {
            for (member, start, to) in pieces {
                let from = payload
                    .get(member.index() * each..)
                    .and_then(|from| from.get(start..)?.get(..to.bytes()));
                let from = from.ok_or_else(|| MpiError::new(Problem::Nic("a board is too short".into())))?;
                // SAFETY: the promise of `Memory::new`.
                unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.first(), from.len()) };
            }
        }
        Release::Instance(instance) => read(process, instance, |board| {
            // SAFETY: as above.
            let piece = |(member, start, to): (CommRank, usize, Memory)| unsafe {
                board.read(member.index(), start, to.first(), to.bytes())
            };
            pieces.map(piece).fold(Ok(()), Result::and)
        })?,
    }
    Ok(())
}
