//! Sessions, and handles for performance variables in them (MPI-5.0, §15.3.7): each handle measures for
//! itself.

use super::handle::{Handle, Session};
use super::life::{Tools, tools};
use super::measure::Measure;
use super::performance::{Performance, TABLE};
use super::reading::Reading;
use super::value::{Form, Value};
use super::{Told, at};
use crate::constants::*;
use crate::process::monitor;
use std::ffi::{c_int, c_void};

/// The performance variable of an index.
///
/// # Errors
/// There is no such index.
pub fn variable(index: c_int) -> Told<&'static Performance> {
    at(&TABLE, index)
}

/// How many performance variables there are.
pub fn count() -> c_int {
    TABLE.len() as c_int
}

/// The index of a name in a class.
///
/// # Errors
/// There is no such name of that class.
pub fn index(name: &str, class: c_int) -> Told<c_int> {
    let place = TABLE.iter().position(|variable| variable.name == name && variable.class == class);
    place.map(|place| place as c_int).ok_or(MPI_T_ERR_INVALID_NAME)
}

/// MPI_T_pvar_session_create.
///
/// # Errors
/// The interface is not initialised.
pub fn create() -> Told<MPI_T_pvar_session> {
    let mut tools = tools()?;
    let session = tools.handle();
    tools.sessions.insert(session, Session::default());
    Ok(MPI_T_pvar_session(session))
}

/// MPI_T_pvar_session_free: its handles go with it.
///
/// # Errors
/// No such session.
pub fn free_session(session: &mut MPI_T_pvar_session) -> Told {
    tools()?.sessions.remove(&session.0).ok_or(MPI_T_ERR_INVALID_SESSION)?;
    *session = MPI_T_PVAR_SESSION_NULL;
    Ok(())
}

/// MPI_T_pvar_handle_alloc: a handle, bound to the object of this handle where the variable wants one. Every
/// variable is one element.
///
/// # Errors
/// No such session, no such variable, no such object.
pub fn alloc(
    session: MPI_T_pvar_session,
    index: c_int,
    object: impl FnOnce() -> Told<usize>,
) -> Told<MPI_T_pvar_handle> {
    tools()?.session(session)?;
    let variable = variable(index)?;
    let object = if variable.bind == MPI_T_BIND_NO_OBJECT { 0 } else { object()? };
    let mut reading = Reading::now();
    let mut handle = Handle { place: index as usize, object, measure: Measure::Nothing };
    let now = handle.now(&mut reading)?.whole();
    handle.measure = match () {
        () if variable.grows() => Measure::Growth { before: 0, since: None },
        () if variable.watch.is_some() => Measure::Most { known: now, runs: false },
        () => Measure::Nothing,
    };
    let mut tools = tools()?;
    let number = tools.handle();
    tools.session(session)?.handles.insert(number, handle);
    Ok(MPI_T_pvar_handle(number))
}

/// MPI_T_pvar_handle_free.
///
/// # Errors
/// No such session, or no such handle of it.
pub fn free(session: MPI_T_pvar_session, handle: &mut MPI_T_pvar_handle) -> Told {
    let removed = tools()?.session(session)?.handles.remove(&handle.0);
    removed.ok_or(MPI_T_ERR_INVALID_HANDLE)?;
    *handle = MPI_T_PVAR_HANDLE_NULL;
    Ok(())
}

