//! bcs_probe: blocking and non-blocking test for a matching message.

use super::mode::Mode;
use crate::error::MpiResult;
use crate::process::Guard;
use bcs_core::Rank;
use mds::Primitive;
use nic_emu::matching::Envelope;
use nic_emu::port::Outcome;
use nic_emu::status::WaitingFor;

/// What a hang report says of a call that waits for a message that a receive with this envelope would take.
pub fn waiting_for_message(call: Primitive, envelope: &Envelope, peer_in_job: Rank) -> WaitingFor {
    WaitingFor {
        call: call.index() as u32,
        context: envelope.context,
        peer: envelope.source,
        tag: envelope.tag,
        peer_in_job,
        ..WaitingFor::SOMETHING
    }
}

/// The oldest message that a receive with this envelope would take; a blocking probe waits for one.
///
/// # Errors
/// The NIC fails.
pub fn bcs_probe(
    process: &mut Guard,
    call: Primitive,
    envelope: &Envelope,
    peer_in_job: Rank,
    mode: Mode,
) -> MpiResult<Option<Outcome>> {
    if mode == Mode::NonBlocking {
        process.advance()?;
        let found = process.port.probe(envelope)?;
        process.note_look(found.is_some());
        return Ok(found);
    }
    let what = waiting_for_message(call, envelope, peer_in_job);
    Ok(Some(process.wait(&what, |process| Ok(process.port.probe(envelope)?))?))
}
