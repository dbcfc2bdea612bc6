//! Datatypes: what the elements of a buffer are (MPI-5.0, chapter 5).
//!
//! A datatype is a [`Layout`]: where in an extent its bytes lie. Contiguous ones are sent from where they are; others are packed into, and
//! unpacked from, a contiguous message by [`Layout`]'s blocks. All predefined datatypes are here; derived ones are
//! further layouts in the process's table.

pub mod buffer;

pub use buffer::{Incoming, Outgoing, contiguous_bytes};

use crate::constants::{self, *};
use crate::error::{MpiError, MpiResult};
use crate::handle::{Kind, Stale};
use crate::process;
use std::sync::LazyLock;

/// Bytes that lie together: offset in the extent, and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where.
    pub offset: usize,
    /// How many.
    pub bytes: usize,
}

/// Where an element's bytes lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of data.
    pub size: usize,
    /// Bytes from one element to the next.
    pub extent: usize,
    /// The data, in the order in which it is sent.
    pub blocks: Vec<Block>,
}

impl Layout {
    fn of(datatype: &constants::Datatype) -> Self {
        let (size, extent) = (datatype.size, datatype.extent);
        // Those with padding are a value and the int that follows it, aligned (§6.9.4).
        let blocks = if size == extent {
            vec![Block { offset: 0, bytes: size }]
        } else {
            let value = size - size_of::<i32>();
            let index = value.next_multiple_of(align_of::<i32>());
            vec![Block { offset: 0, bytes: value }, Block { offset: index, bytes: size_of::<i32>() }]
        };
        Self { size, extent, blocks }
    }

    /// Whether elements of an array have no bytes between them.
    pub fn is_contiguous(&self) -> bool {
        self.size == self.extent && self.blocks.len() == 1
    }

    /// Bytes from the first to the last byte of data.
    pub fn true_extent(&self) -> usize {
        self.blocks.iter().map(|block| block.offset + block.bytes).max().unwrap_or(0)
    }

    /// Packs `count` elements at `from` into a message.
    ///
    /// # Safety
    /// `from` must be readable for `count` elements of this layout.
    pub unsafe fn pack(&self, from: *const u8, count: usize, message: &mut Vec<u8>) {
        message.reserve(count * self.size);
        for element in 0..count {
            for block in &self.blocks {
                // SAFETY: within the element, which the caller promises to be readable.
                let bytes = unsafe {
                    std::slice::from_raw_parts(from.add(element * self.extent + block.offset), block.bytes)
                };
                message.extend_from_slice(bytes);
            }
        }
    }

    /// Unpacks a message, as far as it goes, into elements at `to`.
    ///
    /// # Safety
    /// `to` must be writable for as many elements of this layout as the message has, a part counting as a whole one.
    pub unsafe fn unpack(&self, mut message: &[u8], to: *mut u8) {
        let mut element = 0;
        while !message.is_empty() {
            for block in &self.blocks {
                let (bytes, rest) = message.split_at(block.bytes.min(message.len()));
                // SAFETY: within the element, which the caller promises to be writable.
                unsafe {
                    std::ptr::copy_nonoverlapping(
                        bytes.as_ptr(),
                        to.add(element * self.extent + block.offset),
                        bytes.len(),
                    )
                };
                message = rest;
            }
            element += 1;
        }
    }
}

/// The layouts of the predefined datatypes, in the order of [`DATATYPES`].
static PREDEFINED: LazyLock<Vec<Layout>> = LazyLock::new(|| DATATYPES.iter().map(Layout::of).collect());

/// The layout of a datatype.
///
/// # Errors
/// The handle names none.
pub fn layout(argument: &'static str, handle: MPI_Datatype) -> MpiResult<&'static Layout> {
    let known = predefined(argument, handle)?;
    let index = DATATYPES.iter().position(|datatype| std::ptr::eq(datatype, known));
    index.and_then(|index| PREDEFINED.get(index)).ok_or_else(|| wrong(argument, handle))
}

/// The predefined datatype of a handle.
///
/// # Errors
/// The handle names none.
pub fn predefined(argument: &'static str, handle: MPI_Datatype) -> MpiResult<&'static constants::Datatype> {
    match predefined_datatype(handle) {
        Some(datatype) if handle != MPI_DATATYPE_NULL => Ok(datatype),
        _ => Err(wrong(argument, handle)),
    }
}

#[cold]
pub(crate) fn wrong(argument: &'static str, handle: MPI_Datatype) -> MpiError {
    let why = if handle == MPI_DATATYPE_NULL { Stale::Null } else { Stale::Foreign };
    MpiError::handle(argument, handle.0, Kind::Datatype, why)
}

/// MPI_Type_size.
///
/// # Errors
/// No such datatype.
pub fn size(datatype: MPI_Datatype) -> MpiResult<usize> {
    process::enter()?;
    Ok(predefined("datatype", datatype)?.size)
}

/// MPI_Type_get_extent: lower bound and extent.
///
/// # Errors
/// No such datatype.
pub fn extent(datatype: MPI_Datatype) -> MpiResult<(i64, i64)> {
    process::enter()?;
    Ok((0, predefined("datatype", datatype)?.extent as i64))
}

/// MPI_Type_get_true_extent: true lower bound and true extent.
///
/// # Errors
/// No such datatype.
pub fn true_extent(datatype: MPI_Datatype) -> MpiResult<(i64, i64)> {
    process::enter()?;
    Ok((0, layout("datatype", datatype)?.true_extent() as i64))
}

/// MPI_Type_get_name.
///
/// # Errors
/// No such datatype.
pub fn name(datatype: MPI_Datatype) -> MpiResult<&'static str> {
    process::enter()?;
    if datatype == MPI_DATATYPE_NULL {
        // Allowed since MPI-4.1 (§7.8): the null handle has a name.
        return Ok("MPI_DATATYPE_NULL");
    }
    Ok(predefined("datatype", datatype)?.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_not_sent_and_not_overwritten() {
        #[repr(C)]
        #[derive(Clone, Copy)]
        struct Pair(f64, i32);
        let layout = layout("datatype", MPI_DOUBLE_INT).unwrap();
        assert_eq!((layout.size, layout.extent, layout.true_extent()), (12, 16, 12));
        let from = [Pair(1.5, 7), Pair(-2.0, 9)];
        let mut message = Vec::new();
        // SAFETY: two elements are there.
        unsafe { layout.pack(from.as_ptr().cast(), 2, &mut message) };
        assert_eq!(message.len(), 24);
        let mut to = [[0xaau8; 16]; 2];
        // SAFETY: two elements have room.
        unsafe { layout.unpack(&message, to.as_mut_ptr().cast()) };
        assert_eq!(&to[1][..8], &(-2.0f64).to_ne_bytes());
        assert_eq!(&to[1][8..12], &9i32.to_ne_bytes());
        assert_eq!(&to[1][12..], &[0xaa; 4]);
    }

    #[test]
    fn layouts_agree_with_the_abi_for_every_predefined_datatype() {
        for (datatype, layout) in DATATYPES.iter().zip(PREDEFINED.iter()) {
            assert_eq!(
                layout.blocks.iter().map(|block| block.bytes).sum::<usize>(),
                datatype.size,
                "{}",
                datatype.name
            );
            assert!(layout.true_extent() <= datatype.extent, "{}", datatype.name);
        }
    }
}
