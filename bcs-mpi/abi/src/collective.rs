//! Chapter 6: collective communication.

use crate::edge::{handle, moved, wide};
use crate::forms::{Array, everyone, everyone_v, everyone_w, own, vectors};
use bcs_mpi::collective::forms::{self, Call};
use bcs_mpi::collective::reduce_scatter::Shares;
use bcs_mpi::collective::scan::ScanKind;
use bcs_mpi::constants::*;
use bcs_mpi::info;
use mds::Primitive;
use std::ffi::{c_int, c_void};

collectives! {
    forms Barrier() [moves 0] |call| forms::barrier(call);
    twins Bcast(buffer: *mut c_void, count: COUNT, datatype: MPI_Datatype, root: c_int)
    [moves moved(count, datatype)] |call| forms::bcast(call, buffer, wide(count), datatype, root);
    twins Reduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        root: c_int,
    ) [moves moved(count, datatype)] |call| {
        forms::reduce(call, &vectors(sendbuf, recvbuf, count, datatype, op), root)
    };
    twins Allreduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [moves moved(count, datatype)] |call| {
        forms::allreduce(call, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    twins Scan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [moves moved(count, datatype)] |call| {
        forms::scan(call, ScanKind::Inclusive, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    twins Exscan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [moves moved(count, datatype)] |call| {
        forms::scan(call, ScanKind::Exclusive, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    twins Reduce_scatter_block(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [moves moved(recvcount, datatype)] |call| {
        let shares = Shares::Equal(wide(recvcount));
        forms::reduce_scatter(call, &vectors(sendbuf, recvbuf, 0, datatype, op), &shares)
    };
    twins Reduce_scatter(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const COUNT, datatype: MPI_Datatype,
        op: MPI_Op,
    ) [moves 0] |call| {
        let shares = Shares::Each(recvcounts.numbers());
        forms::reduce_scatter(call, &vectors(sendbuf, recvbuf, 0, datatype, op), &shares)
    };
    twins Gather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int,
    ) [moves moved(sendcount, sendtype)] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::rooted(call, &own, &all, root)
    };
    twins Gatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype,
        root: c_int,
    ) [moves moved(sendcount, sendtype)] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::rooted(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype), root)
    };
    twins Scatter(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int,
    ) [moves moved(recvcount, recvtype)] |call| {
        let (all, own) = (everyone(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        forms::rooted(call, &own, &all, root)
    };
    twins Scatterv(
        sendbuf: *const c_void, sendcounts: *const COUNT, displs: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int,
    ) [moves moved(recvcount, recvtype)] |call| {
        let all = everyone_v(sendbuf, sendcounts, displs, sendtype);
        forms::rooted(call, &own(recvbuf, recvcount, recvtype), &all, root)
    };
    twins Allgather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype,
    ) [moves moved(recvcount, recvtype)] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::allgather(call, &own, &all)
    };
    twins Allgatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype,
    ) [moves moved(sendcount, sendtype)] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::allgather(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype))
    };
    twins Alltoall(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype,
    ) [moves moved(recvcount, recvtype)] |call| {
        let send = everyone(sendbuf, sendcount, sendtype);
        forms::alltoall(call, &send, &everyone(recvbuf, recvcount, recvtype))
    };
    twins Alltoallv(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        forms::alltoall(call, &send, &everyone_v(recvbuf, recvcounts, rdispls, recvtype))
    };
    twins Alltoallw(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT,
        rdispls: *const DISPL, recvtypes: *const MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        forms::alltoall(call, &send, &everyone_w(recvbuf, recvcounts, rdispls, recvtypes))
    };
}
