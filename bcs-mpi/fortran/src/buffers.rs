//! Choice buffers of Fortran 2008: an array that is one piece is an address, as in C; of one that is not,
//! MPI uses a datatype, or a copy where no datatype will do. Arrays that are too short are refused: of them
//! the bounds are known.

use crate::c::*;
use crate::descriptor::{Array, Descriptor, Given, given};
use crate::edge::Wrong;
use crate::lasting::{Kept, Staged};
use crate::section::{Layout, Made, first_bytes, layout, spaced};
use crate::sentinel::{choice, is_sentinel};
use std::ffi::{c_int, c_void};

/// What MPI does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It reads it.
    Read,
    /// It stores there.
    Write,
}

/// A buffer for C.
pub struct Data {
    /// Where it is.
    pub address: *mut c_void,
    /// How many elements C is told of.
    pub count: i64,
    /// Of which datatype.
    pub datatype: MPI_Datatype,
    extra: Option<Extra>,
}

/// What a buffer that is not one piece has.
enum Extra {
    Datatype(#[allow(dead_code, reason = "it is there to be freed")] Made),
    Copy(Box<Staged>),
}

impl Data {
    #[inline(always)]
    fn at(address: *mut c_void, count: i64, datatype: MPI_Datatype) -> Self {
        Self { address, count, datatype, extra: None }
    }

    fn copy(array: Array, access: Access, bytes: Option<i64>, datatype: MPI_Datatype) -> Self {
        let stored = if access == Access::Write { bytes.unwrap_or_else(|| array.bytes()) } else { 0 };
        // SAFETY: the array is an argument, and its program leaves it alone until the operation is complete.
        let mut staged = Box::new(unsafe { Staged::new(array, stored) });
        Self { address: staged.address().cast(), count: 0, datatype, extra: Some(Extra::Copy(staged)) }
    }

