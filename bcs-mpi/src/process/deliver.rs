//! The delivery of events to a tool (MPI-5.0, §15.3.8): when a call of the program ends, and the library's
//! lock is free.
//!
//! So a tool's function may call whatever the program may: nothing is asked of its safety. One thread
//! delivers at a time, and what a tool's function brings about is delivered after it, so that events come in
//! the order in which they happened.

use crate::constants::*;
use crate::object::event::{self, Call, EVENTS, EventKind, Happening};
use nic_emu::memory::NicMemory;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether some thread delivers.
static DELIVERS: AtomicBool = AtomicBool::new(false);

/// The slice that had begun last when this process looked last.
static SLICE_SEEN: AtomicU64 = AtomicU64::new(0);

/// The source of all events, which is this process.
pub const SOURCE: i32 = 0;

/// Delivers what has happened. The caller holds no lock of the library.
#[cold]
pub(crate) fn deliver() {
    if DELIVERS.swap(true, Ordering::Acquire) {
        return;
    }
    while let Some(call) = take_call() {
        make(call);
    }
    DELIVERS.store(false, Ordering::Release);
}

/// The lock is free again when this has returned.
fn take_call() -> Option<Call> {
    EVENTS.lock().next_call()
}

fn make(call: Call) {
    // SAFETY: functions that the tool has registered, with what it has registered them with.
    unsafe {
        match call {
            Call::Event(handle, registration, function, safety, user_data) => {
                let (instance, of) = (MPI_T_event_instance(handle), MPI_T_event_registration(registration));
                function(instance, of, safety, std::ptr::with_exposed_provenance_mut(user_data));
                EVENTS.lock().end(handle);
            }
            Call::Dropped(count, registration, function, user_data) => {
                let of = MPI_T_event_registration(registration);
                let count = MPI_Count::try_from(count).unwrap_or(MPI_Count::MAX);
                function(
                    count,
                    of,
                    SOURCE,
                    MPI_T_CB_REQUIRE_NONE,
                    std::ptr::with_exposed_provenance_mut(user_data),
                );
            }
            Call::Freed(freed) => freed.call(),
        }
    }
}

/// The slices before this one are none that a tool is told of.
pub(crate) fn begin_to_look_at_slices(slice: u64) {
    SLICE_SEEN.store(slice, Ordering::Relaxed);
}

/// Notes that the NIC has begun slices since this process looked last.
#[cold]
pub(super) fn look_at_slices(memory: &NicMemory) {
    if !event::is_listened(EventKind::SliceBegun) {
        return;
    }
    let slice = memory.control().slice.get();
    let seen = SLICE_SEEN.swap(slice, Ordering::Relaxed);
    if slice > seen {
        event::note(Happening::SliceBegun { slice, passed: slice - seen });
    }
}

/// Tells a tool of a hang before the job is ended. The caller holds no lock of the library.
#[cold]
pub(super) fn tell_of_hang(slice: u64) {
    if event::is_listened(EventKind::HangFound) {
        event::note(Happening::HangFound { slice });
        deliver();
    }
}
