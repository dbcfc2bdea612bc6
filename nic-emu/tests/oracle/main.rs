//! MPI's rules, checked on random programs: every message is received once and whole, none overtakes another,
//! what can complete does, collectives give the bits of the reduction tree, and nothing is left behind.
//!
//! A failing case prints the program's parameters; with them it runs the same again, step for step.

mod buffer_writes;
mod cluster;
mod faults;
mod links;
mod one_node;
mod program;
mod random;
mod rank;
mod reference;
mod room;
mod rules;
mod run;
mod watch;
