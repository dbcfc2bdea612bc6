//! Channels across processes: every message arrives byte for byte, whoever of the two ends and the NIC thread
//! is there to move it, and a peer that dies is an error.
//!
//! The second process is a fork of the test, with NIC memory mapped before: as in a job, where the ranks are
//! other processes than the launcher.

use bcs_core::{LocalRank, Rank};
use bcs_harness::refuse_attach;
use nic_emu::channel::{
    self, Access, Buffer, ChannelError, End, Mine, Peer, Policy, Step, Stores, advance_from_outside,
};
use nic_emu::host::clock::{now_ns, ticks};
use nic_emu::host::cross_memory::CrossMemoryAttach;
use nic_emu::host::mapping::create;
use nic_emu::memory::numbers::RequestId;
use nic_emu::memory::status::{Activity, Phase};
use nic_emu::memory::transfer::{Pair, REPORTED, Transfer};
use nic_emu::memory::{Layout, NicMemory};
use nic_emu::threads::dma_helper::finish;
use std::cell::RefCell;
use std::sync::atomic::Ordering;

const SOURCE: LocalRank = LocalRank(0);
const DESTINATION: LocalRank = LocalRank(1);
const REQUEST: RequestId = RequestId(7);

/// What a child process answers.
const OK: i32 = 0;

/// The sizes that matter to how messages are cut, and their neighbours.
const SIZES: [usize; 11] =
    [0, 1, 63, 8_193, 16_384, 65_537, 262_144, 524_289, 1 << 20, (1 << 20) + 4_097, (9 << 20) + 1];

thread_local! {
    /// What each end has learnt of its stores.
    static STORES: RefCell<Stores> = RefCell::default();
}

/// Advances a message whose buffers are as its record says.
fn advance(memory: &NicMemory, transfer: u32, end: End, policy: &Policy) -> Result<Step, ChannelError> {
    let record = memory.transfer(transfer)?;
    let buffer = |address: u64| Buffer { address, bytes: record.bytes.get() };
    let (source, destination) =
        (buffer(record.source_address.get()), buffer(record.destination_address.get()));
    let (buffer, other) = match end {
        End::Source => (source, destination),
        End::Destination => (destination, source),
    };
    let is_to_itself = record.source.get() == record.destination.get();
    let mine = Mine { end, buffer, other: is_to_itself.then_some(other), receives: false };
    STORES.with_borrow_mut(|stores| {
        channel::advance(memory, transfer, &mine, policy, stores, &CrossMemoryAttach, ticks)
    })
}

fn nic_memory(cross_memory: bool) -> NicMemory {
    let (memory, _) = create(Layout::new(2, 2, [0; 2]).unwrap(), 0, 1).unwrap();
    memory.header().cross_memory.set(cross_memory as u32);
    memory.header().cores.set(2);
    for rank in [SOURCE, DESTINATION] {
        memory.rank(rank).unwrap().status.set_phase(Phase::Attached);
    }
    memory
}

/// Runs `body` in a child process; answers its number.
fn fork(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs test code that allocates little and takes no lock that another test's thread may
    // hold for long (glibc's allocator is made safe across fork), then leaves without destructors.
    match unsafe { libc::fork() } {
        0 => {
            let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).unwrap_or(99);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(code) }
        }
        pid => {
            assert!(pid > 0, "cannot fork");
            pid
        }
    }
}

fn wait_for(pid: i32) -> i32 {
    let mut status = 0;
    // SAFETY: waits for a child of this process.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 1000 + libc::WTERMSIG(status) }
}

fn announce(memory: &NicMemory, rank: LocalRank, pid: u32, activity: Activity) {
    let status = &memory.rank(rank).unwrap().status;
    status.set_activity(activity);
    if pid != 0 {
        status.claim(pid).expect("one process is the rank");
    }
}

fn pattern(seed: u64, bytes: usize) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..bytes)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        })
        .collect()
}

/// Moves by one end until the whole message is in place.
fn drive(memory: &NicMemory, end: End, policy: &Policy) -> Result<(), ChannelError> {
    let transfer = memory.transfer(0)?;
    loop {
        match advance(memory, 0, end, policy)? {
            Step::Finished => {
                finish(memory, 0)?;
                return Ok(());
            }
            Step::Over if is_over(transfer) => return Ok(()),
            Step::Progress => {}
            _ => std::thread::yield_now(),
        }
    }
}

