//! What collective operations of several steps are made of: their members, the messages between these, and
//! their meetings on the NIC. Each is a future, or makes one, which the process advances
//! ([`crate::process`]).
//!
//! - [`message`]: messages that are under way, as algorithms see them;
//! - [`members`]: what algorithms by messages see of a communicator;
//! - [`subgroup`]: some of the members;
//! - [`nodes`]: which members share a node;
//! - [`pending`]: messages that the NIC has;
//! - [`released`]: what the NIC has for a member that it lets go;
//! - [`meeting`]: how members reach a collective on the NIC, and are let go;
//! - [`party`]: the members of a communicator in one collective operation;
//! - [`exchange`]: what members of one node give each other through their lanes.

pub mod exchange;
pub mod meeting;
pub mod members;
pub mod message;
pub mod nodes;
pub mod party;
pub mod pending;
pub mod released;
pub mod subgroup;
