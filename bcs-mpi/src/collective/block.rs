//! Blocks: an address and the layout of what lies there, resolved when an operation is called.
//!
//! A non-blocking or persistent operation outlives its arguments' handles: a datatype may be freed while it is under way (MPI-5.0, §4.1.9), so it
//! keeps layouts. What lies together is used where it is; other messages are packed when the operation starts, and unpacked as they arrive.

use super::buffers::{Blocks, Numbers, element_at, misfit, null_array};
use crate::constants::*;
use crate::datatype::buffer::{Names, check_not_in_place, layout_of};
use crate::datatype::cursor::copy;
use crate::datatype::{Layout, tag_of};
use crate::error::MpiResult;
use crate::process::Process;
use crate::progress::party::{Join, Party};
use std::ffi::c_void;

/// A block of the program's memory.
#[derive(Clone, Debug)]
pub struct Block {
    at: *mut u8,
    layout: Layout,
    /// Its bytes, packed.
    pub bytes: usize,
    /// The tag of its signature: [`tag_of`].
    pub tag: u16,
}

/// What members of a collective have to say alike of a block: its bytes and the tag of its signature; nothing where each has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Its bytes.
    pub bytes: usize,
    /// As a descriptor's operation carries it.
    pub signature: (u8, u8),
    /// Each has its own, as in the v and w forms: nobody knows whether what another one gives is nothing, so that is sent, too.
    pub differs: bool,
}

impl Agreed {
    /// About a block of so many bytes, with this tag of its signature.
    pub fn new(bytes: usize, tag: u16) -> Self {
        Self { bytes, signature: (tag as u8, (tag >> 8) as u8), differs: false }
    }

    /// Nothing: each member has its own blocks.
    pub const EACH_ITS_OWN: Self = Self { bytes: 0, signature: (0, 0), differs: true };

    /// Whether there is a message where one end has a block of so many bytes.
    pub fn is_message(&self, bytes: usize) -> bool {
        bytes > 0 || self.differs
    }
}

/// What a block that is sent looks like on the wire.
pub struct Wire {
    data: *const u8,
    bytes: usize,
    _packed: Vec<u8>,
}

/// Where a block arrives.
pub struct Landing {
    data: *mut u8,
    bytes: usize,
    packed: Option<Vec<u8>>,
}

impl Wire {
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
        let (layout, bytes) = layout_of(&process.datatypes, names, buffer, count, datatype, action)?;
        let tag = tag_of(&process.datatypes, count, datatype);
        Ok(Self { at: buffer.cast_mut().cast(), layout, bytes, tag })
    }

    /// As it is sent now.
    pub fn wire(&self) -> Wire {
        if let Some(offset) = self.layout.as_block() {
            let data = self.at.wrapping_offset(offset).cast_const();
            return Wire { data, bytes: self.bytes, _packed: Vec::new() };
        }
        // SAFETY: the promise of `new`.
        let packed = unsafe { self.layout.pack(self.at) };
        Wire { data: packed.as_ptr(), bytes: self.bytes, _packed: packed }
    }

    /// A copy of what is sent now: the block may change before it has gone.
    pub fn snapshot(&self) -> Wire {
        // SAFETY: the promise of `new`.
        let packed = unsafe { self.layout.pack(self.at) };
        Wire { data: packed.as_ptr(), bytes: self.bytes, _packed: packed }
    }

    /// Where it arrives.
    pub fn landing(&self) -> Landing {
        if let Some(offset) = self.layout.as_block() {
            return Landing { data: self.at.wrapping_offset(offset), bytes: self.bytes, packed: None };
        }
        let mut packed = vec![0; self.bytes];
        Landing { data: packed.as_mut_ptr(), bytes: self.bytes, packed: Some(packed) }
    }

    /// Puts what has arrived where the program wants it.
    pub fn land(&self, landing: &Landing) {
        if let Some(packed) = &landing.packed {
            // SAFETY: the promise of `new`.
            unsafe { self.layout.unpack(packed, self.at) };
        }
    }

    /// Reads it, packed.
    pub fn read(&self, to: &mut [u8]) {
        // SAFETY: the promise of `new`; no more is packed than there is room for.
        unsafe { self.layout.cursor().pack_raw(self.at, to.as_mut_ptr(), to.len()) };
    }

    /// Writes it, from packed bytes.
    pub fn write(&self, from: &[u8]) {
        // SAFETY: the promise of `new`.
        unsafe { self.layout.unpack(from, self.at) };
    }

    /// Copies this block to where another one is.
    ///
    /// # Errors
    /// It is not as long as that; `rank` is whose both are.
    pub fn copy_to(&self, to: &Block, rank: u32) -> MpiResult {
        if self.bytes != to.bytes {
            return Err(misfit(self.bytes, to.bytes, rank));
        }
        let part = to.landing();
        match (self.layout.as_block(), &part.packed) {
            (Some(offset), None) => {
                let from = self.at.wrapping_offset(offset);
                if self.bytes > 0 && from != part.data {
                    // SAFETY: the promise of `new`; blocks that overlap do no harm to others.
                    unsafe { std::ptr::copy(from.cast_const(), part.data, self.bytes) };
                }
            }
            // SAFETY: as above.
            _ => _ = unsafe { copy(&self.layout, self.at, &to.layout, to.at) },
        }
        Ok(())
    }
}

/// Posts a block's send.
///
/// # Safety
/// `wire` must live until `join` is complete.
///
/// # Errors
/// The NIC fails.
pub unsafe fn post_wire(party: &Party, join: &mut Join, to: u32, wire: &Wire) -> MpiResult {
    // SAFETY: the promise of `Block::new`, and the caller's.
    join.add(unsafe { party.post_send(to, wire.data, wire.bytes)? });
    Ok(())
}

/// Posts a block's receive: it has to be as long as its place.
///
/// # Safety
/// `landing` must live until `join` is complete.
///
/// # Errors
/// The NIC fails.
pub unsafe fn post_landing(party: &Party, join: &mut Join, from: u32, landing: &Landing) -> MpiResult {
    // SAFETY: as above.
    join.add(unsafe { party.post_receive(from, landing.data, landing.bytes)? }.exactly());
    Ok(())
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
pub unsafe fn blocks(
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
            // With MPI_BOTTOM a type is made of addresses; without a displacement it stays null, and is found so if it is not.
            let at = |index| element_at(buffer.cast(), index, extent);
            list.into_iter()
                // SAFETY: as above.
                .map(|(count, index)| unsafe {
                    Block::new(process, names, at(index).cast(), count, *datatype, action)
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
                        Block::new(process, &names, at, count, datatype, action)
                    }
                })
                .collect()
        }
    }
}
