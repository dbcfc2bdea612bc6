//! What the NIC itself costs, without MPI on top: one-way time, message rate and barrier of ranks that are
//! forked processes. `cargo run --release -p nic-emu --example port_pingpong [RANKS]`; with `one`, both ranks
//! are in one thread: what a message costs in instructions, without the cache lines that cross (run it under
//! `valgrind --tool=callgrind`).

use bcs_core::{LocalRank, NodeId, Placement, Rank, SliceLength};
use nic_emu::arithmetic::Arithmetic;
use nic_emu::contexts::Context;
use nic_emu::descriptor::Check;
use nic_emu::host::{CrossMemory, NicConfig, NicHost};
use nic_emu::matching::Envelope;
use nic_emu::memory::descriptor::CollectiveKind;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::memory::status::WaitingFor;
use nic_emu::port::{Collective, Outcome, Port, Posted, Send, now_ns};

const WAIT: WaitingFor = WaitingFor {
    call: 0,
    context: Context(2),
    peer: CommRank(0),
    peer_in_job: Rank(0),
    ..WaitingFor::SOMETHING
};

fn send(port: &mut Port, to: u32, data: &[u8]) {
    let send = Send {
        context: Context(2),
        source: CommRank(port.local_rank().0),
        tag: 1,
        destination: Rank(to),
        synchronous: false,
        check: Check::NONE,
        signature: 0,
    };
    // SAFETY: `data` outlives the wait below.
    match unsafe { port.post_send(&send, data.as_ptr(), data.len()) }.unwrap() {
        Posted::Complete => {}
        Posted::Request(request) => {
            port.wait_for(Some(request), &WAIT, |port| port.test(request)).unwrap();
        }
    }
}

fn post_receive(port: &mut Port, from: u32, data: &mut [u8]) -> RequestId {
    // SAFETY: the callers wait for the request before `data` goes.
    unsafe {
        port.post_receive(
            &Envelope { context: Context(2), source: CommRank(from), tag: 1 },
            data.as_mut_ptr(),
            data.len(),
        )
    }
    .unwrap()
}

fn receive(port: &mut Port, from: u32, data: &mut [u8]) -> Outcome {
    let request = post_receive(port, from, data);
    port.wait_for(Some(request), &WAIT, |port| port.test(request)).unwrap()
}

fn barrier(port: &mut Port, ranks: u32, sequence: &mut u32) {
    let rank = port.local_rank().0;
    let collective = Collective {
        kind: CollectiveKind::Barrier,
        operation: (0, 0),
        context: Context(3),
        comm: (CommRank(rank).into(), ranks),
        root: CommRank(0).into(),
        call: mds::Primitive::Barrier.index() as u8,
        most_bytes: 0,
        sequence: *sequence,
        local: (rank as u16, ranks as u16),
    };
    *sequence += 1;
    // SAFETY: no data.
    let request =
        unsafe { port.post_collective(&collective, std::ptr::null(), 0, true, None) }.unwrap().unwrap();
    port.wait_for(Some(request), &WAIT, |port| port.test_collective(request)).unwrap();
}

