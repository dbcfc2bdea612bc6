//! The blocks of one side of a call: all that a process sends to the members of a communicator or along its
//! edges, or all that it receives (MPI-5.0, §6.5 to §6.8, §8.6).
//!
//! Blocks of one contiguous type, the commonest by far, are an address and a length. What does not lie
//! together is packed when the operation starts, the same block once for all.

use super::block::{Agreed, Block, Landing, Places, Wire, blocks};
use super::buffers::{Blocks, misfit};
use super::reduction::Vector;
use crate::datatype::buffer::{Names, check_not_in_place, contiguous_bytes};
use crate::error::MpiResult;
use crate::process::Process;
use std::ffi::c_void;

/// Blocks of a side, one for each member or edge.
#[derive(Clone, Debug)]
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
    /// The same for all.
    Same(Block),
    /// Each somewhere.
    Each(Vec<Block>),
}

impl Side {
    /// None, where the argument does not matter.
    pub const NOTHING: Self = Side::Each(Vec::new());

    /// The blocks that a call's arguments describe, so many.
    ///
    /// # Safety
    /// The address as [`Block::new`] says, for every block; arrays must be null or have so many elements.
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
        check_not_in_place(names[0], buffer)?;
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

    /// Bytes of a block, and the tag of its signature.
    #[inline]
    pub fn about(&self, block: u32) -> (usize, u16) {
        match self {
            Side::Row { bytes, tag, .. } => (*bytes, *tag),
            Side::Same(same) => (same.bytes, same.tag),
            Side::Each(each) => (each[block as usize].bytes, each[block as usize].tag),
        }
    }

    /// Bytes of a block.
    #[inline]
    pub fn bytes(&self, block: u32) -> usize {
        self.about(block).0
    }

    /// The tag of a block's signature: what both ends of an edge compare. Nothing matches nothing, whatever
    /// it is nothing of.
    #[inline]
    pub fn signature(&self, block: u32) -> u16 {
        let (bytes, tag) = self.about(block);
        if bytes == 0 { 0 } else { tag }
    }

    /// What members have to say alike of these blocks, if all are like this one.
    pub fn agreed(&self, block: u32) -> Agreed {
        Agreed::new(self.bytes(block), self.signature(block))
    }

    /// Copies a block of this process's own to where it receives one.
    ///
    /// # Errors
    /// It is not as long as that; `rank` is whose both are.
    pub fn take_own(&self, block: u32, own: &Block, rank: u32) -> MpiResult {
        match self {
            Side::Row { at, bytes, .. } if own.bytes == *bytes => {
                // SAFETY: the promise of `new`: a block of as many bytes lies there.
                unsafe { own.copy_out(at.wrapping_add(block as usize * bytes), *bytes) };
                Ok(())
            }
            Side::Each(each) => own.copy_to(&each[block as usize], rank),
            _ => Err(misfit(own.bytes, self.bytes(block), rank)),
        }
    }

    /// Copies a block to where this process receives its own.
    ///
    /// # Errors
    /// It is not as long as that; `rank` is whose both are.
    pub fn give_own(&self, block: u32, own: &Block, rank: u32) -> MpiResult {
        match self {
            Side::Row { at, bytes, .. } if own.bytes == *bytes => {
                let from = at.wrapping_add(block as usize * bytes).cast_const();
                if *bytes > 0 {
                    // SAFETY: as above; the program gives no buffer that overlaps it.
                    own.write(unsafe { std::slice::from_raw_parts(from, *bytes) });
                }
                Ok(())
            }
            Side::Each(each) => each[block as usize].copy_to(own, rank),
            _ => Err(misfit(self.bytes(block), own.bytes, rank)),
        }
    }

    /// Copies a block to where this process receives it from itself.
    ///
    /// # Errors
    /// It is not as long as that.
    pub fn copy_own(&self, rank: u32, to: &Side) -> MpiResult {
        let (sent, room) = (self.bytes(rank), to.bytes(rank));
        if sent != room {
            return Err(misfit(sent, room, rank));
        }
        // SAFETY: the promise of `new`.
        unsafe { self.copy(rank, to, rank) }
    }

    /// One block alone, as it is sent now.
    ///
    /// # Errors
    /// There is no memory for what does not lie together.
    pub fn wire(&self, block: u32) -> MpiResult<Wire> {
        match self {
            Side::Row { at, bytes, .. } => {
                Ok(Wire::of(at.wrapping_add(block as usize * bytes).cast_const(), *bytes))
            }
            Side::Same(same) => same.wire(),
            Side::Each(each) => each[block as usize].wire(),
        }
    }

