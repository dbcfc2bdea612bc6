//! Handles for control variables: their values are read and written (MPI-5.0, §15.3.6).

use super::control::{Access, Control, Place, TABLE};
use super::enumeration::AUTOMATIC;
use super::life::tools;
use super::reading::Reading;
use super::value::{Form, Value};
use super::{Told, at};
use crate::communicator::hints;
use crate::constants::*;
use crate::object::collective::Collective;
use crate::object::event::EVENTS;
use crate::object::wanted::OF_TOOL;
use crate::process::{self, LifePhase, launch};
use std::ffi::{c_int, c_void};

/// The control variable of an index.
///
/// # Errors
/// There is no such index.
pub fn variable(index: c_int) -> Told<&'static Control> {
    at(&TABLE, index)
}

/// How many control variables there are.
pub fn count() -> c_int {
    TABLE.len() as c_int
}

/// The index of a name.
///
/// # Errors
/// There is no such name.
pub fn index(name: &str) -> Told<c_int> {
    let place = TABLE.iter().position(|variable| variable.name == name);
    place.map(|place| place as c_int).ok_or(MPI_T_ERR_INVALID_NAME)
}

/// MPI_T_cvar_handle_alloc: a handle, bound to the object of this handle where the variable wants one. Every
/// variable is one element.
///
/// # Errors
/// No such variable; no such object, or one of a thread that may be in MPI.
pub fn alloc(index: c_int, object: impl FnOnce() -> Told<usize>) -> Told<MPI_T_cvar_handle> {
    let bind = variable(index)?.access.bind();
    let object = if bind == MPI_T_BIND_NO_OBJECT { 0 } else { object()? };
    let reading = Reading::of(object);
    if reading.is_elsewhere && bind != MPI_T_BIND_NO_OBJECT {
        return Err(MPI_T_ERR_NOT_ACCESSIBLE);
    }
    if !reading.has_object(bind) {
        return Err(MPI_T_ERR_INVALID_HANDLE);
    }
    drop(reading);
    let mut tools = tools()?;
    let handle = tools.handle();
    tools.controls.insert(handle, (index as usize, object));
    Ok(MPI_T_cvar_handle(handle))
}

