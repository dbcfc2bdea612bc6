//! MPI_Reduce_scatter and MPI_Reduce_scatter_block (MPI-5.0, §6.10): every member combines its block of all contributions, in the
//! order of the reduction tree. One exchange.

use super::buffers::Numbers;
use super::coherence::check_vectors;
use super::exchange::{Call, Contribution, Flow};
use super::forms::{self, Vectors};
use super::operand::Operand;
use super::operation::is_user;
use super::policy;
use super::reduce::vector_bytes;
use super::tree::combine_members;
use crate::constants::*;
use crate::datatype::buffer::Names;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process;
use mds::Primitive;
use std::ffi::c_void;

pub(super) const SEND: Names = ["sendbuf", "recvcounts", "datatype"];
pub(super) const RECEIVE: Names = ["recvbuf", "recvcount", "datatype"];

/// Elements that each member gets.
#[derive(Clone, Copy, Debug)]
pub enum Shares {
    /// MPI_Reduce_scatter_block: as many for each.
    Equal(i64),
    /// MPI_Reduce_scatter: an array of as many numbers as there are members.
    Each(Numbers),
}

/// The elements that each of `members` gets.
///
/// # Safety
/// An array must be null or have as many numbers.
///
/// # Errors
/// No array, or a negative number.
pub(super) unsafe fn shares_of(shares: &Shares, members: usize) -> MpiResult<Vec<i64>> {
    let counts: Vec<i64> = match *shares {
        Shares::Equal(count) => vec![count; members],
        Shares::Each(numbers) if numbers.is_null() => {
            return Err(MpiError::new(Problem::NullResult { argument: "recvcounts" }));
        }
        // SAFETY: the caller's promise.
        Shares::Each(numbers) => (0..members).map(|i| unsafe { numbers.at(i) }).collect(),
    };
    match counts.iter().find(|count| **count < 0) {
        Some(&value) => {
            let allowed = "it must not be negative";
            Err(MpiError::new(Problem::Count { argument: "recvcounts", value, allowed }))
        }
        None => Ok(counts),
    }
}

/// Combines all members' vectors and gives each its share.
///
/// # Safety
/// `sendbuf` (unless MPI_IN_PLACE, then `recvbuf`) must be readable for all shares, `recvbuf` writable for this member's; an array
/// of shares must have a number per member.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn reduce_scatter(
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    shares: &Shares,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> MpiResult<()> {
    let primitive = match shares {
        Shares::Equal(_) => Primitive::ReduceScatterBlock,
        Shares::Each(_) => Primitive::ReduceScatter,
    };
    let by_form = || {
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count: 0, datatype, op };
        // SAFETY: the caller's promise.
        unsafe { forms::reduce_scatter(forms::Call::blocking(primitive, comm), &vectors, shares).map(drop) }
    };
    if is_user(op) {
        return by_form();
    }
    let mut process = process::enter()?;
    let communicator = process.communicator(comm)?;
    if communicator.is_inter() {
        drop(process);
        return by_form();
    }
    let (rank, size) = (communicator.rank, communicator.size);
    let operand = Operand::new(&process.datatypes, op, datatype)?;
    // SAFETY: the caller's promise.
    let counts = unsafe { shares_of(shares, size as usize)? };
    let total = counts.iter().fold(0i64, |total, count| total.saturating_add(*count));
    let before = counts[..rank as usize].iter().fold(0i64, |total, count| total.saturating_add(*count));
    let data = if sendbuf == MPI_IN_PLACE.cast_const() { recvbuf.cast_const() } else { sendbuf };
    let bytes = vector_bytes(&SEND, data, total, operand.extent)?;
    let share = vector_bytes(&RECEIVE, recvbuf, counts[rank as usize], operand.extent)?;
    check_vectors(sendbuf, recvbuf, share)?;
    if policy::leaves_board(process.communicator(comm)?, Some(bytes)) {
        drop(process);
        return by_form();
    }
    let call =
        Call { primitive, comm, root: None, flow: Flow::Between, most_bytes: bytes, operation: (0, 0) };
    let own = Contribution { data: data.cast(), bytes };
    let mut result = vec![0; share];
    let offset = before as usize * operand.extent;
    // SAFETY: the caller's promise.
    unsafe {
        combine_members(&mut process, &call, &operand, own, offset, 0..size, (result.as_mut_ptr(), share))?
    };
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(result.as_ptr(), recvbuf.cast(), share) };
    Ok(())
}
