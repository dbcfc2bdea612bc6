//! Values of variables and of the elements of events, and where programs want them.

use crate::constants::*;
use std::ffi::{c_int, c_void};

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A number of C; of an enumeration, if there is one.
    Number,
    /// A number that is not negative.
    Whole,
    /// A share of 1.
    Share,
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// [`Form::Number`].
    Number(c_int),
    /// [`Form::Whole`].
    Whole(u64),
    /// [`Form::Share`].
    Share(f64),
}

impl Form {
    /// The datatype of such a value.
    pub fn datatype(self) -> MPI_Datatype {
        match self {
            Self::Number => MPI_INT,
            Self::Whole => MPI_UNSIGNED_LONG_LONG,
            Self::Share => MPI_DOUBLE,
        }
    }

    /// Its bytes, which are its alignment, too.
    pub fn bytes(self) -> usize {
        match self {
            Self::Number => size_of::<c_int>(),
            Self::Whole => size_of::<u64>(),
            Self::Share => size_of::<f64>(),
        }
    }

    /// The value that a program gives.
    ///
    /// # Safety
    /// `from` must be readable for [`Self::bytes`].
    pub unsafe fn read(self, from: *const c_void) -> Value {
        // SAFETY: the caller's promise; no alignment is presumed.
        unsafe {
            match self {
                Self::Number => Value::Number(from.cast::<c_int>().read_unaligned()),
                Self::Whole => Value::Whole(from.cast::<u64>().read_unaligned()),
                Self::Share => Value::Share(from.cast::<f64>().read_unaligned()),
            }
        }
    }
}

impl Value {
    /// Stores it where a program wants it.
    ///
    /// # Safety
    /// `to` must be writable for the bytes of its form.
    pub unsafe fn store(self, to: *mut c_void) {
        // SAFETY: the caller's promise; no alignment is presumed.
        unsafe {
            match self {
                Self::Number(number) => to.cast::<c_int>().write_unaligned(number),
                Self::Whole(whole) => to.cast::<u64>().write_unaligned(whole),
                Self::Share(share) => to.cast::<f64>().write_unaligned(share),
            }
        }
    }

    /// It as a number that is not negative; 0 of what is none.
    pub fn whole(self) -> u64 {
        match self {
            Self::Whole(whole) => whole,
            Self::Number(_) | Self::Share(_) => 0,
        }
    }
}
