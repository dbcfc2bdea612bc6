//! Chapters 10 and 11: strings whose length is an argument. In Fortran it counts no end mark.

use crate::c::*;
use crate::convert::handle;
use crate::edge::answer;
use crate::text::{fill, stripped};
use std::ffi::{c_char, c_int};

/// Room for a string of so many characters and its end mark.
fn room(length: c_int) -> Vec<c_char> {
    vec![0; usize::try_from(length).unwrap_or(0) + 1]
}

/// The length in C of a buffer: 0 asks how long one would have to be.
fn in_c(length: c_int) -> c_int {
    if length > 0 { length.saturating_add(1) } else { length }
}

entries! {
    MPI_Info_get PMPI_Info_get "info_get" (
        info: *mut c_int, key: *mut c_char, valuelen: *mut c_int, value: *mut c_char, flag: *mut c_int,
        ierror: *mut c_int, key_length: usize, value_length: usize,
    ) {
        let key = stripped(key, key_length);
        let mut text = room((*valuelen).max(value_length.min(MPI_MAX_INFO_VAL as usize) as c_int));
        let code = call(handle(*info), key.as_ptr().cast_mut(), *valuelen, text.as_mut_ptr(), flag);
        if *flag != 0 {
            fill(code, &text, value, value_length);
        }
        answer(ierror, code)
    }
    MPI_Info_get_string PMPI_Info_get_string "info_get_string" (
        info: *mut c_int, key: *mut c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int,
        ierror: *mut c_int, key_length: usize, value_length: usize,
    ) {
        let key = stripped(key, key_length);
        let mut text = room(*buflen);
        let (asks, mut length) = (*buflen == 0, in_c(*buflen));
        let code = call(handle(*info), key.as_ptr().cast_mut(), &mut length, text.as_mut_ptr(), flag);
        if code == MPI_SUCCESS && *flag != 0 {
            *buflen = length - 1;
            if !asks {
                fill(code, &text, value, value_length);
            }
        }
        answer(ierror, code)
    }
    MPI_Session_get_nth_pset PMPI_Session_get_nth_pset "session_get_nth_pset" (
        session: *mut c_int, info: *mut c_int, n: *mut c_int, pset_len: *mut c_int, pset_name: *mut c_char,
        ierror: *mut c_int, name_length: usize,
    ) {
        let mut text = room(*pset_len);
        let (asks, mut length) = (*pset_len == 0, in_c(*pset_len));
        let code = call(handle(*session), handle(*info), *n, &mut length, text.as_mut_ptr());
        if code == MPI_SUCCESS {
            *pset_len = length - 1;
            if !asks {
                fill(code, &text, pset_name, name_length);
            }
        }
        answer(ierror, code)
    }
}
