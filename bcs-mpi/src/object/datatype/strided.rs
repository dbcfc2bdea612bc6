//! The loops that move blocks: between memory with gaps and packed bytes, and between two memories with gaps.
//!
//! Blocks of a few usual sizes have a loop each, in which the size is known to the compiler and a block is a
//! register or two; larger ones are copied with `memcpy`.

use super::flat::Piece;
use std::ptr::copy_nonoverlapping;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From memory to packed bytes.
    Pack,
    /// From packed bytes to memory.
    Unpack,
}

/// Calls a function, which is inlined, with the block size first: as a constant for the sizes that are worth
/// it; then, where there is one, the way, as a constant too.
macro_rules! by_size {
    ($way:ident, $block:expr, $function:ident ($($argument:expr),*)) => {
        match $way {
            Way::Pack => by_size!($block, $function(Way::Pack, $($argument),*)),
            Way::Unpack => by_size!($block, $function(Way::Unpack, $($argument),*)),
        }
    };
    ($block:expr, $function:ident ($($argument:expr),*)) => {
        match $block {
            1 => $function(1, $($argument),*),
            2 => $function(2, $($argument),*),
            3 => $function(3, $($argument),*),
            4 => $function(4, $($argument),*),
            8 => $function(8, $($argument),*),
            12 => $function(12, $($argument),*),
            16 => $function(16, $($argument),*),
            24 => $function(24, $($argument),*),
            32 => $function(32, $($argument),*),
            64 => $function(64, $($argument),*),
            other => $function(other, $($argument),*),
        }
    };
}

/// Moves a block; the two do not overlap.
#[inline(always)]
unsafe fn move_block(way: Way, memory: *mut u8, packed: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match way {
            Way::Pack => copy_nonoverlapping(memory, packed, bytes),
            Way::Unpack => copy_nonoverlapping(packed, memory, bytes),
        }
    }
}

#[inline(always)]
unsafe fn regular(block: usize, way: Way, mut memory: *mut u8, mut packed: *mut u8, times: (usize, isize)) {
    let (count, stride) = times;
    for _ in 0..count {
        // SAFETY: the caller's promise.
        unsafe { move_block(way, memory, packed, block) };
        memory = memory.wrapping_offset(stride);
        packed = packed.wrapping_add(block);
    }
}

/// Moves equal blocks that are equally far apart: how many they are, and the bytes from one to the next.
///
/// # Safety
/// `memory` must be valid for every block, `packed` for all their bytes: for reading and writing as `way`
/// says.
pub unsafe fn move_regular(way: Way, memory: *mut u8, packed: *mut u8, block: usize, times: (usize, isize)) {
    // SAFETY: the caller's promise.
    unsafe { by_size!(way, block, regular(memory, packed, times)) }
}

#[inline(always)]
unsafe fn equal(block: usize, way: Way, memory: *mut u8, mut packed: *mut u8, offsets: &[i64]) {
    for &offset in offsets {
        // SAFETY: the caller's promise.
        unsafe { move_block(way, memory.wrapping_offset(offset as isize), packed, block) };
        packed = packed.wrapping_add(block);
    }
}

/// Moves equal blocks at these offsets.
///
/// # Safety
/// As [`move_regular`].
pub unsafe fn move_equal(way: Way, memory: *mut u8, packed: *mut u8, block: usize, offsets: &[i64]) {
    // SAFETY: the caller's promise.
    unsafe { by_size!(way, block, equal(memory, packed, offsets)) }
}

/// Moves a block of up to 16 bytes without a call: two overlapping pieces of a fixed size.
#[inline(always)]
unsafe fn move_short(way: Way, memory: *mut u8, packed: *mut u8, bytes: usize) {
    macro_rules! ends {
        ($size:literal) => {{
            // SAFETY: the caller's promise; both pieces lie within the block.
            unsafe {
                let (from, to) = match way {
                    Way::Pack => (memory, packed),
                    Way::Unpack => (packed, memory),
                };
                let first: [u8; $size] = from.cast::<[u8; $size]>().read();
                let last: [u8; $size] = from.add(bytes - $size).cast::<[u8; $size]>().read();
                to.cast::<[u8; $size]>().write(first);
                to.add(bytes - $size).cast::<[u8; $size]>().write(last);
            }
        }};
    }
    match bytes {
        8..=16 => ends!(8),
        4..8 => ends!(4),
        2..4 => ends!(2),
        1 => ends!(1),
        _ => {}
    }
}

/// Moves blocks of different lengths.
///
/// # Safety
/// As [`move_regular`].
pub unsafe fn move_varied(way: Way, memory: *mut u8, mut packed: *mut u8, pieces: &[Piece]) {
    for piece in pieces {
        let (at, bytes) = (memory.wrapping_offset(piece.offset as isize), piece.bytes as usize);
        // SAFETY: the caller's promise.
        unsafe {
            if bytes <= 16 {
                move_short(way, at, packed, bytes);
            } else {
                move_block(way, at, packed, bytes);
            }
        }
        packed = packed.wrapping_add(bytes);
    }
}

#[inline(always)]
unsafe fn across(block: usize, mut from: *const u8, mut to: *mut u8, strides: (isize, isize), count: usize) {
    for _ in 0..count {
        // SAFETY: the caller's promise.
        unsafe { copy_nonoverlapping(from, to, block) };
        from = from.wrapping_offset(strides.0);
        to = to.wrapping_offset(strides.1);
    }
}

/// Copies equal blocks from one memory to another, each with a stride of its own.
///
/// # Safety
/// `from` must be readable, `to` writable for every block; no block of one may overlap one of the other.
pub unsafe fn copy_across(from: *const u8, to: *mut u8, block: usize, strides: (isize, isize), count: usize) {
    // SAFETY: the caller's promise.
    unsafe { by_size!(block, across(from, to, strides, count)) }
}
