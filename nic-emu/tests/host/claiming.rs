//! Claims: a rank takes a message out of its sender's ring itself, whatever slices run meanwhile, and MPI's
//! order holds.

use crate::ports::{WAIT, envelope, message, ports, ports_with, post, receive, send};
use bcs_core::{LocalRank, Rank, SliceLength};
use nic_emu::contexts::Context;
use nic_emu::descriptor::Check;
use nic_emu::doorbell::RingKind;
use nic_emu::host::CrossMemory;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::memory::slab::{BUFFERED_BYTES, RUN_BYTES};
use nic_emu::memory::status::Room;
use nic_emu::memory::token::Holder;
use nic_emu::memory::unexpected::{DEFAULT_LIMIT_BYTES, UnexpectedPool};
use nic_emu::memory::{NicMemory, SEND_RING};
use nic_emu::port::{Outcome, Port, Posted, Send, now_ns};
use nic_emu::threads::processor::{Lent, Processor};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn claim(port: &mut Port, tag: i32, buffer: &mut [u8], may_poll: bool) -> Option<Outcome> {
    let place = (buffer.as_mut_ptr(), buffer.len());
    // SAFETY: the buffer is as long as it says.
    unsafe { port.claim_message(&envelope(tag), Rank(0), place, may_poll) }.unwrap()
}

fn run_slices(memory: &NicMemory) {
    while matches!(Processor::new(memory, Holder::NIC_THREAD).lend(now_ns).unwrap(), Lent::Slice(_)) {}
}

fn next(state: &mut u64) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

const MANY: usize = 20_000;

/// Tag, length, and whether the sender waits for the match.
fn plan(messages: usize, seed: u64) -> Vec<(i32, usize, bool)> {
    let mut state = seed;
    let mut one = || {
        let bytes = match next(&mut state) % 40 {
            0..20 => next(&mut state) % 30,
            20..38 => next(&mut state) % 9_000,
            38 => next(&mut state) % (BUFFERED_BYTES + 1),
            _ => BUFFERED_BYTES + 1 + next(&mut state) % 9_000,
        };
        (1 + (next(&mut state) % 2) as i32, bytes, next(&mut state).is_multiple_of(50))
    };
    (0..messages).map(|_| one()).collect()
}

#[test]
fn claimed_and_posted_receives_take_messages_in_order_while_others_run_slices() {
    for seed in 0..4 {
        let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
        let plan = plan(5_000, seed);
        // Neighbours with different tags are received the other way round, where no sender waits.
        let mut order: Vec<usize> = (0..plan.len()).collect();
        for pair in order.chunks_exact_mut(2) {
            let waits = |i: usize| plan[i].2 || plan[i].1 > 9_000;
            if plan[pair[0]].0 != plan[pair[1]].0 && !waits(pair[0]) && !waits(pair[1]) {
                pair.swap(0, 1);
            }
        }
        let (ends, received) = (AtomicBool::new(false), AtomicUsize::new(1));
        let mut taken = [0; 2];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (i, &(tag, bytes, synchronous)) in plan.iter().enumerate() {
                    while i > received.load(Ordering::Relaxed) + i % 7 {
                        std::thread::yield_now();
                    }
                    send(&mut sender, tag, &message(bytes, i), synchronous);
                }
            });
            scope.spawn(|| {
                let mut state = seed;
                while !ends.load(Ordering::Relaxed) {
                    run_slices(&memory);
                    (0..next(&mut state) % 200_000).for_each(|_| std::hint::spin_loop());
                }
            });
            let mut state = seed + 99;
            for i in order {
                let (tag, bytes, _) = plan[i];
                let mut buffer = vec![0xaa; bytes + 8];
                let claimed = match next(&mut state) % 4 {
                    0 => None,
                    polls => claim(&mut receiver, tag, &mut buffer[..bytes], polls == 1),
                };
                taken[claimed.is_some() as usize] += 1;
                let outcome = claimed.unwrap_or_else(|| receive(&mut receiver, tag, &mut buffer[..bytes]));
                assert_eq!(
                    (outcome.tag, outcome.length.bytes(), outcome.cancelled),
                    (tag, bytes as u64, false)
                );
                assert!(buffer[..bytes] == message(bytes, i), "message {i} of {bytes} bytes, seed {seed}");
                assert!(buffer[bytes..] == [0xaa; 8], "nothing is written behind message {i}");
                received.fetch_add(1, Ordering::Relaxed);
            }
            ends.store(true, Ordering::Relaxed);
        });
        assert!(taken.iter().all(|&count| count > 100), "posted and claimed: {taken:?}");
        run_slices(&memory);
        assert_eq!(memory.header().slice.matched.get(), plan.len() as u64);
    }
}

