//! What the launching tests share: `storm` and what it is called with.

use bcs_harness::{built, runs};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The `storm` program of this build.
pub fn storm_path() -> PathBuf {
    built::program("storm")
}

/// Copies the `storm` program. By another process: one of ours could fork while the copy is open for writing,
/// and a program that somebody may write cannot be run.
pub fn copy_storm(directory: &Path) {
    runs::output(Command::new("cp").arg(storm_path()).arg(directory));
}

/// `storm run` with these words as arguments.
pub fn storm(arguments: &str) -> Command {
    let mut command = Command::new(storm_path());
    // Whoever tests may have a cluster.
    command.env("BCS_CONFIG", "");
    command.arg("run").args(arguments.split_whitespace());
    command
}

/// A shell script of all ranks.
pub fn script(arguments: &str, script: &str) -> Command {
    let mut command = storm(arguments);
    command.args(["sh", "-c", script]);
    command
}

/// The name of this host as messages give it.
pub fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}
