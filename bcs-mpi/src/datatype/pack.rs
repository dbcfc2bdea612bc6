//! MPI_Pack and its kin (MPI-5.0, §5.2, §5.3). Packed data is the bytes of the message, without a header.

use super::buffer::{is_no_buffer, no_buffer};
use super::external32;
use super::typemap::Type;
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::{self, Process};
use std::ffi::c_void;
use std::sync::Arc;

/// The type and the count of a call, checked.
fn checked(
    process: &Process,
    names: [&'static str; 2],
    count: i64,
    datatype: MPI_Datatype,
) -> MpiResult<Arc<Type>> {
    let of = process.datatypes.committed(names[1], datatype)?;
    super::buffer::check_count(names[0], of, count)?;
    Ok(of.clone())
}

/// A call's place in packed data: a buffer, its bytes, and how far it is used.
#[derive(Clone, Copy, Debug)]
pub struct Packed<P> {
    /// Its address.
    pub buffer: P,
    /// Its bytes.
    pub size: i64,
    /// The first byte that is not used yet.
    pub position: i64,
}

impl<P> Packed<P> {
    /// Where the next `bytes` bytes end.
    ///
    /// # Errors
    /// Not in the buffer.
    fn end(&self, names: [&'static str; 2], address: *const c_void, bytes: i64) -> MpiResult<i64> {
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
        if is_no_buffer(address) && bytes > 0 {
            let action = if names[0] == "outbuf" { "packed" } else { "unpacked" };
            return Err(no_buffer(names[0], address, bytes as usize, action));
        }
        Ok(self.position + bytes)
    }
}

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
    to: Packed<*mut c_void>,
    comm: MPI_Comm,
) -> MpiResult<i64> {
    let process = process::enter()?;
    process.communicator(comm)?;
    let of = checked(&process, ["incount", "datatype"], count, datatype)?;
    drop(process);
    let end = to.end(["outbuf", "outsize"], to.buffer, of.size() * count)?;
    super::buffer::check_address("inbuf", inbuf, &of, count, "packed")?;
    let layout = of.layout(count);
    // SAFETY: the caller's promise; the room has been checked.
    unsafe {
        let at = to.buffer.cast::<u8>().wrapping_add(to.position as usize);
        layout.cursor().pack_raw(inbuf.cast(), at, layout.bytes());
    }
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
    from: Packed<*const c_void>,
    outbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> MpiResult<i64> {
    let process = process::enter()?;
    process.communicator(comm)?;
    let of = checked(&process, ["outcount", "datatype"], count, datatype)?;
    drop(process);
    let end = from.end(["inbuf", "insize"], from.buffer, of.size() * count)?;
    super::buffer::check_address("outbuf", outbuf, &of, count, "unpacked")?;
    let layout = of.layout(count);
    // SAFETY: the caller's promise; the bytes have been checked.
    unsafe {
        let at = from.buffer.cast::<u8>().wrapping_add(from.position as usize);
        layout.cursor().unpack_raw(at, layout.bytes(), outbuf.cast());
    }
    Ok(end)
}

/// MPI_Pack_size.
///
/// # Errors
/// Wrong arguments.
pub fn pack_size(count: i64, datatype: MPI_Datatype, comm: MPI_Comm) -> MpiResult<i64> {
    let process = process::enter()?;
    process.communicator(comm)?;
    let of = checked(&process, ["incount", "datatype"], count, datatype)?;
    Ok(of.size() * count)
}

#[cold]
fn too_many(argument: &'static str, value: i64) -> MpiError {
    MpiError::new(Problem::Count { argument, value, allowed: "so many elements are more than memory can be" })
}

/// The type of a call with external32, and the bytes of `count` elements in it.
fn external(
    datarep: &str,
    names: [&'static str; 2],
    count: i64,
    datatype: MPI_Datatype,
) -> MpiResult<(Arc<Type>, i64)> {
    let process = process::enter()?;
    check_datarep(datarep)?;
    let of = checked(&process, names, count, datatype)?;
    let bytes = external32::size(&of, count).ok_or_else(|| too_many(names[0], count))?;
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
    to: Packed<*mut c_void>,
) -> MpiResult<i64> {
    let (of, bytes) = external(datarep, ["incount", "datatype"], count, datatype)?;
    let end = to.end(["outbuf", "outsize"], to.buffer, bytes)?;
    super::buffer::check_address("inbuf", inbuf, &of, count, "packed")?;
    if bytes > 0 {
        let at = to.buffer.cast::<u8>().wrapping_add(to.position as usize);
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
    from: Packed<*const c_void>,
    outbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> MpiResult<i64> {
    let (of, bytes) = external(datarep, ["outcount", "datatype"], count, datatype)?;
    let end = from.end(["inbuf", "insize"], from.buffer, bytes)?;
    super::buffer::check_address("outbuf", outbuf, &of, count, "unpacked")?;
    if bytes > 0 {
        let at = from.buffer.cast::<u8>().wrapping_add(from.position as usize);
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
    Ok(external(datarep, ["incount", "datatype"], count, datatype)?.1)
}
