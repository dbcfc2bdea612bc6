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

pub use collectives::{LANE_POLLS, PARTS_A_LOOK, all_combine, part_bytes, root_combines};
pub use collectives::{
    LANE_TRIAL_COLLECTIVES, LENDING_TRIAL, LENT_BYTES, MEETING_POLLS, MEETING_POLLS_A_LOOK,
    MEETING_POLLS_A_RETRY, MEETING_YIELDS, laid_blocks_bytes, slow_lane_ns_a_kb,
};
pub use slice::Pacing;
pub(crate) use slice::RANKS_A_SLICE;
