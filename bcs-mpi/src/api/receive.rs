//! bcs_recv: blocking and non-blocking receive.

use super::mode::Mode;
use super::probe::waiting_for_message;
use super::test::bcs_test;
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::process::Guard;
use bcs_core::Rank;
use mds::Primitive;
use nic_emu::descriptor::Check;
use nic_emu::doorbell::RingKind;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::RequestId;
use nic_emu::port::Outcome;
use nic_emu::status::WaitingFor;

/// A receive that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is complete.
    Complete(Outcome),
    /// This request of the NIC completes it.
    Request(RequestId),
}

/// Receives at most `bytes` bytes to `data`, for `comm`; with them goes what the receive tells of its type,
/// with which the signature in [`Outcome::length`] is compared. `peer_in_job` is the source's rank in the
/// job, or `NOBODY`.
///
/// # Safety
/// `data` must be writable for `bytes` bytes, and used by nobody else, until the receive is complete.
///
/// # Errors
/// The NIC fails.
#[inline(always)]
pub unsafe fn bcs_recv(
    process: &mut Guard,
    call: Primitive,
    envelope: &Envelope,
    (peer_in_job, comm): (Rank, MPI_Comm),
    (data, bytes, told): (*mut u8, usize, u16),
    mode: Mode,
) -> MpiResult<Received> {
    if mode == Mode::Blocking && process.progress.is_empty() {
        let may_poll = !process.is_shared();
        // SAFETY: the caller's promise.
        let claimed = unsafe { process.port.claim_message(envelope, peer_in_job, (data, bytes), may_poll)? };
        if let Some(outcome) = claimed {
            return Ok(Received::Complete(outcome));
        }
    }
    let whose = (peer_in_job, comm.0 as u64);
    make_room(process, call, envelope, peer_in_job, bytes)?;
    if mode == Mode::NonBlocking {
        // SAFETY: the caller's promise.
        let request =
            unsafe { process.port.begin_receive(envelope, Check::NONE, whose, told, (data, bytes))? };
        return Ok(Received::Request(request));
    }
    // SAFETY: the caller's promise.
    let request = unsafe { process.port.post_receive_of(envelope, Check::NONE, whose, told, (data, bytes))? };
    Ok(Received::Complete(bcs_test(process, call, request)?))
}

/// Begins a receive as [`bcs_recv`] does, for a call that sends meanwhile, and waits for it then.
///
/// # Safety
/// As there.
///
/// # Errors
/// The NIC fails.
#[inline(always)]
pub unsafe fn bcs_begin_recv(
    process: &mut Guard,
    call: Primitive,
    envelope: &Envelope,
    (peer_in_job, comm): (Rank, MPI_Comm),
    (data, bytes, told): (*mut u8, usize, u16),
) -> MpiResult<RequestId> {
    make_room(process, call, envelope, peer_in_job, bytes)?;
    let whose = (peer_in_job, comm.0 as u64);
    // SAFETY: the caller's promise.
    Ok(unsafe { process.port.begin_awaited_receive(envelope, whose, told, (data, bytes))? })
}

/// Waits until there is room for a receive.
#[inline(always)]
fn make_room(
    process: &mut Guard,
    call: Primitive,
    envelope: &Envelope,
    peer_in_job: Rank,
    bytes: usize,
) -> MpiResult {
    let what = || WaitingFor { bytes: bytes as u64, ..waiting_for_message(call, envelope, peer_in_job) };
    process.make_room(what, |port| port.lacks_cell(RingKind::Receive))
}
