//! Buffered messages: a send of up to 64 KB is complete when it is posted, and its bytes arrive whole, also
//! while they are still being filled in by another core.

use crate::ports::{envelope, message, ports, post, receive, send};
use bcs_core::{LocalRank, SliceLength};
use nic_emu::memory::numbers::{RequestId, SlabId};
use nic_emu::memory::slab::{BUFFERED_BYTES, OF_COLLECTIVES, SLAB_BYTES, SLABS};
use nic_emu::memory::unexpected::DEFAULT_LIMIT_BYTES;
use nic_emu::port::{Outcome, Port, PortError, Posted};

fn post_receive(port: &mut Port, buffer: &mut [u8]) -> RequestId {
    // SAFETY: the callers' buffers live until the request is complete.
    unsafe { port.post_receive(&envelope(1), buffer.as_mut_ptr(), buffer.len()) }.unwrap()
}

/// What one test of the receiver's request answers, after slices have run.
fn look(port: &mut Port, request: RequestId) -> Result<Option<Outcome>, PortError> {
    while port.lend()? {}
    port.test(request)
}

#[test]
fn messages_of_all_lengths_arrive_whole_while_both_ends_work() {
    let (_memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let lengths: Vec<usize> =
        (0..3_000usize).map(|i| (i * 7_919 + i * i * 13) % (BUFFERED_BYTES + 5_000)).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let sent: Vec<_> = lengths.iter().enumerate().map(|(i, &bytes)| message(bytes, i)).collect();
            for (i, data) in sent.iter().enumerate() {
                send(&mut sender, 1, data, i % 50 == 0);
            }
        });
        for (i, &bytes) in lengths.iter().enumerate() {
            // Some receives are too short.
            let capacity = if i % 7 == 3 { bytes / 2 } else { bytes };
            let mut buffer = vec![0xaa; capacity + 8];
            let outcome = receive(&mut receiver, 1, &mut buffer[..capacity]);
            assert_eq!((outcome.length.bytes(), outcome.cancelled), (bytes as u64, false));
            assert!(buffer[..capacity] == message(bytes, i)[..capacity], "message {i} of {bytes} bytes");
            assert!(buffer[capacity..] == [0xaa; 8], "nothing is written behind message {i}");
        }
    });
}

#[test]
fn a_send_is_complete_though_nobody_receives_it_until_the_slabs_are_used_up() {
    let (_memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let data = message(BUFFERED_BYTES, 1);
    let room = (SLABS - OF_COLLECTIVES) * SLAB_BYTES / BUFFERED_BYTES;
    for _ in 0..room {
        assert_eq!(post(&mut sender, 1, &data, false), Posted::Complete);
    }
    assert!(matches!(post(&mut sender, 1, &data, false), Posted::Request(_)), "memory is bounded");
    for _ in 0..room {
        let mut buffer = vec![0; BUFFERED_BYTES];
        let request = post_receive(&mut receiver, &mut buffer);
        assert_eq!(look(&mut receiver, request).unwrap().unwrap().length.bytes(), BUFFERED_BYTES as u64);
        assert!(buffer == data);
    }
    assert_eq!(post(&mut sender, 1, &data, false), Posted::Complete, "what was received makes room");
}

#[test]
fn a_receiver_that_is_ahead_of_its_sender_takes_what_is_there_and_waits_for_the_rest() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let data = message(16_384, 5);
    post(&mut sender, 1, &data, false);
    // As if the sender's core had been taken away in the middle.
    let filled = memory.filled(LocalRank(0), SlabId(OF_COLLECTIVES as u32)).unwrap();
    filled.publish(4_096);
    let mut buffer = vec![0; 16_384];
    let request = post_receive(&mut receiver, &mut buffer);
    assert_eq!(look(&mut receiver, request).unwrap(), None);
    assert!(buffer[..4_096] == data[..4_096] && buffer[4_096..].iter().all(|&byte| byte == 0));
    filled.publish(10_000);
    assert_eq!(look(&mut receiver, request).unwrap(), None);
    filled.publish(16_384);
    assert_eq!(look(&mut receiver, request).unwrap().unwrap().length.bytes(), 16_384);
    assert!(buffer == data);
}

#[test]
fn a_length_that_no_healthy_sender_publishes_is_an_error() {
    let (memory, mut sender, mut receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    post(&mut sender, 1, &message(16_384, 5), false);
    memory.filled(LocalRank(0), SlabId(OF_COLLECTIVES as u32)).unwrap().publish(16_385);
    let mut buffer = vec![0; 16_384];
    let request = post_receive(&mut receiver, &mut buffer);
    let error = look(&mut receiver, request).unwrap_err().to_string();
    assert!(error.contains("bytes of a message that are there"), "{error}");
}

#[test]
fn with_fixed_slices_what_is_longer_than_a_slab_stays_in_the_budget() {
    let (_memory, mut sender, _receiver) = ports("500us".parse().unwrap(), DEFAULT_LIMIT_BYTES);
    assert_eq!(post(&mut sender, 1, &message(SLAB_BYTES, 1), false), Posted::Complete);
    assert!(matches!(post(&mut sender, 1, &message(SLAB_BYTES + 1, 1), false), Posted::Request(_)));
}

#[test]
fn a_buffered_send_that_waits_for_its_match_can_be_taken_back() {
    let (_memory, mut sender, _receiver) = ports(SliceLength::Elastic, DEFAULT_LIMIT_BYTES);
    let data = message(BUFFERED_BYTES, 1);
    for _ in 0..2 * SLABS * SLAB_BYTES / BUFFERED_BYTES {
        let Posted::Request(request) = post(&mut sender, 1, &data, true) else {
            panic!("a synchronous send waits")
        };
        sender.cancel(request).unwrap();
        assert!(look(&mut sender, request).unwrap().unwrap().cancelled);
    }
    assert_eq!(post(&mut sender, 1, &data, false), Posted::Complete, "its slabs came back each time");
}
