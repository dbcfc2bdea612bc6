//! One-way times of the channels between two processes, by message size and method, and the figures behind
//! `policy/channel.rs`:
//!
//! ```text
//! cargo bench -p nic-emu --bench channel                 all sizes and methods
//! cargo bench -p nic-emu --bench channel -- 16384 1048576   these sizes
//! cargo bench -p nic-emu --bench channel -- lines        what it costs to write and to read lines of another core
//! ```
//!
//! Two processes, each with its own buffers, send messages to and fro, as the latency kernel of
//! scripts/bench.d does; the engine's part (matching, completions) is left out: both ends know that the next
//! transfer has started when they see its number. Methods take turns, batch by batch, so that what else runs
//! on the machine meets all of them; printed are the best batch and the lower quartile. Each core writes and
//! reads what a pair of ranks would.

use bcs_core::LocalRank;
use nic_emu::channel::{Buffer, End, Mine, Policy, Step, Stores, advance, copy};
use nic_emu::host::clock::ticks;
use nic_emu::host::cross_memory::CrossMemoryAttach;
use nic_emu::host::mapping::create;
use nic_emu::memory::numbers::RequestId;
use nic_emu::memory::status::{Activity, Phase};
use nic_emu::memory::transfer::{Pair, WINDOW_DATA_BYTES};
use nic_emu::memory::{Layout, NicMemory};
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

const SIZES: [usize; 6] = [16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Batches of each method.
const BATCHES: usize = 15;
/// Bytes that a batch moves, both ways together, and of its warm-up: more than once round the windows.
const BATCH_BYTES: usize = 12 << 20;
/// Seconds after which a process of the bench gives up.
const LONGEST_S: u32 = 300;

struct Method {
    name: &'static str,
    policy: Policy,
    cross_memory: bool,
    window: bool,
    /// Whether the sender does nothing, as one that computes.
    alone: bool,
}

fn methods() -> Vec<Method> {
    let policy = Policy { pipeline: true, ..Policy::measured(2, 2) };
    let window = |name, window_bytes| Method {
        name,
        policy: Policy { window_bytes, learn: false, ..policy },
        cross_memory: true,
        window: true,
        alone: false,
    };
    vec![
        Method { name: "as policy says", policy, cross_memory: true, window: true, alone: false },
        window("window of 256 KB", 256 << 10),
        window("window of 1 MB", 1 << 20),
        window("window of 2 MB", 2 << 20),
        window("window of 4 MB", WINDOW_DATA_BYTES),
        Method { name: "attach, both ends", policy, cross_memory: true, window: false, alone: false },
        Method { name: "attach, one end", policy, cross_memory: true, window: false, alone: true },
    ]
}

/// One process of the two.
struct Rank<'a> {
    memory: &'a NicMemory,
    me: u32,
    buffers: [[u64; 2]; 2],
    stores: RefCell<Stores>,
}