#[test]
fn what_a_sender_without_slabs_keeps_while_its_receiver_claims_comes_once() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let bytes_of = |i: usize| [8_000, 100, 2_048, 30_000][i * 7 / 3 % 4];
    std::thread::scope(|scope| {
        scope.spawn(|| (0..MANY).for_each(|i| send(&mut sender, 1, &message(bytes_of(i), i), false)));
        let mut state = 5;
        for i in 0..MANY {
            let mut buffer = vec![0xaa; bytes_of(i)];
            let claimed = claim(&mut receiver, 1, &mut buffer, next(&mut state).is_multiple_of(2));
            let outcome = claimed.unwrap_or_else(|| receive(&mut receiver, 1, &mut buffer));
            assert_eq!(outcome.length.bytes(), bytes_of(i) as u64);
            assert!(buffer == message(bytes_of(i), i), "message {i}");
            // The receiver is slower than the sender, which keeps what it has sent again and again.
            (0..next(&mut state) % 2_000).for_each(|_| std::hint::spin_loop());
        }
    });
    run_slices(&memory);
    assert_eq!(memory.header().slice.matched.get(), MANY as u64);
    let kept = UnexpectedPool::of(&memory, LocalRank(1)).unwrap().messages();
    assert!(kept > 100, "{kept} messages were kept");
}

#[test]
fn a_ring_full_of_claimed_messages_is_emptied_by_its_owner() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    for i in 0..10_000 {
        let bytes = [0, 8, 24, 25, 2_047, 2_048][i % 6];
        send(&mut sender, 1, &message(bytes, i), false);
        let mut buffer = vec![0; bytes];
        assert!(claim(&mut receiver, 1, &mut buffer, false).is_some(), "message {i}");
        assert_eq!(buffer, message(bytes, i));
    }
    run_slices(&memory);
    assert_eq!(memory.header().slice.matched.get(), 10_000);
    assert_eq!(claim(&mut receiver, 1, &mut [0; 8], false), None);
}

#[test]
fn what_is_not_the_oldest_message_for_the_receive_is_not_claimed() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let mut buffer = [0; 8];
    // The first message is of another tag.
    send(&mut sender, 2, b"two", false);
    send(&mut sender, 1, b"one", false);
    assert_eq!(claim(&mut receiver, 1, &mut buffer, true), None);
    assert!(claim(&mut receiver, 2, &mut buffer, true).is_some());
    assert!(claim(&mut receiver, 1, &mut buffer, true).is_some());
    assert_eq!(&buffer[..3], b"one");
    // An older message waits, which a slice has taken.
    send(&mut sender, 1, b"old", false);
    run_slices(&memory);
    send(&mut sender, 1, b"new", false);
    assert_eq!(claim(&mut receiver, 1, &mut buffer, true), None);
    receive(&mut receiver, 1, &mut buffer);
    assert_eq!(&buffer[..3], b"old");
    receive(&mut receiver, 1, &mut buffer);
    assert_eq!(&buffer[..3], b"new");
    // An older receive waits.
    // SAFETY: the buffer lives until the receive is complete.
    let older = unsafe { receiver.post_receive(&envelope(1), buffer.as_mut_ptr(), 8) }.unwrap();
    send(&mut sender, 1, b"1st", false);
    send(&mut sender, 1, b"2nd", false);
    assert_eq!(claim(&mut receiver, 1, &mut [0; 8], true), None);
    receiver.wait(&WAIT, |port| port.test(older)).unwrap();
    assert_eq!(&buffer[..3], b"1st");
    // It has to fit.
    assert_eq!(claim(&mut receiver, 1, &mut [0; 2], true), None);
    receive(&mut receiver, 1, &mut buffer);
    assert_eq!(&buffer[..3], b"2nd");
}

