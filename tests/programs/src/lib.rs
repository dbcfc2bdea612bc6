//! What tests start. The programs in Rust are in `src/bin`, the MPI programs in C are in `mpi`. The library
//! is the launcher without managers, which tests of the MPI library use.

pub mod launcher;
