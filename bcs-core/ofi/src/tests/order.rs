//! The two halves of a link on a model of a network that uses every freedom which an order leaves it: writes
//! are placed late, byte by byte, one before the other; and complete late.

use crate::receiver::Receiver;
use crate::sender::{CreditError, Sender, Windows, Write};
use bcs_libfabric::SignalOrder;
use bcs_link::{SignalWords, digest};
use fastrand::Rng;
use std::collections::VecDeque;
use std::ptr::NonNull;

/// A write under way: what it writes, and how much of it was placed; and the signal in it, if there is one
/// that was not.
struct Posted {
    write: Write,
    bytes: Vec<u8>,
    placed: usize,
    signal: Option<(u64, u64, u64)>,
}

/// A network between a sender and a receiver.
struct Model {
    /// What the network really does.
    freedom: SignalOrder,
    random: Rng,
    under_way: Vec<Posted>,
    /// Placed, and not said to be complete.
    placed: Vec<Write>,
    /// Words, of which the bytes are those that are sent.
    window: Vec<u64>,
    signal: SignalWords,
}

/// What follows from words.
fn digest_of(words: &[u64]) -> u64 {
    // SAFETY: so many bytes lie there.
    unsafe { digest(NonNull::from(words).cast(), size_of_val(words)) }
}

impl Model {
    /// Whether the network may go on with a write now.
    fn may_place(&self, index: usize) -> bool {
        match self.freedom {
            SignalOrder::WriteAfterWrite => index == 0,
            SignalOrder::Completion => true,
        }
    }

    /// Something happens: a byte is placed, or a completion comes.
    fn step(&mut self, sender: &mut Sender) {
        if !self.placed.is_empty() && self.random.u32(..4) == 0 {
            let index = self.random.usize(..self.placed.len());
            sender.handle_complete(self.placed.swap_remove(index));
        }
        if self.under_way.is_empty() {
            return;
        }
        let index = self.random.usize(..self.under_way.len());
        if !self.may_place(index) {
            return;
        }
        let window = 8 * self.window.len();
        let posted = &mut self.under_way[index];
        let left = posted.bytes.len() - posted.placed;
        if let Some((position, proven, digest)) = posted.signal
            && (left == 0 || self.random.bool())
        {
            self.signal.write_with(position, proven, digest);
            posted.signal = None;
        } else if let Write::Data { position, .. } | Write::Proven { position, .. } = posted.write
            && left > 0
        {
            // From the end: nothing is said about the order of the bytes of a write.
            let some = self.random.usize(1..=left);
            for at in left - some..left {
                let to = (position as usize + at) % window;
                let mut word = self.window[to / 8].to_ne_bytes();
                word[to % 8] = posted.bytes[at];
                self.window[to / 8] = u64::from_ne_bytes(word);
            }
            posted.placed += some;
        }
        if posted.placed == posted.bytes.len() && posted.signal.is_none() {
            let write = self.under_way.remove(index).write;
            self.placed.push(write);
        }
    }
}

