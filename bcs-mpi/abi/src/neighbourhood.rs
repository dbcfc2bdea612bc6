//! Chapter 8: neighbourhood collectives.

use crate::edge::handle;
use crate::forms::{everyone, everyone_v, everyone_w, own};
use bcs_mpi::collective::forms::{self, Call};
use bcs_mpi::constants::*;
use bcs_mpi::info;
use mds::Primitive;
use std::ffi::c_void;

collectives! {
    twins Neighbor_allgather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::neighbour_allgather(call, &own, &all)
    };
    twins Neighbor_allgatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let own = own(sendbuf, sendcount, sendtype);
        forms::neighbour_allgather(call, &own, &everyone_v(recvbuf, recvcounts, displs, recvtype))
    };
    twins Neighbor_alltoall(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone(sendbuf, sendcount, sendtype);
        forms::neighbour_alltoall(call, &send, &everyone(recvbuf, recvcount, recvtype))
    };
    twins Neighbor_alltoallv(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtype: MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        forms::neighbour_alltoall(call, &send, &everyone_v(recvbuf, recvcounts, rdispls, recvtype))
    };
    twins Neighbor_alltoallw(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT,
        rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype,
    ) [moves 0] |call| {
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        forms::neighbour_alltoall(call, &send, &everyone_w(recvbuf, recvcounts, rdispls, recvtypes))
    };
}
