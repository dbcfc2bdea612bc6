//! Chapter 6: non-blocking collectives, and those that have no other way.

use crate::collective::{Array, own};
use crate::edge::{handle, moved, wide};
use bcs_mpi::collective::block::{Places, Typed};
use bcs_mpi::collective::buffers::{Blocks, Everyone};
use bcs_mpi::collective::forms::{self, Call, Vectors};
use bcs_mpi::collective::reduce_scatter::Shares;
use bcs_mpi::collective::scan::ScanKind;
use bcs_mpi::constants::*;
use mds::Primitive;
use std::ffi::{c_int, c_void};

/// Blocks of as many elements each.
pub fn everyone<P>(buffer: P, count: impl Into<i64>, datatype: MPI_Datatype) -> Everyone<P> {
    Everyone::of(buffer, Blocks::Equal(count.into()), datatype)
}

/// Blocks of a v form.
pub fn everyone_v<P>(
    buffer: P,
    counts: impl Array,
    displs: impl Array,
    datatype: MPI_Datatype,
) -> Everyone<P> {
    Everyone::of(buffer, Blocks::Vector(counts.numbers(), displs.numbers()), datatype)
}

/// Blocks of a w form.
pub fn everyone_w<P>(
    buffer: P,
    counts: impl Array,
    displs: impl Array,
    types: *const MPI_Datatype,
) -> Everyone<P> {
    let typed = Typed { counts: counts.numbers(), displacements: displs.numbers(), types };
    Everyone { buffer, places: Places::Typed(typed) }
}

calls! {
    call MPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request) [time Ibarrier(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Ibarrier, comm));
        request.set(forms::barrier(call)?)
    }
    twin MPI_Ibcast(
        buffer: *mut c_void, count: COUNT, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Ibcast(moved(count, datatype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Ibcast, comm));
        request.set(forms::bcast(call, buffer, wide(count), datatype, root)?)
    }
    twin MPI_Ireduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Ireduce(moved(count, datatype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Ireduce, comm));
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        request.set(forms::reduce(call, &vectors, root)?)
    }
    twin MPI_Iallreduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Iallreduce(moved(count, datatype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Iallreduce, comm));
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        request.set(forms::allreduce(call, &vectors)?)
    }
    twin MPI_Iscan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Iscan(moved(count, datatype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Iscan, comm));
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        request.set(forms::scan(call, ScanKind::Inclusive, &vectors)?)
    }
    twin MPI_Iexscan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Iexscan(moved(count, datatype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Iexscan, comm));
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        request.set(forms::scan(call, ScanKind::Exclusive, &vectors)?)
    }
    twin MPI_Ireduce_scatter_block(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time IreduceScatterBlock(moved(recvcount, datatype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::IreduceScatterBlock, comm));
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: 0, datatype, op };
        request.set(forms::reduce_scatter(call, &vectors, &Shares::Equal(wide(recvcount)))?)
    }
    twin MPI_Ireduce_scatter(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time IreduceScatter(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::IreduceScatter, comm));
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: 0, datatype, op };
        request.set(forms::reduce_scatter(call, &vectors, &Shares::Each(recvcounts.numbers()))?)
    }
    twin MPI_Igather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Igather(moved(sendcount, sendtype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Igather, comm));
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        request.set(forms::gather(call, &own, &all, root)?)
    }
    twin MPI_Igatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Igatherv(moved(sendcount, sendtype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Igatherv, comm));
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone_v(recvbuf, recvcounts, displs, recvtype));
        request.set(forms::gather(call, &own, &all, root)?)
    }
    twin MPI_Iscatter(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Iscatter(moved(recvcount, recvtype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Iscatter, comm));
        let (all, own) = (everyone(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        request.set(forms::scatter(call, &all, &own, root)?)
    }
    twin MPI_Iscatterv(
        sendbuf: *const c_void, sendcounts: *const COUNT, displs: *const DISPL, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Iscatterv(moved(recvcount, recvtype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Iscatterv, comm));
        let (all, own) = (everyone_v(sendbuf, sendcounts, displs, sendtype), own(recvbuf, recvcount, recvtype));
        request.set(forms::scatter(call, &all, &own, root)?)
    }
    twin MPI_Iallgather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Iallgather(moved(recvcount, recvtype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Iallgather, comm));
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        request.set(forms::allgather(call, &own, &all)?)
    }
    twin MPI_Iallgatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Iallgatherv(moved(sendcount, sendtype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Iallgatherv, comm));
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone_v(recvbuf, recvcounts, displs, recvtype));
        request.set(forms::allgather(call, &own, &all)?)
    }
    twin MPI_Ialltoall(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Ialltoall(moved(recvcount, recvtype)) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Ialltoall, comm));
        let (send, receive) = (everyone(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        request.set(forms::alltoall(call, &send, &receive)?)
    }
    twin MPI_Ialltoallv(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Ialltoallv(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Ialltoallv, comm));
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        let receive = everyone_v(recvbuf, recvcounts, rdispls, recvtype);
        request.set(forms::alltoall(call, &send, &receive)?)
    }
    twin MPI_Ialltoallw(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time Ialltoallw(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::Ialltoallw, comm));
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        let receive = everyone_w(recvbuf, recvcounts, rdispls, recvtypes);
        request.set(forms::alltoall(call, &send, &receive)?)
    }
    twin MPI_Alltoallw(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtypes: *const MPI_Datatype,
        comm: MPI_Comm,
    ) [time Alltoallw(0) on comm] {
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        let receive = everyone_w(recvbuf, recvcounts, rdispls, recvtypes);
        forms::alltoall(Call::blocking(Primitive::Alltoallw, comm), &send, &receive)?
    }
}
