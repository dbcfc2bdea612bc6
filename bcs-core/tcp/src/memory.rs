//! The memory of a node's links: a memfd, which other processes of the node map.
//!
//! It holds the secrets of links, so no core dump holds it; and what is never used of it takes up only
//! addresses. Invariant: it stays as long as the links that lie in it.

use bcs_fabric::SHARED_MEMORY_NAME;
use bcs_link::{LinkEnd, LinkLayout, SignalWords};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

/// The mapping.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, and any of its threads may use and unmap it; what lies in it is
// made for several processes.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and the ends that lie in it hold it.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert_eq!(unmapped, Ok(()), "a mapping that was made can be unmapped");
    }
}

/// Room for the links of a network.
#[derive(Clone, Debug)]
pub struct LinkMemory {
    mapping: Arc<Mapping>,
    file: Arc<OwnedFd>,
    layout: LinkLayout,
    /// From the beginning of a link to that of the next one.
    stride: usize,
}

impl LinkMemory {
    /// Maps room for so many links.
    ///
    /// # Errors
    /// The system has no memory, no addresses or no descriptor for it.
    pub fn map(links: usize, layout: LinkLayout) -> io::Result<Self> {
        Self::map_with(links, layout, 0)
    }

    /// Maps room for so many links, with so many bytes (whole pages) behind the rings of each.
    ///
    /// # Errors
    /// As [`LinkMemory::map`].
    pub fn map_with(links: usize, layout: LinkLayout, behind: usize) -> io::Result<Self> {
        let stride = layout.bytes() + behind;
        let bytes = links.max(1).checked_mul(stride).ok_or(io::ErrorKind::OutOfMemory)?;
        let file = memfd_create(SHARED_MEMORY_NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, bytes as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address of the system's choice, which nothing else uses.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, protection, flags, &file, 0) }?;
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let mapping = Mapping { base, bytes };
        // SAFETY: the whole of the mapping that was just made, of whose contents the advice changes nothing.
        unsafe { madvise(base.as_ptr().cast(), bytes, Advice::LinuxDontDump) }?;
        Ok(Self { mapping: Arc::new(mapping), file: Arc::new(file), layout, stride })
    }

    /// The file.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Bytes from the beginning of a link to that of the next one.
    pub fn stride_bytes(&self) -> usize {
        self.stride
    }

    /// The layout of each link.
    pub fn layout(&self) -> LinkLayout {
        self.layout
    }

    /// Where a link begins. What lies behind the rings is the caller's.
    ///
    /// # Panics
    /// The memory has no such link.
    pub fn address(&self, index: usize) -> NonNull<u8> {
        let at = index * self.stride;
        assert!(at + self.stride <= self.mapping.bytes, "the memory has no link {index}");
        // SAFETY: the whole of the link's range lies in the mapping.
        unsafe { self.mapping.base.add(at) }
    }

    /// The end of a link; with its signal, if there is room for one behind it.
    ///
    /// # Panics
    /// The memory has no such link.
    pub fn attach(&self, index: usize) -> OwnedEnd {
        // SAFETY: the range lies in the mapping, which the end holds; it began as zeros, and is used for this
        // link alone.
        let mut end = unsafe { LinkEnd::attach(self.address(index), self.layout) };
        let signal_at = self.layout.signal_at();
        if self.stride >= signal_at + size_of::<SignalWords>() {
            // SAFETY: the signal lies in the link's range of the mapping, at a page.
            end = unsafe { end.with_signal(self.address(index).add(signal_at).cast()) };
        }
        OwnedEnd { end, _mapping: self.mapping.clone() }
    }
}

/// An end of a link that keeps its memory.
#[derive(Debug)]
pub struct OwnedEnd {
    /// The end.
    pub end: LinkEnd,
    _mapping: Arc<Mapping>,
}
