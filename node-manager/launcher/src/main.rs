//! The program launcher of a job on a cluster, as the node manager executes it: as the job's user, with the
//! control socket as descriptor 3, and the job's input and output as 0, 1 and 2.

use program_launcher::control::Channel;
use program_launcher::verdict::{STATUS_RUNTIME, STATUS_USAGE};
use program_launcher::{descendants, launcher, network_card};
use rustix::net::{AddressFamily, SocketType};
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

/// The control socket.
const CONTROL: RawFd = 3;

const WHAT_IT_IS: &str = "this is a part of BCS-MPI that its node manager executes on each node of a job, with a control socket as \
                          descriptor 3; to run a program, use: storm run -n 4 ./program";

fn main() -> ExitCode {
    panic::set_hook(Box::new(|bug| {
        say(&format!("internal error, please report it: {}", bug.to_string().replace('\n', " ")));
    }));
    match std::env::args().nth(1).as_deref() {
        None => {}
        Some("-V" | "--version") => {
            // A reader that has gone does not want to know.
            let _ = writeln!(io::stdout(), "program-launcher {}", env!("CARGO_PKG_VERSION"));
            return ExitCode::SUCCESS;
        }
        Some("-h" | "--help") => {
            let _ = writeln!(io::stdout(), "program-launcher: {WHAT_IT_IS}");
            return ExitCode::SUCCESS;
        }
        Some("--rdma") => return tell_network_card(),
        Some(other) => {
            say(&format!("{other:?} is no option of it: {WHAT_IT_IS}"));
            return ExitCode::from(STATUS_USAGE);
        }
    }
    let Some(control) = take_control_socket() else {
        say(WHAT_IT_IS);
        return ExitCode::from(STATUS_USAGE);
    };
    close_from(CONTROL + 1);
    let ran = panic::catch_unwind(AssertUnwindSafe(|| launcher::run_executed(Channel::new(control))));
    match ran {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            say("the node manager told it no job: it has ended, or is of another version");
            ExitCode::from(STATUS_USAGE)
        }
        Err(_) => {
            descendants::kill_all(|_| true);
            ExitCode::from(STATUS_RUNTIME)
        }
    }
}

/// `--rdma ADDRESS [PROVIDER]`: prints the network card by which libfabric reaches other nodes' memory from
/// this node, the first or that of the provider; nothing where there is none. A node manager asks: what
/// libfabric loads is not to be in a daemon.
fn tell_network_card() -> ExitCode {
    let Some(Ok(address)) = std::env::args().nth(2).map(|text| text.parse()) else {
        say("--rdma wants the address of this node that other nodes reach, and may have a provider's name");
        return ExitCode::from(STATUS_USAGE);
    };
    match network_card::find(std::env::args().nth(3).as_deref(), address) {
        Ok(card) => {
            // A reader that has gone does not want to know.
            let _ = writeln!(io::stdout(), "{card}");
        }
        Err(reason) => say(&format!("no network card for RDMA: {reason}")),
    }
    ExitCode::SUCCESS
}

/// Says something on the standard error, in one write.
fn say(message: &str) {
    // Where nobody listens there is nothing to do about it.
    let _ = io::stderr().write_all(format!("program-launcher: {message}\n").as_bytes());
}

/// The control socket, if descriptor 3 is a connected stream between processes. Nobody whom this process
/// starts inherits it.
fn take_control_socket() -> Option<OwnedFd> {
    // SAFETY: only asked about here; a number that is no descriptor gives an error.
    let fd = unsafe { BorrowedFd::borrow_raw(CONTROL) };
    rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC).ok()?;
    let is_stream = rustix::net::sockopt::socket_domain(fd) == Ok(AddressFamily::UNIX)
        && rustix::net::sockopt::socket_type(fd) == Ok(SocketType::STREAM)
        && rustix::net::getpeername(fd).is_ok();
    // SAFETY: whoever executed this program passed the descriptor for it to own, and nothing here has opened
    // one before.
    is_stream.then(|| unsafe { OwnedFd::from_raw_fd(CONTROL) })
}

/// Closes all descriptors from this one on: what this process has inherited by somebody's mistake is to reach
/// no rank, and to keep nobody's pipe open.
fn close_from(first: RawFd) {
    // SAFETY: nothing in this process has opened a descriptor yet, so that nobody's is closed; a kernel
    // without the call refuses it.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
}
