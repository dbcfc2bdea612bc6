//! Files are opened, closed, and deleted (MPI-5.0, §14.2.1 to §14.2.3).

use super::errors::{CREATED, OPENED, of_name, shown};
use super::shared_pointer;
use super::together::{agree, alike};
use crate::communicator::free::remove;
use crate::communicator::new::{Kin, part_of};
use crate::constants::*;
use crate::error::{MpiError, MpiResult, Problem};
use crate::info::{self, Pairs};
use crate::object::datatype::table::predefined_type;
use crate::object::error_handler::{release, retain};
use crate::object::file::hints::FileHints;
use crate::object::file::name::FileName;
use crate::object::file::opened::Opened;
use crate::object::file::representation::Representation;
use crate::object::file::view::View;
use crate::object::file::{File, OF_FILES};
use crate::process::{self, Guard};
use crate::progress::Arrival;
use crate::progress::meeting::meet;
use mds::Primitive;
use nic_emu::memory::numbers::CommRank;
use rustix::fd::AsFd;
use rustix::fs::{Advice, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::c_int;
use std::sync::{Arc, Condvar, Mutex};

/// The flags of an access mode, with their names.
const MODES: [(c_int, &str); 9] = [
    (MPI_MODE_APPEND, "MPI_MODE_APPEND"),
    (MPI_MODE_CREATE, "MPI_MODE_CREATE"),
    (MPI_MODE_DELETE_ON_CLOSE, "MPI_MODE_DELETE_ON_CLOSE"),
    (MPI_MODE_EXCL, "MPI_MODE_EXCL"),
    (MPI_MODE_RDONLY, "MPI_MODE_RDONLY"),
    (MPI_MODE_RDWR, "MPI_MODE_RDWR"),
    (MPI_MODE_SEQUENTIAL, "MPI_MODE_SEQUENTIAL"),
    (MPI_MODE_UNIQUE_OPEN, "MPI_MODE_UNIQUE_OPEN"),
    (MPI_MODE_WRONLY, "MPI_MODE_WRONLY"),
];

/// An access mode as messages have it.
fn shown_mode(amode: c_int) -> String {
    let names: Vec<_> = MODES.iter().filter(|(flag, _)| amode & flag != 0).map(|(_, name)| *name).collect();
    if names.is_empty() { amode.to_string() } else { format!("{amode} ({})", names.join("|")) }
}

/// Checks an access mode (§14.2.1).
fn check_mode(amode: c_int) -> MpiResult {
    let known = MODES.iter().fold(0, |all, (flag, _)| all | flag);
    let wrong = |allowed: &str| Err(MpiError::argument(MPI_ERR_AMODE, "amode", shown_mode(amode), allowed));
    if amode & !known != 0 {
        return wrong("it must be made of the MPI_MODE constants of files");
    }
    let ways = [MPI_MODE_RDONLY, MPI_MODE_RDWR, MPI_MODE_WRONLY];
    if ways.iter().filter(|way| amode & **way != 0).count() != 1 {
        return wrong("it must have one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY");
    }
    if amode & MPI_MODE_RDONLY != 0 && amode & (MPI_MODE_CREATE | MPI_MODE_EXCL) != 0 {
        return wrong("MPI_MODE_CREATE and MPI_MODE_EXCL are for files that are written");
    }
    if amode & MPI_MODE_RDWR != 0 && amode & MPI_MODE_SEQUENTIAL != 0 {
        return wrong("MPI_MODE_SEQUENTIAL is for files that are read only, or written only");
    }
    Ok(())
}

/// Opens a file in this process.
fn open_here(name: &FileName, amode: c_int, creates: bool, hints: &FileHints) -> Result<Opened, Errno> {
    let mut flags = OFlags::CLOEXEC;
    if creates {
        flags.set(OFlags::CREATE, amode & MPI_MODE_CREATE != 0);
        flags.set(OFlags::EXCL, amode & MPI_MODE_EXCL != 0 && amode & MPI_MODE_CREATE != 0);
    }
    let open =
        |way| rustix::fs::open(name.path(), flags | way, Mode::from_raw_mode(hints.permissions & 0o7777));
    let (fd, may_read) = if amode & MPI_MODE_RDONLY != 0 {
        (open(OFlags::RDONLY)?, true)
    } else {
        // What lies between bytes that are written may have to be read.
        match open(OFlags::RDWR) {
            Ok(fd) => (fd, true),
            Err(Errno::ACCESS | Errno::PERM) if amode & MPI_MODE_WRONLY != 0 => {
                (open(OFlags::WRONLY)?, false)
            }
            Err(errno) => return Err(errno),
        }
    };
    let about = rustix::fs::fstat(&fd)?;
    if FileType::from_raw_mode(about.st_mode) == FileType::Directory {
        return Err(Errno::ISDIR);
    }
    advise(&fd, hints);
    Ok(Opened {
        fd: fd.into(),
        name: name.clone(),
        may_read,
        block_bytes: u64::try_from(about.st_blksize).unwrap_or(4096).max(1),
        held: Mutex::default(),
        given_back: Condvar::new(),
    })
}

/// Tells the system how the file is going to be accessed: advice, that may be ignored.
pub(super) fn advise(fd: &impl AsFd, hints: &FileHints) {
    for style in hints.access_style.split(',') {
        let advice = match style.trim() {
            "sequential" => Advice::Sequential,
            "random" | "reverse_sequential" => Advice::Random,
            "read_once" | "write_once" => Advice::NoReuse,
            "read_mostly" | "write_mostly" => Advice::Normal,
            _ => continue,
        };
        let _ = rustix::fs::fadvise(fd, 0, None, advice);
    }
}

/// MPI_File_open.
///
/// # Errors
/// Wrong arguments, or the system refuses at any member.
pub fn open(comm: MPI_Comm, filename: &FileName, amode: c_int, info: MPI_Info) -> MpiResult<MPI_File> {
    let process = &mut process::enter()?;
    process.intracommunicator("comm", comm)?;
    if filename.is_empty() {
        return Err(MpiError::argument(
            MPI_ERR_BAD_FILE,
            "filename",
            "\"\"",
            "it must be the name of a file",
        ));
    }
    check_mode(amode)?;
    let pairs = info::pairs(info)?;
    let group = process.communicator(comm)?.group.clone();
    let own = part_of(process, Primitive::FileOpen, comm, group, Kin::default())?;
    // Errors of the file are told by its own handler.
    let inherited = std::mem::replace(&mut process.communicator_mut(own)?.error_handler, MPI_ERRORS_RETURN);
    retain(MPI_ERRORS_RETURN)?;
    release(inherited)?;
    let opened = open_together(process, own, (filename, amode), &pairs);
    let made = opened.and_then(|(opened, hints)| file_of(process, own, (opened, amode), hints));
    match made {
        Ok(file) => Ok(MPI_File(process.files.table.insert(file))),
        Err(error) => {
            remove(process, own)?;
            Err(error)
        }
    }
}

/// The file of a communicator, which is its own.
fn file_of(
    process: &mut Guard,
    comm: MPI_Comm,
    (opened, amode): (Opened, c_int),
    hints: FileHints,
) -> MpiResult<File> {
    let Some(byte) = predefined_type(MPI_BYTE).cloned() else { unreachable!("bytes are a predefined type") };
    let view = View::new(0, (byte.clone(), byte.clone()), Representation::Native("native"), (1, byte));
    let position = match amode & MPI_MODE_APPEND {
        0 => 0,
        _ => rustix::fs::fstat(&opened.fd).map_or(0, |about| about.st_size),
    };
    let shared = shared_pointer::create(process, comm, position).map_err(|error| {
        let cause = format!("the pointer that all members share cannot be made: {error}").into();
        match error.class() {
            class @ MPI_ERR_NO_MEM => {
                let (name, action) = (shown(&opened.name), OPENED);
                MpiError::new(Problem::File { class, name, at: None, action, cause })
            }
            _ => error,
        }
    })?;
    let error_handler = *OF_FILES.lock();
    retain(error_handler)?;
    Ok(File {
        comm,
        opened: Arc::new(opened),
        amode,
        view: Arc::new(view),
        position,
        shared,
        is_atomic: false,
        hints,
        split: None,
        error_handler,
    })
}

/// Has all members open a file: the first one creates it, if it is to be.
fn open_together(
    process: &mut Guard,
    comm: MPI_Comm,
    (name, amode): (&FileName, c_int),
    pairs: &Pairs,
) -> MpiResult<(Opened, FileHints)> {
    let call = Primitive::FileOpen;
    alike(process, call, comm, ("amode", &shown_mode(amode)))?;
    let mut hints = FileHints::default();
    hints.update(pairs);
    let action = if amode & MPI_MODE_CREATE != 0 { CREATED } else { OPENED };
    let is_first = process.communicator(comm)?.rank == CommRank(0);
    let mut opened = Err(Errno::IO);
    if is_first {
        opened = process.without_lock(|| open_here(name, amode, true, &hints));
    }
    let first = if is_first { opened.as_ref().map(drop).map_err(|errno| *errno) } else { Ok(()) };
    agree(process, (call, comm), (name, action), first)?;
    if !is_first {
        opened = process.without_lock(|| open_here(name, amode, false, &hints));
    }
    agree(process, (call, comm), (name, action), opened.as_ref().map(drop).map_err(|errno| *errno))?;
    let opened = opened.map_err(|errno| of_name(name, action, None, errno))?;
    Ok((opened, hints))
}

/// MPI_File_close: when all members call it.
///
/// # Errors
/// No such file, a split access is under way, the program has closed the descriptor, or the file is to be
/// deleted and cannot be.
pub fn close(file: &mut MPI_File) -> MpiResult {
    let call = Primitive::FileClose;
    let process = &mut process::enter()?;
    let open = process.files.named(*file)?;
    if let Some(split) = &open.split {
        let allowed = format!("{} has to end what is under way before it is closed", split.end());
        return Err(open.out_of_order(MPI_ERR_IO, allowed));
    }
    let (comm, shared) = (open.comm, open.shared);
    // All that others have begun is done, and nobody opens the file again before it is deleted. Where members
    // have called what does not fit they do not meet any more, and each closes its file alone.
    let is_whole = match meet(process, call, comm, &Arrival::BARRIER, &[]) {
        Ok(_) => true,
        Err(error) if matches!(error.problem(), Problem::Mismatch(_)) => false,
        Err(error) => return Err(error),
    };
    let handle = std::mem::replace(file, MPI_FILE_NULL);
    let Ok(File { opened, amode, error_handler, .. }) = process.files.table.remove(handle.0) else {
        return Ok(());
    };
    shared_pointer::free(process, shared)?;
    let told = |errno| of_name(&opened.name, "closed", None, errno);
    let mut closed = rustix::io::fcntl_getfd(&opened.fd).map(drop).map_err(told);
    if amode & MPI_MODE_DELETE_ON_CLOSE != 0 {
        let is_first = process.communicator(comm)?.rank == CommRank(0);
        let own = if is_first { rustix::fs::unlink(opened.name.path()) } else { Ok(()) };
        let deleted = match is_whole {
            true => agree(process, (call, comm), (&opened.name, "deleted"), own),
            false => own.map_err(|errno| of_name(&opened.name, "deleted", None, errno)),
        };
        closed = closed.and(deleted);
    }
    // The handle is gone: its error handler is asked all the same.
    let closed = closed.map_err(|error| error.told_to(error_handler, MPI_FILE_NULL));
    remove(process, comm)?;
    if closed.is_ok() {
        release(error_handler)?;
    }
    closed
}

/// MPI_File_delete.
///
/// # Errors
/// The system refuses.
pub fn delete(filename: &FileName, info: MPI_Info) -> MpiResult {
    process::enter()?;
    info::check(info)?;
    rustix::fs::unlink(filename.path()).map_err(|errno| of_name(filename, "deleted", None, errno))
}
