//! Writes by libfabric itself, over a provider that needs no network card.

use super::*;
use crate::host::clock::now_ns;
use crate::memory::{Rank, RequestId};
use std::net::Ipv4Addr;

const PROVIDER: &str = "tcp;ofi_rxm";

/// Who waits gives up when it has polled so often, and for so long: a machine that is busy with other
/// things must not look like a write that hangs.
const POLLS: u32 = 200_000;
/// As `POLLS`.
const POLLING_NS: u64 = 60_000_000_000;

/// Around the edges of a piece, and more pieces than are under way at once.
const SIZES: [usize; 6] = [128 << 10, (128 << 10) + 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (9 << 20) + 5];

/// Bytes on both sides of a buffer, which nobody may touch. No buffer begins where a page does.
const NEIGHBOURS: usize = 5003;

fn place(provider: &str) -> EndpointPlace {
    EndpointPlace { address: Ipv4Addr::LOCALHOST.into(), provider: provider.into() }
}

/// So many ranks that can write; none, and the test counts as skipped, where the provider is not there.
fn cards<const N: usize>() -> Option<[CardWrites; N]> {
    let address = Ipv4Addr::LOCALHOST.into();
    match Offer::choose(Some(PROVIDER), Some(SignalOrder::Completion), address) {
        Ok(_) => Some([(); N].map(|()| CardWrites::new(place(PROVIDER)))),
        Err(error @ (OfiError::Missing { .. } | OfiError::NoProvider { .. })) => {
            bcs_harness::skip(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What was over, and whether it was delivered.
type Ended = Vec<(Invitation, bool)>;

/// A message: the buffers of both ends, each with its neighbours.
struct Message {
    landing: u64,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Message {
    fn new(landing: u64, bytes: usize) -> Self {
        let word = |i: usize| (i as u64 / 8 + landing).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let pattern = |i: usize| (word(i) >> (8 * (i % 8))) as u8;
        let all = bytes + 2 * NEIGHBOURS;
        Self { landing, from: (0..all).map(pattern).collect(), to: vec![0xa5; all] }
    }

    fn bytes(&self) -> usize {
        self.from.len() - 2 * NEIGHBOURS
    }

    fn buffer(&self, all: &[u8]) -> Buffer {
        Buffer { address: all[NEIGHBOURS..].as_ptr() as u64, bytes: self.bytes() as u64 }
    }

    /// The receiver opens its buffer. What the sender is invited to, and the endpoint's address.
    fn open(&mut self, receiver: &mut CardWrites) -> (Invitation, Vec<u8>) {
        let target = self.to[NEIGHBOURS..].as_mut_ptr() as u64;
        let buffer = Buffer { address: target, bytes: self.bytes() as u64 };
        let opened = receiver.open(self.landing, buffer).expect("memory can be registered");
        let invitation = Invitation {
            node: 3,
            rank: Rank(5),
            request: RequestId(self.landing as u32),
            from: self.buffer(&self.from).address,
            landing: self.landing,
            bytes: self.bytes() as u64,
            at: opened.at,
            key: opened.key,
        };
        (invitation, opened.address.to_vec())
    }

    fn begin(&self, sender: &mut CardWrites, invited: &Invitation, address: &[u8]) -> bool {
        sender.begin(invited, self.buffer(&self.from), address)
    }

    fn invite(&mut self, sender: &mut CardWrites, receiver: &mut CardWrites) -> Invitation {
        let (invited, address) = self.open(receiver);
        assert!(self.begin(sender, &invited, &address));
        invited
    }

    fn assert_is_there(&self) {
        let inside = NEIGHBOURS..NEIGHBOURS + self.bytes();
        let is_same = self.to[inside.clone()] == self.from[inside.clone()];
        assert!(is_same, "{} bytes are not those that were sent", self.bytes());
        self.assert_untouched_but(inside);
    }

    fn assert_untouched_but(&self, inside: std::ops::Range<usize>) {
        let mut touched =
            self.to.iter().enumerate().filter(|(i, byte)| !inside.contains(i) && **byte != 0xa5);
        let first = touched.next().map(|(i, _)| i as isize - NEIGHBOURS as isize);
        assert_eq!(first, None, "touched beside or in a buffer of {} bytes", self.bytes());
    }
}

/// Has all go on until `is_done` says so.
fn go_on_until(cards: &mut [CardWrites], mut is_done: impl FnMut(&mut [CardWrites]) -> bool) {
    let (begin, mut polls) = (now_ns(), 0);
    while !is_done(cards) {
        polls += 1;
        assert!(polls < POLLS || now_ns() - begin < POLLING_NS, "it hangs");
        for card in &mut *cards {
            card.go_on();
            assert_eq!(card.failure(), None);
        }
        std::thread::yield_now();
    }
}

/// What is over by now.
fn over(card: &mut CardWrites) -> Ended {
    let mut over = Vec::new();
    card.take_over(&mut |invited, is_delivered| {
        over.push((*invited, is_delivered));
        true
    });
    over
}

/// Has all go on until the first is done with all that it has begun.
fn end(cards: &mut [CardWrites]) -> Ended {
    let mut ended = Vec::new();
    go_on_until(cards, |cards| {
        ended.extend(over(&mut cards[0]));
        cards[0].is_idle()
    });
    ended
}

#[test]
fn a_message_is_there_when_it_is_said_to_be_and_its_neighbours_are_untouched() {
    let Some(mut cards) = cards::<2>() else { return };
    for (landing, bytes) in (1..).zip(SIZES) {
        let mut message = Message::new(landing, bytes);
        let [sender, receiver] = &mut cards;
        let invited = message.invite(sender, receiver);
        assert_eq!(end(&mut cards), [(invited, true)]);
        message.assert_is_there();
        cards[1].close_unless(&mut |_| false);
    }
    assert_eq!(cards.map(|mut card| card.take_refusal()), [None, None]);
}

#[test]
fn messages_cross_each_other_in_both_directions() {
    let Some(mut cards) = cards::<2>() else { return };
    let messages = |first: u64| (first..).zip(SIZES).map(|(landing, bytes)| Message::new(landing, bytes));
    let mut messages = [100, 200].map(|first| messages(first).collect::<Vec<_>>());
    messages[1].reverse();
    let mut expected = [Vec::new(), Vec::new()];
    let [first, second] = &mut cards;
    for i in 0..SIZES.len() {
        let [there, back] = &mut messages;
        expected[0].push((there[i].invite(first, second), true));
        expected[1].push((back[i].invite(second, first), true));
    }
    let mut ended = [Vec::new(), Vec::new()];
    go_on_until(&mut cards, |cards| {
        for (from, ended) in ended.iter_mut().enumerate() {
            for (invited, is_delivered) in over(&mut cards[from]) {
                let message = messages[from].iter().find(|it| it.landing == invited.landing).unwrap();
                message.assert_is_there();
                ended.push((invited, is_delivered));
            }
        }
        ended.iter().all(|ended| ended.len() == SIZES.len())
    });
    for ended in ended.iter_mut().chain(&mut expected) {
        ended.sort_by_key(|(invited, _)| invited.landing);
    }
    assert_eq!(ended, expected, "each is named once, as it was invited");
    messages.iter().flatten().for_each(Message::assert_is_there);
}

#[test]
fn it_is_idle_while_nothing_is_opened_and_nothing_is_written() {
    let Some(mut cards) = cards::<2>() else { return };
    assert!(cards.iter().all(CardWrites::is_idle), "before anything");
    let mut message = Message::new(1, SIZES[0]);
    let (invited, address) = message.open(&mut cards[1]);
    assert!(!cards[1].is_idle(), "a buffer is open");
    assert!(message.begin(&mut cards[0], &invited, &address));
    let mut is_over = false;
    go_on_until(&mut cards, |cards| {
        assert!(!cards[0].is_idle(), "a write is under way, or nobody has been told that it is over");
        cards[0].take_over(&mut |_, is_delivered| {
            is_over = is_delivered;
            false
        });
        is_over
    });
    assert!(!cards[0].is_idle(), "who was told wants to be told again");
    assert_eq!((over(&mut cards[0]), cards[0].is_idle()), (vec![(invited, true)], true));
    cards[1].close_unless(&mut |landing| landing == 1);
    assert!(!cards[1].is_idle(), "the landing is there");
    cards[1].close_unless(&mut |_| false);
    assert!(cards[1].is_idle());
    assert!(!cards.each_mut().map(|card| card.go_on()).contains(&true), "nothing is left to do");
}

#[test]
fn a_buffer_is_open_as_long_as_its_landing_is_there_and_no_longer() {
    let Some(mut cards) = cards::<2>() else { return };
    let [mut closed, mut open] = [1, 2].map(|landing| Message::new(landing, SIZES[0]));
    let (of_closed, address) = closed.open(&mut cards[1]);
    let (of_open, _) = open.open(&mut cards[1]);
    let mut asked = Vec::new();
    cards[1].close_unless(&mut |landing| {
        asked.push(landing);
        landing == 2
    });
    assert_eq!(asked, [1, 2]);
    assert!(open.begin(&mut cards[0], &of_open, &address));
    assert_eq!(end(&mut cards), [(of_open, true)]);
    open.assert_is_there();
    if std::env::var_os(KEEPS_VARIABLE).is_some() {
        return; // A registration that is kept can be written to as before.
    }
    assert!(closed.begin(&mut cards[0], &of_closed, &address));
    assert_eq!(end(&mut cards), [(of_closed, false)]);
    closed.assert_untouched_but(0..0);
}

/// Has a message of so many bytes written otherwise than was invited: that fails, nothing is written, and
/// why is told once. False where the provider is not there.
fn fails(bytes: usize, adapt: impl FnOnce(&mut Invitation, &mut Vec<u8>)) -> bool {
    let Some(mut cards) = cards::<2>() else { return false };
    let mut message = Message::new(1, bytes);
    let (mut invited, mut address) = message.open(&mut cards[1]);
    adapt(&mut invited, &mut address);
    let is_begun = message.begin(&mut cards[0], &invited, &address);
    let expected = if is_begun { vec![(invited, false)] } else { vec![] };
    assert_eq!(end(&mut cards), expected);
    let why = cards[0].take_refusal().expect("why is told").to_string();
    let call = if is_begun { "fi_writemsg" } else { "fi_av_insert" };
    assert!(why.contains(call) && (!is_begun || why.contains(&bytes.to_string())), "{why}");
    assert_eq!(cards.each_mut().map(CardWrites::take_refusal), [None, None], "once");
    assert_eq!(over(&mut cards[0]), []);
    message.assert_untouched_but(0..0);
    true
}

#[test]
fn nothing_is_begun_for_a_message_that_is_written_already() {
    let Some([mut sender, mut receiver]) = cards() else { return };
    let (mut first, mut second) = (Message::new(1, SIZES[5]), Message::new(2, SIZES[0]));
    let (invited, address) = first.open(&mut receiver);
    let (other, _) = second.open(&mut receiver);
    assert!(first.begin(&mut sender, &invited, &address));
    assert!(!first.begin(&mut sender, &invited, &address));
    assert!(!second.begin(&mut sender, &Invitation { request: invited.request, ..other }, &address));
    assert!(second.begin(&mut sender, &other, &address));
    let mut cards = [sender, receiver];
    assert_eq!(end(&mut cards), [(invited, true), (other, true)]);
    first.assert_is_there();
    second.assert_is_there();
}

#[test]
fn a_write_with_a_wrong_key_fails_and_why_is_told_once() {
    for bytes in SIZES {
        if !fails(bytes, |invited, _| invited.key ^= 1 << 17) {
            return;
        }
    }
}

#[test]
fn a_write_to_what_is_no_address_of_an_endpoint_fails_and_why_is_told_once() {
    for length in [0, 1, 3, 16, 28, 512, 513] {
        for byte in [0, 1, 2, 0xff] {
            if !fails(SIZES[0], |_, address| *address = vec![byte; length]) {
                return;
            }
        }
    }
}

/// A message to an endpoint that is gone, and then one to an endpoint that is there: what was over, in
/// that order, and the two. None where the provider is not there.
fn to_one_that_is_gone() -> Option<(Ended, [Invitation; 2])> {
    let [mut gone, mut sender, mut receiver] = cards::<3>()?;
    let (mut lost, mut good) = (Message::new(1, SIZES[5]), Message::new(2, SIZES[0]));
    let (to_gone, address) = lost.open(&mut gone);
    drop(gone);
    assert!(lost.begin(&mut sender, &to_gone, &address));
    let to_there = good.invite(&mut sender, &mut receiver);
    let mut cards = [sender, receiver];
    let ended = end(&mut cards);
    good.assert_is_there();
    lost.assert_untouched_but(0..0);
    assert!(!lost.begin(&mut cards[0], &to_gone, &address), "nobody waits for it again");
    assert!(cards[0].is_idle() && cards[0].take_refusal().is_some());
    assert_eq!(cards[0].least_bytes(), BUFFER_WRITE_BYTES);
    Some((ended, [to_gone, to_there]))
}

#[test]
fn a_write_to_an_endpoint_that_is_gone_fails_and_holds_up_no_other() {
    // Another one may be late all the same, where this process is not run for long.
    for _ in 0..8 {
        let Some((mut ended, [to_gone, to_there])) = to_one_that_is_gone() else { return };
        let is_first = ended[0] == (to_there, true);
        ended.sort_by_key(|(invited, _)| invited.landing);
        assert_eq!(ended, [(to_gone, false), (to_there, true)]);
        if is_first {
            return;
        }
    }
    panic!("another message waited until that had failed");
}

#[test]
fn after_a_write_that_fails_others_are_written() {
    let Some(mut cards) = cards::<2>() else { return };
    let [mut bad, mut good] = [1, 2].map(|landing| Message::new(landing, SIZES[5]));
    let (invited, address) = bad.open(&mut cards[1]);
    let wrong = Invitation { key: invited.key ^ 1, ..invited };
    assert!(bad.begin(&mut cards[0], &wrong, &address));
    assert_eq!(end(&mut cards), [(wrong, false)]);
    assert_eq!(cards[0].least_bytes(), BUFFER_WRITE_BYTES);
    // The connection went with it. What is begun before both ends know that may fail, too.
    for tries in 0.. {
        assert!(tries < 100, "nothing is written any more");
        let [sender, receiver] = &mut cards;
        let invited = good.invite(sender, receiver);
        if end(&mut cards) == [(invited, true)] {
            break;
        }
        cards[1].close_unless(&mut |_| false);
    }
    good.assert_is_there();
    bad.assert_untouched_but(0..0);
}

#[test]
fn what_is_over_is_named_until_it_is_taken_and_then_no_more() {
    let Some(mut cards) = cards::<2>() else { return };
    let mut messages = [1, 2, 3].map(|landing| Message::new(landing, SIZES[0]));
    let [sender, receiver] = &mut cards;
    let invited = messages.each_mut().map(|message| message.invite(sender, receiver));
    let named = |card: &mut CardWrites, taken: &[u64]| {
        let mut named = Vec::new();
        card.take_over(&mut |invited, is_delivered| {
            named.push((invited.landing, is_delivered));
            taken.contains(&invited.landing)
        });
        named
    };
    go_on_until(&mut cards, |cards| named(&mut cards[0], &[]).len() == invited.len());
    assert_eq!(named(&mut cards[0], &[2]), [(1, true), (2, true), (3, true)]);
    assert_eq!(named(&mut cards[0], &[]), [(1, true), (3, true)]);
    assert_eq!(over(&mut cards[0]), [(invited[0], true), (invited[2], true)]);
    assert_eq!(over(&mut cards[0]), []);
    messages.iter().for_each(Message::assert_is_there);
}

#[test]
fn without_its_provider_nothing_goes_from_buffer_to_buffer_and_why_is_told_once() {
    let mut card = CardWrites::new(place("no such provider"));
    assert_eq!((card.least_bytes(), card.take_refusal()), (BUFFER_WRITE_BYTES, None), "nobody has tried");
    let mut message = Message::new(1, SIZES[0]);
    let target = Buffer { address: message.to.as_mut_ptr() as u64, bytes: SIZES[0] as u64 };
    assert!(card.open(1, target).is_none());
    assert_eq!(card.least_bytes(), u64::MAX);
    let why = card.take_refusal().expect("why is told");
    assert!(matches!(why, OfiError::Missing { .. } | OfiError::NoProvider { .. }), "{why}");
    let (node, rank, request) = (3, Rank(5), RequestId(7));
    let (from, bytes) = (message.from.as_ptr() as u64, SIZES[0] as u64);
    let invited = Invitation { node, rank, request, from, landing: 1, bytes, at: target.address, key: 1 };
    assert!(!message.begin(&mut card, &invited, b"address"));
    assert!(card.open(1, target).is_none());
    assert!(card.is_idle() && !card.go_on() && over(&mut card).is_empty());
    assert_eq!((card.take_refusal(), card.failure()), (None, None), "once");
}

#[test]
fn a_buffer_that_cannot_be_registered_is_not_opened_and_others_are() {
    let Some(mut cards) = cards::<2>() else { return };
    assert!(cards[1].open(1, Buffer { address: 0, bytes: 4096 }).is_none());
    assert!(cards[1].take_refusal().is_some() && cards[1].is_idle());
    let mut message = Message::new(2, SIZES[0]);
    let [sender, receiver] = &mut cards;
    let invited = message.invite(sender, receiver);
    assert_eq!(end(&mut cards), [(invited, true)]);
    message.assert_is_there();
    assert_eq!(cards[1].take_refusal(), None, "once");
}
