//! The program launcher of a job on a node (paper, §4.1), and the managers that are part of `storm` on one
//! node.
//!
//! On one node [`node_manager`] forks the [`launcher`] of a [`Job`]. The launcher starts the ranks, each in a
//! process group of its own, hosts their NIC, and ends when none is left:
//!
//! ```text
//!  storm (MM, NM) ──fork──► launcher ──clone+exec──► rank 0 … rank k ──► whatever they start
//!        ◄──── notices ────┘   │ watches: ends, output, input, the NIC's alarm, signals
//!        ───── signals ───►    │
//! ```
//!
//! On a cluster the node manager's daemon executes the launcher instead, as the job's user (the program
//! `program-launcher`), and tells it its job over the same socket. The launchers of a job on several nodes
//! join its network before they start ranks, and their NICs go on until no rank is left anywhere.
//!
//! The invariant of the package: no process, file or memory of a job outlives it, however it ends. `storm`
//! and the launcher adopt the orphans below them, and each notices at once when the other is gone; a rank is
//! killed by the kernel when its launcher dies.
//!
//! `lifecycle` decides and does nothing; `launcher` does and decides nothing.

pub mod binding;
pub mod control;
pub mod descendants;
pub mod environment;
pub mod input;
pub mod job;
pub mod launch;
pub mod launch_error;
pub mod launcher;
pub mod lifecycle;
pub mod network_card;
pub mod nic;
pub mod node_manager;
pub mod output;
pub mod preflight;
pub mod program;
pub mod signals;
pub mod spawn;
pub mod verdict;
pub mod watch;

pub use job::{Application, Description, Job, NicSettings, Recording, StdinTo};
pub use launch_error::LaunchError;
pub use verdict::Verdict;
