//! The phases of a job's life, through which events take it.
//!
//! ```text
//!  Queued ─► Minting ─► Ready ─► Preparing ─► Committing ─► Running ────────► Finishing ─► (over)
//!    │ a slot  │ keys     │ room    │ all        │ on all nodes  │ all ranks      ▲ nothing is left
//!    │         │          │ at all  │ prepared   │ at once       │ are gone       │ on any node
//!    └─────────┴──────────┴─────────┴────────────┴───────────────┴──► Ending ─────┘
//!                     something has failed                        the ranks are told to end
//! ```

use std::time::Duration;

/// How long a job may take from its submission until its ranks start.
pub const PREPARE_LIMIT: Duration = Duration::from_secs(15);

/// Where a job is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It waits for a slot: too many launches are under way.
    Queued,
    /// The keys of its network are being made.
    Minting,
    /// Its nodes are ordered one after the other, each when it has taken most of what it was sent before.
    Ready,
    /// Its launchers prepare.
    Preparing,
    /// All launchers are prepared, and the control network is asked to start them. With a verdict, it is
    /// asked whether it has.
    Committing,
    /// Its ranks run.
    Running,
    /// Its ranks were told to end.
    Ending {
        /// When those that are left are killed.
        kill_at: Option<Duration>,
        /// When a node that says nothing is given up.
        give_up_at: Duration,
    },
    /// No rank is left.
    Finishing {
        /// When a node that says nothing is given up.
        give_up_at: Duration,
    },
    /// Nothing is left.
    Over,
}

impl Phase {
    /// Whether its launch is under way: its ranks do not run yet, as far as is known here.
    pub fn is_launching(&self) -> bool {
        matches!(self, Self::Queued | Self::Minting | Self::Ready | Self::Preparing | Self::Committing)
    }
}
