//! The BCS API (paper, tables 4.1 and 4.2) and the MPI semantics on top of it.
//!
//! Layers, from the bottom up. A module imports modules of lower layers, and modules of its own layer that
//! stand before it; no files import each other in a circle (`scripts/test.d/circles.py` looks for circles).
//!
//! 1. Ground, which needs no initialised MPI. [`constants`]: types and values of the MPI-5.0 standard ABI.
//!    [`lasting`]: values with a lock of their own. [`host`]: the host's name. [`kind`]: what a handle names.
//!    [`error`]: what is wrong with a call. [`handle`]: tables of objects. [`info`]: info objects.
//! 2. [`object`]: what the objects of MPI are, as plain data: attributes, groups, datatypes, error handlers,
//!    sessions, hints, topologies, communicators, attached buffers, requests; and their tables.
//! 3. [`process`]: this process as a rank of its job: the NIC port and the objects, the lock around them,
//!    waiting, and the advance of futures, which are operations of several steps.
//! 4. [`api`]: the BCS API, the few calls that everything maps on. [`progress`]: what futures of collective
//!    operations are made of: members, messages between them, meetings on the NIC.
//! 5. Calls about one object: [`attributes`], [`group`], [`datatype`], [`request`].
//! 6. [`point_to_point`]: sends, receives, probes. [`partitioned`]: messages that go part by part.
//! 7. [`communicator`]: communicators are asked, made, split and freed. [`collective`]: collective
//!    operations, their algorithms and their forms.
//! 8. [`topology`]: topologies are made and asked. [`window`]: one-sided communication. [`mod@file`]: files.
//!    [`environment`]: the start and the end, sessions, error handling, integers for handles. [`tool`]: the
//!    tool interface.
//!
//! The C edge (`bcs-mpi/abi`) is a table over the functions of layers 5 to 8, which are named after the MPI
//! calls.

#[macro_use]
mod algorithms;

pub mod api;
pub mod attributes;
pub mod collective;
pub mod communicator;
pub mod constants;
pub mod datatype;
pub mod environment;
pub mod error;
pub mod file;
pub mod group;
pub mod handle;
pub mod host;
pub mod info;
pub mod kind;
pub mod lasting;
pub mod object;
pub mod partitioned;
pub mod point_to_point;
pub mod process;
pub mod progress;
pub mod request;
pub mod tool;
pub mod topology;
pub mod window;

pub use error::{MpiError, MpiResult};
