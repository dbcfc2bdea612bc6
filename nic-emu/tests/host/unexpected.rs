//! Messages that come before their receives: their sends are complete all the same, up to the limit of the
//! rank that does not receive.

use crate::ports::{WAIT, envelope, message, ports, post, receive, send};
use bcs_core::{LocalRank, Rank, SliceLength};
use nic_emu::contexts::Context;
use nic_emu::hang::{HangReport, JobState};
use nic_emu::memory::numbers::CommRank;
use nic_emu::memory::slab::{BUFFERED_BYTES, SLAB_BYTES};
use nic_emu::memory::status::{Activity, Room, WaitingFor};
use nic_emu::memory::unexpected::{DEFAULT_LIMIT_BYTES, UnexpectedPool};
use nic_emu::port::{Port, Posted};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a hang report says of the sender.
const SENDS: WaitingFor = WaitingFor {
    call: 0,
    context: Context(2),
    peer: CommRank(1),
    tag: 0,
    bytes: 65_536,
    requests: 1,
    peer_in_job: Rank(1),
    sends: true,
    room: Room::Enough,
};

/// A message of this tag, as far as there is room.
fn take(port: &mut Port, tag: i32, room: usize) -> (Vec<u8>, u64) {
    let mut buffer = vec![0xaa; room];
    let outcome = receive(port, tag, &mut buffer);
    assert_eq!(outcome.tag, tag);
    (buffer, outcome.length.bytes())
}

fn message_of(tag: i32, most: usize) -> Vec<u8> {
    let tag = tag as usize;
    message((tag * 7_919 + 13 * tag * tag) % (most + 1), tag)
}

fn arrive_in_another_order(slice: SliceLength, messages: i32, most: usize) {
    let (memory, mut sender, mut receiver) = ports(slice, DEFAULT_LIMIT_BYTES);
    for tag in 0..messages {
        send(&mut sender, tag, &message_of(tag, most), false);
    }
    let pool = UnexpectedPool::of(&memory, LocalRank(1)).unwrap();
    assert!(pool.messages() > 0 && pool.refused() == 0);
    for tag in (0..messages).map(|i| i * 7 % messages) {
        let expected = message_of(tag, most);
        let outcome = receiver.wait(&WAIT, |port| port.probe(&envelope(tag))).unwrap();
        assert_eq!(outcome.length.bytes(), expected.len() as u64);
        let (got, bytes) = take(&mut receiver, tag, expected.len());
        assert!(bytes == expected.len() as u64 && got == expected, "message {tag}");
    }
    // What was taken out is there for others.
    for tag in 0..messages {
        send(&mut sender, tag, &message_of(tag, most), false);
    }
    assert_eq!(pool.refused(), 0);
}

#[test]
fn a_thousand_small_messages_are_sent_before_they_are_received_in_another_order() {
    arrive_in_another_order(SliceLength::Elastic, 1_000, 3_000);
}

#[test]
fn messages_of_all_buffered_lengths_are_sent_before_they_are_received() {
    arrive_in_another_order(SliceLength::Elastic, 1_000, BUFFERED_BYTES);
}

#[test]
fn with_fixed_slices_they_are_sent_before_they_are_received_too() {
    arrive_in_another_order("50us".parse().unwrap(), 1_000, SLAB_BYTES);
}

#[test]
fn messages_that_are_too_long_for_their_receives_are_cut_and_their_room_comes_back() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let data = vec![7; SLAB_BYTES];
    for tag in 0..1_000 {
        send(&mut sender, tag, &data, false);
    }
    for tag in (0..1_000).rev() {
        let room = [0, 1, 100, SLAB_BYTES - 1][tag as usize % 4];
        let (got, bytes) = take(&mut receiver, tag, room);
        assert!(bytes == SLAB_BYTES as u64 && got == data[..room]);
    }
    send(&mut sender, 0, &data, false);
    let pool = UnexpectedPool::of(&memory, LocalRank(1)).unwrap();
    assert!(pool.most_bytes() >= 700 * SLAB_BYTES as u64);
    // The processor takes in what came back when it needs a block.
    (0..300).for_each(|tag| send(&mut sender, tag, &data, false));
    assert!(pool.usage().bytes < 400 * SLAB_BYTES as u64);
}

