//! Who records slices.

use serde::{Deserialize, Serialize};

/// Who records: every node for itself, or the strobe sender for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The Strobe Receiver of a node (table 5.2).
    Local,
    /// The Strobe Sender (table 5.1).
    Global,
}
