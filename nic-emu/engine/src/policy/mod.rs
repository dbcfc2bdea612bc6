//! The NIC's policies, in one place: every threshold and every polling priority (design, §4 "Channels").
//!
//! | file | holds |
//! |---|---|
//! | `slice` | when slices run ([`Pacing`]), and how much one schedules |
//! | `channel` | which channel moves which bytes |
//! | `waiting` | how ranks wait: the table [`WAITS`] |
//! | `collectives` | how bytes of collectives go through lanes |

pub(crate) mod channel;
mod collectives;
mod slice;
mod waiting;

pub use collectives::*;
pub use slice::*;
pub use waiting::*;
