//! `machine-manager`: the Machine Manager of a cluster, as a daemon.

use bcs_config::{DEFAULT_FILE, VARIABLE};
use clap::Parser;
use machine_manager::daemon;
use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use tracing::Level;

/// The machine manager of a BCS-MPI cluster: it knows which nodes are alive, and runs the jobs that storm
/// submits.
#[derive(Debug, Parser)]
#[command(name = "machine-manager", version)]
struct Arguments {
    /// The cluster's configuration.
    #[arg(long, value_name = "FILE", env = VARIABLE, default_value = DEFAULT_FILE)]
    config: PathBuf,
    /// What is logged, to the standard error: error, warn, info, debug or trace.
    /// [default: what BCS_LOG says, or info]
    #[arg(long, value_name = "LEVEL")]
    log: Option<Level>,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("machine-manager: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let level = match (arguments.log, std::env::var("BCS_LOG")) {
        (Some(level), _) => level,
        (None, Ok(level)) => level
            .parse()
            .map_err(|_| format!("BCS_LOG={level:?} cannot be: give error, warn, info, debug or trace"))?,
        (None, Err(_)) => Level::INFO,
    };
    // Where the journal or a file reads, colours are noise.
    tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).init();
    Ok(daemon::run(&arguments.config)?)
}
