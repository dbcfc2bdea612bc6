//! `mds`: reads the traces that `storm run --mmds --emds --trace-dir DIR` leaves.
//!
//! Exit status: 0 done, 1 the trace cannot be read or the result not be written, 2 wrong usage.

mod command_line;
mod dump;
mod manual;
mod summary;
mod table;
#[cfg(test)]
mod tests;

use clap::Parser;
use command_line::{Cli, Command, Selected};
use mds::TraceError;
use mds_trace::Trace;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// What keeps `mds` from its work.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error("cannot write to standard output: {0}")]
    Output(#[from] io::Error),
    #[error("{} holds no {part} records; record them with `storm run --{option}`", dir.display())]
    NoPart { dir: PathBuf, part: &'static str, option: &'static str },
    #[error("no MMDS record of the ranks that --rank names; the trace has ranks {present}")]
    NoRank { present: String },
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of a pipe has seen enough (`mds dump DIR | head`): that is no failure.
        Err(Failure::Output(e)) if e.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("mds: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        Command::Summary { selected } => {
            let trace = read(selected)?;
            print(|out| summary::write(out, &trace))
        }
        Command::Dump { csv: _, selected, output } => {
            let trace = read(selected)?;
            match output {
                Some(path) if path.as_os_str() != "-" => {
                    Ok(mds::trace::write_file(path, |out| dump::write_csv(out, &trace))?)
                }
                _ => print(|out| dump::write_csv(out, &trace)),
            }
        }
        Command::Completions { shell } => print(|out| out.write_all(&manual::completions(*shell))),
        Command::Manpage => print(|out| out.write_all(&manual::page()?)),
    }
}

/// Reads of a trace what the options select; selecting nothing that is there is an error.
fn read(selected: &Selected) -> Result<Trace, Failure> {
    let Selected { dir, rank, mmds, emds } = selected;
    let mut trace = Trace::read(dir)?;
    let missing = |part, option| Err(Failure::NoPart { dir: dir.to_owned(), part, option });
    if *mmds && trace.mmds.is_empty() {
        return missing("MMDS", "mmds");
    }
    if *emds && trace.emds.is_empty() {
        return missing("EMDS", "emds");
    }
    match (mmds, emds) {
        (true, false) => trace.emds.clear(),
        (false, true) => trace.mmds.clear(),
        _ => {}
    }
    if let Some(ranks) = rank {
        let present = table::ranges(trace.mmds.iter().map(|f| f.process.rank));
        trace.mmds.retain(|f| ranks.contains(f.process.rank));
        if trace.mmds.is_empty() {
            return match present.is_empty() {
                true => missing("MMDS", "mmds"),
                false => Err(Failure::NoRank { present }),
            };
        }
    }
    Ok(trace)
}

fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    write(&mut out)?;
    out.flush()?;
    Ok(())
}
