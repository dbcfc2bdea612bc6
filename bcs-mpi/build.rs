//! Writes the constants of the standard's ABI from its tables.

use mpi_abi_table::{Tables, constants};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    let text = constants::render(&Tables::read()?);
    std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join("constants.rs"), text)?;
    Ok(())
}