#[test]
fn a_message_that_cannot_be_read_is_left_to_a_slice_and_so_is_every_one_with_fixed_slices() {
    let (_memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let data = message(RUN_BYTES + 1, 3);
    assert!(matches!(post(&mut sender, 1, &data, false), Posted::Request(_)));
    assert_eq!(claim(&mut receiver, 1, &mut vec![0; data.len()], false), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while sender.progress().unwrap() || !sender.requests().is_empty() {
                for request in sender.requests().requests() {
                    sender.test(request).unwrap();
                }
            }
        });
        let mut buffer = vec![0; data.len()];
        receive(&mut receiver, 1, &mut buffer);
        assert!(buffer == data);
    });
    let (_memory, mut sender, mut receiver) = ports("500us".parse().unwrap(), DEFAULT_LIMIT_BYTES);
    assert_eq!(post(&mut sender, 1, b"beat", false), Posted::Complete);
    assert_eq!(claim(&mut receiver, 1, &mut [0; 8], false), None);
}

#[test]
fn a_message_whose_sender_waits_is_claimed_and_its_sender_goes_on() {
    for cross_memory in [CrossMemory::Off, CrossMemory::WhereFaster] {
        let elastic = SliceLength::Elastic;
        let (memory, mut sender, mut receiver) = ports_with(cross_memory, elastic, DEFAULT_LIMIT_BYTES);
        for (i, bytes) in
            [0, 1, 24, 25, 2_048, 8_192, 8_193, 30_000, BUFFERED_BYTES, RUN_BYTES, RUN_BYTES + 1]
                .into_iter()
                .enumerate()
        {
            let data = message(bytes, i);
            let Posted::Request(request) = post(&mut sender, 1, &data, true) else { panic!("{bytes} B") };
            assert_eq!(sender.test(request).unwrap(), None, "{bytes} B, not received");
            let mut buffer = vec![0xaa; bytes + 8];
            let claimed = claim(&mut receiver, 1, &mut buffer[..bytes], false);
            if claimed.is_none() {
                // What is in memory that nobody may read, and what is too long, both ends move.
                assert!(bytes > RUN_BYTES || cross_memory == CrossMemory::Off && bytes > BUFFERED_BYTES);
                break;
            }
            assert!(buffer[..bytes] == data && buffer[bytes..] == [0xaa; 8], "{bytes} B");
            assert!(sender.test(request).unwrap().is_some(), "{bytes} B, received");
        }
        run_slices(&memory);
    }
}

/// Receives all of a plan in windows: many are begun at once, some for any source and some too long to be
/// held, and they are completed in another order.
fn receive_in_windows(port: &mut Port, plan: &[(i32, usize, bool)], seed: u64) {
    let mut state = seed;
    let mut first = 0;
    while first < plan.len() {
        let window = (1 + next(&mut state) % 24).min(plan.len() - first);
        let mut buffers: Vec<Vec<u8>> =
            plan[first..first + window].iter().map(|&(_, bytes, _)| vec![0xaa; bytes + 8]).collect();
        let mut pending: Vec<(usize, RequestId)> = Vec::new();
        for (i, buffer) in buffers.iter_mut().enumerate() {
            let (tag, bytes, _) = plan[first + i];
            let source = if next(&mut state).is_multiple_of(30) { CommRank::ANY_SOURCE } else { CommRank(0) };
            let (envelope, room) = (Envelope { source, ..envelope(tag) }, (buffer.as_mut_ptr(), bytes));
            let peer = if source == CommRank(0) { Rank(0) } else { Rank::NOBODY };
            // SAFETY: the buffers live until their receives are complete.
            let posted = unsafe { port.begin_receive(&envelope, Check::NONE, (peer, 0), 0, room) };
            pending.push((i, posted.unwrap()));
            if next(&mut state).is_multiple_of(10) {
                port.progress().unwrap();
            }
        }
        while !pending.is_empty() {
            let (i, request) = pending.swap_remove(next(&mut state) % pending.len());
            let outcome = port.wait_for(Some(request), &WAIT, |port| port.test(request)).unwrap();
            let (tag, bytes, _) = plan[first + i];
            assert_eq!((outcome.tag, outcome.length.bytes(), outcome.cancelled), (tag, bytes as u64, false));
            assert!(buffers[i][..bytes] == message(bytes, first + i), "message {}, seed {seed}", first + i);
            assert!(buffers[i][bytes..] == [0xaa; 8], "nothing is written behind message {}", first + i);
        }
        first += window;
    }
}

