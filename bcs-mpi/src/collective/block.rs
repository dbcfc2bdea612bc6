//! Blocks: an address and the layout of what lies there, resolved when an operation is called.
//!
//! A non-blocking or persistent operation outlives its arguments' handles: a datatype may be freed while it
//! is under way (MPI-5.0, §4.1.9), so it keeps layouts. What lies together is used where it is; other
//! messages are packed when the operation starts, and unpacked as they arrive.

use super::buffers::{Blocks, Numbers, misfit, null_array};
use super::reduction::Vector;
use crate::constants::*;
use crate::datatype::buffer::{Names, bytes_together, layout_of};
use crate::datatype::cursor::copy;
use crate::datatype::{Datatypes, Layout, is_of_one_kind, tag_of};
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
    /// The first byte.
    pub data: *mut u8,
    /// How many there are, or how many there is room for.
    pub bytes: usize,
    packed: Vector,
}

impl Wire {
    /// Packed bytes.
    pub(super) fn of(mut packed: Vector) -> Self {
        Self { data: packed.as_mut_ptr(), bytes: packed.len(), packed }
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
    pub(super) unsafe fn displaced(
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

    /// Its first byte, if its bytes lie together.
    #[inline]
    pub fn together(&self) -> Option<*mut u8> {
        self.layout.is_none().then_some(self.at)
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
        match self.layout {
            None => Ok(Wire { data: self.at, bytes: self.bytes, packed: Vector::default() }),
            Some(_) => Ok(Wire::of(Vector::new(self.bytes)?)),
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

impl Places {
    /// Count, displacement in bytes and type of each of `members` blocks of a buffer whose arguments have
    /// these names.
    ///
    /// # Safety
    /// Arrays must be null or have `members` elements.
    ///
    /// # Errors
    /// A null array, or a datatype that cannot be.
    pub(super) unsafe fn read(
        &self,
        datatypes: &Datatypes,
        names: &Names,
        members: usize,
    ) -> MpiResult<Vec<(i64, isize, MPI_Datatype)>> {
        let displacements = if is_sent(names) { "sdispls" } else { "rdispls" };
        let [_, counts, types] = self.names(names);
        match *self {
            Places::Of(blocks, datatype) => {
                let extent = datatypes.committed(names[2], datatype)?.extent() as isize;
                // What is no address is none of the program's, and is not used.
                let block =
                    |(count, index): (i64, i64)| (count, (index as isize).wrapping_mul(extent), datatype);
                match blocks {
                    Blocks::Equal(count) => {
                        Ok((0..members as i64).map(|i| block((count, i.saturating_mul(count)))).collect())
                    }
                    Blocks::Vector(numbers, _) if numbers.is_null() => Err(null_array(counts)),
                    Blocks::Vector(_, places) if places.is_null() => Err(null_array(displacements)),
                    Blocks::Vector(numbers, places) => {
                        // SAFETY: the caller's promise.
                        Ok((0..members).map(|i| block(unsafe { (numbers.at(i), places.at(i)) })).collect())
                    }
                }
            }
            Places::Typed(typed) => {
                let missing = [
                    (typed.counts.is_null(), counts),
                    (typed.displacements.is_null(), displacements),
                    (typed.types.is_null(), types),
                ];
                if let Some((_, argument)) = missing.into_iter().find(|(is_null, _)| *is_null && members > 0)
                {
                    return Err(null_array(argument));
                }
                // SAFETY: the caller's promise.
                let block = |i| unsafe {
                    (typed.counts.at(i), typed.displacements.at(i) as isize, *typed.types.add(i))
                };
                Ok((0..members).map(block).collect())
            }
        }
    }

    /// The names of its arguments, in a call whose other form has these.
    pub(super) fn names(&self, names: &Names) -> Names {
        match self {
            Places::Of(..) => *names,
            Places::Typed(_) if is_sent(names) => [names[0], "sendcounts", "sendtypes"],
            Places::Typed(_) => [names[0], "recvcounts", "recvtypes"],
        }
    }
}

fn is_sent(names: &Names) -> bool {
    names[1].starts_with("send")
}
