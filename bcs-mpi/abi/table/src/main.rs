//! `mpi-abi-table`: makes the files that come from the tables of the standard.
//!
//! ```text
//! mpi-abi-table                  the files that are committed
//! mpi-abi-table fortran FOLDER   the Fortran modules' sources and mpif.h, for an installation
//! mpi-abi-table calls FOLDER     programs for tests that call every procedure of Fortran
//! ```

use mpi_abi_table::{Tables, fortran, generate};
use std::path::Path;

fn main() -> Result<(), String> {
    let tables = Tables::read().map_err(|error| error.to_string())?;
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => generate(&tables)?.iter().try_for_each(|(path, text)| write(path, text)),
        ["fortran", folder] => write_all(folder, &fortran::sources::render(&tables)),
        ["calls", folder] => write_all(folder, &fortran::calls::render(&tables)),
        _ => Err("usage: mpi-abi-table [fortran FOLDER | calls FOLDER]".to_owned()),
    }
}

fn write_all(folder: &str, files: &[(&str, String)]) -> Result<(), String> {
    files.iter().try_for_each(|(name, text)| write(&Path::new(folder).join(name), text))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
