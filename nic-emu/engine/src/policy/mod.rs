//! The NIC's policies, in one place: every threshold and every polling priority (design, §4 "Channels").
//!
//! | file | holds |
//! |---|---|
//! | `slice` | when slices run ([`Pacing`]), and how much one schedules |
//! | `channel` | which channel moves which bytes |
//! | `collectives` | how ranks wait for collectives, lanes, and edges |

pub(crate) mod channel;
mod collectives;
mod slice;

pub use collectives::*;
pub use slice::*;