#[test]
fn receives_that_are_held_take_messages_in_order_while_others_run_slices() {
    for seed in 0..6 {
        let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
        let plan = plan(5_000, seed);
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (i, &(tag, bytes, synchronous)) in plan.iter().enumerate() {
                    send(&mut sender, tag, &message(bytes, i), synchronous);
                }
            });
            // With an even seed nobody but the two ends runs slices.
            scope.spawn(|| {
                let mut state = seed;
                while seed % 2 == 1 && !ends.load(Ordering::Relaxed) {
                    run_slices(&memory);
                    (0..next(&mut state) % 200_000).for_each(|_| std::hint::spin_loop());
                }
            });
            receive_in_windows(&mut receiver, &plan, seed);
            ends.store(true, Ordering::Relaxed);
        });
        run_slices(&memory);
        assert_eq!(memory.header().slice.matched.get(), plan.len() as u64);
    }
}

#[test]
fn a_receive_that_is_held_is_complete_without_a_slice() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let mut buffers = [[0; 100]; 3];
    let requests = [(0, 2), (1, 1), (2, 1)].map(|(i, tag)| {
        let buffer: &mut [u8; 100] = &mut buffers[i];
        let place = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the buffers live until their receives are complete.
        unsafe { receiver.begin_receive(&envelope(tag), Check::NONE, (Rank(0), 0), 0, place) }.unwrap()
    });
    send(&mut sender, 1, &message(100, 1), false);
    send(&mut sender, 2, &message(24, 2), false);
    send(&mut sender, 1, b"", false);
    let lengths = requests.map(|request| {
        receiver.wait_for(Some(request), &WAIT, |port| port.test(request)).unwrap().length.bytes()
    });
    assert_eq!(lengths, [24, 100, 0]);
    assert_eq!((&buffers[0][..24], &buffers[1][..]), (&message(24, 2)[..], &message(100, 1)[..]));
    assert_eq!(memory.header().slice.descriptors.get(), 0, "no slice has taken anything");
}

#[test]
fn the_first_of_many_receives_are_held_once_and_not_again_before_there_were_few() {
    let (_memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let mut round = |receives: usize| {
        let mut buffers = vec![[0u8; 8]; receives];
        let mut holds = false;
        let requests: Vec<_> = (0..receives)
            .map(|i| {
                let place = (buffers[i].as_mut_ptr(), 8);
                // SAFETY: the buffers live until their receives are complete.
                let request =
                    unsafe { receiver.begin_receive(&envelope(1), Check::NONE, (Rank(0), 0), 0, place) };
                holds |= receiver.holds();
                request.unwrap()
            })
            .collect();
        (0..receives).for_each(|i| send(&mut sender, 1, &message(8, i), false));
        for request in requests {
            receiver.wait_for(Some(request), &WAIT, |port| port.test(request)).unwrap();
        }
        assert!(buffers.iter().enumerate().all(|(i, buffer)| buffer[..] == message(8, i)));
        holds
    };
    let rounds = [(16, true), (17, true), (64, false), (16, false), (1, true), (200, true), (3, false)];
    for (receives, holds) in rounds {
        assert_eq!(round(receives), holds, "{receives} receives");
    }
}

#[test]
fn a_ring_that_is_full_of_claimed_messages_needs_no_slice() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let slices = || memory.control().slice.get();
    let fill = |sender: &mut Port, from: usize| {
        (from..SEND_RING).for_each(|i| send(sender, 1, &message(i % 30, i), false));
        sender.lacks_cell(RingKind::Send)
    };
    let take = |receiver: &mut Port, messages: usize| {
        for _ in 0..messages {
            assert!(claim(receiver, 1, &mut [0; 30], false).is_some());
        }
    };
    assert_eq!(fill(&mut sender, 0), Some(Room::SendRing), "nobody has received");
    take(&mut receiver, 40);
    assert!(memory.token().try_take(Holder::NIC_THREAD));
    assert_eq!(sender.lacks_cell(RingKind::Send), Some(Room::SendRing), "somebody else is the processor");
    memory.token().release();
    assert_eq!(sender.lacks_cell(RingKind::Send), None);
    assert_eq!(memory.header().slice.matched.get(), 40);
    // The next round begins in the middle of the ring, with what nobody has claimed.
    assert_eq!(fill(&mut sender, SEND_RING - 40), Some(Room::SendRing));
    take(&mut receiver, SEND_RING);
    assert_eq!((sender.lacks_cell(RingKind::Send), slices()), (None, 0));
    // What is sent afterwards takes its turn in a slice.
    send(&mut sender, 1, b"last", false);
    run_slices(&memory);
    let mut last = [0; 4];
    receive(&mut receiver, 1, &mut last);
    assert_eq!((&last, memory.header().slice.matched.get()), (b"last", 40 + SEND_RING as u64 + 1));
}

