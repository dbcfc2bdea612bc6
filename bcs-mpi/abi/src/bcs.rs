//! The BCS API for C (`bcs.h`; paper, table 4.1): sizes in bytes, and a flag where MPI has two calls.

use crate::edge::{Place, array, object, place};
use crate::forms::own;
use bcs_mpi::MpiResult;
use bcs_mpi::api::Mode;
use bcs_mpi::collective::buffers::{Everyone, Vectors};
use bcs_mpi::collective::forms::{self, Call};
use bcs_mpi::collective::places::{Numbers, Places};
use bcs_mpi::constants::*;
use bcs_mpi::point_to_point::{self as p2p, SendMode};
use bcs_mpi::request::{Statuses, complete};
use mds::Primitive;
use std::ffi::{c_int, c_void};

/// `BCS_ALL` of `bcs.h`.
const ALL: c_int = -1;

macro_rules! bcs {
    ($($name:ident($($argument:ident : $type:ty),* $(,)?) [$($comm:ident)?] $body:block)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let result = attempt! { ($($argument: $type),*) $body };
            answer!(result, stringify!($name), [$($argument),*] $(, $comm)?)
        }
    )* };
}

/// How a call starts something, and the place of its request where it does not wait.
fn started(blocking: c_int, request: *mut MPI_Request) -> MpiResult<(Mode, Option<Place<MPI_Request>>)> {
    match blocking {
        0 => Ok((Mode::NonBlocking, Some(place(request, "request")?))),
        _ => Ok((Mode::Blocking, None)),
    }
}

/// Stores whether something is done; a blocking call need not be asked.
fn store_flag(done: bool, blocking: c_int, flag: *mut c_int) -> MpiResult {
    if blocking == 0 || !flag.is_null() {
        place(flag, "flag")?.set(done.into());
    }
    Ok(())
}

/// The vectorial form where there are counts, else the other.
///
/// # Safety
/// As [`Everyone::new`].
unsafe fn all<P>(buffer: P, counts: *const i64, displacements: *const i64, bytes: i64) -> Everyone<P> {
    let places = match counts.is_null() {
        true => Places::Equal(bytes, MPI_BYTE),
        false => Places::Vector(Numbers::Large(counts), Numbers::Large(displacements), MPI_BYTE),
    };
    // SAFETY: the caller's promise.
    unsafe { Everyone::new(buffer, places) }
}

bcs! {
    bcs_send(
        data: *const c_void, bytes: i64, destination: c_int, tag: c_int, comm: MPI_Comm, blocking: c_int,
        request: *mut MPI_Request,
    ) [comm] {
        let (mode, request) = started(blocking, request)?;
        let modes = (mode, SendMode::Standard);
        let sent = p2p::send(modes, own(data, bytes, MPI_BYTE), (destination, tag, comm))?;
        if let Some(request) = request { request.set(sent) }
    }
    bcs_recv(
        data: *mut c_void, bytes: i64, source: c_int, tag: c_int, comm: MPI_Comm, blocking: c_int,
        request: *mut MPI_Request, status: *mut MPI_Status,
    ) [comm] {
        let ((mode, request), status) = (started(blocking, request)?, Statuses::new(status));
        let received = p2p::recv(mode, own(data, bytes, MPI_BYTE), (source, tag, comm), status)?;
        if let Some(request) = request { request.set(received) }
    }
    bcs_probe(source: c_int, tag: c_int, comm: MPI_Comm, blocking: c_int, flag: *mut c_int, status: *mut MPI_Status)
    [comm] {
        let mode = if blocking != 0 { Mode::Blocking } else { Mode::NonBlocking };
        let found = p2p::probe(mode, source, tag, comm)?;
        store_flag(found.is_some(), blocking, flag)?;
        if let Some(found) = found {
            found.store(status);
        }
    }
    bcs_test(request: *mut MPI_Request, blocking: c_int, flag: *mut c_int, status: *mut MPI_Status) [] {
        let request = object(request, "request")?;
        let mut done = true;
        let result = if blocking != 0 {
            complete::wait(request, Statuses::new(status))
        } else {
            complete::test(request, &mut done, Statuses::new(status))
        };
        store_flag(done, blocking, flag)?;
        result?
    }
    bcs_testall(
        count: c_int, requests: *mut MPI_Request, blocking: c_int, flag: *mut c_int, statuses: *mut MPI_Status,
    ) [] {
        let requests = array(requests, count, ["requests", "count"])?;
        let mut done = true;
        let result = if blocking != 0 {
            complete::wait_all(requests, Statuses::new(statuses))
        } else {
            complete::test_all(requests, &mut done, Statuses::new(statuses))
        };
        store_flag(done, blocking, flag)?;
        result?
    }
    bcs_barrier(comm: MPI_Comm) [comm] {
        forms::barrier(Call::blocking(Primitive::Barrier, comm)).map(drop)?
    }
    bcs_bcast(data: *mut c_void, bytes: i64, root: c_int, comm: MPI_Comm) [comm] {
        forms::bcast(Call::blocking(Primitive::Bcast, comm), &own(data, bytes, MPI_BYTE), root).map(drop)?
    }
    bcs_reduce(
        data: *const c_void, result: *mut c_void, count: i64, element: MPI_Datatype, operation: MPI_Op, root: c_int,
        comm: MPI_Comm,
    ) [comm] {
        let vectors = Vectors::new(data, result, count, element, operation);
        if root == ALL {
            forms::allreduce(Call::blocking(Primitive::Allreduce, comm), &vectors).map(drop)?
        } else {
            forms::reduce(Call::blocking(Primitive::Reduce, comm), &vectors, root).map(drop)?
        }
    }
    bcs_scatter(
        data: *const c_void, counts: *const i64, displacements: *const i64, part: *mut c_void, bytes: i64, root: c_int,
        comm: MPI_Comm,
    ) [comm] {
        let (all, own) = (all(data, counts, displacements, bytes), own(part, bytes, MPI_BYTE));
        forms::rooted(Call::blocking(Primitive::Scatter, comm), &own, &all, root).map(drop)?
    }
    bcs_gather(
        part: *const c_void, bytes: i64, data: *mut c_void, counts: *const i64, displacements: *const i64, root: c_int,
        comm: MPI_Comm,
    ) [comm] {
        let (own, all) = (own(part, bytes, MPI_BYTE), all(data, counts, displacements, bytes));
        forms::rooted(Call::blocking(Primitive::Gather, comm), &own, &all, root).map(drop)?
    }
    bcs_allgather(
        part: *const c_void, bytes: i64, data: *mut c_void, counts: *const i64, displacements: *const i64,
        comm: MPI_Comm,
    ) [comm] {
        let (own, all) = (own(part, bytes, MPI_BYTE), all(data, counts, displacements, bytes));
        forms::allgather(Call::blocking(Primitive::Allgather, comm), &own, &all).map(drop)?
    }
    bcs_alltoall(
        out: *const c_void, out_counts: *const i64, out_displacements: *const i64, in_: *mut c_void,
        in_counts: *const i64, in_displacements: *const i64, bytes: i64, comm: MPI_Comm,
    ) [comm] {
        let send = all(out, out_counts, out_displacements, bytes);
        let receive = all(in_, in_counts, in_displacements, bytes);
        forms::alltoall(Call::blocking(Primitive::Alltoall, comm), &send, &receive).map(drop)?
    }
}
