//! One-sided communication (MPI-5.0, chapter 12): windows, operations on the memory of others, and how these
//! are ordered.
//!
//! What is mapped here, or can be reached by cross-memory attach, a member reads and writes itself, within
//! the call. What is on another node it asks that node's NIC for (`nic_emu::one_sided`): operations gather in
//! a batch, and leave when the batch is full or the program synchronises.
//!
//! - `target`, `access`: which memory an operation means, and whether it may be accessed now;
//! - `asking`: what is asked of other nodes, and answered;
//! - [`movement`]: put, get; `combination`: how elements are combined; [`accumulate`], [`compare_and_swap`]:
//!   the calls for that;
//! - `completion`: what synchronisation waits for; [`fence`], [`active`], [`passive`]: the three ways;
//! - [`create`], [`shared`], [`dynamic`]: windows are made and freed, asked for memory, told of some;
//! - [`query`]: groups, names, hints, attributes.

mod access;
pub mod accumulate;
pub mod active;
mod asking;
mod combination;
pub mod compare_and_swap;
mod completion;
pub mod create;
pub mod dynamic;
pub mod fence;
pub mod movement;
pub mod passive;
pub mod query;
pub mod shared;
mod target;

pub use target::TargetElements;
