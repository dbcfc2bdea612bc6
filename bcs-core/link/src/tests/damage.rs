//! What was changed on the wire, or in shared memory, is never taken for a record.

use super::*;
use proptest::prelude::*;

/// Gives an end bytes of the wire, and drives it.
fn give(node: &mut Node, wire: &mut UnixStream, bytes: &[u8]) -> Result<Vec<Vec<u8>>, LinkFault> {
    wire.write_all(bytes).unwrap();
    while node.end.drive_receiving(node.socket.as_fd())? {}
    Ok(node.take())
}

const RECORDS: [&[u8]; 3] = [b"the first", b"the second one", b"the third"];

#[test]
fn every_flipped_bit_of_a_sealed_frame_is_found() {
    let frame_bytes = {
        let ([mut sender, _], [mut wire, _]) = apart(true, LinkLayout::default());
        frames_of(&mut sender, &mut wire, &RECORDS[..1])[0].len()
    };
    for bit in 0..frame_bytes * 8 {
        let ([mut sender, mut receiver], [mut from, mut to]) = apart(true, LinkLayout::default());
        let mut frame = frames_of(&mut sender, &mut from, &RECORDS[..1]).remove(0);
        frame[bit / 8] ^= 1 << (bit % 8);
        match give(&mut receiver, &mut to, &frame) {
            // The length has grown: the rest is waited for, and when something comes it does not fit.
            Ok(records) => {
                assert!(records.is_empty() && bit < 32, "bit {bit}");
                let more = vec![0; 1 << 17];
                assert!(give(&mut receiver, &mut to, &more).is_err(), "bit {bit}");
            }
            Err(fault) => assert!(
                matches!(fault.kind, FaultKind::Forged | FaultKind::TooLong | FaultKind::Flooded),
                "bit {bit}: {fault}"
            ),
        }
        assert!(receiver.take().is_empty() && receiver.drive().is_err());
    }
}

#[test]
fn frames_that_are_dropped_repeated_or_reordered_are_found() {
    for (order, accepted) in [
        (&[1, 2][..], 0),
        (&[0, 0], 1),
        (&[0, 2], 1),
        (&[1, 0], 0),
        (&[0, 1, 0], 2),
        (&[0, 1, 1], 2),
        (&[2], 0),
    ] {
        let ([mut sender, mut receiver], [mut from, mut to]) = apart(true, LinkLayout::default());
        let frames = frames_of(&mut sender, &mut from, &RECORDS);
        let mut found = Vec::new();
        let mut faults = Vec::new();
        for frame in order {
            match give(&mut receiver, &mut to, &frames[*frame]) {
                Ok(records) => found.extend(records),
                Err(fault) => faults.push(fault),
            }
        }
        assert_eq!(found, RECORDS[..accepted], "{order:?}");
        // The first fault stays, whatever comes behind it.
        assert!(faults.iter().all(|fault| fault.kind == FaultKind::Forged), "{order:?}: {faults:?}");
        assert!(!faults.is_empty());
        assert_eq!(receiver.end.fault(), faults.first().copied());
    }
}

#[test]
fn a_frame_of_the_other_direction_or_of_another_link_is_found() {
    let ([mut sender, _], [mut from, mut back]) = apart(true, LinkLayout::default());
    let frame = frames_of(&mut sender, &mut from, &RECORDS[..1]).remove(0);
    back.write_all(b"").unwrap();
    from.write_all(&frame).unwrap();
    assert_eq!(sender.drive().unwrap_err().kind, FaultKind::Forged);
}

#[test]
fn half_a_frame_and_then_silence_is_waited_for_and_its_end_is_no_record() {
    for is_sealed in [true, false] {
        let ([mut sender, mut receiver], [mut from, mut to]) = apart(is_sealed, LinkLayout::default());
        let frame = frames_of(&mut sender, &mut from, &RECORDS[..1]).remove(0);
        for cut in [1, 15, 16, frame.len() - 1] {
            let before = frame.len().min(cut);
            assert!(give(&mut receiver, &mut to, &frame[..before]).unwrap().is_empty());
            for _ in 0..10 {
                assert_eq!(receiver.drive(), Ok(false));
            }
            let rest = give(&mut receiver, &mut to, &frame[before..]);
            if cut == 1 {
                assert_eq!(rest.unwrap(), RECORDS[..1]);
                break;
            }
        }
        let next = frames_of(&mut sender, &mut from, &RECORDS[1..2]).remove(0);
        assert!(give(&mut receiver, &mut to, &next[..20]).unwrap().is_empty());
        drop(to);
        let fault = receiver.drive().unwrap_err();
        assert_eq!((fault.kind, fault.value), (FaultKind::Ended, 20));
        assert!(receiver.take().is_empty());
    }
}

#[test]
fn a_connection_that_ends_without_a_close_is_a_fault() {
    let ([_, mut receiver], [_, to]) = apart(true, LinkLayout::default());
    drop(to);
    let fault = receiver.drive().unwrap_err();
    assert_eq!((fault.kind, fault.value), (FaultKind::Ended, 0));
}

