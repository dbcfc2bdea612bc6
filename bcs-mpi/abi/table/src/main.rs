//! `mpi-abi-table`: makes the files that come from the tables of the standard.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mpi_abi_table::conformance::{self, Material};
use mpi_abi_table::{Tables, generate};

const USAGE: &str =
    "usage: mpi-abi-table write [DIR]   write the generated files below DIR (default: the crate bcs-mpi)
       mpi-abi-table check [DIR]   name the files that differ from what the tables make
       mpi-abi-table header        print mpi.h
       mpi-abi-table exports       print the symbols that libmpi_abi.so.1 exports
       mpi-abi-table conformance [FILE]   print what of the standard there is, or write it to FILE";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("mpi-abi-table: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode, String> {
    let tables = Tables::read().map_err(|error| error.to_string())?;
    let crate_directory = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = arguments.get(1).map_or_else(crate_directory, PathBuf::from);
    match arguments.first().map(String::as_str) {
        Some("write") => {
            for (path, text) in generate(&tables) {
                let path = directory.join(path);
                std::fs::write(&path, text)
                    .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
            }
        }
        Some("check") => {
            let stale = stale_files(&tables, &directory);
            for path in &stale {
                print(&format!("{} is not what the tables make: run mpi-abi-table write\n", path.display()))?;
            }
            return Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Some("header") => print(&mpi_abi_table::header::render(&tables))?,
        Some("exports") => print(&(tables.exported_symbols().join("\n") + "\n"))?,
        Some("conformance") => {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
            let material = Material::read(&tables, &root).map_err(|error| error.to_string())?;
            let text = conformance::render(&tables, &material);
            match arguments.get(1) {
                Some(file) => {
                    std::fs::write(file, text).map_err(|error| format!("cannot write {file}: {error}"))?
                }
                None => print(&text)?,
            }
        }
        _ => return Err(format!("no such command\n{USAGE}")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes to standard output; a reader that stops early, as `head` does, is no error.
fn print(text: &str) -> Result<(), String> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}

fn stale_files(tables: &Tables, directory: &Path) -> Vec<PathBuf> {
    generate(tables)
        .into_iter()
        .map(|(path, text)| (directory.join(path), text))
        .filter(|(path, text)| std::fs::read_to_string(path).ok().as_ref() != Some(text))
        .map(|(path, _)| path)
        .collect()
}
