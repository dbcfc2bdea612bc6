//! MPI_Pack and its kin (MPI-5.0, §5.2, §5.3). Packed data is the bytes of the message, without a header.

use super::external32;
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::buffer::{check_address, check_count, is_no_buffer, no_buffer, wrong_count};
use crate::object::datatype::typemap::Type;
use crate::process;
use std::ffi::c_void;
use std::sync::Arc;

/// How elements are packed.
#[derive(Clone, Copy, Debug)]
pub enum Representation<'a> {
    /// As they are in memory, for messages of a communicator: MPI_Pack and its kin.
    Native(MPI_Comm),
    /// In a data representation of this name: MPI_Pack_external and its kin.
    Named(&'a str),
}

/// The type of a call, and the bytes of its elements when they are packed: the arguments are checked.
fn checked(
    form: Representation<'_>,
    argument: &'static str,
    count: i64,
    datatype: MPI_Datatype,
) -> MpiResult<(Arc<Type>, i64)> {
    let process = process::enter()?;
    match form {
        Representation::Native(comm) => process.communicator(comm).map(drop)?,
        Representation::Named("external32") => {}
        Representation::Named(other) => {
            let allowed = "the only one is \"external32\"";
            return Err(MpiError::argument(MPI_ERR_ARG, "datarep", format!("\"{other}\""), allowed));
        }
    }
    let of = process.datatypes.committed("datatype", datatype)?;
    check_count(argument, of, count)?;
    let bytes = match form {
        Representation::Native(_) => of.size() * count,
        Representation::Named(_) => {
            external32::size(of, count).ok_or_else(|| wrong_count(argument, count))?
        }
    };
    Ok((of.clone(), bytes))
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

/// MPI_Pack, MPI_Pack_external: answers the new position.
///
/// # Safety
/// `inbuf` must be readable for `count` elements, `to` writable for its bytes.
///
/// # Errors
/// Wrong arguments, too little room, or a value that external32 cannot hold.
pub unsafe fn pack(
    form: Representation<'_>,
    inbuf: *const c_void,
    count: i64,
    datatype: MPI_Datatype,
    to: Packed,
) -> MpiResult<i64> {
    let (of, bytes) = checked(form, "incount", count, datatype)?;
    let (at, end) = to.next(OUT, bytes)?;
    check_address("inbuf", inbuf, &of, count, "packed")?;
    let layout = of.layout(count);
    // SAFETY: the caller's promise; the room has been checked.
    unsafe {
        match form {
            Representation::Native(_) => _ = layout.cursor().pack(inbuf.cast(), at, layout.bytes()),
            Representation::Named(_) if bytes == 0 => {}
            Representation::Named(_) => {
                let room = std::slice::from_raw_parts_mut(at, bytes as usize);
                external32::pack(&of, count, &layout, inbuf.cast(), room)?;
            }
        }
    }
    Ok(end)
}

/// MPI_Unpack, MPI_Unpack_external: answers the new position.
///
/// # Safety
/// `from` must be readable for its bytes, `outbuf` writable for `count` elements.
///
/// # Errors
/// Wrong arguments, or too few bytes.
pub unsafe fn unpack(
    form: Representation<'_>,
    from: Packed,
    outbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
) -> MpiResult<i64> {
    let (of, bytes) = checked(form, "outcount", count, datatype)?;
    let (at, end) = from.next(IN, bytes)?;
    check_address("outbuf", outbuf, &of, count, "unpacked")?;
    let layout = of.layout(count);
    // SAFETY: the caller's promise; the bytes have been checked.
    unsafe {
        match form {
            Representation::Native(_) => _ = layout.cursor().unpack(at, layout.bytes(), outbuf.cast()),
            Representation::Named(_) if bytes == 0 => {}
            Representation::Named(_) => {
                let bytes = std::slice::from_raw_parts(at, bytes as usize);
                external32::unpack(&of, count, &layout, bytes, outbuf.cast())?;
            }
        }
    }
    Ok(end)
}

/// MPI_Pack_size, MPI_Pack_external_size.
///
/// # Errors
/// Wrong arguments.
pub fn size(form: Representation<'_>, count: i64, datatype: MPI_Datatype) -> MpiResult<i64> {
    Ok(checked(form, "incount", count, datatype)?.1)
}
