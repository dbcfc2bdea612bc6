//! Chapter 14: files.

use crate::edge::{Place, callback, moved, store_string};
use crate::forms::own;
use bcs_mpi::MpiResult;
use bcs_mpi::constants::*;
use bcs_mpi::file::access::{Call, Form, Position, access};
use bcs_mpi::file::view::{self, Asked, Seen};
use bcs_mpi::file::{Direction, manage, open, pointer, representation, shared_pointer, size, split};
use bcs_mpi::object::file::representation::Convert;
use bcs_mpi::request::Statuses;
use std::ffi::{c_char, c_void};

answers! {
    MPI_File_open(comm, filename: PATH, amode, info) -> fh [timed(0) on MPI_FILE_NULL] =
        open::open(comm, &filename, amode, info);
    MPI_File_close(fh: INOUT) [timed(0) on MPI_FILE_NULL] = open::close(fh).map_err(|error| error.of(*fh));
    MPI_File_delete(filename: PATH, info) [on MPI_FILE_NULL] = open::delete(&filename, info);
    MPI_File_set_size(fh, size) [timed(0) on fh] = size::set(fh, size);
    MPI_File_preallocate(fh, size) [timed(0) on fh] = size::preallocate(fh, size);
    MPI_File_get_size(fh) -> size [on fh] = size::get(fh);
    MPI_File_get_group(fh) -> group [on fh] = manage::get_group(fh);
    MPI_File_get_amode(fh) -> amode [on fh] = manage::get_amode(fh);
    MPI_File_set_info(fh, info) [timed(0) on fh] = manage::set_info(fh, info);
    MPI_File_get_info(fh) -> info_used [on fh] = manage::get_info(fh);
    MPI_File_seek(fh, offset, whence) [on fh] = pointer::seek(fh, offset, whence);
    MPI_File_get_position(fh) -> offset [on fh] = pointer::get_position(fh);
    MPI_File_get_byte_offset(fh, offset) -> disp [on fh] = pointer::byte_offset(fh, offset);
    MPI_File_seek_shared(fh, offset, whence) [timed(0) on fh] = shared_pointer::seek(fh, offset, whence);
    MPI_File_get_position_shared(fh) -> offset [on fh] = shared_pointer::get_position(fh);
    MPI_File_get_type_extent(fh, datatype) -> extent [on fh] =
        manage::type_extent(fh, datatype).map(|extent| extent as ADDR);
    MPI_File_set_atomicity(fh, flag) [timed(0) on fh] = manage::set_atomicity(fh, flag);
    MPI_File_get_atomicity(fh) -> flag [on fh] = manage::get_atomicity(fh);
    MPI_File_sync(fh) [timed(0) on fh] = size::sync(fh);
}

calls! {
    MPI_File_set_view(fh, disp, etype, filetype, datarep: STRING, info) [timed(0) on fh] {
        view::set(fh, &Asked { disp, etype, filetype, datarep: &datarep }, info)?
    }
    MPI_File_get_view(fh, disp: OUT, etype: OUT, filetype: OUT, datarep: OUT) [on fh] {
        let seen = view::get(fh)?;
        store_view(seen, disp, etype, filetype, datarep)
    }
    MPI_Register_datarep(datarep: STRING, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state)
    [on MPI_FILE_NULL] {
        let convert = [read_conversion_fn, write_conversion_fn].map(|function| conversion(function, Convert::Small));
        register(datarep, convert, dtype_file_extent_fn, extra_state)?
    }
    MPI_Register_datarep_c(datarep: STRING, read_conversion_fn, write_conversion_fn, dtype_file_extent_fn, extra_state)
    [on MPI_FILE_NULL] {
        let convert = [read_conversion_fn, write_conversion_fn].map(|function| conversion(function, Convert::Large));
        register(datarep, convert, dtype_file_extent_fn, extra_state)?
    }
}

/// Stores what MPI_File_get_view answers.
///
/// # Safety
/// The name's place must have room for MPI_MAX_DATAREP_STRING bytes.
unsafe fn store_view(
    seen: Seen,
    disp: Place<MPI_Offset>,
    etype: Place<MPI_Datatype>,
    filetype: Place<MPI_Datatype>,
    datarep: Place<c_char>,
) {
    disp.set(seen.disp);
    etype.set(seen.etype);
    filetype.set(seen.filetype);
    // SAFETY: the caller's promise.
    unsafe { store_string(&seen.datarep, datarep.address(), MPI_MAX_DATAREP_STRING as usize) };
}

/// A conversion function of the program, by its address.
fn conversion(address: usize, of: impl Fn(usize) -> Convert) -> Convert {
    if address == MPI_CONVERSION_FN_NULL { Convert::None } else { of(address) }
}

