//! `storm`, and under other names `mpiexec` and `mpirun`.

use bcs_config::Config;
use bcs_core::JobId;
use clap::Parser;
use clap::error::ErrorKind;
use program_launcher::launch::Surroundings;
use program_launcher::verdict::STATUS_USAGE;
use program_launcher::{LaunchError, node_manager};
use rustix::fs::Mode;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use storm::cli::{ClusterVerb, Storm, Verb};
use storm::client::{self, ClientError};
use storm::installation::LIBRARY_DIRECTORY;
use storm::request::{self, Place, RequestError};
use storm::{cluster_init, configuration, installation, manual};

fn main() -> ExitCode {
    // In the launcher too, which is forked from here: what went wrong is one line, not a trace of calls.
    std::panic::set_hook(Box::new(|bug| {
        say("storm", &format!("internal error, please report it: {}", bug.to_string().replace('\n', " ")));
    }));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let program = arguments.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let status = match (program.to_str(), arguments.get(1).and_then(|verb| verb.to_str())) {
        (Some(name @ ("mpiexec" | "mpirun")), _) => told(name, run(name, name, &arguments[1..])),
        (_, Some("run")) => told("storm", run("storm", "storm run", &arguments[2..])),
        _ => told("storm", other_verbs(&arguments)),
    };
    ExitCode::from(status)
}

/// Says something to the user, in one write, so that it is not mixed with what others say.
fn say(name: &str, message: &str) {
    // Where nobody listens there is nothing to do about it.
    let _ = io::stderr().write_all(format!("{name}: {message}\n").as_bytes());
}

/// What went wrong, as the user is told it, and the exit status of `storm`.
struct Failure {
    message: Option<String>,
    status: u8,
}

impl Failure {
    fn new(error: impl Display, status: u8) -> Self {
        Self { message: Some(error.to_string()), status }
    }

    fn usage(error: impl Display) -> Self {
        Self::new(error, STATUS_USAGE)
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        Self { message: error.message(), status: error.status() }
    }
}

/// Tells what went wrong; gives the exit status.
fn told(name: &str, result: Result<u8, Failure>) -> u8 {
    result.unwrap_or_else(|failure| {
        if let Some(message) = failure.message {
            say(name, &message);
        }
        failure.status
    })
}

fn run(name: &str, called: &str, arguments: &[OsString]) -> Result<u8, Failure> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let library_directory =
        installation::library_directory(std::env::var_os(LIBRARY_DIRECTORY)).map_err(Failure::usage)?;
    let place =
        Place { host: &host, job: JobId(std::process::id().into()), run: run_name(&host), library_directory };
    let requested = match request::read(called, arguments, place) {
        Ok(requested) => requested,
        Err(RequestError::Help(help)) => return Ok(print_help(&help)),
        Err(error) => return Err(Failure::usage(error)),
    };
    let remark = |remark: &str| say(name, remark);
    let cluster = configuration::file(std::env::var_os(bcs_config::VARIABLE));
    let verdict = match cluster.filter(|_| !requested.is_local) {
        Some(file) => {
            let config = Config::read(&file).map_err(Failure::usage)?;
            let surroundings = surroundings().map_err(Failure::usage)?;
            client::run(&config, requested.on_cluster(&config, surroundings), remark)?
        }
        None => {
            let alone = match requested.is_local {
                true => "--local leaves the cluster out",
                false => "no cluster is configured",
            };
            let job = requested.on_one_node(&host, alone).map_err(Failure::usage)?;
            let failed = |error: LaunchError| Failure::new(&error, error.status());
            node_manager::run(&job, remark).map_err(failed)?
        }
    };
    if let Some(message) = verdict.message() {
        say(name, &message);
    }
    Ok(verdict.status())
}

/// What is around the user here, for ranks elsewhere.
fn surroundings() -> Result<Surroundings, String> {
    let directory = std::env::current_dir().map_err(|error| {
        format!("the working directory is not there any more: {error}; change to another")
    })?;
    // It can only be read by setting it; this process has one thread, and makes no file meanwhile.
    let umask = rustix::process::umask(Mode::empty());
    rustix::process::umask(umask);
    Ok(Surroundings { environment: std::env::vars_os().collect(), directory, umask: umask.bits() })
}

