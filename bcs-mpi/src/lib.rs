//! The BCS API (paper, tables 4.1 and 4.2) and the MPI semantics on top of it.

pub mod constants;
