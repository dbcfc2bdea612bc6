//! What collective operations of several steps are made of: their members, the messages between these, and
//! their meetings on the NIC. Each is a future, or makes one, which the process advances
//! ([`crate::process`]).
//!
//! - `memory`: what operations give, and room for what they take;
//! - `members`: what algorithms by messages see of a communicator, and messages that are under way;
//! - `subgroup`: some of the members;
//! - `nodes`: which members share a node;
//! - `plan`: what a persistent collective finds out once;
//! - `pending`: messages that the NIC has;
//! - `released`: what the NIC has for a member that it lets go;
//! - [`meeting`]: how members reach a collective on the NIC, and are let go;
//! - `party`: the members of a communicator in one collective operation;
//! - `exchange`: what members of one node give each other through their lanes.

mod exchange;
pub mod meeting;
mod members;
mod memory;
mod nodes;
mod party;
mod pending;
mod plan;
mod released;
mod subgroup;

pub use exchange::{Contribution, Destination, Exchange};
pub use meeting::Arrival;
pub use members::{Join, Members, Membership, Message};
pub use memory::Memory;
pub use nodes::{Branch, Nodes, binomial};
pub use party::{Joins, PARTITIONED_TAGS, Party, partitioned_tag};
pub use pending::{Pending, misfit};
pub use plan::Plan;
pub(crate) use released::{take_board, take_result};
pub use subgroup::Subgroup;
