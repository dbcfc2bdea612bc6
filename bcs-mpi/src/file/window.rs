//! What an aggregator does with a window of its domain: writes what has come of it, or reads what is to go.

use super::bytes;
use super::errors::Failed;
use super::independent::Manner;
use super::locking::{Mode, lock};
use super::pattern::{Coverage, Pattern};
use super::piece::{Piece, Pieces};
use super::sieve::{self, Buffer};
use crate::object::file::opened::Opened;
use nic_emu::memory::numbers::CommRank;
use std::ops::Range;

/// What members have of a window.
fn coverage(window: &Range<u64>, patterns: &[(CommRank, Pattern)]) -> Coverage {
    let mut coverage = Coverage::of(window.clone());
    for (_, pattern) in patterns {
        pattern.for_each(window, |offset, bytes| coverage.add(offset, bytes));
    }
    coverage
}

/// Bytes of a block that members have in a window, about.
fn block_of(window: &Range<u64>, patterns: &[(CommRank, Pattern)]) -> u64 {
    patterns.iter().filter_map(|(_, pattern)| pattern.block_in(window)).min().unwrap_or(0)
}

/// Writes what has come of a window.
pub(super) fn write(
    opened: &Opened,
    window: &Range<u64>,
    patterns: &[(CommRank, Pattern)],
    mut pieces: Pieces,
    manner: Manner,
    buffer: &mut Buffer,
) -> Result<(), Failed> {
    let coverage = coverage(window, patterns);
    let Some(range) = coverage.ends() else { return Ok(()) };
    let length = range.end - range.start;
    let is_whole = coverage.bytes() == length;
    let mut fill = |data: *mut u8| {
        for (number, piece) in &mut pieces {
            let mut from = piece.memory().first().cast_const();
            patterns[*number].1.for_each(window, |offset, bytes| {
                // SAFETY: what is covered lies in the range; a piece has as many bytes as its pattern has in
                // the window.
                unsafe {
                    from.copy_to_nonoverlapping(data.add((offset - range.start) as usize), bytes as usize)
                };
                from = from.wrapping_add(bytes as usize);
            });
        }
    };
    let may_change = !is_whole
        && opened.may_read
        && sieve::pays(manner.sieve, block_of(window, patterns), coverage.bytes(), length);
    // SAFETY: what is filled lies in the range.
    if may_change && unsafe { sieve::change(opened, range.clone(), false, buffer, &mut fill)? } {
        return Ok(());
    }
    let data = buffer.room(length as usize);
    fill(data);
    let _held = lock(opened, range.clone(), Mode::Shared)?;
    let mut next = coverage.next(range.start);
    while let Some(part) = next {
        // SAFETY: what is covered has been filled.
        unsafe {
            let from = data.add((part.start - range.start) as usize);
            bytes::write(opened, part.start, from, (part.end - part.start) as usize)?;
        }
        next = coverage.next(part.end);
    }
    Ok(())
}

/// What was read of a window.
pub(super) struct Read {
    /// By the number of a pattern.
    pub pieces: Pieces,
    /// What went wrong first.
    pub failed: Option<Failed>,
    /// The file was found to end here.
    pub file_end: u64,
}

/// Reads what members have of a window; zeros where it cannot be read.
pub(super) fn read(
    opened: &Opened,
    window: &Range<u64>,
    patterns: &[(CommRank, Pattern)],
    manner: Manner,
    buffer: &mut Buffer,
) -> Read {
    let mut read = Read { pieces: Vec::new(), failed: None, file_end: u64::MAX };
    let coverage = coverage(window, patterns);
    let Some(range) = coverage.ends() else { return read };
    let length = range.end - range.start;
    let data = buffer.room(length as usize);
    let is_dense = coverage.bytes() == length
        || sieve::pays(manner.sieve, block_of(window, patterns), coverage.bytes(), length);
    let mut next = if is_dense { Some(range.clone()) } else { coverage.next(range.start) };
    while let Some(part) = next {
        let bytes = (part.end - part.start) as usize;
        // SAFETY: the part lies in the range.
        let to = unsafe { data.add((part.start - range.start) as usize) };
        // SAFETY: as above.
        let there = unsafe { bytes::read(opened, part.start, to, bytes) }.unwrap_or_else(|failed| {
            read.failed = read.failed.or(Some(failed));
            0
        });
        if there < bytes && read.failed.is_none() {
            read.file_end = read.file_end.min(part.start + there as u64);
        }
        // SAFETY: as above.
        unsafe { to.add(there).write_bytes(0, bytes - there) };
        next = if is_dense { None } else { coverage.next(part.end) };
    }
    for (number, (_, pattern)) in patterns.iter().enumerate() {
        let bytes = pattern.bytes_before(window.end) - pattern.bytes_before(window.start);
        if bytes == 0 {
            continue;
        }
        let mut piece = Piece::room(bytes as usize);
        let mut to = piece.memory().first();
        pattern.for_each(window, |offset, bytes| {
            // SAFETY: what is covered has been read; a piece has room for what its pattern has in the window.
            unsafe { to.copy_from_nonoverlapping(data.add((offset - range.start) as usize), bytes as usize) };
            to = to.wrapping_add(bytes as usize);
        });
        read.pieces.push((number, piece));
    }
    read
}