impl Rank<'_> {
    /// Starts the next message of a direction; its sender does.
    fn start(&self, from: u32, bytes: usize, window: bool) {
        let to = 1 - from;
        let pair = Pair {
            source: LocalRank(from),
            destination: LocalRank(to),
            source_request: RequestId(0),
            destination_request: RequestId(0),
            source_address: self.buffers[from as usize][0],
            destination_address: self.buffers[to as usize][1],
            bytes: bytes as u64,
        };
        let transfer = self.memory.transfer(from).expect("a transfer for each direction");
        transfer.prepare(&pair, window.then_some(from), bytes as u64);
        transfer.begin();
        self.turn(from).fetch_add(1, Ordering::Release);
    }

    /// Counts the messages that were started in a direction.
    fn turn(&self, from: u32) -> &AtomicU64 {
        &self.memory.places()[from as usize]
    }

    /// Moves a message of a direction, the `number`-th, until it is over.
    fn carry(&self, from: u32, bytes: usize, number: u64, method: &Method) {
        while self.turn(from).load(Ordering::Acquire) < number {
            std::hint::spin_loop();
        }
        if method.alone && self.me == from {
            let transfer = self.memory.transfer(from).expect("a transfer for each direction");
            while transfer.moved.load(Ordering::Acquire) < transfer.bytes.get() {
                std::hint::spin_loop();
            }
            return;
        }
        let (end, which) = if self.me == from { (End::Source, 0) } else { (End::Destination, 1) };
        let address = self.buffers[self.me as usize][which];
        let mine =
            Mine { end, buffer: Buffer { address, bytes: bytes as u64 }, other: None, receives: false };
        loop {
            let (policy, mut stores) = (&method.policy, self.stores.borrow_mut());
            match advance(self.memory, from, &mine, policy, &mut stores, &CrossMemoryAttach, ticks) {
                Ok(Step::Finished | Step::Over) => return,
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Sends messages to and fro; answers the seconds of a message one way.
    fn batch(&self, number: &mut u64, bytes: usize, method: &Method) -> f64 {
        let rounds = BATCH_BYTES / bytes / 2 + 2;
        self.memory.header().cross_memory.set(method.cross_memory as u32);
        let activity = if method.alone { Activity::Computing } else { Activity::Polling };
        self.memory.rank(LocalRank(self.me)).expect("a rank").status.set_activity(activity);
        let mut started = now();
        for round in 0..2 * rounds {
            if round == rounds {
                started = now();
            }
            *number += 1;
            for from in [0, 1] {
                if self.me == from {
                    self.start(from, bytes, method.window);
                }
                self.carry(from, bytes, *number, method);
            }
        }
        (now() - started) / rounds as f64 / 2.0
    }
}

fn now() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn main() {
    let asked: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { SIZES.to_vec() } else { asked };
    let longest = sizes.iter().copied().max().unwrap_or(0);
    let (memory, _) = create(Layout::new(2, 2, [0; 2]).expect("two ranks"), 0, 1).expect("NIC memory");
    // Allocated before the fork, so that each process knows the other's addresses.
    let mut buffers = [[vec![1u8; longest], vec![2u8; longest]], [vec![3u8; longest], vec![4u8; longest]]];
    let addresses = buffers.each_mut().map(|pair| pair.each_mut().map(|buffer| buffer.as_mut_ptr() as u64));
    // SAFETY: one thread; the child runs the same code and leaves by `_exit`.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "cannot fork");
    let me = (child == 0) as u32;
    // SAFETY: a process of the bench that waits for one that is gone is ended by the alarm.
    unsafe { libc::alarm(LONGEST_S) };
    let mut core = rustix::thread::CpuSet::new();
    core.set(me as usize);
    // Where it is refused the kernel places them.
    let _ = rustix::thread::sched_setaffinity(None, &core);
    for buffer in buffers.iter_mut().flatten() {
        buffer.fill(me as u8);
    }
    let status = &memory.rank(LocalRank(me)).expect("a rank").status;
    status.set_phase(Phase::Attached);
    status.set_activity(Activity::Polling);
    status.claim(std::process::id()).expect("one process is the rank");
    while memory.rank(LocalRank(1 - me)).expect("a rank").status.pid() == 0 {
        std::hint::spin_loop();
    }
    let rank = Rank { memory: &memory, me, buffers: addresses, stores: RefCell::default() };
    if std::env::args().any(|argument| argument == "lines") {
        lines(&rank);
    } else {
        messages(&rank, &sizes);
    }
    if me == 1 {
        // SAFETY: ends the child without the parent's destructors.
        unsafe { libc::_exit(0) };
    }
    // SAFETY: waits for the child of this process.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
}

/// Times messages by size and method.
fn messages(rank: &Rank<'_>, sizes: &[usize]) {
    let methods = methods();
    let mut number = 0;
    for &bytes in sizes {
        let mut times = vec![Vec::new(); methods.len()];
        for _ in 0..BATCHES {
            for (method, times) in methods.iter().zip(&mut times) {
                times.push(rank.batch(&mut number, bytes, method));
            }
        }
        if rank.me == 0 {
            println!("{bytes} bytes one way");
            for (method, times) in methods.iter().zip(&mut times) {
                times.sort_by(f64::total_cmp);
                let (best, quartile) = (times[0], times[BATCHES / 4]);
                let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
                println!(
                    "  {:<20} best {:9.2} us {:6.2} GB/s   lower quartile {:9.2} us {:6.2} GB/s",
                    method.name,
                    best * 1e6,
                    rate(best),
                    quartile * 1e6,
                    rate(quartile)
                );
            }
        }
    }
}

/// Rank 0 writes pieces into a ring in NIC memory, rank 1 reads each; prints what either costs by the ring's
/// size.
fn lines(rank: &Rank<'_>) {
    const PIECES: [usize; 5] = [1 << 10, 4 << 10, 8 << 10, 16 << 10, 64 << 10];
    const RINGS: [usize; 6] = [0, 128 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20];
    let ring_start = rank.memory.window(0).expect("a window").as_ptr();
    let mine = vec![rank.me as u8; 64 << 10];
    let mut own = mine.clone();
    let turns = |rank: &Rank<'_>, until: u64| {
        while rank.turn(0).load(Ordering::Acquire) < until {
            std::hint::spin_loop();
        }
    };
    let mut turn = 0;
    for piece in PIECES {
        for ring in RINGS {
            let places = (ring / piece).max(1);
            let rounds = (3 * places).max(1000);
            let mut times = Vec::with_capacity(rounds);
            for round in 0..rounds {
                turn += 2;
                turns(rank, turn - 2 + rank.me as u64);
                // SAFETY: a window is longer than the longest ring.
                let at = unsafe { ring_start.add(round % places * piece) };
                let started = now();
                // SAFETY: as above; the other rank waits for its turn meanwhile.
                unsafe {
                    match rank.me {
                        0 => copy(mine.as_ptr(), at, piece),
                        _ => copy(at, own.as_mut_ptr(), piece),
                    }
                }
                times.push(now() - started);
                rank.turn(0).store(turn - 1 + rank.me as u64, Ordering::Release);
            }
            let mut late = times.split_off(rounds - rounds / 2);
            late.sort_by(f64::total_cmp);
            let seconds = late[late.len() / 4];
            let what = if rank.me == 0 { "write" } else { "read " };
            println!(
                "{what} {:3} KB in a ring of {:4} KB: {:7.3} us {:6.1} GB/s",
                piece >> 10,
                ring.max(piece) >> 10,
                seconds * 1e6,
                piece as f64 / seconds / 1e9
            );
        }
    }
}
