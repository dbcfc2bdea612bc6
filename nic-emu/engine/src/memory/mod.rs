//! NIC memory: the one mapping that a job's ranks on a node and its program launcher share (design §4,
//! "Memory").
//!
//! ```text
//!  offset 0     Header            identity, slice state, abort record, pools        (1 page)
//!               control           run token, slice, free entries; taken words       32 bytes, 8 a rank
//!               doorbells         a doorbell per rank                               8 bytes each, or a line
//!               places            node and local rank of every rank of the job     8 bytes each
//!               rank blocks       status, queues, rings, request slots, slabs       one per local rank
//!               entries           queued descriptors (unexpected, posted)           64 bytes each
//!               chain links       the same in chains of long queues                 32 bytes each
//!               transfers         messages under way by rendezvous                  320 bytes each
//!               instances         collectives under way, a member per local rank
//!               instance chains   where they are found                              4 bytes each
//!               windows           slots for pipelined copies
//!               lanes             what flows through them to other members
//!               edges             cells of neighbours in topologies                 576 bytes each
//!               doors             locks of ranks' parts of windows                  64 bytes each
//!               nodes             what is ahead of its match, who waits            64 bytes each, jobs of several nodes only
//!               groups            nodes of each communicator                       jobs of several nodes only
//!               brought           what other nodes brought each instance           jobs of several nodes only
//!               emds              ring of slice records (mds::emds)
//!               chunks, pools     messages that wait for their receives             192 bytes for each 64 KB of the limit
//! ```
//!
//! Every region starts on a page. All of it is `repr(C)`, holds indices and never pointers, and is zeros at
//! first: a zeroed region is an empty one, so creating it is one `ftruncate` and pools grow by touching
//! pages. The sizes are limits, not costs. What other processes wrote is never trusted: accessors check their
//! index and answer [`Corrupt`], which ends the job with a message instead of going astray.
//!
//! | file | holds |
//! |---|---|
//! | `layout`, `nic_memory` | where everything is, and checked access to it |
//! | `numbers` | a type for each kind of number that descriptors and NIC memory name things by |
//! | `word`, `text`, `few` | words, texts, and few bytes |
//! | `sync`, `corrupt`, `prefetch` | atomics, what cannot be, cache lines ahead of use |
//! | `token`, `wait_word` | who is the NIC processor, who sleeps |
//! | `ring`, `doorbell`, `descriptor` | what ranks ask of their NIC |
//! | `claims` | messages that ranks take out of the rings of others |
//! | `request`, `status` | what the NIC tells a rank, and what a rank says of itself |
//! | `slab`, `unexpected` | payloads: on their way, and without a receive |
//! | `pool`, `linked`, `queue` | entries in use and free, and the lists and queues that they are in |
//! | `transfer` | messages under way by rendezvous |
//! | `contexts`, `groups`, `root` | numbers that tell communicators apart, their nodes, and roots of collectives |
//! | `instance`, `members`, `departure` | collectives under way |
//! | `node_state` | messages to and from each other node |
//! | `door` | who may work on a rank's part of a window |
//! | `lane`, `edge` | bytes that ranks of a node give each other without the NIC |
//! | `abort_record`, `abort`, `breaches` | who ended the job; which communicators are broken |

pub mod abort_record;
pub mod claims;
pub mod doorbell;
pub mod numbers;
pub mod ring;
pub mod sync;
mod text;
pub mod token;
pub mod wait_word;

// Loom sees what is shared without the token: the modules above.
#[cfg(not(loom))]
pub use with_token::*;

#[cfg(not(loom))]
#[path = "."]
mod with_token {
    pub mod abort;
    pub mod breaches;
    pub mod contexts;
    mod corrupt;
    pub mod departure;
    pub mod descriptor;
    pub mod door;
    pub mod edge;
    pub mod few;
    pub mod groups;
    pub mod hang_news;
    pub mod instance;
    pub mod landing;
    pub mod lane;
    mod layout;
    pub mod linked;
    pub mod members;
    mod nic_memory;
    pub mod node_state;
    #[cfg(test)]
    mod on_heap;
    pub mod pool;
    pub mod prefetch;
    pub mod queue;
    pub mod request;
    pub mod root;
    pub mod slab;
    pub mod status;
    pub mod transfer;
    pub mod unexpected;
    mod word;

    pub use super::numbers::{CommRank, RequestId, SlabId};
    pub use bcs_core::{LocalRank, Rank};
    pub use contexts::{Context, FIRST_MATCHED_CONTEXT};
    pub use corrupt::{Corrupt, checked, within};
    pub use layout::{
        BROUGHT_BYTES, COLLECTIVE_RING, ENTRIES, INSTANCES, RECEIVE_RING, REQUESTS, SEND_RING, TRANSFERS,
    };
    pub use layout::{Control, Header, Layout, LayoutError, RankBlock, RemoteState};
    pub(crate) use layout::{MESSAGE_ENTRIES, WINDOWS};
    pub use nic_memory::{Mapping, NicMemory, NotOurs};
    pub use word::{Word, Word64};
}
