//! Copies between private memory and NIC memory, of chunks that fit in a cache.
//!
//! A plain loop over the widest vectors: for chunks of 4 to 16 KB it beats the C library's copy, which takes
//! a string instruction from 2 KB on, slow where the program's buffer and NIC memory are aligned differently.
//! Prefetching does not pay, as what is slow is to write (see `policy`); whether streaming stores do depends
//! on where the other core is (see `stores`).

/// Copies into NIC memory past the caches; what is stored after it is seen after the bytes.
///
/// # Safety
/// As [`copy`].
#[inline]
pub(crate) unsafe fn stream_in(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        // Streaming stores want whole lines.
        let before = to.align_offset(64).min(bytes);
        if std::is_x86_feature_detected!("avx") && bytes - before >= 64 {
            // SAFETY: the parts are those of the caller's range, and the processor has AVX.
            unsafe {
                std::ptr::copy_nonoverlapping(from, to, before);
                wide::stream_256(from.add(before), to.add(before), bytes - before);
            }
            return;
        }
    }
    // SAFETY: the caller's promise.
    unsafe { copy(from, to, bytes) }
}

/// Copies into NIC memory, or out of it.
///
/// # Safety
/// `from` is readable and `to` writable for `bytes` bytes, and they do not overlap.
#[inline]
pub unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        if std::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has it; the rest is the caller's promise.
            return unsafe { wide::copy_512(from, to, bytes) };
        }
        if std::is_x86_feature_detected!("avx") {
            // SAFETY: as above.
            return unsafe { wide::copy_256(from, to, bytes) };
        }
    }
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// Bytes that a turn of the loops copies.
    const TURN: usize = 256;

    /// # Safety
    /// As `super::copy`, on a processor that has AVX-512F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn copy_512(from: *const u8, to: *mut u8, bytes: usize) {
        let mut at = 0;
        // SAFETY: every access is below `bytes`; unaligned ones are allowed.
        unsafe {
            while at + TURN <= bytes {
                let (s, d) = (from.add(at), to.add(at));
                let a = _mm512_loadu_si512(s.cast());
                let b = _mm512_loadu_si512(s.add(64).cast());
                let c = _mm512_loadu_si512(s.add(128).cast());
                let e = _mm512_loadu_si512(s.add(192).cast());
                _mm512_storeu_si512(d.cast(), a);
                _mm512_storeu_si512(d.add(64).cast(), b);
                _mm512_storeu_si512(d.add(128).cast(), c);
                _mm512_storeu_si512(d.add(192).cast(), e);
                at += TURN;
            }
            std::ptr::copy_nonoverlapping(from.add(at), to.add(at), bytes - at);
        }
    }

    /// # Safety
    /// As `super::copy`, on a processor that has AVX.
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn copy_256(from: *const u8, to: *mut u8, bytes: usize) {
        let mut at = 0;
        // SAFETY: every access is below `bytes`; unaligned ones are allowed.
        unsafe {
            while at + TURN <= bytes {
                for i in (0..TURN).step_by(128) {
                    let (s, d) = (from.add(at + i), to.add(at + i));
                    let a = _mm256_loadu_si256(s.cast());
                    let b = _mm256_loadu_si256(s.add(32).cast());
                    let c = _mm256_loadu_si256(s.add(64).cast());
                    let e = _mm256_loadu_si256(s.add(96).cast());
                    _mm256_storeu_si256(d.cast(), a);
                    _mm256_storeu_si256(d.add(32).cast(), b);
                    _mm256_storeu_si256(d.add(64).cast(), c);
                    _mm256_storeu_si256(d.add(96).cast(), e);
                }
                at += TURN;
            }
            std::ptr::copy_nonoverlapping(from.add(at), to.add(at), bytes - at);
        }
    }

    /// Copies with streaming stores, and orders them before what is stored next.
    ///
    /// # Safety
    /// As `super::copy`, on a processor that has AVX; `to` is aligned to 64 bytes.
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn stream_256(from: *const u8, to: *mut u8, bytes: usize) {
        let mut at = 0;
        // SAFETY: every access is below `bytes`; the stores are aligned, as `to` is.
        unsafe {
            while at + 64 <= bytes {
                let (s, d) = (from.add(at), to.add(at));
                let a = _mm256_loadu_si256(s.cast());
                let b = _mm256_loadu_si256(s.add(32).cast());
                _mm256_stream_si256(d.cast(), a);
                _mm256_stream_si256(d.add(32).cast(), b);
                at += 64;
            }
            std::ptr::copy_nonoverlapping(from.add(at), to.add(at), bytes - at);
            // Streaming stores are not ordered by a release store.
            _mm_sfence();
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use proptest::prelude::*;

        proptest! {
            #[test]
            fn every_width_copies_these_bytes_and_no_others(bytes in 0usize..2000, from in 0usize..70, to in 0usize..70) {
                let source: Vec<u8> = (0..from + bytes).map(|i| (i * 7 + i / 251) as u8).collect();
                let mut expected = vec![0xaa; to + bytes + 70];
                expected[to..to + bytes].copy_from_slice(&source[from..]);
                let has = [std::is_x86_feature_detected!("avx512f"), std::is_x86_feature_detected!("avx")];
                for kind in (0..2).filter(|kind| has[*kind]) {
                    let mut got = vec![0xaa; expected.len()];
                    // SAFETY: both vectors are long enough, and the processor has the instructions.
                    unsafe {
                        let (from, to) = (source.as_ptr().add(from), got.as_mut_ptr().add(to));
                        if kind == 0 { copy_512(from, to, bytes) } else { copy_256(from, to, bytes) }
                    }
                    prop_assert_eq!(&got, &expected);
                }
                let mut got = vec![0xaa; expected.len()];
                // SAFETY: both vectors are long enough.
                unsafe { super::super::stream_in(source.as_ptr().add(from), got.as_mut_ptr().add(to), bytes) };
                prop_assert_eq!(&got, &expected);
            }
        }
    }
}
