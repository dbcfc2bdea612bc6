//! The blocks of one side of a neighbourhood collective: all that a process sends along its edges, or all that it receives (MPI-5.0, §8.6).
//!
//! Blocks of one contiguous type, the commonest by far, are an address and a length. What does not lie together is packed when the operation
//! starts, the same block once for all edges.

use super::block::{Block, Landing, Places, Wire, blocks};
use super::buffers::Blocks;
use crate::datatype::buffer::{Names, contiguous_bytes};
use crate::error::MpiResult;
use crate::process::Process;
use std::ffi::c_void;

/// Blocks of a side, one for each edge.
#[derive(Debug)]
pub enum Side {
    /// One behind the other.
    Row {
        /// Address of the first.
        at: *mut u8,
        /// Bytes of each.
        bytes: usize,
        /// The tag of its signature.
        tag: u16,
    },
    /// The same for all edges.
    Same(Block),
    /// Each somewhere.
    Each(Vec<Block>),
}

impl Side {
    /// The blocks that a call's arguments describe, for so many edges.
    ///
    /// # Safety
    /// As [`super::block::blocks`].
    ///
    /// # Errors
    /// A null buffer for something, a null array, a count or a datatype that cannot be.
    pub unsafe fn new(
        process: &Process,
        names: &Names,
        buffer: *const c_void,
        places: &Places,
        edges: usize,
        action: &'static str,
    ) -> MpiResult<Self> {
        if let Places::Of(Blocks::Equal(count), datatype) = *places
            && edges > 0
            && contiguous_bytes(datatype).is_some()
        {
            // SAFETY: the caller's promise; the others are as this one.
            let first = unsafe { Block::new(process, names, buffer, count, datatype, action)? };
            let (bytes, tag) = (first.bytes, first.tag);
            return Ok(Side::Row { at: buffer.cast_mut().cast(), bytes, tag });
        }
        // SAFETY: the caller's promise.
        Ok(Side::Each(unsafe { blocks(process, names, buffer, places, edges, action)? }))
    }

    /// Bytes of a block.
    #[inline]
    pub fn bytes(&self, block: u32) -> usize {
        match self {
            Side::Row { bytes, .. } => *bytes,
            Side::Same(same) => same.bytes,
            Side::Each(each) => each[block as usize].bytes,
        }
    }

    /// The tag of a block's signature: what both ends of an edge compare. Nothing matches nothing, whatever it is nothing of.
    #[inline]
    pub fn signature(&self, block: u32) -> u16 {
        let (bytes, tag) = match self {
            Side::Row { bytes, tag, .. } => (*bytes, *tag),
            Side::Same(same) => (same.bytes, same.tag),
            Side::Each(each) => (each[block as usize].bytes, each[block as usize].tag),
        };
        if bytes == 0 { 0 } else { tag }
    }

    /// Copies a block to where another one, of as many bytes, is received.
    ///
    /// # Safety
    /// Both must be valid still, as [`Self::new`] says.
    pub unsafe fn copy(&self, block: u32, to: &Side, there: u32) {
        let (wires, landings) = (self.wire(block), to.landing(there));
        let (from, at, bytes) = (wires.at(0), landings.at(0), self.bytes(block));
        if bytes > 0 && from != at.cast_const() {
            // SAFETY: the caller's promise; blocks that overlap do no harm to others.
            unsafe { std::ptr::copy(from, at, bytes) };
        }
        if let (Side::Each(each), Landings::Each(landings)) = (to, &landings) {
            each[there as usize].land(&landings[0]);
        }
    }

    /// One block alone, as it is sent now.
    fn wire(&self, block: u32) -> Wires {
        match self {
            Side::Row { at, bytes, .. } => Wires::Row(at.wrapping_add(block as usize * bytes), 0),
            Side::Same(same) => Wires::Same(same.wire()),
            Side::Each(each) => Wires::Same(each[block as usize].wire()),
        }
    }

    /// Where one block arrives.
    fn landing(&self, block: u32) -> Landings {
        match self {
            Side::Row { at, bytes, .. } => Landings::Row(at.wrapping_add(block as usize * bytes), 0),
            Side::Same(same) => Landings::Each(vec![same.landing()]),
            Side::Each(each) => Landings::Each(vec![each[block as usize].landing()]),
        }
    }

    /// As they are sent now.
    #[inline]
    pub fn wires(&self) -> Wires {
        match self {
            Side::Row { at, bytes, .. } => Wires::Row(*at, *bytes),
            Side::Same(same) => Wires::Same(same.wire()),
            Side::Each(each) => Wires::Each(each.iter().map(Block::wire).collect()),
        }
    }

    /// Where they arrive.
    #[inline]
    pub fn landings(&self) -> Landings {
        match self {
            Side::Row { at, bytes, .. } => Landings::Row(*at, *bytes),
            Side::Same(same) => Landings::Each(vec![same.landing()]),
            Side::Each(each) => Landings::Each(each.iter().map(Block::landing).collect()),
        }
    }

    /// Puts a block that has arrived where the program wants it.
    #[inline]
    pub fn land(&self, landings: &Landings, block: u32) {
        if let (Side::Each(each), Landings::Each(landings)) = (self, landings) {
            each[block as usize].land(&landings[block as usize]);
        }
    }
}

/// What the blocks of a side look like on the wire.
pub enum Wires {
    /// As they lie.
    Row(*mut u8, usize),
    /// One for all edges.
    Same(Wire),
    /// One for each edge.
    Each(Vec<Wire>),
}

impl Wires {
    /// The first byte of a block.
    #[inline]
    pub fn at(&self, block: u32) -> *const u8 {
        match self {
            Wires::Row(at, bytes) => at.wrapping_add(block as usize * bytes).cast_const(),
            Wires::Same(same) => same.data(),
            Wires::Each(each) => each[block as usize].data(),
        }
    }
}

/// Where the blocks of a side arrive.
pub enum Landings {
    /// Where the program wants them.
    Row(*mut u8, usize),
    /// Each somewhere.
    Each(Vec<Landing>),
}

impl Landings {
    /// The first byte of a block.
    #[inline]
    pub fn at(&self, block: u32) -> *mut u8 {
        match self {
            Landings::Row(at, bytes) => at.wrapping_add(block as usize * bytes),
            Landings::Each(each) => each[block as usize].data(),
        }
    }
}