#[test]
fn a_checked_message_is_claimed_if_it_fits_and_else_breaks_its_communicator_in_a_slice() {
    let check = Check { call: 3, signature: 77 };
    for (sent, bytes, fits) in [
        (check, 8, true),
        (check, 100, true),
        (check, 0, true),
        (check, 7, false),
        (check, 101, false),
        (Check { signature: 78, ..check }, 8, false),
        (Check { call: 4, ..check }, 100, false),
    ] {
        let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
        // As much room as fits, but for 7 and 101 bytes.
        let (data, mut buffer) = (message(bytes, 1), vec![0; [0, 8, 100][bytes.min(1) + bytes / 100]]);
        let place = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the buffer lives until the receive is complete.
        let request = unsafe { receiver.begin_receive(&envelope(1), check, (Rank(0), 0), 0, place) }.unwrap();
        let (context, source, tag) = (Context(2), CommRank(0), 1);
        let send = Send {
            context,
            source,
            tag,
            destination: Rank(1),
            synchronous: false,
            signature: 0,
            check: sent,
        };
        // SAFETY: it is buffered.
        assert_eq!(unsafe { sender.post_send(&send, data.as_ptr(), bytes) }.unwrap(), Posted::Complete);
        receiver.wait_for(Some(request), &WAIT, |port| port.test(request)).unwrap();
        assert_eq!(receiver.check_whole(context).is_ok(), fits, "{sent:?}, {bytes} bytes");
        assert_eq!(memory.header().slice.matched.get(), if fits { 0 } else { 1 });
        assert!(!fits || buffer == data);
    }
}

#[test]
fn receives_that_are_held_come_before_what_is_asked_for_later() {
    let (_memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let mut held = [0; 8];
    let hold = |receiver: &mut Port, buffer: &mut [u8; 8]| {
        // SAFETY: the callers' buffers live until their receives are complete.
        unsafe {
            receiver
                .begin_receive(&envelope(1), Check::NONE, (Rank(0), 0), 0, (buffer.as_mut_ptr(), 8))
                .unwrap()
        }
    };
    let finish = |receiver: &mut Port, request| {
        receiver.wait_for(Some(request), &WAIT, |port| port.test(request)).unwrap()
    };
    // A probe finds the second message, not the first.
    let request = hold(&mut receiver, &mut held);
    send(&mut sender, 1, b"first", false);
    send(&mut sender, 1, b"second", false);
    let probed = std::iter::repeat_with(|| receiver.probe(&envelope(1)).unwrap()).take(10).flatten().next();
    assert_eq!(probed.map(|outcome| outcome.length.bytes()), Some(6));
    assert_eq!(finish(&mut receiver, request).length.bytes(), 5);
    assert_eq!(&held[..5], b"first");
    let mut later = [0; 8];
    receive(&mut receiver, 1, &mut later);
    assert_eq!(&later[..6], b"second");
    // A receive for any source takes the second message.
    let request = hold(&mut receiver, &mut held);
    let any = Envelope { source: CommRank::ANY_SOURCE, ..envelope(1) };
    // SAFETY: the buffer lives until the receive is complete.
    let younger = unsafe { receiver.post_receive(&any, later.as_mut_ptr(), 8) }.unwrap();
    send(&mut sender, 1, b"1st", false);
    send(&mut sender, 1, b"2nd", false);
    finish(&mut receiver, younger);
    finish(&mut receiver, request);
    assert_eq!((&held[..3], &later[..3]), (&b"1st"[..], &b"2nd"[..]));
    // What is too long for its receive is told as such.
    let request = hold(&mut receiver, &mut held);
    send(&mut sender, 1, &message(100, 7), false);
    assert_eq!(finish(&mut receiver, request).length.bytes(), 100);
    assert_eq!(held, message(8, 7)[..]);
    // One that is cancelled takes nothing.
    let request = hold(&mut receiver, &mut held);
    receiver.cancel(request).unwrap();
    receiver.await_decision(request, 0).unwrap();
    assert!(finish(&mut receiver, request).cancelled);
    send(&mut sender, 1, b"after", false);
    receive(&mut receiver, 1, &mut later);
    assert_eq!(&later[..5], b"after");
}
