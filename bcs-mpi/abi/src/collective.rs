//! Chapter 6: collective communication; chapter 8: neighbourhood collectives.

use crate::edge::{moved, wide};
use crate::forms::{array, own};
use bcs_mpi::collective::buffers::{Everyone, Vectors};
use bcs_mpi::collective::combination::ScanKind;
use bcs_mpi::collective::forms::{self, Call, Form};
use bcs_mpi::collective::places::Places;
use bcs_mpi::collective::reduce_scatter::Shares;
use bcs_mpi::info;

collectives! {
    [MPI_Barrier MPI_Ibarrier MPI_Barrier_init] barrier [moves 0]
    () |call, barrier| barrier(call);

    [MPI_Bcast MPI_Ibcast MPI_Bcast_init] bcast [moves moved(count, datatype)]
    (buffer, count, datatype, root) |call, bcast| bcast(call, &own(buffer, count, datatype), root);

    [MPI_Reduce MPI_Ireduce MPI_Reduce_init] reduce [moves moved(count, datatype)]
    (sendbuf, recvbuf, count, datatype, op, root) |call, reduce| {
        reduce(call, &Vectors::new(sendbuf, recvbuf, wide(count), datatype, op), root)
    };

    [MPI_Allreduce MPI_Iallreduce MPI_Allreduce_init] allreduce [moves moved(count, datatype)]
    (sendbuf, recvbuf, count, datatype, op) |call, allreduce| {
        allreduce(call, &Vectors::new(sendbuf, recvbuf, wide(count), datatype, op))
    };

    [MPI_Scan MPI_Iscan MPI_Scan_init] scan [moves moved(count, datatype)]
    (sendbuf, recvbuf, count, datatype, op) |call, scan| {
        scan(call, ScanKind::Inclusive, &Vectors::new(sendbuf, recvbuf, wide(count), datatype, op))
    };

    [MPI_Exscan MPI_Iexscan MPI_Exscan_init] scan [moves moved(count, datatype)]
    (sendbuf, recvbuf, count, datatype, op) |call, scan| {
        scan(call, ScanKind::Exclusive, &Vectors::new(sendbuf, recvbuf, wide(count), datatype, op))
    };

    [MPI_Reduce_scatter_block MPI_Ireduce_scatter_block MPI_Reduce_scatter_block_init]
    reduce_scatter [moves moved(recvcount, datatype)]
    (sendbuf, recvbuf, recvcount, datatype, op) |call, reduce_scatter| {
        let vectors = Vectors::new(sendbuf, recvbuf, 0, datatype, op);
        reduce_scatter(call, &vectors, &Shares::Equal(wide(recvcount)))
    };

    [MPI_Reduce_scatter MPI_Ireduce_scatter MPI_Reduce_scatter_init] reduce_scatter [moves 0]
    (sendbuf, recvbuf, recvcounts, datatype, op) |call, reduce_scatter| {
        let vectors = Vectors::new(sendbuf, recvbuf, 0, datatype, op);
        reduce_scatter(call, &vectors, &Shares::Each(array(recvcounts)))
    };

    [MPI_Gather MPI_Igather MPI_Gather_init] rooted [moves moved(sendcount, sendtype)]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root) |call, gather| {
        let all = Everyone::new(recvbuf, Places::Equal(wide(recvcount), recvtype));
        let own = own(sendbuf, sendcount, sendtype);
        gather(call, &own, &all, root)
    };

    [MPI_Gatherv MPI_Igatherv MPI_Gatherv_init] rooted [moves moved(sendcount, sendtype)]
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root) |call, gather| {
        let own = own(sendbuf, sendcount, sendtype);
        let all = Everyone::new(recvbuf, Places::Vector(array(recvcounts), array(displs), recvtype));
        gather(call, &own, &all, root)
    };

    [MPI_Scatter MPI_Iscatter MPI_Scatter_init] rooted [moves moved(recvcount, recvtype)]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root) |call, scatter| {
        let all = Everyone::new(sendbuf, Places::Equal(wide(sendcount), sendtype));
        let own = own(recvbuf, recvcount, recvtype);
        scatter(call, &own, &all, root)
    };

    [MPI_Scatterv MPI_Iscatterv MPI_Scatterv_init] rooted [moves moved(recvcount, recvtype)]
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root) |call, scatter| {
        let all = Everyone::new(sendbuf, Places::Vector(array(sendcounts), array(displs), sendtype));
        scatter(call, &own(recvbuf, recvcount, recvtype), &all, root)
    };

    [MPI_Allgather MPI_Iallgather MPI_Allgather_init] allgather [moves moved(recvcount, recvtype)]
    [MPI_Neighbor_allgather MPI_Ineighbor_allgather MPI_Neighbor_allgather_init] neighbour_allgather [moves 0]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype) |call, allgather| {
        let all = Everyone::new(recvbuf, Places::Equal(wide(recvcount), recvtype));
        let own = own(sendbuf, sendcount, sendtype);
        allgather(call, &own, &all)
    };

    [MPI_Allgatherv MPI_Iallgatherv MPI_Allgatherv_init] allgather [moves moved(sendcount, sendtype)]
    [MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init]
    neighbour_allgather [moves 0]
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype) |call, allgather| {
        let own = own(sendbuf, sendcount, sendtype);
        let all = Everyone::new(recvbuf, Places::Vector(array(recvcounts), array(displs), recvtype));
        allgather(call, &own, &all)
    };

    [MPI_Alltoall MPI_Ialltoall MPI_Alltoall_init] alltoall [moves moved(recvcount, recvtype)]
    [MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init] neighbour_alltoall [moves 0]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype) |call, alltoall| {
        let send = Everyone::new(sendbuf, Places::Equal(wide(sendcount), sendtype));
        alltoall(call, &send, &Everyone::new(recvbuf, Places::Equal(wide(recvcount), recvtype)))
    };

    [MPI_Alltoallv MPI_Ialltoallv MPI_Alltoallv_init] alltoall [moves 0]
    [MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init] neighbour_alltoall [moves 0]
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype) |call, alltoall| {
        let send = Everyone::new(sendbuf, Places::Vector(array(sendcounts), array(sdispls), sendtype));
        let all = Everyone::new(recvbuf, Places::Vector(array(recvcounts), array(rdispls), recvtype));
        alltoall(call, &send, &all)
    };

    [MPI_Alltoallw MPI_Ialltoallw MPI_Alltoallw_init] alltoall [moves 0]
    [MPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init] neighbour_alltoall [moves 0]
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes) |call, alltoall| {
        let send = Everyone::new(sendbuf, Places::Typed(array(sendcounts), array(sdispls), sendtypes));
        let all = Everyone::new(recvbuf, Places::Typed(array(recvcounts), array(rdispls), recvtypes));
        alltoall(call, &send, &all)
    };
}