/// A name that no other run has: the host, the process, and the time, since process numbers come again.
#[expect(clippy::disallowed_methods, reason = "a name needs no virtual time")]
fn run_name(host: &str) -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{host}-{}-{}", std::process::id(), since.map_or(0, |since| since.as_micros()))
}

/// Prints help or a version. That its reader has gone is no failure.
fn print_help(help: &clap::Error) -> u8 {
    let _ = help.print();
    0
}

fn other_verbs(arguments: &[OsString]) -> Result<u8, Failure> {
    match Storm::try_parse_from(arguments).map(|storm| storm.command) {
        Ok(Verb::Nodes { json }) => nodes(json),
        Ok(Verb::Status { job }) => status(JobId(job)),
        Ok(Verb::Cluster { what }) => cluster(what),
        Ok(Verb::Completions { shell }) => {
            let mut text = Vec::new();
            manual::completions(shell, &mut text);
            Ok(print(&text))
        }
        Ok(Verb::Manpage) => {
            let mut text = Vec::new();
            manual::manual_page(&mut text)
                .map_err(|error| Failure::usage(format!("cannot write the manual page: {error}")))?;
            Ok(print(&text))
        }
        // Only reached through an option before the verb, which there are none of.
        Ok(Verb::Run(_)) => Err(Failure::usage("write the options after \"run\"")),
        Err(error) => Err(Failure::usage(match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => return Ok(print_help(&error)),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => match arguments.get(1) {
                Some(verb) => format!("say what is meant; see storm {} --help", verb.to_string_lossy()),
                None => "say what to do, as in: storm run -n 4 ./program; see storm --help".into(),
            },
            _ => format!("{}; see storm --help", request::one_line(&error)),
        })),
    }
}

fn nodes(json: bool) -> Result<u8, Failure> {
    let config = configuration::read(None).map_err(Failure::usage)?;
    let rows = client::nodes(&config)?;
    let text = if json { client::json(&rows) } else { client::table(&rows) };
    Ok(print(text.as_bytes()))
}

fn status(job: JobId) -> Result<u8, Failure> {
    let config = configuration::read(None).map_err(Failure::usage)?;
    let mut text = client::status(&config, job)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(print(text.as_bytes()))
}

fn cluster(what: ClusterVerb) -> Result<u8, Failure> {
    let (ClusterVerb::Init { configured }
    | ClusterVerb::Hosts { configured }
    | ClusterVerb::Add { configured, .. }
    | ClusterVerb::User { configured, .. }) = &what;
    let file =
        configured.config.clone().or_else(|| configuration::file(std::env::var_os(bcs_config::VARIABLE)));
    let config = configuration::read(file.as_deref()).map_err(Failure::usage)?;
    let text = match &what {
        ClusterVerb::Init { .. } => {
            let keys = cluster_init::init(&config).map_err(Failure::usage)?;
            cluster_init::told(&keys, &config, &file.unwrap_or_default())
        }
        ClusterVerb::Hosts { .. } => config.nodes().into_iter().map(|node| node.host + "\n").collect(),
        ClusterVerb::Add { host, .. } => {
            let path = cluster_init::add(&config, host).map_err(Failure::usage)?.path;
            let path = path.display();
            let mut text = format!(
                "made {path}  for {host}: copy it to {host}, to the same path, readable by root alone\n"
            );
            if !config.nodes().iter().any(|node| node.host == *host) {
                text.push_str(&format!(
                    "The configuration does not name {host} yet: add it to the hosts of a [[nodes]], on every host, and restart machine-manager\n"
                ));
            }
            text
        }
        ClusterVerb::User { name, .. } => {
            let path = cluster_init::user(&config, name).map_err(Failure::usage)?.path;
            format!(
                "made {}  for user {name}: give it to {name} as ~/.config/bcs-mpi/user.pem, owned by {name} and with mode 600\n",
                path.display()
            )
        }
    };
    Ok(print(text.as_bytes()))
}

fn print(text: &[u8]) -> u8 {
    let mut out = io::stdout();
    // A closed pipe is the reader's choice (`storm manpage | head`).
    let _ = out.write_all(text).and_then(|()| out.flush());
    0
}
