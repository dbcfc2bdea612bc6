//! What is appended comes out: whole, in order, once; whoever drives, and however the stream is cut.

use super::super::keys::RenewalLimits;
use super::*;
use proptest::prelude::*;

/// Bytes that tell one record from another.
fn content(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (number * 131 + at * 7 + at / 251) as u8).collect()
}

/// Sends records one way while both drive, and compares what comes out.
fn exchange(nodes: &mut [Node; 2], lengths: &[usize]) {
    let (mut sent, mut found) = (0, 0);
    while found < lengths.len() {
        if sent < lengths.len() {
            let record = content(sent, lengths[sent]);
            let (first, second) = record.split_at(record.len() / 3);
            sent += usize::from(nodes[0].end.append(&[first, second, &[]]).unwrap());
        }
        for node in nodes.iter_mut() {
            node.drive().unwrap();
        }
        for record in nodes[1].take() {
            assert_eq!(record, content(found, lengths[found]), "record {found}");
            found += 1;
        }
    }
}

#[test]
fn records_of_every_length_come_out_as_they_went_in() {
    for (is_sealed, ring_bytes) in [(true, 256 << 10), (false, 256 << 10), (true, 4 << 10), (false, 16 << 10)]
    {
        let layout = LinkLayout::new(ring_bytes).unwrap();
        let most = layout.record_bytes();
        let mut lengths = vec![0, 1, 7, 8, 9, 4000.min(most), most - 1, most, 0];
        lengths.extend((0..200).map(|number| number * 37 % most));
        exchange(&mut pair(is_sealed, layout), &lengths);
    }
}

#[test]
#[should_panic(expected = "is longer than")]
fn a_record_longer_than_any_is_refused() {
    let node = &pair(true, LinkLayout::default())[0];
    let _ = node.end.append(&[&vec![0; LinkLayout::default().record_bytes() + 1]]);
}

#[test]
fn many_small_records_share_one_frame() {
    let mut nodes = pair(true, LinkLayout::default());
    settle(&mut nodes);
    let before = nodes[0].end.frames_sent();
    let mut appender = nodes[0].end.appender().unwrap().unwrap();
    for number in 0..1000u64 {
        assert_eq!(appender.push(&[&number.to_le_bytes()]), Ok(true));
    }
    assert!(nodes[0].end.append(&[b"while somebody else appends"]) == Ok(false));
    drop(appender);
    settle(&mut nodes);
    assert_eq!(nodes[0].end.frames_sent(), before + 1);
    let numbers: Vec<u64> =
        nodes[1].take().iter().map(|record| u64::from_le_bytes(record[..].try_into().unwrap())).collect();
    assert_eq!(numbers, (0..1000).collect::<Vec<_>>());
}

#[test]
fn who_does_not_take_is_not_flooded_and_the_sender_goes_on_when_it_does() {
    for is_sealed in [true, false] {
        let layout = LinkLayout::new(16 << 10).unwrap();
        let mut nodes = pair(is_sealed, layout);
        let record = [7; 1000];
        let mut sent = 0;
        for _ in 0..1000 {
            sent += usize::from(nodes[0].end.append(&[&record]).unwrap());
            settle(&mut nodes);
        }
        // One ring that is sealed, and one that waits.
        assert_eq!(sent, 2 * (16 << 10) / 1008);
        assert!(!nodes[0].end.has_to_send(), "nothing can be sent before there is credit");
        let mut taken = nodes[1].take().len();
        settle(&mut nodes);
        assert!(nodes[0].end.append(&[&record]).unwrap());
        for _ in 0..2 {
            settle(&mut nodes);
            taken += nodes[1].take().len();
        }
        assert_eq!(taken, sent + 1);
    }
}

