//! The Machine Manager of a cluster, as a daemon (paper, §4.1; design §2, §6): it knows which nodes are
//! alive, gives them jobs, and tells users how these ended.
//!
//! ```text
//!  storm ── Unix socket, or TLS ──► listen ─┐                      ┌─► outbox ──► storm
//!  node managers ────────── TLS ──► listen ─┴─► server ─► jobs ────┴─► outbox ──► node managers
//!                                                 │  ▲
//!                                                 ▼  │ beats, deaths, starts of jobs
//!                                     control network (QUIC): control_thread, control, view
//! ```
//!
//! `jobs` and `view` decide and do nothing; `server`, `listen` and `control` do and decide nothing. The state
//! of nodes and jobs is that of one task, so it is not locked, and that task never waits for anybody:
//! connections have tasks of their own, with bounded queues, on the thread of the doors, and what takes long
//! is given away. The control network has a thread of its own, because the heartbeat may wait for nobody at
//! all.
//!
//! | file | holds |
//! |---|---|
//! | `doors` | the sockets |
//! | `listen` | who is let in, and as whom |
//! | `outbox` | what waits to be sent on a connection |
//! | `nodes` | the nodes, and who of them is connected |
//! | [`view`] | sets of nodes with a control network, and who of them is alive |
//! | `control` | this manager's end of that network |
//! | `control_thread` | the thread that it is on |
//! | `clock` | the time, the same on all threads |
//! | [`jobs`] | the jobs |
//! | [`limits`] | what users may ask of all this |
//! | [`ledger`] | what is held for each user |
//! | `account` | local accounts |
//! | `server` | the task that all this meets in |

mod account;
mod clock;
mod control;
mod control_thread;
mod doors;
pub mod jobs;
pub mod ledger;
pub mod limits;
mod listen;
mod nodes;
mod outbox;
mod server;
pub mod view;

pub use control::ControlError;
pub use doors::DoorError;
pub use server::{DaemonError, run};

/// A host of the configuration, by its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);