/// Starts a transfer between a buffer of the child and one of this process (both were allocated before the
/// fork, so that their addresses are known here).
fn start(memory: &NicMemory, source: &[u8], destination: &mut [u8], window: Option<u32>) {
    let transfer = memory.transfer(0).unwrap();
    transfer.prepare(
        &Pair {
            source: SOURCE,
            destination: DESTINATION,
            source_request: REQUEST,
            destination_request: REQUEST,
            source_address: source.as_ptr() as u64,
            destination_address: destination.as_mut_ptr() as u64,
            bytes: source.len().min(destination.len()) as u64,
        },
        window,
        0,
    );
    transfer.begin();
}

fn grant(transfer: &Transfer, bytes: u64) {
    transfer.granted.store(bytes.min(transfer.bytes.get()), Ordering::Release);
}

fn is_over(transfer: &Transfer) -> bool {
    transfer.finished.load(Ordering::Acquire) == REPORTED
}

struct Scene {
    source: Activity,
    destination: Activity,
    cross_memory: bool,
    window: bool,
    pipeline: bool,
}

/// The child is the sender, this process is the receiver; who is not in MPI does nothing.
fn move_one(scene: &Scene, bytes: usize) {
    let memory = nic_memory(scene.cross_memory);
    let transfer = memory.transfer(0).unwrap();
    let policy = Policy { pipeline: scene.pipeline, ..Policy::measured(2, 2) };
    let expected = pattern(bytes as u64, bytes);
    let mut source = vec![0u8; bytes];
    let mut destination = vec![0u8; bytes];
    announce(&memory, DESTINATION, std::process::id(), scene.destination);
    announce(&memory, SOURCE, 0, scene.source);
    start(&memory, &source, &mut destination, scene.window.then_some(3));
    let child = fork(|| {
        source.copy_from_slice(&expected);
        announce(&memory, SOURCE, std::process::id(), scene.source);
        grant(transfer, u64::MAX);
        if scene.source == Activity::Computing {
            while !is_over(transfer) {
                std::thread::yield_now();
            }
            return OK;
        }
        drive(&memory, End::Source, &policy).map_or(2, |()| OK)
    });
    while memory.rank(SOURCE).unwrap().status.pid() == 0 {
        std::thread::yield_now();
    }
    if scene.destination == Activity::Computing {
        let mut bounce = vec![0u8; 100_000];
        while scene.source == Activity::Computing && !is_over(transfer) {
            match advance_from_outside(&memory, 0, &mut bounce, &policy, &CrossMemoryAttach).unwrap() {
                Step::Finished => assert!(finish(&memory, 0).unwrap().is_some()),
                step => assert!(matches!(step, Step::Progress | Step::Granted | Step::Over), "{step:?}"),
            }
        }
        while !is_over(transfer) {
            std::thread::yield_now();
        }
    } else {
        drive(&memory, End::Destination, &policy).unwrap();
    }
    assert_eq!(wait_for(child), OK);
    assert!(is_over(transfer) && transfer.moved.load(Ordering::Acquire) == bytes as u64);
    assert!(destination == expected, "{bytes} bytes were not moved as they were sent");
}

use Activity::{Computing, Polling, Sleeping};

#[test]
fn both_ends_in_mpi_move_every_byte_through_the_window() {
    for bytes in SIZES {
        for cross_memory in [true, false] {
            move_one(
                &Scene { source: Polling, destination: Polling, cross_memory, window: true, pipeline: true },
                bytes,
            );
        }
    }
}

#[test]
fn both_ends_move_every_byte_by_cross_memory_attach_on_shared_cores() {
    for bytes in SIZES {
        move_one(
            &Scene {
                source: Polling,
                destination: Polling,
                cross_memory: true,
                window: true,
                pipeline: false,
            },
            bytes,
        );
        move_one(
            &Scene {
                source: Polling,
                destination: Sleeping,
                cross_memory: true,
                window: false,
                pipeline: true,
            },
            bytes,
        );
    }
}

#[test]
fn the_receiver_moves_every_byte_while_the_sender_computes() {
    for bytes in SIZES {
        for window in [true, false] {
            move_one(
                &Scene {
                    source: Computing,
                    destination: Polling,
                    cross_memory: true,
                    window,
                    pipeline: true,
                },
                bytes,
            );
        }
    }
}

#[test]
fn the_sender_moves_every_byte_while_the_receiver_computes() {
    for bytes in SIZES {
        for window in [true, false] {
            move_one(
                &Scene {
                    source: Polling,
                    destination: Computing,
                    cross_memory: true,
                    window,
                    pipeline: true,
                },
                bytes,
            );
        }
    }
}