#[test]
fn both_ends_can_be_full_at_once() {
    let mut nodes = pair(true, LinkLayout::new(4 << 10).unwrap());
    let record = [7; 500];
    let mut sent = [0; 2];
    for _ in 0..100 {
        for (node, sent) in nodes.iter_mut().zip(&mut sent) {
            *sent += usize::from(node.end.append(&[&record]).unwrap());
        }
        settle(&mut nodes);
    }
    let mut found = [0; 2];
    for _ in 0..10 {
        for (node, found) in nodes.iter().zip(&mut found) {
            *found += node.take().len();
        }
        settle(&mut nodes);
    }
    assert_eq!(found, [sent[1], sent[0]]);
}

#[test]
fn keys_are_renewed_by_both_ends_at_the_same_frame() {
    let mut nodes = pair(true, LinkLayout::default());
    nodes.iter_mut().for_each(|node| node.end.limit_keys(RenewalLimits { frames: 7, bytes: 70_000 }));
    exchange(&mut nodes, &(0..400).map(|number| number * 97 % 30_000).collect::<Vec<_>>());
    assert!(nodes[0].end.frames_sent() > 50);
}

#[test]
fn several_ends_of_one_node_go_on_where_another_has_stopped() {
    let nodes = pair(true, LinkLayout::default());
    // Small buffers, so that frames are sent and come in part.
    for node in &nodes {
        for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
            let bytes: libc::c_int = 2048;
            // SAFETY: the option is an int, which is borrowed.
            let set = unsafe {
                libc::setsockopt(
                    std::os::fd::AsRawFd::as_raw_fd(&node.socket),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const bytes).cast(),
                    size_of_val(&bytes) as libc::socklen_t,
                )
            };
            assert_eq!(set, 0);
        }
    }
    let mut others: Vec<[LinkEnd; 2]> =
        nodes.iter().map(|node| [node.memory.attach(), node.memory.attach()]).collect();
    let (mut sent, mut found, mut turn) = (0, 0, 0);
    while found < 60 {
        if sent < 60 {
            sent += usize::from(nodes[0].end.append(&[&content(sent, 60_000)]).unwrap());
        }
        for (node, ends) in nodes.iter().zip(&mut others) {
            turn += 1;
            let _ = ends[turn / 3 % 2].drive(node.socket.as_fd()).unwrap();
        }
        for record in nodes[1].take() {
            assert_eq!(record, content(found, 60_000));
            found += 1;
        }
    }
}

#[test]
fn a_close_comes_behind_all_records_or_at_once_and_ends_what_follows() {
    for (when, expected) in [(CloseWhen::Sent, 3), (CloseWhen::AtOnce, 0)] {
        let mut nodes = pair(true, LinkLayout::default());
        settle(&mut nodes);
        for _ in 0..3 {
            assert_eq!(nodes[0].end.append(&[&[5; 60_000]]), Ok(true));
        }
        nodes[0].end.close(9, when);
        nodes[0].end.close(10, CloseWhen::Sent);
        assert_eq!(nodes[0].end.append(&[b"x"]).unwrap_err().kind, FaultKind::Closed);
        let mut found = 0;
        for _ in 0..20 {
            for node in &mut nodes {
                node.drive().unwrap();
            }
            found += nodes[1].take().len();
        }
        assert_eq!((found, nodes[1].end.closed_by_peer()), (expected, Some(9)));
        assert!(nodes[0].end.is_close_sent() && nodes[0].end.closed_by_peer().is_none());
        // The connection may end now; that is no fault to the one who was told.
        let [gone, mut left] = nodes;
        drop(gone);
        assert_eq!(left.drive(), Ok(false));
        assert_eq!(left.end.fault(), None);
    }
}

#[test]
fn a_sign_of_life_is_sent_when_it_is_wanted() {
    let mut nodes = pair(true, LinkLayout::default());
    settle(&mut nodes);
    let before = nodes[1].end.frames_received();
    settle(&mut nodes);
    assert_eq!(nodes[1].end.frames_received(), before);
    nodes[0].end.want_frame();
    settle(&mut nodes);
    assert_eq!(nodes[1].end.frames_received(), before + 1);
}

