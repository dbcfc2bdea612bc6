//! Probes: is there a message (MPI-5.0, §3.8.1)?

use super::envelope::envelope;
use crate::api::{Mode, bcs_probe};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::request::Status;
use crate::process;
use mds::Primitive;
use std::ffi::c_int;

/// MPI_Probe, which waits for a message, and MPI_Iprobe.
///
/// # Errors
/// Wrong arguments.
pub fn probe(mode: Mode, source: c_int, tag: c_int, comm: MPI_Comm) -> MpiResult<Option<Status>> {
    let mut process = process::enter()?;
    let Some((envelope, peer_in_job)) = envelope(process.communicator(comm)?, source, "tag", tag)? else {
        return Ok(Some(Status::PROC_NULL));
    };
    let call = if mode == Mode::Blocking { Primitive::Probe } else { Primitive::Iprobe };
    let found = bcs_probe(&mut process, call, &envelope, peer_in_job, mode)?;
    Ok(found.map(|outcome| Status::received(&outcome, u64::MAX)))
}
