//! The C edge of the MPI library, `libmpi_abi.so.1`: handles in, call, error out. No logic here.
//!
//! A table per chapter, a line per function; `edge` says what a line becomes. A collective call and its other
//! forms have one line; `forms` says what that becomes.

#[macro_use]
mod edge;
#[macro_use]
mod forms;

mod attributes;
mod bcs;
mod buffers;
mod collective;
mod communicators;
mod datatypes;
mod environment;
mod error_handlers;
mod files;
mod groups;
mod handles;
mod info;
mod operations;
mod packing;
mod partitioned;
mod point_to_point;
mod removed;
mod requests;
mod sessions;
mod status;
mod tools;
mod topologies;
mod unsupported;
mod windows;