/// The byte at a position of the stream.
fn byte_at(position: u64) -> u8 {
    (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// Sends a stream over a network of that freedom, with a sender that relies on that order. False when bytes
/// were seen that had not come.
fn holds(relied_on: SignalOrder, freedom: SignalOrder, windows: Windows, seed: u64) -> bool {
    const STREAM_BYTES: u64 = 40 << 10;
    let mut random = Rng::with_seed(seed);
    let window = windows.remote.min(windows.slab.unwrap_or(u64::MAX));
    let windows = Windows { remote: window, ..windows };
    let mut model = Model {
        freedom,
        random: Rng::with_seed(!seed),
        under_way: Vec::new(),
        placed: Vec::new(),
        window: vec![0; window as usize / 8],
        signal: SignalWords::default(),
    };
    model.signal.write(0);
    let (mut sender, mut receiver) = (Sender::new(relied_on, windows), Receiver::new(window));
    let (mut appended, mut taken, mut credits) = (0, 0, VecDeque::new());
    while taken < STREAM_BYTES {
        let room = sender.free_to() + windows.ring - appended;
        appended += (random.u64(..64) * 8).min(room).min(STREAM_BYTES - appended);
        while let Some(write) = sender.poll_write(appended) {
            let bytes: Vec<u8> = match write {
                Write::Data { position, bytes } | Write::Proven { position, bytes } => {
                    (position..position + bytes).map(byte_at).collect()
                }
                Write::Signal { .. } => Vec::new(),
            };
            let signal = match write {
                Write::Data { .. } => None,
                Write::Signal { position } => Some((position, position, 0)),
                Write::Proven { position, bytes: count } => {
                    let words = bytes.chunks_exact(8).map(|it| u64::from_ne_bytes(it.try_into().unwrap()));
                    Some((position + count, position, digest_of(&words.collect::<Vec<_>>())))
                }
            };
            sender.handle_posted(write);
            model.under_way.push(Posted { write, bytes, placed: 0, signal });
            if random.bool() {
                break;
            }
        }
        for _ in 0..random.u32(..20) {
            model.step(&mut sender);
        }
        let seen = model.signal.read_with(|from, to| {
            let words = |position: u64| (position % window) as usize / 8;
            Some(digest_of(&model.window[words(from)..][..(to - from) as usize / 8]))
        });
        if seen.is_some_and(|seen| receiver.handle_signal(seen).is_err()) {
            return false;
        }
        if random.bool() {
            let until = receiver.signalled();
            let byte = |at: u64| model.window[(at % window) as usize / 8].to_ne_bytes()[at as usize % 8];
            if (taken..until).any(|at| byte(at) != byte_at(at)) {
                return false;
            }
            taken = until;
        }
        if let Some(credit) = receiver.poll_credit(taken) {
            receiver.handle_posted(credit);
            credits.push_back(credit);
        }
        if random.u32(..4) == 0
            && let Some(credit) = credits.pop_front()
        {
            receiver.handle_complete();
            sender.handle_credit(credit).unwrap();
        }
    }
    true
}

const WINDOWS: [Windows; 6] = [
    Windows { ring: 4096, slab: None, remote: 4096, write: 4096, proven: 0 },
    Windows { ring: 8192, slab: None, remote: 2048, write: 1000, proven: 0 },
    Windows { ring: 8192, slab: Some(1024), remote: 2048, write: 4096, proven: 0 },
    Windows { ring: 4096, slab: None, remote: 4096, write: 4096, proven: 4096 },
    Windows { ring: 4096, slab: None, remote: 4096, write: 400, proven: 256 },
    Windows { ring: 4096, slab: Some(1024), remote: 4096, write: 4096, proven: 512 },
];

#[test]
fn no_byte_is_seen_before_it_has_come_whatever_the_promised_order_leaves_open() {
    for order in [SignalOrder::WriteAfterWrite, SignalOrder::Completion] {
        for (windows, seed) in
            WINDOWS.into_iter().flat_map(|windows| (0..20).map(move |seed| (windows, seed)))
        {
            assert!(holds(order, order, windows, seed), "{order:?}, {windows:?}, seed {seed}");
        }
    }
}

#[test]
fn a_network_that_promises_less_is_found_out_by_this_model() {
    let fails = |relied_on, freedom| (0..20).any(|seed| !holds(relied_on, freedom, WINDOWS[0], seed));
    assert!(fails(SignalOrder::WriteAfterWrite, SignalOrder::Completion));
    // Who relies on less than is promised loses time alone.
    assert!(!fails(SignalOrder::Completion, SignalOrder::WriteAfterWrite));
}

#[test]
fn a_signal_goes_with_its_data_where_it_can_prove_all_that_it_is_for() {
    let windows = Windows { proven: 256, ..WINDOWS[0] };
    let mut sender = Sender::new(SignalOrder::WriteAfterWrite, windows);
    let short = Write::Proven { position: 0, bytes: 256 };
    assert_eq!(sender.poll_write(256), Some(short));
    sender.handle_posted(short);
    // While a signal is under way, data goes by itself, and its signal behind it.
    let more = Write::Data { position: 256, bytes: 8 };
    assert_eq!(sender.poll_write(264), Some(more));
    sender.handle_posted(more);
    assert_eq!(sender.poll_write(264), None);
    sender.handle_complete(short);
    assert_eq!(sender.poll_write(264), Some(Write::Signal { position: 264 }));
    sender.handle_posted(Write::Signal { position: 264 });
    sender.handle_complete(Write::Signal { position: 264 });
    // What is too long, or crosses the end of the ring, takes its own way.
    assert_eq!(sender.poll_write(264 + 264), Some(Write::Data { position: 264, bytes: 264 }));
    sender.handle_complete(more);
    sender.handle_credit(264).unwrap();
    let rest = Write::Data { position: 264, bytes: 4096 - 264 - 8 };
    assert_eq!(sender.poll_write(4096 - 8), Some(rest));
    sender.handle_posted(rest);
    sender.handle_posted(Write::Signal { position: 4096 - 8 });
    sender.handle_complete(Write::Signal { position: 4096 - 8 });
    assert_eq!(sender.poll_write(4096 + 8), Some(Write::Data { position: 4096 - 8, bytes: 8 }));
    // Where only completions say what has come, nothing goes with its signal.
    assert_eq!(
        Sender::new(SignalOrder::Completion, windows).poll_write(8),
        Some(Write::Data { position: 0, bytes: 8 })
    );
}

#[test]
fn credit_and_signals_that_cannot_be_are_refused() {
    let mut sender = Sender::new(SignalOrder::WriteAfterWrite, WINDOWS[0]);
    assert_eq!(sender.poll_write(0), None);
    let data = Write::Data { position: 0, bytes: 64 };
    assert_eq!(sender.poll_write(64), Some(data));
    sender.handle_posted(data);
    assert_eq!(sender.handle_credit(64), Err(CreditError { credit: 64, told: 0, before: 0 }));
    let signal = Write::Signal { position: 64 };
    assert_eq!(sender.poll_write(64), Some(signal));
    sender.handle_posted(signal);
    // One signal is under way at most.
    let more = Write::Data { position: 64, bytes: 32 };
    assert_eq!(sender.poll_write(96), Some(more));
    sender.handle_posted(more);
    assert_eq!(sender.poll_write(96), None);
    assert_eq!(sender.handle_credit(32), Ok(()));
    for credit in [24, 36, 72] {
        assert!(sender.handle_credit(credit).is_err(), "{credit}");
    }
    // What is not complete is not free, even if it was taken.
    assert_eq!(sender.handle_credit(64), Ok(()));
    assert_eq!(sender.free_to(), 0);
    [data, signal].into_iter().for_each(|write| sender.handle_complete(write));
    assert_eq!(sender.free_to(), 64);
    assert!(!sender.is_sent(96));

    let mut receiver = Receiver::new(4096);
    assert_eq!(receiver.handle_signal(64).map(|more| more.map(u64::from)), Ok(Some(64)));
    assert_eq!(receiver.handle_signal(64), Ok(None));
    for signal in [56, 68, 4096 + 8, u64::MAX - 7] {
        assert!(receiver.handle_signal(signal).is_err(), "{signal}");
    }
    // Credit is given when it is worth it, and not while one is under way.
    assert_eq!([64, 1016].map(|free| receiver.poll_credit(free)), [None, None]);
    assert_eq!(receiver.poll_credit(1024), Some(1024));
    receiver.handle_posted(1024);
    assert_eq!(receiver.poll_credit(4096), None);
    receiver.handle_complete();
    assert_eq!(receiver.poll_credit(4096), Some(4096));
}
