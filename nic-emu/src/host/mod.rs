//! The host's side of the NIC: what waits, wakes, starts the NIC thread and asks the system.
//!
//! | file | holds |
//! |---|---|
//! | `nic_host` | what a program launcher does with a job's NIC |
//! | `nic_thread` | the thread that runs the NIC when no rank does |
//! | `waiting`, `wake_pipe` | how ranks and the NIC thread sleep, and how they are woken |
//! | `shared_links` | links to other nodes that ranks drive |
//! | `link_places` | how ranks are told where these are |
//! | `buffer_writes` | long messages to other nodes from buffer to buffer, by a network card |
//! | `descriptor_mark` | whether the program has closed descriptors that it did not open |
//! | `endpoint_place` | where ranks open endpoints for that, as they are told |
//! | `mapping` | how NIC memory is made and mapped |
//! | `cross_memory` | the memory of the ranks' processes |
//! | `shared_segment` | memory that ranks share beside NIC memory |
//! | `clock`, `process` | what the system says of the time and of this process |
//! | `abort` | how a process ends the job |
//! | `crowd`, `turns` | whether others want the core |
//! | `priority`, `time_slice` | real-time priority, short slices |

pub mod abort;
pub mod buffer_writes;
pub mod clock;
pub mod cross_memory;
pub(crate) mod crowd;
mod descriptor_mark;
pub mod endpoint_place;
pub mod link_places;
pub mod mapping;
mod nic_host;
pub mod nic_thread;
pub mod priority;
pub(crate) mod process;
pub mod shared_links;
pub mod shared_segment;
pub mod time_slice;
pub(crate) mod turns;
pub mod waiting;
pub(crate) mod wake_pipe;

pub use crate::channel::CrossMemory;
pub use nic_host::{NicConfig, NicError, NicHost, RankPhase};
