//! Registrations for events, and events that have happened (MPI-5.0, §15.3.8).

use super::event::{self, Event};
use super::life::check;
use super::reading::Reading;
use super::value::Value;
use super::{Told, at};
use crate::constants::*;
use crate::error::MpiError;
use crate::info::{self, Pairs};
use crate::object::event::{self as happenings, Callback, EVENTS, EventKind, Instance, Registration};
use crate::process::{self, SOURCE, Watch, begin_to_look_at_slices};
use std::ffi::{c_int, c_void};

/// The levels of safety, from that which asks nothing.
const LEVELS: [MPI_T_cb_safety; 4] = [
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
];

fn checked(safety: MPI_T_cb_safety) -> Told {
    if LEVELS.contains(&safety) { Ok(()) } else { Err(MPI_T_ERR_INVALID) }
}

fn hints(info: MPI_Info) -> Told<Pairs> {
    info::pairs(info).map_err(|error: MpiError| error.class())
}

/// Takes over hints; what is not named stays.
fn update(hints: &mut Pairs, more: Pairs) {
    for (key, value) in more {
        match hints.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => hints.push((key, value)),
        }
    }
}

/// MPI_T_event_handle_alloc: a registration, bound to the object of this handle where the event wants one.
///
/// # Errors
/// No such event, no such object, no such info object.
pub fn alloc(
    index: c_int,
    object: impl FnOnce() -> Told<usize>,
    info: MPI_Info,
) -> Told<MPI_T_event_registration> {
    check()?;
    let Event { kind, bind, .. } = *event::get(index)?;
    let hints = hints(info)?;
    let mut reading = Reading::now();
    let mut bound = None;
    if bind == MPI_T_BIND_MPI_COMM {
        reading.object = object()?;
        let missing = if reading.is_elsewhere { MPI_T_ERR_NOT_ACCESSIBLE } else { MPI_T_ERR_INVALID_HANDLE };
        reading.communicator().ok_or(missing)?;
        bound = Some(MPI_Comm(reading.object));
    }
    let (callbacks, dropped_handler) = (Vec::new(), None);
    let registration = Registration { kind, bound, hints, callbacks, dropped_handler, dropped: 0 };
    Ok(MPI_T_event_registration(EVENTS.lock().add(registration)))
}

