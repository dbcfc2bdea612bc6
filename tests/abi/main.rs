//! The binary interface: our `mpi.h`, our Rust constants and our compiler wrappers against the C compiler,
//! and against the header and library of another implementation of the MPI-5.0 standard ABI.
//!
//! The other implementation is MPICH 5 from PyPI: set `BCS_MPICH_PREFIX` to the virtual environment that
//! `pip install mpich` was run in (`scripts/test` does). Without it those tests say so and pass.

mod header;
mod other_implementation;
mod printed_values;
mod rust_values;
mod wrappers;
