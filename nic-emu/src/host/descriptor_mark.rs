//! Tells whether the program has closed descriptors that it did not open.
//!
//! Programs that become daemons, or start others, close all descriptors that there can be. A library that
//! polls some of them may then wait for ever: it is not told. A mark is a descriptor that nobody uses and
//! that such a loop closes too.

use rustix::fs::{MemfdFlags, fstat, memfd_create};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};

/// A descriptor that this process has as long as nobody closes it.
#[derive(Debug)]
pub struct DescriptorMark {
    descriptor: ManuallyDrop<OwnedFd>,
    /// Which file it is of: another may come in its place.
    file: (u64, u64),
}

impl DescriptorMark {
    /// A mark, opened now. None where the process can open no more.
    pub fn new() -> Option<Self> {
        let descriptor = memfd_create("bcs-mark", MemfdFlags::CLOEXEC).ok()?;
        let file = file_of(&descriptor)?;
        Some(Self { descriptor: ManuallyDrop::new(descriptor), file })
    }

    /// Whether nobody has closed it.
    pub fn is_there(&self) -> bool {
        file_of(&*self.descriptor) == Some(self.file)
    }
}

fn file_of(descriptor: &impl AsFd) -> Option<(u64, u64)> {
    let stat = fstat(descriptor).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

impl Drop for DescriptorMark {
    fn drop(&mut self) {
        // What is there now may be the program's.
        if self.is_there() {
            // SAFETY: it is this value's own, and is not used any more.
            unsafe { ManuallyDrop::drop(&mut self.descriptor) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::fcntl_getfd;
    use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd};

    #[test]
    fn a_mark_is_there_until_somebody_closes_it() {
        let mark = DescriptorMark::new().unwrap();
        assert!(mark.is_there());
        // SAFETY: the mark does not close it again, as its promise is.
        drop(unsafe { OwnedFd::from_raw_fd(mark.descriptor.as_raw_fd()) });
        // Other tests may open something in its place, which is not the mark either.
        assert!(!mark.is_there());
    }

    #[test]
    fn what_took_the_place_of_a_mark_is_left_alone() {
        let mark = DescriptorMark::new().unwrap();
        let other = memfd_create("other", MemfdFlags::CLOEXEC).unwrap();
        let number = mark.descriptor.as_raw_fd();
        // SAFETY: the number is open, and is the mark's, which does not use it any more.
        let mut place = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(number) });
        rustix::io::dup2(&other, &mut place).unwrap();
        assert!(!mark.is_there());
        drop(mark);
        // SAFETY: it is looked at only.
        assert!(fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_ok(), "it was closed");
        drop(ManuallyDrop::into_inner(place));
    }
}
