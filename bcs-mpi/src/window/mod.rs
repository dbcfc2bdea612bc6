//! One-sided communication (MPI-5.0, chapter 12): windows, operations on the memory of others, and how these
//! are ordered.
//!
//! What is mapped here, or can be reached by cross-memory attach, a member reads and writes itself, within
//! the call. What is on another node it asks that node's NIC for (`nic_emu::one_sided`): operations gather in
//! a batch, and leave when the batch is full or the program synchronises.
//!
//! - [`create`], [`shared`], [`dynamic`]: windows are made and freed, asked for memory, told of some;
//! - `target`, `access`: which memory an operation means, and whether it may be accessed now;
//! - `asking`: what is asked of other nodes, and answered;
//! - [`movement`], [`combination`]: put, get; accumulate and its kin;
//! - [`fence`], [`active`], [`passive`]: the three ways to synchronise; `completion`: what they wait for;
//! - [`query`]: groups, names, hints, attributes.

mod access;
pub mod active;
mod asking;
pub mod combination;
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