#[test]
fn a_synchronous_send_out_of_whose_slab_the_message_was_taken_can_be_taken_back_or_completed() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let data = vec![7; 100];
    let requests: Vec<_> = (0..200)
        .map(|tag| match post(&mut sender, tag, &data, true) {
            Posted::Request(request) => request,
            Posted::Complete => panic!("a synchronous send waits"),
        })
        .collect();
    (200..800).for_each(|tag| send(&mut sender, tag, &data, false));
    let pool = UnexpectedPool::of(&memory, LocalRank(1)).unwrap();
    assert!(pool.messages() >= 400);
    for (tag, &request) in (0..).zip(&requests) {
        assert_eq!(sender.test(request).unwrap(), None, "it is not matched");
        if tag % 2 == 0 {
            sender.cancel(request).unwrap();
        } else {
            assert_eq!(take(&mut receiver, tag, 100).0, data);
        }
        while sender.lend().unwrap() {}
        assert_eq!(sender.test(request).unwrap().unwrap().cancelled, tag % 2 == 0);
    }
    assert!(receiver.probe(&envelope(0)).unwrap().is_none());
}

#[test]
fn a_slow_receiver_has_no_more_memory_than_its_limit() {
    const LIMIT: u64 = 1 << 20;
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, LIMIT);
    let messages = 4_000;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for tag in 0..messages {
                send(&mut sender, tag, &message_of(tag, 20_000), false);
            }
            done.store(true, Ordering::Release);
        });
        let pool = UnexpectedPool::of(&memory, LocalRank(1)).unwrap();
        // As many as there is room for wait; among those that were sent, any may be received first.
        while pool.refused() == 0 {
            assert!(!done.load(Ordering::Acquire), "memory is bounded");
            std::thread::yield_now();
        }
        for first in (0..messages).step_by(20) {
            for tag in (first..first + 20).rev() {
                let expected = message_of(tag, 20_000);
                assert!(take(&mut receiver, tag, expected.len()).0 == expected, "message {tag}");
            }
            assert!(pool.touched_bytes() <= LIMIT);
        }
    });
}

#[test]
fn a_sender_that_sleeps_at_the_limit_is_woken_when_there_is_room_again() {
    for slice in [SliceLength::Elastic, "50us".parse().unwrap()] {
        let (memory, mut sender, mut receiver) = ports(slice, 1 << 20);
        let data = vec![7; BUFFERED_BYTES];
        let pool = UnexpectedPool::of(&memory, LocalRank(1)).unwrap();
        let (mut last, mut tag) = (None, 0);
        loop {
            if let Posted::Request(request) = post(&mut sender, tag, &data, false) {
                last = Some(request);
            }
            (0..100).for_each(|_| _ = sender.progress().unwrap());
            if pool.refused() > 0 {
                break;
            }
            tag += 1;
            assert!(tag < 100, "memory is bounded");
        }
        let request = last.expect("a send that waits");
        assert_eq!(sender.test(request).unwrap(), None);
        // It has nothing to try: so it may sleep, and its looks are evidence of a deadlock.
        let status = &memory.rank(LocalRank(0)).unwrap().status;
        let polls = || status.polls.get();
        let before = polls();
        sender.count_look();
        assert_eq!(polls(), before + 1);
        let waiting = sender.begin_wait(Some(request));
        let asleep = sender.announce_sleep(&waiting, true);
        assert_ne!(status.sleep.peek(), 0);
        // One of the pool: the first are in slabs, with elastic slices.
        assert_eq!(take(&mut receiver, tag - 1, data.len()).0, data);
        assert_eq!(status.sleep.peek(), 0, "it is awake");
        assert!(!sender.may_stay_asleep());
        sender.count_look();
        assert_eq!(polls(), before + 1, "it has something to try");
        drop(asleep);
        let mut looks = 0..10_000_000;
        while sender.test(request).unwrap().is_none() {
            assert!(looks.next().is_some(), "its room is used");
            sender.progress().unwrap();
        }
    }
}

#[test]
fn a_send_that_waits_at_the_limit_is_reported_with_the_limit_and_the_rank_that_does_not_receive() {
    let (memory, mut sender, _receiver) = ports(SliceLength::Elastic, 1 << 20);
    let data = vec![7; BUFFERED_BYTES];
    let report = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            for tag in 0..100 {
                if let Posted::Request(request) = post(&mut sender, tag, &data, false)
                    && sender.wait(&SENDS, |port| port.test(request)).is_err()
                {
                    return tag;
                }
            }
            100
        });
        let pool = UnexpectedPool::of(&memory, LocalRank(1)).unwrap();
        let is_waiting = || {
            pool.refused() > 0 && memory.rank(LocalRank(0)).unwrap().status.activity() != Activity::Computing
        };
        while !is_waiting() {
            assert!(!waiting.is_finished(), "memory is bounded");
            std::thread::yield_now();
        }
        let report = HangReport(JobState::read(&memory)).to_string();
        nic_emu::memory::abort::end_job(&memory);
        assert!(waiting.join().unwrap() < 100);
        report
    });
    let expected = "no room: rank 1 has not received 1MiB of messages, of at most 1MiB";
    assert!(report.contains(expected) && report.contains("rank 0 waits"), "{report}");
}
