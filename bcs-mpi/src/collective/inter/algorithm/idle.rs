//! What a member of the root's group does that is not the root: it says so, and is done.

use super::super::sides::{Role, Sides};
use crate::error::MpiResult;

/// Announces that another member of the group is the root.
///
/// # Errors
/// The NIC fails.
pub async fn idle(sides: Sides) -> MpiResult {
    sides.announce_rooted(Role::Idle, (0, 0), 0)
}