/// MPI_T_cvar_handle_free.
///
/// # Errors
/// No such handle.
pub fn free(handle: &mut MPI_T_cvar_handle) -> Told {
    tools()?.controls.remove(&handle.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
    *handle = MPI_T_CVAR_HANDLE_NULL;
    Ok(())
}

/// The variable of a handle, and what it is read from.
fn of(handle: MPI_T_cvar_handle) -> Told<(&'static Control, Reading)> {
    let (place, object) = *tools()?.controls.get(&handle.0).ok_or(MPI_T_ERR_INVALID_HANDLE)?;
    let (variable, reading) = (&TABLE[place], Reading::of(object));
    if reading.is_elsewhere && variable.access.needs_process() {
        return Err(MPI_T_ERR_NOT_ACCESSIBLE);
    }
    match reading.has_object(variable.access.bind()) {
        true => Ok((variable, reading)),
        false => Err(MPI_T_ERR_INVALID_HANDLE),
    }
}

/// Whether there is such a handle.
///
/// # Errors
/// There is none.
pub fn known(handle: MPI_T_cvar_handle) -> Told {
    of(handle).map(drop)
}

fn number_of(algorithm: Option<usize>) -> Value {
    Value::Number(algorithm.map_or(AUTOMATIC, |number| number as c_int))
}

/// MPI_T_cvar_read.
///
/// # Errors
/// No such handle, or a value that is not there now: of this rank's port, while the process is no rank.
pub fn read(handle: MPI_T_cvar_handle) -> Told<Value> {
    let (variable, reading) = of(handle)?;
    let port = || reading.process.as_ref().map(|process| &process.port).ok_or(MPI_T_ERR_NOT_ACCESSIBLE);
    let value = match &variable.access {
        Access::Constant(value) => *value,
        Access::Job(read) => reading.known(*read).ok_or(MPI_T_ERR_NOT_ACCESSIBLE)?,
        Access::Waiting(place) => (place.read)(port()?.waits()).into(),
        Access::Channel(place) => (place.read)(port()?.channels()),
        Access::EventRoom(_) => EVENTS.lock().room as u64,
        Access::OfJob(collective) => {
            let wanted = match &reading.process {
                Some(process) => process.communicators.wanted,
                None => launch::wanted().map_err(|_| MPI_T_ERR_NOT_ACCESSIBLE)?,
            };
            return Ok(number_of(wanted.algorithm(*collective)));
        }
        Access::OfCommunicator(collective) => {
            let communicator = reading.communicator().ok_or(MPI_T_ERR_INVALID_HANDLE)?;
            return Ok(number_of(communicator.hints.wanted.algorithm(*collective)));
        }
    };
    Ok(match variable.form {
        Form::Number => Value::Number(value as c_int),
        Form::Whole | Form::Share => Value::Whole(value),
    })
}

/// The value of a place that is to be written.
fn checked<S, T: TryFrom<u64> + PartialOrd>(place: &Place<S, T>, value: u64) -> Told<T> {
    T::try_from(value).ok().filter(|value| place.limits.contains(value)).ok_or(MPI_T_ERR_INVALID)
}

/// The algorithm of this number.
fn algorithm(collective: Collective, value: Value) -> Told<Option<usize>> {
    match value {
        Value::Number(AUTOMATIC) => Ok(None),
        Value::Number(number) => match usize::try_from(number) {
            Ok(place) if place < collective.algorithm_names().len() => Ok(Some(place)),
            _ => Err(MPI_T_ERR_INVALID),
        },
        Value::Whole(_) | Value::Share(_) => Err(MPI_T_ERR_INVALID),
    }
}

/// MPI_T_cvar_write: `value` is the program's, read in the form of the variable.
///
/// # Errors
/// No such handle; a variable that cannot be written now (before the process is a rank), or not any more; a
/// value that it cannot have, with which nothing is changed.
///
/// # Safety
/// `from` must be readable for a value of the variable.
pub unsafe fn write(handle: MPI_T_cvar_handle, from: *const c_void) -> Told {
    let (variable, mut reading) = of(handle)?;
    let phase = process::phase();
    let gone =
        if phase == LifePhase::Finalised { MPI_T_ERR_CVAR_SET_NEVER } else { MPI_T_ERR_CVAR_SET_NOT_NOW };
    // SAFETY: the caller's promise.
    let value = unsafe { variable.form.read(from) };
    match &variable.access {
        Access::Constant(_) | Access::Job(_) => Err(MPI_T_ERR_CVAR_SET_NEVER),
        Access::Waiting(place) => {
            let value = checked(place, value.whole())?;
            *(place.place)(reading.process.as_mut().ok_or(gone)?.port.waits_mut()) = value;
            Ok(())
        }
        Access::Channel(place) => {
            let value = checked(place, value.whole())?;
            *(place.place)(reading.process.as_mut().ok_or(gone)?.port.channels_mut()) = value;
            Ok(())
        }
        Access::EventRoom(limits) => match value.whole() {
            room if limits.contains(&room) => {
                EVENTS.lock().room = room as usize;
                Ok(())
            }
            _ => Err(MPI_T_ERR_INVALID),
        },
        Access::OfJob(collective) => {
            let algorithm = algorithm(*collective, value)?;
            if phase != LifePhase::Uninitialised {
                return Err(MPI_T_ERR_CVAR_SET_NEVER);
            }
            OF_TOOL.lock().set(*collective, algorithm);
            Ok(())
        }
        Access::OfCommunicator(collective) => {
            let algorithm = algorithm(*collective, value)?;
            let comm = MPI_Comm(reading.object);
            let process = reading.process.as_mut().ok_or(gone)?;
            // That others want another one, the communicator's next collective answers.
            match hints::want(process, comm, *collective, algorithm) {
                Err(error) if error.problem().report().is_none() => Err(MPI_ERR_OTHER),
                _ => Ok(()),
            }
        }
    }
}
