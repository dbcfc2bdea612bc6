//! The command line of `storm run`, as `clap` sees it: what is here is also the help, the man page and
//! the shell completions.
//!
//! `mpiexec` and `mpirun` are other names of the same program. What their users write that `clap` does
//! not know (`-np 4`, `-genv NAME VALUE`, programs apart by `:`) is put into this form by
//! [`crate::spelling`].

use crate::hostfile::{self, HostList};
use crate::value::{self, MapBy};
use bcs_config::{DEFAULT_FILE, VARIABLE};
use bcs_core::{ByteCount, SliceLength, TransportChoice, TypeCheck};
use clap::{ArgAction, Args, CommandFactory, Parser, Subcommand};
use nic_emu::arith::Arithmetic;
use program_launcher::StdinTo;
use program_launcher::binding::BindTo;
use program_launcher::verdict::EXIT_STATUSES;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Run parallel programs in which the whole machine marches to one beat.
#[derive(Debug, Parser)]
#[command(name = "storm", version, arg_required_else_help = true, subcommand_required = true)]
pub struct Storm {
    /// What to do.
    #[command(subcommand)]
    pub command: Verb,
}

/// The verbs of `storm`.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a parallel program and wait for its end.
    Run(Box<Run>),
    /// Show the nodes of the cluster.
    Nodes {
        /// As JSON, for programs.
        #[arg(long)]
        json: bool,
    },
    /// Show what a running job does: each rank, and what it waits for.
    Status {
        /// The number of the job, as "storm nodes" shows it.
        #[arg(value_parser = value::job)]
        job: u64,
    },
    /// Make the keys of a cluster, and show its hosts.
    Cluster {
        /// What to make.
        #[command(subcommand)]
        what: ClusterVerb,
    },
    /// Print the completions for a shell.
    Completions {
        /// The shell: bash, elvish, fish, powershell or zsh.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, as roff.
    Manpage,
}

/// What `storm cluster` makes.
#[derive(Debug, Subcommand)]
pub enum ClusterVerb {
    /// Make the cluster's authority, and the credentials of the manager and of all configured hosts.
    /// What is there already is kept.
    Init {
        /// The configuration.
        #[command(flatten)]
        configured: Configured,
    },
    /// Print the configured hosts, one a line.
    Hosts {
        /// The configuration.
        #[command(flatten)]
        configured: Configured,
    },
    /// Make the credential of one more host.
    Add {
        /// The host, as the configuration names it.
        host: String,
        /// The configuration.
        #[command(flatten)]
        configured: Configured,
    },
    /// Make the credential with which a user reaches the manager from hosts other than the manager's own.
    User {
        /// The name of the user's account on the manager's host.
        name: String,
        /// The configuration.
        #[command(flatten)]
        configured: Configured,
    },
}

/// Which configuration a verb of `storm cluster` is about.
#[derive(Debug, Args)]
pub struct Configured {
    /// The file, where it is not the usual one.
    #[arg(long, value_name = "FILE", help = format!("The configuration [default: what {VARIABLE} names, else {DEFAULT_FILE}]"))]
    pub config: Option<PathBuf>,
}

/// Run a parallel program and wait for its end.
///
/// Several programs may run as one job, apart by ":", each with its own -n, --env and --wdir; their
/// ranks are numbered through. No daemon and no configuration is needed: on a machine without a
/// cluster, the job runs here. A cluster is used where one is configured: by the file that BCS_CONFIG
/// names, else by /etc/bcs-mpi/cluster.toml. More ranks than cores need no option.
///
/// "mpiexec" and "mpirun" are the same program as "storm run". Long options may have one dash, and
/// -np RANKS, -env NAME VALUE, -genv NAME VALUE, -hosts NAMES and their like are understood.
#[derive(Debug, Parser)]
#[command(name = "run", override_usage = "storm run [OPTIONS] PROGRAM [ARGUMENTS]... [: [OPTIONS] PROGRAM [ARGUMENTS]...]...", after_help = "storm run --help shows all options.", after_long_help = exit_statuses())]
pub struct Run {
    /// Options of the whole job.
    #[command(flatten)]
    pub job: JobOptions,
    /// The first program.
    #[command(flatten)]
    pub section: Section,
}

