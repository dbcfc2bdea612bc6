//! Where blocks of a call lie (MPI-5.0, §6.2): one after the other, as counts and displacements say, or each
//! of its own type.

use crate::constants::MPI_Datatype;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::datatype::Datatypes;
use crate::object::datatype::buffer::Names;
use std::ffi::c_int;

/// Counts and displacements of the v forms: of `int`, or large (MPI_Count and MPI_Aint).
#[derive(Clone, Copy, Debug)]
pub enum Numbers {
    /// An array of `int`.
    Small(*const c_int),
    /// An array of MPI_Count or MPI_Aint.
    Large(*const i64),
}

impl Numbers {
    /// The number at an index.
    ///
    /// # Safety
    /// The array must have it.
    pub(super) unsafe fn at(self, index: usize) -> i64 {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Numbers::Small(array) => *array.add(index) as i64,
                Numbers::Large(array) => *array.add(index),
            }
        }
    }

    pub(super) fn is_null(self) -> bool {
        match self {
            Numbers::Small(array) => array.is_null(),
            Numbers::Large(array) => array.is_null(),
        }
    }
}

/// Where blocks of a call lie, and of which type their elements are.
#[derive(Clone, Copy, Debug)]
pub enum Places {
    /// So many elements of this type each, one block after the other.
    Equal(i64, MPI_Datatype),
    /// As counts and displacements say, of this type; displacements are in its extents.
    Vector(Numbers, Numbers, MPI_Datatype),
    /// As counts and displacements say, each of a type of its own; displacements are in bytes.
    Typed(Numbers, Numbers, *const MPI_Datatype),
}

impl Places {
    /// Count, displacement in bytes and type of each of `members` blocks of a buffer whose arguments have
    /// these names.
    ///
    /// # Safety
    /// Arrays must be null or have `members` elements.
    ///
    /// # Errors
    /// A null array, or a datatype that cannot be.
    pub(super) unsafe fn read(
        &self,
        datatypes: &Datatypes,
        names: &Names,
        members: usize,
    ) -> MpiResult<Vec<(i64, isize, MPI_Datatype)>> {
        let displs = if is_sent(names) { "sdispls" } else { "rdispls" };
        let [_, counts, types] = self.names(names);
        let extent = |datatype| datatypes.committed(types, datatype).map(|of| of.extent() as isize);
        // What is no address is none of the program's, and is not used.
        let at = |index: i64, extent: isize| (index as isize).wrapping_mul(extent);
        Ok(match *self {
            Places::Equal(count, of) => {
                let extent = extent(of)?;
                let block = |i: i64| (count, at(i.saturating_mul(count), extent), of);
                (0..members as i64).map(block).collect()
            }
            Places::Vector(numbers, places, of) => {
                let extent = extent(of)?;
                check_array(numbers.is_null(), counts)?;
                check_array(places.is_null(), displs)?;
                // SAFETY: the caller's promise.
                let block = |i| unsafe { (numbers.at(i), at(places.at(i), extent), of) };
                (0..members).map(block).collect()
            }
            Places::Typed(..) if members == 0 => Vec::new(),
            Places::Typed(numbers, places, of) => {
                check_array(numbers.is_null(), counts)?;
                check_array(places.is_null(), displs)?;
                check_array(of.is_null(), types)?;
                // SAFETY: as above.
                let block = |i| unsafe { (numbers.at(i), places.at(i) as isize, *of.add(i)) };
                (0..members).map(block).collect()
            }
        })
    }

    /// The names of its arguments, in a call whose other form has these.
    pub(super) fn names(&self, names: &Names) -> Names {
        match self {
            Places::Typed(..) if is_sent(names) => [names[0], "sendcounts", "sendtypes"],
            Places::Typed(..) => [names[0], "recvcounts", "recvtypes"],
            _ => *names,
        }
    }
}

fn is_sent(names: &Names) -> bool {
    names[1].starts_with("send")
}

/// Refuses an array that is null.
pub(super) fn check_array(is_null: bool, argument: &'static str) -> MpiResult {
    if is_null { Err(MpiError::new(Problem::NullResult { argument })) } else { Ok(()) }
}
