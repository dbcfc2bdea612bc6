//! The calls about attributes, of communicators, datatypes and windows: keys made and freed, values set,
//! asked, copied and deleted (MPI-5.0, §7.7).
//!
//! Callbacks run without the library's lock, as they may call MPI.

use crate::constants::*;
use crate::error::{MpiError, MpiResult, answered, named, names};
use crate::object::attributes::{Attributes, KINDS, Key, Keys};
use crate::process::{self, Process};
use std::ffi::{c_int, c_void};

/// A kind of object that has attributes, by its handle.
pub trait Attributed: Copy {
    /// What the argument with a key is called in the standard.
    const KEYVAL: &'static str;
    /// The call that makes keys.
    const MAKER: &'static str;

    /// The attributes of an object.
    ///
    /// # Errors
    /// The handle names none.
    fn attributes(self, process: &mut Process) -> MpiResult<&mut Attributes>;

    /// The keys of this kind.
    fn keys(process: &mut Process) -> &mut Keys;

    /// The address of a predefined attribute's value; none where the key is no predefined one, none in it
    /// where it has no value.
    fn predefined(self, _process: &Process, _key: c_int) -> Option<Option<*mut c_void>> {
        None
    }
}

/// Keys that a message names.
const PREDEFINED: &[(c_int, &str)] = names![
    MPI_KEYVAL_INVALID MPI_TAG_UB MPI_HOST MPI_IO MPI_WTIME_IS_GLOBAL MPI_APPNUM MPI_LASTUSEDCODE
    MPI_UNIVERSE_SIZE MPI_WIN_BASE MPI_WIN_SIZE MPI_WIN_DISP_UNIT MPI_WIN_CREATE_FLAVOR MPI_WIN_MODEL
];

#[cold]
fn wrong_key<H: Attributed>(value: c_int) -> MpiError {
    let allowed = format!("it must be a key that {} made and nobody freed", H::MAKER);
    MpiError::argument(MPI_ERR_KEYVAL, H::KEYVAL, named(value, PREDEFINED), allowed)
}

/// Checks that a key is one that the program has not freed.
fn check_live<H: Attributed>(process: &mut Process, key: c_int) -> MpiResult {
    match H::keys(process).keys.get(&key) {
        Some(found) if !found.freed => Ok(()),
        _ => Err(wrong_key::<H>(key)),
    }
}

/// MPI_Comm_create_keyval and its kin. The callbacks are addresses; 0 and, for the copy, 1 are the predefined
/// ones.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
pub fn create_keyval<H: Attributed>(
    copy: usize,
    delete: usize,
    extra_state: *mut c_void,
) -> MpiResult<c_int> {
    let mut process = process::enter()?;
    let keys = H::keys(&mut process);
    let key = keys.next;
    keys.next += KINDS;
    let extra_state = extra_state.expose_provenance();
    keys.keys.insert(key, Key { copy, delete, extra_state, references: 1, freed: false });
    Ok(key)
}

/// MPI_Comm_free_keyval and its kin: attributes with the key stay, and as long as there are any, it may be
/// freed again by other names of it.
///
/// # Errors
/// No such key.
pub fn free_keyval<H: Attributed>(key: &mut c_int) -> MpiResult {
    let mut process = process::enter()?;
    let keys = H::keys(&mut process);
    let Some(found) = keys.keys.get_mut(key) else { return Err(wrong_key::<H>(*key)) };
    if !std::mem::replace(&mut found.freed, true) {
        keys.release(*key);
    }
    *key = MPI_KEYVAL_INVALID;
    Ok(())
}

/// MPI_Comm_set_attr and its kin. A value that is replaced is deleted first.
///
/// # Errors
/// No such object or key, or the delete callback refuses.
pub fn set<H: Attributed>(object: H, key: c_int, value: *mut c_void) -> MpiResult {
    let old = {
        let mut process = process::enter()?;
        let old = object.attributes(&mut process)?.get(key);
        check_live::<H>(&mut process, key)?;
        old
    };
    if old.is_some() {
        delete(object, key)?;
    }
    let mut process = process::enter()?;
    object.attributes(&mut process)?.values.push((key, value.expose_provenance()));
    if let Some(found) = H::keys(&mut process).keys.get_mut(&key) {
        found.references += 1;
    }
    Ok(())
}

/// MPI_Comm_get_attr and its kin: the value, or none. Predefined values are addresses of integers. A key that
/// was freed is one as long as the object has an attribute with it.
///
/// # Errors
/// No such object or key.
pub fn get<H: Attributed>(object: H, key: c_int) -> MpiResult<Option<*mut c_void>> {
    let mut process = process::enter()?;
    let value = object.attributes(&mut process)?.get(key);
    if let Some(predefined) = object.predefined(&process, key) {
        return Ok(predefined);
    }
    if value.is_none() {
        check_live::<H>(&mut process, key)?;
    }
    Ok(value.map(std::ptr::with_exposed_provenance_mut))
}

