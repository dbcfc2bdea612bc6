//! The table of channels.

use super::error::ChannelError;
use super::piece::{Channel, Mine, Piece, Step};
use super::process_memory::ProcessMemory;
use super::stores::Stores;

/// Makes the functions that ask one channel after the other.
macro_rules! channels {
    ($($channel:ty;)+) => {
        /// Moves a piece by the first channel that does, by the end that waits in MPI.
        #[inline]
        pub(super) fn advance<P: ProcessMemory, T: Fn() -> u64>(
            piece: &Piece<'_, P, T>,
            mine: &Mine,
            stores: &mut Stores,
        ) -> Result<Step, ChannelError> {
            $(if let Some(step) = <$channel>::advance(piece, mine, stores)? {
                return Ok(step);
            })+
            Ok(piece.waits())
        }

        /// Moves a piece by the first channel that does, by the NIC thread.
        pub(super) fn advance_from_outside<P: ProcessMemory, T: Fn() -> u64>(
            piece: &Piece<'_, P, T>,
            bounce: &mut [u8],
        ) -> Result<Step, ChannelError> {
            $(if let Some(step) = <$channel>::advance_from_outside(piece, bounce)? {
                return Ok(step);
            })+
            Ok(Step::PeerNeeded)
        }
    };
}

// In the order in which they are asked.
channels! {
    super::own_memory::OwnMemory;
    super::window::Window;
    super::cross_memory::CrossMemoryAttach;
}
