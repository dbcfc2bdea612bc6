//! Chapter 6: collective communication.

use crate::collective_forms::{everyone, everyone_v};
use crate::edge::{moved, wide};
use bcs_mpi::collective::buffers::{Numbers, Own};
use bcs_mpi::collective::forms::{self, Call, Vectors};
use bcs_mpi::collective::reduce_scatter::Shares;
use bcs_mpi::collective::scan::ScanKind;
use bcs_mpi::constants::*;
use mds::Primitive;
use std::ffi::{c_int, c_void};

/// An array of counts or displacements of either width.
pub trait Array {
    /// Its numbers.
    fn numbers(self) -> Numbers;
}

impl Array for *const c_int {
    fn numbers(self) -> Numbers {
        Numbers::Small(self)
    }
}

impl Array for *const i64 {
    fn numbers(self) -> Numbers {
        Numbers::Large(self)
    }
}

impl Array for *const isize {
    fn numbers(self) -> Numbers {
        const { assert!(size_of::<isize>() == size_of::<i64>()) };
        Numbers::Large(self.cast())
    }
}

/// A member's own buffer.
pub fn own<P>(buffer: P, count: impl Into<i64>, datatype: MPI_Datatype) -> Own<P> {
    Own { buffer, count: count.into(), datatype }
}

calls! {
    call MPI_Barrier(comm: MPI_Comm) [time Barrier(0) on comm] {
        forms::barrier(Call::blocking(Primitive::Barrier, comm)).map(drop)?
    }
    twin MPI_Bcast(buffer: *mut c_void, count: COUNT, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm)
    [time Bcast(moved(count, datatype)) on comm] {
        forms::bcast(Call::blocking(Primitive::Bcast, comm), buffer, wide(count), datatype, root).map(drop)?
    }
    twin MPI_Reduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, root: c_int,
        comm: MPI_Comm,
    ) [time Reduce(moved(count, datatype)) on comm] {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        forms::reduce(Call::blocking(Primitive::Reduce, comm), &vectors, root).map(drop)?
    }
    twin MPI_Allreduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time Allreduce(moved(count, datatype)) on comm] {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        forms::allreduce(Call::blocking(Primitive::Allreduce, comm), &vectors).map(drop)?
    }
    twin MPI_Scan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time Scan(moved(count, datatype)) on comm] {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        forms::scan(Call::blocking(Primitive::Scan, comm), ScanKind::Inclusive, &vectors).map(drop)?
    }
    twin MPI_Exscan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time Exscan(moved(count, datatype)) on comm] {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: wide(count), datatype, op };
        forms::scan(Call::blocking(Primitive::Exscan, comm), ScanKind::Exclusive, &vectors).map(drop)?
    }
    twin MPI_Reduce_scatter_block(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time ReduceScatterBlock(moved(recvcount, datatype)) on comm] {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: 0, datatype, op };
        let call = Call::blocking(Primitive::ReduceScatterBlock, comm);
        forms::reduce_scatter(call, &vectors, &Shares::Equal(wide(recvcount))).map(drop)?
    }
    twin MPI_Reduce_scatter(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time ReduceScatter(0) on comm] {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: 0, datatype, op };
        let call = Call::blocking(Primitive::ReduceScatter, comm);
        forms::reduce_scatter(call, &vectors, &Shares::Each(recvcounts.numbers())).map(drop)?
    }
    twin MPI_Gather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT,
        recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) [time Gather(moved(sendcount, sendtype)) on comm] {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::gather(Call::blocking(Primitive::Gather, comm), &own, &all, root).map(drop)?
    }
    twin MPI_Gatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) [time Gatherv(moved(sendcount, sendtype)) on comm] {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone_v(recvbuf, recvcounts, displs, recvtype));
        forms::gather(Call::blocking(Primitive::Gatherv, comm), &own, &all, root).map(drop)?
    }
    twin MPI_Scatter(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT,
        recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) [time Scatter(moved(recvcount, recvtype)) on comm] {
        let (all, own) = (everyone(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        forms::scatter(Call::blocking(Primitive::Scatter, comm), &all, &own, root).map(drop)?
    }
    twin MPI_Scatterv(
        sendbuf: *const c_void, sendcounts: *const COUNT, displs: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) [time Scatterv(moved(recvcount, recvtype)) on comm] {
        let (all, own) = (everyone_v(sendbuf, sendcounts, displs, sendtype), own(recvbuf, recvcount, recvtype));
        forms::scatter(Call::blocking(Primitive::Scatterv, comm), &all, &own, root).map(drop)?
    }
    twin MPI_Allgather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time Allgather(moved(recvcount, recvtype)) on comm] {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::allgather(Call::blocking(Primitive::Allgather, comm), &own, &all).map(drop)?
    }
    twin MPI_Allgatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time Allgatherv(moved(sendcount, sendtype)) on comm] {
        let (own, all) = (own(sendbuf, sendcount, sendtype), everyone_v(recvbuf, recvcounts, displs, recvtype));
        forms::allgather(Call::blocking(Primitive::Allgatherv, comm), &own, &all).map(drop)?
    }
    twin MPI_Alltoall(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time Alltoall(moved(recvcount, recvtype)) on comm] {
        let (send, receive) = (everyone(sendbuf, sendcount, sendtype), everyone(recvbuf, recvcount, recvtype));
        forms::alltoall(Call::blocking(Primitive::Alltoall, comm), &send, &receive).map(drop)?
    }
    twin MPI_Alltoallv(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) [time Alltoallv(0) on comm] {
        let send = everyone_v(sendbuf, sendcounts, sdispls, sendtype);
        let receive = everyone_v(recvbuf, recvcounts, rdispls, recvtype);
        forms::alltoall(Call::blocking(Primitive::Alltoallv, comm), &send, &receive).map(drop)?
    }
}
