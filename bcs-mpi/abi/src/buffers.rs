//! Chapter 3: the buffers of buffered sends, of the process, of communicators and of sessions.

use crate::edge::{handle, narrow, place, wide};
use bcs_mpi::MpiResult;
use bcs_mpi::constants::*;
use bcs_mpi::point_to_point::attached_buffer::{self, Level};
use mds::Primitive;
use std::ffi::c_void;

/// Detaches a buffer, and stores where it was and how large; MPI_UNDEFINED where that does not fit.
fn detach<T: TryFrom<u64> + From<i16>>(
    call: Primitive,
    level: Level,
    buffer_addr: *mut c_void,
    size: *mut T,
) -> MpiResult {
    let (address, size) = (place(buffer_addr.cast::<*mut c_void>(), "buffer_addr")?, place(size, "size")?);
    let (buffer, bytes) = attached_buffer::detach(call, level)?;
    address.set(buffer);
    size.set(narrow(Some(bytes as u64)));
    Ok(())
}

fn iflush(call: Primitive, level: Level, request: *mut MPI_Request) -> MpiResult {
    handle(request, "request")?.set(attached_buffer::iflush(call, level)?);
    Ok(())
}

calls! {
    twin MPI_Buffer_attach(buffer: *mut c_void, size: COUNT) [time BufferAttach(0)] {
        attached_buffer::attach(Level::Process, buffer, wide(size))?
    }
    twin MPI_Buffer_detach(buffer_addr: *mut c_void, size: *mut COUNT) [time BufferDetach(0)] {
        detach(Primitive::BufferDetach, Level::Process, buffer_addr, size)?
    }
    call MPI_Buffer_flush() [time BufferFlush(0)] {
        attached_buffer::flush(Primitive::BufferFlush, Level::Process)?
    }
    call MPI_Buffer_iflush(request: *mut MPI_Request) [time BufferIflush(0)] {
        iflush(Primitive::BufferIflush, Level::Process, request)?
    }
    twin MPI_Comm_attach_buffer(comm: MPI_Comm, buffer: *mut c_void, size: COUNT)
    [time CommAttachBuffer(0) on comm] {
        attached_buffer::attach(Level::Communicator(comm), buffer, wide(size))?
    }
    twin MPI_Comm_detach_buffer(comm: MPI_Comm, buffer_addr: *mut c_void, size: *mut COUNT)
    [time CommDetachBuffer(0) on comm] {
        detach(Primitive::CommDetachBuffer, Level::Communicator(comm), buffer_addr, size)?
    }
    call MPI_Comm_flush_buffer(comm: MPI_Comm) [time CommFlushBuffer(0) on comm] {
        attached_buffer::flush(Primitive::CommFlushBuffer, Level::Communicator(comm))?
    }
    call MPI_Comm_iflush_buffer(
        comm: MPI_Comm, request: *mut MPI_Request,
    ) [time CommIflushBuffer(0) on comm] {
        iflush(Primitive::CommIflushBuffer, Level::Communicator(comm), request)?
    }
    twin MPI_Session_attach_buffer(session: MPI_Session, buffer: *mut c_void, size: COUNT)
    [time SessionAttachBuffer(0) on session] {
        attached_buffer::attach(Level::Session(session), buffer, wide(size))?
    }
    twin MPI_Session_detach_buffer(session: MPI_Session, buffer_addr: *mut c_void, size: *mut COUNT)
    [time SessionDetachBuffer(0) on session] {
        detach(Primitive::SessionDetachBuffer, Level::Session(session), buffer_addr, size)?
    }
    call MPI_Session_flush_buffer(session: MPI_Session) [time SessionFlushBuffer(0) on session] {
        attached_buffer::flush(Primitive::SessionFlushBuffer, Level::Session(session))?
    }
    call MPI_Session_iflush_buffer(session: MPI_Session, request: *mut MPI_Request)
    [time SessionIflushBuffer(0) on session] {
        iflush(Primitive::SessionIflushBuffer, Level::Session(session), request)?
    }
}
