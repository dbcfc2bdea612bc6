//! What the NIC has for a member that it lets go of a collective: a result, or a board that it reads from.

use super::memory::Memory;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::Process;
use nic_emu::board::Board;
use nic_emu::port::{PortError, Release};

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
        Release::Instance(instance) => {
            let memory = process.port.memory().clone();
            let board = Board::new(&memory, instance).map_err(PortError::from)?;
            let from = board.result().or(board.root()).unwrap_or(0);
            let there = (board.bytes(from) as usize).saturating_sub(offset).min(to.bytes());
            // SAFETY: as above.
            unsafe { board.read(from, offset, to.first(), there) }.map_err(PortError::from)?;
            board.depart().map_err(PortError::from)?;
        }
    }
    Ok(())
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
    pieces: impl Iterator<Item = (u32, usize, Memory)>,
) -> MpiResult {
    match release {
        Release::Result(payload) => {
            for (member, start, to) in pieces {
                let from = payload
                    .get(member as usize * each..)
                    .and_then(|from| from.get(start..)?.get(..to.bytes()));
                let from = from.ok_or_else(|| MpiError::new(Problem::Nic("a board is too short".into())))?;
                // SAFETY: the promise of `Memory::new`.
                unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.first(), from.len()) };
            }
        }
        Release::Instance(instance) => {
            let memory = process.port.memory().clone();
            let board = Board::new(&memory, instance).map_err(PortError::from)?;
            let mut taken = Ok(());
            for (member, start, to) in pieces {
                // SAFETY: as above.
                let read = unsafe { board.read(member as usize, start, to.first(), to.bytes()) };
                taken = taken.and(read);
            }
            board.depart().map_err(PortError::from)?;
            taken.map_err(PortError::from)?;
        }
    }
    Ok(())
}
