//! Blocks: an address and the layout of what lies there, resolved when an operation is called.
//!
//! A non-blocking or persistent operation outlives its arguments' handles: a datatype may be freed while it
//! is under way (MPI-5.0, §4.1.9), so it keeps layouts. What lies together is used where it is; other
//! messages are packed when the operation starts, and unpacked as they arrive.

use super::vector::Vector;
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{Elements, MOST_ROOM, Names, bytes_together, layout_of};
use crate::object::datatype::copying::copy;
use crate::object::datatype::{Layout, is_of_one_kind};
use crate::process::Process;
use crate::progress::{Memory, misfit};
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_void;
use std::sync::Arc;

/// A block of the program's memory.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its first byte, or the address that its layout is relative to.
    at: *mut u8,
    /// How its bytes lie, if they do not lie together.
    layout: Option<Arc<Layout>>,
    /// Its bytes, packed.
    pub bytes: usize,
    /// The tag of its signature: [`Datatypes::tag_of`](crate::object::datatype::Datatypes::tag_of).
    pub tag: u16,
}

/// What members of a collective have to say alike of a block: its bytes and the tag of its signature; nothing
/// where each has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Its bytes.
    pub bytes: usize,
    /// As a descriptor's operation carries it.
    pub signature: (u8, u8),
    /// Each has its own, as in the v and w forms: nobody knows whether what another one gives is nothing, so
    /// that is sent, too.
    pub differs: bool,
}

impl Agreed {
    /// About a block of so many bytes, with this tag of its signature. Nothing is of any type.
    pub fn new(bytes: usize, tag: u16) -> Self {
        let tag = if bytes == 0 { 0 } else { tag };
        Self { bytes, signature: (tag as u8, (tag >> 8) as u8), differs: false }
    }

    /// Nothing: each member has its own blocks.
    pub const EACH_ITS_OWN: Self = Self { bytes: 0, signature: (0, 0), differs: true };

    /// The signature, if it is the same whatever the number of elements, of which there are some.
    pub fn kind_of_elements(&self) -> (u8, u8) {
        let tag = u16::from_le_bytes(self.signature.into());
        if self.bytes > 0 && is_of_one_kind(tag) { self.signature } else { (0, 0) }
    }

    /// The bytes of so many blocks together, if all say the same.
    pub fn of_all(&self, blocks: u32) -> Option<usize> {
        (!self.differs).then(|| self.bytes.saturating_mul(blocks as usize))
    }

    /// Whether there is a message where one end has a block of so many bytes.
    pub fn is_message(&self, bytes: usize) -> bool {
        bytes > 0 || self.differs
    }
}

/// A block on its way: where its bytes lie, or, if they do not lie together, where they are packed.
pub struct Wire {
    /// The bytes, or the room for them, for an operation that keeps the wire.
    pub memory: Memory,
    packed: Vector,
}

impl Wire {
    /// Packed bytes.
    pub(super) fn of(mut packed: Vector) -> Self {
        Self { memory: packed.memory(), packed }
    }
}

impl Block {
    /// What members have to say alike of it.
    pub fn agreed(&self) -> Agreed {
        Agreed::new(self.bytes, self.tag)
    }

    /// The block that these elements are; `action` is what is to be done with it.
    ///
    /// # Errors
    /// A null buffer for something, a count or a datatype that cannot be.
    pub fn new(
        process: &Process,
        names: &Names,
        of: Elements<*const c_void>,
        action: &'static str,
    ) -> MpiResult<Self> {
        let (tag, at) = (process.datatypes.tag_of(of.count, of.datatype), of.buffer.cast_mut().cast::<u8>());
        if let Some(bytes) = bytes_together::<MOST_ROOM>(names, of, action)? {
            return Ok(Self { at, layout: None, bytes, tag });
        }
        let (layout, bytes) = layout_of(&process.datatypes, names, of, action)?;
        Ok(match layout.as_block() {
            Some(offset) => Self { at: at.wrapping_offset(offset), layout: None, bytes, tag },
            None => Self { at, layout: Some(Arc::new(layout)), bytes, tag },
        })
    }

