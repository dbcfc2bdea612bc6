//! Global slices: the NICs of a job's nodes march to one beat (paper, §4.2–§4.4; design §4).
//! `docs/protocol.md` has the protocol as a whole.
//!
//! An engine without I/O: [`GlobalNic::poll`] is called by whoever drives a node (the program launcher, the
//! simulator) whenever something may have changed, with a [`Road`](bcs_fabric::Road) to the other nodes
//! and the time. Ranks post as ever and run their node's local slices, which leave what is for other nodes in
//! NIC memory; global slices take it from there:
//!
//! | microphase | who | does |
//! |---|---|---|
//! | DEM | BS | sends descriptors to the nodes of their destinations |
//! | MSM | BR | matches them, grants chunks |
//! | MSM | CH, RH | end the collectives that all nodes have reached, with what all members gave |
//! | P2P | DH | sends granted chunks |
//!
//! With elastic slices a global slice is for what concerns all nodes of a communicator: collectives. Arrivals
//! travel as soon as they are posted, and are scheduled in a later slice; announcements, for which nobody
//! waits, travel when the NIC thread looks, and need none. Messages concern two nodes, and
//! wait for no slice: descriptors travel as soon as they are posted, the local slices of the receiver's node
//! schedule them as they do those of its own ranks, and what is granted is sent at once. So that the slices
//! tell of them, one begins a while after the last, if there were any. With fixed slices all is strobed, and
//! descriptors travel in DEM, which is over when they are there.
//!
//! Invariants: what is posted during a slice is scheduled in a later one, as a rule the next (a local one,
//! for messages of elastic slices); nothing overtakes between two ranks; what comes in to a node at once is
//! bounded, and with fixed slices what goes out of it; while nobody wants anything, nothing travels (elastic
//! slices).
//!
//! | file | holds |
//! |---|---|
//! | `global_nic` | a node: what is due, and what has come |
//! | `layout` | what is where in global memory |
//! | `record`, `link` | records between two nodes |
//! | `tree` | a node's place in a tree of nodes |
//! | `strobe_lead` | SS on the lead node: which microphase is next |
//! | `strobe_tree` | SR: microstrobes go down, reports come up, bells |
//! | `point_to_point` | BS, BR, DH |
//! | `message` | messages of ranks, as records name them |
//! | `departure`, `arrival` | of these, what a rank that waits does as well: descriptors leave, and come |
//! | `matched`, `grant`, `landing` | the same: what is matched; bytes that are granted, sent, put in place |
//! | `buffer_writes` | long messages that a network card writes from one rank's buffer into the other's |
//! | `waiter`, `own` | a rank that waits does it, and what it knows of its own buffers |
//! | `gather`, `gathers` | arrivals, contributions and partial results on their way up |
//! | `collectives`, `communicator` | how a communicator's nodes agree that all have reached a collective |
//! | `breach` | how nodes tell each other that a communicator is broken |
//! | `contribution` | what a node's members give to it, and what comes of that |
//! | `delivery`, `image` | what a collective brings a node's members |
//! | `rank_memory`, `staged` | the bytes of this node's ranks: the NIC thread's to read and write, or their
//! own |

mod arrival;
mod breach;
mod buffer_writes;
mod collectives;
mod communicator;
mod contribution;
mod delivery;
mod departure;
mod error;
mod gather;
mod gathers;
mod global_nic;
mod grant;
mod image;
mod landing;
pub mod layout;
mod link;
mod matched;
mod message;
mod own;
mod point_to_point;
mod rank_memory;
mod record;
mod staged;
mod strobe_lead;
mod strobe_tree;
mod tree;
mod waiter;

pub use buffer_writes::{BufferWrites, Invitation, Opened};
pub use departure::most_ahead;
pub use error::GlobalError;
pub use global_nic::{GlobalNic, Polled};
pub use layout::GlobalLayout;
pub use message::RawBytes;
pub use own::Own;
pub use record::{Carried, HEADER_BYTES};
pub use strobe_tree::neighbours;
pub use waiter::{
    Answer, Appended, Left, NodeLinks, Opening, Passed, Place, Shown, Take, Taken, go_on_with_writes,
    pass_over_links,
};
