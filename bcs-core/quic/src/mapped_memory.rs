//! Global memory as one mapping of its own: what a job's NIC offers to the other nodes.
//!
//! Invariant: it takes up what was ever written of it, in pages of the system, however large it is; what was
//! never written reads as zero. No core dump holds it: most of it is other nodes' bytes, and it may be larger
//! than a disk.

use bcs_core::global_memory::{FlatMemory, GlobalVariable};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::ptr::NonNull;

/// Why memory cannot be mapped.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot map {size_bytes} bytes of global memory, of which only what is used takes up memory: {error}; \
     raise the limits on address space and data (ulimit -v, ulimit -d), or let the system overcommit (sysctl vm.overcommit_memory)"
)]
pub struct MapError {
    /// How much was wanted.
    pub size_bytes: u64,
    /// What the system says.
    pub error: io::Error,
}

/// Zeroed memory in one mapping, without reserve: its pages come with the first write.
pub type MappedMemory = FlatMemory<Mapping>;

/// The mapping of a [`MappedMemory`], which unmaps itself.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to the process, and any of its threads may unmap it.
unsafe impl Send for Mapping {}

/// Maps memory of at least `size_bytes` (rounded up to a multiple of 8).
///
/// # Errors
/// The system refuses so much address space.
pub fn map_memory(size_bytes: u64) -> Result<MappedMemory, MapError> {
    let refused = |error: rustix::io::Errno| MapError { size_bytes, error: error.into() };
    let rounded = size_bytes.max(1).checked_next_multiple_of(GlobalVariable::BYTES);
    let bytes = rounded.and_then(|bytes| usize::try_from(bytes).ok());
    let bytes = bytes.ok_or_else(|| refused(rustix::io::Errno::NOMEM))?;
    let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: a new mapping at an address of the system's choice, which nothing else uses.
    let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) };
    let base = NonNull::new(base.map_err(refused)?.cast::<u8>());
    let mapping = Mapping { base: base.ok_or_else(|| refused(rustix::io::Errno::NOMEM))?, bytes };
    // SAFETY: the whole of the mapping that was just made. The advice changes nothing of what it holds; a
    // system that does not take it dumps more than it need.
    let _ = unsafe { madvise(mapping.base.as_ptr().cast(), bytes, Advice::LinuxDontDump) };
    // SAFETY: the mapping is readable, writable, of zeros and at the start of a page; it stays as long as its
    // owner, and nothing else knows its address.
    Ok(unsafe { FlatMemory::from_raw(mapping.base, bytes as u64, mapping) })
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody uses it after it.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert_eq!(unmapped, Ok(()), "a mapping that was made can be unmapped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::global_memory::{GlobalAddress, GlobalMemory};

    /// How much of a memory is in use, in bytes: whole pages.
    fn resident_bytes(memory: &MappedMemory) -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let size = format!(" {} kB", memory.size_bytes() >> 10);
        let mapping = smaps.lines().skip_while(|line| !(line.starts_with("Size:") && line.ends_with(&size)));
        let rss =
            mapping.filter_map(|line| line.strip_prefix("Rss:")?.trim().strip_suffix("kB")).next().unwrap();
        rss.trim().parse::<usize>().unwrap() << 10
    }

    #[test]
    fn mapped_memory_takes_up_what_was_written_of_it() {
        const SIZE_BYTES: u64 = 64 << 30;
        let mut memory = map_memory(SIZE_BYTES).unwrap();
        let last = GlobalVariable::at(GlobalAddress(SIZE_BYTES - 8)).unwrap();
        assert_eq!(memory.load(last), Ok(0));
        memory.store(last, 7).unwrap();
        memory.write(GlobalAddress(1 << 30), &[1; 4096]).unwrap();
        assert_eq!(memory.load(last), Ok(7));
        // With huge pages a touched page may be of 2 MB.
        assert!(resident_bytes(&memory) <= 4 * (2 << 20), "pages come with the first write only");
    }

    #[test]
    fn more_than_there_is_address_space_for_is_refused_with_the_size_and_what_to_do() {
        for size_bytes in [1 << 60, u64::MAX] {
            let refused = map_memory(size_bytes).unwrap_err().to_string();
            assert!(refused.contains(&size_bytes.to_string()), "{refused}");
            assert!(refused.contains("ulimit -v"), "{refused}");
        }
    }
}
