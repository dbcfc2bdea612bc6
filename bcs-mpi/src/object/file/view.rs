//! Views: which bytes of a file a process sees, and in which order (MPI-5.0, §14.3).
//!
//! A view is the filetype, laid down again and again from a displacement on. A position in it is found by
//! division, and by a search in one filetype; nothing is walked from the beginning of the file.

use super::representation::Representation;
use crate::object::datatype::order::Order;
use crate::object::datatype::{Cursor, Layout, Type};
use std::sync::Arc;

/// What a process sees of a file.
#[derive(Debug)]
pub struct View {
    /// Where the first filetype begins, in bytes.
    pub disp: i64,
    /// What positions are counted in, as the program has given it.
    pub etype: Arc<Type>,
    /// Which bytes are seen, as the program has given it.
    pub filetype: Arc<Type>,
    /// The form of elements in the file.
    pub representation: Representation,
    /// Bytes of an etype in the file; 0 where there are none to be seen.
    pub etype_bytes: i64,
    /// The filetype as it is in the file.
    tile: Arc<Type>,
    /// The order of its bytes, if it has any.
    order: Option<Order>,
}

/// An access that leads further than a file can be long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFar;

impl View {
    /// A view of these types, which are these in the file.
    pub fn new(
        disp: i64,
        (etype, filetype): (Arc<Type>, Arc<Type>),
        representation: Representation,
        (etype_bytes, tile): (i64, Arc<Type>),
    ) -> Self {
        let order = tile.program().map(Order::of);
        Self { disp, etype, filetype, representation, etype_bytes, tile, order }
    }

    /// The order of the bytes of one filetype, if it has any.
    pub fn order(&self) -> Option<Order> {
        self.order
    }

    /// The bytes of the file that so many bytes of the view are, from the byte with this number on.
    ///
    /// # Errors
    /// They lead too far, or the filetype has no bytes.
    pub fn region(&self, from: i64, bytes: i64) -> Result<Region, TooFar> {
        let (size, extent) = (self.tile.size(), self.tile.extent());
        let Some(order) = self.order.filter(|_| size > 0) else {
            return if bytes == 0 { Ok(Region::nothing()) } else { Err(TooFar) };
        };
        let (first, skip) = (from / size, from % size);
        let reach = skip.checked_add(bytes).ok_or(TooFar)?;
        let tiles = reach / size + i64::from(reach % size != 0);
        let base = first.checked_mul(extent).and_then(|far| far.checked_add(self.disp)).ok_or(TooFar)?;
        let last = (tiles - 1).max(0).checked_mul(extent).and_then(|far| far.checked_add(base));
        // What is behind the last byte can be counted, too.
        let end = last.and_then(|last| last.checked_add(order.end)).ok_or(TooFar)?;
        let start = base.checked_add(order.least).ok_or(TooFar)?;
        Ok(Region {
            layout: self.tile.layout(tiles),
            base,
            skip: skip as usize,
            bytes: bytes as usize,
            bounds: (start.max(0) as u64, end.max(0) as u64),
            is_apart: order.repeated(2, extent).is_apart,
        })
    }

    /// Where in the file the etype with this number begins.
    ///
    /// # Errors
    /// Too far.
    pub fn offset_of(&self, position: i64) -> Result<i64, TooFar> {
        let from = position.checked_mul(self.etype_bytes).ok_or(TooFar)?;
        self.region(from, 1)?.offset_of(0).map(|offset| offset as i64).ok_or(TooFar)
    }

    /// The first etype that begins at or after the end of a file of so many bytes.
    pub fn end_of(&self, file_bytes: i64) -> i64 {
        let (size, extent) = (self.tile.size(), self.tile.extent());
        let Some(order) = self.order.filter(|_| size > 0 && self.etype_bytes > 0) else { return 0 };
        // Filetypes that end before the end of the file are no question.
        let whole = (file_bytes - self.disp - order.end).max(0) / extent.max(1);
        let etypes = size / self.etype_bytes;
        let (mut below, mut above) = (whole * etypes, (whole + 2) * etypes);
        let ends = |position: i64| self.offset_of(position).is_ok_and(|offset| offset < file_bytes);
        while ends(above) {
            below = above;
            above += etypes;
        }
        while below < above {
            let middle = below + (above - below) / 2;
            if ends(middle) { below = middle + 1 } else { above = middle }
        }
        below
    }
}

/// Bytes of a file, in the order in which an access has them.
#[derive(Clone, Debug)]
pub struct Region {
    layout: Layout,
    /// The byte of the file that the layout is relative to.
    base: i64,
    /// Bytes of the layout before the first.
    skip: usize,
    /// How many there are.
    pub bytes: usize,
    /// No byte of the file is outside of these.
    pub bounds: (u64, u64),
    /// They ascend, and none is there twice.
    pub is_apart: bool,
}

impl Region {
    /// No bytes.
    pub fn nothing() -> Self {
        Self { layout: Layout::new(None, 0, 0), base: 0, skip: 0, bytes: 0, bounds: (0, 0), is_apart: true }
    }

    /// A cursor at the byte with this number. Its offsets are relative to [`Self::base`].
    pub fn cursor_at(&self, position: usize) -> Cursor<'_> {
        self.layout.cursor_at(self.skip + position)
    }

    /// The byte of the file that offsets of cursors are relative to.
    pub fn base(&self) -> i64 {
        self.base
    }

    /// Where in the file the byte with this number is.
    pub fn offset_of(&self, position: usize) -> Option<u64> {
        self.layout.offset_of(self.skip + position).map(|offset| (self.base + offset as i64) as u64)
    }

    /// Where the block begins that has all of them, if one has.
    pub fn as_block(&self) -> Option<u64> {
        match self.cursor_at(0).block() {
            Some((offset, bytes)) if bytes >= self.bytes => Some((self.base + offset as i64) as u64),
            None => Some(0),
            _ => None,
        }
    }

    /// Of bytes that ascend: how many lie before this byte of the file.
    pub fn bytes_before(&self, offset: u64) -> usize {
        let within = (offset as i64).saturating_sub(self.base) as isize;
        self.layout.bytes_before(within).saturating_sub(self.skip).min(self.bytes)
    }

    /// Of bytes that ascend: the first, and the one after the last; nothing for no bytes.
    pub fn ends(&self) -> Option<(u64, u64)> {
        let last = self.offset_of(self.bytes.checked_sub(1)?)?;
        Some((self.offset_of(0)?, last + 1))
    }
}
