//! Chapter 7: attributes. C has addresses as attributes, Fortran integers (MPI-5.0, §19.3.7):
//!
//! - what Fortran sets is kept in a cell, and C gets the cell's address;
//! - what C sets is an address, which Fortran gets as an integer;
//! - attributes that MPI sets itself Fortran gets as numbers.
//!
//! A cell is freed when a key that Fortran made deletes its attribute. Keys of C copy and delete without
//! knowing cells: cells under them stay.

use crate::c::*;
use crate::convert::{Handle, handle};
use crate::edge::answer;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// The cells, by their addresses. C reads a cell as an `int`, or as an `MPI_Aint`: the first bytes are the
/// same.
static CELLS: LazyLock<Mutex<HashMap<usize, Box<MPI_Aint>>>> = LazyLock::new(Mutex::default);

fn cells() -> MutexGuard<'static, HashMap<usize, Box<MPI_Aint>>> {
    CELLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A cell for a value; its address.
fn cell(value: MPI_Aint) -> *mut c_void {
    let cell = Box::new(value);
    let address = &raw const *cell as *mut c_void;
    cells().insert(address as usize, cell);
    address
}

/// What Fortran gets for an address of C.
fn value(address: *mut c_void) -> MPI_Aint {
    cells().get(&(address as usize)).map_or(address as MPI_Aint, |cell| **cell)
}

/// What Fortran gets for an attribute that MPI sets.
///
/// # Safety
/// The address must be that of the attribute of the key.
unsafe fn value_of(key: c_int, address: *mut c_void) -> MPI_Aint {
    match key {
        MPI_TAG_UB..=MPI_UNIVERSE_SIZE | MPI_WIN_DISP_UNIT | MPI_WIN_CREATE_FLAVOR | MPI_WIN_MODEL => {
            // SAFETY: these are integers of C.
            MPI_Aint::from(unsafe { *address.cast::<c_int>() })
        }
        // SAFETY: this is an address-sized integer of C.
        MPI_WIN_SIZE => unsafe { *address.cast::<MPI_Aint>() },
        MPI_WIN_BASE => address as MPI_Aint,
        _ => value(address),
    }
}

/// Copies an attribute in Fortran: object, key, extra state, value, copied value, whether it is copied,
/// error.
type Copy<N> = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut N, *mut N, *mut N, *mut c_int, *mut c_int);
/// Deletes one: object, key, value, extra state, error.
type Delete<N> = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut N, *mut N, *mut c_int);

/// What a key that Fortran made knows; keys share what is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    copy: usize,
    delete: usize,
    extra: MPI_Aint,
}

/// The keys, which stay: a key may be freed before its attributes are.
static KEYS: LazyLock<Mutex<HashMap<Key, &'static Key>>> = LazyLock::new(Mutex::default);

fn key(copy: usize, delete: usize, extra: MPI_Aint) -> *mut c_void {
    let key = Key { copy, delete, extra };
    let mut keys = KEYS.lock().unwrap_or_else(PoisonError::into_inner);
    let kept: &'static Key = keys.entry(key).or_insert_with(|| Box::leak(Box::new(key)));
    (kept as *const Key).cast_mut().cast()
}

/// A number of Fortran in which attributes are.
trait Number: Sized + std::marker::Copy + Into<MPI_Aint> {
    /// The value in it: MPI-1 knew default INTEGERs alone, of an address its last bytes.
    fn of(value: MPI_Aint) -> Self;
}

impl Number for MPI_Aint {
    fn of(value: MPI_Aint) -> Self {
        value
    }
}

impl Number for c_int {
    fn of(value: MPI_Aint) -> Self {
        value as c_int
    }
}

unsafe extern "C" fn copy<H: Handle, N: Number>(
    object: H,
    mut keyval: c_int,
    extra: *mut c_void,
    from: *mut c_void,
    to: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the extra state is a key of Fortran, whose procedure this is; C hands over its arguments.
    unsafe {
        let key = *extra.cast::<Key>();
        let procedure = std::mem::transmute::<usize, Copy<N>>(key.copy);
        let (mut object, mut extra, given) = (object.integer(), N::of(key.extra), value(from));
        let (mut before, mut after, mut code) = (N::of(given), N::of(given), MPI_SUCCESS);
        procedure(&mut object, &mut keyval, &mut extra, &mut before, &mut after, flag, &mut code);
        if code == MPI_SUCCESS && *flag != 0 {
            let after = after.into();
            // An address that C has set, and that is copied as it is, stays one.
            let stays = after == N::of(given).into() && !cells().contains_key(&(from as usize));
            *to = if stays { from } else { cell(after) };
        }
        code
    }
}

unsafe extern "C" fn delete<H: Handle, N: Number>(
    object: H,
    mut keyval: c_int,
    attribute: *mut c_void,
    extra: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let key = *extra.cast::<Key>();
        let procedure = std::mem::transmute::<usize, Delete<N>>(key.delete);
        let (mut object, mut extra) = (object.integer(), N::of(key.extra));
        let (mut value, mut code) = (N::of(value(attribute)), MPI_SUCCESS);
        procedure(&mut object, &mut keyval, &mut value, &mut extra, &mut code);
        if code == MPI_SUCCESS {
            cells().remove(&(attribute as usize));
        }
        code
    }
}

