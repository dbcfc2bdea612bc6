//! NIC memory as the system maps it: a sparse memfd, or, for simulators and singletons, anonymous memory.
//!
//! Most of it is never written, and takes up nothing. So that it stays so, no core dump holds it (the kernel
//! would fill its holes), and a program that has asked for all its memory to be locked (`mlockall` with
//! `MCL_FUTURE`) gets it unlocked. Nobody can change the file's size.

use crate::memory::{Header, Layout, LayoutError, Mapping, NicMemory, NotOurs};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags};
use rustix::mm::{madvise, mmap, mmap_anonymous, mprotect, munlock, munmap};
use std::ptr::NonNull;

/// Why NIC memory cannot be made or mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The ranks do not fit.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The operating system refused.
    #[error(
        "cannot {operation} NIC memory of {bytes} bytes (sparse): {source}; raise the limit on virtual memory (ulimit -v) or run fewer ranks a node"
    )]
    System {
        /// What was tried.
        operation: &'static str,
        /// How large it is.
        bytes: usize,
        /// What the system said.
        source: rustix::io::Errno,
    },
    /// The descriptor is not NIC memory of this version.
    #[error(
        "descriptor {fd} is not the NIC memory of this BCS-MPI version ({why}); the program and the launcher must come from the same installation"
    )]
    Foreign {
        /// The descriptor's number.
        fd: i32,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// Makes the memory of a job's NIC: a sparse memfd, all zeros, identified by its header. Answers the memfd,
/// too: other processes of the job map it.
pub fn create(layout: Layout, node: u32, nodes: u32) -> Result<(NicMemory, OwnedFd), MapError> {
    let system = |operation, source| MapError::System { operation, bytes: layout.bytes, source };
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let fd = rustix::fs::memfd_create("bcs-nic", flags).map_err(|e| system("create", e))?;
    rustix::fs::ftruncate(&fd, layout.bytes as u64).map_err(|e| system("size", e))?;
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&fd, seals).map_err(|e| system("seal", e))?;
    let memory = NicMemory::new(layout, map(Some(&fd), layout)?);
    memory.write_identity(node, nodes);
    Ok((memory, fd))
}

/// Makes NIC memory that no other process can map: for the simulator and for singletons.
pub fn create_private(layout: Layout, node: u32, nodes: u32) -> Result<NicMemory, MapError> {
    let memory = NicMemory::new(layout, map(None, layout)?);
    memory.write_identity(node, nodes);
    Ok(memory)
}

/// Maps the memory that another process of the job made. The descriptor is closed, so that children of this
/// process do not inherit it; the mapping stays.
pub fn attach(fd: OwnedFd) -> Result<NicMemory, MapError> {
    let number = fd.as_raw_fd();
    let foreign = |why| MapError::Foreign { fd: number, why };
    let size = rustix::fs::fstat(&fd).map_err(|_| foreign("it is not open"))?.st_size as usize;
    if size < size_of::<Header>() {
        return Err(foreign("it is too short"));
    }
    // SAFETY: a fresh mapping of a file at least as long as the header, dropped below.
    let first =
        unsafe { mmap(std::ptr::null_mut(), size_of::<Header>(), ProtFlags::READ, MapFlags::SHARED, &fd, 0) }
            .map_err(|_| foreign("it cannot be mapped"))?;
    // SAFETY: the page is mapped and `Header` is made of atomics, for which every bit pattern is valid.
    let layout = unsafe { &*first.cast::<Header>() }.layout(size);
    // SAFETY: mapped above with this length; nothing of it is used after this.
    let _ = unsafe { munmap(first, size_of::<Header>()) };
    let layout = layout.map_err(|error| match error {
        NotOurs::Layout(error) => MapError::Layout(error),
        NotOurs::Because(why) => foreign(why),
    })?;
    Ok(NicMemory::new(layout, map(Some(&fd), layout)?))
}

/// A shared mapping of the system's, which unmaps itself.
pub(super) struct Mapped {
    pub(super) base: NonNull<u8>,
    pub(super) bytes: usize,
}

// SAFETY: the mapping belongs to the process, and any of its threads may use it and unmap it.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

// SAFETY: a shared mapping of the system's, of so many bytes from the start of a page on, until this value is
// dropped.
unsafe impl Mapping for Mapped {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    unsafe fn forget(&self, offset: usize, bytes: usize) {
        // SAFETY: pages of the mapping, whose bytes nobody reads before somebody has written them again: they
        // read as zeros then. Where the system does not do so, they stay.
        let _ = unsafe { madvise(self.base.as_ptr().add(offset).cast(), bytes, Advice::LinuxRemove) };
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped with this length; no reference outlives the owner of this.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Maps the whole memfd, or without one as much anonymous memory. Nobody may touch it at first: what is
/// locked as soon as it may be touched would be filled then.
fn map(fd: Option<&OwnedFd>, layout: Layout) -> Result<Box<dyn Mapping>, MapError> {
    let bytes = layout.bytes;
    let refused = |operation| move |source| MapError::System { operation, bytes, source };
    let (start, none) = (std::ptr::null_mut(), ProtFlags::empty());
    let flags = MapFlags::SHARED | MapFlags::NORESERVE;
    // SAFETY: a fresh mapping at an address that the kernel chooses aliases nothing.
    let base = unsafe {
        match fd {
            Some(fd) => mmap(start, bytes, none, flags, fd, 0),
            None => mmap_anonymous(start, bytes, none, flags),
        }
    };
    let base = NonNull::new(base.map_err(refused("map"))?.cast()).expect("mmap never answers null");
    let mapped = Mapped { base, bytes };
    let start = base.as_ptr().cast();
    // SAFETY: the whole of the mapping that was just made, of which nobody else knows. The advice changes
    // nothing of what it holds; a system that does not take it dumps more than it need.
    unsafe {
        munlock(start, bytes).map_err(refused("unlock"))?;
        let _ = madvise(start, bytes, Advice::LinuxDontDump);
        mprotect(start, bytes, MprotectFlags::READ | MprotectFlags::WRITE).map_err(refused("open"))?;
    }
    Ok(Box::new(mapped))
}
