//! Files (MPI-5.0, chapter 14).
//!
//! A file has a communicator of its own. What the members of it move of a file they move themselves, each
//! with a descriptor of its own: `independent` is such an access, `sieve` what it does about scattered bytes,
//! `locking` how nobody else's bytes are lost by that. Collective accesses go by `two_phase` where that pays,
//! which `domains` says. Accesses that do not block are futures, which have threads read and write
//! (`background`).
//!
//! - [`open`]: files are opened, closed, deleted; [`size`]: how long they are; [`manage`]: what they are
//!   asked;
//! - [`view`]: views; [`representation`]: the form of elements;
//! - [`mod@pointer`]: the pointers of single members; [`shared_pointer`]: that of all;
//! - [`access`]: the calls that read and write; [`split`]: those in two halves.

pub mod access;
mod background;
mod bytes;
mod check;
mod collective;
mod direction;
mod domains;
mod errors;
mod independent;
mod locking;
pub mod manage;
mod memory;
pub mod open;
mod pattern;
mod piece;
pub mod pointer;
pub mod representation;
mod ring;
pub mod shared_pointer;
mod sieve;
pub mod size;
pub mod split;
mod together;
mod two_phase;
pub mod view;
mod window;

pub use direction::Direction;
