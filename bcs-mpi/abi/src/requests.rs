//! Chapter 3: completing requests, persistent ones; chapter 13: generalized requests.

use crate::edge::{array, callback, handle, object, place, read_only};
use bcs_mpi::api::Mode;
use bcs_mpi::constants::*;
use bcs_mpi::request::generalized::{self, Callbacks};
use bcs_mpi::request::{self, Statuses, complete, get_status, persistent};
use std::ffi::{c_int, c_void};

const REQUESTS: [&str; 2] = ["array_of_requests", "count"];
const SOME_REQUESTS: [&str; 2] = ["array_of_requests", "incount"];
const INDICES: [&str; 2] = ["array_of_indices", "incount"];

fn index(of: Option<usize>) -> c_int {
    of.map_or(MPI_UNDEFINED, |index| index as c_int)
}

calls! {
    call MPI_Wait(request: *mut MPI_Request, status: *mut MPI_Status) [time Wait(0)] {
        complete::wait(object(request, "request")?, Statuses::new(status))?
    }
    call MPI_Test(request: *mut MPI_Request, flag: *mut c_int, status: *mut MPI_Status) [time Test(0)] {
        let (request, flag) = (object(request, "request")?, place(flag, "flag")?);
        let mut done = false;
        let result = complete::test(request, &mut done, Statuses::new(status));
        flag.set(done.into());
        result?
    }
    call MPI_Waitall(count: c_int, array_of_requests: *mut MPI_Request, array_of_statuses: *mut MPI_Status)
    [time Waitall(0)] {
        complete::wait_all(array(array_of_requests, count, REQUESTS)?, Statuses::new(array_of_statuses))?
    }
    call MPI_Testall(
        count: c_int, array_of_requests: *mut MPI_Request, flag: *mut c_int, array_of_statuses: *mut MPI_Status,
    ) [time Testall(0)] {
        let (requests, flag) = (array(array_of_requests, count, REQUESTS)?, place(flag, "flag")?);
        let mut done = false;
        let result = complete::test_all(requests, &mut done, Statuses::new(array_of_statuses));
        flag.set(done.into());
        result?
    }
    call MPI_Waitany(
        count: c_int, array_of_requests: *mut MPI_Request, indx: *mut c_int, status: *mut MPI_Status,
    )
    [time Waitany(0)] {
        let (requests, place) = (array(array_of_requests, count, REQUESTS)?, place(indx, "indx")?);
        let mut found = None;
        let result = complete::any(Mode::Blocking, requests, &mut found, Statuses::new(status));
        place.set(index(found.flatten()));
        result?
    }
    call MPI_Testany(
        count: c_int, array_of_requests: *mut MPI_Request, indx: *mut c_int, flag: *mut c_int, status: *mut MPI_Status,
    ) [time Testany(0)] {
        let requests = array(array_of_requests, count, REQUESTS)?;
        let (place, flag) = (place(indx, "indx")?, place(flag, "flag")?);
        let mut found = None;
        let result = complete::any(Mode::NonBlocking, requests, &mut found, Statuses::new(status));
        place.set(index(found.flatten()));
        flag.set(found.is_some().into());
        result?
    }
    call MPI_Waitsome(
        incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int,
        array_of_statuses: *mut MPI_Status,
    ) [time Waitsome(0)] {
        let requests = array(array_of_requests, incount, SOME_REQUESTS)?;
        let (indices, outcount) = (array(array_of_indices, incount, INDICES)?, place(outcount, "outcount")?);
        let mut completed = None;
        let statuses = Statuses::new(array_of_statuses);
        let result = complete::some(Mode::Blocking, requests, &mut completed, indices, statuses);
        outcount.set(index(completed));
        result?
    }
    call MPI_Testsome(
        incount: c_int, array_of_requests: *mut MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int,
        array_of_statuses: *mut MPI_Status,
    ) [time Testsome(0)] {
        let requests = array(array_of_requests, incount, SOME_REQUESTS)?;
        let (indices, outcount) = (array(array_of_indices, incount, INDICES)?, place(outcount, "outcount")?);
        let mut completed = None;
        let statuses = Statuses::new(array_of_statuses);
        let result = complete::some(Mode::NonBlocking, requests, &mut completed, indices, statuses);
        outcount.set(index(completed));
        result?
    }
    call MPI_Request_free(request: *mut MPI_Request) [time RequestFree(0)] {
        request::free(object(request, "request")?)?
    }
    call MPI_Request_get_status(request: MPI_Request, flag: *mut c_int, status: *mut MPI_Status)
    [time RequestGetStatus(0)] {
        let flag = place(flag, "flag")?;
        flag.set(get_status::get_status(request, Statuses::new(status))?.into())
    }
    call MPI_Request_get_status_any(
        count: c_int, array_of_requests: *const MPI_Request, indx: *mut c_int, flag: *mut c_int, status: *mut MPI_Status,
    ) [] {
        let requests = read_only(array_of_requests, count.into(), REQUESTS)?;
        let (place, flag) = (place(indx, "indx")?, place(flag, "flag")?);
        let found = get_status::get_status_any(requests, Statuses::new(status))?;
        flag.set(found.is_some().into());
        place.set(index(found.flatten()))
    }
    call MPI_Request_get_status_all(
        count: c_int, array_of_requests: *const MPI_Request, flag: *mut c_int, array_of_statuses: *mut MPI_Status,
    ) [] {
        let requests = read_only(array_of_requests, count.into(), REQUESTS)?;
        let flag = place(flag, "flag")?;
        flag.set(get_status::get_status_all(requests, Statuses::new(array_of_statuses))?.into())
    }
    call MPI_Request_get_status_some(
        incount: c_int, array_of_requests: *const MPI_Request, outcount: *mut c_int, array_of_indices: *mut c_int,
        array_of_statuses: *mut MPI_Status,
    ) [] {
        let requests = read_only(array_of_requests, incount.into(), SOME_REQUESTS)?;
        let (indices, outcount) = (array(array_of_indices, incount, INDICES)?, place(outcount, "outcount")?);
        let found = get_status::get_status_some(requests, indices, Statuses::new(array_of_statuses))?;
        outcount.set(index(found))
    }

    call MPI_Start(request: *mut MPI_Request) [time Start(0)] {
        persistent::start(std::slice::from_ref(object(request, "request")?))?
    }
    call MPI_Startall(count: c_int, array_of_requests: *mut MPI_Request) [time Startall(0)] {
        persistent::start(array(array_of_requests, count, REQUESTS)?)?
    }
    call MPI_Grequest_start(
        query_fn: Option<MPI_Grequest_query_function>, free_fn: Option<MPI_Grequest_free_function>,
        cancel_fn: Option<MPI_Grequest_cancel_function>, extra_state: *mut c_void, request: *mut MPI_Request,
    ) [] {
        let request = handle(request, "request")?;
        let query = callback(query_fn, "query_fn")?;
        let (free, cancel) = (callback(free_fn, "free_fn")?, callback(cancel_fn, "cancel_fn")?);
        request.set(generalized::start(Callbacks { query, free, cancel, extra_state })?)
    }
    call MPI_Grequest_complete(request: MPI_Request) [] {
        generalized::complete(request)?
    }
}
