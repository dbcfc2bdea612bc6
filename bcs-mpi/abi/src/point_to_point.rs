//! Chapter 3: point-to-point communication.

use crate::edge::moved;
use crate::forms::own;
use bcs_mpi::api::Mode;
use bcs_mpi::point_to_point::matched;
use bcs_mpi::point_to_point::persistent::{recv_init, send_init};
use bcs_mpi::point_to_point::{self as p2p, Peers, SendMode};
use bcs_mpi::request::{self, Statuses};

/// The sends: the blocking, the non-blocking and the persistent one of each mode.
macro_rules! sends {
    ($($mode:ident $blocking:ident $immediate:ident $persistent:ident)*) => { calls! { $(
        $blocking(buf, count, datatype, dest, tag, comm) [timed(moved(count, datatype)) on comm] {
            let modes = (Mode::Blocking, SendMode::$mode);
            p2p::send(modes, own(buf, count, datatype), (dest, tag, comm)).map(drop)?
        }
        $immediate(buf, count, datatype, dest, tag, comm, request: OUT)
        [timed(moved(count, datatype)) on comm] {
            let modes = (Mode::NonBlocking, SendMode::$mode);
            request.set(p2p::send(modes, own(buf, count, datatype), (dest, tag, comm))?)
        }
        $persistent(buf, count, datatype, dest, tag, comm, request: OUT) [on comm] {
            request.set(send_init(SendMode::$mode, own(buf, count, datatype), (dest, tag, comm))?)
        }
    )* } };
}

sends! {
    Standard MPI_Send MPI_Isend MPI_Send_init
    Buffered MPI_Bsend MPI_Ibsend MPI_Bsend_init
    Synchronous MPI_Ssend MPI_Issend MPI_Ssend_init
    Ready MPI_Rsend MPI_Irsend MPI_Rsend_init
}

/// What receives: the blocking and the non-blocking call. The body, an expression, answers the request.
macro_rules! receives {
    ($(
        [$blocking:ident $immediate:ident] $arguments:tt [$($options:tt)*]
        |$mode:ident, $status:ident| $body:expr;
    )*) => { $(
        two_forms! { $blocking $immediate $arguments [$($options)*] |$mode, $status| $body }
    )* };
}

macro_rules! two_forms {
    (
        $blocking:ident $immediate:ident ($($arguments:tt)*) [$($options:tt)*]
        |$mode:ident, $status:ident| $body:expr
    ) => {
        calls! {
            $blocking($($arguments)*, status) [$($options)*] {
                let ($mode, $status) = (Mode::Blocking, Statuses::new(status));
                $body.map(drop)?
            }
            $immediate($($arguments)*, request: OUT) [$($options)*] {
                let ($mode, $status) = (Mode::NonBlocking, Statuses::IGNORED);
                request.set($body?)
            }
        }
    };
}

receives! {
    [MPI_Recv MPI_Irecv]
    (buf, count, datatype, source, tag, comm) [timed(moved(count, datatype)) on comm] |mode, status| {
        p2p::recv(mode, own(buf, count, datatype), (source, tag, comm), status)
    };
    [MPI_Mrecv MPI_Imrecv]
    (buf, count, datatype, message: INOUT) [timed(moved(count, datatype))] |mode, status| {
        matched::mrecv(mode, own(buf, count, datatype), message, status)
    };
    [MPI_Sendrecv MPI_Isendrecv]
    (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm)
    [timed(moved(sendcount, sendtype)) on comm] |mode, status| {
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        let (sent, got) = (own(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        p2p::sendrecv(mode, sent, got, &peers, comm, status)
    };
    [MPI_Sendrecv_replace MPI_Isendrecv_replace]
    (buf, count, datatype, dest, sendtag, source, recvtag, comm)
    [timed(moved(count, datatype)) on comm] |mode, status| {
        let peers = Peers { dest, send_tag: sendtag, source, receive_tag: recvtag };
        p2p::sendrecv_replace(mode, own(buf, count, datatype), &peers, comm, status)
    };
}

answers! {
    MPI_Recv_init(buf, count, datatype, source, tag, comm) -> request [on comm] =
        recv_init(own(buf, count, datatype), (source, tag, comm));
    MPI_Cancel(request: INOUT) [timed(0)] = request::cancel(*request);
}

calls! {
    MPI_Probe(source, tag, comm, status) [timed(0) on comm] {
        if let Some(found) = p2p::probe(Mode::Blocking, source, tag, comm)? {
            found.store(status);
        }
    }
    MPI_Iprobe(source, tag, comm, flag: OUT, status) [timed(0) on comm] {
        let found = p2p::probe(Mode::NonBlocking, source, tag, comm)?;
        flag.set(found.is_some().into());
        if let Some(found) = found {
            found.store(status);
        }
    }
    MPI_Mprobe(source, tag, comm, message: OUT, status) [timed(0) on comm] {
        if let Some((found, its_status)) = matched::mprobe(Mode::Blocking, source, tag, comm)? {
            message.set(found);
            its_status.store(status);
        }
    }
    MPI_Improbe(source, tag, comm, flag: OUT, message: OUT, status) [timed(0) on comm] {
        let found = matched::mprobe(Mode::NonBlocking, source, tag, comm)?;
        flag.set(found.is_some().into());
        if let Some((found, its_status)) = found {
            message.set(found);
            its_status.store(status);
        }
    }
}
