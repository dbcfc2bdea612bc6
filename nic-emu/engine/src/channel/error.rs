//! Why bytes of a message cannot be moved.

use super::peer::{Access, Direction, Peer};
use crate::memory::Corrupt;

/// Why a message cannot be moved. All of them end the job.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// NIC memory holds what no healthy process writes.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// The other process is dead.
    #[error("{peer}, the other end of a message under way, has died; see its exit code or signal")]
    Gone {
        /// Which.
        peer: Peer,
    },
    /// The other process has no such memory where it said that its buffer is.
    #[error(
        "cannot {}: it has no such memory, or may not {} it itself; the buffer of a message under way was freed, is read-only, or never was as long as its count says",
        .0, .0.direction
    )]
    PeerBuffer(Access),
    /// This process has no such memory where its buffer was said to be.
    #[error(
        "{} bytes of a message under way cannot be {} at {:#x} of this process: it has no such memory, or may not do so; the buffer was freed, is read-only, or never was as long as its count says",
        .0.bytes, if .0.direction == Direction::Read { "written" } else { "read" }, .0.here
    )]
    OwnBuffer(Access),
    /// The system does not let this process touch the other one's memory.
    #[error("cannot {0}: the system does not let this process do so")]
    Refused(Access),
    /// The system refused for another reason.
    #[error("cannot {access}: {source}")]
    System {
        /// What was tried.
        access: Access,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ChannelError {
    /// Whether the system refuses cross-memory attach.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}
