//! The machine manager as a daemon, with node managers that keep to a script, on loopback: who is let in, and
//! what it makes of what they say.
#![allow(clippy::disallowed_methods, reason = "tests of real processes bound real time")]

mod client;
mod cluster;
mod hostile;
mod joining;
mod node;
mod running;