/// A program after the first ":".
#[derive(Debug, Parser)]
#[command(name = "run", disable_help_flag = true)]
pub struct LaterSection {
    /// The program and its own options.
    #[command(flatten)]
    pub section: Section,
}

/// Options that stand before the first program and are for all.
#[derive(Debug, Args)]
pub struct JobOptions {
    /// Run on this machine alone, also where a cluster is configured.
    #[arg(long, help_heading = "Nodes", hide_short_help = true)]
    pub local: bool,
    /// Start each line of output with the rank that wrote it.
    ///
    /// Lines are never mixed; one of more than 64 KiB is cut. --tag-output is the same.
    #[arg(short = 'l', long = "label", aliases = ["tag-output", "prepend-rank"], help_heading = "Job")]
    pub label: bool,
    /// Who reads the standard input: a rank, "all" or "none". For "all", the slowest reader sets the
    /// pace.
    #[arg(long, value_name = "RANK|all|none", default_value = "0", value_parser = value::stdin, help_heading = "Job", hide_short_help = true)]
    pub stdin: StdinTo,
    /// End the job after this time, with a report of what each rank did.
    #[arg(long, value_name = "SECONDS", value_parser = value::seconds, help_heading = "Job")]
    pub timeout: Option<Duration>,
    /// Set a variable for every program of the job.
    #[arg(long = "genv", value_name = "NAME=VALUE", value_parser = value::variable, help_heading = "Job", hide_short_help = true)]
    pub genv: Vec<(OsString, OsString)>,
    /// How time slices are cut: as soon as there is work, or one each period (500us, 2ms) [default: as the
    /// cluster's configuration says, else elastic].
    #[arg(long, value_name = "elastic|LENGTH", value_parser = value::slice, help_heading = "NIC", hide_short_help = true)]
    pub slice: Option<SliceLength>,
    /// What carries messages between nodes: TCP; QUIC for long paths and networks that lose packets; RDMA by
    /// libfabric (ofi), with the first network card that is there, or this provider of libfabric's; auto:
    /// RDMA where all nodes of the job have such a card, else TCP [default: as the cluster's configuration
    /// says, else tcp].
    #[arg(
        long,
        value_name = bcs_core::transport::VALUE_NAME,
        value_parser = value::network,
        help_heading = "NIC",
        hide_short_help = true
    )]
    pub network: Option<TransportChoice>,
    /// Give this core to the NIC for good.
    #[arg(long, value_name = "CORE", value_parser = value::core, help_heading = "NIC", hide_short_help = true)]
    pub nic_core: Option<usize>,
    /// What computes reductions. The bits are the same.
    #[arg(long, value_name = "native|softfloat", default_value = "native", value_parser = value::arithmetic, help_heading = "NIC", hide_short_help = true)]
    pub nic_arith: Arithmetic,
    /// Whether the kernel may copy messages from process to process.
    #[arg(long, value_name = "auto|off", default_value = "auto", value_parser = value::cross_memory, action = ArgAction::Set, help_heading = "NIC", hide_short_help = true)]
    pub cross_memory: bool,
    /// Use this algorithm of a collective wherever it can be used (allreduce=shares,bcast=binomial). The
    /// variable BCS_COLLECTIVE does the same. What there are, docs/collectives.md says.
    #[arg(
        long,
        value_name = "COLLECTIVE=ALGORITHM",
        value_delimiter = ',',
        help_heading = "NIC",
        hide_short_help = true
    )]
    pub collective: Vec<String>,
    /// How many bytes of messages each rank may leave unreceived on its node while their sends are complete.
    /// Above it, a send waits for its receive. The units are B, KB, MB, GB, KiB, MiB, GiB; a number alone is
    /// bytes.
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = value::bytes, help_heading = "NIC", hide_short_help = true)]
    pub unexpected_limit: ByteCount,
    /// Bind each rank to a thread, core, socket or the like.
    ///
    /// To a hardware thread, a core, what shares a cache or memory, or a socket of its node, in turn. Ranks
    /// that are not bound go where the kernel puts them.
    #[arg(long, alias = "cpu-bind", value_name = "UNIT", default_value = "none", help_heading = "Placement")]
    pub bind_to: BindTo,
    /// Say to which processors each rank is bound.
    #[arg(long, alias = "display-bindings", help_heading = "Placement", hide_short_help = true)]
    pub report_bindings: bool,
    /// Compare the datatypes of messages with those of their receives, and raise MPI_ERR_TYPE where they are
    /// different kinds of numbers ("kinds", as without a value; bytes match anything), or not of the same
    /// basic types ("strict", the standard's rule). The variable BCS_CHECK_TYPES does the same.
    #[arg(long, value_name = "kinds|strict|off", num_args = 0..=1, require_equals = true, default_missing_value = "kinds", help_heading = "Checks", hide_short_help = true)]
    pub check_types: Option<TypeCheck>,
    /// Record what each process does in MPI: all of them, or these ranks (0,4-7).
    #[arg(long, value_name = "RANKS", num_args = 0..=1, require_equals = true, default_missing_value = "all", help_heading = "Monitoring (MDS)", hide_short_help = true)]
    pub mmds: Option<String>,
    /// Record what the NICs do slice by slice: the first 10000 slices, or these (first:last).
    #[arg(long, value_name = "FIRST:LAST", num_args = 0..=1, require_equals = true, default_missing_value = "on", help_heading = "Monitoring (MDS)", hide_short_help = true)]
    pub emds: Option<String>,
    /// Where the records go, for the mds program to read [default: bcs-trace].
    #[arg(long, value_name = "DIR", help_heading = "Monitoring (MDS)", hide_short_help = true)]
    pub trace_dir: Option<PathBuf>,
}

