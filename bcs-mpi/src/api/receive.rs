//! bcs_recv: blocking and non-blocking receive.

use super::{BcsRequest, Mode};
use crate::error::MpiResult;
use crate::process::Guard;
use mds::Primitive;
use nic_emu::matching::Envelope;
use nic_emu::port::Outcome;
use nic_emu::status::WaitingFor;

/// A receive that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is complete.
    Complete(Outcome),
    /// This request completes it.
    Request(BcsRequest),
}

/// Receives at most `bytes` bytes to `data`. `peer_in_job` is the source's rank in the job, or `NOBODY`.
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
    peer_in_job: u32,
    data: *mut u8,
    bytes: usize,
    mode: Mode,
) -> MpiResult<Received> {
    // SAFETY: the caller's promise.
    let request = unsafe { process.port.post_receive(envelope, data, bytes)? };
    if mode == Mode::NonBlocking {
        return Ok(Received::Request(BcsRequest(request)));
    }
    let what = WaitingFor {
        call: call.index() as u32,
        context: envelope.context,
        peer: envelope.source,
        tag: envelope.tag,
        bytes: bytes as u64,
        requests: 1,
        peer_in_job,
        sends: false,
    };
    Ok(Received::Complete(process.wait(&what, |process| Ok(process.port.test(request)?))?))
}
