//! The wait and test families (MPI-5.0, §3.7.3, §3.7.5; the paper's bcs_test and bcs_testall).
//!
//! Calls that complete one request answer its error; those that complete several put codes into the statuses
//! and answer `MPI_ERR_IN_STATUS`. `MPI_ERROR` of a status is written in that case only.

use super::{is_idle, keep, look_at, poll, take_received};
use crate::api::Mode;
use crate::constants::*;
use crate::error::codes::codes;
use crate::error::{MpiError, MpiResult, Owner, Problem};
use crate::object::request::{BUFFERED, Finished, Status, Statuses};
use crate::process::{self, Guard, Process};
use mds::Primitive;
use std::ffi::c_int;

/// Errors among several completions.
struct Failures {
    call: Primitive,
    failed: usize,
    /// Where the first is, and what it is.
    first: Option<(usize, Problem)>,
    /// The communicator of the first: its error handler is asked.
    owner: Option<Owner>,
}

impl Failures {
    fn of(call: Primitive) -> Self {
        Self { call, failed: 0, first: None, owner: None }
    }

    /// A completion of the request with that index: the place of its status, and its error's code once there
    /// is an error.
    #[inline]
    fn note(
        &mut self,
        finished: Finished,
        (index, position): (usize, usize),
        statuses: Statuses,
    ) -> MpiResult {
        statuses.set(position, &finished.status);
        match finished.error {
            None if self.failed == 0 => Ok(()),
            error => self.note_error(error, (index, position), statuses),
        }
    }

    #[cold]
    fn note_error(
        &mut self,
        error: Option<MpiError>,
        (index, position): (usize, usize),
        statuses: Statuses,
    ) -> MpiResult {
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
        statuses.set_error(position, codes().code(error.problem(), &message));
        self.owner = self.owner.or(error.owner());
        self.first.get_or_insert_with(|| (index, error.problem().clone()));
        Ok(())
    }

    fn result(self, count: usize) -> MpiResult {
        let Some((position, first)) = self.first else { return Ok(()) };
        let (failed, first) = (self.failed, Box::new(first));
        let error = MpiError::new(Problem::InStatus { failed, count, position, first });
        Err(match self.owner {
            Some(owner) => error.of(owner),
            None => error,
        })
    }
}

/// The end of a call that completes one request: stores the status, and answers the error. The guard goes
/// first, as a generalized request has functions of the program called.
#[inline]
fn conclude(process: Guard, finished: Finished, status: Statuses) -> MpiResult {
    drop(process);
    let finished = if finished.generalized.is_some() { finished.conclude() } else { finished };
    status.set(0, &finished.status);
    finished.error.map_or(Ok(()), Err)
}

/// MPI_Wait.
///
/// # Errors
/// No such request, or what the operation failed with.
#[inline]
pub fn wait(request: &mut MPI_Request, status: Statuses) -> MpiResult {
    let mut process = process::enter()?;
    let handle = *request;
    if handle == MPI_REQUEST_NULL {
        status.set_empty(0);
        return Ok(());
    }
    let finished = match take_received(&mut process, handle) {
        Some(status) => {
            *request = MPI_REQUEST_NULL;
            Finished::well(status)
        }
        None => wait_for(&mut process, Primitive::Wait, request, 1)?,
    };
    conclude(process, finished, status)
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
            while let Some(one) = process.one_of_several(*request)? {
                let finished = process.wait_for_one(one, &what, |process| {
                    // Where threads call at the same time, another one may have taken it.
                    if process.port.is_pending(one) && !process.is_shared() {
                        return Ok(None);
                    }
                    let finished = poll(process, request)?;
                    let is_taken = finished.is_none() && process.one_of_several(*request)? != Some(one);
                    Ok((finished.is_some() || is_taken).then_some(finished))
                })?;
                if let Some(finished) = finished {
                    return Ok(finished);
                }
            }
            process.wait_for_some(&what, |process| poll(process, request))
        }
    }
}

/// MPI_Test.
///
/// # Errors
/// No such request, or what the operation failed with.
#[inline]
pub fn test(request: &mut MPI_Request, flag: &mut bool, status: Statuses) -> MpiResult {
    let mut process = process::enter()?;
    let handle = *request;
    if handle == MPI_REQUEST_NULL {
        *flag = true;
        status.set_empty(0);
        return Ok(());
    }
    let found = process.look_twice(|process| poll(process, request))?;
    *flag = found.is_some();
    let Some(finished) = found else { return Ok(()) };
    conclude(process, finished, status)
}

/// MPI_Waitall.
///
/// # Errors
/// No such requests, or `MPI_ERR_IN_STATUS`.
#[inline]
pub fn wait_all(requests: &mut [MPI_Request], statuses: Statuses) -> MpiResult {
    complete_all(process::enter()?, Primitive::Waitall, requests, statuses)
}

#[inline]
fn complete_all(
    mut process: Guard,
    call: Primitive,
    requests: &mut [MPI_Request],
    statuses: Statuses,
) -> MpiResult {
    let mut failures = Failures::of(call);
    let count = requests.len();
    for i in 0..count {
        let request = &mut requests[i];
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
        let mut finished = wait_one(&mut process, call, &mut requests[i..])?;
        if finished.generalized.is_some() {
            finished = process.without_lock(|| finished.conclude());
        }
        failures.note(finished, (i, i), statuses)?;
    }
    failures.result(count)
}

