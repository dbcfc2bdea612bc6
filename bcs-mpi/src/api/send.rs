//! bcs_send: blocking and non-blocking send.

use super::mode::Mode;
use super::test::bcs_test;
use crate::constants::MPI_Comm;
use crate::error::MpiResult;
use crate::process::Guard;
use mds::Primitive;
use nic_emu::doorbell::RingKind;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::port::{Posted, Send, SendWait};
use nic_emu::status::WaitingFor;

/// Sends `bytes` bytes at `data`, for `comm`. `peer` is the destination's rank in the communicator. Answers
/// the NIC's request of a non-blocking send that is not complete yet.
///
/// # Safety
/// `data` must be readable for `bytes` bytes, until the request that is answered is complete.
///
/// # Errors
/// The NIC fails.
#[inline(always)]
pub unsafe fn bcs_send(
    process: &mut Guard,
    call: Primitive,
    send: &Send,
    (peer, comm): (CommRank, MPI_Comm),
    data: *const u8,
    bytes: usize,
    mode: Mode,
) -> MpiResult<Option<RequestId>> {
    let what = || WaitingFor {
        call: call.index() as u32,
        context: send.context,
        peer,
        peer_in_job: send.destination,
        tag: send.tag,
        bytes: bytes as u64,
        sends: true,
        ..WaitingFor::SOMETHING
    };
    process.make_room(what, |port| port.lacks_cell(RingKind::Send))?;
    let wait = match (mode, call) {
        (Mode::NonBlocking, _) => SendWait::Later,
        (Mode::Blocking, Primitive::Sendrecv | Primitive::SendrecvReplace) => SendWait::WithReceive,
        (Mode::Blocking, _) => SendWait::Now,
    };
    // SAFETY: the caller's promise.
    match unsafe { process.port.post_send_of(send, data, bytes, wait)? } {
        Posted::Complete => {
            process.port.nudge_receiver(send.destination, bytes)?;
            Ok(None)
        }
        Posted::Request(request) => {
            process.port.requests_mut().label(request, (peer, send.destination), comm.0 as u64);
            if mode == Mode::NonBlocking {
                process.port.nudge(true)?;
                return Ok(Some(request));
            }
            bcs_test(process, call, request)?;
            Ok(None)
        }
    }
}

/// Sends `bytes` bytes that `fill` writes to where they ride, piece by piece in order, if the message can be
/// buffered: then it is complete. Otherwise nothing was sent, and the answer is false.
///
/// # Errors
/// The NIC fails.
pub fn bcs_send_filled(
    process: &mut Guard,
    send: &Send,
    bytes: usize,
    fill: impl FnMut(*mut u8, usize),
) -> MpiResult<bool> {
    let posted = process.port.post_filled_send(send, bytes, fill)?;
    if posted {
        process.port.nudge_receiver(send.destination, bytes)?;
    }
    Ok(posted)
}
