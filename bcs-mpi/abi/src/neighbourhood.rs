//! Chapter 8: neighbourhood collectives.

use crate::collective::own;
use crate::collective_forms::{everyone, everyone_v, everyone_w};
use crate::edge::handle;
use bcs_mpi::collective::forms::{self, Call};
use bcs_mpi::constants::*;
use bcs_mpi::environment::info;
use mds::Primitive;
use std::ffi::c_void;

calls! {
    twin MPI_Neighbor_allgather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time NeighborAllgather(0) on comm] {
        let call = Call::blocking(Primitive::NeighborAllgather, comm);
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::neighbour_allgather(call, &own, &all)?
    }
    twin MPI_Ineighbor_allgather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time IneighborAllgather(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::IneighborAllgather, comm));
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        request.set(forms::neighbour_allgather(call, &own, &all)?)
    }
    twin MPI_Neighbor_allgather_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) [time NeighborAllgatherInit(0) on comm] {
        let request = handle(request, "request")?;
        info::check(info)?;
        let call = Call::persistent(Primitive::NeighborAllgatherInit, comm);
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        request.set(forms::neighbour_allgather(call, &own, &all)?)
    }
    twin MPI_Neighbor_allgatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time NeighborAllgatherv(0) on comm] {
        let call = Call::blocking(Primitive::NeighborAllgatherv, comm);
        let own = own(sendbuf, sendcount, sendtype);
        let all = everyone_v(recvbuf, recvcounts, displs, recvtype);
        forms::neighbour_allgather(call, &own, &all)?
    }
    twin MPI_Ineighbor_allgatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL,
        recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time IneighborAllgatherv(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::IneighborAllgatherv, comm));
        let own = own(sendbuf, sendcount, sendtype);
        let all = everyone_v(recvbuf, recvcounts, displs, recvtype);
        request.set(forms::neighbour_allgather(call, &own, &all)?)
    }
    twin MPI_Neighbor_allgatherv_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL,
        recvtype: MPI_Datatype, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) [time NeighborAllgathervInit(0) on comm] {
        let request = handle(request, "request")?;
        info::check(info)?;
        let call = Call::persistent(Primitive::NeighborAllgathervInit, comm);
        let own = own(sendbuf, sendcount, sendtype);
        let all = everyone_v(recvbuf, recvcounts, displs, recvtype);
        request.set(forms::neighbour_allgather(call, &own, &all)?)
    }
    twin MPI_Neighbor_alltoall(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time NeighborAlltoall(0) on comm] {
        let call = Call::blocking(Primitive::NeighborAlltoall, comm);
        let send = everyone(sendbuf, sendcount, sendtype);
        let receive = everyone(recvbuf, recvcount, recvtype);
        forms::neighbour_alltoall(call, &send, &receive)?
    }
    twin MPI_Ineighbor_alltoall(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time IneighborAlltoall(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::IneighborAlltoall, comm));
        let send = everyone(sendbuf, sendcount, sendtype);
        let receive = everyone(recvbuf, recvcount, recvtype);
        request.set(forms::neighbour_alltoall(call, &send, &receive)?)
    }
    twin MPI_Neighbor_alltoall_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) [time NeighborAlltoallInit(0) on comm] {
        let request = handle(request, "request")?;
        info::check(info)?;
        let call = Call::persistent(Primitive::NeighborAlltoallInit, comm);
        let send = everyone(sendbuf, sendcount, sendtype);
        let receive = everyone(recvbuf, recvcount, recvtype);
        request.set(forms::neighbour_alltoall(call, &send, &receive)?)
    }
    twin MPI_Neighbor_alltoallv(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL,
        sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time NeighborAlltoallv(0) on comm] {
        let call = Call::blocking(Primitive::NeighborAlltoallv, comm);
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        let receive = everyone_v(recvbuf, recvcounts, rdispls, recvtype);
        forms::neighbour_alltoall(call, &send, &receive)?
    }
    twin MPI_Ineighbor_alltoallv(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL,
        sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL,
        recvtype: MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time IneighborAlltoallv(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::IneighborAlltoallv, comm));
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        let receive = everyone_v(recvbuf, recvcounts, rdispls, recvtype);
        request.set(forms::neighbour_alltoall(call, &send, &receive)?)
    }
    twin MPI_Neighbor_alltoallv_init(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL,
        sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL,
        recvtype: MPI_Datatype, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) [time NeighborAlltoallvInit(0) on comm] {
        let request = handle(request, "request")?;
        info::check(info)?;
        let call = Call::persistent(Primitive::NeighborAlltoallvInit, comm);
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        let receive = everyone_v(recvbuf, recvcounts, rdispls, recvtype);
        request.set(forms::neighbour_alltoall(call, &send, &receive)?)
    }
    twin MPI_Neighbor_alltoallw(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const MPI_Aint,
        recvtypes: *const MPI_Datatype, comm: MPI_Comm,
    ) [time NeighborAlltoallw(0) on comm] {
        let call = Call::blocking(Primitive::NeighborAlltoallw, comm);
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        let receive = everyone_w(recvbuf, recvcounts, rdispls, recvtypes);
        forms::neighbour_alltoall(call, &send, &receive)?
    }
    twin MPI_Ineighbor_alltoallw(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const MPI_Aint,
        recvtypes: *const MPI_Datatype, comm: MPI_Comm,
        request: *mut MPI_Request,
    ) [time IneighborAlltoallw(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::immediate(Primitive::IneighborAlltoallw, comm));
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        let receive = everyone_w(recvbuf, recvcounts, rdispls, recvtypes);
        request.set(forms::neighbour_alltoall(call, &send, &receive)?)
    }
    twin MPI_Neighbor_alltoallw_init(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const MPI_Aint,
        sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const MPI_Aint,
        recvtypes: *const MPI_Datatype, comm: MPI_Comm,
        info: MPI_Info, request: *mut MPI_Request,
    ) [time NeighborAlltoallwInit(0) on comm] {
        let request = handle(request, "request")?;
        info::check(info)?;
        let call = Call::persistent(Primitive::NeighborAlltoallwInit, comm);
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        let receive = everyone_w(recvbuf, recvcounts, rdispls, recvtypes);
        request.set(forms::neighbour_alltoall(call, &send, &receive)?)
    }
}