fn run(mut port: Port, ranks: u32) {
    let rank = port.local_rank().0;
    let mut sequence = 0;
    for bytes in [8usize, 64, 1024, 8192, 16384, 65536, 1 << 20, 4 << 20] {
        barrier(&mut port, ranks, &mut sequence);
        let count = if bytes <= 1024 {
            200_000
        } else if bytes <= 65536 {
            20_000
        } else {
            500
        };
        let (out, mut back) = (vec![1u8; bytes], vec![0u8; bytes]);
        let mut best = u64::MAX;
        let windows = if bytes <= 65536 { 100 } else { 5 };
        for _ in 0..windows {
            let start = now_ns();
            for _ in 0..count / windows {
                if rank == 0 {
                    send(&mut port, 1, &out);
                    receive(&mut port, 1, &mut back);
                } else if rank == 1 {
                    receive(&mut port, 0, &mut back);
                    send(&mut port, 0, &out);
                }
            }
            best = best.min((now_ns() - start) / (2 * count / windows));
        }
        if rank == 0 {
            println!("{bytes:>8} B one-way {best:>7} ns  {:.1} GB/s", bytes as f64 / best as f64);
        }
    }
    barrier(&mut port, ranks, &mut sequence);
    let (window, rounds) = (64, 100);
    let mut back = vec![[0u8; 8]; window];
    let mut best = u64::MAX;
    for _ in 0..300 {
        let start = now_ns();
        for _ in 0..rounds {
            if rank == 0 {
                for _ in 0..window {
                    send(&mut port, 1, &[1; 8]);
                }
            } else if rank == 1 {
                let requests: Vec<_> = back.iter_mut().map(|b| post_receive(&mut port, 0, b)).collect();
                for request in requests {
                    port.wait_for(Some(request), &WAIT, |port| port.test(request)).unwrap();
                }
            }
        }
        best = best.min((now_ns() - start) / rounds / window as u64);
        barrier(&mut port, ranks, &mut sequence);
    }
    if rank == 0 {
        println!("8 B rate: {best} ns a message");
    }
    let mut best = u64::MAX;
    for _ in 0..100 {
        let start = now_ns();
        let count = if ranks > 2 { 100 } else { 2_000 };
        for _ in 0..count {
            barrier(&mut port, ranks, &mut sequence);
        }
        best = best.min((now_ns() - start) / count);
    }
    if rank == 0 {
        println!("barrier of {ranks}: {best} ns");
    }
}

/// Two ranks in one thread.
fn run_in_one_thread(host: &NicHost) {
    let mut ports = [0, 1].map(|rank| Port::open(host.memory().clone(), LocalRank(rank)).unwrap());
    let mut back = [0u8; 8];
    let (mut best, mut best_window) = (u64::MAX, u64::MAX);
    for _ in 0..200 {
        let start = now_ns();
        for _ in 0..1000 {
            let request = post_receive(&mut ports[1], 0, &mut back);
            send(&mut ports[0], 1, &[1; 8]);
            ports[1].wait(&WAIT, |port| port.test(request)).unwrap();
        }
        best = best.min((now_ns() - start) / 1000);
        let start = now_ns();
        let mut requests = [RequestId::NONE; 64];
        for _ in 0..16 {
            for request in &mut requests {
                *request = post_receive(&mut ports[1], 0, &mut back);
                send(&mut ports[0], 1, &[1; 8]);
            }
            for request in requests {
                ports[1].wait(&WAIT, |port| port.test(request)).unwrap();
            }
        }
        best_window = best_window.min((now_ns() - start) / (16 * 64));
    }
    println!("one thread: send, receive and slice {best} ns; in windows of 64 {best_window} ns a message");
}

fn main() {
    let one = std::env::args().nth(1).is_some_and(|arg| arg == "one");
    let ranks = if one { 2 } else { ranks() };
    let config = NicConfig {
        job: bcs_core::JobId(1),
        placement: Placement::one_node(ranks),
        node: NodeId(0),
        slice: SliceLength::Elastic,
        arithmetic: Arithmetic::Native,
        cross_memory: CrossMemory::WhereFaster,
        context_slots: nic_emu::memory::contexts::SLOTS,
        unexpected_bytes: nic_emu::memory::unexpected::DEFAULT_LIMIT_BYTES,
        emds: None,
        nic_core: None,
    };
    let mut host = NicHost::create(&config).unwrap();
    if one {
        return run_in_one_thread(&host);
    }
    let mut children = Vec::new();
    for rank in 0..ranks {
        // SAFETY: the process has one thread.
        match unsafe { libc::fork() } {
            0 => {
                run(Port::open(host.memory().clone(), LocalRank(rank)).unwrap(), ranks);
                std::process::exit(0);
            }
            pid => children.push(pid),
        }
    }
    host.start(None).unwrap();
    for pid in children {
        // SAFETY: waits for a child of this process.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
    if let Some(finding) = host.finding() {
        println!("{finding:?}");
    }
    host.stop();
}

fn ranks() -> u32 {
    std::env::args().nth(1).map_or(2, |n| n.parse().expect("RANKS is a number"))
}
