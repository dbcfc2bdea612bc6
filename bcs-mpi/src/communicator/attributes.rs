//! Attributes: what libraries keep with a communicator (MPI-5.0, §7.7), and the predefined ones (§9.1.2).
//!
//! Callbacks run without the library's lock, as they may call MPI.

use crate::constants::*;
use crate::environment::lasting::lasting;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::{self, Process};
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};

/// Attribute values by key, in the order in which they were set.
#[derive(Debug, Default)]
pub struct Attributes {
    values: Vec<(c_int, usize)>,
}

impl Attributes {
    fn get(&self, key: c_int) -> Option<usize> {
        self.values.iter().find(|(of, _)| *of == key).map(|(_, value)| *value)
    }
}

/// A key: what happens to its attributes.
#[derive(Clone, Copy, Debug)]
struct Key {
    copy: usize,
    delete: usize,
    extra_state: usize,
    /// Attributes with it, and 1 while the program has not freed it.
    references: u32,
    freed: bool,
}

/// The attribute keys of communicators.
#[derive(Debug)]
pub struct Keys {
    keys: BTreeMap<c_int, Key>,
    next: c_int,
}

impl Default for Keys {
    fn default() -> Self {
        Self { keys: BTreeMap::new(), next: FIRST_KEY }
    }
}

/// Above all predefined keys.
const FIRST_KEY: c_int = 0x1000;

impl Keys {
    fn release(&mut self, key: c_int) {
        if let Some(found) = self.keys.get_mut(&key) {
            found.references -= 1;
            if found.references == 0 {
                self.keys.remove(&key);
            }
        }
    }
}

#[cold]
fn wrong_key(argument: &'static str, value: c_int) -> MpiError {
    MpiError::argument(
        MPI_ERR_KEYVAL,
        argument,
        value,
        "it must be a key that MPI_Comm_create_keyval made and nobody freed",
    )
}

fn live_key(process: &Process, argument: &'static str, key: c_int) -> MpiResult<Key> {
    match process.communicators.keys.keys.get(&key) {
        Some(found) if !found.freed => Ok(*found),
        _ => Err(wrong_key(argument, key)),
    }
}

/// MPI_Comm_create_keyval. The callbacks are addresses; 0 and, for the copy, 1 are the predefined ones.
///
/// # Errors
/// Before MPI_Init and after MPI_Finalize.
pub fn create_keyval(copy: usize, delete: usize, extra_state: *mut c_void) -> MpiResult<c_int> {
    let mut process = process::enter()?;
    let keys = &mut process.communicators.keys;
    let key = keys.next;
    keys.next += 1;
    let extra_state = extra_state.expose_provenance();
    keys.keys.insert(key, Key { copy, delete, extra_state, references: 1, freed: false });
    Ok(key)
}

/// MPI_Comm_free_keyval: attributes with the key stay.
///
/// # Errors
/// No such key.
pub fn free_keyval(key: &mut c_int) -> MpiResult {
    let mut process = process::enter()?;
    live_key(&process, "comm_keyval", *key)?;
    let keys = &mut process.communicators.keys;
    if let Some(found) = keys.keys.get_mut(key) {
        found.freed = true;
    }
    keys.release(*key);
    *key = MPI_KEYVAL_INVALID;
    Ok(())
}

/// MPI_Comm_set_attr. A value that is replaced is deleted first.
///
/// # Errors
/// No such communicator or key, or the delete callback refuses.
pub fn set(comm: MPI_Comm, key: c_int, value: *mut c_void) -> MpiResult {
    let old = {
        let process = process::enter()?;
        let old = process.communicator(comm)?.attributes.get(key);
        live_key(&process, "comm_keyval", key)?;
        old
    };
    if old.is_some() {
        delete(comm, key)?;
    }
    let mut process = process::enter()?;
    process.communicator_mut(comm)?.attributes.values.push((key, value.expose_provenance()));
    if let Some(found) = process.communicators.keys.keys.get_mut(&key) {
        found.references += 1;
    }
    Ok(())
}

