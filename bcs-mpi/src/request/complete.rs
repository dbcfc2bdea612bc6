//! The wait and test families (MPI-5.0, §3.7.3, §3.7.5; the paper's bcs_test and bcs_testall).
//!
//! Calls that complete one request answer its error; those that complete several put codes into the statuses and answer
//! `MPI_ERR_IN_STATUS`. `MPI_ERROR` of a status is written in that case only.

use super::{BUFFERED, Finished, Status, is_idle, poll, take_received};
use crate::constants::*;
use crate::environment::lasting::lasting;
use crate::error::{MpiError, MpiResult, Owner, Problem};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use std::ffi::c_int;

/// The statuses of a call that completes several requests; null when they are not wanted.
#[derive(Clone, Copy)]
pub struct Statuses(*mut MPI_Status);

impl Statuses {
    /// An array of statuses.
    ///
    /// # Safety
    /// `statuses` must be MPI_STATUSES_IGNORE (null) or writable for as many elements as the call has requests.
    pub unsafe fn new(statuses: *mut MPI_Status) -> Self {
        Self(statuses)
    }

    #[inline]
    fn at(self, index: usize) -> *mut MPI_Status {
        if self.0.is_null() { self.0 } else { self.0.wrapping_add(index) }
    }

    #[inline]
    pub(super) fn set(self, index: usize, status: &Status) {
        // SAFETY: the promise of `new`; `index` is less than the number of requests.
        unsafe { status.store(self.at(index)) };
    }

    /// The status of a request that has nothing under way.
    #[inline]
    pub(super) fn set_empty(self, index: usize) {
        // SAFETY: as above.
        unsafe { Status::store_empty(self.at(index)) };
    }

    #[cold]
    fn set_error(self, index: usize, code: c_int) {
        let status = self.at(index);
        if !status.is_null() {
            // SAFETY: as above.
            unsafe { (&raw mut (*status).MPI_ERROR).write(code) };
        }
    }
}

/// Errors among several completions.
struct Failures {
    call: Primitive,
    failed: usize,
    /// The communicator of the first: its error handler is asked.
    owner: Option<Owner>,
}

impl Failures {
    fn of(call: Primitive) -> Self {
        Self { call, failed: 0, owner: None }
    }

    /// A completion: its status, and its error's code once there is an error.
    #[inline]
    fn note(&mut self, finished: Finished, position: usize, statuses: Statuses) -> MpiResult {
        statuses.set(position, &finished.status);
        match finished.error {
            None if self.failed == 0 => Ok(()),
            error => self.note_error(error, position, statuses),
        }
    }

    #[cold]
    fn note_error(&mut self, error: Option<MpiError>, position: usize, statuses: Statuses) -> MpiResult {
        let Some(error) = error else {
            statuses.set_error(position, MPI_SUCCESS);
            return Ok(());
        };
        if error.problem().ends_job() {
            return Err(error);
        }
        if self.failed == 0 {
            (0..position).for_each(|before| statuses.set_error(before, MPI_SUCCESS));
        }
        self.failed += 1;
        let message = format!("{}: {error}", self.call);
        statuses.set_error(position, lasting().codes.code(error.problem(), &message));
        self.owner = self.owner.or(error.owner());
        Ok(())
    }

    fn result(&self, count: usize) -> MpiResult {
        if self.failed == 0 {
            return Ok(());
        }
        let error = MpiError::new(Problem::InStatus { failed: self.failed, count });
        Err(match self.owner {
            Some(owner) => error.of(owner),
            None => error,
        })
    }
}

/// The end of a call that completes one request: stores the status, and answers the error. The guard goes first, as a generalized request
/// has functions of the program called.
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE or writable.
#[inline]
unsafe fn conclude(process: Guard, finished: Finished, status: *mut MPI_Status) -> MpiResult {
    drop(process);
    let finished = if finished.generalized.is_some() { finished.conclude() } else { finished };
    // SAFETY: the caller's promise.
    unsafe { finished.status.store(status) };
    finished.error.map_or(Ok(()), Err)
}

/// The same in the middle of a call: answers the guard again.
#[cold]
fn conclude_between(process: Guard, finished: Finished) -> MpiResult<(Guard, Finished)> {
    drop(process);
    let finished = finished.conclude();
    Ok((process::enter()?, finished))
}

/// MPI_Wait.
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// No such request, or what the operation failed with.
#[inline]
pub unsafe fn wait(request: &mut MPI_Request, status: *mut MPI_Status) -> MpiResult {
    let mut process = process::enter()?;
    let handle = *request;
    if handle == MPI_REQUEST_NULL {
        // SAFETY: the caller's promise.
        unsafe { Status::store_empty(status) };
        return Ok(());
    }
    let finished = match take_received(&mut process, handle) {
        Some(status) => {
            *request = MPI_REQUEST_NULL;
            Finished::well(status)
        }
        None => wait_for(&mut process, Primitive::Wait, request, 1)?,
    };
    // SAFETY: the caller's promise.
    unsafe { conclude(process, finished, status) }
}