#[test]
fn a_link_is_opened_once_and_nothing_is_left_of_its_secrets() {
    let mut nodes = pair(true, LinkLayout::default());
    settle(&mut nodes);
    let holds = |node: &Node, secret: [u8; 32]| {
        // SAFETY: the memory of the link, at which nobody is at work.
        let bytes =
            unsafe { std::slice::from_raw_parts(node.memory.base.as_ptr(), node.memory.layout.bytes()) };
        bytes.windows(32).any(|window| window == secret)
    };
    assert!(holds(&nodes[0], [1; 32]) && holds(&nodes[0], [2; 32]));
    nodes[0].end.wipe();
    assert!(!holds(&nodes[0], [1; 32]) && !holds(&nodes[0], [2; 32]));
    assert_eq!(nodes[0].drive().unwrap_err().kind, FaultKind::Closed);
    let mut other = nodes[1].memory.attach();
    assert!(other.open(Side::Dialler, Protection::Plain).is_err());
    // Both begin anew, over another connection.
    let (one, other) = UnixStream::pair().unwrap();
    for (node, (side, socket)) in nodes.iter_mut().zip([(Side::Dialler, one), (Side::Acceptor, other)]) {
        socket.set_nonblocking(true).unwrap();
        node.socket = socket;
        node.end.reset();
        node.end.open(side, protection(side, true)).unwrap();
    }
    exchange(&mut nodes, &[1, 2, 3]);
}

#[test]
fn ends_with_rings_of_different_sizes_part() {
    let (one, other) = UnixStream::pair().unwrap();
    let mut small = Node::new(Side::Acceptor, true, LinkLayout::new(4 << 10).unwrap(), one);
    let mut large = Node::new(Side::Dialler, true, LinkLayout::default(), other);
    small.drive().unwrap();
    let fault = large.drive().unwrap_err();
    assert_eq!((fault.kind, fault.value), (FaultKind::RingBytes, 4 << 10));
    assert!(fault.to_string().contains("rings of one size"), "{fault}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn records_come_out_however_the_stream_is_cut(
        is_sealed: bool,
        lengths in prop::collection::vec(0usize..3000, 1..40),
        cuts in prop::collection::vec(1usize..5000, 1..40),
        ring in 12u32..17,
    ) {
        let layout = LinkLayout::new(1 << ring).unwrap();
        let lengths: Vec<usize> = lengths.into_iter().map(|length| length.min(layout.record_bytes())).collect();
        let (mut nodes, mut wires) = apart(is_sealed, layout);
        let mut cuts = cuts.into_iter().cycle();
        let (mut sent, mut found, mut streams) = (0, 0, [Vec::new(), Vec::new()]);
        while found < lengths.len() {
            if sent < lengths.len() {
                sent += usize::from(nodes[0].end.append(&[&content(sent, lengths[sent])]).unwrap());
            }
            for from in [0, 1] {
                nodes[from].drive().unwrap();
                streams[from].extend(hear(&mut wires[from]));
                let cut = cuts.next().unwrap().min(streams[from].len());
                wires[1 - from].write_all(&streams[from].drain(..cut).collect::<Vec<_>>()).unwrap();
            }
            nodes[1].drive().unwrap();
            for record in nodes[1].take() {
                prop_assert_eq!(record, content(found, lengths[found]));
                found += 1;
            }
        }
        prop_assert_eq!(found, sent);
    }
}

