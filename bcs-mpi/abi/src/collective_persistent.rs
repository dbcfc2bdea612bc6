//! Chapter 6: persistent collectives.

use crate::collective::{Array, own};
use crate::collective_forms::{everyone, everyone_v, everyone_w};
use crate::edge::{handle, wide};
use bcs_mpi::collective::forms::{self, Call, Vectors};
use bcs_mpi::collective::reduce_scatter::Shares;
use bcs_mpi::collective::scan::ScanKind;
use bcs_mpi::constants::*;
use bcs_mpi::environment::info;
use mds::Primitive;
use std::ffi::{c_int, c_void};

calls! {
    call MPI_Barrier_init(comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request) [time BarrierInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::BarrierInit, comm));
        info::check(info)?;
        request.set(forms::barrier(call)?)
    }
    twin MPI_Bcast_init(
        buffer: *mut c_void, count: COUNT, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time BcastInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::BcastInit, comm));
        info::check(info)?;
        request.set(forms::bcast(call, buffer, wide(count), datatype, root)?)
    }
    twin MPI_Reduce_init(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time ReduceInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::ReduceInit, comm));
        info::check(info)?;
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        request.set(forms::reduce(call, &vectors, root)?)
    }
    twin MPI_Allreduce_init(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time AllreduceInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::AllreduceInit, comm));
        info::check(info)?;
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        request.set(forms::allreduce(call, &vectors)?)
    }
    twin MPI_Scan_init(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time ScanInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::ScanInit, comm));
        info::check(info)?;
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        request.set(forms::scan(call, ScanKind::Inclusive, &vectors)?)
    }
    twin MPI_Exscan_init(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time ExscanInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::ExscanInit, comm));
        info::check(info)?;
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        request.set(forms::scan(call, ScanKind::Exclusive, &vectors)?)
    }
    twin MPI_Reduce_scatter_block_init(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time ReduceScatterBlockInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::ReduceScatterBlockInit, comm));
        info::check(info)?;
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: 0, datatype, op };
        request.set(forms::reduce_scatter(call, &vectors, &Shares::Equal(wide(recvcount)))?)
    }
    twin MPI_Reduce_scatter_init(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const COUNT, datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time ReduceScatterInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::ReduceScatterInit, comm));
        info::check(info)?;
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: 0, datatype, op };
        request.set(forms::reduce_scatter(call, &vectors, &Shares::Each(recvcounts.numbers()))?)
    }
    twin MPI_Gather_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time GatherInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::GatherInit, comm));
        info::check(info)?;
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        request.set(forms::gather(call, &own, &all, root)?)
    }
    twin MPI_Gatherv_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time GathervInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::GathervInit, comm));
        info::check(info)?;
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone_v(recvbuf, recvcounts, displs, recvtype));
        request.set(forms::gather(call, &own, &all, root)?)
    }
    twin MPI_Scatter_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time ScatterInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::ScatterInit, comm));
        info::check(info)?;
        let (all, own) = (everyone(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        request.set(forms::scatter(call, &all, &own, root)?)
    }
    twin MPI_Scatterv_init(
        sendbuf: *const c_void, sendcounts: *const COUNT, displs: *const DISPL, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time ScattervInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::ScattervInit, comm));
        info::check(info)?;
        let (all, own) = (everyone_v(sendbuf, sendcounts, displs, sendtype), own(recvbuf, recvcount, recvtype));
        request.set(forms::scatter(call, &all, &own, root)?)
    }
    twin MPI_Allgather_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time AllgatherInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::AllgatherInit, comm));
        info::check(info)?;
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        request.set(forms::allgather(call, &own, &all)?)
    }
    twin MPI_Allgatherv_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time AllgathervInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::AllgathervInit, comm));
        info::check(info)?;
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone_v(recvbuf, recvcounts, displs, recvtype));
        request.set(forms::allgather(call, &own, &all)?)
    }
    twin MPI_Alltoall_init(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time AlltoallInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::AlltoallInit, comm));
        info::check(info)?;
        let (send, receive) = (everyone(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        request.set(forms::alltoall(call, &send, &receive)?)
    }
    twin MPI_Alltoallv_init(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time AlltoallvInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::AlltoallvInit, comm));
        info::check(info)?;
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        let receive = everyone_v(recvbuf, recvcounts, rdispls, recvtype);
        request.set(forms::alltoall(call, &send, &receive)?)
    }
    twin MPI_Alltoallw_init(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtypes: *const MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
        request: *mut MPI_Request,
    ) [time AlltoallwInit(0) on comm] {
        let (request, call) = (handle(request, "request")?, Call::persistent(Primitive::AlltoallwInit, comm));
        info::check(info)?;
        let send = everyone_w(sendbuf, sendcounts, sdispls, sendtypes);
        let receive = everyone_w(recvbuf, recvcounts, rdispls, recvtypes);
        request.set(forms::alltoall(call, &send, &receive)?)
    }
}
