//! What was changed on the wire, or in shared memory, is never taken for a record.

use super::super::records::MOST_FRONT_BYTES;
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

/// What a node sends for a record of this front and rest, the rest from where it lies: two frames.
fn apart_frames(node: &mut Node, wire: &mut UnixStream, front: &[u8], rest: &[u8]) -> Vec<u8> {
    let Node { end, socket, .. } = node;
    let before = end.frames_sent();
    let mut appender = end.appender_to(Some(socket.as_fd()), 4096).unwrap().unwrap();
    // SAFETY: the rest is borrowed, and lies in no link.
    assert!(unsafe { appender.push_from(&[front], rest.as_ptr(), rest.len()) }.unwrap());
    drop(appender);
    assert_eq!(end.frames_sent(), before + 2);
    hear(wire)
}

#[test]
fn a_rest_that_was_changed_ends_the_link_and_its_record_is_never_shown() {
    let (front, rest) = ([7; 16], [8; 4096]);
    let frame_bytes = 2 * 32 + 8 + front.len() + rest.len();
    // All of both headers and fronts, some of the rest, all of its tag.
    let bits = (0..(32 + 24 + 16) * 8 + 40)
        .chain((600..(frame_bytes - 16) * 8).step_by(331))
        .chain((frame_bytes - 16) * 8..frame_bytes * 8);
    for bit in bits {
        let ([mut sender, mut receiver], [mut from, mut to]) = apart(true, LinkLayout::default());
        let mut frames = apart_frames(&mut sender, &mut from, &front, &rest);
        assert_eq!(frames.len(), frame_bytes);
        frames[bit / 8] ^= 1 << (bit % 8);
        to.write_all(&frames).unwrap();
        let mut opened = [1; 4096];
        let mut place = |Opening { rest_bytes: bytes, .. }: Opening<'_>| {
            assert_eq!(bytes, opened.len(), "the front was sealed");
            NonNull::new(opened.as_mut_ptr())
        };
        let Node { end, socket, .. } = &mut receiver;
        // SAFETY: there is room for the rest.
        let drive = unsafe { end.drive_receiving_to(socket.as_fd(), &mut place) };
        assert!(receiver.take().is_empty(), "bit {bit}");
        if drive.is_ok() {
            // A length has grown: what it says is waited for.
            let more = vec![0; 1 << 17];
            assert!(give(&mut receiver, &mut to, &more).is_err(), "bit {bit}");
            assert!(receiver.take().is_empty());
        }
        assert!(opened == [1; 4096] || opened == [0; 4096], "bit {bit}: nothing of what was sealed is there");
    }
}

/// A frame of an end that seals nothing: of this kind and code, with this payload.
fn plain_frame(kind: u8, code: u8, payload: &[u8]) -> Vec<u8> {
    [&(payload.len() as u32).to_le_bytes()[..], &[kind, code, 0, 0], &[0; 8], payload].concat()
}

/// The head of a record of this length, and as many more bytes as make a front of `front` in all.
fn plain_front(length: usize, front: usize) -> Vec<u8> {
    let length = length as u32;
    let head = u64::from(length) | u64::from(length ^ 0x5ec0_1d5a) << 32;
    [&head.to_le_bytes()[..], &vec![0x55; front.saturating_sub(8)]].concat()
}

/// Gives these bytes of the wire to an end with rings of 16 KB that has all rests opened elsewhere, cut into
/// parts of this length. Answers how many rests were.
fn open_elsewhere(stream: &[u8], cut: usize) -> usize {
    const ROOM: usize = 16 << 10;
    let ([_, mut receiver], [_, mut to]) = apart(false, LinkLayout::new(ROOM).unwrap());
    let mut places = 0;
    for part in stream.chunks(cut) {
        to.write_all(part).unwrap();
        let mut room = vec![0u8; ROOM];
        let (mut filled, space) = (0, room.as_mut_ptr_range());
        let mut place = |Opening { front, rest_bytes: bytes, .. }: Opening<'_>| {
            assert!(front.len() < MOST_FRONT_BYTES && filled + bytes <= ROOM, "no more than the ring holds");
            places += 1;
            let at = filled;
            filled += bytes;
            // SAFETY: within the room, checked.
            NonNull::new(unsafe { space.start.add(at) })
        };
        let Node { end, socket, .. } = &mut receiver;
        // SAFETY: there is room for each rest.
        if unsafe { end.drive_receiving_to(socket.as_fd(), &mut place) }.is_err() {
            break;
        }
        if let Some(mut taker) = receiver.end.taker() {
            while let Ok(Some(_)) = taker.next(|record| copied(&record)) {}
        }
        let _ = receiver.end.drive_sending(receiver.socket.as_fd());
    }
    places
}