    /// The end of a call that was a success or not.
    #[inline(always)]
    pub fn end(self, code: c_int) {
        if self.extra.is_some() {
            Kept::from(self).end(code);
        }
    }
}

impl From<Data> for Kept {
    #[inline(always)]
    fn from(data: Data) -> Self {
        match data.extra {
            Some(Extra::Copy(staged)) => Self { staged: Some(staged), handles: None },
            // The operation goes on to use the datatype, and it is not freed before (§5.1.9).
            Some(Extra::Datatype(_)) | None => Self::default(),
        }
    }
}

/// Bytes of a predefined datatype; none of another.
#[inline(always)]
fn predefined_bytes(datatype: MPI_Datatype) -> Option<i64> {
    /// By handle; 0 for none.
    const BYTES: [u8; 0x400] = {
        let (mut bytes, mut at) = ([0; 0x400], 0);
        while at < SIZES.len() {
            let (handle, size) = SIZES[at];
            bytes[handle] = size as u8;
            at += 1;
        }
        bytes
    };
    BYTES.get(datatype.0).filter(|bytes| **bytes > 0).map(|bytes| i64::from(*bytes))
}

/// Whether elements of a predefined datatype are in a buffer that is one element, or an array of one
/// dimension without gaps: its address. What this does not know, [`elements`] does.
///
/// # Safety
/// `descriptor` must be one.
#[inline(always)]
pub unsafe fn plain(descriptor: *const Descriptor, count: i64, datatype: c_int) -> Option<*mut c_void> {
    // SAFETY: the caller's promise.
    let (address, bytes) = unsafe { crate::descriptor::row(descriptor) }?;
    let size = predefined_bytes(MPI_Datatype(datatype as u32 as usize))?;
    // Whether there may be so many is told elsewhere; the product fits, as a size has 8 bits.
    let fits = (0..1 << 40).contains(&count) && count * size <= bytes;
    (fits && !is_sentinel(address)).then_some(address)
}

/// Checks that an array of so many bytes has room for elements. Only those of predefined datatypes are
/// counted: others may begin in an array and go on behind it, as structures do.
#[inline(always)]
fn check(name: &str, bytes: i64, count: i64, datatype: MPI_Datatype) -> Result<(), Wrong> {
    match predefined_bytes(datatype) {
        Some(size) if count > 0 && count.saturating_mul(size) > bytes => {
            Err(too_short(name, bytes, count, size))
        }
        _ => Ok(()),
    }
}

#[cold]
fn too_short(name: &str, bytes: i64, count: i64, size: i64) -> Wrong {
    let needed = count.saturating_mul(size);
    Wrong {
        class: MPI_ERR_BUFFER,
        what: format!(
            "{name} is an array of {bytes} bytes, and {count} elements of {size} bytes need {needed}: give a longer \
             array, or a smaller count"
        ),
    }
}

#[cold]
fn in_parts(name: &str, why: &str) -> Wrong {
    let what = format!("{name} is an array section that is not contiguous, {why}: give a contiguous array");
    Wrong { class: MPI_ERR_BUFFER, what }
}

/// What a constructor of datatypes has said.
#[cold]
fn refused(name: &str, code: c_int) -> Wrong {
    Wrong { class: code, what: format!("{name} is an array section for which no datatype could be made") }
}

/// A buffer of elements.
///
/// # Safety
/// `descriptor` must be one, and its array the program's until the operation is complete.
///
/// # Errors
/// The array is too short; or it is not one piece, and the call has no end at which a copy could be put back.
#[inline(always)]
pub unsafe fn elements(
    descriptor: *const Descriptor,
    name: &str,
    access: Access,
    stages: bool,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Data, Wrong> {
    // SAFETY: the caller's promise.
    match unsafe { given(descriptor) } {
        Given::From(address) => Ok(Data::at(choice(address), count, datatype)),
        Given::Piece(address, bytes) => {
            check(name, bytes, count, datatype)?;
            Ok(Data::at(choice(address), count, datatype))
        }
        Given::Parts(array) => elements_of_parts(array, name, access, stages, count, datatype),
    }
}

#[cold]
fn elements_of_parts(
    array: Array,
    name: &str,
    access: Access,
    stages: bool,
    count: i64,
    datatype: MPI_Datatype,
) -> Result<Data, Wrong> {
    let base = array.base.cast();
    let Some(Layout { size, is_piece }) = layout(datatype).filter(|_| count > 0) else {
        return Ok(Data::at(base, count, datatype));
    };
    let bytes = count.saturating_mul(size);
    if is_piece && bytes > array.bytes() {
        return Err(too_short(name, array.bytes(), count, size));
    }
    if is_piece && array.element_bytes % size == 0 {
        let made = first_bytes(&array, bytes, datatype, size).map_err(|code| refused(name, code))?;
        return Ok(Data { address: base, count: 1, datatype: made.0, extra: Some(Extra::Datatype(made)) });
    }
    if !stages {
        return Err(in_parts(name, "whose elements are not those of the datatype"));
    }
    let copy = Data::copy(array, access, None, datatype);
    Ok(Data { count, ..copy })
}

/// A buffer of blocks: `needed` says how many elements it has, if that is known.
///
/// # Safety
/// As [`elements`].
///
/// # Errors
/// As [`elements`].
#[inline(always)]
pub unsafe fn blocks(
    descriptor: *const Descriptor,
    name: &str,
    access: Access,
    stages: bool,
    datatype: MPI_Datatype,
    needed: impl FnOnce() -> Option<i64>,
) -> Result<Data, Wrong> {
    // SAFETY: the caller's promise.
    match unsafe { given(descriptor) } {
        Given::From(address) => Ok(Data::at(choice(address), 0, datatype)),
        Given::Piece(address, bytes) => {
            if predefined_bytes(datatype).is_some() && !is_sentinel(address) {
                check(name, bytes, needed().unwrap_or(0), datatype)?;
            }
            Ok(Data::at(choice(address), 0, datatype))
        }
        Given::Parts(array) => {
            check(name, array.bytes(), needed().unwrap_or(0), datatype)?;
            blocks_of_parts(array, name, access, stages, datatype)
        }
    }
}

#[cold]
fn blocks_of_parts(
    array: Array,
    name: &str,
    access: Access,
    stages: bool,
    datatype: MPI_Datatype,
) -> Result<Data, Wrong> {
    let is_element = layout(datatype).is_some_and(|it| it.is_piece && it.size == array.element_bytes);
    if let Some(stride) = array.even_stride().filter(|stride| is_element && *stride > 0) {
        let made = spaced(datatype, stride).map_err(|code| refused(name, code))?;
        let address = array.base.cast();
        return Ok(Data { address, count: 0, datatype: made.0, extra: Some(Extra::Datatype(made)) });
    }
    if !stages {
        return Err(in_parts(name, "and its elements are not evenly spaced"));
    }
    Ok(Data::copy(array, access, None, datatype))
}

/// The operands of a reduction, of which predefined operations take no datatypes with gaps: an array that is
/// not one piece is copied.
///
/// # Safety
/// As [`elements`].
///
/// # Errors
/// The array is too short.
#[inline(always)]
pub unsafe fn operands(
    descriptor: *const Descriptor,
    name: &str,
    access: Access,
    datatype: MPI_Datatype,
    count: i64,
) -> Result<Data, Wrong> {
    // SAFETY: the caller's promise.
    match unsafe { given(descriptor) } {
        Given::From(address) => Ok(Data::at(choice(address), 0, datatype)),
        Given::Piece(address, bytes) => {
            check(name, bytes, count, datatype)?;
            Ok(Data::at(choice(address), 0, datatype))
        }
        Given::Parts(array) => {
            check(name, array.bytes(), count, datatype)?;
            Ok(Data::copy(array, access, predefined_bytes(datatype).map(|size| size * count), datatype))
        }
    }
}

/// Memory of `size` bytes, if that is known.
///
/// # Safety
/// As [`elements`].
///
/// # Errors
/// The array is too short, or not one piece.
#[inline(always)]
pub unsafe fn memory(descriptor: *const Descriptor, name: &str, size: Option<i64>) -> Result<Data, Wrong> {
    // SAFETY: the caller's promise.
    match unsafe { given(descriptor) } {
        Given::From(address) => Ok(Data::at(choice(address), 0, MPI_Datatype(0))),
        Given::Piece(address, bytes) => match size {
            Some(size) if size > bytes && !is_sentinel(address) => Err(too_short(name, bytes, size, 1)),
            _ => Ok(Data::at(choice(address), 0, MPI_Datatype(0))),
        },
        Given::Parts(_) => Err(in_parts(name, "and this call takes memory that is")),
    }
}
