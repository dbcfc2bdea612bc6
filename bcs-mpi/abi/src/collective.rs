//! Chapter 6: collective communication.

use crate::edge::{moved, wide};
use crate::forms::{Array, everyone, everyone_v, everyone_w, own, vectors};
use bcs_mpi::collective::forms::{self, Call};
use bcs_mpi::collective::reduce_scatter::Shares;
use bcs_mpi::collective::scan::ScanKind;
use bcs_mpi::info;

collectives! {
    [MPI_Barrier MPI_Ibarrier MPI_Barrier_init]() [moves 0] |call| forms::barrier(call);
    [MPI_Bcast MPI_Ibcast MPI_Bcast_init]
    (buffer, count, datatype, root) [moves moved(count, datatype)] |call| {
        forms::bcast(call, buffer, wide(count), datatype, root)
    };
    [MPI_Reduce MPI_Ireduce MPI_Reduce_init]
    (sendbuf, recvbuf, count, datatype, op, root) [moves moved(count, datatype)] |call| {
        forms::reduce(call, &vectors(sendbuf, recvbuf, count, datatype, op), root)
    };
    [MPI_Allreduce MPI_Iallreduce MPI_Allreduce_init]
    (sendbuf, recvbuf, count, datatype, op) [moves moved(count, datatype)] |call| {
        forms::allreduce(call, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    [MPI_Scan MPI_Iscan MPI_Scan_init]
    (sendbuf, recvbuf, count, datatype, op) [moves moved(count, datatype)] |call| {
        forms::scan(call, ScanKind::Inclusive, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    [MPI_Exscan MPI_Iexscan MPI_Exscan_init]
    (sendbuf, recvbuf, count, datatype, op) [moves moved(count, datatype)] |call| {
        forms::scan(call, ScanKind::Exclusive, &vectors(sendbuf, recvbuf, count, datatype, op))
    };
    [MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init]
    (sendbuf, recvbuf, recvcount, datatype, op) [moves moved(recvcount, datatype)] |call| {
        let shares = Shares::Equal(wide(recvcount));
        forms::reduce_scatter(call, &vectors(sendbuf, recvbuf, 0, datatype, op), &shares)
    };
    [MPI_Reduce_scatter MPI_Ireduce_scatter MPI_Reduce_scatter_init]
    (sendbuf, recvbuf, recvcounts, datatype, op) [moves 0] |call| {
        let shares = Shares::Each(recvcounts.numbers());
        forms::reduce_scatter(call, &vectors(sendbuf, recvbuf, 0, datatype, op), &shares)
    };
    [MPI_Gather MPI_Igather MPI_Gather_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root) [moves moved(sendcount, sendtype)] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::rooted(call, &own, &all, root)
    };
    [MPI_Gatherv MPI_Igatherv MPI_Gatherv_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root) [moves moved(sendcount, sendtype)] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::rooted(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype), root)
    };
    [MPI_Scatter MPI_Iscatter MPI_Scatter_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root) [moves moved(recvcount, recvtype)] |call| {
        let (all, own) = (everyone(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        forms::rooted(call, &own, &all, root)
    };
    [MPI_Scatterv MPI_Iscatterv MPI_Scatterv_init]
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root) [moves moved(recvcount, recvtype)] |call| {
        let all = everyone_v(sendbuf, sendcounts, displs, sendtype);
        forms::rooted(call, &own(recvbuf, recvcount, recvtype), &all, root)
    };
    [MPI_Allgather MPI_Iallgather MPI_Allgather_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype) [moves moved(recvcount, recvtype)] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::allgather(call, &own, &all)
    };
    [MPI_Allgatherv MPI_Iallgatherv MPI_Allgatherv_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype) [moves moved(sendcount, sendtype)] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::allgather(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype))
    };
    [MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype) [moves moved(recvcount, recvtype)] |call| {
        let send = everyone(sendbuf, sendcount, sendtype);
        forms::alltoall(call, &send, &everyone(recvbuf, recvcount, recvtype))
    };
    [MPI_Alltoallv MPI_Ialltoallv MPI_Alltoallv_init]
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype) [moves 0] |call| {
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        forms::alltoall(call, &send, &everyone_v(recvbuf, recvcounts, rdispls, recvtype))
    };
    [MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init]
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes) [moves 0] |call| {
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        forms::alltoall(call, &send, &everyone_w(recvbuf, recvcounts, rdispls, recvtypes))
    };
}
