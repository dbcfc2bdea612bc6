//! Why a port cannot go on.

use crate::channel::ChannelError;
use crate::host::mapping::MapError;
use crate::memory::descriptor::CollectiveKind;
use crate::memory::{Corrupt, Rank};

/// Why a port cannot go on. All of them end the job, but for [`PortError::Broken`]; none is the program's
/// fault alone.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// NIC memory cannot be mapped.
    #[error(transparent)]
    Map(#[from] MapError),
    /// A slice failed.
    #[error(transparent)]
    Slice(#[from] Corrupt),
    /// Bytes of a message cannot be moved.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// This rank's endpoint at a network card has failed, with messages under way.
    #[error(
        "rank {rank}: {error}, with messages of this rank under way; was a descriptor closed that the program did not open? (BCS_BUFFER_WRITES=0 leaves long messages to the launcher)"
    )]
    Card {
        /// The rank.
        rank: Rank,
        /// What libfabric says.
        error: bcs_libfabric::OfiError,
    },
    /// Another process is this rank.
    #[error(
        "rank {rank} of this job is process {pid} already; one process of each rank calls MPI_Init, once (to run an MPI program from another, unset BCS_RANK)"
    )]
    Taken {
        /// The rank.
        rank: Rank,
        /// The process.
        pid: u32,
    },
    /// Members of a communicator called collectives that do not fit: the report.
    #[error("{0}")]
    Broken(Box<str>),
    /// Another rank aborted the job, or the launcher ends it.
    #[error("the job is being ended")]
    Aborted,
    /// More requests are outstanding than the NIC has slots for.
    #[error(
        "{limit} requests are outstanding, which is all that the NIC has room for; complete some before posting more"
    )]
    TooManyRequests {
        /// The number of slots.
        limit: usize,
    },
    /// A contribution to a collective does not fit in a slab.
    #[error(
        "a contribution of {bytes} bytes to a collective ({operation:?}) is larger than a slab, \
         {limit} bytes; give it through a lane or as messages"
    )]
    LongContribution {
        /// What the collective does.
        operation: CollectiveKind,
        /// How long the contribution is.
        bytes: usize,
        /// Bytes of a slab.
        limit: usize,
    },
}
