//! Accesses of one process: the bytes of a region of the file, and those of the program's memory, in order.
//!
//! They run to their end without MPI, in the call or in a thread of their own ([`super::background`]).

use super::bytes;
use super::errors::Failed;
use super::locking::{Mode, lock};
use super::memory::Bytes;
use super::ring::{self, BATCH, Block};
use super::sieve::{self, Buffer};
use crate::object::datatype::Cursor;
use crate::object::datatype::copying::copy_next;
use crate::object::file::hints::Choice;
use crate::object::file::opened::Opened;
use crate::object::file::view::Region;

/// How an access is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// It is atomic.
    pub is_atomic: bool,
    /// What lies between its bytes is moved, too.
    pub sieve: Choice,
    /// Bytes that are moved at a time.
    pub buffer_bytes: u64,
}

/// Shorter blocks of memory are moved together.
const LONG: usize = 64 << 10;
/// Bytes of a block that a batch has.
const MOST_OF_BLOCK: usize = 1 << 30;
/// Bytes of memory that are moved together.
const TOGETHER: usize = 256 << 10;

/// A file and a place in the region that is accessed, with that of the memory.
struct Access<'a> {
    opened: &'a Opened,
    region: &'a Region,
    file: Cursor<'a>,
    memory: Cursor<'a>,
    at: *mut u8,
    manner: Manner,
    buffer: Buffer,
    /// Bytes that are done.
    done: usize,
}

/// A piece of a region that is moved in one go: where it begins and ends in the file, and its bytes.
struct Window {
    start: u64,
    end: u64,
    bytes: usize,
}

impl<'a> Access<'a> {
    fn new(opened: &'a Opened, region: &'a Region, memory: &'a Bytes, manner: Manner) -> Self {
        let (file, at) = (region.cursor_at(0), memory.at);
        Self {
            opened,
            region,
            file,
            memory: memory.layout.cursor(),
            at,
            manner,
            buffer: Buffer::default(),
            done: 0,
        }
    }

    /// The next piece that the buffer has room for.
    fn window(&self) -> Option<Window> {
        let start = self.region.offset_of(self.done)?;
        let before = self.region.bytes_before(start.saturating_add(self.manner.buffer_bytes));
        let bytes = before.max(self.done + 1) - self.done;
        let end = self.region.offset_of(self.done + bytes - 1)? + 1;
        Some(Window { start, end, bytes })
    }

    /// Whether what lies between the bytes of a piece is moved with them.
    fn is_dense(&self, Window { start, end, bytes }: &Window) -> bool {
        let block = self.file.block().map_or(0, |(_, block)| block.min(*bytes));
        *bytes as u64 == end - start
            || sieve::pays(self.manner.sieve, block as u64, *bytes as u64, end - start)
    }

    /// Copies the next bytes between the memory and a buffer that has the file from `start` on.
    ///
    /// # Safety
    /// The buffer has as much of the file as the bytes reach over.
    unsafe fn copy(&mut self, is_read: bool, buffer: *mut u8, start: u64, bytes: usize) {
        let file = buffer.wrapping_offset(self.region.base() as isize).wrapping_sub(start as usize);
        // SAFETY: the caller's promise, and that of `Bytes`.
        unsafe {
            match is_read {
                true => copy_next((&mut self.file, file), (&mut self.memory, self.at), bytes),
                false => copy_next((&mut self.memory, self.at), (&mut self.file, file), bytes),
            }
        }
        self.done += bytes;
    }