#[test]
fn what_a_plain_end_may_not_say_is_refused() {
    use super::super::frame::{Header, Kind};
    let record = |bytes, taken| Header { bytes, kind: Kind::Records, code: 0, taken }.encode().to_vec();
    let hello = Header { bytes: 0, kind: Kind::Hello, code: 0, taken: 256 << 10 }.encode().to_vec();
    let mut unknown = record(0, 0);
    unknown[4] = 9;
    for (said, kind) in [
        (record((64 << 10) + 2048, 0), FaultKind::TooLong),
        (record(12, 0), FaultKind::TooLong),
        (record(0, 8), FaultKind::Credit),
        (record(0, 1 << 40), FaultKind::Credit),
        (hello, FaultKind::Kind),
        (unknown, FaultKind::Kind),
        ([record(8, 0), vec![0; 8]].concat(), FaultKind::Memory),
    ] {
        let ([_, mut receiver], [_, mut to]) = apart(false, LinkLayout::default());
        to.write_all(&said).unwrap();
        let fault = receiver.drive().err().or_else(|| {
            let mut taker = receiver.end.taker().unwrap();
            taker.next(|_| ()).err()
        });
        assert_eq!(fault.unwrap().kind, kind, "{said:?}");
    }
    // More than there is room for.
    let layout = LinkLayout::new(4 << 10).unwrap();
    let ([_, mut receiver], [_, mut to]) = apart(false, layout);
    let flood = [record(4 << 10, 0), vec![0; 4 << 10], record(8, 0), vec![0; 8]].concat();
    to.write_all(&flood).unwrap();
    assert_eq!(receiver.drive().unwrap_err().kind, FaultKind::Flooded);
}

#[test]
fn records_before_a_hello_and_tls_where_a_frame_has_to_be_are_refused() {
    let ([mut sender, _], [mut from, _]) = apart(true, LinkLayout::default());
    let records = frames_of(&mut sender, &mut from, &RECORDS[..1]).remove(0);
    let alert = [&[0x17, 3, 3, 0, 19][..], &[0; 19]].concat();
    for (said, kind) in
        [(records, FaultKind::Forged), (alert, FaultKind::Refused), (vec![0xee; 500], FaultKind::TooLong)]
    {
        let (mut wire, socket) = UnixStream::pair().unwrap();
        let mut node = Node::new(Side::Acceptor, true, LinkLayout::default(), socket);
        wire.write_all(&said).unwrap();
        assert_eq!(node.drive().unwrap_err().kind, kind);
        assert!(!node.end.is_up());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn damaged_shared_memory_gives_an_error_or_nothing(
        is_sealed: bool,
        spoilt in prop::collection::vec((0usize..160, prop_oneof![
            Just(0u64), Just(1), Just(u64::MAX), Just(1 << 20), Just(256 << 10), any::<u64>()
        ]), 1..6),
        rounds in 1usize..8,
    ) {
        let mut nodes = pair(is_sealed, LinkLayout::default());
        settle(&mut nodes);
        prop_assert_eq!(nodes[0].end.append(&[&[3; 5000]]), Ok(true));
        // Words of the state; what comes of it is an error, a lock that is never free, or nothing.
        for (word, value) in spoilt {
            nodes[0].memory.spoil(word, value);
        }
        let _ = nodes[0].end.dead_holder();
        for _ in 0..rounds {
            for node in &mut nodes {
                let _ = node.drive();
                let _ = node.end.append(&[&[4; 100], &[5; 3]]);
                let _ = node.end.has_to_send();
                if let Some(mut taker) = node.end.taker() {
                    for _ in 0..50 {
                        if !matches!(taker.next(|record| copied(&record)), Ok(Some(_))) {
                            break;
                        }
                    }
                }
            }
        }
        nodes[0].end.wipe();
    }

    #[test]
    fn a_damaged_stream_is_never_taken_for_records(
        at in 0usize..2000,
        value: u8,
        cut in 1usize..600,
    ) {
        let ([mut sender, mut receiver], [mut from, mut to]) = apart(true, LinkLayout::default());
        let records: Vec<Vec<u8>> = (0..8).map(|number| vec![number; 200]).collect();
        let slices: Vec<&[u8]> = records.iter().map(Vec::as_slice).collect();
        let mut stream = frames_of(&mut sender, &mut from, &slices).concat();
        let at = at % stream.len();
        let is_changed = std::mem::replace(&mut stream[at], value) != value;
        let mut found = Vec::new();
        let mut has_failed = false;
        for part in stream.chunks(cut) {
            match give(&mut receiver, &mut to, part) {
                Ok(more) => found.extend(more),
                Err(_) => {
                    has_failed = true;
                    break;
                }
            }
        }
        prop_assert_eq!(&found[..], &records[..found.len()]);
        prop_assert!(found.len() == records.len() || is_changed);
        prop_assert!(!is_changed || has_failed || found.len() < records.len());
    }
}
