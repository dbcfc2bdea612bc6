//! Calls that combine operands of one group for the other: their arguments, checked (MPI-5.0, §6.9, §6.10).

use super::super::forms::Call;
use super::super::reduce_scatter::{RECEIVE, SEND};
use super::combine::{self, combine};
use super::sides::{Role, Sides, refuse_in_place};
use crate::collective::{Reduction, Results, Vectors};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{Names, RECEIVE_NAMES, SEND_NAMES};
use crate::process::Guard;
use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::Arc;

fn check(reduction: &Reduction, names: &Names, buffer: *const c_void, count: i64) -> MpiResult {
    refuse_in_place(names[0], buffer)?;
    reduction.check(names, buffer, count).map(drop)
}

/// MPI_Reduce and its kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn reduce(process: &mut Guard, call: Call, vectors: &Vectors, root: c_int) -> MpiResult<MPI_Request> {
    let role = Role::of(process.communicator(call.comm)?, root)?;
    if role == Role::Idle {
        // No other argument matters.
        return call.launch(process, 0, Sides::idle);
    }
    let reduction = Reduction::new(process, vectors.op, vectors.datatype)?;
    match role {
        Role::Root => check(&reduction, &RECEIVE_NAMES, vectors.receive, vectors.count)?,
        _ => check(&reduction, &SEND_NAMES, vectors.send, vectors.count)?,
    }
    let combination = vectors.combined(reduction, Results::All, (vectors.send, vectors.count));
    call.launch(process, 0, move |sides| combine::reduce(sides, combination.clone(), role))
}

/// MPI_Allreduce and its kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn allreduce(process: &mut Guard, call: Call, vectors: &Vectors) -> MpiResult<MPI_Request> {
    let reduction = Reduction::new(process, vectors.op, vectors.datatype)?;
    check(&reduction, &RECEIVE_NAMES, vectors.receive, vectors.count)?;
    check(&reduction, &SEND_NAMES, vectors.send, vectors.count)?;
    let combination = vectors.combined(reduction, Results::All, (vectors.send, vectors.count));
    call.launch(process, 0, move |sides| combine(sides, combination.clone()))
}

/// MPI_Reduce_scatter, MPI_Reduce_scatter_block and their kin, of so many elements in all and for this
/// member.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn reduce_scatter(
    process: &mut Guard,
    call: Call,
    vectors: &Vectors,
    shares: Arc<[Range<usize>]>,
    (total, own): (i64, i64),
) -> MpiResult<MPI_Request> {
    let reduction = Reduction::new(process, vectors.op, vectors.datatype)?;
    check(&reduction, &SEND, vectors.send, total)?;
    check(&reduction, &RECEIVE, vectors.receive, own)?;
    let combination = vectors.combined(reduction, Results::Shares(shares), (vectors.send, total));
    call.launch(process, 0, move |sides| combine(sides, combination.clone()))
}
