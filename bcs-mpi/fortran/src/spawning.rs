//! Chapter 11: starting processes, whose arguments are arrays of strings. A blank one ends them.

use crate::c::*;
use crate::convert::{Handle, handle, handles, room};
use crate::edge::answer;
use crate::sentinel::{error_codes, is_sentinel};
use crate::text::{Text, trimmed};
use std::ffi::{c_char, c_int};

/// Strings of C, and their addresses with the null one at the end.
struct Arguments {
    _texts: Vec<Text>,
    addresses: Vec<*mut c_char>,
}

impl Arguments {
    /// The strings of an array, `step` characters apart, up to the blank one.
    ///
    /// # Safety
    /// The array must have a blank string of `length` characters.
    unsafe fn until_blank(first: *const c_char, length: usize, step: usize) -> Self {
        // SAFETY: the caller's promise.
        let each = (0..).map(|at| unsafe { trimmed(first.add(at * step), length) });
        Self::of(each.take_while(|text| length > 0 && !text.is_empty()).collect())
    }

    fn of(texts: Vec<Text>) -> Self {
        let addresses = texts.iter().map(|text| text.as_ptr().cast_mut());
        Self { addresses: addresses.chain([std::ptr::null_mut()]).collect(), _texts: texts }
    }
}

entries! {
    MPI_Comm_spawn PMPI_Comm_spawn "comm_spawn" (
        command: *mut c_char, argv: *mut c_char, maxprocs: *mut c_int, info: *mut c_int, root: *mut c_int,
        comm: *mut c_int, intercomm: *mut c_int, array_of_errcodes: *mut c_int, ierror: *mut c_int,
        command_length: usize, argv_length: usize,
    ) {
        let command = trimmed(command, command_length);
        let mut arguments = if is_sentinel(argv) {
            Arguments::of(Vec::new())
        } else {
            Arguments::until_blank(argv, argv_length, argv_length)
        };
        let mut made = MPI_Comm::NULL;
        let code = call(
            command.as_ptr().cast_mut(), arguments.addresses.as_mut_ptr(), *maxprocs, handle(*info), *root,
            handle(*comm), &mut made, error_codes(array_of_errcodes),
        );
        *intercomm = made.integer();
        answer(ierror, code)
    }
    MPI_Comm_spawn_multiple PMPI_Comm_spawn_multiple "comm_spawn_multiple" (
        count: *mut c_int, array_of_commands: *mut c_char, array_of_argv: *mut c_char,
        array_of_maxprocs: *mut c_int, array_of_info: *mut c_int, root: *mut c_int, comm: *mut c_int,
        intercomm: *mut c_int, array_of_errcodes: *mut c_int, ierror: *mut c_int, commands_length: usize,
        argv_length: usize,
    ) {
        let programs = room(i64::from(*count));
        let command = |at: usize| trimmed(array_of_commands.add(at * commands_length), commands_length);
        let mut commands = Arguments::of((0..programs).map(command).collect());
        // The first index is that of the program.
        let of = |at: usize| {
            Arguments::until_blank(array_of_argv.add(at * argv_length), argv_length, programs * argv_length)
        };
        let mut arguments: Vec<_> = if is_sentinel(array_of_argv) {
            (0..programs).map(|_| Arguments::of(Vec::new())).collect()
        } else {
            (0..programs).map(of).collect()
        };
        let mut arguments: Vec<_> = arguments.iter_mut().map(|of| of.addresses.as_mut_ptr()).collect();
        let mut info = handles::<MPI_Info>(array_of_info, i64::from(*count));
        let mut made = MPI_Comm::NULL;
        let code = call(
            *count, commands.addresses.as_mut_ptr(), arguments.as_mut_ptr(), array_of_maxprocs, info.as_mut_ptr(),
            *root, handle(*comm), &mut made, error_codes(array_of_errcodes),
        );
        *intercomm = made.integer();
        answer(ierror, code)
    }
}
