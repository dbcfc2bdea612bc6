//! The man page and the shell completions, made from the declaration of the command line.

use crate::cli::{Run, Storm};
use crate::client::connection::CREDENTIAL;
use crate::installation::LIBRARY_DIRECTORY;
use bcs_config::{DEFAULT_FILE, VARIABLE};
use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use program_launcher::environment;
use program_launcher::verdict::EXIT_STATUSES;
use std::io::{self, Write};

const ENVIRONMENT: &[(&str, &str)] = &[
    (environment::RANK, "The number of the rank."),
    (environment::SIZE, "How many ranks the job has."),
    (environment::LOCAL_RANK, "The number of the rank among those on its node; also as MPI_LOCALRANKID."),
    (environment::LOCAL_SIZE, "How many ranks of the job run on the node; also as MPI_LOCALNRANKS."),
    (environment::APPLICATION, "Which program of the command line the rank runs, from 0."),
    (environment::UNIVERSE_SIZE, "How many ranks the job could have in all."),
    (environment::JOB, "The job, by a text that no other run has."),
    (environment::NIC_FD, "The file descriptor of the NIC memory."),
    (environment::LAUNCHER, "The process id of the program launcher."),
];

/// Beside the variable of the configuration.
const OWN_ENVIRONMENT: &[(&str, &str)] = &[
    (
        CREDENTIAL,
        "The credential with which to reach the manager from another host, instead of ~/.config/bcs-mpi/user.pem.",
    ),
    (
        LIBRARY_DIRECTORY,
        "The directory of the MPI library that the ranks are to use, where it is not the installation's.",
    ),
];

const SIGNALS: &str = "SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1 and SIGUSR2 are passed on to every rank. A second SIGINT kills the job. \
    SIGTSTP stops the ranks and storm, and SIGCONT lets them go on. When a rank fails, the others get SIGTERM, and SIGKILL 0.3 seconds later. \
    Whatever kills storm, its launcher or a rank, no process of the job is left.";

const EXAMPLES: &[(&str, &str)] = &[
    ("storm run -n 4 ./sweep", "Run four ranks of a program."),
    ("mpiexec -n 1 ./master : -n 7 ./worker", "Run a job of two programs."),
    ("storm run -N 4 --ppn 2 ./sweep", "Run eight ranks, two on each of four nodes of the cluster."),
    ("storm nodes", "Show which nodes are up, and which jobs run there."),
    (
        "storm run -n 8 --timeout 600 --mmds -l ./hydro",
        "Label the output, record MPI calls, and end the job after ten minutes.",
    ),
];

/// Writes the manual page of `storm`, as roff.
///
/// # Errors
/// What writing fails with.
pub fn manual_page(out: &mut dyn Write) -> io::Result<()> {
    let storm = Storm::command();
    // The page leaves nothing to a longer help.
    let run = Run::command().mut_args(|arg| arg.hide_short_help(false));
    Man::new(storm.clone()).title("storm").render_title(out)?;
    let mut head = Roff::new();
    head.control("SH", ["NAME"]);
    head.text([roman("storm, mpiexec, mpirun - run parallel programs in time slices")]);
    head.control("SH", ["SYNOPSIS"]);
    for usage in [
        "storm run [OPTIONS] PROGRAM [ARGUMENTS]... [: [OPTIONS] PROGRAM [ARGUMENTS]...]...",
        "mpiexec [OPTIONS] PROGRAM [ARGUMENTS]... [: [OPTIONS] PROGRAM [ARGUMENTS]...]...",
        "storm nodes [--json]",
        "storm status JOB",
        "storm cluster init|hosts|add HOST|user NAME [--config FILE]",
        "storm completions SHELL",
        "storm manpage",
    ] {
        head.text([bold(usage)]);
        head.control("br", []);
    }
    head.to_writer(out)?;
    let man = Man::new(run);
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    let mut tail = Roff::new();
    let list = |tail: &mut Roff, title: &str, entries: &mut dyn Iterator<Item = (&str, &str)>| {
        tail.control("SH", [title]);
        for (term, meaning) in entries {
            tail.control("TP", []);
            tail.text([bold(term)]);
            tail.text([roman(meaning)]);
        }
    };
    list(&mut tail, "EXIT STATUS", &mut EXIT_STATUSES.iter().copied());
    tail.control("SH", ["SIGNALS"]);
    tail.text([roman(SIGNALS)]);
    let configuration = format!(
        "The file that describes the cluster, instead of {DEFAULT_FILE}; if it is empty, this machine is alone."
    );
    let own = [(VARIABLE, configuration.as_str())];
    list(&mut tail, "ENVIRONMENT", &mut own.into_iter().chain(OWN_ENVIRONMENT.iter().copied()));
    list(&mut tail, "ENVIRONMENT OF THE RANKS", &mut ENVIRONMENT.iter().copied());
    list(&mut tail, "EXAMPLES", &mut EXAMPLES.iter().copied());
    tail.control("SH", ["SEE ALSO"]);
    tail.text([bold("mds"), roman("(1)")]);
    tail.to_writer(out)
}

/// Writes the completions of `storm` for a shell.
pub fn completions(shell: clap_complete::Shell, out: &mut dyn Write) {
    clap_complete::generate(shell, &mut Storm::command(), "storm", out);
}