/// A program with the options that are for it alone.
#[derive(Debug, Args)]
pub struct Section {
    /// How many ranks run the program; -np and --ntasks are the same.
    ///
    /// Without it there is one; of a single program as many as --nodes and --ppn make, or as many as the
    /// hosts that --host or --hostfile names take (one each, or the number that stands with it; or --ppn).
    #[arg(
        short = 'n',
        aliases = ["np", "n", "ntasks"],
        value_name = "RANKS",
        value_parser = value::ranks,
        allow_negative_numbers = true,
        help_heading = "Program"
    )]
    pub ranks: Option<u32>,
    /// Set a variable for the program.
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = value::variable, help_heading = "Program")]
    pub env: Vec<(OsString, OsString)>,
    /// Set a variable for the program; without a value, pass on the one that is set here (all are).
    #[arg(short = 'x', value_name = "NAME[=VALUE]", value_parser = value::exported, help_heading = "Program", hide_short_help = true)]
    pub export: Vec<Option<(OsString, OsString)>>,
    /// Run the program in this directory.
    ///
    /// A relative path of the program starts there.
    #[arg(long = "wdir", aliases = ["wd", "chdir", "cd"], visible_alias = "chdir", value_name = "DIR", help_heading = "Program")]
    pub wdir: Option<PathBuf>,
    /// On which nodes.
    #[command(flatten)]
    pub nodes: NodeOptions,
    /// Options of other launchers that change nothing here.
    #[command(flatten)]
    pub ignored: Ignored,
    /// The program and its arguments.
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    pub command: Vec<OsString>,
}

