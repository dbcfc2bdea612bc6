//! Hang reports: who waits for what, and when that is a deadlock (design §4, "Hang reports").
//!
//! At a slice boundary everything pending is known. A deadlock is stated when all ranks that are still in MPI
//! wait, nothing posted is unscheduled but what slices find no room for, no bytes are under way, no slice has
//! run, and every rank has looked at its requests since. Then nothing can change any more: it is a fact, and
//! the report says who waits for whom.
//!
//! | file | holds |
//! |---|---|
//! | `state` | what the ranks of a node do, and what its NIC has pending |
//! | `detector` | when that is a deadlock, on one node and on several |
//! | `report` | what people read |

mod detector;
mod report;
mod state;

pub use crate::memory::contexts::{WORLD_CONTEXT, self_context};
pub use detector::{HangDetector, LOOK_PERIOD, is_deadlock};
pub use report::HangReport;
pub use state::{Full, GlobalState, JobState, RankState, Unreceived, merge};
