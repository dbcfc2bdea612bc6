//! Bytes that are no messages, for the tests of all decoders: what somebody else sends is decoded to a valid
//! value or refused, with no panic, no abort, no hang, and no memory beyond a multiple of what was sent.
//!
//! Each check runs for as long as the environment variable `BCS_FUZZ_SECONDS` says (a fifth of a second
//! without it), with one seed after the other; it says with which seed it failed, and `BCS_SEED` is the first
//! to run. The cargo feature `damage` makes this module for the tests of other crates.

use crate::wire::{self, FrameBuffer, WireMessage};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub use fastrand::Rng;

/// One check takes less than a millisecond; one that takes this long hangs.
const HANG: Duration = Duration::from_secs(60);

/// Runs a check with one seed after the other.
///
/// # Panics
/// As the check does, after the seed is told. A check that hangs ends the process.
pub fn run(check: impl Fn(&mut Rng)) {
    let seconds = std::env::var("BCS_FUZZ_SECONDS").map_or(0.2, |seconds| seconds.parse().expect("a number"));
    let first = std::env::var("BCS_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let until = now() + Duration::from_secs_f64(seconds);
    let current = AtomicU64::new(first);
    let (over, is_over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&current, is_over));
        let over = over;
        for seed in first.. {
            if now() >= until {
                break;
            }
            current.store(seed, Ordering::Relaxed);
            let told = TellSeed(seed);
            check(&mut Rng::with_seed(seed));
            std::mem::forget(told);
        }
        drop(over);
    });
}

#[allow(clippy::disallowed_methods, reason = "the time that a test may take is no part of any engine")]
fn now() -> Instant {
    Instant::now()
}

/// Ends the process when one seed takes too long.
fn watch(current: &AtomicU64, is_over: mpsc::Receiver<()>) {
    let mut last = None;
    while is_over.recv_timeout(HANG) == Err(mpsc::RecvTimeoutError::Timeout) {
        let seed = current.load(Ordering::Relaxed);
        if last.replace(seed) == Some(seed) {
            eprintln!("hangs with BCS_SEED={seed}");
            std::process::abort();
        }
    }
}

struct TellSeed(u64);

impl Drop for TellSeed {
    fn drop(&mut self) {
        eprintln!("failed with BCS_SEED={}", self.0);
    }
}

/// Bytes of any value, fewer than this.
pub fn noise(below: usize, random: &mut Rng) -> Vec<u8> {
    let count = random.usize(..below);
    std::iter::repeat_with(|| random.u8(..)).take(count).collect()
}

/// Damages bytes: cut, doubled, overwritten, or all others.
pub fn damage(bytes: &mut Vec<u8>, random: &mut Rng) {
    match random.u32(..6) {
        0 => bytes.truncate(random.usize(..=bytes.len())),
        1 => bytes.extend_from_within(..random.clone().usize(..=bytes.len())),
        2 => *bytes = noise(300, random),
        _ => {
            for _ in 0..random.usize(1..6) {
                if !bytes.is_empty() {
                    let at = random.usize(..bytes.len());
                    // Lengths and offsets live in whole words: extreme ones are the interesting ones.
                    bytes[at] = [0, 1, 0x7f, 0x80, 0xff, random.u8(..)][random.usize(..6)];
                }
            }
        }
    }
}

/// A stream of messages, most often damaged, and what has to be made of it.
#[derive(Clone, Debug)]
pub struct DamagedStream<T> {
    /// What is sent.
    pub bytes: Vec<u8>,
    /// What arrives, before the end of the stream or its refusal.
    pub messages: Vec<T>,
    /// Whether something in it is refused. If not, it may still end inside a message.
    pub is_refused: bool,
}

impl<T: WireMessage + Clone + Debug + PartialEq> DamagedStream<T> {
    /// Some of these messages in any order, and damage somewhere: to one message in a whole frame, to a
    /// length, to the stream; or none.
    ///
    /// # Panics
    /// Messages before the damage are not taken as they were, or what is taken could not travel on.
    pub fn of(examples: &[T], random: &mut Rng) -> Self {
        let sent: Vec<T> =
            (0..random.usize(1..6)).map(|_| random.choice(examples).expect("some").clone()).collect();
        let frames: Vec<Vec<u8>> =
            sent.iter().map(|m| wire::encode_frame(m).expect("it is no longer than any")).collect();
        let at = random.usize(..sent.len());
        let mut after = frames[at + 1..].concat();
        let (mut bytes, mut whole) = (frames[..at].concat(), at);
        match random.u32(..8) {
            0 => {
                bytes.extend(&frames[at]);
                whole = sent.len();
            }
            1 => {
                // Too long, whatever follows.
                let length = random.u32(T::MAX_BYTES as u32 + 1..);
                bytes.extend(length.to_le_bytes());
                bytes.extend(&frames[at][4..]);
            }
            2 => {
                // As long as allowed, and it never comes.
                bytes.extend((T::MAX_BYTES as u32).to_le_bytes());
                bytes.extend(&frames[at][4..]);
            }
            3 => {
                let mut rest = frames[at].clone();
                rest.append(&mut after);
                damage(&mut rest, random);
                bytes.append(&mut rest);
            }
            _ => {
                let mut message = frames[at][4..].to_vec();
                damage(&mut message, random);
                bytes.extend((message.len() as u32).to_le_bytes());
                bytes.extend(message);
            }
        }
        bytes.append(&mut after);
        let (messages, is_refused) = taken::<T>(&bytes);
        assert_eq!(messages[..whole.min(messages.len())], sent[..whole], "what is before the damage arrives");
        for message in &messages {
            let again = wire::encode(message).expect("what arrived can travel on");
            assert_eq!(wire::decode::<T>(&again).as_ref(), Ok(message), "as it arrived");
        }
        Self { bytes, messages, is_refused }
    }

    /// The most bytes that receiving it may ask of the allocator, in all: values are larger than their
    /// encodings by a small factor, the buffers of the way add another.
    pub fn most_allocated(&self) -> usize {
        (64 << 10) + 32 * self.bytes.len()
    }
}

/// What a receiver takes of a stream, and whether it refuses what follows.
fn taken<T: WireMessage>(bytes: &[u8]) -> (Vec<T>, bool) {
    let (mut buffer, mut messages) = (FrameBuffer::default(), Vec::new());
    buffer.push(bytes);
    loop {
        match buffer.take::<T>() {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return (messages, false),
            Err(_) => return (messages, true),
        }
    }
}

/// The system's allocator, which counts what each thread asks for: the tests of a crate install it, so that
/// no decoder makes room for what only a length says.
#[derive(Clone, Copy, Debug)]
pub struct CountingAllocator;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

/// The bytes that this thread has asked [`CountingAllocator`] for, given back or not; always 0 where it is
/// not installed.
pub fn allocated() -> usize {
    ALLOCATED.get()
}

fn count(bytes: usize) {
    // A thread that ends counts no more.
    let _ = ALLOCATED.try_with(|allocated| allocated.set(allocated.get().wrapping_add(bytes)));
}

// SAFETY: every call is passed on as it is to the system's allocator, which keeps the contract; counting
// allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}
