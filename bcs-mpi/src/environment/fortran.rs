//! What the ABI leaves to the Fortran compiler: sizes of its types, and the values of its logicals (MPI-5.0,
//! §20.4).
//!
//! The library settles both itself: the types are those of its table, and a logical is 1 for true and 0 for
//! false, as an integer of its size, which is what its reductions make. So nothing is left for a program to
//! set.

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::info;
use std::ffi::c_int;

/// Types whose size is told, by their names without `MPI_`.
const SIZES: [&str; 4] = ["LOGICAL", "INTEGER", "REAL", "DOUBLE_PRECISION"];

/// Types of which it is told whether there are any, by their sizes.
const OPTIONAL: [(&str, &[u32]); 4] = [
    ("LOGICAL", &[1, 2, 4, 8, 16]),
    ("INTEGER", &[1, 2, 4, 8, 16]),
    ("REAL", &[2, 4, 8, 16]),
    ("COMPLEX", &[4, 8, 16, 32]),
];

/// The bytes of a predefined datatype; 0 when there is none of that name.
fn size_of_type(name: &str) -> usize {
    let is_it = |known: &&Datatype| known.name.strip_prefix("MPI_") == Some(name);
    DATATYPES.iter().find(is_it).map_or(0, |known| known.size)
}

/// MPI_Abi_get_fortran_info: a new info object.
pub fn create_info() -> MPI_Info {
    let key = |name: &str, what| format!("mpi_{}_{what}", name.to_ascii_lowercase());
    let sizes = SIZES.iter().map(|name| (key(name, "size"), size_of_type(name).to_string()));
    let of_sizes =
        |(name, sizes): &(&str, &[u32])| sizes.iter().map(|size| format!("{name}{size}")).collect();
    let optional = OPTIONAL.iter().flat_map::<Vec<_>, _>(of_sizes).chain(["DOUBLE_COMPLEX".to_owned()]);
    let supported = optional.map(|name| (key(&name, "supported"), (size_of_type(&name) > 0).to_string()));
    info::of_pairs(sizes.chain(supported).collect())
}

/// MPI_Abi_set_fortran_info: is refused.
///
/// # Errors
/// No such info object; otherwise that they are set already.
pub fn set_info(hints: MPI_Info) -> MpiResult {
    if hints == MPI_INFO_NULL {
        return Err(MpiError::argument(MPI_ERR_INFO, "info", "MPI_INFO_NULL", "it must be an info object"));
    }
    info::check(hints)?;
    let allowed = "the sizes of Fortran's types are settled by the library (MPI_Abi_get_fortran_info)";
    Err(MpiError::argument(MPI_ERR_ABI, "info", "an info object", allowed))
}

/// Whether there are logicals of that size.
fn is_logical(logical_size: c_int) -> MpiResult<bool> {
    if logical_size < 1 || logical_size.count_ones() != 1 {
        let allowed = "it must be a power of two";
        return Err(MpiError::argument(MPI_ERR_ARG, "logical_size", logical_size, allowed));
    }
    Ok(size_of_type(&format!("LOGICAL{logical_size}")) > 0)
}

/// MPI_Abi_get_fortran_booleans: true and false of logicals of that size, least significant byte first; none
/// when there are no such logicals.
///
/// # Errors
/// The size is not a power of two.
pub fn booleans(logical_size: c_int) -> MpiResult<Option<[Vec<u8>; 2]>> {
    if !is_logical(logical_size)? {
        return Ok(None);
    }
    let of = |value: u8| {
        let mut bytes = vec![0; logical_size as usize];
        bytes[0] = value;
        bytes
    };
    Ok(Some([of(1), of(0)]))
}

/// MPI_Abi_set_fortran_booleans: is refused.
///
/// # Errors
/// The size is not a power of two; otherwise that they are set already, or that there are no such logicals.
pub fn set_booleans(logical_size: c_int) -> MpiResult {
    let allowed = if is_logical(logical_size)? {
        "the values of such logicals are settled by the library (MPI_Abi_get_fortran_booleans)"
    } else {
        "this library has no logicals of that size"
    };
    Err(MpiError::argument(MPI_ERR_ABI, "logical_size", logical_size, allowed))
}
