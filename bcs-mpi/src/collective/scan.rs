//! MPI_Scan and MPI_Exscan (MPI-5.0, §6.11): every member combines the contributions up to its own, in the order of the
//! reduction tree over as many ranks. One exchange.

use super::coherence::check_vectors;
use super::exchange::{Call, Contribution, Flow};
use super::forms::{self, Vectors};
use super::operand::Operand;
use super::operation::is_user;
use super::policy;
use super::reduce::vector_bytes;
use super::tree::combine_members;
use crate::constants::*;
use crate::datatype::buffer::{RECEIVE_NAMES, SEND_NAMES};
use crate::error::MpiResult;
use crate::process;
use mds::Primitive;
use std::ffi::c_void;

/// Whether a member's own contribution counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanKind {
    /// MPI_Scan: it does.
    Inclusive,
    /// MPI_Exscan: it does not; rank 0 gets nothing.
    Exclusive,
}

impl ScanKind {
    /// Whether the member of this rank gets a result.
    pub(super) fn gives(self, rank: u32) -> bool {
        self == ScanKind::Inclusive || rank > 0
    }
}

/// Combines the vectors of the members before this one, and this one's if `kind` says so.
///
/// # Safety
/// `sendbuf` (unless MPI_IN_PLACE) must be readable and `recvbuf` writable for `count` elements.
///
/// # Errors
/// Wrong arguments, or the NIC fails.
pub unsafe fn scan(
    kind: ScanKind,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> MpiResult<()> {
    let by_form = || {
        let primitive = if kind == ScanKind::Inclusive { Primitive::Scan } else { Primitive::Exscan };
        let vectors = Vectors { send: sendbuf, receive: recvbuf, count, datatype, op };
        // SAFETY: the caller's promise.
        unsafe { forms::scan(forms::Call::blocking(primitive, comm), kind, &vectors).map(drop) }
    };
    if is_user(op) {
        return by_form();
    }
    let mut process = process::enter()?;
    let rank = process.intracommunicator("comm", comm)?.rank;
    let operand = Operand::new(&process.datatypes, op, datatype)?;
    let data = if sendbuf == MPI_IN_PLACE.cast_const() { recvbuf.cast_const() } else { sendbuf };
    let bytes = vector_bytes(&SEND_NAMES, data, count, operand.extent)?;
    vector_bytes(&RECEIVE_NAMES, recvbuf, count, operand.extent)?;
    if kind.gives(rank) {
        check_vectors(sendbuf, recvbuf, bytes)?;
    }
    if policy::leaves_board(process.communicator(comm)?, Some(bytes)) {
        drop(process);
        return by_form();
    }
    let (primitive, members) = match kind {
        ScanKind::Inclusive => (Primitive::Scan, 0..rank + 1),
        ScanKind::Exclusive => (Primitive::Exscan, 0..rank),
    };
    let call =
        Call { primitive, comm, root: None, flow: Flow::Between, most_bytes: bytes, operation: (0, 0) };
    let own = Contribution { data: data.cast(), bytes };
    let mut result = vec![0; if members.is_empty() { 0 } else { bytes }];
    // SAFETY: the caller's promise.
    unsafe {
        combine_members(&mut process, &call, &operand, own, 0, members, (result.as_mut_ptr(), result.len()))?
    };
    // SAFETY: as above.
    unsafe { std::ptr::copy_nonoverlapping(result.as_ptr(), recvbuf.cast(), result.len()) };
    Ok(())
}