/// Whether a record is for the owner of the link alone, by its number.
fn is_owners(number: usize, seed: usize) -> bool {
    (number * 7 + number / 3 + seed).is_multiple_of(3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn records_are_taken_once_and_in_order_also_past_those_that_are_the_owners(
        lengths in prop::collection::vec(0usize..3000, 1..120),
        turns in prop::collection::vec((0usize..3, 1usize..9), 1..60),
        stops in prop::collection::vec(any::<bool>(), 1..20),
        seed in 0usize..3,
        ring in 12u32..15,
    ) {
        let layout = LinkLayout::new(1 << ring).unwrap();
        // At least so long that a record says its number.
        let lengths: Vec<usize> = lengths.into_iter().map(|it| it.clamp(8, layout.record_bytes())).collect();
        let mut nodes = pair(false, layout);
        let others = [nodes[1].memory.attach(), nodes[1].memory.attach()];
        let (mut past, mut taken) = ([0; 2], [const { Vec::new() }; 2]);
        // Each has a turn, and takes something, sooner or later.
        let mut turns = turns.into_iter().chain([(0, 8), (1, 8), (2, 8)]).cycle();
        let mut stops = stops.into_iter().chain([false]).cycle();
        let mut sent = 0;
        while taken.iter().map(Vec::len).sum::<usize>() < lengths.len() {
            while sent < lengths.len() {
                let mut record = content(sent, lengths[sent]);
                record[..8].copy_from_slice(&sent.to_le_bytes());
                if !nodes[0].end.append(&[&record]).unwrap() {
                    break;
                }
                sent += 1;
            }
            settle(&mut nodes);
            let number = |record: &Record<'_>| {
                let bytes = copied(record);
                let number = usize::from_le_bytes(*bytes.first_chunk().unwrap());
                assert_eq!(bytes[8..], content(number, lengths[number])[8..], "record {number}");
                number
            };
            let (who, mut most) = turns.next().unwrap();
            let end = others.get(who).unwrap_or(&nodes[1].end);
            let Some(mut taker) = end.taker() else { continue };
            if who == 2 {
                // The owner takes what is its, and leaves off at what another one has not taken yet.
                let mine = |record: &Record<'_>| is_owners(number(record), seed);
                let take = |record: Record<'_>| mine(&record).then(|| number(&record));
                while let Some(number) = taker.take_if(take).unwrap() {
                    taken[1].push(number);
                }
                continue;
            }
            past[who] = taker.go_past(past[who], |record| {
                let number = number(&record);
                if is_owners(number, seed) {
                    return Verdict::Leave;
                }
                if most == 0 || stops.next().unwrap() {
                    return Verdict::Stop;
                }
                most -= 1;
                taken[0].push(number);
                Verdict::Take
            }).unwrap();
        }
        let (owners, others) = (0..lengths.len()).partition::<Vec<_>, _>(|number| is_owners(*number, seed));
        prop_assert_eq!(taken, [others, owners]);
        // What was taken past others gives its room back when somebody looks again.
        prop_assert_eq!(nodes[1].take(), Vec::<Vec<u8>>::new());
        prop_assert!(!nodes[1].end.has_records());
    }
}

