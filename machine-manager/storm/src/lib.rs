//! The `storm` program, which is `mpiexec` by another name.
//!
//! ```text
//!  arguments ─► spelling ─► cli (clap) ─► request ─► Job ─► managers of this node ─► …
//! ```
//!
//! On a machine without a cluster the managers are part of `storm` itself. The path from its start to
//! the first rank is short on purpose: one thread, no runtime, one fork. Where a cluster is configured
//! ([`configuration`]), `storm` is its [`client`].

pub mod cli;
pub mod client;
pub mod cluster_init;
pub mod configuration;
pub mod hostfile;
pub mod installation;
pub mod manual;
pub mod request;
pub mod spelling;
pub mod value;
