//! The Fortran edge of the MPI library, `libmpifort_abi.so.1` (MPI-5.0, chapters 19 and 20): the procedures
//! that Fortran programs call, for all compilers. It calls `libmpi_abi.so.1` by the standard's functions of
//! C alone, so that a program of C loads nothing of it.
//!
//! A procedure has four names: `mpi_send_` (`use mpi`, `mpif.h`), `mpi_send_f08_` (`use mpi_f08`), and both
//! of `PMPI_Send`; with choice buffers that are descriptors two more, `mpi_send_f08ts_` and its twin. Most
//! are written by the build, from the tables of the standard (`mpi_abi_table::fortran::entries`); the others
//! are here:
//!
//! - `edge`: what a line of a table becomes, and how an error is answered;
//! - `convert`, `sentinel`, `text`: handles, names that stand for no data, and strings;
//! - `descriptor`, `section`, `buffers`: choice buffers of Fortran 2008, parts of arrays that are not
//!   one piece;
//! - `lasting`: what is held until an operation is complete, `requests`: the calls that complete;
//! - `functions`, `attributes`, `operations`, `extensions`: procedures of the program that MPI calls;
//! - `strings`, `numbers`, `spawning`, `removed`, `others`: what differs from C by more than its
//!   arguments.

#[macro_use]
mod edge;

mod attributes;
mod buffers;
mod c;
mod convert;
mod descriptor;
mod entries;
mod extensions;
mod functions;
mod lasting;
mod numbers;
mod operations;
mod others;
mod peers;
mod removed;
mod requests;
mod section;
mod sentinel;
mod spawning;
mod strings;
mod text;
