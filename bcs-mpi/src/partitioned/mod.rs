//! Partitioned communication (MPI-5.0, chapter 4): the sender says of each part of a message when it is
//! ready, and the receiver sees of each part when it has come. The two ends may cut the message in different
//! ways.
//!
//! The sender cuts the message in `units`, each of which is a message of its own, with a tag of its own, in
//! the context of the communicator's collectives. The tags are those that no collective has
//! ([`partitioned_tag`](crate::progress::partitioned_tag)). So no receive or probe of the program finds such
//! a message. What belongs to what, and how the receiver gets to know the units, is in
//! [`object::partitioned`](crate::object::partitioned). Starts of a request need no message: a unit of one
//! start goes before the same unit of the next one, and has the same tag.

mod arguments;
mod parts;
mod receive;
mod send;
mod units;

pub use arguments::Partitions;
pub use parts::{has_arrived, ready, ready_range};
pub use receive::receive_init;
pub use send::send_init;
