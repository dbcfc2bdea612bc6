//! A few bytes, as words and without a call. Eight bytes, the commonest length by far, do not go through
//! memory: bytes that are written one way and read another wait for each other.

/// These bytes in words, of which the last ones may be 0.
///
/// # Safety
/// `data` must be readable for `bytes` bytes, which fit into the words.
#[inline(always)]
pub unsafe fn as_words<const WORDS: usize>(data: *const u8, bytes: usize) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    if bytes == 8 {
        // SAFETY: the caller's promise.
        words[0] = unsafe { data.cast::<u64>().read_unaligned() };
    } else {
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(data, words.as_mut_ptr().cast(), bytes) };
    }
    words
}

/// Copies them.
///
/// # Safety
/// Both must be valid for `bytes` bytes and not overlap.
#[inline(always)]
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if bytes == 8 {
            to.cast::<[u8; 8]>().write_unaligned(from.cast::<[u8; 8]>().read_unaligned());
        } else {
            std::ptr::copy_nonoverlapping(from, to, bytes);
        }
    }
}
