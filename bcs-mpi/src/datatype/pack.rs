//! MPI_Pack and its kin (MPI-5.0, §5.2, §5.3). Packed data is the bytes of the message, without a header.

use super::buffer::{check_address, check_count, is_no_buffer, no_buffer, wrong_count};
use super::external32;
use super::typemap::Type;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::process::{self, Process};
use std::ffi::c_void;
use std::sync::Arc;

/// The type of a call, which is checked with its count after `first`.
fn checked(
    argument: &'static str,
    count: i64,
    datatype: MPI_Datatype,
    first: impl FnOnce(&Process) -> MpiResult,
) -> MpiResult<Arc<Type>> {
    let process = process::enter()?;
    first(&process)?;
    let of = process.datatypes.committed("datatype", datatype)?;
    check_count(argument, of, count)?;
    Ok(of.clone())
}

/// A call's place in packed data: a buffer, its bytes, and how far it is used.
#[derive(Clone, Copy, Debug)]
pub struct Packed {
    /// Its address; unpacking only reads there.
    pub buffer: *mut c_void,
    /// Its bytes.
    pub size: i64,
    /// The first byte that is not used yet.
    pub position: i64,
}

impl Packed {
    /// The next `bytes` bytes, and the position where they end.
    ///
    /// # Errors
    /// Not in the buffer.
    fn next(&self, names: [&'static str; 2], bytes: i64) -> MpiResult<(*mut u8, i64)> {
        if self.size < 0 {
            let allowed = "it must not be negative";
            return Err(MpiError::argument(MPI_ERR_ARG, names[1], self.size, allowed));
        }
        if self.position < 0 || self.position > self.size {
            let allowed = format!("it must be 0 to {}, the bytes of {}", self.size, names[0]);
            return Err(MpiError::argument(MPI_ERR_ARG, "position", self.position, allowed));
        }
        if self.size - self.position < bytes {
            let allowed = format!("{bytes} bytes are needed from position {}", self.position);
            return Err(MpiError::argument(MPI_ERR_TRUNCATE, names[1], self.size, allowed));
        }
        if is_no_buffer(self.buffer) && bytes > 0 {
            let action = if names == OUT { "packed" } else { "unpacked" };
            return Err(no_buffer(names[0], self.buffer, bytes as usize, action));
        }
        let at = self.buffer.cast::<u8>().wrapping_add(self.position as usize);
        Ok((at, self.position + bytes))
    }
}

/// The names of packed data's buffer and of its size, when packing and when unpacking.
const OUT: [&str; 2] = ["outbuf", "outsize"];
const IN: [&str; 2] = ["inbuf", "insize"];

/// Checks the name of a data representation.
fn check_datarep(datarep: &str) -> MpiResult {
    if datarep == "external32" {
        return Ok(());
    }
    let allowed = "the only one is \"external32\"";
    Err(MpiError::argument(MPI_ERR_ARG, "datarep", format!("\"{datarep}\""), allowed))
}

/// MPI_Pack: answers the new position.
///
/// # Safety
/// `inbuf` must be readable for `count` elements, `to` writable for its bytes.
///
/// # Errors
/// Wrong arguments, or too little room.
pub unsafe fn pack(
    inbuf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    to: Packed,
    comm: MPI_Comm,
) -> MpiResult<i64> {
    let of = checked("incount", count, datatype, |process| process.communicator(comm).map(drop))?;
    let (at, end) = to.next(OUT, of.size() * count)?;
    check_address("inbuf", inbuf, &of, count, "packed")?;
    let layout = of.layout(count);
    // SAFETY: the caller's promise; the room has been checked.
    unsafe { layout.cursor().pack_raw(inbuf.cast(), at, layout.bytes()) };
    Ok(end)
}

/// MPI_Unpack: answers the new position.
///
/// # Safety
/// `from` must be readable for its bytes, `outbuf` writable for `count` elements.
///
/// # Errors
/// Wrong arguments, or too few bytes.
pub unsafe fn unpack(
    from: Packed,
    outbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> MpiResult<i64> {
    let of = checked("outcount", count, datatype, |process| process.communicator(comm).map(drop))?;
    let (at, end) = from.next(IN, of.size() * count)?;
    check_address("outbuf", outbuf, &of, count, "unpacked")?;
    let layout = of.layout(count);
    // SAFETY: the caller's promise; the bytes have been checked.
    unsafe { layout.cursor().unpack_raw(at, layout.bytes(), outbuf.cast()) };
    Ok(end)
}

/// MPI_Pack_size.
///
/// # Errors
/// Wrong arguments.
pub fn pack_size(count: i64, datatype: MPI_Datatype, comm: MPI_Comm) -> MpiResult<i64> {
    let of = checked("incount", count, datatype, |process| process.communicator(comm).map(drop))?;
    Ok(of.size() * count)
}

/// The type of a call with external32, and the bytes of `count` elements in it.
fn external(
    datarep: &str,
    argument: &'static str,
    count: i64,
    datatype: MPI_Datatype,
) -> MpiResult<(Arc<Type>, i64)> {
    let of = checked(argument, count, datatype, |_| check_datarep(datarep))?;
    let bytes = external32::size(&of, count).ok_or_else(|| wrong_count(argument, count))?;
    Ok((of, bytes))
}

/// MPI_Pack_external: answers the new position.
///
/// # Safety
/// As [`pack`].
///
/// # Errors
/// As [`pack`]; another representation than external32, or a value that it cannot hold.
pub unsafe fn pack_external(
    datarep: &str,
    inbuf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    to: Packed,
) -> MpiResult<i64> {
    let (of, bytes) = external(datarep, "incount", count, datatype)?;
    let (at, end) = to.next(OUT, bytes)?;
    check_address("inbuf", inbuf, &of, count, "packed")?;
    if bytes > 0 {
        // SAFETY: the caller's promise; the room has been checked.
        unsafe {
            let room = std::slice::from_raw_parts_mut(at, bytes as usize);
            external32::pack(&of, count, &of.layout(count), inbuf.cast(), room)?;
        }
    }
    Ok(end)
}

/// MPI_Unpack_external: answers the new position.
///
/// # Safety
/// As [`unpack`].
///
/// # Errors
/// As [`unpack`]; another representation than external32.
pub unsafe fn unpack_external(
    datarep: &str,
    from: Packed,
    outbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> MpiResult<i64> {
    let (of, bytes) = external(datarep, "outcount", count, datatype)?;
    let (at, end) = from.next(IN, bytes)?;
    check_address("outbuf", outbuf, &of, count, "unpacked")?;
    if bytes > 0 {
        // SAFETY: the caller's promise; the bytes have been checked.
        unsafe {
            let bytes = std::slice::from_raw_parts(at, bytes as usize);
            external32::unpack(&of, count, &of.layout(count), bytes, outbuf.cast());
        }
    }
    Ok(end)
}

/// MPI_Pack_external_size.
///
/// # Errors
/// Wrong arguments; another representation than external32.
pub fn pack_external_size(datarep: &str, count: i64, datatype: MPI_Datatype) -> MpiResult<i64> {
    Ok(external(datarep, "incount", count, datatype)?.1)
}
