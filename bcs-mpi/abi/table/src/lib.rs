//! The MPI-5.0 standard ABI as tables, and the files that are made from them.
//!
//! The tables (`constants.tbl`, `datatypes.tbl`, `operations.tbl`, `callbacks.tbl`, `functions.tbl`) are the
//! only place where a name, a value or a prototype of the standard is written down; each begins with a
//! description of its format. From them come
//!
//! - `bcs-mpi/include/mpi.h` ([`header::render`]),
//! - the Rust constants in `bcs-mpi/src/constants/` ([`constants::render`]),
//! - the functions that `libmpi_abi.so.1` does not have yet ([`unsupported::render`], when it is built),
//! - the list of symbols that `libmpi_abi.so.1` exports ([`Tables::exported_symbols`]).
//!
//! The generated files are committed; `mpi-abi-table write` makes them anew and a test fails when they are
//! stale. Facts of the standard (appendix A and chapter 20) are facts; wording and layout are ours.

pub mod conformance;
pub mod constants;
pub mod header;
pub mod table;
pub mod unsupported;

pub use constants::GeneratedFile;
pub use table::{Function, TableError, Tables};

/// All generated files.
#[must_use]
pub fn generate(tables: &Tables) -> Vec<GeneratedFile> {
    let mut files = vec![("include/mpi.h".into(), header::render(tables))];
    files.extend(constants::render(tables));
    files
}