/// MPI_Comm_get_attr: the value, or none. Predefined values are addresses of integers.
///
/// # Errors
/// No such communicator or key.
pub fn get(comm: MPI_Comm, key: c_int) -> MpiResult<Option<*mut c_void>> {
    static TAG_UB: c_int = c_int::MAX;
    static ANYBODY: c_int = MPI_ANY_SOURCE;
    static NOBODY: c_int = MPI_PROC_NULL;
    static YES: c_int = 1;
    let process = process::enter()?;
    let communicator = process.communicator(comm)?;
    let of = |int: &c_int| Some(std::ptr::from_ref(int).cast_mut().cast());
    Ok(match key {
        MPI_TAG_UB => of(&TAG_UB),
        MPI_IO => of(&ANYBODY),
        MPI_HOST => of(&NOBODY),
        // One node, one clock.
        MPI_WTIME_IS_GLOBAL => of(&YES),
        MPI_APPNUM => process.place.appnum.as_ref().and_then(of),
        MPI_UNIVERSE_SIZE => process.place.universe_size.as_ref().and_then(of),
        MPI_LASTUSEDCODE => of(&lasting().codes.last_used),
        _ => {
            live_key(&process, "comm_keyval", key)?;
            communicator.attributes.get(key).map(std::ptr::with_exposed_provenance_mut)
        }
    })
}

/// MPI_Comm_delete_attr.
///
/// # Errors
/// No such communicator, key or attribute, or the delete callback refuses.
pub fn delete(comm: MPI_Comm, key: c_int) -> MpiResult {
    let (value, found) = {
        let process = process::enter()?;
        let value = process.communicator(comm)?.attributes.get(key);
        let found = process.communicators.keys.keys.get(&key).copied();
        match (value, found) {
            (Some(value), Some(found)) => (value, found),
            _ => return Err(wrong_key("comm_keyval", key)),
        }
    };
    call_delete(comm, key, value, &found)?;
    let mut process = process::enter()?;
    process.communicator_mut(comm)?.attributes.values.retain(|(of, _)| *of != key);
    process.communicators.keys.release(key);
    Ok(())
}

fn call_delete(comm: MPI_Comm, key: c_int, value: usize, of: &Key) -> MpiResult {
    if of.delete == MPI_COMM_NULL_DELETE_FN {
        return Ok(());
    }
    // SAFETY: the program gave this address as a delete callback when it made the key.
    let function: MPI_Comm_delete_attr_function =
        unsafe { std::mem::transmute::<*const (), _>(std::ptr::with_exposed_provenance(of.delete)) };
    let (value, extra) =
        (std::ptr::with_exposed_provenance_mut(value), std::ptr::with_exposed_provenance_mut(of.extra_state));
    // SAFETY: as above; no guard is held.
    match unsafe { function(comm, key, value, extra) } {
        MPI_SUCCESS => Ok(()),
        code => Err(MpiError::new(Problem::Code(code))),
    }
}

/// Deletes all attributes of a communicator, the last one set first.
pub(super) fn delete_all(comm: MPI_Comm) -> MpiResult {
    loop {
        let last = process::enter()?.communicator(comm)?.attributes.values.last().copied();
        let Some((key, _)) = last else { return Ok(()) };
        delete(comm, key)?;
    }
}

/// What a duplicate of the communicator has.
pub(super) fn copy_all(comm: MPI_Comm) -> MpiResult<Attributes> {
    let values: Vec<(c_int, usize, Key)> = {
        let process = process::enter()?;
        let keys = &process.communicators.keys.keys;
        let values = &process.communicator(comm)?.attributes.values;
        values.iter().filter_map(|(key, value)| Some((*key, *value, *keys.get(key)?))).collect()
    };
    let mut copied = Attributes::default();
    for (key, value, of) in values {
        if let Some(new) = call_copy(comm, key, value, &of)? {
            copied.values.push((key, new));
            if let Some(found) = process::enter()?.communicators.keys.keys.get_mut(&key) {
                found.references += 1;
            }
        }
    }
    Ok(copied)
}

fn call_copy(comm: MPI_Comm, key: c_int, value: usize, of: &Key) -> MpiResult<Option<usize>> {
    match of.copy {
        MPI_COMM_NULL_COPY_FN => return Ok(None),
        MPI_COMM_DUP_FN => return Ok(Some(value)),
        _ => {}
    }
    // SAFETY: the program gave this address as a copy callback when it made the key.
    let function: MPI_Comm_copy_attr_function =
        unsafe { std::mem::transmute::<*const (), _>(std::ptr::with_exposed_provenance(of.copy)) };
    let (value, extra) =
        (std::ptr::with_exposed_provenance_mut(value), std::ptr::with_exposed_provenance_mut(of.extra_state));
    let (mut new, mut flag) = (std::ptr::null_mut::<c_void>(), 0);
    // SAFETY: as above; the result goes to `new`, the way callbacks store a pointer; no guard is held.
    match unsafe { function(comm, key, extra, value, (&raw mut new).cast(), &mut flag) } {
        MPI_SUCCESS => Ok((flag != 0).then(|| new.expose_provenance())),
        code => Err(MpiError::new(Problem::Code(code))),
    }
}
