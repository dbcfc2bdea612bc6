//! Why bytes of a message cannot be moved.

use super::peer::Peer;
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
        "cannot {direction} {bytes} bytes at {address:#x} of {peer}: it has no such memory, or may not {direction} it itself; the buffer of a message under way was freed, is read-only, or never was as long as its count says"
    )]
    PeerBuffer {
        /// The other process.
        peer: Peer,
        /// "read" or "write".
        direction: &'static str,
        /// Where in its memory.
        address: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// This process has no such memory where its buffer was said to be.
    #[error(
        "{bytes} bytes of a message under way cannot be {} at {address:#x} of this process: it has no such memory, or may not do so; the buffer was freed, is read-only, or never was as long as its count says",
        if *.direction == "read" { "written" } else { "read" }
    )]
    OwnBuffer {
        /// "read" or "write", as seen from the other process's memory.
        direction: &'static str,
        /// Where in this process.
        address: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// The system does not let this process touch the other one's memory.
    #[error(
        "cannot {direction} {bytes} bytes at {address:#x} of {peer}: the system does not let this process do so"
    )]
    Refused {
        /// The other process.
        peer: Peer,
        /// "read" or "write".
        direction: &'static str,
        /// Where in its memory.
        address: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// The system refused for another reason.
    #[error("cannot {direction} {bytes} bytes at {address:#x} of {peer}: {source}")]
    System {
        /// The other process.
        peer: Peer,
        /// "read" or "write".
        direction: &'static str,
        /// Where in its memory.
        address: u64,
        /// How many bytes.
        bytes: u64,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ChannelError {
    /// Whether the system refuses cross-memory attach.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. })
    }
}