/// Where the ranks of the job run. All programs of a job have the same nodes, so these are given once.
#[derive(Debug, Args)]
pub struct NodeOptions {
    /// The nodes to run on, in this order (a,b:2,c[00-07]).
    ///
    /// Each perhaps with the number of ranks that it takes before the next one gets some (a:4,b:2), which is
    /// 1 otherwise. Naming one again adds to it.
    #[arg(short = 'H', long = "host", aliases = ["hosts", "nodelist"], value_name = "HOSTS", value_parser = hostfile::list, help_heading = "Nodes")]
    pub host: Vec<HostList>,
    /// A file with the nodes to run on, one a line.
    ///
    /// Each perhaps with a number of ranks (a slots=4, or a:4), which is that of its cores otherwise.
    #[arg(short = 'f', long = "hostfile", aliases = ["machinefile", "default-hostfile"], value_name = "FILE", help_heading = "Nodes")]
    pub hostfile: Vec<PathBuf>,
    /// At most this many ranks on a node.
    ///
    /// So many before the next one gets some, and never more; -ppn, --npernode and --ntasks-per-node are the
    /// same.
    #[arg(long = "ppn", aliases = ["perhost", "npernode", "ntasks-per-node"], value_name = "RANKS", value_parser = value::count, help_heading = "Nodes")]
    pub ppn: Option<u32>,
    /// On exactly so many nodes, evenly.
    #[arg(short = 'N', long = "nodes", alias = "nnodes", value_name = "NODES", value_parser = value::count, help_heading = "Nodes")]
    pub nodes: Option<u32>,
    /// How ranks are dealt to nodes: the slots of one after the other, or one to each node in turn;
    /// ppr:N:node is --ppn N.
    #[arg(long = "map-by", value_name = "slot|node", value_parser = value::map_by, help_heading = "Nodes", hide_short_help = true)]
    pub map_by: Option<MapBy>,
}

/// Options that users and scripts pass out of habit, and that are harmless to leave out.
#[derive(Debug, Args)]
pub struct Ignored {
    /// Accepted: more ranks than cores need no option.
    #[arg(
        long,
        alias = "map-by-oversubscribe",
        help_heading = "Accepted and ignored",
        hide_short_help = true
    )]
    oversubscribe: bool,
    /// Accepted: root may run jobs.
    #[arg(long, help_heading = "Accepted and ignored", hide_short_help = true)]
    allow_run_as_root: bool,
    /// Accepted: ranks are numbered in the order in which they are dealt to nodes.
    #[arg(long, value_name = "POLICY", help_heading = "Accepted and ignored", hide_short_help = true)]
    rank_by: Vec<String>,
    /// Accepted: parameters of Open MPI.
    #[arg(long, aliases = ["gmca", "prtemca", "pmixmca"], num_args = 2, value_names = ["NAME", "VALUE"], help_heading = "Accepted and ignored", hide_short_help = true)]
    mca: Vec<String>,
    /// Accepted: every variable is passed to the ranks.
    #[arg(long, alias = "envall", help_heading = "Accepted and ignored", hide_short_help = true)]
    genvall: bool,
    /// Accepted: every variable is passed to the ranks, and so are these.
    #[arg(
        long,
        alias = "envlist",
        value_name = "NAMES",
        help_heading = "Accepted and ignored",
        hide_short_help = true
    )]
    genvlist: Vec<String>,
}

fn exit_statuses() -> String {
    let mut text = String::from("Exit status:\n");
    for (status, meaning) in EXIT_STATUSES {
        text.push_str(&format!("  {status:<6} {meaning}\n"));
    }
    text
}

/// The command line of the first section, under the name that the user called.
pub fn run_command(called: &str) -> clap::Command {
    let usage = format!("{called} [OPTIONS] PROGRAM [ARGUMENTS]... [: [OPTIONS] PROGRAM [ARGUMENTS]...]...");
    let run = Run::command().bin_name(called.to_owned()).display_name(called.to_owned());
    run.version(env!("CARGO_PKG_VERSION")).override_usage(usage)
}

/// The command line of a section after ":".
pub fn later_section_command(called: &str) -> clap::Command {
    LaterSection::command().bin_name(called.to_owned())
}
