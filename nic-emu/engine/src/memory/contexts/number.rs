//! Numbers of contexts: which are whose, and what a number says.

use crate::memory::sync::AtomicU32;
use bcs_core::{Rank, id};
use mds::Primitive;

id! {
    /// A context: what keeps apart what is sent in different communicators, and in the two halves of one. The
    /// even number is that of messages, the next one that of collectives.
    Context(u32), ""
}

impl Context {
    /// In place of a context: where there is none, it is not known yet, or nobody could take one.
    pub const NONE: Self = Self(0);

    /// Of a communicator's messages: that of its collectives.
    #[inline]
    pub const fn of_collectives(self) -> Self {
        Self(self.0 + 1)
    }

    /// The slot of a context.
    pub const fn slot(self) -> u32 {
        self.0 / 2 % SLOTS
    }

    /// How often its slot was given before.
    pub const fn generation(self) -> u32 {
        self.0 / 2 / SLOTS
    }

    /// The node that gave a context with a slot.
    pub fn owner(self, nodes: u32) -> u32 {
        self.slot() % nodes
    }
}

/// The first context that no predefined communicator uses: the world's and self's halves come before it.
pub(crate) const FIRST_FREE_CONTEXT: u32 = 16;
/// Contexts from here on are those of single messages that a matched probe has taken: no communicator has
/// one.
pub const FIRST_MATCHED_CONTEXT: Context = Context(0xff00_0000);

/// Context of `MPI_COMM_WORLD` (its point-to-point half; the collective half is the next number, and so for
/// all).
pub const WORLD_CONTEXT: Context = Context(2);
/// The first context of those that are `MPI_COMM_SELF`, above all that communicators take.
pub(crate) const SELF_CONTEXTS: Context = Context(u32::MAX << 27);

/// Context of a rank's `MPI_COMM_SELF`: one of its own, because collectives are told apart by context and
/// number alone.
#[must_use]
pub const fn self_context(rank: Rank) -> Context {
    Context(SELF_CONTEXTS.0 + 2 * rank.0)
}

/// Slots of a job on several nodes: communicators that span nodes at the same time.
pub const SLOTS: u32 = 1 << 16;
/// Slots that are never given: those of predefined communicators.
pub(super) const PREDEFINED: u32 = FIRST_FREE_CONTEXT / 2;
pub(super) const GENERATIONS: u32 = 1 << 14;

pub(super) const HERE: u32 = 0x8000_0000;
pub(super) const END: u32 = 0xf000_0000;
const _: () = assert!(GENERATIONS as u64 * SLOTS as u64 * 2 == HERE as u64);

/// How far a node is in its share of the numbers; all zeros at the beginning.
#[repr(C, align(64))]
pub struct ContextCounters {
    pub(super) here: AtomicU32,
    /// Where to look for a free slot next: the one that has been free for longest is mostly there.
    pub(super) slot: AtomicU32,
}

/// In place of an operation a leave says whether an error of the communicator ends the job: then it is to be
/// told that the communicator was broken, though its members have left it. To
/// `crate::threads::collective_list` it fits one that does not say so, which is `(0, 0)`.
pub const ERRORS_ARE_FATAL: (u8, u8) = (1, 0);

/// Whether a barrier that members reach in this call is the last collective of their communicator.
pub(crate) fn is_leave(call: u32) -> bool {
    call == Primitive::CommFree.index() as u32
}
