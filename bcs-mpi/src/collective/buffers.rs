//! Buffers of collectives: an address, a count and a datatype for each block, seen as bytes (MPI-5.0, §6.2).
//!
//! A block whose datatype is contiguous is used where it is. Of another, what is sent is packed first and what is received is
//! unpacked at the end; offsets within a contribution are those of the packed bytes.

use super::exchange::Piece;
use crate::constants::*;
use crate::datatype::Datatypes;
use crate::datatype::buffer::{Incoming, Names, Outgoing, check_not_in_place, contiguous_bytes};
use crate::error::{MpiError, MpiResult, Problem};
use std::ffi::{c_int, c_void};

/// Counts and displacements of the v forms: of `int`, or large (MPI_Count and MPI_Aint).
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// An array of `int`.
    Small(*const c_int),
    /// An array of MPI_Count or MPI_Aint.
    Large(*const i64),
}

impl Numbers {
    /// The number at an index.
    ///
    /// # Safety
    /// The array must have it.
    pub(super) unsafe fn at(self, index: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Numbers::Small(array) => *array.add(index) as i64,
                Numbers::Large(array) => *array.add(index),
            }
        }
    }

    pub(super) fn is_null(self) -> bool {
        match self {
            Numbers::Small(array) => array.is_null(),
            Numbers::Large(array) => array.is_null(),
        }
    }
}

/// Where a call's blocks lie.
#[derive(Clone, Copy, Debug)]
pub enum Blocks {
    /// `count` elements each, one block after the other.
    Equal(i64),
    /// As counts and displacements say; displacements in extents of the datatype.
    Vector(Numbers, Numbers),
}

#[cold]
pub(super) fn null_array(argument: &'static str) -> MpiError {
    MpiError::new(Problem::NullResult { argument })
}

impl Blocks {
    /// Count and displacement of each of `members` blocks.
    ///
    /// # Safety
    /// Arrays, unless null, must have `members` numbers.
    pub(super) unsafe fn read(&self, members: usize, names: &Names) -> MpiResult<Vec<(i64, i64)>> {
        match *self {
            Blocks::Equal(count) => {
                Ok((0..members as i64).map(|i| (count, i.saturating_mul(count))).collect())
            }
            Blocks::Vector(counts, _) if counts.is_null() => Err(null_array(names[1])),
            Blocks::Vector(_, displacements) if displacements.is_null() => {
                Err(null_array(if names[1].starts_with("send") { "sdispls" } else { "rdispls" }))
            }
            Blocks::Vector(counts, displacements) => {
                // SAFETY: the caller's promise.
                Ok((0..members).map(|i| unsafe { (counts.at(i), displacements.at(i)) }).collect())
            }
        }
    }
}

/// Bytes from one element to the next, and whether elements have no bytes between them and begin at their address.
///
/// # Errors
/// The handle names no datatype that is committed.
fn extent(datatypes: &Datatypes, argument: &'static str, datatype: MPI_Datatype) -> MpiResult<(isize, bool)> {
    if let Some(bytes) = contiguous_bytes(datatype) {
        return Ok((bytes as isize, true));
    }
    let of = datatypes.committed(argument, datatype)?;
    let together = of.layout(1).as_block() == Some(0) && of.size() == of.extent();
    Ok((of.extent() as isize, together))
}

/// Bytes of so many elements: 0 where the call that takes them will find that they cannot be.
pub fn bytes_of(datatypes: &Datatypes, count: i64, datatype: MPI_Datatype) -> usize {
    let element = match contiguous_bytes(datatype) {
        Some(bytes) => bytes,
        None => datatypes.committed("datatype", datatype).map_or(0, |of| of.size() as usize),
    };
    usize::try_from(count).map_or(0, |count| count.saturating_mul(element))
}

/// Bytes from one element to the next, for a datatype that has been checked; 0 for any other.
pub fn stride(datatypes: &Datatypes, datatype: MPI_Datatype) -> isize {
    extent(datatypes, "datatype", datatype).map_or(0, |(extent, _)| extent)
}

/// The address of an element; one that is no address is none of the program's, and is not used.
pub fn element_at(buffer: *const u8, index: i64, extent: isize) -> *const u8 {
    buffer.wrapping_offset((index as isize).wrapping_mul(extent))
}

/// All blocks that a member sends, as one contribution.
pub struct SendBlocks {
    /// Address of the contribution.
    pub data: *const u8,
    /// Its bytes.
    pub bytes: usize,
    /// Offset and bytes of each block in it.
    pub blocks: Vec<(usize, usize)>,
    _packed: Vec<u8>,
}

