//! Chapter 3: the calls that start, complete and free requests. Indices count from one in Fortran; what an
//! operation held is let go when the program is told that it is complete.

use crate::c::*;
use crate::convert::{Handle, Handles, handle, handles};
use crate::edge::answer;
use crate::lasting;
use crate::sentinel::statuses;
use std::ffi::c_int;

/// Stores the requests that a call has changed, and lets go of what operations held.
///
/// # Safety
/// `integers` must have as many elements as there are requests.
unsafe fn store(before: &[MPI_Request], after: &[MPI_Request], integers: *mut c_int) {
    for (at, (before, after)) in before.iter().zip(after).enumerate() {
        if before != after {
            // SAFETY: the caller's promise.
            unsafe { integers.add(at).write(after.integer()) };
            let_go(*before);
        }
    }
}

#[inline(always)]
fn let_go(request: MPI_Request) {
    if !lasting::is_empty() {
        lasting::completed(request);
    }
}

/// The requests of a program: as they were, and as C changes them.
struct Requests {
    before: Handles<MPI_Request>,
    now: Handles<MPI_Request>,
}

impl Requests {
    /// # Safety
    /// As [`handles`].
    unsafe fn of(integers: *const c_int, count: c_int) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let before = handles::<MPI_Request>(integers, i64::from(count));
            let now = before.copy();
            Self { before, now }
        }
    }

    /// Those of completed operations that go on to be requests: persistent ones.
    fn completed(&self, at: usize) {
        if let (false, Some(request)) = (lasting::is_empty(), self.before.as_slice().get(at)) {
            lasting::completed(*request);
        }
    }

    fn all_completed(&self) {
        if !lasting::is_empty() {
            self.before.as_slice().iter().for_each(|request| lasting::completed(*request));
        }
    }

    /// # Safety
    /// As [`store`].
    unsafe fn store(&self, integers: *mut c_int) {
        // SAFETY: the caller's promise.
        unsafe { store(self.before.as_slice(), self.now.as_slice(), integers) };
    }
}

/// An index of Fortran.
#[inline(always)]
fn from_one(index: c_int) -> c_int {
    if index == MPI_UNDEFINED { index } else { index + 1 }
}

