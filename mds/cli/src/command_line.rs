//! The options of `mds`. Their descriptions are also its manual page.

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use mds::config::Selection;
use std::path::PathBuf;

/// Read the traces of a BCS-MPI run
///
/// A run started with `storm run --mmds --emds --trace-dir DIR` leaves one file per rank (MMDS: what the
/// program's MPI calls cost) and one per node (EMDS: what the NICs did, slice by slice). mds shows them.
#[derive(Parser)]
#[command(name = "mds", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Print tables: MPI calls, computation and communication, slices
    ///
    /// For every MPI call its shortest, longest, total and mean time and its count; the same for computation
    /// granularity (the time between blocking calls) and communication overhead (the time in them), which add
    /// up to the run time; their distributions; and for every EMDS metric its minimum, mean and maximum over
    /// the recorded slices. Totals are sums over ranks.
    Summary {
        #[command(flatten)]
        selected: Selected,
    },
    /// Write every record, as comma-separated values
    ///
    /// One header line, then one line per record. The column `record` says what a line is: `time` (a
    /// process's run time), `unfinished` (the call that a process was ended in), `interval` (computation,
    /// communication), `call` (an MPI call), `latency` and `size` (a bucket of a distribution, from `low` to
    /// `high` ns or bytes), `local` (a slice on a node) or `global` (a slice, at the strobe sender). Columns
    /// that a record does not have are empty. Times are in nanoseconds.
    Dump {
        /// Write comma-separated values (RFC 4180); the default
        #[arg(long)]
        csv: bool,
        #[command(flatten)]
        selected: Selected,
        /// Write to FILE, whole or not at all, instead of standard output
        #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
    /// Print a script that completes mds's arguments in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Manpage,
}

/// A trace, and what of it is shown.
#[derive(Args)]
pub struct Selected {
    /// Directory of the trace
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// Only these ranks of MMDS, for example 0 or 0,4-7
    #[arg(long, value_name = "RANKS", value_parser = Selection::parse)]
    pub rank: Option<Selection>,
    /// Only MMDS: what the MPI calls of each process cost
    #[arg(long)]
    pub mmds: bool,
    /// Only EMDS: what the NICs did in each slice
    #[arg(long)]
    pub emds: bool,
}
