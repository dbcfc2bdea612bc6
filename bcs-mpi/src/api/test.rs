//! bcs_test: blocking and non-blocking test for the completion of a send or a receive.

use super::{BcsRequest, Mode};
use crate::error::MpiResult;
use crate::process::Guard;
use nic_emu::port::Outcome;
use nic_emu::status::WaitingFor;

/// How a request ended, if it did; a blocking test waits for it, and `what` is what a hang report says then.
///
/// # Errors
/// The NIC fails.
#[inline]
pub fn bcs_test(
    process: &mut Guard,
    request: BcsRequest,
    what: &WaitingFor,
    mode: Mode,
) -> MpiResult<Option<Outcome>> {
    if mode == Mode::Blocking {
        return Ok(Some(process.wait(what, |process| Ok(process.port.test(request.0)?))?));
    }
    if let Some(outcome) = process.port.test(request.0)? {
        return Ok(Some(outcome));
    }
    process.port.progress()?;
    Ok(process.port.test(request.0)?)
}
