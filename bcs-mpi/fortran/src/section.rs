//! Datatypes of arrays that are not one piece: array sections with strides, of any rank (MPI-5.0, §19.1.12).
//!
//! A call that sends `count` elements of a datatype from such an array sends those that would be there if
//! the array's elements lay one after the other. So the call is made with one element of a datatype that has
//! just these, at their places.

use crate::c::*;
use crate::convert::Handle;
use crate::descriptor::Array;
use std::ffi::c_int;

/// What a datatype is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of data.
    pub size: i64,
    /// Whether its elements are pieces that lie one after the other.
    pub is_piece: bool,
}

/// What a datatype is in memory; none if it is no datatype: the call will tell.
pub fn layout(datatype: MPI_Datatype) -> Option<Layout> {
    let (mut size, mut lower, mut extent, mut true_lower, mut true_extent) = (0, 0, 0, 0, 0);
    if datatype == MPI_Datatype::NULL {
        return None;
    }
    // SAFETY: all results have a place.
    let codes = unsafe {
        [
            PMPI_Type_size_c(datatype, &mut size),
            PMPI_Type_get_extent_c(datatype, &mut lower, &mut extent),
            PMPI_Type_get_true_extent_c(datatype, &mut true_lower, &mut true_extent),
        ]
    };
    let is_piece = lower == 0 && true_lower == 0 && size == extent && size == true_extent && size > 0;
    (codes == [MPI_SUCCESS; 3]).then_some(Layout { size, is_piece })
}

/// A datatype that is freed when nobody has it.
#[derive(Debug)]
pub struct Made(pub MPI_Datatype);

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: the datatype was made here. What still uses it goes on (§5.1.9).
        unsafe { PMPI_Type_free(&mut self.0) };
    }
}

/// What a constructor answers, or its error.
fn made(make: impl FnOnce(*mut MPI_Datatype) -> c_int) -> Result<Made, c_int> {
    let mut datatype = MPI_Datatype::NULL;
    match make(&mut datatype) {
        MPI_SUCCESS => Ok(Made(datatype)),
        code => Err(code),
    }
}

/// `count` elements of a datatype, `stride` bytes apart.
fn strided(count: i64, stride: i64, of: MPI_Datatype) -> Result<Made, c_int> {
    // SAFETY: the result has a place.
    made(|to| unsafe { PMPI_Type_create_hvector_c(count, 1, stride, of, to) })
}

fn adjacent(count: i64, of: MPI_Datatype) -> Result<Made, c_int> {
    // SAFETY: the result has a place.
    made(|to| unsafe { PMPI_Type_contiguous_c(count, of, to) })
}

fn committed(mut datatype: Made) -> Result<Made, c_int> {
    // SAFETY: the datatype was made here.
    match unsafe { PMPI_Type_commit(&mut datatype.0) } {
        MPI_SUCCESS => Ok(datatype),
        code => Err(code),
    }
}

/// The datatype of the first `bytes` of an array, which are elements of a datatype of `size` bytes that are
/// pieces: an element of the array is one or several of them.
///
/// # Errors
/// What a constructor answers.
pub fn first_bytes(array: &Array, bytes: i64, datatype: MPI_Datatype, size: i64) -> Result<Made, c_int> {
    let (mut whole, rest) = (bytes / array.element_bytes, bytes % array.element_bytes / size);
    // Of one element, of a row of those, of a plane of these, and so on.
    let mut levels = vec![adjacent(array.element_bytes / size, datatype)?];
    for (extent, stride) in &array.dimensions[..array.dimensions.len() - 1] {
        levels.push(strided(*extent, *stride, levels[levels.len() - 1].0)?);
    }
    // As many whole planes as there are, then rows, then elements.
    let (mut pieces, mut place) = (Vec::new(), 0);
    for (level, (_, stride)) in array.dimensions.iter().enumerate().rev() {
        let elements: i64 = array.dimensions[..level].iter().map(|(extent, _)| extent).product();
        let count = whole / elements;
        if count > 0 {
            pieces.push((place, strided(count, *stride, levels[level].0)?));
            place += count * stride;
            whole -= count * elements;
        }
    }
    if rest > 0 {
        pieces.push((place, adjacent(rest, datatype)?));
    }
    if let [(0, _)] = pieces[..] {
        return committed(pieces.remove(0).1);
    }
    let mut lengths = vec![1; pieces.len()];
    let mut places: Vec<MPI_Count> = pieces.iter().map(|(place, _)| *place).collect();
    let mut types: Vec<_> = pieces.iter().map(|(_, piece)| piece.0).collect();
    let count = pieces.len() as MPI_Count;
    // SAFETY: the arrays have that many elements, and the result has a place.
    committed(made(|to| unsafe {
        PMPI_Type_create_struct_c(count, lengths.as_mut_ptr(), places.as_mut_ptr(), types.as_mut_ptr(), to)
    })?)
}

/// A datatype whose elements follow each other after `stride` bytes.
///
/// # Errors
/// What the constructor answers.
pub fn spaced(datatype: MPI_Datatype, stride: i64) -> Result<Made, c_int> {
    // SAFETY: the result has a place.
    committed(made(|to| unsafe { PMPI_Type_create_resized_c(datatype, 0, stride, to) })?)
}
