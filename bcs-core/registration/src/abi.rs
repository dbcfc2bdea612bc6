//! What userfaultfd(2) takes and gives, as `include/uapi/linux/userfaultfd.h` of Linux has it.

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::io::{Error, ErrorKind, Result};
use std::ops::Range;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// `UFFD_USER_MODE_ONLY`: no faults of the kernel's own accesses. So no right is needed.
const USER_MODE_ONLY: libc::c_int = 1;

/// `UFFD_API`.
const API_VERSION: u64 = 0xaa;

const EVENT_REMAP: u64 = 1 << 2;
const EVENT_REMOVE: u64 = 1 << 3;
const EVENT_UNMAP: u64 = 1 << 6;

/// `UFFD_FEATURE_WP_HUGETLBFS_SHMEM`, of Linux 5.19. It is not asked for. A kernel that has it also counts
/// the changes that are under way. Kernels before 5.15 only note that there is one, and forget it when the
/// first of two ends.
const COUNTS_CHANGES: u64 = 1 << 12;

/// `UFFDIO_REGISTER_MODE_WP`.
const MODE_WRITE_PROTECT: u64 = 1 << 1;

#[derive(Default)]
#[repr(C)]
struct Api {
    version: u64,
    features: u64,
    ioctls: u64,
}

#[derive(Default)]
#[repr(C)]
struct Span {
    start: u64,
    bytes: u64,
}

#[derive(Default)]
#[repr(C)]
struct Register {
    span: Span,
    mode: u64,
    ioctls: u64,
}

#[derive(Default)]
#[repr(C)]
struct WriteProtect {
    span: Span,
    mode: u64,
}

const TYPE: u8 = 0xaa;
const UFFDIO_API: Opcode = opcode::read_write::<Api>(TYPE, 0x3f);
const UFFDIO_REGISTER: Opcode = opcode::read_write::<Register>(TYPE, 0x00);
const UFFDIO_UNREGISTER: Opcode = opcode::read::<Span>(TYPE, 0x01);
const UFFDIO_WRITEPROTECT: Opcode = opcode::read_write::<WriteProtect>(TYPE, 0x06);

/// `struct uffd_msg`.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Message {
    event: u8,
    reserved: [u8; 7],
    arguments: [u64; 3],
}

const _: () = assert!(size_of::<Message>() == 32);

/// What a program does to memory that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// munmap(2), brk(2), or another mapping at the same place: it has been done.
    Unmapped(Range<usize>),
    /// madvise(2): the pages are dropped when the event has been read.
    Dropped(Range<usize>),
    /// mremap(2): it has been done, and what has moved is watched where it is now.
    Moved {
        /// Where it was.
        from: Range<usize>,
        /// Where it is now.
        to: Range<usize>,
    },
}

impl Message {
    /// None for what is not asked for.
    pub fn change(&self) -> Option<Change> {
        let [first, second, third] = self.arguments.map(|argument| argument as usize);
        match self.event {
            0x14 => Some(Change::Moved {
                from: first..first.saturating_add(third),
                to: second..second.saturating_add(third),
            }),
            0x15 => Some(Change::Dropped(first..second)),
            0x16 => Some(Change::Unmapped(first..second)),
            _ => None,
        }
    }
}

/// Opens a userfaultfd that tells changes of mappings.
pub(crate) fn open() -> Result<OwnedFd> {
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY;
    // SAFETY: the call takes flags, and gives a descriptor.
    let descriptor = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
    if descriptor < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the descriptor has just been opened, and belongs to nobody else.
    let userfault = unsafe { OwnedFd::from_raw_fd(descriptor as i32) };
    let features = EVENT_REMAP | EVENT_REMOVE | EVENT_UNMAP;
    let mut api = Api { version: API_VERSION, features, ioctls: 0 };
    // SAFETY: the operation reads and writes such a structure.
    unsafe { ioctl(&userfault, Updater::<UFFDIO_API, Api>::new(&mut api))? };
    if api.features & COUNTS_CHANGES == 0 {
        return Err(Error::new(ErrorKind::Unsupported, "Linux 5.19 or later is needed"));
    }
    Ok(userfault)
}

fn span(range: &Range<usize>) -> Span {
    Span { start: range.start as u64, bytes: range.len() as u64 }
}

/// Watches whole pages. Nothing is write-protected, so no access to them ever waits.
///
/// # Errors
/// The kernel does not watch such memory, or somebody else does.
pub(crate) fn register(userfault: impl AsFd, range: &Range<usize>) -> Result<()> {
    let mut register = Register { span: span(range), mode: MODE_WRITE_PROTECT, ioctls: 0 };
    // SAFETY: the operation reads and writes such a structure. What it does to a range changes no bytes.
    unsafe { ioctl(userfault, Updater::<UFFDIO_REGISTER, Register>::new(&mut register))? };
    Ok(())
}

/// Watches pages no longer.
///
/// # Errors
/// There is no memory, or some that cannot be watched.
pub(crate) fn unregister(userfault: impl AsFd, range: &Range<usize>) -> Result<()> {
    let mut span = span(range);
    // SAFETY: the operation reads such a structure. What it does to a range changes no bytes.
    unsafe { ioctl(userfault, Updater::<UFFDIO_UNREGISTER, Span>::new(&mut span))? };
    Ok(())
}

/// Whether no change of watched memory is under way. A change begins before the mapping is changed, and ends
/// after the event has been read.
///
/// Every operation that fills or protects pages begins with this question, and answers EAGAIN when one is
/// under way (`ctx->mmap_changing`). This one then refuses the empty range that it is given.
pub(crate) fn is_quiet(userfault: impl AsFd) -> bool {
    let mut nothing = WriteProtect::default();
    // SAFETY: the operation reads such a structure, and refuses this one.
    let answer = unsafe { ioctl(userfault, Updater::<UFFDIO_WRITEPROTECT, _>::new(&mut nothing)) };
    answer == Err(rustix::io::Errno::INVAL)
}

/// Reads what is told, without waiting. How many messages have come: none when none is there.
pub(crate) fn read(userfault: impl AsFd, messages: &mut [Message]) -> usize {
    // SAFETY: messages are as good as any bytes, and bytes of any value are messages.
    let bytes =
        unsafe { std::slice::from_raw_parts_mut(messages.as_mut_ptr().cast::<u8>(), size_of_val(messages)) };
    rustix::io::read(userfault, bytes).map_or(0, |read| read / size_of::<Message>())
}
