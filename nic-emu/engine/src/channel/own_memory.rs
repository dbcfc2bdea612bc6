//! A rank's message to itself: both buffers are this process's.

use super::error::ChannelError;
use super::piece::{Channel, End, Mine, Piece, Step};
use super::process_memory::ProcessMemory;
use super::stores::Stores;

/// The channel.
pub(super) struct OwnMemory;

impl Channel for OwnMemory {
    fn advance<P: ProcessMemory, T: Fn() -> u64>(
        piece: &Piece<'_, P, T>,
        mine: &Mine,
        _: &mut Stores,
    ) -> Result<Option<Step>, ChannelError> {
        let Some(other) = &mine.other else { return Ok(None) };
        let (source, destination) = match mine.end {
            End::Source => (&mine.buffer, other),
            End::Destination => (other, &mine.buffer),
        };
        let mut done = 0;
        while done < piece.policy.step_bytes {
            let Some(range) = piece.pinned.claim(piece.policy.step_bytes)? else {
                return Ok(Some(if done > 0 { Step::Progress } else { piece.nothing_to_claim() }));
            };
            let (from, to) = (source.at(range)? as *const u8, destination.at(range)? as *mut u8);
            // SAFETY: the range is within both buffers, which the program gave for this message and which are
            // its own until that is over; `copy` allows a program's mistake of letting them overlap.
            unsafe { std::ptr::copy(from, to, range.bytes as usize) };
            if piece.pinned.count_moved(range.bytes) {
                return Ok(Some(Step::Finished));
            }
            done += range.bytes;
        }
        Ok(Some(Step::Progress))
    }
}
