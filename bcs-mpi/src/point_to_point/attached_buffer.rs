//! The calls about the buffers that a program attaches for buffered sends (MPI-5.0, §3.6).

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::attached_buffer::AttachedBuffer;
use crate::object::request::{Flush, State};
use crate::object::session;
use crate::process::{self, Guard, Process};
use mds::Primitive;
use nic_emu::status::WaitingFor;
use std::ffi::c_void;

pub use crate::object::attached_buffer::Level;

/// Checks that there is such an object.
fn check(process: &Process, level: Level) -> MpiResult {
    match level {
        Level::Process => Ok(()),
        Level::Communicator(comm) => process.communicator(comm).map(|_| ()),
        Level::Session(session) => session::check(session),
    }
}

/// MPI_Buffer_attach, MPI_Comm_attach_buffer, MPI_Session_attach_buffer. The buffer is the library's until it
/// is detached.
///
/// # Errors
/// No such object, or one that has a buffer already; a negative size, or no buffer of that size.
pub fn attach(level: Level, buffer: *mut c_void, size: i64) -> MpiResult {
    let mut process = process::enter()?;
    check(&process, level)?;
    // The size of MPI_BUFFER_AUTOMATIC says nothing.
    let size = if buffer == MPI_BUFFER_AUTOMATIC {
        None
    } else {
        let Ok(size) = usize::try_from(size) else {
            return Err(MpiError::argument(MPI_ERR_ARG, "size", size, "it must not be negative"));
        };
        if buffer.is_null() && size != 0 {
            let (argument, action) = ("buffer", "attached");
            return Err(MpiError::new(Problem::NullBuffer { argument, bytes: size, action }));
        }
        Some(size)
    };
    if process.attached.get(level).is_some() {
        let allowed = format!("one is attached already; detach it first with {}", level.calls()[1]);
        return Err(MpiError::argument(MPI_ERR_BUFFER, "buffer", "a second buffer", allowed));
    }
    process.attached.buffers.push((level, AttachedBuffer::new(buffer.expose_provenance(), size)));
    Ok(())
}

/// The buffer of an object, which has to have one.
fn buffer(process: &mut Process, level: Level) -> MpiResult<&mut AttachedBuffer> {
    check(process, level)?;
    process.attached.get(level).ok_or_else(|| not_attached(level))
}

#[cold]
fn not_attached(level: Level) -> MpiError {
    let allowed = format!("attach one with {}", level.calls()[0]);
    MpiError::argument(MPI_ERR_BUFFER, "buffer", "none that is attached", allowed)
}

/// What a hang report says of a rank that waits for this buffer's messages to be gone.
fn waiting(call: Primitive, messages: u32) -> WaitingFor {
    WaitingFor { call: call.index() as u32, requests: messages, ..WaitingFor::SOMETHING }
}

/// Waits until no message is under way from a buffer, or it is not attached any more.
fn drain(process: &mut Guard, call: Primitive, level: Level) -> MpiResult {
    let what = waiting(call, process.attached.get(level).map_or(0, |buffer| buffer.under_way()));
    process.wait_for_some(&what, |process| {
        let Process { port, attached, .. } = &mut **process;
        let Some(buffer) = attached.get(level) else { return Ok(Some(())) };
        buffer.reap(port)?;
        Ok((buffer.under_way() == 0).then_some(()))
    })
}

/// Waits until no message is under way from the buffer: MPI_Buffer_flush, MPI_Comm_flush_buffer,
/// MPI_Session_flush_buffer.
///
/// # Errors
/// No such object, or one without a buffer.
pub fn flush(call: Primitive, level: Level) -> MpiResult {
    let mut process = process::enter()?;
    buffer(&mut process, level)?;
    drain(&mut process, call, level)
}

/// MPI_Buffer_iflush, MPI_Comm_iflush_buffer, MPI_Session_iflush_buffer: the request is complete when the
/// messages are gone that are in the buffer now.
///
/// # Errors
/// As [`flush`].
pub fn iflush(call: Primitive, level: Level) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let what = waiting(call, buffer(&mut process, level)?.under_way());
    let flush = Flush { level, before: process.attached.sent, what };
    let comm = if let Level::Communicator(comm) = level { comm } else { MPI_COMM_SELF };
    Ok(process.requests.insert(State::Flush(Box::new(flush)), comm))
}

/// MPI_Buffer_detach, MPI_Comm_detach_buffer, MPI_Session_detach_buffer: waits as [`flush`], then answers the
/// buffer's address and size, which is 0 of MPI_BUFFER_AUTOMATIC.
///
/// # Errors
/// As [`flush`].
pub fn detach(call: Primitive, level: Level) -> MpiResult<(*mut c_void, usize)> {
    let mut process = process::enter()?;
    buffer(&mut process, level)?;
    drain(&mut process, call, level)?;
    let detached = process.attached.remove(level).ok_or_else(|| not_attached(level))?;
    let (address, size) = detached.region();
    Ok((std::ptr::with_exposed_provenance_mut(address), size))
}

/// Detaches the buffer of an object that is about to be gone, if it has one: waits until its messages are.
///
/// # Errors
/// The NIC fails.
pub(crate) fn release(process: &mut Guard, call: Primitive, level: Level) -> MpiResult {
    if process.attached.get(level).is_some() {
        drain(process, call, level)?;
        process.attached.remove(level);
    }
    Ok(())
}
