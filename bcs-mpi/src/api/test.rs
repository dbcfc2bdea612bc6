//! bcs_test, as the blocking calls have it: how a send or a receive ended.

use crate::error::MpiResult;
use crate::process::Guard;
use mds::Primitive;
use nic_emu::memory::numbers::RequestId;
use nic_emu::port::Outcome;

/// Waits for a request of the NIC, in `call`; answers how it ended.
///
/// # Errors
/// The NIC fails.
#[inline(always)]
pub fn bcs_test(process: &mut Guard, call: Primitive, request: RequestId) -> MpiResult<Outcome> {
    process.wait_for(request, (call, 1), |process| Ok(process.port.test(request)?))
}
