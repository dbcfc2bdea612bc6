//! The `storm` program, as a user starts it: on one node, and as the client of a manager.

mod binding;
mod client;
mod common;
mod environment;
mod exit_status;
mod kill;
mod manual;
mod nic;
mod signals;
mod stdio;
