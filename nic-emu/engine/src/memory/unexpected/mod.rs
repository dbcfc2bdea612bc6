//! Messages that come before their receives: where their bytes wait, so that the slabs that brought them are
//! free again.
//!
//! A message without a receive is an entry of its receiver's unexpected queue, and its bytes lie in slabs of
//! its sender, or in the sender's memory. When a sender runs out of slabs, or waits long for a message of at
//! most [`crate::memory::slab::BUFFERED_BYTES`] to be matched, it takes the run token and moves such bytes
//! into the *pool* of the receiving rank (`crate::port`); bytes from other nodes are put there by the
//! receiver's NIC (`crate::global`). The pool grows as it is needed, to a limit for each receiving rank.
//! Above it a message stays where it is, and its sender waits for the receive.
//!
//! | file | holds |
//! |---|---|
//! | `blocks` | which blocks of a chunk of the pool are free: pure |
//! | `pool_state`, `chunk` | what NIC memory holds of a pool: its state, and what is free in its chunks |
//! | `pool` | a rank's pool in NIC memory |

mod blocks;
mod chunk;
mod pool;
mod pool_state;

pub use blocks::CHUNK_BYTES;
pub use chunk::PoolChunk;
pub use pool::{ForWhom, UnexpectedPool, Usage, trim};
pub(crate) use pool_state::MOST_LIMIT_BYTES;
pub use pool_state::{DEFAULT_LIMIT_BYTES, PoolState, RoomNews};