fn register(
    name: String,
    [read, write]: [Convert; 2],
    extent: Option<MPI_Datarep_extent_function>,
    extra_state: *mut c_void,
) -> MpiResult {
    let extent = callback(extent, "dtype_file_extent_fn")?;
    representation::register(name, (read, write), extent, extra_state)
}

/// The address of a buffer, which is written only where something is read into it.
fn address(buffer: *const c_void) -> *mut c_void {
    buffer.cast_mut()
}

/// What reads and writes. A line: the direction, whether all members make the call together, the position,
/// and what the call has as an argument for it; then the calls, by their forms.
macro_rules! accesses {
    ($(
        $direction:ident $is_collective:literal $position:expr, ($($offset:ident)?): $($form:ident $name:ident)*;
    )*) => { $(
        accesses! { @each $direction $is_collective $position, ($($offset)?) [$($form $name)*] }
    )* };
    (@each $direction:ident $is_collective:literal $position:expr, $offset:tt [$($form:ident $name:ident)*]) => {
        $(accesses! { @$form $name $direction $is_collective $position, $offset })*
    };
    (@blocking $name:ident $direction:ident $is_collective:literal $position:expr, ($($offset:ident)?)) => {
        calls! {
            $name(fh, $($offset,)? buf, count, datatype, status) [timed(moved(count, datatype)) on fh] {
                let (primitive, form) = (primitive!($name), Form::Blocking(Statuses::new(status)));
                let position: Position = $position$(($offset))?;
                let call = Call { primitive, file: fh, position, is_collective: $is_collective, form };
                access(&call, Direction::$direction, own(address(buf), count, datatype)).map(drop)?
            }
        }
    };
    (@request $name:ident $direction:ident $is_collective:literal $position:expr, ($($offset:ident)?)) => {
        calls! {
            $name(fh, $($offset,)? buf, count, datatype, request: OUT) [timed(moved(count, datatype)) on fh] {
                let (primitive, form) = (primitive!($name), Form::NonBlocking);
                let position: Position = $position$(($offset))?;
                let call = Call { primitive, file: fh, position, is_collective: $is_collective, form };
                request.set(access(&call, Direction::$direction, own(address(buf), count, datatype))?)
            }
        }
    };
    (@begin $name:ident $direction:ident $is_collective:literal $position:expr, ($($offset:ident)?)) => {
        calls! {
            $name(fh, $($offset,)? buf, count, datatype) [timed(moved(count, datatype)) on fh] {
                let (primitive, form) = (primitive!($name), Form::Begin(stringify!($name)));
                let position: Position = $position$(($offset))?;
                let call = Call { primitive, file: fh, position, is_collective: $is_collective, form };
                access(&call, Direction::$direction, own(address(buf), count, datatype)).map(drop)?
            }
        }
    };
    (@end $name:ident $direction:ident $is_collective:literal $position:expr, $offset:tt) => {
        calls! {
            $name(fh, buf, status) [timed(0) on fh] {
                split::end(fh, stringify!($name), address(buf), Statuses::new(status))?
            }
        }
    };
}

accesses! {
    Read false Position::At, (offset): blocking MPI_File_read_at request MPI_File_iread_at;
    Write false Position::At, (offset): blocking MPI_File_write_at request MPI_File_iwrite_at;
    Read true Position::At, (offset):
        blocking MPI_File_read_at_all request MPI_File_iread_at_all
        begin MPI_File_read_at_all_begin end MPI_File_read_at_all_end;
    Write true Position::At, (offset):
        blocking MPI_File_write_at_all request MPI_File_iwrite_at_all
        begin MPI_File_write_at_all_begin end MPI_File_write_at_all_end;
    Read false Position::Own, (): blocking MPI_File_read request MPI_File_iread;
    Write false Position::Own, (): blocking MPI_File_write request MPI_File_iwrite;
    Read true Position::Own, ():
        blocking MPI_File_read_all request MPI_File_iread_all
        begin MPI_File_read_all_begin end MPI_File_read_all_end;
    Write true Position::Own, ():
        blocking MPI_File_write_all request MPI_File_iwrite_all
        begin MPI_File_write_all_begin end MPI_File_write_all_end;
    Read false Position::Shared, (): blocking MPI_File_read_shared request MPI_File_iread_shared;
    Write false Position::Shared, (): blocking MPI_File_write_shared request MPI_File_iwrite_shared;
    Read true Position::Shared, ():
        blocking MPI_File_read_ordered begin MPI_File_read_ordered_begin end MPI_File_read_ordered_end;
    Write true Position::Shared, ():
        blocking MPI_File_write_ordered begin MPI_File_write_ordered_begin end MPI_File_write_ordered_end;
}
