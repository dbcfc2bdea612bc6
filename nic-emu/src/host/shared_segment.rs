//! Memory that ranks of a node share beside NIC memory: their parts of windows that the library allocates.
//!
//! Its owner makes it as a memfd; other ranks of the node open that by the owner's process and the number of
//! the descriptor there (`/proc/PID/fd/N`), and map it. When all have done so the owner closes the
//! descriptor. So nothing is left of it when the processes end, however they end.

use super::mapping::Mapped;
use crate::memory::Mapping;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::ptr::NonNull;

/// Shared memory of ranks of a node, mapped. It is zeros at first.
pub struct SharedSegment(Mapped);

impl SharedSegment {
    /// Makes one of so many bytes, at least 1; answers the descriptor by which others find it, too.
    ///
    /// # Errors
    /// The system has not so much memory, or no descriptor.
    pub fn create(bytes: usize) -> Result<(Self, OwnedFd), Errno> {
        let fd = rustix::fs::memfd_create("bcs-window", MemfdFlags::CLOEXEC)?;
        rustix::fs::ftruncate(&fd, bytes as u64)?;
        Ok((Self::map(&fd, bytes)?, fd))
    }

    /// Maps one of so many bytes that another process has made, and that has this number there.
    ///
    /// # Errors
    /// The system does not let this process do so, or it is shorter.
    pub fn open(pid: u32, number: i32, bytes: usize) -> Result<Self, Errno> {
        let path = format!("/proc/{pid}/fd/{number}");
        let fd = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        if (rustix::fs::fstat(&fd)?.st_size as u64) < bytes as u64 {
            return Err(Errno::INVAL);
        }
        Self::map(&fd, bytes)
    }

    fn map(fd: &OwnedFd, bytes: usize) -> Result<Self, Errno> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a fresh mapping at an address that the kernel chooses aliases nothing.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, fd, 0)? };
        let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self(Mapped { base, bytes }))
    }

    /// The first byte.
    pub fn base(&self) -> NonNull<u8> {
        self.0.base()
    }
}

/// The number by which other processes find a descriptor of this one.
pub fn number_of(fd: &OwnedFd) -> i32 {
    fd.as_raw_fd()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_process_writes_another_mapping_of_it_shows() {
        let (made, fd) = SharedSegment::create(5000).unwrap();
        let opened = SharedSegment::open(std::process::id(), number_of(&fd), 5000).unwrap();
        drop(fd);
        assert_ne!(made.base(), opened.base());
        // SAFETY: both mappings have so many bytes, and nobody else knows of them.
        unsafe {
            assert_eq!(opened.base().add(4999).read(), 0);
            made.base().add(4999).write(7);
            assert_eq!(opened.base().add(4999).read(), 7);
        }
    }

    #[test]
    fn what_is_shorter_or_closed_is_not_opened() {
        let (_made, fd) = SharedSegment::create(10).unwrap();
        assert_eq!(SharedSegment::open(std::process::id(), number_of(&fd), 11).err(), Some(Errno::INVAL));
        let number = number_of(&fd);
        drop(fd);
        assert!(SharedSegment::open(std::process::id(), number, 10).is_err());
    }
}
