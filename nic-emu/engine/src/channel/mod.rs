//! Channels: how the bytes of a matched message get from the sender's memory into the receiver's (paper,
//! §4.3, the DMA Helper; `mvapich-channels.txt`; design §4, "Channels").
//!
//! Three methods, all over the same claims (see [`crate::memory::transfer`]), so that any of them may run at
//! the same time on the same message and every byte is moved once:
//! - *window*: the sender fills slots in NIC memory, the receiver drains them; both cores at work;
//! - *cross-memory attach* by one end, or by both on different ranges; needs no help of the other end;
//! - *from outside*: the NIC thread reads from one rank and writes to the other while both compute.
//!
//! Of a message to or from another node the NIC thread is the other end, where the system refuses it the
//! ranks' memory (`elsewhere`): then there is the window alone.
//!
//! [`Policy`] says which, and the sender's experience where both ends wait (`pace`). What other processes
//! wrote is checked before it is used; a peer that died is an error.
//!
//! | file | holds |
//! |---|---|
//! | `advance` | a piece of a message, moved by an end of it or from outside |
//! | `piece`, `table` | what a channel is; which there are, and which is asked first |
//! | `own_memory` | a rank's message to itself |
//! | `window`, `copy`, `stores` | the window, and how NIC memory is read and written |
//! | `cross_memory`, `process_memory` | cross-memory attach; the memory of ranks' processes |
//! | `elsewhere` | the NIC thread as the other end |
//! | `pace` | what a sender has learnt |
//! | `buffer`, `peer`, `error` | buffers of this process, processes of other ranks, why bytes cannot be moved |

mod advance;
mod buffer;
mod copy;
mod cross_memory;
mod elsewhere;
mod error;
mod own_memory;
mod pace;
mod peer;
mod piece;
mod process_memory;
mod stores;
mod table;
mod window;

pub use crate::policy::channel::{Policy, has_slow_lines};
pub use advance::{advance, advance_from_outside};
pub use buffer::Buffer;
pub use copy::copy;
pub use cross_memory::CrossMemory;
pub(crate) use elsewhere::{put_chunk, take_chunk};
pub use error::ChannelError;
pub use peer::{Access, Direction, Peer};
pub use piece::{End, Mine, Step};
pub use process_memory::{OwnProcess, ProcessMemory, is_done};
pub use stores::Stores;