entries! {
    MPI_Wait PMPI_Wait "wait" (request: *mut c_int, of: *mut MPI_Status, ierror: *mut c_int) {
        let before = handle(*request);
        let mut now = before;
        let code = call(&mut now, statuses(of));
        if now != before {
            *request = now.integer();
        }
        if code == MPI_SUCCESS || now != before {
            let_go(before);
        }
        answer(ierror, code)
    }
    MPI_Test PMPI_Test "test" (
        request: *mut c_int, flag: *mut c_int, of: *mut MPI_Status, ierror: *mut c_int,
    ) {
        let before = handle(*request);
        let mut now = before;
        let code = call(&mut now, flag, statuses(of));
        if now != before {
            *request = now.integer();
        }
        if now != before || code == MPI_SUCCESS && *flag != 0 {
            let_go(before);
        }
        answer(ierror, code)
    }
    MPI_Waitall PMPI_Waitall "waitall" (
        count: *mut c_int, array_of_requests: *mut c_int, of: *mut MPI_Status, ierror: *mut c_int,
    ) {
        let mut requests = Requests::of(array_of_requests, *count);
        let code = call(*count, requests.now.as_mut_ptr(), statuses(of));
        requests.store(array_of_requests);
        if code == MPI_SUCCESS {
            requests.all_completed();
        }
        answer(ierror, code)
    }
    MPI_Testall PMPI_Testall "testall" (
        count: *mut c_int, array_of_requests: *mut c_int, flag: *mut c_int, of: *mut MPI_Status,
        ierror: *mut c_int,
    ) {
        let mut requests = Requests::of(array_of_requests, *count);
        let code = call(*count, requests.now.as_mut_ptr(), flag, statuses(of));
        requests.store(array_of_requests);
        if code == MPI_SUCCESS && *flag != 0 {
            requests.all_completed();
        }
        answer(ierror, code)
    }
    MPI_Waitany PMPI_Waitany "waitany" (
        count: *mut c_int, array_of_requests: *mut c_int, index: *mut c_int, of: *mut MPI_Status,
        ierror: *mut c_int,
    ) {
        let mut requests = Requests::of(array_of_requests, *count);
        let mut found = MPI_UNDEFINED;
        let code = call(*count, requests.now.as_mut_ptr(), &mut found, statuses(of));
        requests.store(array_of_requests);
        requests.completed(found as usize);
        *index = from_one(found);
        answer(ierror, code)
    }
    MPI_Testany PMPI_Testany "testany" (
        count: *mut c_int, array_of_requests: *mut c_int, index: *mut c_int, flag: *mut c_int,
        of: *mut MPI_Status, ierror: *mut c_int,
    ) {
        let mut requests = Requests::of(array_of_requests, *count);
        let mut found = MPI_UNDEFINED;
        let code = call(*count, requests.now.as_mut_ptr(), &mut found, flag, statuses(of));
        requests.store(array_of_requests);
        requests.completed(found as usize);
        *index = from_one(found);
        answer(ierror, code)
    }
    MPI_Request_free PMPI_Request_free "request_free" (request: *mut c_int, ierror: *mut c_int) {
        let before = handle(*request);
        let mut now = before;
        let code = call(&mut now);
        *request = now.integer();
        if now != before && !lasting::is_empty() {
            lasting::freed(before);
        }
        answer(ierror, code)
    }
    MPI_Start PMPI_Start "start" (request: *mut c_int, ierror: *mut c_int) {
        let mut now = handle(*request);
        if !lasting::is_empty() {
            lasting::started(now);
        }
        answer(ierror, call(&mut now))
    }
    MPI_Startall PMPI_Startall "startall" (
        count: *mut c_int, array_of_requests: *mut c_int, ierror: *mut c_int,
    ) {
        let mut requests = handles::<MPI_Request>(array_of_requests, i64::from(*count));
        if !lasting::is_empty() {
            requests.as_slice().iter().for_each(|request| lasting::started(*request));
        }
        answer(ierror, call(*count, requests.as_mut_ptr()))
    }
    MPI_Request_get_status PMPI_Request_get_status "request_get_status" (
        request: *mut c_int, flag: *mut c_int, of: *mut MPI_Status, ierror: *mut c_int,
    ) {
        let request = handle(*request);
        let code = call(request, flag, statuses(of));
        if code == MPI_SUCCESS && *flag != 0 && !lasting::is_empty() {
            lasting::seen_complete(request);
        }
        answer(ierror, code)
    }
    MPI_Request_get_status_all PMPI_Request_get_status_all "request_get_status_all" (
        count: *mut c_int, array_of_requests: *mut c_int, flag: *mut c_int, of: *mut MPI_Status,
        ierror: *mut c_int,
    ) {
        let mut requests = handles::<MPI_Request>(array_of_requests, i64::from(*count));
        let code = call(*count, requests.as_mut_ptr(), flag, statuses(of));
        if code == MPI_SUCCESS && *flag != 0 && !lasting::is_empty() {
            requests.as_slice().iter().for_each(|request| lasting::seen_complete(*request));
        }
        answer(ierror, code)
    }
    MPI_Request_get_status_any PMPI_Request_get_status_any "request_get_status_any" (
        count: *mut c_int, array_of_requests: *mut c_int, index: *mut c_int, flag: *mut c_int,
        of: *mut MPI_Status, ierror: *mut c_int,
    ) {
        let mut requests = handles::<MPI_Request>(array_of_requests, i64::from(*count));
        let mut found = MPI_UNDEFINED;
        let code = call(*count, requests.as_mut_ptr(), &mut found, flag, statuses(of));
        if let (false, Some(request)) = (lasting::is_empty(), requests.as_slice().get(found as usize)) {
            lasting::seen_complete(*request);
        }
        *index = from_one(found);
        answer(ierror, code)
    }
    MPI_Request_get_status_some PMPI_Request_get_status_some "request_get_status_some" (
        incount: *mut c_int, array_of_requests: *mut c_int, outcount: *mut c_int, array_of_indices: *mut c_int,
        of: *mut MPI_Status, ierror: *mut c_int,
    ) {
        let mut requests = handles::<MPI_Request>(array_of_requests, i64::from(*incount));
        let mut found = MPI_UNDEFINED;
        let code = call(*incount, requests.as_mut_ptr(), &mut found, array_of_indices, statuses(of));
        *outcount = found;
        for at in indices(code, found, array_of_indices) {
            if let (false, Some(request)) = (lasting::is_empty(), requests.as_slice().get(at)) {
                lasting::seen_complete(*request);
            }
        }
        answer(ierror, code)
    }
}

/// The indices that C has stored, which become those of Fortran.
///
/// # Safety
/// The array must have as many elements as there are indices.
unsafe fn indices(code: c_int, found: c_int, array: *mut c_int) -> Vec<usize> {
    if code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS || found == MPI_UNDEFINED {
        return Vec::new();
    }
    let each = (0..usize::try_from(found).unwrap_or(0)).map(|at| {
        // SAFETY: the caller's promise.
        unsafe {
            let index = *array.add(at);
            array.add(at).write(index + 1);
            index as usize
        }
    });
    each.collect()
}

macro_rules! some {
    ($($c:ident $p:ident $short:literal)*) => { entries! { $(
        $c $p $short (
            incount: *mut c_int, array_of_requests: *mut c_int, outcount: *mut c_int,
            array_of_indices: *mut c_int, of: *mut MPI_Status, ierror: *mut c_int,
        ) {
            let mut requests = Requests::of(array_of_requests, *incount);
            let mut found = MPI_UNDEFINED;
            let code = call(*incount, requests.now.as_mut_ptr(), &mut found, array_of_indices, statuses(of));
            requests.store(array_of_requests);
            for at in indices(code, found, array_of_indices) {
                requests.completed(at);
            }
            *outcount = found;
            answer(ierror, code)
        }
    )* } };
}
some! { MPI_Waitsome PMPI_Waitsome "waitsome" MPI_Testsome PMPI_Testsome "testsome" }
