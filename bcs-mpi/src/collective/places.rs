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

/// Where a call's blocks lie.
#[derive(Clone, Copy, Debug)]
pub enum Blocks {
    /// `count` elements each, one block after the other.
    Equal(i64),
    /// As counts and displacements say; displacements in extents of the datatype.
    Vector(Numbers, Numbers),
}

/// The blocks of a w form: a count, a displacement in bytes and a datatype each.
#[derive(Clone, Copy, Debug)]
pub struct Typed {
    /// Elements of each.
    pub counts: Numbers,
    /// Bytes from the buffer's address to each.
    pub displacements: Numbers,
    /// The type of the elements of each.
    pub types: *const MPI_Datatype,
}

/// Where blocks of a call lie, with the type of their elements.
#[derive(Clone, Copy, Debug)]
pub enum Places {
    /// All of one type.
    Of(Blocks, MPI_Datatype),
    /// Each of its own.
    Typed(Typed),
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
        let displacements = if is_sent(names) { "sdispls" } else { "rdispls" };
        let [_, counts, types] = self.names(names);
        match *self {
            Places::Of(blocks, datatype) => {
                let extent = datatypes.committed(names[2], datatype)?.extent() as isize;
                // What is no address is none of the program's, and is not used.
                let block =
                    |(count, index): (i64, i64)| (count, (index as isize).wrapping_mul(extent), datatype);
                match blocks {
                    Blocks::Equal(count) => {
                        Ok((0..members as i64).map(|i| block((count, i.saturating_mul(count)))).collect())
                    }
                    Blocks::Vector(numbers, _) if numbers.is_null() => Err(null_array(counts)),
                    Blocks::Vector(_, places) if places.is_null() => Err(null_array(displacements)),
                    Blocks::Vector(numbers, places) => {
                        // SAFETY: the caller's promise.
                        Ok((0..members).map(|i| block(unsafe { (numbers.at(i), places.at(i)) })).collect())
                    }
                }
            }
            Places::Typed(typed) => {
                let missing = [
                    (typed.counts.is_null(), counts),
                    (typed.displacements.is_null(), displacements),
                    (typed.types.is_null(), types),
                ];
                if let Some((_, argument)) = missing.into_iter().find(|(is_null, _)| *is_null && members > 0)
                {
                    return Err(null_array(argument));
                }
                // SAFETY: the caller's promise.
                let block = |i| unsafe {
                    (typed.counts.at(i), typed.displacements.at(i) as isize, *typed.types.add(i))
                };
                Ok((0..members).map(block).collect())
            }
        }
    }

    /// The names of its arguments, in a call whose other form has these.
    pub(super) fn names(&self, names: &Names) -> Names {
        match self {
            Places::Of(..) => *names,
            Places::Typed(_) if is_sent(names) => [names[0], "sendcounts", "sendtypes"],
            Places::Typed(_) => [names[0], "recvcounts", "recvtypes"],
        }
    }
}

fn is_sent(names: &Names) -> bool {
    names[1].starts_with("send")
}

#[cold]
fn null_array(argument: &'static str) -> MpiError {
    MpiError::new(Problem::NullResult { argument })
}
