//! What a card does with the memory of processes: translate addresses, and copy.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where the memory of each process begins for the card.
const CARD_BASE: u64 = 0x1000_0000;

/// How much each process can allocate, in bytes; what is never touched takes up only addresses.
const ARENA_BYTES: usize = 1 << 30;

/// A fault: the card stops the process. Here it stops all.
pub fn fault(what: &str) -> ! {
    eprintln!("libelan for tests: {what}");
    std::process::abort()
}

/// The memory of a process that the card can reach.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    allocated: usize,
}

// SAFETY: the mapping belongs to the process; what threads do with its bytes is as if a card did it.
unsafe impl Send for Arena {}

impl Arena {
    /// Memory of which nothing is allocated.
    pub fn new() -> Option<Self> {
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the system's choice, which nothing else uses.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), ARENA_BYTES, protection, flags) }.ok()?;
        Some(Self { base: NonNull::new(base.cast())?, allocated: 0 })
    }

    /// Allocates memory.
    pub fn allocate(&mut self, align: usize, bytes: usize) -> Option<NonNull<u8>> {
        let at = self.allocated.next_multiple_of(align.max(8));
        let end = at.checked_add(bytes).filter(|end| *end <= ARENA_BYTES)?;
        self.allocated = end;
        // SAFETY: the offset lies in the mapping.
        Some(unsafe { self.base.add(at) })
    }

    /// Whether a range lies in what is allocated.
    pub fn holds(&self, address: *const u8, bytes: usize) -> bool {
        let offset = address.addr().wrapping_sub(self.base.as_ptr().addr());
        offset.checked_add(bytes).is_some_and(|end| end <= self.allocated)
    }

    /// The card's address of an address of the host.
    pub fn to_card(&self, address: *const u8) -> Option<u64> {
        let offset = address.addr().wrapping_sub(self.base.as_ptr().addr());
        (offset < ARENA_BYTES).then_some(CARD_BASE + offset as u64)
    }

    /// The host's address of an address of the card.
    pub fn to_host(&self, address: u64) -> Option<*mut u8> {
        let offset = usize::try_from(address.checked_sub(CARD_BASE)?).ok()?;
        // SAFETY: the offset lies in the mapping.
        (offset < ARENA_BYTES).then(|| unsafe { self.base.add(offset) }.as_ptr())
    }

    /// As [`Arena::to_host`], of a range that must be allocated.
    pub fn reach(&self, address: u64, bytes: usize) -> *mut u8 {
        match self.to_host(address) {
            Some(host) if self.holds(host, bytes) => host,
            _ => fault(&format!("{bytes} bytes at {address:#x} of the card are not allocated")),
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own; who drops it has seen to it that nobody uses it.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), ARENA_BYTES) };
    }
}

/// Copies as a card does: whole words where both ends are words, anything else in any order.
///
/// # Safety
/// Both ranges are in arenas that live.
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    let is_words = bytes.is_multiple_of(8)
        && from.addr().is_multiple_of(8)
        && to.addr().is_multiple_of(8)
        && bytes <= 64;
    if !is_words {
        // SAFETY: both ranges are in arenas, by the contract.
        return unsafe { std::ptr::copy(from, to, bytes) };
    }
    for at in (0..bytes).step_by(8) {
        // SAFETY: as above; both words are aligned.
        let (from, to) = unsafe { (load(from.add(at)), to.add(at)) };
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(to.cast()) }.store(from, Ordering::Release);
    }
}

/// Loads a word.
///
/// # Safety
/// The word is in an arena that lives, and aligned.
pub unsafe fn load(from: *const u8) -> u64 {
    // SAFETY: by the contract.
    unsafe { AtomicU64::from_ptr(from.cast_mut().cast()) }.load(Ordering::Acquire)
}
