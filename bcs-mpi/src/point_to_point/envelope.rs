//! What calls say of a message: buffer, peer, tag and communicator; and what a receive or a probe matches.

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::Communicator;
use nic_emu::descriptor::{ANY_SOURCE, ANY_TAG};
use nic_emu::matching::Envelope;
use nic_emu::status::NOBODY;
use std::ffi::{c_int, c_void};

#[cold]
fn wrong_tag(argument: &'static str, value: c_int, also: &'static str) -> MpiError {
    MpiError::new(Problem::Tag { argument, value, also })
}

/// A buffer to be sent, as a call has it: address, count and datatype.
pub(super) type Sent = (*const c_void, i64, MPI_Datatype);
/// A buffer for a message, as a call has it.
pub(super) type Room = (*mut c_void, i64, MPI_Datatype);
/// Peer, tag and communicator, as a call has them.
pub(super) type Peer = (c_int, c_int, MPI_Comm);

/// What a receive or a probe matches, and the source's rank in the job.
pub(super) type Source = (Envelope, u32);

/// Whether a wrong buffer does no harm: to and from nobody nothing goes, so programs name no datatype, and
/// other libraries let them.
///
/// # Errors
/// The one that was found.
#[cold]
pub(super) fn for_nobody(error: MpiError, (count, datatype): (i64, MPI_Datatype), peer: c_int) -> MpiResult {
    let harmless = peer == MPI_PROC_NULL && datatype == MPI_DATATYPE_NULL && count == 0;
    if harmless { Ok(()) } else { Err(error) }
}

/// The tag of a send.
#[inline(always)]
pub(crate) fn send_tag(argument: &'static str, tag: c_int) -> MpiResult<c_int> {
    if tag >= 0 { Ok(tag) } else { Err(wrong_tag(argument, tag, "")) }
}

/// The tag of a receive, as the NIC matches it.
#[inline(always)]
fn receive_tag(argument: &'static str, tag: c_int) -> MpiResult<c_int> {
    if tag >= 0 {
        return Ok(tag);
    }
    if tag == MPI_ANY_TAG { Ok(ANY_TAG) } else { Err(wrong_tag(argument, tag, " (or MPI_ANY_TAG)")) }
}

/// What a receive or a probe matches, and the source's rank in the job; none for MPI_PROC_NULL.
#[inline(always)]
pub(super) fn envelope(
    communicator: &Communicator,
    source: c_int,
    argument: &'static str,
    tag: c_int,
) -> MpiResult<Option<Source>> {
    let tag = receive_tag(argument, tag)?;
    let Some(source) = communicator.source(source)? else { return Ok(None) };
    let peer_in_job = if source == ANY_SOURCE { NOBODY } else { communicator.job_rank(source) };
    Ok(Some((Envelope { context: communicator.context, source, tag }, peer_in_job)))
}