/// Does something with a handle of a session.
fn with<T>(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    act: impl FnOnce(&mut Handle, &mut Reading) -> Told<T>,
) -> Told<T> {
    // The process before the tools' lock: see `Lasting`.
    let mut reading = Reading::now();
    let mut tools = tools()?;
    let handle = tools.session(session)?.handles.get_mut(&handle.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
    act(handle, &mut reading)
}

/// Whether there is such a handle of the session.
///
/// # Errors
/// No such session, or no such handle of it.
pub fn check(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Told {
    with(session, handle, |_, _| Ok(()))
}

/// Does something with a handle of a session that may be all of them; to all of them what can be done is
/// done, and `skips` says whether a variable is none of these.
fn with_all(
    session: MPI_T_pvar_session,
    handle: MPI_T_pvar_handle,
    skips: fn(&Performance) -> bool,
    act: impl Fn(&mut Tools, usize, &mut Reading) -> Told,
) -> Told {
    let mut reading = Reading::now();
    let mut tools = tools()?;
    let handles = &tools.session(session)?.handles;
    if handle != MPI_T_PVAR_ALL_HANDLES {
        handles.get(&handle.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
        return act(&mut tools, handle.0, &mut reading);
    }
    let fitting = handles.iter().filter(|(_, handle)| !skips(handle.variable()));
    let numbers: Vec<_> = fitting.map(|(number, _)| *number).collect();
    let mut all = Ok(());
    for number in numbers {
        all = all.and(act(&mut tools, number, &mut reading));
    }
    all
}

/// The handle of a number, which is in the session.
fn known(tools: &mut Tools, session: MPI_T_pvar_session, number: usize) -> Told<&mut Handle> {
    tools.session(session)?.handles.get_mut(&number).ok_or(MPI_T_ERR_INVALID_HANDLE)
}

/// Has a variable that is a most be watched anew: what others have measured of it stays theirs.
fn watch_anew(tools: &mut Tools, place: usize, reading: &mut Reading) -> Told {
    let Some(watch) = TABLE[place].watch else { return Ok(()) };
    let all = tools.sessions.values_mut().flat_map(|session| session.handles.values_mut());
    for handle in all.filter(|handle| handle.place == place) {
        let now = handle.now(reading)?.whole();
        handle.measure.take_over(now);
    }
    watch(reading);
    Ok(())
}

/// MPI_T_pvar_start, also of all handles of a session.
///
/// # Errors
/// No such session, no such handle of it, or a variable that always runs.
pub fn start(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Told {
    with_all(session, handle, Performance::is_continuous, |tools, number, reading| {
        let handle = *known(tools, session, number)?;
        if handle.variable().is_continuous() {
            return Err(MPI_T_ERR_PVAR_NO_STARTSTOP);
        }
        if handle.measure.runs() {
            return Ok(());
        }
        if handle.variable().needs_mmds {
            monitor::record();
        }
        watch_anew(tools, handle.place, reading)?;
        let now = handle.now(reading)?.whole();
        known(tools, session, number)?.measure.start(now);
        Ok(())
    })
}

/// MPI_T_pvar_stop, also of all handles of a session.
///
/// # Errors
/// As [`start`].
pub fn stop(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Told {
    with_all(session, handle, Performance::is_continuous, |tools, number, reading| {
        let handle = known(tools, session, number)?;
        if handle.variable().is_continuous() {
            return Err(MPI_T_ERR_PVAR_NO_STARTSTOP);
        }
        let now = handle.now(reading)?.whole();
        handle.measure.stop(now);
        Ok(())
    })
}

/// MPI_T_pvar_read.
///
/// # Errors
/// No such session, or no such handle of it.
pub fn read(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Told<Value> {
    with(session, handle, |handle, reading| handle.value(reading))
}

/// MPI_T_pvar_write: the value is the program's, read in the form of the variable.
///
/// # Errors
/// No such session, no such handle of it, or a variable that cannot be written.
///
/// # Safety
/// `from` must be readable for a value of the variable.
pub unsafe fn write(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, from: *const c_void) -> Told {
    with(session, handle, |handle, reading| {
        if handle.variable().is_continuous() {
            return Err(MPI_T_ERR_PVAR_NO_WRITE);
        }
        // SAFETY: the caller's promise; what can be written is a number that is not negative.
        let value = unsafe { Form::Whole.read(from) }.whole();
        let now = handle.now(reading)?.whole();
        handle.measure.set(value, now);
        Ok(())
    })
}

/// MPI_T_pvar_reset, also of all handles of a session.
///
/// # Errors
/// No such session, no such handle of it, or a variable that cannot be written.
pub fn reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Told {
    with_all(session, handle, Performance::is_continuous, |tools, number, reading| {
        let handle = *known(tools, session, number)?;
        if handle.variable().is_continuous() {
            return Err(MPI_T_ERR_PVAR_NO_WRITE);
        }
        watch_anew(tools, handle.place, reading)?;
        known(tools, session, number)?.reset(reading)
    })
}

/// MPI_T_pvar_readreset: nothing is lost between the two.
///
/// # Errors
/// No such session, no such handle of it, or a variable that cannot be written.
pub fn read_and_reset(session: MPI_T_pvar_session, handle: MPI_T_pvar_handle) -> Told<Value> {
    with(session, handle, |handle, reading| {
        // A most is watched by others, too: between its reading and its watching anew something may come.
        if !handle.variable().grows() {
            return Err(MPI_T_ERR_PVAR_NO_ATOMIC);
        }
        let now = handle.now(reading)?.whole();
        let value = handle.measure.value(now);
        handle.measure.set(0, now);
        Ok(Value::Whole(value))
    })
}
