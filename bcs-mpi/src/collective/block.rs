//! Blocks: an address and the layout of what lies there, resolved when an operation is called.
//!
//! A non-blocking or persistent operation outlives its arguments' handles: a datatype may be freed while it
//! is under way (MPI-5.0, §4.1.9), so it keeps layouts. What lies together is used where it is; other
//! messages are packed when the operation starts, and unpacked as they arrive.

use super::buffers::{Blocks, Numbers, element_at, misfit, null_array};
use super::reduction::Vector;
use crate::constants::*;
use crate::datatype::buffer::{Names, bytes_together, check_not_in_place, layout_of};
use crate::datatype::cursor::copy;
use crate::datatype::{Layout, tag_of};
use crate::error::MpiResult;
use crate::process::Process;
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
    /// The tag of its signature: [`tag_of`].
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
    /// About a block of so many bytes, with this tag of its signature.
    pub fn new(bytes: usize, tag: u16) -> Self {
        Self { bytes, signature: (tag as u8, (tag >> 8) as u8), differs: false }
    }

    /// Nothing: each member has its own blocks.
    pub const EACH_ITS_OWN: Self = Self { bytes: 0, signature: (0, 0), differs: true };

    /// The bytes of so many blocks together, if all say the same.
    pub fn of_all(&self, blocks: u32) -> Option<usize> {
        (!self.differs).then(|| self.bytes.saturating_mul(blocks as usize))
    }

    /// Whether there is a message where one end has a block of so many bytes.
    pub fn is_message(&self, bytes: usize) -> bool {
        bytes > 0 || self.differs
    }
}

/// What a block that is sent looks like on the wire.
pub struct Wire {
    data: *const u8,
    bytes: usize,
    _packed: Vector,
}

/// Where a block arrives.
pub struct Landing {
    data: *mut u8,
    bytes: usize,
    packed: Option<Vector>,
}

impl Wire {
    /// Bytes as they lie.
    pub(super) fn of(data: *const u8, bytes: usize) -> Self {
        Self { data, bytes, _packed: Vector::default() }
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its first byte.
    pub fn data(&self) -> *const u8 {
        self.data
    }
}

impl Landing {
    /// Its first byte.
    pub fn data(&self) -> *mut u8 {
        self.data
    }

    /// How many bytes there is room for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Block {
    /// What members have to say alike of it.
    pub fn agreed(&self) -> Agreed {
        Agreed::new(self.bytes, self.tag)
    }

    /// The block that an address, a count and a datatype describe; `action` is what is to be done with it.
    ///
    /// # Safety
    /// The address must be valid for that until the operation, and every later start of it, is over.
    ///
    /// # Errors
    /// A null buffer for something, a count or a datatype that cannot be.
    pub unsafe fn new(
        process: &Process,
        names: &Names,
        buffer: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        action: &'static str,
    ) -> MpiResult<Self> {
        let (tag, at) = (tag_of(&process.datatypes, count, datatype), buffer.cast_mut().cast::<u8>());
        if let Some(bytes) = bytes_together(names, buffer, count, datatype, action)? {
            return Ok(Self { at, layout: None, bytes, tag });
        }
        let (layout, bytes) = layout_of(&process.datatypes, names, buffer, count, datatype, action)?;
        Ok(match layout.as_block() {
            Some(offset) => Self { at: at.wrapping_offset(offset), layout: None, bytes, tag },
            None => Self { at, layout: Some(Arc::new(layout)), bytes, tag },
        })
    }

    /// One that lies a displacement from an address that has been checked: beside MPI_BOTTOM it may be where
    /// MPI_IN_PLACE is.
    ///
    /// # Safety
    /// As [`Self::new`].
    ///
    /// # Errors
    /// As [`Self::new`].
    unsafe fn displaced(
        process: &Process,
        names: &Names,
        at: *const c_void,
        count: i64,
        datatype: MPI_Datatype,
        action: &'static str,
    ) -> MpiResult<Self> {
        if at != MPI_IN_PLACE.cast_const() {
            // SAFETY: the caller's promise.
            return unsafe { Self::new(process, names, at, count, datatype, action) };
        }
        // SAFETY: as above: what lies one byte on.
        let block = unsafe { Self::new(process, names, std::ptr::null(), count, datatype, action)? };
        Ok(Self { at: block.at.wrapping_add(at.addr()), ..block })
    }

    /// As it is sent now.
    ///
    /// # Errors
    /// There is no memory for what does not lie together.
    pub fn wire(&self) -> MpiResult<Wire> {
        match &self.layout {
            None => Ok(Wire::of(self.at.cast_const(), self.bytes)),
            Some(_) => self.snapshot(),
        }
    }

    /// A copy of what is sent now: the block may change before it has gone.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn snapshot(&self) -> MpiResult<Wire> {
        let mut packed = Vector::new(self.bytes)?;
        self.read(&mut packed);
        Ok(Wire { data: packed.as_ptr(), bytes: packed.len(), _packed: packed })
    }