fn wait_for(
    process: &mut Guard,
    call: Primitive,
    request: &mut MPI_Request,
    count: usize,
) -> MpiResult<Finished> {
    let awaited = if *request == BUFFERED { None } else { process.awaited(*request)? };
    match awaited {
        Some(nic) => process.wait_for(nic, (call, count), |process| {
            if process.port.is_pending(nic) { Ok(None) } else { poll(process, request) }
        }),
        None => {
            if let Some(finished) = poll(process, request)? {
                return Ok(finished);
            }
            let what = process.waiting_for(call, *request, count)?;
            process.wait_for_some(&what, |process| poll(process, request))
        }
    }
}

/// MPI_Test.
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// No such request, or what the operation failed with.
#[inline]
pub unsafe fn test(request: &mut MPI_Request, flag: &mut bool, status: *mut MPI_Status) -> MpiResult {
    let mut process = process::enter()?;
    let handle = *request;
    if handle == MPI_REQUEST_NULL {
        *flag = true;
        // SAFETY: the caller's promise.
        unsafe { Status::store_empty(status) };
        return Ok(());
    }
    let mut found = poll(&mut process, request)?;
    if found.is_none() {
        process.port.progress()?;
        process.advance()?;
        found = poll(&mut process, request)?;
    }
    *flag = found.is_some();
    let Some(finished) = found else { return Ok(()) };
    // SAFETY: the caller's promise.
    unsafe { conclude(process, finished, status) }
}

/// MPI_Waitall.
///
/// # Errors
/// No such requests, or `MPI_ERR_IN_STATUS`.
#[inline]
pub fn wait_all(requests: &mut [MPI_Request], statuses: Statuses) -> MpiResult {
    let mut process = process::enter()?;
    let mut failures = Failures::of(Primitive::Waitall);
    let count = requests.len();
    for (i, request) in requests.iter_mut().enumerate() {
        let handle = *request;
        // Without a failure so far, the commonest ends have nothing to tell but their status.
        if failures.failed == 0 {
            if handle == BUFFERED {
                *request = MPI_REQUEST_NULL;
                statuses.set(i, &Status::EMPTY);
                continue;
            }
            if let Some(status) = take_received(&mut process, handle) {
                *request = MPI_REQUEST_NULL;
                statuses.set(i, &status);
                continue;
            }
        }
        if handle == MPI_REQUEST_NULL {
            statuses.set_empty(i);
            continue;
        }
        let mut finished = wait_one(&mut process, request, count - i)?;
        if finished.generalized.is_some() {
            (process, finished) = conclude_between(process, finished)?;
        }
        failures.note(finished, i, statuses)?;
    }
    failures.result(count)
}

/// Waits for one of `count` requests of MPI_Waitall.
#[inline(never)]
fn wait_one(process: &mut Guard, request: &mut MPI_Request, count: usize) -> MpiResult<Finished> {
    wait_for(process, Primitive::Waitall, request, count)
}

/// MPI_Testall: all or none.
///
/// # Errors
/// No such requests, or `MPI_ERR_IN_STATUS`.
pub fn test_all(requests: &mut [MPI_Request], flag: &mut bool, statuses: Statuses) -> MpiResult {
    let mut process = process::enter()?;
    *flag = false;
    let live = |request: &&MPI_Request| **request != MPI_REQUEST_NULL;
    for attempt in 0..2 {
        let mut all = true;
        for &request in requests.iter().filter(live) {
            all &= super::is_complete(&mut process, request)?;
        }
        if all {
            break;
        }
        if attempt == 1 {
            return Ok(());
        }
        process.port.progress()?;
        process.advance()?;
    }
    *flag = true;
    let mut failures = Failures::of(Primitive::Testall);
    let count = requests.len();
    for (i, request) in requests.iter_mut().enumerate() {
        if *request == MPI_REQUEST_NULL {
            statuses.set_empty(i);
            continue;
        }
        let mut finished = poll(&mut process, request)?.unwrap_or(Finished::well(Status::EMPTY));
        if finished.generalized.is_some() {
            (process, finished) = conclude_between(process, finished)?;
        }
        failures.note(finished, i, statuses)?;
    }
    failures.result(count)
}

/// The first complete request of several, taken.
#[inline]
fn poll_any(process: &mut Process, requests: &mut [MPI_Request]) -> MpiResult<Option<(usize, Finished)>> {
    for (i, request) in requests.iter_mut().enumerate() {
        if !is_idle(process, *request)
            && let Some(finished) = poll(process, request)?
        {
            return Ok(Some((i, finished)));
        }
    }
    Ok(None)
}

/// The first request that has something under way: what a hang report names.
fn first(process: &mut Process, requests: &[MPI_Request]) -> Option<MPI_Request> {
    requests.iter().copied().find(|request| !is_idle(process, *request))
}

fn live(requests: &[MPI_Request]) -> usize {
    requests.iter().filter(|request| **request != MPI_REQUEST_NULL).count()
}

