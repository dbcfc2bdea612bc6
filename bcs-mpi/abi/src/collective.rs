//! Chapter 6: collective communication.

use crate::edge::{moved, wide};
use bcs_mpi::collective;
use bcs_mpi::collective::buffers::{Blocks, Numbers};
use bcs_mpi::collective::gather::{All, Own};
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

fn equal<P>(buffer: P, count: impl Into<i64>, datatype: MPI_Datatype) -> All<P> {
    All { buffer, blocks: Blocks::Equal(count.into()), datatype }
}

fn vector<P>(buffer: P, counts: impl Array, displacements: impl Array, datatype: MPI_Datatype) -> All<P> {
    All { buffer, blocks: Blocks::Vector(counts.numbers(), displacements.numbers()), datatype }
}

calls! {
    call MPI_Barrier(comm: MPI_Comm) [time Barrier(0) on comm] { collective::barrier(comm)? }
    twin MPI_Bcast(buffer: *mut c_void, count: COUNT, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm)
    [time Bcast(moved(count, datatype)) on comm] {
        collective::bcast(buffer, wide(count), datatype, root, comm)?
    }
    twin MPI_Reduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op, root: c_int,
        comm: MPI_Comm,
    ) [time Reduce(moved(count, datatype)) on comm] {
        collective::reduce(sendbuf, recvbuf, wide(count), datatype, op, root, comm)?
    }
    twin MPI_Allreduce(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time Allreduce(moved(count, datatype)) on comm] {
        collective::allreduce(sendbuf, recvbuf, wide(count), datatype, op, comm)?
    }
    twin MPI_Scan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time Scan(moved(count, datatype)) on comm] {
        collective::scan(ScanKind::Inclusive, sendbuf, recvbuf, wide(count), datatype, op, comm)?
    }
    twin MPI_Exscan(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time Exscan(moved(count, datatype)) on comm] {
        collective::scan(ScanKind::Exclusive, sendbuf, recvbuf, wide(count), datatype, op, comm)?
    }
    twin MPI_Reduce_scatter_block(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time ReduceScatterBlock(moved(recvcount, datatype)) on comm] {
        collective::reduce_scatter(sendbuf, recvbuf, &Shares::Equal(wide(recvcount)), datatype, op, comm)?
    }
    twin MPI_Reduce_scatter(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const COUNT, datatype: MPI_Datatype, op: MPI_Op,
        comm: MPI_Comm,
    ) [time ReduceScatter(0) on comm] {
        collective::reduce_scatter(sendbuf, recvbuf, &Shares::Each(recvcounts.numbers()), datatype, op, comm)?
    }
    twin MPI_Gather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT,
        recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) [time Gather(moved(sendcount, sendtype)) on comm] {
        let (own, all) = (own(sendbuf, sendcount, sendtype), equal(recvbuf, recvcount, recvtype));
        collective::gather(Primitive::Gather, &own, &all, root, comm)?
    }
    twin MPI_Gatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) [time Gatherv(moved(sendcount, sendtype)) on comm] {
        let (own, all) = (own(sendbuf, sendcount, sendtype), vector(recvbuf, recvcounts, displs, recvtype));
        collective::gather(Primitive::Gatherv, &own, &all, root, comm)?
    }
    twin MPI_Scatter(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT,
        recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) [time Scatter(moved(recvcount, recvtype)) on comm] {
        let (all, own) = (equal(sendbuf, sendcount, sendtype), own(recvbuf, recvcount, recvtype));
        collective::scatter(Primitive::Scatter, &all, &own, root, comm)?
    }
    twin MPI_Scatterv(
        sendbuf: *const c_void, sendcounts: *const COUNT, displs: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcount: COUNT, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) [time Scatterv(moved(recvcount, recvtype)) on comm] {
        let (all, own) = (vector(sendbuf, sendcounts, displs, sendtype), own(recvbuf, recvcount, recvtype));
        collective::scatter(Primitive::Scatterv, &all, &own, root, comm)?
    }
    twin MPI_Allgather(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time Allgather(moved(recvcount, recvtype)) on comm] {
        let (own, all) = (own(sendbuf, sendcount, sendtype), equal(recvbuf, recvcount, recvtype));
        collective::allgather(Primitive::Allgather, &own, &all, comm)?
    }
    twin MPI_Allgatherv(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void,
        recvcounts: *const COUNT, displs: *const DISPL, recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time Allgatherv(moved(sendcount, sendtype)) on comm] {
        let (own, all) = (own(sendbuf, sendcount, sendtype), vector(recvbuf, recvcounts, displs, recvtype));
        collective::allgather(Primitive::Allgatherv, &own, &all, comm)?
    }
    twin MPI_Alltoall(
        sendbuf: *const c_void, sendcount: COUNT, sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: COUNT,
        recvtype: MPI_Datatype, comm: MPI_Comm,
    ) [time Alltoall(moved(recvcount, recvtype)) on comm] {
        let (send, receive) = (equal(sendbuf, sendcount, sendtype), equal(recvbuf, recvcount, recvtype));
        collective::alltoall(Primitive::Alltoall, &send, &receive, comm)?
    }
    twin MPI_Alltoallv(
        sendbuf: *const c_void, sendcounts: *const COUNT, sdispls: *const DISPL, sendtype: MPI_Datatype,
        recvbuf: *mut c_void, recvcounts: *const COUNT, rdispls: *const DISPL, recvtype: MPI_Datatype,
        comm: MPI_Comm,
    ) [time Alltoallv(0) on comm] {
        let send = vector(sendbuf, sendcounts, sdispls, sendtype);
        let receive = vector(recvbuf, recvcounts, rdispls, recvtype);
        collective::alltoall(Primitive::Alltoallv, &send, &receive, comm)?
    }
}
