//! `machine-manager`: the Machine Manager of a cluster, as a daemon.

use bcs_config::{DEFAULT_FILE, VARIABLE};
use clap::Parser;
use machine_manager::daemon;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;

/// The machine manager of a BCS-MPI cluster: it knows which nodes are alive, and runs the jobs that storm
/// submits.
#[derive(Debug, Parser)]
#[command(name = "machine-manager", version)]
struct Arguments {
    /// The cluster's configuration.
    #[arg(long, value_name = "FILE", env = VARIABLE, default_value = DEFAULT_FILE)]
    config: PathBuf,
    /// What is logged on the standard error: off, error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", env = "BCS_LOG", default_value = "info")]
    log: LevelFilter,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Where the journal or a file reads, colours are noise.
    tracing_subscriber::fmt().with_max_level(arguments.log).with_writer(io::stderr).with_ansi(false).init();
    match daemon::run(&arguments.config) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("machine-manager: {error}");
            ExitCode::FAILURE
        }
    }
}