    /// One that lies a displacement from an address that has been checked: beside MPI_BOTTOM it may be where
    /// MPI_IN_PLACE is.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(super) fn displaced(
        process: &Process,
        names: &Names,
        of: Elements<*const c_void>,
        action: &'static str,
    ) -> MpiResult<Self> {
        if of.buffer != MPI_IN_PLACE.cast_const() {
            return Self::new(process, names, of, action);
        }
        let block = Self::new(process, names, Elements { buffer: std::ptr::null(), ..of }, action)?;
        Ok(Self { at: block.at.wrapping_add(of.buffer.addr()), ..block })
    }

    /// Its bytes, if they lie together.
    #[inline]
    pub fn together(&self) -> Option<Memory> {
        // SAFETY: the promise of `new`.
        self.layout.is_none().then(|| unsafe { Memory::new(self.at, self.bytes) })
    }

    /// As it is sent now.
    ///
    /// # Errors
    /// There is no memory for what does not lie together.
    pub fn wire(&self) -> MpiResult<Wire> {
        if self.layout.is_none() { self.landing() } else { self.snapshot() }
    }

    /// A copy of what is sent now: the block may change before it has gone.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn snapshot(&self) -> MpiResult<Wire> {
        let mut packed = Vector::new(self.bytes)?;
        self.read(&mut packed);
        Ok(Wire::of(packed))
    }

    /// Where it arrives.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn landing(&self) -> MpiResult<Wire> {
        match self.together() {
            Some(memory) => Ok(Wire { memory, packed: Vector::default() }),
            None => Ok(Wire::of(Vector::new(self.bytes)?)),
        }
    }

    /// Puts what has arrived where the program wants it.
    pub fn land(&self, landing: &Wire) {
        if let Some(layout) = &self.layout {
            // SAFETY: the promise of `new`.
            unsafe { layout.unpack(&landing.packed, self.at) };
        }
    }

    /// One like it, so many bytes further.
    pub(super) fn further(&self, bytes: usize) -> Self {
        Self { at: self.at.wrapping_add(bytes), ..self.clone() }
    }

    /// Reads it, packed: as much as there is room for.
    pub fn read(&self, to: &mut [u8]) {
        // SAFETY: there is so much room.
        unsafe { self.copy_out(to.as_mut_ptr(), to.len().min(self.bytes)) };
    }

    /// Copies its first bytes, packed, to another place.
    ///
    /// # Safety
    /// That must be writable for so many.
    unsafe fn copy_out(&self, to: *mut u8, bytes: usize) {
        match &self.layout {
            // SAFETY: the promise of `new`, and the caller's.
            Some(layout) => _ = unsafe { layout.cursor().pack(self.at, to, bytes) },
            // SAFETY: as above.
            None => unsafe { Memory::new(self.at, bytes).copy_to(Memory::new(to, bytes)) },
        }
    }

    /// Copies this block to where another one is.
    ///
    /// # Errors
    /// It is not as long as that; `rank` is whose both are.
    pub fn copy_to(&self, to: &Block, rank: CommRank) -> MpiResult {
        if self.bytes != to.bytes {
            return Err(misfit(self.bytes, to.bytes, rank));
        }
        match (&self.layout, &to.layout) {
            // SAFETY: the promise of `new` for both: they have as many bytes.
            (_, None) => unsafe { self.copy_out(to.at, self.bytes) },
            // SAFETY: as above.
            (None, Some(layout)) => unsafe {
                layout.unpack(std::slice::from_raw_parts(self.at, self.bytes), to.at);
            },
            // SAFETY: as above.
            (Some(from), Some(layout)) => _ = unsafe { copy(from, self.at, layout, to.at) },
        }
        Ok(())
    }
}
