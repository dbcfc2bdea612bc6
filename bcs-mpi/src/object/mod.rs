//! What the objects of MPI are: plain data, and the tables that handles name. No call of MPI is here, and
//! nothing waits.
//!
//! - [`attributes`], [`group`], [`datatype`], [`error_handler`], [`session`];
//! - [`collective`], [`wanted`]: collectives that have several algorithms, and which of these a user wants;
//! - [`topology`], [`hints`], [`history`], [`partitioned`], `contexts`, [`communicator`],
//!   [`communicators`];
//! - [`attached_buffer`], [`request`], [`window`], [`mod@file`];
//! - [`event`]: what tools listen for.

pub mod attached_buffer;
pub mod attributes;
pub mod collective;
pub mod communicator;
pub mod communicators;
pub(crate) mod contexts;
pub mod datatype;
pub mod error_handler;
pub mod event;
pub mod file;
pub mod group;
pub mod hints;
pub mod history;
pub mod partitioned;
pub mod request;
pub mod session;
pub mod topology;
pub mod wanted;
pub mod window;

pub use communicator::Communicator;
pub use group::Group;
