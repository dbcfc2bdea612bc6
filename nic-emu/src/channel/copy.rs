//! Copies between private memory and NIC memory.

/// Copies into NIC memory.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, and they do not overlap.
#[inline]
pub unsafe fn fill(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

/// Copies out of NIC memory that another core has written.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, and they do not overlap.
#[inline]
pub unsafe fn drain(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}
