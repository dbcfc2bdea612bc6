//! The Fortran bindings of MPI-5.0 (chapter 19), from the tables that `mpi.h` comes from and `fortran.tbl`.
//!
//! - [`sources`]: the modules `mpi` and `mpi_f08` and the file `mpif.h`, which a compiler's installation has;
//! - [`entries`]: the procedures of `libmpifort_abi.so.1`, which all compilers call.

pub mod argument;
pub mod binding;
pub mod calls;
pub mod constants;
pub mod entries;
pub mod facts;
pub mod include;
pub mod lines;
pub mod sources;
