//! This process as a rank of its job: its state, the lock around that, waiting, and the advance of operations
//! of several steps.
//!
//! - [`launch`]: how a process becomes a rank; [`monitor`]: MMDS;
//! - [`progress`]: the operations of several steps that are under way;
//! - [`Process`]: the rank's state; [`Guard`]: access to it, which [`enter`] gives;
//! - [`exit`]: how a process leaves its job before MPI_Finalize;
//! - `task`: how a future gets at the process while it is polled; `advance`: how it starts, and who polls it;
//! - `wait`: waiting inside a call;
//! - `deliver`: what a call does when it ends, where a tool listens for events.

mod advance;
mod deliver;
pub mod exit;
mod guard;
pub mod launch;
pub mod monitor;
pub mod progress;
mod state;
mod task;
mod wait;
mod watch;

pub use advance::drive;
pub(crate) use deliver::{SOURCE, begin_to_look_at_slices};
pub use guard::{Guard, LifePhase, enter, phase};
pub(crate) use guard::{activate, deactivate, listen, put};
pub use state::Process;
pub(crate) use task::cannot_go_on;
pub(crate) use task::ready;
pub use task::{unguarded, with};
pub(crate) use watch::Watch;
