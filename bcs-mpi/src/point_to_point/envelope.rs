//! What calls say of a message: buffer, peer, tag and communicator; and what a receive or a probe matches.

use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::Communicator;
use crate::object::datatype::buffer::{Elements, Names};
use crate::object::datatype::{Datatypes, Incoming, Outgoing};
use bcs_core::Rank;
use nic_emu::descriptor::ANY_TAG;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::CommRank;
use std::ffi::{c_int, c_void};

#[cold]
fn wrong_tag(argument: &'static str, value: c_int, also: &'static str) -> MpiError {
    MpiError::new(Problem::Tag { argument, value, also })
}

impl<P> Elements<P> {
    /// Whether a wrong buffer does no harm: to and from nobody nothing goes, so programs name no datatype,
    /// and other libraries let them.
    ///
    /// # Errors
    /// The one that was found.
    #[cold]
    fn for_nobody<M>(&self, error: MpiError, peer: c_int, nothing: M) -> MpiResult<M> {
        let harmless = peer == MPI_PROC_NULL && self.datatype == MPI_DATATYPE_NULL && self.count == 0;
        if harmless { Ok(nothing) } else { Err(error) }
    }
}

impl Elements<*const c_void> {
    /// What is to be sent to a peer, as it lies; its arguments have these names.
    #[inline(always)]
    pub(super) fn outgoing(&self, datatypes: &Datatypes, names: &Names, peer: c_int) -> MpiResult<Outgoing> {
        let nothing = |error| self.for_nobody(error, peer, Outgoing::NOTHING).map(Outgoing::in_words);
        self.message(datatypes, names).or_else(nothing)
    }
}

impl Elements<*mut c_void> {
    /// Where what comes from a peer goes; its arguments have these names.
    #[inline(always)]
    pub(super) fn incoming(&self, datatypes: &Datatypes, names: &Names, peer: c_int) -> MpiResult<Incoming> {
        let nothing = |error| self.for_nobody(error, peer, Incoming::NOTHING).map(Incoming::in_words);
        self.room(datatypes, names).or_else(nothing)
    }
}

/// Peer, tag and communicator, as a call has them.
pub type Peer = (c_int, c_int, MPI_Comm);

/// What a receive or a probe matches, and the source's rank in the job.
pub(super) type Source = (Envelope, Rank);

/// The tag of a send.
#[inline(always)]
pub(crate) fn send_tag(argument: &'static str, tag: c_int) -> MpiResult<c_int> {
    if tag >= 0 { Ok(tag) } else { Err(wrong_tag(argument, tag, "")) }
}

/// What a receive or a probe matches, and the source's rank in the job; none for MPI_PROC_NULL.
#[inline(always)]
pub(super) fn envelope(
    communicator: &Communicator,
    source: c_int,
    argument: &'static str,
    tag: c_int,
) -> MpiResult<Option<Source>> {
    let tag = match tag {
        0.. => tag,
        MPI_ANY_TAG => ANY_TAG,
        _ => return Err(wrong_tag(argument, tag, " (or MPI_ANY_TAG)")),
    };
    let Some(source) = communicator.source(source)? else { return Ok(None) };
    let peer_in_job =
        if source == CommRank::ANY_SOURCE { Rank::NOBODY } else { communicator.job_rank(source) };
    Ok(Some((Envelope { context: communicator.context, source, tag }, peer_in_job)))
}
