//! Chapter 8: neighbourhood collectives.

use crate::edge::handle;
use crate::forms::{everyone, everyone_v, everyone_w, own};
use bcs_mpi::collective::forms::{self, Call};
use bcs_mpi::constants::*;
use bcs_mpi::info;
use std::ffi::c_void;

collectives! {
    twins [MPI_Neighbor_allgather MPI_Ineighbor_allgather MPI_Neighbor_allgather_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::neighbour_allgather(call, &own, &all)
    };
    twins [MPI_Neighbor_allgatherv MPI_Ineighbor_allgatherv MPI_Neighbor_allgatherv_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::neighbour_allgather(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype))
    };
    twins [MPI_Neighbor_alltoall MPI_Ineighbor_alltoall MPI_Neighbor_alltoall_init](
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone(sendbuf, sendcount, sendtype);
        forms::neighbour_alltoall(call, &send, &everyone(recvbuf, recvcount, recvtype))
    };
    twins [MPI_Neighbor_alltoallv MPI_Ineighbor_alltoallv MPI_Neighbor_alltoallv_init](
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        forms::neighbour_alltoall(call, &send, &everyone_v(recvbuf, recvcounts, rdispls, recvtype))
    };
    twins [MPI_Neighbor_alltoallw MPI_Ineighbor_alltoallw MPI_Neighbor_alltoallw_init](
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT,
        rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        forms::neighbour_alltoall(call, &send, &everyone_w(recvbuf, recvcounts, rdispls, recvtypes))
    };
}
