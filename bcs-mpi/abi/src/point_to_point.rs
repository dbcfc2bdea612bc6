//! Chapter 3: point-to-point communication.

use crate::edge::{moved, object, place, wide};
use bcs_mpi::constants::*;
use bcs_mpi::point_to_point::persistent::{recv_init, send_init};
use bcs_mpi::point_to_point::{self as p2p, Peers, SendMode};
use bcs_mpi::point_to_point::{attached_buffer, matched};
use mds::Primitive;
use std::ffi::{c_int, c_void};

calls! {
    twin MPI_Send(buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm)
    [time Send(moved(count, datatype)) on comm] {
        p2p::send(SendMode::Standard, buf, wide(count), datatype, dest, tag, comm)?
    }
    twin MPI_Bsend(buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm)
    [time Bsend(moved(count, datatype)) on comm] {
        p2p::send(SendMode::Buffered, buf, wide(count), datatype, dest, tag, comm)?
    }
    twin MPI_Ssend(buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm)
    [time Ssend(moved(count, datatype)) on comm] {
        p2p::send(SendMode::Synchronous, buf, wide(count), datatype, dest, tag, comm)?
    }
    twin MPI_Rsend(buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm)
    [time Rsend(moved(count, datatype)) on comm] {
        p2p::send(SendMode::Ready, buf, wide(count), datatype, dest, tag, comm)?
    }
    twin MPI_Isend(
        buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Isend(moved(count, datatype)) on comm] {
        place(request, "request")?
            .set(p2p::isend(SendMode::Standard, buf, wide(count), datatype, dest, tag, comm)?)
    }
    twin MPI_Ibsend(
        buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Ibsend(moved(count, datatype)) on comm] {
        place(request, "request")?
            .set(p2p::isend(SendMode::Buffered, buf, wide(count), datatype, dest, tag, comm)?)
    }
    twin MPI_Issend(
        buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Issend(moved(count, datatype)) on comm] {
        place(request, "request")?
            .set(p2p::isend(SendMode::Synchronous, buf, wide(count), datatype, dest, tag, comm)?)
    }
    twin MPI_Irsend(
        buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Irsend(moved(count, datatype)) on comm] {
        place(request, "request")?
            .set(p2p::isend(SendMode::Ready, buf, wide(count), datatype, dest, tag, comm)?)
    }
    twin MPI_Recv(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        status: *mut MPI_Status,
    ) [time Recv(moved(count, datatype)) on comm] {
        p2p::recv(buf, wide(count), datatype, source, tag, comm, status)?
    }
    twin MPI_Irecv(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Irecv(moved(count, datatype)) on comm] {
        place(request, "request")?.set(p2p::irecv(buf, wide(count), datatype, source, tag, comm)?)
    }
    twin MPI_Send_init(
        buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [on comm] {
        let request = place(request, "request")?;
        request.set(send_init(SendMode::Standard, buf, wide(count), datatype, dest, tag, comm)?)
    }
    twin MPI_Bsend_init(
        buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [on comm] {
        let request = place(request, "request")?;
        request.set(send_init(SendMode::Buffered, buf, wide(count), datatype, dest, tag, comm)?)
    }
    twin MPI_Ssend_init(
        buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [on comm] {
        let request = place(request, "request")?;
        request.set(send_init(SendMode::Synchronous, buf, wide(count), datatype, dest, tag, comm)?)
    }
    twin MPI_Rsend_init(
        buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [on comm] {
        let request = place(request, "request")?;
        request.set(send_init(SendMode::Ready, buf, wide(count), datatype, dest, tag, comm)?)
    }
    twin MPI_Recv_init(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [on comm] {
        place(request, "request")?.set(recv_init(buf, wide(count), datatype, source, tag, comm)?)
    }
    twin MPI_Sendrecv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, status: *mut MPI_Status,
    ) [time Sendrecv(moved(sendcount, sendtype)) on comm] {
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        let outgoing = (sendbuf, wide(sendcount), sendtype);
        p2p::sendrecv(outgoing, (recvbuf, wide(recvcount), recvtype), &peers, comm, status)?
    }
    twin MPI_Sendrecv_replace(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
    ) [time SendrecvReplace(moved(count, datatype)) on comm] {
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        p2p::sendrecv_replace(buf, wide(count), datatype, &peers, comm, status)?
    }
    call MPI_Probe(source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status) [time Probe(0) on comm] {
        p2p::probe(source, tag, comm)?.store(status)
    }
    call MPI_Iprobe(source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, status: *mut MPI_Status)
    [time Iprobe(0) on comm] {
        let flag = place(flag, "flag")?;
        let found = p2p::iprobe(source, tag, comm)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            found.store(status);
        }
    }
    call MPI_Mprobe(source: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: *mut MPI_Status)
    [time Mprobe(0) on comm] {
        let message = place(message, "message")?;
        let (found, its_status) = matched::mprobe(source, tag, comm)?;
        message.set(found);
        its_status.store(status)
    }
    call MPI_Improbe(
        source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, message: *mut MPI_Message, status: *mut MPI_Status,
    ) [time Improbe(0) on comm] {
        let (message, flag) = (place(message, "message")?, place(flag, "flag")?);
        let found = matched::improbe(source, tag, comm)?;
        flag.set(found.is_some().into());
        if let Some((found, its_status)) = found {
            message.set(found);
            its_status.store(status);
        }
    }
    twin MPI_Mrecv(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, message: *mut MPI_Message, status: *mut MPI_Status,
    ) [time Mrecv(moved(count, datatype))] {
        matched::mrecv(buf, wide(count), datatype, object(message, "message")?, status)?
    }
    twin MPI_Imrecv(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, message: *mut MPI_Message, request: *mut MPI_Request,
    ) [time Imrecv(moved(count, datatype))] {
        let request = place(request, "request")?;
        request.set(matched::imrecv(buf, wide(count), datatype, object(message, "message")?)?)
    }
    twin MPI_Isendrecv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) [time Isendrecv(moved(sendcount, sendtype)) on comm] {
        let request = place(request, "request")?;
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        let outgoing = (sendbuf, wide(sendcount), sendtype);
        request.set(p2p::isendrecv(outgoing, (recvbuf, wide(recvcount), recvtype), &peers, comm)?)
    }
    twin MPI_Isendrecv_replace(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) [time IsendrecvReplace(moved(count, datatype)) on comm] {
        let request = place(request, "request")?;
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        request.set(p2p::isendrecv_replace(buf, wide(count), datatype, &peers, comm)?)
    }
    twin MPI_Buffer_attach(buffer: *mut c_void, size: COUNT) [time BufferAttach(0)] {
        attached_buffer::attach(buffer, wide(size))?
    }
    twin MPI_Buffer_detach(buffer_addr: *mut c_void, size: *mut COUNT) [time BufferDetach(0)] {
        let (address, size) = (place(buffer_addr.cast::<*mut c_void>(), "buffer_addr")?, place(size, "size")?);
        let (buffer, bytes) = attached_buffer::detach()?;
        address.set(buffer);
        size.set(bytes as COUNT)
    }
    call MPI_Buffer_flush() [time BufferFlush(0)] {
        attached_buffer::flush(Primitive::BufferFlush)?
    }
    call MPI_Cancel(request: *mut MPI_Request) [time Cancel(0)] {
        bcs_mpi::request::cancel(*object(request, "request")?)?
    }
}
