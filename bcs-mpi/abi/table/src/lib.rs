//! The MPI-5.0 standard ABI as tables, and the files that are made from them.
//!
//! The tables (`constants.tbl`, `datatypes.tbl`, `operations.tbl`, `callbacks.tbl`, `functions.tbl`) are the
//! only place where a name, a value or a prototype of the standard is written down; each begins with a
//! description of its format. From them come
//!
//! - `bcs-mpi/include/mpi.h` ([`header::render`]), and `docs/conformance.md` ([`conformance::render`]),
//! - the Rust constants of `bcs-mpi/src/constants.rs` ([`constants::render`], when it is built),
//! - the prototypes that the C edge defines functions by ([`prototypes::render`], when it is built),
//! - the functions that `libmpi_abi.so.1` does not have yet ([`unsupported::render`], when it is built),
//! - the list of symbols that `libmpi_abi.so.1` exports ([`Tables::exported_symbols`]).
//!
//! Files that are committed are made anew by `cargo run -p mpi-abi-table`, and a test fails when one is
//! stale. Facts of the standard (appendix A and chapter 20) are facts; wording and layout are ours.

pub mod conformance;
pub mod constants;
pub mod fortran;
pub mod header;
pub mod prototypes;
pub mod rust_type;
pub mod table;
pub mod unsupported;

pub use table::{Function, TableError, Tables};

use std::path::{Path, PathBuf};

/// The generated files that are committed, and their texts.
///
/// # Errors
/// What of the repository cannot be read or understood.
pub fn generate(tables: &Tables) -> Result<[(PathBuf, String); 3], String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let material = conformance::Material::read(tables, &root)?;
    Ok([
        (root.join("bcs-mpi/include/mpi.h"), header::render(tables)),
        (root.join("tests/abi/rust_values.rs"), constants::render_values(tables)),
        (root.join("docs/conformance.md"), conformance::render(tables, &material)),
    ])
}
