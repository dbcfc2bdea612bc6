//! Gives the library its name (MPI-5.0, §20.4.2), writes from the tables of the standard what it does not
//! define by hand, and links it to `libmpi_abi.so.1` by name.

use mpi_abi_table::Tables;
use mpi_abi_table::fortran::{constants, entries};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpifort_abi.so.1");
    // Both libraries are in one folder, and a program may name this one alone.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-rpath,$ORIGIN,--enable-new-dtags");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut sources = Vec::new();
    for entry in std::fs::read_dir("src")? {
        sources.push(std::fs::read_to_string(entry?.path())?);
    }
    let tables = Tables::read()?;
    std::fs::write(out.join("prototypes.rs"), entries::prototypes(&tables))?;
    std::fs::write(out.join("entries.rs"), entries::render(&tables, &sources))?;
    std::fs::write(out.join("constants.rs"), constants::render_rust(&tables))?;
    name_library(&out)
}

/// Has the linker note that the library needs `libmpi_abi.so.1`: an empty library of that name is enough, as
/// symbols are looked up when a program starts.
fn name_library(out: &Path) -> Result<(), Box<dyn Error>> {
    let (source, library) = (out.join("empty.c"), out.join("libmpi_abi.so"));
    std::fs::write(&source, "")?;
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let made = Command::new(&linker)
        .args(["-shared", "-nostdlib", "-Wl,-soname,libmpi_abi.so.1", "-o"])
        .args([&library, &source])
        .status()?;
    if !made.success() {
        return Err(format!("{linker} could not make an empty library: it ended with {made}").into());
    }
    for argument in
        ["-Wl,--no-as-needed".to_owned(), format!("{}", library.display()), "-Wl,--as-needed".to_owned()]
    {
        println!("cargo:rustc-cdylib-link-arg={argument}");
    }
    Ok(())
}
