//! bcs_test: blocking and non-blocking test for the completion of a send or a receive.

use super::{BcsRequest, Mode};
use crate::error::MpiResult;
use crate::process::Guard;
use mds::Primitive;
use nic_emu::port::Outcome;

/// How a request ended, if it did; a blocking test waits for it, in `call`.
///
/// # Errors
/// The NIC fails.
#[inline]
pub fn bcs_test(
    process: &mut Guard,
    call: Primitive,
    request: BcsRequest,
    mode: Mode,
) -> MpiResult<Option<Outcome>> {
    if mode == Mode::Blocking {
        let ended = process.wait_for(request.0, (call, 1), |process| Ok(process.port.test(request.0)?))?;
        return Ok(Some(ended));
    }
    if let Some(outcome) = process.port.test(request.0)? {
        return Ok(Some(outcome));
    }
    process.port.progress()?;
    Ok(process.port.test(request.0)?)
}
