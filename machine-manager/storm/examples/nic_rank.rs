//! A rank that uses its NIC without an MPI library, so that tests see how the launcher takes what ranks do.
//!
//! `nic_rank finalize | leave | abort CODE MESSAGE | deadlock | compute`

use bcs_core::{LocalRank, Rank};
use nic_emu::abort;
use nic_emu::hang::WORLD_CONTEXT;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::CommRank;
use nic_emu::port::{Port, Send};
use nic_emu::status::WaitingFor;
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Duration;

fn number(name: &str) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{name} is not set"))
}

fn receive(port: &mut Port, from: u32, tag: i32) -> Result<(), nic_emu::port::PortError> {
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
    port.wait(&what, |port| port.test(request)).map(drop)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rank, size) = (number("BCS_RANK"), number("BCS_SIZE"));
    let fd = number("BCS_NIC_FD") as i32;
    // SAFETY: the launcher passes this descriptor for us to own.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut port = Port::attach(fd, LocalRank(number("BCS_LOCAL_RANK"))).expect("the NIC of a rank");
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["ring"] => {
            let next = (rank + 1) % size;
            let send = Send {
                context: WORLD_CONTEXT,
                source: CommRank(rank),
                tag: 3,
                destination: Rank(next),
                synchronous: false,
                signature: 0,
            };
            let data = [1u8; 8];
            // SAFETY: eight bytes are buffered at once.
            unsafe { port.post_send(&send, data.as_ptr(), data.len()) }.expect("a send");
            receive(&mut port, (rank + size - 1) % size, 3).expect("a receive");
            port.finalize();
        }
        ["leave"] if rank == 0 => {}
        ["abort", code, message] if rank == 1 => {
            let code = code.parse().expect("a code");
            abort::say(port.memory(), port.local_rank(), code, message);
            std::thread::sleep(Duration::from_millis(50));
            std::process::exit(code);
        }
        ["abort", ..] => {
            let ended = receive(&mut port, 1, 9);
            std::process::exit(if ended.is_err() { 1 } else { 0 });
        }
        ["deadlock"] => receive(&mut port, (rank + 1) % size, 7).unwrap_or_else(|_| std::process::exit(1)),
        ["finalize"] => port.finalize(),
        _ => std::thread::sleep(Duration::from_secs(1000)),
    }
}
