//! What only tests call: chance, time and death. These functions are no part of libelan.

use crate::interface::{State, forget, machine_of, state_of};
use crate::machine::{Capability, Counts, lock};
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::Arc;
use std::time::Duration;

/// The machine of the process goes on from this seed.
///
/// # Safety
/// As of all functions here: the state is one that `elan_init` has returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_test_seed(state: *mut State, seed: u64) {
    // SAFETY: by the contract.
    lock(&unsafe { state_of(state) }.machine).seed(seed);
}

/// Does a piece of an operation of the process's machine. How many could go on; when there is none, nothing
/// is under way but what waits for the dead.
///
/// # Safety
/// As [`elan_test_seed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_test_step(state: *mut State) -> c_int {
    // SAFETY: by the contract.
    let ready = lock(&unsafe { state_of(state) }.machine).step();
    c_int::try_from(ready).unwrap_or(c_int::MAX)
}

/// A process dies.
///
/// # Safety
/// As [`elan_test_seed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_test_kill(state: *mut State, process: c_uint) {
    // SAFETY: by the contract.
    lock(&unsafe { state_of(state) }.machine).kill(process);
}

/// What the machine of the process has done so far.
///
/// # Safety
/// As [`elan_test_seed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_test_counts(state: *mut State) -> Counts {
    // SAFETY: by the contract.
    lock(&unsafe { state_of(state) }.machine).counts
}

/// From now on a thread does the operations of the process's machine, until the machine is forgotten.
///
/// # Safety
/// As [`elan_test_seed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_test_run(state: *mut State) {
    // SAFETY: by the contract.
    let machine = Arc::downgrade(&unsafe { state_of(state) }.machine);
    std::thread::spawn(move || {
        while let Some(machine) = machine.upgrade() {
            let has_ended = lock(&machine).is_forgotten();
            if has_ended {
                return;
            }
            if lock(&machine).step() == 0 {
                drop(machine);
                std::thread::sleep(Duration::from_micros(20));
            }
        }
    });
}

/// Forgets a machine, by the capability of one of its processes: their memory is no more.
///
/// # Safety
/// The text ends with a zero, and nobody uses the states of the machine, or its memory, any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_test_forget(text: *const c_char) {
    // SAFETY: by the contract.
    let text = unsafe { CStr::from_ptr(text) }.to_str().unwrap_or_default();
    if let Some(capability) = Capability::parse(text) {
        lock(&machine_of(&capability)).forget();
        forget(&capability);
    }
}

/// How many operations of the process's machine could go on.
///
/// # Safety
/// As [`elan_test_seed`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn elan_test_ready(state: *mut State) -> c_int {
    // SAFETY: by the contract.
    let ready = lock(&unsafe { state_of(state) }.machine).ready().len();
    c_int::try_from(ready).unwrap_or(c_int::MAX)
}