/// Both ends were in MPI when the sender filled its window; then the receiver left, and calls MPI no more.
#[test]
fn what_the_receiver_has_left_in_the_window_its_sender_moves() {
    for bytes in SIZES.into_iter().filter(|&bytes| bytes > 0) {
        let memory = nic_memory(true);
        let transfer = memory.transfer(0).unwrap();
        let policy = Policy { pipeline: true, ..Policy::measured(2, 2) };
        let expected = pattern(bytes as u64, bytes);
        let (mut source, mut destination) = (vec![0u8; bytes], vec![0u8; bytes]);
        announce(&memory, DESTINATION, std::process::id(), Polling);
        start(&memory, &source, &mut destination, Some(3));
        let child = fork(|| {
            source.copy_from_slice(&expected);
            announce(&memory, SOURCE, std::process::id(), Polling);
            grant(transfer, u64::MAX);
            let filled = advance(&memory, 0, End::Source, &policy);
            if !matches!(filled, Ok(Step::Progress)) || transfer.moved.load(Ordering::Acquire) > 0 {
                return 3;
            }
            memory.rank(DESTINATION).unwrap().status.set_activity(Computing);
            let began_ns = now_ns();
            while !is_over(transfer) {
                match advance(&memory, 0, End::Source, &policy) {
                    Ok(Step::Finished) => assert!(finish(&memory, 0).unwrap().is_some()),
                    Ok(_) if now_ns() - began_ns < 20_000_000_000 => std::thread::yield_now(),
                    _ => return 4,
                }
            }
            OK
        });
        assert_eq!(wait_for(child), OK, "{bytes} bytes");
        assert!(destination == expected, "{bytes} bytes were not moved as they were sent");
    }
}

#[test]
fn the_nic_thread_moves_every_byte_while_both_compute() {
    for bytes in SIZES {
        move_one(
            &Scene {
                source: Computing,
                destination: Computing,
                cross_memory: true,
                window: true,
                pipeline: true,
            },
            bytes,
        );
    }
}

#[test]
fn without_cross_memory_the_window_serves_ends_that_take_turns() {
    for bytes in SIZES {
        move_one(
            &Scene {
                source: Polling,
                destination: Sleeping,
                cross_memory: false,
                window: true,
                pipeline: false,
            },
            bytes,
        );
    }
}

#[test]
fn a_message_to_oneself_is_copied() {
    let memory = nic_memory(true);
    let transfer = memory.transfer(0).unwrap();
    announce(&memory, SOURCE, std::process::id(), Polling);
    let source = pattern(1, 3_000_001);
    let mut destination = vec![0; source.len()];
    transfer.prepare(
        &Pair {
            source: SOURCE,
            destination: SOURCE,
            source_request: REQUEST,
            destination_request: RequestId(REQUEST.0 + 1),
            source_address: source.as_ptr() as u64,
            destination_address: destination.as_mut_ptr() as u64,
            bytes: source.len() as u64,
        },
        None,
        0,
    );
    transfer.begin();
    grant(transfer, u64::MAX);
    let mut steps = Vec::new();
    while steps.last() != Some(&Step::Finished) {
        steps.push(advance(&memory, 0, End::Destination, &Policy::measured(1, 2)).unwrap());
    }
    assert!(source == destination && steps[..steps.len() - 1].iter().all(|s| *s == Step::Progress));
}

#[test]
fn a_slice_moves_no_more_than_it_granted() {
    let memory = nic_memory(true);
    let transfer = memory.transfer(0).unwrap();
    announce(&memory, SOURCE, std::process::id(), Polling);
    announce(&memory, DESTINATION, std::process::id(), Computing);
    let source = pattern(2, 1_000_000);
    let mut destination = vec![0; source.len()];
    start(&memory, &source, &mut destination, None);
    let policy = Policy::measured(2, 2);
    let mut granted = 0;
    for _ in 0..3 {
        granted += 300_000;
        grant(transfer, granted);
        while advance(&memory, 0, End::Source, &policy).unwrap() == Step::Progress {}
        assert_eq!(advance(&memory, 0, End::Source, &policy).unwrap(), Step::Granted);
        assert_eq!(transfer.moved.load(Ordering::Acquire), granted);
    }
    assert!(destination[..granted as usize] == source[..granted as usize]);
    assert!(destination[granted as usize..].iter().all(|b| *b == 0));
}

