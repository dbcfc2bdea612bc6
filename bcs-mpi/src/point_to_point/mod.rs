//! Point-to-point communication (MPI-5.0, chapter 3): sends in four modes, receives, probes.
//!
//! Here arguments are checked and become descriptors; the BCS API moves them. All of a call's arguments are checked
//! before anything is posted.

pub mod attached_buffer;
pub mod matched;
pub mod persistent;
mod probe;
mod receive;
mod send;
mod sendrecv;

pub use probe::probe;
pub use receive::recv;
pub use send::{SendMode, send};
pub use sendrecv::{Peers, sendrecv, sendrecv_replace};

use crate::communicator::Communicator;
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use nic_emu::descriptor::{ANY_SOURCE, ANY_TAG};
use nic_emu::matching::Envelope;
use nic_emu::status::NOBODY;
use std::ffi::{c_int, c_void};

#[cold]
fn wrong_tag(argument: &'static str, value: c_int, also: &'static str) -> MpiError {
    MpiError::new(Problem::Tag { argument, value, also })
}

/// A buffer to be sent, as a call has it: address, count and datatype.
type Sent = (*const c_void, i64, MPI_Datatype);
/// A buffer for a message, as a call has it.
type Room = (*mut c_void, i64, MPI_Datatype);
/// Peer, tag and communicator, as a call has them.
type Peer = (c_int, c_int, MPI_Comm);

/// What a receive or a probe matches, and the source's rank in the job.
type Source = (Envelope, u32);

/// Whether a wrong buffer does no harm: to and from nobody nothing goes, so programs name no datatype, and other libraries let them.
///
/// # Errors
/// The one that was found.
#[cold]
fn for_nobody(error: MpiError, (count, datatype): (i64, MPI_Datatype), peer: c_int) -> MpiResult {
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
fn envelope(
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