/// Does something with a registration.
fn with<T>(
    registration: MPI_T_event_registration,
    act: impl FnOnce(&mut Registration) -> Told<T>,
) -> Told<T> {
    check()?;
    let mut events = EVENTS.lock();
    act(events.registrations.get_mut(&registration.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?)
}

/// MPI_T_event_handle_set_info: what `info` does not name stays.
///
/// # Errors
/// No such registration, no such info object.
pub fn set_info(registration: MPI_T_event_registration, info: MPI_Info) -> Told {
    let more = hints(info)?;
    with(registration, |of| {
        update(&mut of.hints, more);
        Ok(())
    })
}

/// MPI_T_event_handle_get_info: a new info object.
///
/// # Errors
/// No such registration.
pub fn get_info(registration: MPI_T_event_registration) -> Told<MPI_Info> {
    with(registration, |of| Ok(of.hints.clone())).map(info::of_pairs)
}

/// MPI_T_event_register_callback: no function takes that of the level away.
///
/// # Errors
/// No such registration, no such level, no such info object.
pub fn register(
    registration: MPI_T_event_registration,
    safety: MPI_T_cb_safety,
    info: MPI_Info,
    user_data: *mut c_void,
    function: Option<MPI_T_event_cb_function>,
) -> Told {
    with(registration, |_| Ok(()))?;
    checked(safety)?;
    let (hints, user_data) = (hints(info)?, user_data.expose_provenance());
    if !happenings::is_listened(EventKind::SliceBegun) {
        // What has begun before is none of its business.
        begin_to_look_at_slices(Reading::now().nic(|memory| memory.control().slice.get()));
    }
    let callback = function.map(|function| Callback { safety, function, user_data, hints });
    {
        let mut events = EVENTS.lock();
        process::listen(events.register(registration.0, safety, callback));
    }
    // From now on the launcher waits for this process to be told of a hang.
    if happenings::is_listened(EventKind::HangFound)
        && let Some(process) = &mut Reading::now().process
        && process.watch.is_none()
    {
        process.watch = Some(Watch::launcher(process.port.memory()));
    }
    Ok(())
}

/// The function of a level.
fn with_callback<T>(
    registration: MPI_T_event_registration,
    safety: MPI_T_cb_safety,
    act: impl FnOnce(&mut Callback) -> T,
) -> Told<T> {
    with(registration, |of| {
        checked(safety)?;
        let callback = of.callbacks.iter_mut().find(|callback| callback.safety == safety);
        callback.map(act).ok_or(MPI_T_ERR_INVALID_HANDLE)
    })
}

/// MPI_T_event_callback_set_info: what `info` does not name stays.
///
/// # Errors
/// No such registration, no function of that level, no such info object.
pub fn set_callback_info(
    registration: MPI_T_event_registration,
    safety: MPI_T_cb_safety,
    info: MPI_Info,
) -> Told {
    let more = hints(info)?;
    with_callback(registration, safety, |callback| update(&mut callback.hints, more))
}

/// MPI_T_event_callback_get_info: a new info object.
///
/// # Errors
/// No such registration, no function of that level.
pub fn get_callback_info(registration: MPI_T_event_registration, safety: MPI_T_cb_safety) -> Told<MPI_Info> {
    with_callback(registration, safety, |callback| callback.hints.clone()).map(info::of_pairs)
}

/// MPI_T_event_set_dropped_handler: none takes it away.
///
/// # Errors
/// No such registration.
pub fn set_dropped_handler(
    registration: MPI_T_event_registration,
    handler: Option<MPI_T_event_dropped_cb_function>,
) -> Told {
    with(registration, |of| {
        of.dropped_handler = handler;
        Ok(())
    })
}

/// MPI_T_event_handle_free: `function` is called when none of the registration's functions runs, and none
/// will.
///
/// # Errors
/// No such registration.
///
/// # Safety
/// `function` must be one of the program's.
pub unsafe fn free(
    registration: MPI_T_event_registration,
    user_data: *mut c_void,
    function: Option<MPI_T_event_free_cb_function>,
) -> Told {
    with(registration, |_| Ok(()))?;
    let freed = {
        let mut events = EVENTS.lock();
        let (freed, listens) = events.free(registration.0, function, user_data.expose_provenance());
        process::listen(listens);
        freed
    };
    if let Some(freed) = freed {
        // SAFETY: the caller's promise.
        unsafe { freed.call() };
    }
    Ok(())
}

/// The event of a handle, while a function that was told of it runs.
fn instance(handle: MPI_T_event_instance) -> Told<Instance> {
    check()?;
    EVENTS.lock().instance(handle.0).copied().ok_or(MPI_T_ERR_INVALID_HANDLE)
}

/// MPI_T_event_read: an element.
///
/// # Errors
/// No such event, no such element.
pub fn read(handle: MPI_T_event_instance, element: c_int) -> Told<Value> {
    let instance = instance(handle)?;
    at(&event::elements(&instance.happening), element).copied()
}

/// MPI_T_event_copy: all elements, and where they go.
///
/// # Errors
/// No such event.
pub fn copy(handle: MPI_T_event_instance) -> Told<Vec<(usize, Value)>> {
    let instance = instance(handle)?;
    let event = &event::TABLE[instance.happening.kind() as usize];
    Ok(event.displacements().zip(event::elements(&instance.happening)).collect())
}

/// MPI_T_event_get_timestamp.
///
/// # Errors
/// No such event.
pub fn timestamp(handle: MPI_T_event_instance) -> Told<MPI_Count> {
    instance(handle).map(|instance| event::ticks(instance.time_ns))
}

/// MPI_T_event_get_source.
///
/// # Errors
/// No such event.
pub fn source(handle: MPI_T_event_instance) -> Told<c_int> {
    instance(handle).map(|_| SOURCE)
}
