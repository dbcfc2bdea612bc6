//! Probes: is there a message (MPI-5.0, §3.8.1)?

use super::envelope;
use crate::api::{Mode, bcs_probe};
use crate::constants::*;
use crate::error::MpiResult;
use crate::process;
use crate::request::Status;
use mds::Primitive;
use std::ffi::c_int;

/// MPI_Probe: waits for a message.
///
/// # Errors
/// Wrong arguments.
pub fn probe(source: c_int, tag: c_int, comm: MPI_Comm) -> MpiResult<Status> {
    look(Primitive::Probe, source, tag, comm, Mode::Blocking).map(|found| found.unwrap_or(Status::PROC_NULL))
}

/// MPI_Iprobe: looks for a message.
///
/// # Errors
/// Wrong arguments.
pub fn iprobe(source: c_int, tag: c_int, comm: MPI_Comm) -> MpiResult<Option<Status>> {
    look(Primitive::Iprobe, source, tag, comm, Mode::NonBlocking)
}

fn look(call: Primitive, source: c_int, tag: c_int, comm: MPI_Comm, mode: Mode) -> MpiResult<Option<Status>> {
    let mut process = process::enter()?;
    let Some((envelope, peer_in_job)) = envelope(process.communicator(comm)?, source, "tag", tag)? else {
        return Ok(Some(Status::PROC_NULL));
    };
    let found = bcs_probe(&mut process, call, &envelope, peer_in_job, mode)?;
    Ok(found.map(|outcome| Status::received(&outcome, u64::MAX)))
}
