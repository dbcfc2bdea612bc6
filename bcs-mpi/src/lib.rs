//! The BCS API (paper, tables 4.1 and 4.2) and the MPI semantics on top of it.
//!
//! Layers, from the inside out; each uses only those before it:
//!
//! - [`constants`]: types and values of the MPI-5.0 standard ABI;
//! - [`error`], [`handle`]: what went wrong, and how objects are named to programs;
//! - [`process`]: this process as a rank of its job: its NIC port, its objects, the lock around them, the start and the end;
//! - [`api`]: the BCS API, the few calls that everything maps on;
//! - [`progress`]: operations of several steps, as futures;
//! - [`attributes`]: what libraries keep with objects of all kinds;
//! - the chapters of the standard: [`point_to_point`], [`request`], [`datatype`], [`collective`], [`group`],
//!   [`communicator`], [`topology`], [`environment`].
//!
//! The C edge (`bcs-mpi/abi`) is a table over the functions of the last layer, which are named after the MPI calls.

pub mod api;
pub mod attributes;
pub mod collective;
pub mod communicator;
pub mod constants;
pub mod datatype;
pub mod environment;
pub mod error;
pub mod group;
pub mod handle;
pub mod host;
pub mod info;
pub mod kind;
pub mod lasting;
pub mod object;
pub mod point_to_point;
pub mod process;
pub mod progress;
pub mod request;
pub mod topology;

pub use error::{MpiError, MpiResult};
pub use process::Guard;
