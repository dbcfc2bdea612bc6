//! What a link knows, as it lies in shared memory: atomics only, all zero at the start.
//!
//! Who writes what:
//!
//! | part | written by | guarded by |
//! |---|---|---|
//! | `general` | whoever opens, closes, wipes, or finds a fault | each word by itself |
//! | `appending` | whoever appends records | its lock |
//! | `sending` | whoever seals and sends | its lock |
//! | `receiving` | whoever receives and opens | its lock |
//! | `taking` | whoever takes records; who opens a rest elsewhere holds its lock meanwhile | its lock |
//!
//! Positions count bytes of a ring since the start. Outgoing: `sending.acknowledged ≤ sending.tail ≤
//! appending.head`; incoming: `taking.tail ≤ receiving.head`; each at most a ring beyond the one before.
//! Parts stand in cache lines of their own (two, because processors fetch them in pairs).

use super::fault::{FaultKind, LinkFault};
use super::layout::{LinkLayout, STATE_BYTES};
use super::lock::Lock;
use super::ring::Ring;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The side of a link that dialled greets second: until it has been greeted, the last message of its
/// handshake may be under way, and nothing may stand behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It dialled.
    Dialler,
    /// It accepted.
    Acceptor,
}

/// Nobody has opened the link yet.
pub(crate) const PHASE_FREE: u32 = 0;
/// The link is open; the value says whose side this is.
pub(crate) const PHASE_ACCEPTED: u32 = 1;
pub(crate) const PHASE_DIALLED: u32 = 2;
/// The link is open, and its owner moves its rings: no frame is sent or received.
pub(crate) const PHASE_REMOTE: u32 = 3;

#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct General {
    pub phase: AtomicU32,
    /// One when frames are sealed.
    pub sealed: AtomicU32,
    /// The first fault; zero while there is none.
    pub fault: AtomicU64,
    /// Zero, or [`CLOSE`] and how this end closes.
    pub closing: AtomicU32,
    /// One when a frame is to go out even if there is nothing to say.
    pub wanted: AtomicU32,
    /// One when the other end writes straight into the ring, and a signal behind the link's memory says how
    /// far.
    pub signalled: AtomicU32,
}

/// This end, or the other one, closes with the code in the lowest bits.
pub(crate) const CLOSE: u32 = 1 << 8;
/// The close does not wait for what is queued.
pub(crate) const CLOSE_AT_ONCE: u32 = 1 << 9;
/// The frame that closes is sealed.
pub(crate) const CLOSE_SEALED: u32 = 1 << 10;

#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Appending {
    pub lock: Lock,
    pub head: AtomicU64,
}

#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Sending {
    pub lock: Lock,
    /// The length of the sealed frame that is being sent; zero when there is none.
    pub frame_bytes: AtomicU32,
    /// How much of it the socket has taken.
    pub frame_sent: AtomicU32,
    /// How far the ring is sealed.
    pub tail: AtomicU64,
    /// How much this end has told that its consumers have taken.
    pub told: AtomicU64,
    /// How far the ring is on its way, where its owner moves it.
    pub written: AtomicU64,
    pub keys: Keys,
}

#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Receiving {
    pub lock: Lock,
    /// What of the stage has come and is not opened.
    pub stage_begin: AtomicU32,
    pub stage_end: AtomicU32,
    /// One when the other end has greeted.
    pub greeted: AtomicU32,
    /// Zero, or [`CLOSE`] and the other end's code.
    pub closed: AtomicU32,
    /// How far the ring is filled.
    pub head: AtomicU64,
    /// How much the other end's consumers have taken of what this end sent.
    pub acknowledged: AtomicU64,
    pub keys: Keys,
}

#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Taking {
    pub lock: Lock,
    pub tail: AtomicU64,
}

/// The keys of one direction. What they are for is told in `keys`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Keys {
    /// The number of the next frame.
    pub sequence: AtomicU64,
    /// How often the secret was renewed.
    pub epoch: AtomicU64,
    /// Frames and bytes under the present secret.
    pub frames: AtomicU64,
    pub bytes: AtomicU64,
    pub secret: [AtomicU64; 4],
}

