//! End to end: programs that are compiled with the installed `mpicc`, run by the installed `mpiexec` on the
//! installed library, and looked at with the installed `mds`. Nothing here links our crates.
//!
//! `scripts/test end-to-end` installs and runs them. By hand: `scripts/install --prefix target/stage`, then
//! `cargo test -p end-to-end --features installed`.

#![allow(clippy::disallowed_methods, reason = "every run is bounded in time")]

mod answers;
mod bad_input;
mod cluster;
mod endings;
mod fortran;
mod installation;
mod monitoring;
mod refusal;
mod sizes;
mod standard_abi;
