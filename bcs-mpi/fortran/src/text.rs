//! Strings: of Fortran they have a length, and blanks at their end that do not count (MPI-5.0, §19.1.2); of
//! C, an end mark.

use crate::c::MPI_SUCCESS;
use smallvec::SmallVec;
use std::ffi::{c_char, c_int};

/// A string of C: no memory is taken for short ones.
pub struct Text(SmallVec<[c_char; 128]>);

impl Text {
    /// Where it is, for C.
    pub fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr()
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.len() == 1
    }
}

const BLANK: c_char = b' ' as c_char;

/// A string without the blanks at its end.
///
/// # Safety
/// `at` must have `length` characters.
pub unsafe fn trimmed(at: *const c_char, length: usize) -> Text {
    let characters = if length == 0 {
        &[]
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(at, length) }
    };
    with_mark(characters)
}

/// The same without the blanks before it, too: of keys and values of info objects they do not count (§10).
///
/// # Safety
/// As [`trimmed`].
pub unsafe fn stripped(at: *const c_char, length: usize) -> Text {
    // SAFETY: the caller's promise.
    let Text(mut text) = unsafe { trimmed(at, length) };
    let blanks = text.iter().take_while(|character| **character == BLANK).count();
    text.drain(..blanks);
    Text(text)
}

fn with_mark(characters: &[c_char]) -> Text {
    let length = characters.iter().rposition(|character| *character != BLANK).map_or(0, |last| last + 1);
    let mut text = SmallVec::from_slice(&characters[..length]);
    text.push(0);
    Text(text)
}

/// Stores a string of C, cut or filled with blanks to its length, if the call that made it was a success.
///
/// # Safety
/// `to` must have room for `length` characters.
pub unsafe fn fill(code: c_int, text: &[c_char], to: *mut c_char, length: usize) {
    if code != MPI_SUCCESS || length == 0 {
        return;
    }
    let known = text.iter().position(|character| *character == 0).unwrap_or(text.len()).min(length);
    // SAFETY: the caller's promise.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), to, known);
        to.add(known).write_bytes(b' ', length - known);
    }
}
