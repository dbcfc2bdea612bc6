//! Lanes: memory of a rank in NIC memory through which it gives bytes to other ranks of its node (design §4,
//! "Channels").
//!
//! What it gives is a *chunk*, which any number of readers take: all of them the same bytes, or each a
//! portion of its own. The bytes lie in the chunk; or they stay in the memory of the rank, which *lends*
//! them, and readers copy them from there by cross-memory attach; or they come as messages, and the chunk
//! only says so. A chunk is free again when every reader has said so. A chunk that lends is held until its
//! rank has taken it back: a reader to whom the system refuses the rank's memory leaves a mark in it, and
//! gets a message.
//!
//! Chunks are laid round and round the whole lane, so that a line is written again only when it has left the
//! readers' caches.
//!
//! Invariant: a slot's label (collective and step) is published after the chunk's bytes and withdrawn before
//! they change. Whoever fills a lane is in a collective that all its members have reached, and for which each
//! has set slots aside (`LaneWriter::has_slots_for`), so chunks are always being taken, and lanes cannot
//! wait for each other in a circle.
//!
//! ```text
//!  page 0            32 slots of a line: label, collective, chunk, what it says, readers that have still to read
//!  LANE_DATA_BYTES   chunks: a bit for each member that was refused | address and length of each portion | bytes
//! ```

mod reader;
mod slot;
mod words;
mod writer;

pub use reader::{Chunk, LaneReader, Portion};
pub(crate) use slot::LANE_BYTES;
pub use slot::{By, LANE_CHUNK_BYTES, LANE_MEMBERS, LaneKey, LaneSlot, Shape};
pub use writer::{LaneWriter, Loan, Space};
