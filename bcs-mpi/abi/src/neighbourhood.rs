//! Chapter 8: neighbourhood collectives.

use crate::forms::{everyone, everyone_v, everyone_w, own};
use bcs_mpi::collective::forms::{self, Call};
use bcs_mpi::info;

collectives! {
    [MPI_Neighbor_allgather MPI_Ineighbor_allgather MPI_Neighbor_allgather_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype) [moves 0] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::neighbour_allgather(call, &own, &all)
    };
    [MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype) [moves 0] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::neighbour_allgather(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype))
    };
    [MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init]
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype) [moves 0] |call| {
        let send = everyone(sendbuf, sendcount, sendtype);
        forms::neighbour_alltoall(call, &send, &everyone(recvbuf, recvcount, recvtype))
    };
    [MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init]
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype) [moves 0] |call| {
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        forms::neighbour_alltoall(call, &send, &everyone_v(recvbuf, recvcounts, rdispls, recvtype))
    };
    [MPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init]
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes) [moves 0] |call| {
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        forms::neighbour_alltoall(call, &send, &everyone_w(recvbuf, recvcounts, rdispls, recvtypes))
    };
}