    /// Reads so many bytes in batches of blocks, as long as their memory lies together, too; false where the
    /// file ended.
    fn read_batches(&mut self, bytes: usize) -> Result<bool, Failed> {
        let end = self.done + bytes;
        let mut blocks = Vec::with_capacity(BATCH);
        while self.done < end {
            let (mut asked, left) = (0, end - self.done);
            blocks.clear();
            while blocks.len() < BATCH
                && asked < left
                && let (Some((from, block)), Some((to, together))) = (self.file.block(), self.memory.block())
                && block.min(left - asked) <= together.min(MOST_OF_BLOCK)
            {
                let bytes = block.min(left - asked);
                let from = (self.region.base() + from as i64) as u64;
                blocks.push(Block { from, to: self.at.wrapping_offset(to), bytes: bytes as u32 });
                self.file.take_block(bytes);
                self.memory.take_block(bytes);
                asked += bytes;
            }
            // SAFETY: the promise of `Bytes`.
            let read = unsafe { ring::read(self.opened, &blocks)? };
            self.done += read;
            if read < asked {
                return Ok(false);
            }
            if asked == 0 && !self.next_block(true, end)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves so many bytes block by block; false where the file ended.
    fn each(&mut self, is_read: bool, bytes: usize) -> Result<bool, Failed> {
        let end = self.done + bytes;
        while self.done < end {
            if !self.next_block(is_read, end)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Moves the next block, as far as this byte; false where the file ended.
    fn next_block(&mut self, is_read: bool, end: usize) -> Result<bool, Failed> {
        let Some((offset, block)) = self.file.take_block(end - self.done) else { return Ok(false) };
        let offset = (self.region.base() + offset as i64) as u64;
        if is_read { self.read_block(offset, block) } else { self.write_block(offset, block) }
    }

    /// Reads bytes that lie together in the file.
    fn read_block(&mut self, mut from: u64, mut bytes: usize) -> Result<bool, Failed> {
        while bytes > 0 {
            let Some((offset, there)) = self.memory.block() else { break };
            let (asked, read);
            if there >= bytes.min(LONG) {
                asked = there.min(bytes);
                // SAFETY: the promise of `Bytes`.
                read = unsafe { bytes::read(self.opened, from, self.at.wrapping_offset(offset), asked)? };
                let mut passed = 0;
                while passed < read {
                    passed += self.memory.take_block(read - passed).map_or(read, |(_, taken)| taken);
                }
            } else {
                asked = bytes.min(TOGETHER);
                let buffer = self.buffer.room(asked);
                // SAFETY: there is room for as many, and the promise of `Bytes`.
                unsafe {
                    read = bytes::read(self.opened, from, buffer, asked)?;
                    self.memory.unpack(buffer, read, self.at);
                }
            }
            self.done += read;
            if read < asked {
                return Ok(false);
            }
            (from, bytes) = (from + read as u64, bytes - read);
        }
        Ok(true)
    }

    /// Writes bytes that lie together in the file.
    fn write_block(&mut self, mut to: u64, mut bytes: usize) -> Result<bool, Failed> {
        while bytes > 0 {
            let Some((offset, there)) = self.memory.block() else { break };
            let written;
            if there >= bytes.min(LONG) {
                written = there.min(bytes);
                // SAFETY: the promise of `Bytes`.
                unsafe { bytes::write(self.opened, to, self.at.wrapping_offset(offset), written)? };
                self.memory.take_block(written);
            } else {
                written = bytes.min(TOGETHER);
                let buffer = self.buffer.room(written);
                // SAFETY: there is room for as many, and the promise of `Bytes`.
                unsafe {
                    self.memory.pack(self.at, buffer, written);
                    bytes::write(self.opened, to, buffer, written)?;
                }
            }
            self.done += written;
            (to, bytes) = (to + written as u64, bytes - written);
        }
        Ok(true)
    }
}

/// Reads a region; answers the bytes that there were before the end of the file.
///
/// # Errors
/// The system fails.
pub(super) fn read(
    opened: &Opened,
    region: &Region,
    memory: &Bytes,
    manner: Manner,
) -> Result<usize, Failed> {
    let access = &mut Access::new(opened, region, memory, manner);
    let bounds = region.bounds.0..region.bounds.1;
    let _held = manner.is_atomic.then(|| lock(opened, bounds, Mode::Shared)).transpose()?;
    if region.as_block().is_some() {
        access.each(true, region.bytes)?;
        return Ok(access.done);
    }
    if !region.is_apart {
        access.read_batches(region.bytes)?;
        return Ok(access.done);
    }
    while access.done < region.bytes
        && let Some(window) = access.window()
    {
        if !access.is_dense(&window) {
            if !access.read_batches(window.bytes)? {
                break;
            }
            continue;
        }
        let (length, before) = ((window.end - window.start) as usize, access.done);
        let buffer = access.buffer.room(length);
        // SAFETY: there is room for as many.
        let there = unsafe { bytes::read(opened, window.start, buffer, length)? };
        let bytes = match there == length {
            true => window.bytes,
            false => region.bytes_before(window.start + there as u64).saturating_sub(before),
        };
        // SAFETY: what these bytes reach over has been read.
        unsafe { access.copy(true, buffer, window.start, bytes) };
        if there < length {
            break;
        }
    }
    Ok(access.done)
}

/// Writes a region.
///
/// # Errors
/// The system fails.
pub(super) fn write(opened: &Opened, region: &Region, memory: &Bytes, manner: Manner) -> Result<(), Failed> {
    if region.bytes == 0 {
        return Ok(());
    }
    let access = &mut Access::new(opened, region, memory, manner);
    let bounds = region.bounds.0..region.bounds.1;
    let _held = manner.is_atomic.then(|| lock(opened, bounds.clone(), Mode::Exclusive)).transpose()?;
    let shared = |range| (!manner.is_atomic).then(|| lock(opened, range, Mode::Shared)).transpose();
    if let Some(start) = region.as_block() {
        let _held = shared(start..start + region.bytes as u64)?;
        return access.each(false, region.bytes).map(drop);
    }
    if !region.is_apart {
        let _held = shared(bounds)?;
        return access.each(false, region.bytes).map(drop);
    }
    while access.done < region.bytes
        && let Some(Window { start, end, bytes }) = access.window()
    {
        let is_whole = bytes as u64 == end - start;
        if !is_whole && opened.may_read && access.is_dense(&Window { start, end, bytes }) {
            let mut buffer = std::mem::take(&mut access.buffer);
            // SAFETY: the bytes of the window lie within it.
            let is_done = unsafe {
                sieve::change(opened, start..end, manner.is_atomic, &mut buffer, |data| {
                    access.copy(false, data, start, bytes);
                })?
            };
            access.buffer = buffer;
            if is_done {
                continue;
            }
        }
        let _held = shared(start..end)?;
        if is_whole {
            let buffer = access.buffer.room(bytes);
            // SAFETY: there is room for as many; all of it is filled.
            unsafe {
                access.copy(false, buffer, start, bytes);
                bytes::write(opened, start, buffer, bytes)?;
            }
        } else {
            access.each(false, bytes)?;
        }
    }
    Ok(())
}