    /// Where it arrives.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn landing(&self) -> MpiResult<Landing> {
        if self.layout.is_none() {
            return Ok(Landing { data: self.at, bytes: self.bytes, packed: None });
        }
        let mut packed = Vector::new(self.bytes)?;
        Ok(Landing { data: packed.as_mut_ptr(), bytes: self.bytes, packed: Some(packed) })
    }

    /// Puts what has arrived where the program wants it.
    pub fn land(&self, landing: &Landing) {
        if let Some(packed) = &landing.packed {
            self.write(packed);
        }
    }

    /// Reads it, packed: as much as there is room for.
    pub fn read(&self, to: &mut [u8]) {
        // SAFETY: there is so much room.
        unsafe { self.copy_out(to.as_mut_ptr(), to.len().min(self.bytes)) };
    }

    /// Writes it, from packed bytes: as much as there is.
    pub fn write(&self, from: &[u8]) {
        match &self.layout {
            // SAFETY: the promise of `new`.
            Some(layout) => unsafe { layout.unpack(from, self.at) },
            // SAFETY: as above.
            None => unsafe { put(from.as_ptr(), self.at, from.len().min(self.bytes)) },
        }
    }

    /// Copies its first bytes, packed, to another place.
    ///
    /// # Safety
    /// That must be writable for so many.
    pub(super) unsafe fn copy_out(&self, to: *mut u8, bytes: usize) {
        match &self.layout {
            // SAFETY: the promise of `new`, and the caller's.
            Some(layout) => _ = unsafe { layout.cursor().pack_raw(self.at, to, bytes) },
            // SAFETY: as above.
            None => unsafe { put(self.at, to, bytes) },
        }
    }

    /// Copies this block to where another one is.
    ///
    /// # Errors
    /// It is not as long as that; `rank` is whose both are.
    pub fn copy_to(&self, to: &Block, rank: u32) -> MpiResult {
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

/// Copies bytes of the program; places that overlap do no harm to others.
///
/// # Safety
/// Both must be valid for so many.
unsafe fn put(from: *const u8, to: *mut u8, bytes: usize) {
    if bytes > 0 && from != to.cast_const() {
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy(from, to, bytes) };
    }
}

/// The blocks of a w form: a count, a displacement in bytes and a datatype each.
#[derive(Clone, Copy, Debug)]
pub struct Typed {
    /// Elements of each.
    pub counts: Numbers,
    /// Bytes from the buffer's address to each.
    pub displacements: Numbers,
    /// The type of the elements of each.
    pub types: *const MPI_Datatype,
}

/// Where blocks of a call lie, with the type of their elements.
#[derive(Clone, Copy, Debug)]
pub enum Places {
    /// All of one type.
    Of(Blocks, MPI_Datatype),
    /// Each of its own.
    Typed(Typed),
}

impl Typed {
    /// Whether an array is missing.
    pub(super) fn has_null(&self) -> bool {
        self.counts.is_null() || self.displacements.is_null() || self.types.is_null()
    }

    /// Count, displacement and type of a member's block.
    ///
    /// # Safety
    /// The arrays must have it.
    pub(super) unsafe fn at(&self, member: usize) -> (i64, i64, MPI_Datatype) {
        // SAFETY: the caller's promise.
        unsafe { (self.counts.at(member), self.displacements.at(member), *self.types.add(member)) }
    }
}

/// The blocks that a call's arguments describe, one a member.
///
/// # Safety
/// The address as [`Block::new`] says, for every block; arrays must be null or have `members` elements.
///
/// # Errors
/// A null buffer for something, a null array, a count or a datatype that cannot be.
pub(super) unsafe fn blocks(
    process: &Process,
    names: &Names,
    buffer: *const c_void,
    places: &Places,
    members: usize,
    action: &'static str,
) -> MpiResult<Vec<Block>> {
    let sends = names[1].starts_with("send");
    check_not_in_place(names[0], buffer)?;
    match places {
        Places::Of(blocks, datatype) => {
            let extent = process.datatypes.committed(names[2], *datatype)?.extent() as isize;
            // SAFETY: the caller's promise.
            let list = unsafe { blocks.read(members, names)? };
            // With MPI_BOTTOM a type is made of addresses; without a displacement it stays null, and is found
            // so if it is not.
            let at = |index| element_at(buffer.cast(), index, extent);
            list.into_iter()
                // SAFETY: as above.
                .map(|(count, index)| unsafe {
                    Block::displaced(process, names, at(index).cast(), count, *datatype, action)
                })
                .collect()
        }
        Places::Typed(typed) => {
            let [counts, displacements, types] = if sends {
                ["sendcounts", "sdispls", "sendtypes"]
            } else {
                ["recvcounts", "rdispls", "recvtypes"]
            };
            for (is_null, argument) in [
                (typed.counts.is_null(), counts),
                (typed.displacements.is_null(), displacements),
                (typed.types.is_null(), types),
            ] {
                if is_null && members > 0 {
                    return Err(null_array(argument));
                }
            }
            let names = [names[0], counts, types];
            (0..members)
                .map(|i| {
                    // SAFETY: as above.
                    unsafe {
                        let (count, at, datatype) = typed.at(i);
                        let at = buffer.cast::<u8>().wrapping_offset(at as isize);
                        let at = if count == 0 { buffer } else { at.cast() };
                        Block::displaced(process, &names, at, count, datatype, action)
                    }
                })
                .collect()
        }
    }
}
