//! Hang reports: who waits for what, and when that is a deadlock (design §4, "Hang reports").
//!
//! At a slice boundary everything pending is known. A deadlock is stated when all ranks that are still in MPI wait, nothing
//! posted is unscheduled but what slices find no room for, no bytes are under way, no slice has run, and every rank has looked at its requests since. Then nothing can
//! change any more: it is a fact, and the report says who waits for whom.
//!
//! | file | holds |
//! |---|---|
//! | `state` | what the ranks of a node do, and what its NIC has pending |
//! | `detector` | when that is a deadlock, on one node and on several |
//! | `report` | what people read |

mod detector;
mod report;
mod state;

pub use detector::{HangDetector, LOOK_PERIOD, is_deadlock};
pub use report::HangReport;
pub(crate) use report::{communicator, counted, ranks_text};
pub use state::{Full, GlobalState, JobState, RankState, Unreceived, merge};

/// Context of `MPI_COMM_WORLD` (its point-to-point half; the collective half is the next number, and so for all).
pub const WORLD_CONTEXT: u32 = 2;
/// The first context of those that are `MPI_COMM_SELF`, above all that communicators take.
const SELF_CONTEXTS: u32 = u32::MAX << 27;

/// Context of a rank's `MPI_COMM_SELF`: one of its own, because collectives are told apart by context and number alone.
#[must_use]
pub const fn self_context(rank: u32) -> u32 {
    SELF_CONTEXTS + 2 * rank
}