/// The state of a link.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct LinkState {
    pub general: General,
    pub appending: Appending,
    pub sending: Sending,
    pub receiving: Receiving,
    pub taking: Taking,
}

const _: () = assert!(size_of::<LinkState>() <= STATE_BYTES, "the state has room");

/// A link's range of shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shared {
    base: NonNull<u8>,
    pub layout: LinkLayout,
}

// SAFETY: what is behind the address is made for many processes, so for many threads, too.
unsafe impl Send for Shared {}

impl Shared {
    /// # Safety
    /// The range of [`LinkLayout::bytes`] can be read and written as long as this is used, begins at a
    /// multiple of 128, and holds zeros or a link of this layout.
    pub unsafe fn new(base: NonNull<u8>, layout: LinkLayout) -> Self {
        debug_assert!(base.addr().get().is_multiple_of(align_of::<LinkState>()));
        Self { base, layout }
    }

    pub fn state(&self) -> &LinkState {
        // SAFETY: the range begins with the state, which is of atomics alone: any bytes are one.
        unsafe { self.base.cast().as_ref() }
    }

    /// Makes the state that of a free link. Who still uses the link finds damaged memory.
    pub fn free(&self) {
        // SAFETY: the state is of words that are atomics, and takes whole words.
        let words = unsafe {
            let count = size_of::<LinkState>() / size_of::<AtomicU64>();
            std::slice::from_raw_parts(self.base.cast::<AtomicU64>().as_ptr(), count)
        };
        words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        // SAFETY: the offsets of a layout lie in its range.
        unsafe { self.base.add(offset) }
    }

    /// The frame that is being sent; under the lock for sending.
    pub fn frame(&self) -> *mut u8 {
        self.at(self.layout.frame_at()).as_ptr()
    }

    /// What has come; under the lock for receiving.
    pub fn stage(&self) -> *mut u8 {
        self.at(self.layout.stage_at()).as_ptr()
    }

    pub fn outgoing(&self) -> Ring {
        // SAFETY: the range of the layout, at whole pages.
        unsafe { Ring::new(self.at(self.layout.outgoing_at()), self.layout.ring_bytes()) }
    }

    pub fn incoming(&self) -> Ring {
        // SAFETY: as above.
        unsafe { Ring::new(self.at(self.layout.incoming_at()), self.layout.ring_bytes()) }
    }

    /// Ends the link with a fault, unless it has one; the one that it has.
    #[cold]
    pub fn fail(&self, kind: FaultKind, value: u64) -> LinkFault {
        let fault = LinkFault::new(kind, value);
        let word = &self.state().general.fault;
        match word.compare_exchange(0, fault.to_word(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fault,
            Err(first) => LinkFault::from_word(first).unwrap_or(fault),
        }
    }

    /// # Errors
    /// The link has ended.
    #[inline]
    pub fn check(&self) -> Result<(), LinkFault> {
        match self.state().general.fault.load(Ordering::Relaxed) {
            0 => Ok(()),
            word => LinkFault::from_word(word).map_or(Ok(()), Err),
        }
    }

    /// The distance between two positions of a ring, the second one further on.
    ///
    /// # Errors
    /// It is more than a ring, or no whole number of words: somebody has written over one of them.
    #[inline]
    pub fn distance(&self, from: u64, to: u64) -> Result<usize, LinkFault> {
        let distance = to.wrapping_sub(from);
        match distance <= self.layout.ring_bytes() as u64 && (from | to).is_multiple_of(8) {
            true => Ok(distance as usize),
            false => Err(self.fail(FaultKind::Memory, to)),
        }
    }

    /// Takes a lock of this link for a process.
    #[inline]
    pub fn try_hold<'a>(&'a self, lock: &'a Lock, process: u32) -> Option<Held<'a>> {
        // Not before the lock is taken: dropped, this gives it back.
        lock.try_lock(process).then(|| Held { shared: self, lock, process })
    }
}

/// A lock that is held. What it guards may be half done when its holder panics, so then the link ends.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    shared: &'a Shared,
    lock: &'a Lock,
    process: u32,
}

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.fail(FaultKind::Panicked, self.process.into());
        }
        if !self.lock.unlock(self.process) {
            self.shared.fail(FaultKind::Memory, self.lock.holder().unwrap_or(0).into());
        }
    }
}
