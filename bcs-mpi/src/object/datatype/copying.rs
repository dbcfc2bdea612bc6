//! Copies between two layouts: the larger block of the two sides is the packed stream of the other, and
//! nothing is staged.

use super::cursor::{Cursor, Layout};
use super::strided::copy_across;

/// Copies from one memory to another, as far as both go; answers the bytes.
///
/// # Safety
/// `source` must be readable and `target` writable wherever their layouts have bytes; the two must not
/// overlap.
pub unsafe fn copy(from: &Layout, source: *const u8, to: &Layout, target: *mut u8) -> usize {
    let (mut reader, mut writer) = (from.cursor(), to.cursor());
    let all = reader.remaining().min(writer.remaining());
    // SAFETY: the caller's promise.
    unsafe { copy_next((&mut reader, source), (&mut writer, target), all) };
    all
}

/// Copies the next bytes, so many, of one memory to the next of another; each has as many.
///
/// # Safety
/// As [`copy`], of these bytes.
pub unsafe fn copy_next(
    (reader, source): (&mut Cursor<'_>, *const u8),
    (writer, target): (&mut Cursor<'_>, *mut u8),
    bytes: usize,
) {
    let end = reader.position() + bytes;
    while reader.position() < end {
        let left = end - reader.position();
        let (Some((read_at, there)), Some((write_at, room))) = (reader.block(), writer.block()) else {
            break;
        };
        if there == room
            && there <= left
            && let (Some((blocks, read_stride)), Some((places, write_stride))) =
                (reader.regular(), writer.regular())
        {
            let count = blocks.min(places).min(left / there);
            // SAFETY: the caller's promise for these blocks.
            unsafe {
                let (from, to) = (source.wrapping_offset(read_at), target.wrapping_offset(write_at));
                copy_across(from, to, there, (read_stride, write_stride), count);
            }
            reader.pass_regular(count);
            writer.pass_regular(count);
            continue;
        }
        if there >= room {
            let Some((offset, bytes)) = reader.take_block(left) else { break };
            // SAFETY: the caller's promise; the block is readable.
            unsafe { writer.unpack(source.wrapping_offset(offset), bytes, target) };
        } else {
            let Some((offset, bytes)) = writer.take_block(left) else { break };
            // SAFETY: the caller's promise; the block is writable.
            unsafe { reader.pack(source, target.wrapping_offset(offset), bytes) };
        }
    }
}
