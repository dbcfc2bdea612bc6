//! The `node-manager` daemon; see [`node_manager::daemon`].

use bcs_config::{DEFAULT_FILE, VARIABLE};
use clap::Parser;
use node_manager::daemon;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use tracing::level_filters::LevelFilter;

/// The Node Manager of BCS-MPI: on every node of a cluster, it starts the launchers of jobs as their users.
///
/// It reads the cluster's configuration and this node's credential (HOST.pem in paths.keys), connects to the
/// machine manager, and runs until SIGTERM or SIGINT, which end its jobs first. When the machine manager is
/// lost its jobs end, and it connects again.
#[derive(Parser)]
#[command(name = "node-manager", version, args_override_self = true)]
struct Arguments {
    /// The configuration of the cluster.
    #[arg(long, value_name = "FILE", env = VARIABLE, default_value = DEFAULT_FILE)]
    config: PathBuf,
    /// This node, as the configuration names it; the name of the system if not given.
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// What is logged on the standard error: off, error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", env = "BCS_LOG", default_value = "info")]
    log: LevelFilter,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    tracing_subscriber::fmt()
        .with_max_level(arguments.log)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .init();
    match daemon::run(&arguments.config, arguments.host.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Where nobody listens there is nothing to do about it.
            let _ = writeln!(io::stderr(), "node-manager: {error}");
            ExitCode::FAILURE
        }
    }
}
