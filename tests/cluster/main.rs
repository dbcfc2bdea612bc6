//! A cluster of four hosts, which are network namespaces of this machine: jobs, users, strangers and faults.
//!
//! `scripts/test cluster` makes the hosts, runs this, and removes them. By hand: `scripts/cluster up 4`, then
//! `cargo test -p end-to-end --features cluster`, then `scripts/cluster down`. The tests take turns, and
//! leave all hosts up.

#![allow(clippy::disallowed_methods, reason = "every run is bounded in time")]

mod daemons;
mod faults;
mod flood;
mod hosts;
mod jobs;
mod remote;
mod rights;
