//! Handles: an INTEGER of Fortran is what `MPI_X_toint` makes of a handle of C (MPI-5.0, §20.3). Predefined
//! ones are the same number.

use crate::c::*;
use smallvec::SmallVec;
use std::ffi::c_int;

/// Handles of C that are smaller are the same as integers (chapter 20: ten bits).
const PREDEFINED: usize = 0x400;

/// A type of handles.
pub trait Handle: Copy {
    /// The handle of nothing.
    const NULL: Self;

    /// The handle of an integer; the null handle when no object has it.
    fn from_integer(integer: c_int) -> Self;

    /// The integer of the handle.
    fn integer(self) -> c_int;
}

macro_rules! handles {
    ($($handle:ident $null:ident $to:ident $from:ident)*) => { $(
        impl Handle for $handle {
            const NULL: Self = Self($null as usize);

            #[inline(always)]
            fn from_integer(integer: c_int) -> Self {
                if (integer as u32 as usize) < PREDEFINED {
                    return Self(integer as usize);
                }
                // SAFETY: any integer may be asked for.
                unsafe { $from(integer) }
            }

            #[inline(always)]
            fn integer(self) -> c_int {
                if self.0 < PREDEFINED {
                    return self.0 as c_int;
                }
                // SAFETY: any handle may be asked for.
                unsafe { $to(self) }
            }
        }
    )* };
}

handles! {
    MPI_Comm MPI_COMM_NULL MPI_Comm_toint MPI_Comm_fromint
    MPI_Datatype MPI_DATATYPE_NULL MPI_Type_toint MPI_Type_fromint
    MPI_Errhandler MPI_ERRHANDLER_NULL MPI_Errhandler_toint MPI_Errhandler_fromint
    MPI_File MPI_FILE_NULL MPI_File_toint MPI_File_fromint
    MPI_Group MPI_GROUP_NULL MPI_Group_toint MPI_Group_fromint
    MPI_Info MPI_INFO_NULL MPI_Info_toint MPI_Info_fromint
    MPI_Message MPI_MESSAGE_NULL MPI_Message_toint MPI_Message_fromint
    MPI_Op MPI_OP_NULL MPI_Op_toint MPI_Op_fromint
    MPI_Request MPI_REQUEST_NULL MPI_Request_toint MPI_Request_fromint
    MPI_Session MPI_SESSION_NULL MPI_Session_toint MPI_Session_fromint
    MPI_Win MPI_WIN_NULL MPI_Win_toint MPI_Win_fromint
}

/// Whether both handles are predefined ones: they need no look-up.
#[inline(always)]
pub fn are_predefined(one: c_int, other: c_int) -> bool {
    ((one | other) as u32 as usize) < PREDEFINED
}

/// The handle of an integer.
#[inline(always)]
pub fn handle<T: Handle>(integer: c_int) -> T {
    T::from_integer(integer)
}

/// A length as a number of elements: negative ones are none, and what has them is refused by C.
#[inline]
pub fn room(length: i64) -> usize {
    usize::try_from(length).unwrap_or(0)
}

/// Handles of C: no memory is taken for a few.
pub struct Handles<T>(SmallVec<[T; 16]>);

impl<T> Handles<T> {
    /// None.
    pub fn none() -> Self {
        Self(SmallVec::new())
    }

    /// Where they are, for C.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.0.as_mut_ptr()
    }

    /// The same once more.
    pub fn copy(&self) -> Self
    where
        T: Copy,
    {
        Self(SmallVec::from_slice(&self.0))
    }

    /// They.
    pub fn as_slice(&self) -> &[T] {
        &self.0
    }
}

/// The handles of an array of integers.
///
/// # Safety
/// `integers` must have as many elements as a positive `length` says.
#[inline]
pub unsafe fn handles<T: Handle>(integers: *const c_int, length: i64) -> Handles<T> {
    // SAFETY: the caller's promise.
    Handles((0..room(length)).map(|at| unsafe { T::from_integer(*integers.add(at)) }).collect())
}

/// The same, at a place where they stay.
///
/// # Safety
/// As [`handles`].
pub unsafe fn lasting_handles<T: Handle>(integers: *const c_int, length: i64) -> Box<[T]> {
    // SAFETY: the caller's promise.
    (0..room(length)).map(|at| unsafe { T::from_integer(*integers.add(at)) }).collect()
}

/// Stores handles as integers, if the call that made them was a success.
///
/// # Safety
/// `integers` must have room for them.
pub unsafe fn store_handles<T: Handle>(code: c_int, handles: &[T], integers: *mut c_int) {
    if code == MPI_SUCCESS {
        for (at, handle) in handles.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { integers.add(at).write(handle.integer()) };
        }
    }
}
