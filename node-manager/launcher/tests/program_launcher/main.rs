//! The program launcher as a node manager executes it, on one node and on several, which are all this
//! machine.
#![allow(clippy::disallowed_methods, reason = "tests of real processes bound real time")]

mod endings;
mod losses;
mod managers;
mod refusals;
mod running;
