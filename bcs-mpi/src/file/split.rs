//! The second halves of split collective accesses (MPI-5.0, §14.4.5).

use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::file::Split;
use crate::object::request::Statuses;
use crate::process;
use nic_emu::status::WaitingFor;
use std::ffi::c_void;

/// MPI_File_read_all_end and its kin: waits for the access that has begun, which the call of this name ends.
///
/// # Errors
/// No such file, no such access has begun, or with another buffer; and what the access fails with.
pub fn end(file: MPI_File, call: &'static str, buffer: *const c_void, statuses: Statuses) -> MpiResult {
    let process = &mut process::enter()?;
    let open = process.files.named_mut(file)?;
    let begin = call.replace("_end", "_begin");
    match &open.split {
        None => {
            let allowed = format!("{begin} has to begin an access first");
            return Err(open.out_of_order(MPI_ERR_IO, allowed));
        }
        Some(split) if split.end() != call => {
            let allowed = format!("what is under way is ended by {}", split.end());
            return Err(open.out_of_order(MPI_ERR_IO, allowed));
        }
        Some(split) if split.buffer != buffer as usize => {
            let allowed = format!("it has to be the buffer of {begin}, {:#x}", split.buffer);
            let value = match buffer as usize {
                0 => "NULL".to_owned(),
                buffer if buffer == MPI_IN_PLACE as usize => "MPI_IN_PLACE".to_owned(),
                buffer => format!("{buffer:#x}"),
            };
            return Err(MpiError::argument(MPI_ERR_BUFFER, "buf", value, allowed));
        }
        Some(_) => {}
    }
    let Some(Split { mut state, .. }) = open.split.take() else { return Ok(()) };
    let what = state.waits_for().unwrap_or(WaitingFor::SOMETHING);
    let finished = process.wait_for_some(&what, |process| state.look(&mut process.parts_and_requests().0))?;
    statuses.set(0, &finished.status);
    finished.error.map_or(Ok(()), Err)
}