/// Waits for the first of the requests that MPI_Waitall still has to wait for.
#[inline(never)]
fn wait_one(process: &mut Guard, call: Primitive, requests: &mut [MPI_Request]) -> MpiResult<Finished> {
    let stays_for_all = process.port.has_writes() && process.has_no_others(requests)?;
    process.port.stay_for_all(stays_for_all);
    let count = requests.len();
    let finished = wait_for(process, call, &mut requests[0], count);
    process.port.stay_for_all(false);
    finished
}

/// MPI_Testall: all or none.
///
/// # Errors
/// No such requests, or `MPI_ERR_IN_STATUS`.
pub fn test_all(requests: &mut [MPI_Request], flag: &mut bool, statuses: Statuses) -> MpiResult {
    let mut process = process::enter()?;
    *flag = false;
    *flag = process.look_twice(|process| Ok(are_complete(process, requests)?.then_some(())))?.is_some();
    if *flag { complete_all(process, Primitive::Testall, requests, statuses) } else { Ok(()) }
}

/// Whether all requests are complete, or null; they stay as they are.
pub(super) fn are_complete(process: &mut Process, requests: &[MPI_Request]) -> MpiResult<bool> {
    let mut all = true;
    for &request in requests.iter().filter(|request| **request != MPI_REQUEST_NULL) {
        match look_at(process, request)? {
            Some(finished) => keep(process, request, finished),
            None => all = false,
        }
    }
    Ok(all)
}

/// The first request that has something under way: what a hang report names.
fn first(process: &mut Process, requests: &[MPI_Request]) -> Option<MPI_Request> {
    requests.iter().copied().find(|request| !is_idle(process, *request))
}

/// What `poll` finds among requests of which `one` has something under way: a blocking call waits until it
/// does, the other one looks twice.
fn find<T>(
    process: &mut Guard,
    (call, mode): (Primitive, Mode),
    (requests, one): (&mut [MPI_Request], MPI_Request),
    mut poll: impl FnMut(&mut Process, &mut [MPI_Request]) -> MpiResult<Option<T>>,
) -> MpiResult<Option<T>> {
    if mode == Mode::NonBlocking {
        return process.look_twice(|process| poll(process, requests));
    }
    if let Some(found) = poll(process, requests)? {
        return Ok(Some(found));
    }
    let live = requests.iter().filter(|request| **request != MPI_REQUEST_NULL).count();
    let what = process.waiting_for(call, one, live)?;
    process.wait_for_some(&what, |process| poll(process, requests)).map(Some)
}

/// MPI_Waitany and MPI_Testany: the index of the one that completed, or no index when nothing is under way;
/// none when none has completed.
///
/// # Errors
/// No such requests, or what the operation failed with.
pub fn any(
    mode: Mode,
    requests: &mut [MPI_Request],
    completed: &mut Option<Option<usize>>,
    status: Statuses,
) -> MpiResult {
    let mut process = process::enter()?;
    *completed = Some(None);
    let Some(one) = first(&mut process, requests) else {
        status.set_empty(0);
        return Ok(());
    };
    let found = find(&mut process, (Primitive::Waitany, mode), (requests, one), |process, requests| {
        for (i, request) in requests.iter_mut().enumerate() {
            if !is_idle(process, *request)
                && let Some(finished) = poll(process, request)?
            {
                return Ok(Some((i, finished)));
            }
        }
        Ok(None)
    })?;
    *completed = found.as_ref().map(|(i, _)| Some(*i));
    let Some((_, finished)) = found else { return Ok(()) };
    conclude(process, finished, status)
}

/// MPI_Waitsome and MPI_Testsome: how many completed, 0 in a test perhaps; none when nothing is under way.
/// `indices` has as many elements as `requests`.
///
/// # Errors
/// No such requests, or `MPI_ERR_IN_STATUS`.
pub fn some(
    mode: Mode,
    requests: &mut [MPI_Request],
    completed: &mut Option<usize>,
    indices: &mut [c_int],
    statuses: Statuses,
) -> MpiResult {
    let mut process = process::enter()?;
    *completed = None;
    let Some(one) = first(&mut process, requests) else { return Ok(()) };
    let call = if mode == Mode::Blocking { Primitive::Waitsome } else { Primitive::Testsome };
    let mut failures = Failures::of(call);
    // Those that are to be concluded without the guard, with their positions.
    let mut generalized = Vec::new();
    let found = find(&mut process, (call, mode), (requests, one), |process, requests| {
        let mut found = 0;
        for (i, request) in requests.iter_mut().enumerate() {
            if !is_idle(process, *request)
                && let Some(finished) = poll(process, request)?
            {
                indices[found] = i as c_int;
                if finished.generalized.is_some() {
                    generalized.push((found, finished));
                } else {
                    failures.note(finished, (i, found), statuses)?;
                }
                found += 1;
            }
        }
        Ok((found > 0).then_some(found))
    })?
    .unwrap_or(0);
    *completed = Some(found);
    drop(process);
    for (position, finished) in generalized {
        let first = failures.failed == 0;
        let index = indices[position] as usize;
        failures.note(finished.conclude(), (index, position), statuses)?;
        if first && failures.failed > 0 {
            // Those after it ended well, before there was an error to tell apart.
            (position + 1..found).for_each(|after| statuses.set_error(after, MPI_SUCCESS));
        }
    }
    failures.result(found)
}
