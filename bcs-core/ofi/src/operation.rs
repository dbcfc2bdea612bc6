//! What a remote write of a link is for.

use super::sender::{self, Write};
use bcs_core::ids::NodeId;

/// How many writes of a link may be under way: data, a signal, and credit.
pub(crate) const WRITES_LIMIT: usize = sender::WRITES_LIMIT + 2;

/// What a write is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Bytes of the ring, or the signal behind them.
    Send(Write),
    /// Credit for what was taken.
    Credit,
}

/// A write under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// The node to which it goes.
    pub to: NodeId,
    pub purpose: Purpose,
}