    /// All blocks, `count` of the same length, one behind the other.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn row(&self, count: u32) -> MpiResult<Wires> {
        let bytes = self.bytes(0);
        if let Side::Row { at, .. } = self {
            return Ok(Wires::Row(*at, bytes));
        }
        let mut packed = Vector::new(bytes * count as usize)?;
        for (block, place) in packed.chunks_exact_mut(bytes.max(1)).enumerate() {
            match self {
                Side::Each(each) => each[block].read(place),
                Side::Same(same) => same.read(place),
                Side::Row { .. } => {}
            }
        }
        Ok(Wires::Copied(packed, bytes))
    }

    /// The same, copied: the blocks may change before they have gone.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn row_of_snapshots(&self, count: u32) -> MpiResult<Wires> {
        if matches!(self, Side::Row { .. }) { self.snapshots(count) } else { self.row(count) }
    }

    /// Copies of what is sent now: the blocks may change before they have gone.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn snapshots(&self, count: u32) -> MpiResult<Wires> {
        Ok(match self {
            Side::Each(each) => Wires::Each(each.iter().map(Block::snapshot).collect::<MpiResult<_>>()?),
            Side::Same(same) => Wires::Same(same.snapshot()?),
            Side::Row { at, bytes, .. } => {
                // SAFETY: the promise of `new`: so many blocks lie one behind the other.
                let row = unsafe { std::slice::from_raw_parts(at.cast_const(), count as usize * bytes) };
                let mut copy = Vector::new(row.len())?;
                copy.copy_from_slice(row);
                Wires::Copied(copy, *bytes)
            }
        })
    }

    /// Copies a block to where another one, of as many bytes, is received.
    ///
    /// # Safety
    /// Both must be valid still, as [`Self::new`] says.
    ///
    /// # Errors
    /// There is no memory for a block on its way.
    pub unsafe fn copy(&self, block: u32, to: &Side, there: u32) -> MpiResult {
        let (wire, landings) = (self.wire(block)?, to.landing(there)?);
        let (from, at, bytes) = (wire.data(), landings.at(0), wire.bytes());
        if bytes > 0 && from != at.cast_const() {
            // SAFETY: the caller's promise; blocks that overlap do no harm to others.
            unsafe { std::ptr::copy(from, at, bytes) };
        }
        if let (Side::Each(each), Landings::Each(landings)) = (to, &landings) {
            each[there as usize].land(&landings[0]);
        }
        Ok(())
    }

    /// Where one block arrives.
    fn landing(&self, block: u32) -> MpiResult<Landings> {
        Ok(match self {
            Side::Row { at, bytes, .. } => Landings::Row(at.wrapping_add(block as usize * bytes), 0),
            Side::Same(same) => Landings::Each(vec![same.landing()?]),
            Side::Each(each) => Landings::Each(vec![each[block as usize].landing()?]),
        })
    }

    /// As they are sent now.
    ///
    /// # Errors
    /// There is no memory for what does not lie together.
    #[inline]
    pub fn wires(&self) -> MpiResult<Wires> {
        Ok(match self {
            Side::Row { at, bytes, .. } => Wires::Row(*at, *bytes),
            Side::Same(same) => Wires::Same(same.wire()?),
            Side::Each(each) => Wires::Each(each.iter().map(Block::wire).collect::<MpiResult<_>>()?),
        })
    }

    /// Where they arrive.
    ///
    /// # Errors
    /// There is no memory for them.
    #[inline]
    pub fn landings(&self) -> MpiResult<Landings> {
        Ok(match self {
            Side::Row { at, bytes, .. } => Landings::Row(*at, *bytes),
            Side::Same(same) => Landings::Each(vec![same.landing()?]),
            Side::Each(each) => Landings::Each(each.iter().map(Block::landing).collect::<MpiResult<_>>()?),
        })
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
    /// Copies, one behind the other.
    Copied(Vector, usize),
    /// One for all.
    Same(Wire),
    /// One for each.
    Each(Vec<Wire>),
}

impl Wires {
    /// The first byte of a block.
    #[inline]
    pub fn at(&self, block: u32) -> *const u8 {
        match self {
            Wires::Row(at, bytes) => at.wrapping_add(block as usize * bytes).cast_const(),
            Wires::Copied(row, bytes) => row.as_ptr().wrapping_add(block as usize * bytes),
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