impl SendBlocks {
    /// The blocks that a call's arguments describe.
    ///
    /// # Safety
    /// `buffer` must be readable for every block, unless it is null; arrays as [`Blocks`] says.
    ///
    /// # Errors
    /// A null buffer for something, a count or a datatype that cannot be.
    pub unsafe fn new(
        datatypes: &Datatypes,
        names: &Names,
        buffer: *const c_void,
        blocks: &Blocks,
        members: usize,
        datatype: MPI_Datatype,
    ) -> MpiResult<Self> {
        check_not_in_place(names[0], buffer)?;
        let (extent, in_place) = extent(datatypes, names[2], datatype)?;
        // SAFETY: the caller's promise.
        let list = unsafe { blocks.read(members, names)? };
        let mut end = 0;
        let mut packed = Vec::new();
        let mut made = Vec::with_capacity(members);
        let first = list.iter().filter(|(count, _)| *count > 0).map(|(_, at)| *at).min().unwrap_or(0);
        for &(count, at) in &list {
            let start = element_at(buffer.cast(), at, extent).cast::<c_void>();
            let start = if buffer.is_null() && in_place { std::ptr::null() } else { start };
            // SAFETY: the caller's promise.
            let outgoing = unsafe { Outgoing::as_it_lies(datatypes, names, start, count, datatype)? };
            let offset = if in_place {
                ((at - first) as usize).wrapping_mul(extent as usize)
            } else {
                // SAFETY: the message is readable.
                unsafe { outgoing.append_to(&mut packed) };
                packed.len() - outgoing.bytes
            };
            if outgoing.bytes > 0 {
                end = end.max(offset + outgoing.bytes);
            }
            made.push(if outgoing.bytes > 0 { (offset, outgoing.bytes) } else { (0, 0) });
        }
        let data = if in_place { element_at(buffer.cast(), first, extent) } else { packed.as_ptr() };
        Ok(Self { data, bytes: end, blocks: made, _packed: packed })
    }
}

/// Bytes of a block's offset and length in [`SendBlocks::table`].
pub const ENTRY_BYTES: usize = size_of::<[u64; 2]>();

impl SendBlocks {
    /// Offset and length of each block, for the others to read.
    pub fn table(&self) -> Vec<u8> {
        let entry = |&(offset, bytes): &(usize, usize)| [offset as u64, bytes as u64].map(u64::to_ne_bytes);
        self.blocks.iter().flat_map(entry).flatten().collect()
    }
}

/// All blocks that a member receives.
pub struct ReceiveBlocks {
    /// Where each goes.
    pub blocks: Vec<Incoming>,
}

impl ReceiveBlocks {
    /// The blocks that a call's arguments describe.
    ///
    /// # Safety
    /// `buffer` must be writable for every block, unless it is null; arrays as [`Blocks`] says.
    ///
    /// # Errors
    /// A null buffer for something, a count or a datatype that cannot be.
    pub unsafe fn new(
        datatypes: &Datatypes,
        names: &Names,
        buffer: *mut c_void,
        blocks: &Blocks,
        members: usize,
        datatype: MPI_Datatype,
    ) -> MpiResult<Self> {
        check_not_in_place(names[0], buffer)?;
        let (extent, in_place) = extent(datatypes, names[2], datatype)?;
        // SAFETY: the caller's promise.
        let list = unsafe { blocks.read(members, names)? };
        let mut made = Vec::with_capacity(members);
        for (count, at) in list {
            let start = element_at(buffer.cast_const().cast(), at, extent).cast_mut().cast::<c_void>();
            let start = if buffer.is_null() && in_place { std::ptr::null_mut() } else { start };
            // SAFETY: the caller's promise.
            made.push(unsafe { Incoming::new(datatypes, names, start, count, datatype)? });
        }
        Ok(Self { blocks: made })
    }

    /// All that these members give, each to its place.
    pub fn pieces(&self, members: impl Iterator<Item = u32>) -> Vec<Piece> {
        let piece = |member: u32| {
            let block = &self.blocks[member as usize];
            Piece::all_of(member, block.bytes, block.data)
        };
        members.map(piece).collect()
    }

    /// Puts what was received packed where the program wants it.
    ///
    /// # Safety
    /// The buffer must still be writable.
    pub unsafe fn unpack(&self) {
        for block in &self.blocks {
            if let Some(staged) = &block.staged {
                // SAFETY: the caller's promise.
                unsafe { staged.unpack(block.bytes) };
            }
        }
    }
}

/// Puts a block of this process's own where it goes: bytes that lie together, packed or not. The block needs no unpacking after that.
///
/// # Safety
/// Both must be valid for their bytes.
pub unsafe fn place_own(from: *const u8, sent: usize, to: &mut Incoming) {
    if let Some(staged) = to.staged.take() {
        // SAFETY: the caller's promise.
        unsafe { staged.fill_from(from, sent) };
    } else if sent > 0 && from != to.data {
        // SAFETY: the caller's promise; a program that passes overlapping buffers gets what it gets, without harm to others.
        unsafe { std::ptr::copy(from, to.data, sent.min(to.bytes)) };
    }
}

/// A block that is not as long as its place.
#[cold]
pub fn misfit(sent: usize, room: usize, from: u32) -> MpiError {
    MpiError::new(Problem::BlockMisfit { sent: sent as u64, room: room as u64, from })
}
