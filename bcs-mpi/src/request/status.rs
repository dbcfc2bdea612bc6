//! The calls about statuses (MPI-5.0, §3.2.5, §3.7.3).

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::{Measure, contiguous_bytes};
use crate::object::request::status::bytes_of;
use crate::process;
use std::ffi::c_int;

pub use crate::object::request::status::{is_cancelled, set_cancelled};

/// "No such number of elements" in the byte words: set by MPI_Status_set_elements with MPI_UNDEFINED.
const UNDEFINED_BYTES: u64 = u64::MAX;

/// MPI_Get_count: whole elements received; none when the bytes are no whole number of them.
///
/// # Errors
/// No such datatype.
#[inline]
pub fn count(status: &MPI_Status, datatype: MPI_Datatype) -> MpiResult<Option<u64>> {
    let process = process::enter()?;
    let size = match contiguous_bytes(datatype) {
        Some(bytes) => bytes as u64,
        None => process.datatypes.committed("datatype", datatype)?.size() as u64,
    };
    let bytes = bytes_of(status);
    Ok(match size {
        _ if bytes == UNDEFINED_BYTES => None,
        0 => (bytes == 0).then_some(0),
        size => bytes.is_multiple_of(size).then(|| bytes / size),
    })
}

/// MPI_Get_elements: basic elements received, those of a part of the last one too.
///
/// # Errors
/// No such datatype.
pub fn elements(status: &MPI_Status, datatype: MPI_Datatype) -> MpiResult<Option<u64>> {
    let process = process::enter()?;
    let of = process.datatypes.committed("datatype", datatype)?;
    let bytes = i64::try_from(bytes_of(status)).ok();
    Ok(bytes.and_then(|bytes| of.convert(bytes, Measure::Bytes)).map(|basics| basics as u64))
}

/// MPI_Status_set_elements.
///
/// # Errors
/// No such datatype, or a count that is neither MPI_UNDEFINED nor 0 or more, or more than the datatype can
/// have.
pub fn set_elements(status: &mut MPI_Status, datatype: MPI_Datatype, count: i64) -> MpiResult {
    let process = process::enter()?;
    let of = process.datatypes.committed("datatype", datatype)?;
    let wrong = |allowed| Err(MpiError::argument(MPI_ERR_COUNT, "count", count, allowed));
    let bytes = match count {
        _ if count == MPI_UNDEFINED as i64 => UNDEFINED_BYTES,
        ..0 => return wrong("it must be 0 or more, or MPI_UNDEFINED"),
        _ => match of.convert(count, Measure::Basics) {
            Some(bytes) => bytes as u64,
            None => return wrong("so many elements of the datatype cannot be"),
        },
    };
    status.MPI_internal[0] = bytes as c_int;
    status.MPI_internal[1] = (bytes >> 32) as c_int;
    Ok(())
}