#[test]
fn a_peer_that_dies_in_the_middle_is_an_error_that_names_it() {
    for (cross_memory, peer) in [(true, Computing), (true, Polling), (false, Polling)] {
        for end in [End::Source, End::Destination] {
            let memory = nic_memory(cross_memory);
            let source = pattern(3, 4 << 20);
            let mut destination = vec![0; source.len()];
            let (me, other) = if end == End::Source { (SOURCE, DESTINATION) } else { (DESTINATION, SOURCE) };
            announce(&memory, me, std::process::id(), Polling);
            announce(&memory, other, 0, peer);
            start(&memory, &source, &mut destination, Some(0));
            grant(memory.transfer(0).unwrap(), u64::MAX);
            let its_end = if end == End::Source { End::Destination } else { End::Source };
            let child = fork(|| {
                announce(&memory, other, std::process::id(), peer);
                advance(&memory, 0, its_end, &Policy::measured(2, 2)).map_or(2, |_| OK)
            });
            // It has moved its piece, if it could, and is a zombie until `wait_for`: its number is still its
            // own. SAFETY: waits for a child of this process and leaves it as it is; zeros are a valid
            // siginfo_t.
            unsafe {
                let mut info = std::mem::zeroed();
                let options = libc::WEXITED | libc::WNOWAIT;
                assert_eq!(libc::waitid(libc::P_PID, child as u32, &mut info, options), 0);
            }
            match drive(&memory, end, &Policy::measured(2, 2)) {
                Err(ChannelError::Gone { peer }) => assert_eq!(peer.pid, child as u32),
                other => panic!("{other:?}"),
            }
            assert_eq!(wait_for(child), OK);
            assert!(!is_over(memory.transfer(0).unwrap()));
        }
    }
}

#[test]
fn a_rank_that_was_waited_for_is_gone_although_its_number_is_another_process_s_by_now() {
    for (end, other) in [(End::Destination, SOURCE), (End::Source, DESTINATION)] {
        let memory = nic_memory(true);
        let source = pattern(9, 100_000);
        let mut destination = vec![0; source.len()];
        announce(&memory, SOURCE, std::process::id(), Computing);
        announce(&memory, DESTINATION, std::process::id(), Computing);
        start(&memory, &source, &mut destination, None);
        grant(memory.transfer(0).unwrap(), u64::MAX);
        memory.rank(other).unwrap().status.set_phase(Phase::Exited);
        let of_other = |result| match result {
            Err(ChannelError::Gone { peer }) => assert_eq!(peer.rank, Rank(other.0)),
            result => panic!("{result:?}"),
        };
        of_other(advance(&memory, 0, end, &Policy::measured(2, 2)));
        let mut bounce = vec![0; 1 << 18];
        of_other(advance_from_outside(&memory, 0, &mut bounce, &Policy::measured(2, 2), &CrossMemoryAttach));
        of_other(Peer::of(&memory, other).map(|_| Step::Progress));
        assert!(destination.iter().all(|byte| *byte == 0), "nothing was written");
    }
}

