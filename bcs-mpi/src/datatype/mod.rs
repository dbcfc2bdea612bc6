//! The calls about datatypes (MPI-5.0, chapter 5): made ([`construct`]), asked ([`envelope`]), committed,
//! freed; and packing with them ([`pack`]). What a datatype is: [`crate::object::datatype`].

mod attributes;
pub mod construct;
pub mod envelope;
mod extended;
pub mod external32;
pub mod pack;
#[cfg(test)]
mod tests;

use crate::attributes::delete_all;
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::contiguous_bytes;
use crate::process;

/// MPI_Type_commit.
///
/// # Errors
/// No such datatype.
pub fn commit(datatype: MPI_Datatype) -> MpiResult {
    process::enter()?.datatypes.commit("datatype", datatype)
}

/// MPI_Type_free: attributes are deleted first. The type itself lives as long as other types and operations
/// need it.
///
/// # Errors
/// No such datatype, a predefined one, or a delete callback refuses.
pub fn free(datatype: &mut MPI_Datatype) -> MpiResult {
    process::enter()?.datatypes.check_free("datatype", *datatype)?;
    delete_all(*datatype)?;
    process::enter()?.datatypes.remove("datatype", *datatype)?;
    *datatype = MPI_DATATYPE_NULL;
    Ok(())
}

/// MPI_Type_size.
///
/// # Errors
/// No such datatype.
pub fn size(datatype: MPI_Datatype) -> MpiResult<i64> {
    Ok(process::enter()?.datatypes.find("datatype", datatype)?.size())
}

/// MPI_Type_get_extent: lower bound and extent.
///
/// # Errors
/// No such datatype.
pub fn extent(datatype: MPI_Datatype) -> MpiResult<(i64, i64)> {
    let process = process::enter()?;
    let of = process.datatypes.find("datatype", datatype)?;
    Ok((of.lb, of.extent()))
}

/// MPI_Type_get_true_extent: true lower bound and true extent.
///
/// # Errors
/// No such datatype.
pub fn true_extent(datatype: MPI_Datatype) -> MpiResult<(i64, i64)> {
    Ok(process::enter()?.datatypes.find("datatype", datatype)?.true_extent())
}

/// MPI_Type_get_name: the name that the program gave, or the one of a predefined type.
///
/// # Errors
/// No such datatype.
pub fn name(datatype: MPI_Datatype) -> MpiResult<String> {
    let process = process::enter()?;
    if datatype == MPI_DATATYPE_NULL {
        // Allowed since MPI-4.1 (§7.8): the null handle has a name.
        return Ok("MPI_DATATYPE_NULL".into());
    }
    process.datatypes.name("datatype", datatype)
}

/// MPI_Type_set_name; what does not fit in MPI_MAX_OBJECT_NAME is cut off.
///
/// # Errors
/// No such datatype.
pub fn set_name(datatype: MPI_Datatype, name: String) -> MpiResult {
    process::enter()?.datatypes.labels_mut("datatype", datatype)?.name = Some(name);
    Ok(())
}

/// Bytes of one element, for statistics; 0 where there is no such datatype.
pub fn size_or_zero(datatype: MPI_Datatype) -> u64 {
    match contiguous_bytes(datatype) {
        Some(bytes) => bytes as u64,
        None => size(datatype).map_or(0, |size| size as u64),
    }
}
