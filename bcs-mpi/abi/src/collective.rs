//! Chapter 6: collective communication.

use crate::edge::{handle, moved, wide};
use crate::forms::{Array, everyone, everyone_v, everyone_w, own, vectors};
use bcs_mpi::collective::combination::ScanKind;
use bcs_mpi::collective::forms::{self, Call};
use bcs_mpi::collective::reduce_scatter::Shares;
use bcs_mpi::constants::*;
use bcs_mpi::info;
use std::ffi::{c_int, c_void};

collectives! {
    forms [MPI_Barrier MPI_Ibarrier MPI_Barrier_init]() [moves 0] |call| forms::barrier(call);
    twins [MPI_Bcast MPI_Ibcast MPI_Bcast_init](
        buffer: *mut c_void, count: COUNT, datatype: MPI_Datatype, root: c_int,
    ) [moves moved(count, datatype)] |call| forms::bcast(call, &own(buffer, count, datatype), root);
    twins [MPI_Reduce MPI_Ireduce MPI_Reduce_init](
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        root: c_int,
    ) [moves moved(count, datatype)] |call| {
        forms::reduce(call, &vectors(sendbuf, recvbuf, count, datatype, op), root)
    };
    twins [MPI_Allreduce MPI_Iallreduce MPI_Allreduce_init](
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [moves moved(count, datatype)] |call| {
        forms::allreduce(call, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    twins [MPI_Scan MPI_Iscan MPI_Scan_init](
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [moves moved(count, datatype)] |call| {
        forms::scan(call, ScanKind::Inclusive, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    twins [MPI_Exscan MPI_Iexscan MPI_Exscan_init](
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [moves moved(count, datatype)] |call| {
        forms::scan(call, ScanKind::Exclusive, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    twins [MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init](
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: COUNT, datatype: MPI_Datatype, op: MPI_Op,
    ) [moves moved(recvcount, datatype)] |call| {
        let shares = Shares::Equal(wide(recvcount));
        forms::reduce_scatter(call, &vectors(sendbuf, recvbuf, 0, datatype, op), &shares)
    };
    twins [MPI_Reduce_scatter MPI_Ireduce_scatter MPI_Reduce_scatter_init](
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const COUNT, datatype: MPI_Datatype,
        op: MPI_Op,
    ) [moves 0] |call| {
        let shares = Shares::Each(recvcounts.numbers());
        forms::reduce_scatter(call, &vectors(sendbuf, recvbuf, 0, datatype, op), &shares)
    };
    twins [MPI_Gather MPI_Igather MPI_Gather_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int,
    ) [moves moved(sendcount, sendtype)] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::rooted(call, &own, &all, root)
    };
    twins [MPI_Gatherv MPI_Igatherv MPI_Gatherv_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype,
        root: c_int,
    ) [moves moved(sendcount, sendtype)] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::rooted(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype), root)
    };
    twins [MPI_Scatter MPI_Iscatter MPI_Scatter_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int,
    ) [moves moved(recvcount, recvtype)] |call| {
        let (all, own) = (everyone(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        forms::rooted(call, &own, &all, root)
    };
    twins [MPI_Scatterv MPI_Iscatterv MPI_Scatterv_init](
        sendbuf: *const c_void, sendcounts: *const COUNT, displs: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int,
    ) [moves moved(recvcount, recvtype)] |call| {
        let all = everyone_v(sendbuf, sendcounts, displs, sendtype);
        forms::rooted(call, &own(recvbuf, recvcount, recvtype), &all, root)
    };
    twins [MPI_Allgather MPI_Iallgather MPI_Allgather_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype,
    ) [moves moved(recvcount, recvtype)] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::allgather(call, &own, &all)
    };
    twins [MPI_Allgatherv MPI_Iallgatherv MPI_Allgatherv_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype,
    ) [moves moved(sendcount, sendtype)] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::allgather(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype))
    };
    twins [MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype,
    ) [moves moved(recvcount, recvtype)] |call| {
        let send = everyone(sendbuf, sendcount, sendtype);
        forms::alltoall(call, &send, &everyone(recvbuf, recvcount, recvtype))
    };
    twins [MPI_Alltoallv MPI_Ialltoallv MPI_Alltoallv_init](
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        forms::alltoall(call, &send, &everyone_v(recvbuf, recvcounts, rdispls, recvtype))
    };
    twins [MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init](
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT,
        rdispls: *const DISPL, recvtypes: *const MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        forms::alltoall(call, &send, &everyone_w(recvbuf, recvcounts, rdispls, recvtypes))
    };
}
