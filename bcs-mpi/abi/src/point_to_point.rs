//! Chapter 3: point-to-point communication.

use crate::edge::{handle, moved, object, place};
use crate::forms::own;
use bcs_mpi::api::Mode;
use bcs_mpi::constants::*;
use bcs_mpi::point_to_point::matched;
use bcs_mpi::point_to_point::persistent::{recv_init, send_init};
use bcs_mpi::point_to_point::{self as p2p, Peers, SendMode};
use bcs_mpi::request::Statuses;
use std::ffi::{c_int, c_void};

/// The sends, which differ in their mode: `twin NAME(how, mode, primitive of the call)`.
macro_rules! sends {
    () => {};
    (twin $name:ident(blocking, $mode:ident, $primitive:ident) $($rest:tt)*) => {
        calls! {
            twin $name(
                buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
            ) [time $primitive(moved(count, datatype)) on comm] {
                let modes = (Mode::Blocking, SendMode::$mode);
                p2p::send(modes, own(buf, count, datatype), dest, tag, comm).map(drop)?
            }
        }
        sends! { $($rest)* }
    };
    (twin $name:ident(immediate, $mode:ident, $primitive:ident) $($rest:tt)*) => {
        calls! {
            twin $name(
                buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) [time $primitive(moved(count, datatype)) on comm] {
                let request = handle(request, "request")?;
                let modes = (Mode::NonBlocking, SendMode::$mode);
                request.set(p2p::send(modes, own(buf, count, datatype), dest, tag, comm)?)
            }
        }
        sends! { $($rest)* }
    };
    (twin $name:ident(persistent, $mode:ident) $($rest:tt)*) => {
        calls! {
            twin $name(
                buf: *const c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, tag: c_int, comm: MPI_Comm,
                request: *mut MPI_Request,
            ) [on comm] {
                let request = handle(request, "request")?;
                request.set(send_init(SendMode::$mode, own(buf, count, datatype), dest, tag, comm)?)
            }
        }
        sends! { $($rest)* }
    };
}

sends! {
    twin MPI_Send(blocking, Standard, Send)
    twin MPI_Bsend(blocking, Buffered, Bsend)
    twin MPI_Ssend(blocking, Synchronous, Ssend)
    twin MPI_Rsend(blocking, Ready, Rsend)
    twin MPI_Isend(immediate, Standard, Isend)
    twin MPI_Ibsend(immediate, Buffered, Ibsend)
    twin MPI_Issend(immediate, Synchronous, Issend)
    twin MPI_Irsend(immediate, Ready, Irsend)
    twin MPI_Send_init(persistent, Standard)
    twin MPI_Bsend_init(persistent, Buffered)
    twin MPI_Ssend_init(persistent, Synchronous)
    twin MPI_Rsend_init(persistent, Ready)
}

calls! {
    twin MPI_Recv(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        status: *mut MPI_Status,
    ) [time Recv(moved(count, datatype)) on comm] {
        let status = Statuses::new(status);
        p2p::recv(Mode::Blocking, own(buf, count, datatype), source, tag, comm, status).map(drop)?
    }
    twin MPI_Irecv(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Irecv(moved(count, datatype)) on comm] {
        let (request, status) = (handle(request, "request")?, Statuses::IGNORED);
        request.set(p2p::recv(Mode::NonBlocking, own(buf, count, datatype), source, tag, comm, status)?)
    }
    twin MPI_Recv_init(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, source: c_int, tag: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [on comm] {
        handle(request, "request")?.set(recv_init(own(buf, count, datatype), source, tag, comm)?)
    }
    twin MPI_Sendrecv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, status: *mut MPI_Status,
    ) [time Sendrecv(moved(sendcount, sendtype)) on comm] {
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        let (sent, got) = (own(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        p2p::sendrecv(Mode::Blocking, sent, got, &peers, comm, Statuses::new(status)).map(drop)?
    }
    twin MPI_Sendrecv_replace(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
    ) [time SendrecvReplace(moved(count, datatype)) on comm] {
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        let (buffer, status) = (own(buf, count, datatype), Statuses::new(status));
        p2p::sendrecv_replace(Mode::Blocking, buffer, &peers, comm, status).map(drop)?
    }
    call MPI_Probe(
        source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
    ) [time Probe(0) on comm] {
        if let Some(found) = p2p::probe(Mode::Blocking, source, tag, comm)? {
            found.store(status);
        }
    }
    call MPI_Iprobe(source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, status: *mut MPI_Status)
    [time Iprobe(0) on comm] {
        let flag = place(flag, "flag")?;
        let found = p2p::probe(Mode::NonBlocking, source, tag, comm)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            found.store(status);
        }
    }
    call MPI_Mprobe(
        source: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: *mut MPI_Status,
    )
    [time Mprobe(0) on comm] {
        let message = handle(message, "message")?;
        if let Some((found, its_status)) = matched::mprobe(Mode::Blocking, source, tag, comm)? {
            message.set(found);
            its_status.store(status);
        }
    }
    call MPI_Improbe(
        source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, message: *mut MPI_Message, status: *mut MPI_Status,
    ) [time Improbe(0) on comm] {
        let (message, flag) = (handle(message, "message")?, place(flag, "flag")?);
        let found = matched::mprobe(Mode::NonBlocking, source, tag, comm)?;
        flag.set(found.is_some().into());
        if let Some((found, its_status)) = found {
            message.set(found);
            its_status.store(status);
        }
    }
    twin MPI_Mrecv(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, message: *mut MPI_Message, status: *mut MPI_Status,
    ) [time Mrecv(moved(count, datatype))] {
        let (message, status) = (object(message, "message")?, Statuses::new(status));
        matched::mrecv(Mode::Blocking, own(buf, count, datatype), message, status).map(drop)?
    }
    twin MPI_Imrecv(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, message: *mut MPI_Message, request: *mut MPI_Request,
    ) [time Imrecv(moved(count, datatype))] {
        let (request, message) = (handle(request, "request")?, object(message, "message")?);
        let status = Statuses::IGNORED;
        request.set(matched::mrecv(Mode::NonBlocking, own(buf, count, datatype), message, status)?)
    }
    twin MPI_Isendrecv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
        comm: MPI_Comm, request: *mut MPI_Request,
    ) [time Isendrecv(moved(sendcount, sendtype)) on comm] {
        let request = handle(request, "request")?;
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        let (sent, got) = (own(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        request.set(p2p::sendrecv(Mode::NonBlocking, sent, got, &peers, comm, Statuses::IGNORED)?)
    }
    twin MPI_Isendrecv_replace(
        buf: *mut c_void, count: COUNT, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
        source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
    ) [time IsendrecvReplace(moved(count, datatype)) on comm] {
        let request = handle(request, "request")?;
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        let buffer = own(buf, count, datatype);
        request.set(p2p::sendrecv_replace(Mode::NonBlocking, buffer, &peers, comm, Statuses::IGNORED)?)
    }
    call MPI_Cancel(request: *mut MPI_Request) [time Cancel(0)] {
        bcs_mpi::request::cancel(*object(request, "request")?)?
    }
}
