//! How long files are (MPI-5.0, §14.2.4 to §14.2.6), and what brings their bytes to the disk (§14.6.1).

use super::check::{check_written, sequential_only};
use super::errors::of_name;
use super::together::{agree, same};
use crate::constants::*;
use crate::error::{MpiError, MpiResult};
use crate::object::file::File;
use crate::object::file::opened::Opened;
use crate::process::{self, Guard};
use mds::Primitive;
use nic_emu::memory::numbers::CommRank;
use rustix::fs::FallocateFlags;
use rustix::io::{Errno, retry_on_intr};
use std::sync::Arc;

/// The bytes of a file.
///
/// # Errors
/// The system fails.
pub(super) fn bytes_of(file: &File) -> MpiResult<i64> {
    let about = rustix::fs::fstat(&file.opened.fd);
    about.map(|about| about.st_size).map_err(|errno| of_name(&file.opened.name, "asked", None, errno))
}

/// MPI_File_get_size.
///
/// # Errors
/// No such file, or the system fails.
pub fn get(file: MPI_File) -> MpiResult<MPI_Offset> {
    bytes_of(process::enter()?.files.named(file)?)
}

/// Has the first member change the length of a file, once all have given the same size.
fn change(
    (call, file): (Primitive, MPI_File),
    size: MPI_Offset,
    action: &'static str,
    change: impl FnOnce(&Opened) -> Result<(), Errno>,
) -> MpiResult {
    let process = &mut process::enter()?;
    let open = process.files.named(file)?;
    sequential_only(open, false)?;
    check_written(open)?;
    if size < 0 {
        return Err(MpiError::argument(MPI_ERR_ARG, "size", size, "it must be 0 or more"));
    }
    let (comm, opened) = (open.comm, open.opened.clone());
    same(process, call, comm, ("size", size))?;
    let is_first = process.communicator(comm)?.rank == CommRank(0);
    let own = if is_first { process.without_lock(|| change(&opened)) } else { Ok(()) };
    agree(process, (call, comm), (&opened.name, action), own)
}

/// MPI_File_set_size.
///
/// # Errors
/// Wrong arguments, members do not say the same, or the system fails.
pub fn set(file: MPI_File, size: MPI_Offset) -> MpiResult {
    change((Primitive::FileSetSize, file), size, "made as long as asked", |opened| {
        rustix::fs::ftruncate(&opened.fd, size as u64)
    })
}

/// MPI_File_preallocate: there is room for so many bytes; what is there stays.
///
/// # Errors
/// As [`set`].
pub fn preallocate(file: MPI_File, size: MPI_Offset) -> MpiResult {
    change((Primitive::FilePreallocate, file), size, "given room", |opened| {
        if size == 0 {
            return Ok(());
        }
        let give = || rustix::fs::fallocate(&opened.fd, FallocateFlags::empty(), 0, size as u64);
        match retry_on_intr(give) {
            // The file system gives room when something is written.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => extend(opened, size as u64),
            result => result,
        }
    })
}

/// Makes a file as long as this at least, where the file system gives no room in advance.
fn extend(opened: &Opened, size: u64) -> Result<(), Errno> {
    let bytes = rustix::fs::fstat(&opened.fd)?.st_size as u64;
    if bytes < size { rustix::fs::ftruncate(&opened.fd, size) } else { Ok(()) }
}

/// MPI_File_sync: what this process has written is on the disk, and what others have written and brought
/// there before is seen here.
///
/// # Errors
/// No such file, or the system fails at any member.
pub fn sync(file: MPI_File) -> MpiResult {
    let process = &mut process::enter()?;
    let open = process.files.named(file)?;
    let (comm, opened) = (open.comm, open.opened.clone());
    let own = sync_here(process, &opened);
    agree(process, (Primitive::FileSync, comm), (&opened.name, "brought to the disk"), own)
}

fn sync_here(process: &mut Guard, opened: &Arc<Opened>) -> Result<(), Errno> {
    process.without_lock(|| {
        loop {
            match rustix::fs::fdatasync(&opened.fd) {
                Err(Errno::INTR) => {}
                // Devices, pipes.
                Err(Errno::INVAL | Errno::ROFS) => return Ok(()),
                result => return result,
            }
        }
    })
}
