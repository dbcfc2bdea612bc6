//! Fetching cache lines ahead of their use: several that come from another core come in the time of one.

/// Asks for the line of `at`, to be written soon. A hint: nothing happens where the processor has no such
/// instruction.
#[inline(always)]
pub fn to_write<T>(at: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads and writes nothing that a program can see, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(std::ptr::from_ref(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// Asks for the line that holds the first byte of `at`, which may be any address, to be read soon. A hint, as
/// above.
#[inline(always)]
pub fn to_read<T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: as above.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
