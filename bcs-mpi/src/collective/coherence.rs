//! What the arguments of one member have to say of each other (MPI-5.0, §6.2, §2.3), whatever other
//! members say.
//!
//! What a call sends, and where it receives, are two buffers. They are taken for one if their lowest
//! bytes are the same byte, which two that have no byte in common never do. So no call that is right is
//! refused, and the mistake that programs make is found: one address for both, where MPI_IN_PLACE is
//! meant.
//!
//! Where all blocks are alike, a member's own is as long as each of those of all, and of the same types.
//! Other members see one of the two alone, so nobody else can tell.
//!
//! Between groups, in place, where nothing is sent or received, or where the argument does not matter to
//! this member, nobody asks.

use super::places::Places;
use crate::collective::{Agreed, Buffer, Everyone};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::datatype::Datatypes;
use crate::object::datatype::buffer::contiguous_bytes;
use std::ffi::c_void;

/// The lowest byte of a buffer; none of an empty one, and of one that is no right argument.
type Lowest = Option<usize>;

/// Of the elements that a call's arguments describe.
fn lowest(datatypes: &Datatypes, buffer: *const c_void, count: i64, datatype: MPI_Datatype) -> Lowest {
    if contiguous_bytes(datatype).is_some() {
        return (count > 0).then_some(buffer.addr());
    }
    let (first, _) = datatypes.committed("datatype", datatype).ok()?.span(count).ok()??;
    Some(buffer.addr().wrapping_add_signed(first as isize))
}

/// Of the blocks of `members` members, as many as the call has.
fn lowest_of_blocks<P: Buffer>(datatypes: &Datatypes, all: &Everyone<P>, members: usize) -> Lowest {
    let buffer = all.buffer.address();
    match all.places {
        // Elements follow each other, downwards where the extent is negative.
        Places::Equal(count, datatype) => {
            lowest(datatypes, buffer, count.saturating_mul(members as i64), datatype)
        }
        places => {
            // SAFETY: the promise of `Everyone::new`.
            let list = unsafe { places.read(datatypes, &P::NAMES, members) }.ok()?;
            let of =
                |(count, at, datatype)| lowest(datatypes, buffer.wrapping_byte_offset(at), count, datatype);
            list.into_iter().filter_map(of).min()
        }
    }
}

#[cold]
fn aliased([argument, other]: [&'static str; 2]) -> MpiError {
    MpiError::new(Problem::Aliased { argument, other })
}

/// Elements of a block, and their type.
type CountAndType = (i64, MPI_Datatype);

/// Checks that what is sent is as long as the room for it, and of the same types. What is longer is found
/// where it is cut off.
fn check_alike(datatypes: &Datatypes, sent: Option<CountAndType>, room: Option<CountAndType>) -> MpiResult {
    let (Some(sent), Some(room)) = (sent, room) else { return Ok(()) };
    if sent == room {
        return Ok(());
    }
    // What is no right argument is told as that.
    let bytes = |(count, datatype): CountAndType| {
        let size = datatypes.committed("datatype", datatype).ok()?.size();
        size.checked_mul(count).filter(|bytes| *bytes >= 0)
    };
    let tag = |(count, datatype): CountAndType| datatypes.tag_of(count, datatype);
    let (tags, bytes) = ((tag(sent), tag(room)), (bytes(sent), bytes(room)));
    let (Some(sent), Some(room)) = bytes else { return Ok(()) };
    let types_fit = sent == 0 || tags.0 == 0 || tags.1 == 0 || tags.0 == tags.1;
    match sent > room || sent == room && types_fit {
        true => Ok(()),
        false => Err(MpiError::new(Problem::BlocksDiffer { sent, room })),
    }
}

/// Checks, in the v forms, that a member's own block is of the same elements as all blocks together. Whether
/// the lengths are the same is found where bytes move.
///
/// # Errors
/// It is not.
pub(super) fn check_kinds(own: Agreed, of_all: (u8, u8)) -> MpiResult {
    let bytes = own.bytes as i64;
    match own.kind_of_elements() {
        (0, 0) => Ok(()),
        kind if kind == of_all => Ok(()),
        _ => Err(MpiError::new(Problem::BlocksDiffer { sent: bytes, room: bytes })),
    }
}

/// Checks that so many blocks which a call sends are not where it receives those others, and that they are
/// alike; whichever way the blocks go that come first.
///
/// # Errors
/// They are, or differ.
pub(super) fn check<P: Buffer, Q: Buffer>(
    datatypes: &Datatypes,
    (one, blocks_of_one): (&Everyone<P>, usize),
    (other, blocks_of_other): (&Everyone<Q>, usize),
) -> MpiResult {
    match P::SENDS {
        true => check_alike(datatypes, one.each(), other.each())?,
        false => check_alike(datatypes, other.each(), one.each())?,
    }
    let first = lowest_of_blocks(datatypes, one, blocks_of_one);
    let second = lowest_of_blocks(datatypes, other, blocks_of_other);
    match first.is_some() && first == second {
        true => Err(aliased([P::NAMES[0], Q::NAMES[0]])),
        false => Ok(()),
    }
}

/// Checks that two vectors of one type, of which `bytes` bytes matter, are not one; MPI_IN_PLACE is none.
///
/// # Errors
/// They are one.
#[inline]
pub(super) fn check_vectors(one: *const c_void, other: *const c_void, bytes: usize) -> MpiResult {
    match one == other && bytes > 0 {
        true => Err(aliased(["sendbuf", "recvbuf"])),
        false => Ok(()),
    }
}