#[test]
fn a_buffer_that_is_no_memory_is_an_error_that_names_rank_process_and_address() {
    let memory = nic_memory(true);
    let transfer = memory.transfer(0).unwrap();
    let mut destination = vec![0u8; 100_000];
    announce(&memory, SOURCE, std::process::id(), Computing);
    announce(&memory, DESTINATION, std::process::id(), Polling);
    transfer.prepare(
        &Pair {
            source: SOURCE,
            destination: DESTINATION,
            source_request: REQUEST,
            destination_request: REQUEST,
            source_address: 0x10,
            destination_address: destination.as_mut_ptr() as u64,
            bytes: 100_000,
        },
        None,
        0,
    );
    transfer.begin();
    grant(transfer, u64::MAX);
    match advance(&memory, 0, End::Destination, &Policy::measured(2, 2)) {
        Err(ChannelError::PeerBuffer(Access { peer, there: address, .. })) => {
            assert_eq!((peer, address), (Peer { rank: Rank(0), pid: std::process::id() }, 0x10));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn corrupt_slots_windows_and_transfers_are_refused() {
    let memory = nic_memory(false);
    let transfer = memory.transfer(0).unwrap();
    announce(&memory, SOURCE, std::process::id(), Polling);
    announce(&memory, DESTINATION, std::process::id(), Polling);
    let source = pattern(5, 20_000);
    let mut destination = vec![0; source.len()];
    let policy = Policy::measured(2, 2);
    let refused = |what: &str| match advance(&memory, 0, End::Destination, &policy) {
        Err(ChannelError::Corrupt(corrupt)) => assert!(corrupt.what.contains(what), "{corrupt}"),
        other => panic!("{what}: {other:?}"),
    };
    start(&memory, &source, &mut destination, Some(0));
    grant(transfer, u64::MAX);
    assert_eq!(advance(&memory, 0, End::Source, &policy).unwrap(), Step::Progress);
    let slot = &transfer.slots[1];
    for (words, what) in [
        ((20_000 - 1, 2, 0), "message"),
        ((u64::MAX, 2, 0), "message"),
        ((0, 2, u64::MAX), "window"),
        ((0, 20_000, nic_emu::memory::transfer::WINDOW_DATA_BYTES as u64 - 19_999), "window"),
    ] {
        slot.offset.set(words.0);
        slot.bytes.set(words.1);
        slot.place.set(words.2);
        refused(what);
    }
    transfer.window.set(u32::MAX);
    refused("window");
    assert!(matches!(advance(&memory, u32::MAX, End::Source, &policy), Err(ChannelError::Corrupt(_))));
}

#[test]
fn a_refusal_is_remembered_and_the_window_takes_over_what_was_claimed() {
    for bytes in SIZES.into_iter().filter(|bytes| *bytes > 0) {
        let memory = nic_memory(true);
        let transfer = memory.transfer(0).unwrap();
        // Shared cores, where cross-memory attach is the first choice.
        let policy = Policy { pipeline: false, ..Policy::measured(2, 2) };
        let source = pattern(6, bytes);
        let mut destination = vec![0u8; bytes];
        announce(&memory, SOURCE, std::process::id(), Polling);
        start(&memory, &source, &mut destination, Some(1));
        grant(transfer, u64::MAX);
        let child = fork(|| {
            refuse_attach().expect("a filter of system calls");
            announce(&memory, DESTINATION, std::process::id(), Polling);
            let moved = drive(&memory, End::Destination, &policy);
            if moved.is_ok() && destination == source { OK } else { 3 }
        });
        while memory.header().cross_memory.get() != 0 {
            std::thread::yield_now();
        }
        drive(&memory, End::Source, &policy).unwrap();
        assert_eq!(wait_for(child), OK, "{bytes} bytes");
    }
}

#[test]
fn a_refusal_to_the_nic_thread_leaves_every_byte_to_the_ends() {
    let memory = nic_memory(true);
    let transfer = memory.transfer(0).unwrap();
    let policy = Policy::measured(2, 2);
    let source = pattern(7, 500_000);
    let mut destination = vec![0u8; source.len()];
    announce(&memory, SOURCE, std::process::id(), Computing);
    announce(&memory, DESTINATION, std::process::id(), Polling);
    start(&memory, &source, &mut destination, None);
    grant(transfer, u64::MAX);
    let nic_thread = fork(|| {
        refuse_attach().expect("a filter of system calls");
        let mut bounce = vec![0u8; 100_000];
        for _ in 0..3 {
            match advance_from_outside(&memory, 0, &mut bounce, &policy, &CrossMemoryAttach) {
                Ok(Step::PeerNeeded) => {}
                _ => return 4,
            }
        }
        OK
    });
    assert_eq!(wait_for(nic_thread), OK);
    assert_eq!((transfer.moved.load(Ordering::Acquire), memory.header().cross_memory.get()), (0, 1));
    drive(&memory, End::Destination, &policy).unwrap();
    assert!(destination == source);
}

#[test]
fn one_window_serves_many_messages_to_several_receivers_at_once() {
    let memory = nic_memory(false);
    let policy = Policy { window_bytes: 0, ..Policy::measured(2, 2) };
    for rank in [SOURCE, DESTINATION] {
        announce(&memory, rank, std::process::id(), Polling);
    }
    let sources: Vec<_> = (0..40).map(|i| pattern(i, 8_193 + i as usize * 3_777)).collect();
    let mut destinations: Vec<_> = sources.iter().map(|source| vec![0u8; source.len()]).collect();
    for round in 0..3 {
        for (i, (source, destination)) in sources.iter().zip(&mut destinations).enumerate() {
            destination.fill(0);
            memory.transfer(i as u32).unwrap().prepare(
                &Pair {
                    source: SOURCE,
                    destination: DESTINATION,
                    source_request: REQUEST,
                    destination_request: REQUEST,
                    source_address: source.as_ptr() as u64,
                    destination_address: destination.as_mut_ptr() as u64,
                    bytes: source.len() as u64,
                },
                Some(9),
                u64::MAX,
            );
            memory.transfer(i as u32).unwrap().begin();
        }
        let mut left: Vec<u32> = (0..40).collect();
        while !left.is_empty() {
            // The receivers take turns in another order than the sender, so that the window fills up in
            // between.
            for &i in &left {
                advance(&memory, i, End::Source, &policy).unwrap();
            }
            let turn = 7 % left.len();
            left.rotate_left(turn);
            left.retain(|&i| advance(&memory, i, End::Destination, &policy).unwrap() != Step::Finished);
        }
        assert!(sources == destinations, "round {round}");
    }
}
