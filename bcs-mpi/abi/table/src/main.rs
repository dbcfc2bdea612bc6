//! `mpi-abi-table`: makes the committed files that come from the tables of the standard.

use mpi_abi_table::{Tables, generate};

fn main() -> Result<(), String> {
    for (path, text) in generate(&Tables::read().map_err(|error| error.to_string())?)? {
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}
