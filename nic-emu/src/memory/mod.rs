//! NIC memory: the one mapping that a job's ranks on a node and its program launcher share (design §4, "Memory").
//!
//! ```text
//!  offset 0     Header            identity, slice state, abort record, pools        (1 page)
//!               control           run token, slice, free entries; taken words       32 bytes, 8 a rank
//!               doorbells         a doorbell per rank                               8 bytes each, or a line
//!               places            node and local index of every rank of the job     8 bytes each
//!               rank blocks       status, queues, rings, request slots, slabs       one per local rank
//!               entries           queued descriptors (unexpected, posted)           64 bytes each
//!               transfers         messages under way by rendezvous                  320 bytes each
//!               instances         collectives under way, a member per local rank
//!               instance chains   where they are found                              4 bytes each
//!               windows           slots for pipelined copies
//!               lanes             what flows through them to other members
//!               edges             cells of neighbours in topologies                 576 bytes each
//!               groups            nodes of each communicator                       jobs of several nodes only
//!               brought           what other nodes brought each instance           jobs of several nodes only
//!               emds              ring of slice records (mds::emds)
//!               chunks, pools     messages that wait for their receives             192 bytes for each 64 KB of the limit
//! ```
//!
//! Every region starts on a page. All of it is `repr(C)`, holds indices and never pointers, and is zeros at first: a
//! zeroed region is an empty one, so creating it is one `ftruncate` and pools grow by touching pages. The sizes
//! are limits, not costs. What other processes wrote is never trusted: accessors check their index and answer
//! [`Corrupt`], which ends the job with a message instead of going astray.

mod layout;
mod mapping;

pub use layout::{
    BROUGHT_BYTES, COLLECTIVE_RING, ENTRIES, INSTANCES, MESSAGE_ENTRIES, RECEIVE_RING, REQUESTS, SEND_RING,
    TRANSFERS, WINDOWS,
};
pub use layout::{Control, Header, Layout, LayoutError, RankBlock, RemoteState};
pub use mapping::{MapError, NicMemory};

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// The first context that no predefined communicator uses: the world's and self's halves come before it.
pub const FIRST_FREE_CONTEXT: u32 = 16;
/// Contexts from here on are those of single messages that a matched probe has taken: no communicator has one.
pub const FIRST_MATCHED_CONTEXT: u32 = 0xff00_0000;

/// What a holder found in NIC memory that no rank of a healthy job writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "NIC memory is corrupt: {what} {value} (limit {limit}); a process of the job wrote outside its own memory"
)]
pub struct Corrupt {
    /// The kind of index or word.
    pub what: &'static str,
    /// Its value.
    pub value: u64,
    /// What it had to be below.
    pub limit: u64,
}

macro_rules! words {
    ($($(#[$doc:meta])* $word:ident($atomic:ident, $value:ident))*) => { $(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Default)]
        pub struct $word($atomic);

        impl $word {
            /// Its value.
            #[inline]
            pub fn get(&self) -> $value {
                self.0.load(Ordering::Relaxed)
            }

            /// Sets it.
            #[inline]
            pub fn set(&self, value: $value) {
                self.0.store(value, Ordering::Relaxed);
            }
        }
    )* };
}

words! {
    /// A counter that only the processor writes; others may look.
    Word(AtomicU32, u32)
    /// The same in 64 bits.
    Word64(AtomicU64, u64)
}
