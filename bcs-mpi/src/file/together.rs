//! What members agree on in calls about a file that all make: arguments that have to be the same, and what
//! has come of it.

use super::errors::{class_of, of_name, shown};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::object::file::name::FileName;
use crate::process::Guard;
use crate::progress::meeting::gather_all;
use mds::Primitive;
use rustix::io::Errno;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Meets the members of a file's communicator; those who have given another value for an argument are found.
///
/// # Errors
/// They have; or the NIC fails.
pub(super) fn same(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    (argument, value): (&'static str, i64),
) -> MpiResult {
    let all = gather_all(process, call, comm, value.to_le_bytes())?;
    let others = all.iter().map(|other| i64::from_le_bytes(*other));
    match others.enumerate().find(|(_, other)| *other != value) {
        None => Ok(()),
        Some((rank, other)) => {
            let allowed = format!("all members have to give the same; rank {rank} gives {other}");
            Err(MpiError::argument(MPI_ERR_NOT_SAME, argument, value, allowed))
        }
    }
}

/// The same of an argument that is shown by this text, and the same where that is.
///
/// # Errors
/// As [`same`].
pub(super) fn alike(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    (argument, shown): (&'static str, &str),
) -> MpiResult {
    let mut hash = DefaultHasher::new();
    shown.hash(&mut hash);
    let own = hash.finish().to_le_bytes();
    let all = gather_all(process, call, comm, own)?;
    match all.iter().position(|other| *other != own) {
        None => Ok(()),
        Some(rank) => {
            let allowed = format!("all members have to give the same, and rank {rank} gives another");
            Err(MpiError::argument(MPI_ERR_NOT_SAME, argument, shown, allowed))
        }
    }
}

/// Meets the members with what the system has said to this one; answers the first that went wrong at any,
/// with that member.
///
/// # Errors
/// The NIC fails.
pub(super) fn outcome(
    process: &mut Guard,
    call: Primitive,
    comm: MPI_Comm,
    own: Result<(), Errno>,
) -> MpiResult<Option<(usize, Errno)>> {
    let own = own.err().map_or(0, Errno::raw_os_error);
    let all = gather_all(process, call, comm, own.to_le_bytes())?;
    let failed = all.iter().map(|code| i32::from_le_bytes(*code)).enumerate().find(|(_, code)| *code != 0);
    Ok(failed.map(|(rank, code)| (rank, Errno::from_raw_os_error(code))))
}

/// The same, as an error about a file of this name.
///
/// # Errors
/// Something went wrong at a member; the NIC fails.
pub(super) fn agree(
    process: &mut Guard,
    (call, comm): (Primitive, MPI_Comm),
    (name, action): (&FileName, &'static str),
    own: Result<(), Errno>,
) -> MpiResult {
    match (own, outcome(process, call, comm, own)?) {
        (_, None) => Ok(()),
        // Each that failed says why it did.
        (Err(errno), Some(_)) => Err(of_name(name, action, None, errno)),
        (Ok(()), Some((other, errno))) => {
            let cause = format!("{errno}, says rank {other}").into();
            let (class, name) = (class_of(errno), shown(name));
            Err(MpiError::new(Problem::File { class, name, at: None, action, cause }))
        }
    }
}