#[test]
fn a_process_that_finds_its_work_done_by_another_does_no_harm() {
    let mut nodes = pair(true, LinkLayout::default());
    settle(&mut nodes);
    // A frame that goes in parts, some of them by another process: what it leaves behind is no damage.
    assert_eq!(nodes[0].end.append(&[&[6; 60_000]]), Ok(true));
    let mut other = nodes[0].memory.attach();
    let mut frames = 0;
    while nodes[1].take().is_empty() {
        frames += u32::from(nodes[0].end.drive_sending(nodes[0].socket.as_fd()).unwrap());
        nodes[1].drive().unwrap();
        frames += u32::from(other.drive_sending(nodes[0].socket.as_fd()).unwrap());
    }
    assert!(frames > 0);
    // Both have seen the same work, and one of them comes too late for it.
    let (shared, limits) = (nodes[0].end.shared(), RenewalLimits::default());
    shared.state().sending.frame_sent.store(4096, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(nodes[0].end.append(&[b"x"]), Ok(true));
    assert!(other.drive_sending(nodes[0].socket.as_fd()).unwrap());
    shared.state().sending.frame_sent.store(4096, std::sync::atomic::Ordering::Relaxed);
    let late = super::super::sending::go_on(&shared, &mut None, limits, nodes[0].socket.as_fd());
    assert_eq!((late, nodes[0].end.fault()), (Ok(false), None));
}

/// The front of a record: its number, what its bytes are, and where they are once it is taken.
fn front(number: usize, place: u64) -> [u8; 16] {
    let mut front = [0; 16];
    front[..8].copy_from_slice(&(number as u64).to_le_bytes());
    front[8..].copy_from_slice(&place.to_le_bytes());
    front
}

/// Sends records one way, each a front and a rest that the appender may send from where it lies; the receiver
/// has some rests opened elsewhere than in its ring. Compares what comes out, and answers how many did not go
/// through the ring.
fn exchange_apart(nodes: &mut [Node; 2], lengths: &[usize], wants: impl Fn(usize) -> bool) -> usize {
    const IN_RING: u64 = 0;
    const ELSEWHERE: u64 = 1;
    let rests: Vec<Vec<u8>> = (0..).zip(lengths).map(|(number, bytes)| content(number, *bytes)).collect();
    let mut elsewhere: Vec<Vec<u8>> = lengths.iter().map(|bytes| vec![0; *bytes]).collect();
    let (mut sent, mut found, mut placed) = (0, 0, 0);
    settle(nodes);
    while found < lengths.len() {
        let Node { end, socket, .. } = &mut nodes[0];
        // One after the other, so that rests are sent from where they lie; or several, which wait in the
        // ring.
        for _ in 0..1 + sent / 16 % 2 {
            let (Some(rest), Some(mut appender)) =
                (rests.get(sent), end.appender_to(Some(socket.as_fd()), 4096).unwrap())
            else {
                break;
            };
            let front = front(sent, IN_RING);
            // SAFETY: the rest is borrowed, and lies in no link.
            let pushed =
                unsafe { appender.push_from(&[&front[..5], &front[5..]], rest.as_ptr(), rest.len()) };
            sent += usize::from(pushed.unwrap());
        }
        nodes[0].drive().unwrap();
        let Node { end, socket, .. } = &mut nodes[1];
        let mut place = |Opening { front: shown, rest_bytes: bytes, .. }: Opening<'_>| {
            let number = u64::from_le_bytes(shown[..8].try_into().unwrap()) as usize;
            assert_eq!((shown.len(), &*shown, bytes), (16, &front(number, IN_RING)[..], lengths[number]));
            wants(number).then(|| {
                shown[8..].copy_from_slice(&ELSEWHERE.to_le_bytes());
                NonNull::new(elsewhere[number].as_mut_ptr()).unwrap()
            })
        };
        // SAFETY: the room for each rest is as long as that.
        unsafe { end.drive_receiving_to(socket.as_fd(), &mut place) }.unwrap();
        nodes[1].end.drive_sending(nodes[1].socket.as_fd()).unwrap();
        for record in nodes[1].take() {
            let (shown, bytes) = record.split_at(16);
            let is_elsewhere = shown == front(found, ELSEWHERE);
            assert!(is_elsewhere || shown == front(found, IN_RING), "front of record {found}");
            assert_eq!(if is_elsewhere { &elsewhere[found] } else { bytes }, &rests[found], "record {found}");
            placed += usize::from(is_elsewhere);
            found += 1;
        }
    }
    placed
}

