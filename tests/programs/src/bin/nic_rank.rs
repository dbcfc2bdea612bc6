//! A rank that uses its NIC without an MPI library, on one node or several, so that tests see how launchers
//! take what ranks do.
//!
//! `nic_rank ring ROUNDS | finalize | leave | abort CODE MESSAGE | block | compute`

use bcs_core::{LocalRank, Rank};
use nic_emu::abort;
use nic_emu::descriptor::Check;
use nic_emu::hang::WORLD_CONTEXT;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::{Port, PortError, Send};
use nic_emu::status::WaitingFor;
use std::os::fd::{FromRawFd, OwnedFd};
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

fn variable(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

fn number(name: &str) -> u32 {
    variable(name).unwrap_or_else(|| panic!("{name} is not set"))
}

fn receive(port: &mut Port, from: u32, tag: i32) -> Result<u64, PortError> {
    let mut buffer = [0u8; 8];
    let envelope = Envelope { context: WORLD_CONTEXT, source: CommRank(from), tag };
    // SAFETY: the buffer is used by nobody else until the wait below is over.
    let request = unsafe { port.post_receive(&envelope, buffer.as_mut_ptr(), buffer.len()) }?;
    let call = mds::Primitive::Recv.index() as u32;
    let what = WaitingFor {
        call,
        context: WORLD_CONTEXT,
        peer: CommRank(from),
        tag,
        bytes: 8,
        peer_in_job: Rank(from),
        ..WaitingFor::SOMETHING
    };
    port.wait(&what, |port| port.test(request))?;
    Ok(u64::from_ne_bytes(buffer))
}

fn send(port: &mut Port, from: u32, to: u32, tag: i32, value: u64) -> Result<(), PortError> {
    let send = Send {
        context: WORLD_CONTEXT,
        source: CommRank(from),
        tag,
        destination: Rank(to),
        synchronous: false,
        check: Check::NONE,
        signature: 0,
    };
    let data = value.to_ne_bytes();
    // SAFETY: eight bytes are buffered at once.
    unsafe { port.post_send(&send, data.as_ptr(), data.len()) }?;
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rank, size) = (number("BCS_RANK"), number("BCS_SIZE"));
    let inherited = |name: &str| {
        // SAFETY: the launcher passes these descriptors for us to own.
        variable(name).map(|fd| unsafe { OwnedFd::from_raw_fd(fd as i32) })
    };
    let fd = inherited("BCS_NIC_FD").expect("BCS_NIC_FD");
    let mut port = Port::attach(fd, LocalRank(number("BCS_LOCAL_RANK"))).expect("the NIC of a rank");
    if let Some(writer) = inherited("BCS_WAKE_FD") {
        port = port.with_wake_pipe(writer);
    }
    let (next, before) = ((rank + 1) % size, (rank + size - 1) % size);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        // A number goes round, and everybody adds its rank.
        ["ring", rounds] => {
            let rounds: u64 = rounds.parse().expect("a number of rounds");
            let mut sum = 0;
            for _ in 0..rounds {
                if rank == 0 {
                    send(&mut port, rank, next, 3, sum).expect("a send");
                    sum = receive(&mut port, before, 3).expect("a receive");
                } else {
                    sum = receive(&mut port, before, 3).expect("a receive") + u64::from(rank);
                    send(&mut port, rank, next, 3, sum).expect("a send");
                }
            }
            if rank == 0 {
                println!("sum {sum}");
            }
            port.finalize();
        }
        ["finalize"] => port.finalize(),
        ["leave"] if rank == 0 => {}
        ["abort", code, message] if rank == 1 => {
            let code = code.parse().expect("a code");
            abort::say(port.memory(), port.local_rank(), code, message);
            // The others of its node leave first.
            sleep(Duration::from_millis(50));
            exit(code);
        }
        // For a message that nobody sends.
        ["block"] | ["abort", ..] => exit(i32::from(receive(&mut port, next, 7).is_err())),
        ["compute" | "leave"] => sleep(Duration::from_secs(1000)),
        _ => panic!("{words:?} is nothing to do"),
    }
}
