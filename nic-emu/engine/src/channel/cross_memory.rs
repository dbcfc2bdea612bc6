//! Cross-memory attach: the system copies between two processes' memory, one copy, one core
//! (`process_vm_readv(2)`).
//!
//! The only channel that needs no help of the other end, and so the one for an end that computes, and for the
//! NIC thread while both do. Refusal (containers, Yama) is an answer of its own: the message is left to the
//! window. Who calls the engine says how another process's memory is read and written ([`ProcessMemory`]).

use super::error::ChannelError;
use super::peer::{Access, Direction, Peer};
use super::piece::{Channel, End, Mine, Piece, Step};
use super::process_memory::ProcessMemory;
use super::stores::Stores;
use crate::memory::status::Activity;
use crate::memory::sync::{AtomicU32, Ordering};
use crate::memory::transfer::Range;

/// Whether ranks of a node read and write each other's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CrossMemory {
    /// They do not.
    Off,
    /// They do where it is faster.
    WhereFaster,
    /// They do wherever they can have large contributions to collectives read like that.
    Always,
}

/// Set once cross-memory attach was refused to this process from outside: a launcher may be refused what its
/// ranks are not, and the other way round.
static REFUSED_OUTSIDE: AtomicU32 = AtomicU32::new(0);

/// The channel.
pub(super) struct CrossMemoryAttach;

impl Channel for CrossMemoryAttach {
    fn advance<P: ProcessMemory, T: Fn() -> u64>(
        piece: &Piece<'_, P, T>,
        mine: &Mine,
        _: &mut Stores,
    ) -> Result<Option<Step>, ChannelError> {
        if !piece.may_attach() {
            return Ok(None);
        }
        let peer = Peer::of(piece.memory, piece.peer)?;
        // The peer's own word, which the kernel checks; the rest of what it says is this process's.
        let (direction, address) = match mine.end {
            End::Source => (Direction::Write, &piece.transfer.destination_address),
            End::Destination => (Direction::Read, &piece.transfer.source_address),
        };
        let both = piece.activity == Activity::Polling;
        let bytes = piece.transfer.bytes.get();
        if both && mine.end == End::Source && mine.receives && bytes <= piece.policy.left_bytes {
            return Ok(Some(piece.waits()));
        }
        let chunk = piece.policy.attach_chunk_bytes(bytes, both);
        let mut done = 0;
        while done < piece.policy.step_bytes {
            let Some(range) = piece.pinned.claim(chunk)? else {
                return Ok(Some(if done > 0 { Step::Progress } else { piece.nothing_to_claim() }));
            };
            let (here, there) = (mine.buffer.at(range)?, address.get().wrapping_add(range.offset));
            let access = Access { direction, peer, here, there, bytes: range.bytes };
            // SAFETY: the range is within the buffer that the program gave for this message, and this side is
            // pinned by its own process.
            let moved = unsafe { piece.processes.attach(&access) };
            if moved.as_ref().is_err_and(ChannelError::is_refusal) {
                piece.memory.header().cross_memory.set(0);
                piece.pinned.give_back(range);
                return Ok(None);
            }
            let bytes = moved?;
            if bytes < range.bytes {
                piece.pinned.give_back(Range { offset: range.offset + bytes, bytes: range.bytes - bytes });
            }
            if piece.pinned.count_moved(bytes) {
                return Ok(Some(Step::Finished));
            }
            done += bytes;
        }
        Ok(Some(Step::Progress))
    }

    fn advance_from_outside<P: ProcessMemory, T: Fn() -> u64>(
        piece: &Piece<'_, P, T>,
        bounce: &mut [u8],
    ) -> Result<Option<Step>, ChannelError> {
        if REFUSED_OUTSIDE.load(Ordering::Relaxed) != 0 || bounce.is_empty() {
            return Ok(None);
        }
        let Some(range) = piece.pinned.claim(bounce.len() as u64)? else {
            return Ok(Some(piece.nothing_to_claim()));
        };
        let here = bounce.as_mut_ptr() as u64;
        let access = |direction, rank, address: u64| -> Result<Access, ChannelError> {
            let (peer, there) = (Peer::of(piece.memory, rank)?, address.wrapping_add(range.offset));
            Ok(Access { direction, peer, here, there, bytes: range.bytes })
        };
        let transfer = piece.transfer;
        let read = access(Direction::Read, transfer.source.get(), transfer.source_address.get())?;
        let write = access(Direction::Write, transfer.destination.get(), transfer.destination_address.get())?;
        // SAFETY: `here` is the bounce buffer, which is as long as what was claimed.
        let moved =
            unsafe { piece.processes.attach_all(&read).and_then(|()| piece.processes.attach_all(&write)) };
        if moved.as_ref().is_err_and(ChannelError::is_refusal) {
            piece.pinned.give_back(range);
            REFUSED_OUTSIDE.store(1, Ordering::Relaxed);
            return Ok(None);
        }
        moved?;
        Ok(Some(if piece.pinned.count_moved(range.bytes) { Step::Finished } else { Step::Progress }))
    }
}
