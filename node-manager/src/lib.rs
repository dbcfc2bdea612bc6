//! The Node Manager and the program launcher (paper, §4.1).
//!
//! The Machine Manager describes a [`Job`] and gives it to the [`NodeManager`], which forks the
//! [`launcher`] for it. The launcher starts the ranks, each in a process group of its own, hosts their
//! NIC, and ends when none is left:
//!
//! ```text
//!  storm (MM, NM) ──fork──► launcher ──clone+exec──► rank 0 … rank k ──► whatever they start
//!        ◄──── notices ────┘   │ watches: ends, output, input, the NIC's alarm, signals
//!        ───── signals ───►    │
//! ```
//!
//! On a cluster a node manager executes the launcher instead, as the job's user (`program-launcher`), and tells it its job over the same socket; the
//! launchers of a job on several nodes join its network before they start ranks, and their NICs go on until no rank is left anywhere.
//!
//! The invariant of the crate: no process, file or memory of a job outlives it, however it ends. Each
//! of `storm` and the launcher adopts the orphans below it, and each notices at once when the other is
//! gone; a rank is killed by the kernel when its launcher dies.
//!
//! `lifecycle` decides and does nothing; `launcher` does and decides nothing.

pub mod binding;
pub mod commit;
pub mod control;
pub mod daemon;
#[cfg(test)]
mod damage;
pub mod descendants;
pub mod environment;
pub mod input;
pub mod job;
pub mod launch;
pub mod launcher;
pub mod lifecycle;
pub mod nic;
pub mod node_manager;
pub mod output;
pub mod preflight;
pub mod program;
pub mod protocol;
pub mod secrecy;
pub mod signals;
pub mod spawn;
pub mod verdict;
pub mod watch;

pub use job::{Application, Job, NicSettings, Recording, StdinTo};
pub use node_manager::{LaunchError, Launched, NodeManager};
pub use verdict::Verdict;

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: bcs_core::damage::CountingAllocator = bcs_core::damage::CountingAllocator;