/// MPI_Waitany: the index of the one that completed; none when all are null.
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// No such requests, or what the operation failed with.
pub unsafe fn wait_any(
    requests: &mut [MPI_Request],
    index: &mut Option<usize>,
    status: *mut MPI_Status,
) -> MpiResult {
    let mut process = process::enter()?;
    *index = None;
    let Some(one) = first(&mut process, requests) else {
        // SAFETY: the caller's promise.
        unsafe { Status::store_empty(status) };
        return Ok(());
    };
    let (i, finished) = match poll_any(&mut process, requests)? {
        Some(found) => found,
        None => {
            let what = process.waiting_for(Primitive::Waitany, one, live(requests))?;
            process.wait_for_some(&what, |process| poll_any(process, requests))?
        }
    };
    *index = Some(i);
    // SAFETY: the caller's promise.
    unsafe { conclude(process, finished, status) }
}

/// MPI_Testany: whether one completed (or all are null), and its index.
///
/// # Safety
/// `status` must be MPI_STATUS_IGNORE or writable.
///
/// # Errors
/// No such requests, or what the operation failed with.
pub unsafe fn test_any(
    requests: &mut [MPI_Request],
    flag: &mut bool,
    index: &mut Option<usize>,
    status: *mut MPI_Status,
) -> MpiResult {
    let mut process = process::enter()?;
    (*flag, *index) = (true, None);
    if first(&mut process, requests).is_none() {
        // SAFETY: the caller's promise.
        unsafe { Status::store_empty(status) };
        return Ok(());
    }
    let mut found = poll_any(&mut process, requests)?;
    if found.is_none() {
        process.port.progress()?;
        process.advance()?;
        found = poll_any(&mut process, requests)?;
    }
    let Some((i, finished)) = found else {
        *flag = false;
        return Ok(());
    };
    *index = Some(i);
    // SAFETY: the caller's promise.
    unsafe { conclude(process, finished, status) }
}

/// All complete requests of several, taken, the generalized ones among them with their positions to be concluded without the guard; their number, or none when no more is complete.
fn poll_some(
    process: &mut Process,
    requests: &mut [MPI_Request],
    indices: &mut [c_int],
    statuses: Statuses,
    failures: &mut Failures,
    generalized: &mut Vec<(usize, Finished)>,
) -> MpiResult<Option<usize>> {
    let mut found = 0;
    for (i, request) in requests.iter_mut().enumerate() {
        if !is_idle(process, *request)
            && let Some(finished) = poll(process, request)?
        {
            indices[found] = i as c_int;
            if finished.generalized.is_some() {
                generalized.push((found, finished));
            } else {
                failures.note(finished, found, statuses)?;
            }
            found += 1;
        }
    }
    Ok((found > 0).then_some(found))
}

/// The end of a call that completes some requests, without the guard.
fn conclude_some(
    mut failures: Failures,
    generalized: Vec<(usize, Finished)>,
    found: usize,
    statuses: Statuses,
) -> MpiResult {
    for (position, finished) in generalized {
        let first = failures.failed == 0;
        failures.note(finished.conclude(), position, statuses)?;
        if first && failures.failed > 0 {
            // Those after it ended well, before there was an error to tell apart.
            (position + 1..found).for_each(|after| statuses.set_error(after, MPI_SUCCESS));
        }
    }
    failures.result(found)
}

/// MPI_Waitsome: how many completed; none when all are null. `indices` has as many elements as `requests`.
///
/// # Errors
/// No such requests, or `MPI_ERR_IN_STATUS`.
pub fn wait_some(
    requests: &mut [MPI_Request],
    completed: &mut Option<usize>,
    indices: &mut [c_int],
    statuses: Statuses,
) -> MpiResult {
    let mut process = process::enter()?;
    *completed = None;
    let count = live(requests);
    let Some(one) = first(&mut process, requests) else { return Ok(()) };
    let (mut failures, mut generalized) = (Failures::of(Primitive::Waitsome), Vec::new());
    let mut poll = |process: &mut Process| {
        poll_some(process, requests, indices, statuses, &mut failures, &mut generalized)
    };
    let found = match poll(&mut process)? {
        Some(found) => found,
        None => {
            let what = process.waiting_for(Primitive::Waitsome, one, count)?;
            process.wait_for_some(&what, poll)?
        }
    };
    *completed = Some(found);
    drop(process);
    conclude_some(failures, generalized, found, statuses)
}

/// MPI_Testsome: how many completed, perhaps 0; none when all are null.
///
/// # Errors
/// No such requests, or `MPI_ERR_IN_STATUS`.
pub fn test_some(
    requests: &mut [MPI_Request],
    completed: &mut Option<usize>,
    indices: &mut [c_int],
    statuses: Statuses,
) -> MpiResult {
    let mut process = process::enter()?;
    *completed = None;
    if first(&mut process, requests).is_none() {
        return Ok(());
    }
    let (mut failures, mut generalized) = (Failures::of(Primitive::Testsome), Vec::new());
    let mut poll = |process: &mut Process| {
        poll_some(process, requests, indices, statuses, &mut failures, &mut generalized)
    };
    let mut found = poll(&mut process)?;
    if found.is_none() {
        process.port.progress()?;
        process.advance()?;
        found = poll(&mut process)?;
    }
    let found = found.unwrap_or(0);
    *completed = Some(found);
    drop(process);
    conclude_some(failures, generalized, found, statuses)
}
