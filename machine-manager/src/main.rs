//! `storm`, and under other names `mpiexec` and `mpirun`.

use bcs_core::JobId;
use clap::Parser;
use clap::error::ErrorKind;
use machine_manager::cli::{Storm, Verb};
use machine_manager::installation::LIBRARY_DIRECTORY;
use machine_manager::request::{self, Place, RequestError};
use machine_manager::{MachineManager, installation, manual};
use node_manager::verdict::STATUS_USAGE;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // In the launcher too, which is forked from here: what went wrong is one line, not a trace of calls.
    std::panic::set_hook(Box::new(|bug| {
        say("storm", &format!("internal error, please report it: {}", bug.to_string().replace('\n', " ")));
    }));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let program = arguments.first().map(Path::new).and_then(Path::file_name).unwrap_or_default();
    let status = match (program.to_str(), arguments.get(1).and_then(|verb| verb.to_str())) {
        (Some(name @ ("mpiexec" | "mpirun")), _) => run(name, name, &arguments[1..]),
        (_, Some("run")) => run("storm", "storm run", &arguments[2..]),
        _ => other_verbs(&arguments),
    };
    ExitCode::from(status)
}

/// Says something to the user, in one write, so that it is not mixed with what others say.
fn say(name: &str, message: &str) {
    // Where nobody listens there is nothing to do about it.
    let _ = io::stderr().write_all(format!("{name}: {message}\n").as_bytes());
}

fn run(name: &str, called: &str, arguments: &[OsString]) -> u8 {
    let machine = match MachineManager::new() {
        Ok(machine) => machine,
        Err(error) => {
            say(name, &error.to_string());
            return error.status();
        }
    };
    let library_directory = match installation::library_directory(std::env::var_os(LIBRARY_DIRECTORY)) {
        Ok(directory) => directory,
        Err(error) => {
            say(name, &error.to_string());
            return STATUS_USAGE;
        }
    };
    let place = Place {
        host: machine.host(),
        job: JobId(std::process::id().into()),
        run: run_name(machine.host()),
        library_directory,
    };
    let job = match request::job(called, arguments, place) {
        Ok(job) => job,
        Err(RequestError::Help(help)) => return print_help(&help),
        Err(error) => {
            say(name, &error.to_string());
            return STATUS_USAGE;
        }
    };
    match machine.run(&job, |remark| say(name, remark)) {
        Ok(verdict) => {
            if let Some(message) = verdict.message() {
                say(name, &message);
            }
            verdict.status()
        }
        Err(error) => {
            say(name, &error.to_string());
            error.status()
        }
    }
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

fn other_verbs(arguments: &[OsString]) -> u8 {
    match Storm::try_parse_from(arguments).map(|storm| storm.command) {
        Ok(Verb::Completions { shell }) => {
            let mut text = Vec::new();
            manual::completions(shell, &mut text);
            print(&text)
        }
        Ok(Verb::Manpage) => {
            let mut text = Vec::new();
            match manual::manual_page(&mut text) {
                Ok(()) => print(&text),
                Err(error) => {
                    say("storm", &format!("cannot write the manual page: {error}"));
                    STATUS_USAGE
                }
            }
        }
        // Only reached through an option before the verb, which there are none of.
        Ok(Verb::Run(_)) => {
            say("storm", "write the options after \"run\"");
            STATUS_USAGE
        }
        Err(error) => match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => print_help(&error),
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                say("storm", "say what to do, as in: storm run -n 4 ./program; see storm --help");
                STATUS_USAGE
            }
            _ => {
                say("storm", &format!("{}; see storm --help", request::one_line(&error)));
                STATUS_USAGE
            }
        },
    }
}

fn print(text: &[u8]) -> u8 {
    let mut out = io::stdout();
    // A closed pipe is the reader's choice (`storm manpage | head`).
    let _ = out.write_all(text).and_then(|()| out.flush());
    0
}
