//! Gives the library the name that programs of the standard ABI ask the dynamic linker for (MPI-5.0, chapter
//! 20), and writes from the table of all functions the prototypes of those that the C edge defines, and the
//! others.

use mpi_abi_table::{Tables, prototypes, unsupported};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    let mut sources = Vec::new();
    for entry in std::fs::read_dir("src")? {
        sources.push(std::fs::read_to_string(entry?.path())?);
    }
    let tables = Tables::read()?;
    let defined = unsupported::defined(&tables, sources.iter().map(String::as_str));
    let missing = unsupported::render(&tables, &defined)?;
    for (file, text) in [("prototypes.rs", prototypes::render(&tables)), ("unsupported.rs", missing)] {
        std::fs::write(Path::new(&std::env::var("OUT_DIR")?).join(file), text)?;
    }
    Ok(())
}