#[test]
fn a_rest_goes_elsewhere_only_if_it_is_all_of_its_record_behind_the_front() {
    let with = |front: usize, rest: usize, length: usize, code: u8| {
        [plain_frame(1, 0, &plain_front(length, front)), plain_frame(4, code, &vec![7; rest])].concat()
    };
    for (front, rest, length, code, places) in [
        (24, 4096, 4112, 3, 1),
        (8, 4096, 4096, 1, 1),
        (128, 8, 128, 16, 1),
        (24, 4096, 4120, 3, 0),
        (24, 4096, 4104, 3, 0),
        (24, 4096, 4112, 2, 0),
        (24, 4096, 4112, 4, 0),
        (136, 4096, 4224, 17, 0),
        (24, 8192, 8208, 3, 0),
    ] {
        let found = open_elsewhere(&with(front, rest, length, code), 1 << 20);
        assert_eq!(found, places, "{rest} bytes behind {front} of a record of {length}, said to be {code}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn rests_that_make_no_sense_are_put_nowhere_but_where_they_have_room(
        pairs in prop::collection::vec((1usize..20, 1usize..600, 0u8..24, 0usize..8), 1..12),
        cut in 1usize..9000,
    ) {
        let mut stream = Vec::new();
        for (front, rest, wrong, by) in pairs {
            // One thing of some pairs is not as it should be.
            let (mut length, mut code) = (8 * (front + rest) - 8, front as u8);
            let (mut kind, mut bytes) = (4, 8 * rest);
            match wrong {
                0 => length = length.wrapping_add(8 * by) % 9000,
                1 => length = length.saturating_sub(by),
                2 => code = code.wrapping_add(by as u8),
                3 => code = 0,
                4 => kind = by as u8,
                5 => bytes += 8 * by,
                _ => {}
            }
            stream.extend(plain_frame(1, 0, &plain_front(length, 8 * front)));
            stream.extend(plain_frame(kind, code, &vec![7; bytes]));
        }
        let _ = open_elsewhere(&stream, cut);
    }

    #[test]
    fn damaged_shared_memory_gives_an_error_or_nothing_where_records_are_sent_and_opened_apart(
        is_sealed: bool,
        spoilt in prop::collection::vec((0usize..160, prop_oneof![
            Just(0u64), Just(1), Just(u64::MAX), Just(1 << 20), Just(256 << 10), any::<u64>()
        ]), 1..6),
        at_sender: bool,
        rounds in 1usize..8,
    ) {
        let mut nodes = pair(is_sealed, LinkLayout::default());
        settle(&mut nodes);
        let (rest, mut room) = (vec![3; 60 << 10], vec![0; 80 << 10]);
        for round in 0..rounds {
            if round == 1 {
                let node = usize::from(!at_sender);
                spoilt.iter().for_each(|(word, value)| nodes[node].memory.spoil(*word, *value));
            }
            let Node { end, socket, .. } = &mut nodes[0];
            if let Ok(Some(mut appender)) = end.appender_to(Some(socket.as_fd()), 4096) {
                // SAFETY: the rest is borrowed, and lies in no link.
                let _ = unsafe { appender.push_from(&[&[1; 16]], rest.as_ptr(), rest.len()) };
            }
            let _ = nodes[0].drive();
            let mut place = |opening: Opening<'_>| {
                (opening.rest_bytes <= 80 << 10).then(|| NonNull::new(room.as_mut_ptr()).unwrap())
            };
            let Node { end, socket, .. } = &mut nodes[1];
            // SAFETY: there is room for the rest.
            let _ = unsafe { end.drive_receiving_to(socket.as_fd(), &mut place) };
            let _ = nodes[1].end.drive_sending(nodes[1].socket.as_fd());
            if let Some(mut taker) = nodes[1].end.taker() {
                for _ in 0..50 {
                    if !matches!(taker.next(|record| copied(&record)), Ok(Some(_))) {
                        break;
                    }
                }
            }
        }
    }

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
