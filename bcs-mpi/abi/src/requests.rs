//! Chapter 3: completing requests, persistent ones; chapter 13: generalized requests.

use crate::edge::callback;
use bcs_mpi::api::Mode;
use bcs_mpi::constants::*;
use bcs_mpi::request::generalized::{self, Callbacks};
use bcs_mpi::request::{self, Statuses, complete, get_status, persistent};
use std::ffi::c_int;

fn index(of: Option<usize>) -> c_int {
    of.map_or(MPI_UNDEFINED, |index| index as c_int)
}

/// What completes some of several requests: the blocking and the non-blocking call.
macro_rules! some {
    ($($name:ident $mode:ident)*) => { calls! { $(
        $name(
            incount, array_of_requests: [mut incount], outcount: OUT, array_of_indices: [mut incount],
            array_of_statuses,
        ) [timed(0)] {
            let (mode, mut completed, statuses) = (Mode::$mode, None, Statuses::new(array_of_statuses));
            let result = complete::some(mode, array_of_requests, &mut completed, array_of_indices, statuses);
            outcount.set(index(completed));
            result?
        }
    )* } };
}
some! { MPI_Waitsome Blocking MPI_Testsome NonBlocking }

answers! {
    MPI_Wait(request: INOUT, status) [timed(0)] = complete::wait(request, Statuses::new(status));
    MPI_Waitall(count, array_of_requests: [mut count], array_of_statuses) [timed(0)] =
        complete::wait_all(array_of_requests, Statuses::new(array_of_statuses));
    MPI_Request_free(request: INOUT) [timed(0)] = request::free(request);
    MPI_Start(request: INOUT) [timed(0)] = persistent::start(std::slice::from_ref(request));
    MPI_Startall(count, array_of_requests: [mut count]) [timed(0)] = persistent::start(array_of_requests);
    MPI_Grequest_complete(request) [] = generalized::complete(request);
}

calls! {
    MPI_Test(request: INOUT, flag: OUT, status) [timed(0)] {
        let mut done = false;
        let result = complete::test(request, &mut done, Statuses::new(status));
        flag.set(done.into());
        result?
    }
    MPI_Testall(count, array_of_requests: [mut count], flag: OUT, array_of_statuses) [timed(0)] {
        let mut done = false;
        let result = complete::test_all(array_of_requests, &mut done, Statuses::new(array_of_statuses));
        flag.set(done.into());
        result?
    }
    MPI_Waitany(count, array_of_requests: [mut count], indx: OUT, status) [timed(0)] {
        let mut found = None;
        let result = complete::any(Mode::Blocking, array_of_requests, &mut found, Statuses::new(status));
        indx.set(index(found.flatten()));
        result?
    }
    MPI_Testany(count, array_of_requests: [mut count], indx: OUT, flag: OUT, status) [timed(0)] {
        let mut found = None;
        let result = complete::any(Mode::NonBlocking, array_of_requests, &mut found, Statuses::new(status));
        indx.set(index(found.flatten()));
        flag.set(found.is_some().into());
        result?
    }
    MPI_Request_get_status(request, flag: OUT, status) [timed(0)] {
        flag.set(get_status::get_status(request, Statuses::new(status))?.into())
    }
    MPI_Request_get_status_any(count, array_of_requests: [count], indx: OUT, flag: OUT, status) [] {
        let found = get_status::get_status_any(array_of_requests, Statuses::new(status))?;
        flag.set(found.is_some().into());
        indx.set(index(found.flatten()))
    }
    MPI_Request_get_status_all(count, array_of_requests: [count], flag: OUT, array_of_statuses) [] {
        flag.set(get_status::get_status_all(array_of_requests, Statuses::new(array_of_statuses))?.into())
    }
    MPI_Request_get_status_some(
        incount, array_of_requests: [incount], outcount: OUT, array_of_indices: [mut incount],
        array_of_statuses,
    ) [] {
        let statuses = Statuses::new(array_of_statuses);
        let found = get_status::get_status_some(array_of_requests, array_of_indices, statuses)?;
        outcount.set(index(found))
    }
    MPI_Grequest_start(query_fn, free_fn, cancel_fn, extra_state, request: OUT) [] {
        let query = callback(query_fn, "query_fn")?;
        let (free, cancel) = (callback(free_fn, "free_fn")?, callback(cancel_fn, "cancel_fn")?);
        request.set(generalized::start(Callbacks { query, free, cancel, extra_state })?)
    }
}