/// A line: the type of objects, the number, and the three calls that differ from C.
macro_rules! attributes {
    ($($handle:ident $number:ty:
        $create:ident $p_create:ident $short_create:literal
        $set:ident $p_set:ident $short_set:literal
        $get:ident $p_get:ident $short_get:literal;)*) => { entries! { $(
        $create $p_create $short_create (
            copy_fn: *mut c_void, delete_fn: *mut c_void, keyval: *mut c_int, extra_state: *mut $number,
            ierror: *mut c_int,
        ) {
            let extra = key(copy_fn as usize, delete_fn as usize, (*extra_state).into());
            let (copy, delete) = (copy::<$handle, $number> as *mut c_void, delete::<$handle, $number> as *mut c_void);
            answer(ierror, call(copy, delete, keyval, extra))
        }
        $set $p_set $short_set (
            object: *mut c_int, keyval: *mut c_int, attribute: *mut $number, ierror: *mut c_int,
        ) {
            let address = cell((*attribute).into());
            let code = call(handle(*object), *keyval, address);
            if code != MPI_SUCCESS {
                cells().remove(&(address as usize));
            }
            answer(ierror, code)
        }
        $get $p_get $short_get (
            object: *mut c_int, keyval: *mut c_int, attribute: *mut $number, flag: *mut c_int,
            ierror: *mut c_int,
        ) {
            let mut address: *mut c_void = std::ptr::null_mut();
            let code = call(handle(*object), *keyval, (&raw mut address).cast(), flag);
            if code == MPI_SUCCESS && *flag != 0 {
                *attribute = <$number>::of(value_of(*keyval, address));
            }
            answer(ierror, code)
        }
    )* } };
}

attributes! {
    MPI_Comm MPI_Aint:
        MPI_Comm_create_keyval PMPI_Comm_create_keyval "comm_create_keyval"
        MPI_Comm_set_attr PMPI_Comm_set_attr "comm_set_attr"
        MPI_Comm_get_attr PMPI_Comm_get_attr "comm_get_attr";
    MPI_Datatype MPI_Aint:
        MPI_Type_create_keyval PMPI_Type_create_keyval "type_create_keyval"
        MPI_Type_set_attr PMPI_Type_set_attr "type_set_attr"
        MPI_Type_get_attr PMPI_Type_get_attr "type_get_attr";
    MPI_Win MPI_Aint:
        MPI_Win_create_keyval PMPI_Win_create_keyval "win_create_keyval"
        MPI_Win_set_attr PMPI_Win_set_attr "win_set_attr"
        MPI_Win_get_attr PMPI_Win_get_attr "win_get_attr";
    MPI_Comm c_int:
        MPI_Keyval_create PMPI_Keyval_create "keyval_create"
        MPI_Attr_put PMPI_Attr_put "attr_put"
        MPI_Attr_get PMPI_Attr_get "attr_get";
}

/// The predefined procedures (§7.7, §16.1), each with its number: a null one copies nothing, or does nothing.
macro_rules! predefined {
    ($($number:ty: $null:literal $dup:literal $delete:literal;)*) => { $(
        const _: () = {
            #[unsafe(export_name = $null)]
            unsafe extern "C" fn null(
                _object: *mut c_int, _keyval: *mut c_int, _extra: *mut $number, _from: *mut $number,
                _to: *mut $number, flag: *mut c_int, ierror: *mut c_int,
            ) {
                // SAFETY: these are places for results.
                unsafe {
                    *flag = 0;
                    answer(ierror, MPI_SUCCESS)
                }
            }

            #[unsafe(export_name = $dup)]
            unsafe extern "C" fn dup(
                _object: *mut c_int, _keyval: *mut c_int, _extra: *mut $number, from: *mut $number,
                to: *mut $number, flag: *mut c_int, ierror: *mut c_int,
            ) {
                // SAFETY: as above; the value is there.
                unsafe {
                    *to = *from;
                    *flag = 1;
                    answer(ierror, MPI_SUCCESS)
                }
            }

            #[unsafe(export_name = $delete)]
            unsafe extern "C" fn delete(
                _object: *mut c_int, _keyval: *mut c_int, _value: *mut $number, _extra: *mut $number,
                ierror: *mut c_int,
            ) {
                // SAFETY: this is a place for a result.
                unsafe { answer(ierror, MPI_SUCCESS) }
            }
        };
    )* };
}

predefined! {
    MPI_Aint: "mpi_comm_null_copy_fn_" "mpi_comm_dup_fn_" "mpi_comm_null_delete_fn_";
    MPI_Aint: "mpi_type_null_copy_fn_" "mpi_type_dup_fn_" "mpi_type_null_delete_fn_";
    MPI_Aint: "mpi_win_null_copy_fn_" "mpi_win_dup_fn_" "mpi_win_null_delete_fn_";
    c_int: "mpi_null_copy_fn_" "mpi_dup_fn_" "mpi_null_delete_fn_";
}
