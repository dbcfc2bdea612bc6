//! Calls that combine operands: their arguments, checked (MPI-5.0, §6.9 to §6.11).

use super::super::coherence::check_vectors;
use super::super::futures::combine;
use super::super::inter;
use super::super::reduce_scatter::{RECEIVE, SEND, Shares, shares_of};
use super::at_once;
use super::call::Call;
use crate::collective::{Combination, Reduction, Results, ScanKind, Vectors};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::datatype::buffer::{RECEIVE_NAMES, SEND_NAMES};
use crate::process::{self, Guard};
use std::ffi::c_int;

/// MPI_Reduce and its kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
// Inlined, so that the form is a constant: the call takes less than a microsecond.
#[inline(always)]
pub fn reduce(call: Call, vectors: &Vectors, root: c_int) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        return inter::reduce(&mut process, call, vectors, root);
    }
    let (root, rank, size) = (communicator.member("root", root)?, communicator.rank, communicator.size);
    let reduction = Reduction::new(&process, vectors.op, vectors.datatype)?;
    let from = if rank == root { vectors.source() } else { vectors.send };
    let bytes = reduction.check(&SEND_NAMES, from, vectors.count)?;
    if rank == root {
        reduction.check(&RECEIVE_NAMES, vectors.receive, vectors.count)?;
        check_vectors(vectors.send, vectors.receive, bytes)?;
    }
    let receive = if rank == root { vectors.receive } else { std::ptr::null_mut() };
    let (operands, members) = ((from.cast(), receive.cast(), bytes), (size, Some(root)));
    // SAFETY: the promise of `Vectors::new`.
    if unsafe { at_once::combine(&mut process, call, members, &reduction, operands)? } {
        return call.done();
    }
    let vectors = Vectors { receive, ..*vectors };
    launch(&mut process, call, vectors.combined(reduction, Results::Root(root), (from, vectors.count)))
}

/// MPI_Allreduce and its kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
// Inlined, so that the form is a constant: the call takes less than a microsecond.
#[inline(always)]
pub fn allreduce(call: Call, vectors: &Vectors) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    if communicator.is_inter() {
        return inter::allreduce(&mut process, call, vectors);
    }
    let size = communicator.size;
    let reduction = Reduction::new(&process, vectors.op, vectors.datatype)?;
    let from = vectors.source();
    reduction.check(&RECEIVE_NAMES, vectors.receive, vectors.count)?;
    let bytes = reduction.check(&SEND_NAMES, from, vectors.count)?;
    check_vectors(vectors.send, vectors.receive, bytes)?;
    let operands = (from.cast(), vectors.receive.cast(), bytes);
    // SAFETY: the promise of `Vectors::new`.
    if unsafe { at_once::combine(&mut process, call, (size, None), &reduction, operands)? } {
        return call.done();
    }
    launch(&mut process, call, vectors.combined(reduction, Results::All, (from, vectors.count)))
}

/// MPI_Iscan, MPI_Iexscan and their kin.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub fn scan(call: Call, kind: ScanKind, vectors: &Vectors) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let rank = process.intracommunicator("comm", call.comm)?.rank;
    let reduction = Reduction::new(&process, vectors.op, vectors.datatype)?;
    let from = vectors.source();
    reduction.check(&SEND_NAMES, from, vectors.count)?;
    let bytes = reduction.check(&RECEIVE_NAMES, vectors.receive, vectors.count)?;
    if kind.gives(rank) {
        check_vectors(vectors.send, vectors.receive, bytes)?;
    }
    launch(&mut process, call, vectors.combined(reduction, Results::Prefix(kind), (from, vectors.count)))
}

/// MPI_Ireduce_scatter, MPI_Ireduce_scatter_block and their kin; `vectors.count` does not matter.
///
/// # Safety
/// An array of shares must be null or have a number per member.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn reduce_scatter(call: Call, vectors: &Vectors, shares: &Shares) -> MpiResult<MPI_Request> {
    let mut process = process::enter()?;
    let communicator = process.communicator(call.comm)?;
    // SAFETY: the caller's promise.
    let (shares, total) = unsafe { shares_of(shares, communicator.size as usize)? };
    let own = shares[communicator.rank.index()].len() as i64;
    if communicator.is_inter() {
        return inter::reduce_scatter(&mut process, call, vectors, shares, (total, own));
    }
    let reduction = Reduction::new(&process, vectors.op, vectors.datatype)?;
    let from = vectors.source();
    reduction.check(&SEND, from, total)?;
    let bytes = reduction.check(&RECEIVE, vectors.receive, own)?;
    check_vectors(vectors.send, vectors.receive, bytes)?;
    launch(&mut process, call, vectors.combined(reduction, Results::Shares(shares), (from, total)))
}

/// Starts the combination of all members' operands.
fn launch(process: &mut Guard, call: Call, combination: Combination) -> MpiResult<MPI_Request> {
    let bytes = combination.bytes();
    call.launch(process, bytes, move |party| combine(party, combination.clone()))
}

/// MPI_Reduce_local: combines two vectors of this process, what would be sent on the left.
///
/// # Errors
/// Wrong arguments.
pub fn reduce_local(vectors: &Vectors) -> MpiResult {
    let mut process = process::enter()?;
    let &Vectors { send: inbuf, receive: inoutbuf, count, datatype, op } = vectors;
    let reduction = Reduction::new(&process, op, datatype)?;
    reduction.check(&["inbuf", "count", "datatype"], inbuf, count)?;
    let bytes = reduction.check(&["inoutbuf", "count", "datatype"], inoutbuf, count)?;
    if bytes > 0 && inbuf == inoutbuf.cast_const() {
        let allowed = "it must be other memory: this call has no MPI_IN_PLACE; copy one operand first";
        return Err(MpiError::argument(MPI_ERR_BUFFER, "inbuf", "the address of 'inoutbuf' too", allowed));
    }
    // SAFETY: the promise of `Vectors::new`.
    unsafe { reduction.combine_in_memory(&mut process, inbuf.cast(), inoutbuf.cast(), count as usize) }
}
