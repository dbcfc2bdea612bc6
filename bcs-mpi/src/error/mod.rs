//! Errors: what went wrong ([`Problem`]), and what a program is told of it ([`codes`]) (MPI-5.0, chapter 9).
//!
//! An error travels up as an [`MpiError`]; the C edge has the error handler asked
//! ([`raise`](crate::environment::error_handlers::raise)), which answers the code that the call returns.

pub mod codes;
mod mpi_error;
mod naming;
mod owner;
mod problem;

pub(crate) use mpi_error::answered;
pub use mpi_error::{MpiError, MpiResult};
pub use owner::Owner;
pub use problem::Problem;
pub(crate) use problem::{named, names};