#[test]
fn the_rests_of_records_come_out_as_they_went_in_wherever_they_are_opened() {
    for (is_sealed, ring_bytes) in
        [(true, 256 << 10), (false, 256 << 10), (true, 16 << 10), (false, 64 << 10)]
    {
        let layout = LinkLayout::new(ring_bytes).unwrap();
        let most = layout.record_bytes() - 16;
        let mut lengths = vec![0, 1, 7, 8, 4095, 4096, 4097, 4104, most / 8 * 8, most, most - 1, 4096, 0];
        lengths.extend((0..300).map(|number| number * 1016 % most));
        lengths.iter_mut().for_each(|bytes| *bytes = (*bytes).min(most));
        assert_eq!(exchange_apart(&mut pair(is_sealed, layout), &lengths, |_| false), 0);
        let placed = exchange_apart(&mut pair(is_sealed, layout), &lengths, |_| true);
        assert!(placed > 10, "{placed} of {} rests were opened elsewhere", lengths.len());
        let placed = exchange_apart(&mut pair(is_sealed, layout), &lengths, |number| number % 3 == 0);
        assert!(placed > 3, "{placed} of {} rests were opened elsewhere", lengths.len());
    }
}

#[test]
fn keys_are_renewed_between_a_front_and_its_rest() {
    let mut nodes = pair(true, LinkLayout::default());
    nodes.iter_mut().for_each(|node| node.end.limit_keys(RenewalLimits { frames: 3, bytes: 200_000 }));
    let lengths: Vec<usize> = (0..200).map(|number| 4096 + number * 8 * 37 % 50_000).collect();
    assert!(exchange_apart(&mut nodes, &lengths, |number| number % 2 == 0) > 20);
}

#[test]
fn nobody_takes_a_record_whose_rest_has_not_come_and_other_processes_take_the_rest_from_the_ring() {
    let (mut nodes, mut wires) = apart(true, LinkLayout::default());
    let rest = content(0, 8 << 10);
    let Node { end, socket, .. } = &mut nodes[0];
    let mut appender = end.appender_to(Some(socket.as_fd()), 4096).unwrap().unwrap();
    // SAFETY: the rest is borrowed, and lies in no link.
    assert!(unsafe { appender.push_from(&[&front(0, 0)], rest.as_ptr(), rest.len()) }.unwrap());
    drop(appender);
    let said = hear(&mut wires[0]);
    let (first, last) = said.split_at(said.len() - 1);
    wires[1].write_all(first).unwrap();
    nodes[1].drive().unwrap();
    assert!(nodes[1].take().is_empty());
    wires[1].write_all(last).unwrap();
    let Node { end, socket, memory, .. } = &mut nodes[1];
    // Another process takes records just now: nothing that it sees may change.
    let other = memory.attach();
    let taker = other.taker();
    let mut asked = false;
    let mut place = |_: Opening<'_>| {
        asked = true;
        None
    };
    // SAFETY: nothing is put anywhere.
    unsafe { end.drive_receiving_to(socket.as_fd(), &mut place) }.unwrap();
    assert!(taker.is_some() && !asked);
    drop(taker);
    assert_eq!(nodes[1].take(), [[&front(0, 0)[..], &rest].concat()]);
}

#[test]
fn one_appender_sends_as_many_long_records_as_are_taken() {
    let mut nodes = pair(true, LinkLayout::default());
    settle(&mut nodes);
    let (rest, [one, other]) = (content(1, 60 << 10), &mut nodes);
    let mut appender = one.end.appender_to(Some(one.socket.as_fd()), 4096).unwrap().unwrap();
    for number in 0..20 {
        // SAFETY: the rest is borrowed, and lies in no link.
        let pushed = unsafe { appender.push_from(&[&front(number, 0)], rest.as_ptr(), rest.len()) };
        assert_eq!(pushed, Ok(true), "record {number}");
        let mut found = Vec::new();
        while found.is_empty() {
            other.drive().unwrap();
            found = other.take();
            // Another process of the node hears what was taken.
            one.memory.attach().drive_receiving(one.socket.as_fd()).unwrap();
        }
        assert_eq!(found, [[&front(number, 0)[..], &rest].concat()]);
    }
    assert_eq!(appender.push(&[b"a short one"]), Ok(true));
}
