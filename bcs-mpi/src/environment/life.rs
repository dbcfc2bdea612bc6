//! Who uses the library: the world model (MPI_Init to MPI_Finalize) and sessions, in any order and at once
//! (MPI-5.0, §11.2, §11.3).
//!
//! The process becomes a rank with the first user and rests when the last has gone; a session after that
//! wakes it again.

use crate::lasting::Lasting;
use std::sync::MutexGuard;

/// Where the world model is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// Before MPI_Init.
    Before,
    /// Between MPI_Init and MPI_Finalize.
    Active,
    /// After MPI_Finalize: it does not come back.
    Finalised,
}

/// The users of the library.
pub(super) struct Life {
    pub(super) world: World,
    pub(super) sessions: usize,
}

impl Life {
    /// Whether nobody uses the library.
    pub(super) fn is_over(&self) -> bool {
        self.world != World::Active && self.sessions == 0
    }
}

/// The users, for the time of a change. Taken before the process's guard where both are held, and not held
/// while a call waits for other ranks.
pub(super) fn life() -> MutexGuard<'static, Life> {
    static LIFE: Lasting<Life> = Lasting::new(Life { world: World::Before, sessions: 0 });
    LIFE.lock()
}

/// Where the world model is in its life.
pub fn world() -> World {
    life().world
}