/// MPI_Comm_delete_attr and its kin.
///
/// # Errors
/// No such object, key or attribute, or the delete callback refuses.
pub fn delete<H: Attributed>(object: H, key: c_int) -> MpiResult {
    let (value, found) = {
        let mut process = process::enter()?;
        let value = object.attributes(&mut process)?.get(key);
        match (value, H::keys(&mut process).keys.get(&key)) {
            (Some(value), Some(found)) => (value, *found),
            _ => return Err(wrong_key::<H>(key)),
        }
    };
    call_delete(object, key, value, &found)?;
    let mut process = process::enter()?;
    object.attributes(&mut process)?.values.retain(|(of, _)| *of != key);
    H::keys(&mut process).release(key);
    Ok(())
}

/// A callback, by its address.
///
/// # Safety
/// The address must be that of a function of this type.
pub(crate) unsafe fn callback<F: Copy>(address: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<*const ()>()) };
    let function: *const () = std::ptr::with_exposed_provenance(address);
    // SAFETY: the caller's promise; a handle is passed as its number.
    unsafe { std::mem::transmute_copy(&function) }
}

fn call_delete<H: Attributed>(object: H, key: c_int, value: usize, of: &Key) -> MpiResult {
    type Function<H> = unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void) -> c_int;
    if of.delete == MPI_COMM_NULL_DELETE_FN {
        return Ok(());
    }
    let [value, extra] = [value, of.extra_state].map(std::ptr::with_exposed_provenance_mut);
    // SAFETY: the program gave this address as a delete callback of this kind of object when it made the key;
    // no guard is held.
    answered(unsafe { callback::<Function<H>>(of.delete)(object, key, value, extra) })
}

/// Deletes all attributes of an object, the last one set first.
///
/// # Errors
/// No such object, or a delete callback refuses.
pub fn delete_all<H: Attributed>(object: H) -> MpiResult {
    loop {
        let last = object.attributes(&mut *process::enter()?)?.values.last().copied();
        let Some((key, _)) = last else { return Ok(()) };
        delete(object, key)?;
    }
}

/// What a duplicate of the object has.
///
/// # Errors
/// No such object, or a copy callback refuses.
pub fn copy_all<H: Attributed>(object: H) -> MpiResult<Attributes> {
    let values: Vec<(c_int, usize, Key)> = {
        let mut process = process::enter()?;
        let values = object.attributes(&mut process)?.values.clone();
        let keys = &H::keys(&mut process).keys;
        values.into_iter().filter_map(|(key, value)| Some((key, value, *keys.get(&key)?))).collect()
    };
    let mut copied = Attributes::default();
    for (key, value, of) in values {
        if let Some(new) = call_copy(object, key, value, &of)? {
            copied.values.push((key, new));
            if let Some(found) = H::keys(&mut *process::enter()?).keys.get_mut(&key) {
                found.references += 1;
            }
        }
    }
    Ok(copied)
}

fn call_copy<H: Attributed>(object: H, key: c_int, value: usize, of: &Key) -> MpiResult<Option<usize>> {
    type Function<H> =
        unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
    match of.copy {
        MPI_COMM_NULL_COPY_FN => return Ok(None),
        MPI_COMM_DUP_FN => return Ok(Some(value)),
        _ => {}
    }
    let [value, extra] = [value, of.extra_state].map(std::ptr::with_exposed_provenance_mut);
    let (mut new, mut flag) = (std::ptr::null_mut::<c_void>(), 0);
    // SAFETY: as above, of a copy callback; the result goes to `new`, the way callbacks store a pointer.
    answered(unsafe {
        let copy = callback::<Function<H>>(of.copy);
        copy(object, key, extra, value, (&raw mut new).cast(), &mut flag)
    })?;
    Ok((flag != 0).then(|| new.expose_provenance()))
}

const _: () = {
    // The predefined callbacks are the same numbers for every kind.
    assert!(MPI_COMM_NULL_COPY_FN == MPI_TYPE_NULL_COPY_FN && MPI_COMM_DUP_FN == MPI_TYPE_DUP_FN);
    assert!(MPI_COMM_NULL_DELETE_FN == MPI_TYPE_NULL_DELETE_FN);
    assert!(MPI_COMM_NULL_COPY_FN == MPI_WIN_NULL_COPY_FN && MPI_COMM_DUP_FN == MPI_WIN_DUP_FN);
    assert!(MPI_COMM_NULL_DELETE_FN == MPI_WIN_NULL_DELETE_FN);
};
