//! Registrations of a program's memory with a network card, kept for the next use of the same memory.
//!
//! A network card reads and writes only memory that is registered with it, and to register is dear: the
//! system pins the pages and the card learns where they are. So a registration is kept after its use, and
//! found again by its addresses. But a program may unmap its memory and map other memory in the same place.
//! The card would then go on with the old pages, without an error anywhere. A [`RegistrationCache`] keeps
//! registrations only of memory that it watches: it is told of every `munmap`, `brk`, `mremap`, `madvise` and
//! `mmap` that takes pages away from there, and does not find the registration any more.
//!
//! **How.** Linux tells changes of mappings by userfaultfd(2), in memory that is registered with one. Here
//! memory is registered for write protection, and nothing is ever protected: so no access waits, and only the
//! events come. The thread that changes memory waits, in the kernel, until its event has been read. A thread
//! of the cache, the **watcher**, reads events; it starts with the first registration that may be kept, and
//! ends with the cache.
//!
//! # What holds
//!
//! 1. **No stale registration is found.** If memory was unmapped, moved or dropped before
//!    [`RegistrationCache::hold`] is called, no registration of the old pages is found, even while the call
//!    that unmaps has not returned yet in another thread. `watch` says why.
//! 2. **Nothing waits in a circle.** A thread that changes watched memory waits for the watcher, and the
//!    watcher for nobody: it takes no lock, and neither allocates nor frees. So a thread may change memory
//!    wherever it is: in a registrar, where a registration is closed, in a handler of a signal, and even with
//!    the cache's lock. All the same no registrar is called with the lock, and no registration is closed:
//!    they may call the cache.
//! 3. **What is held stays.** A registration whose memory changes while it is held is not found again, and is
//!    closed by its last holder. One that is not held is closed by the next call of `hold`.
//! 4. **Limits hold.** What is kept is within [`Limits`]; the entry goes whose last use is the longest ago.
//!    If what is held leaves no room, or one range is too large, the registration is made for this use alone:
//!    it is **uncached**, and its last holder closes it. It counts against no limit, and neither do held ones
//!    whose memory has changed.
//! 5. **A child of fork(2)** gets its own registrations, uncached. Its parent's are neither found nor closed
//!    by the cache there. A child must not drop what its parent holds, as with any use of the card.
//!
//! # What is not kept
//!
//! - Memory of files (`.data` of a program, too), of System V, of devices: Linux does not watch it. Nor is a
//!   range kept that lies in such memory only in part.
//! - Shared memory: `ftruncate` and `fallocate` drop its pages without an event. So each page of a range that
//!   is to be kept is looked up in `/proc/self/pagemap`. [`RegistrationCache::with_shared_memory`] leaves
//!   that out.
//! - Memory that somebody else watches, such as another cache, libfabric's own
//!   (`FI_MR_CACHE_MONITOR=userfaultfd`) or a garbage collector.
//! - Anything where the system has no userfaultfd: before Linux 5.19, or in a container that forbids it
//!   ([`RegistrationCache::refusal`]).
//!
//! # Limits of what Linux tells
//!
//! Two calls take private memory away without an event: `shmat` with `SHM_REMAP` over it, and `madvise` with
//! `MADV_GUARD_INSTALL`. A program that does so to memory of which it has sent, and sends from there again,
//! must not use the cache. `MADV_DONTNEED` and its like tell before they drop the pages, so no registration
//! may be made meanwhile: the safety section of `hold` says so.
//!
//! # What it costs the program
//!
//! All of the mapping is watched in which a registration lies, so that the kernel does not split it: a
//! program can move, grow and shrink it by `mremap` as without the cache. Each change of its memory, even
//! where nothing is registered, takes two switches of threads more. A change of another mapping costs
//! nothing. When nothing is registered in a mapping any more, it is watched no longer; but one of more than
//! 16 MB stays watched until it is unmapped or the cache ends, as 22 us for each MB of small pages would be
//! too long. So does what is left of a mapping that grew when all that was registered of it has been
//! unmapped.
//!
//! The heap of `brk` and the stack of the first thread are watched by parts, each of which is a mapping for
//! the kernel (`vm.max_map_count`). `mremap` of memory that `brk` gave is not expected.
//!
//! What a program can notice all the same:
//!
//! - **Its own userfaultfd**, of a garbage collector, a checkpoint or a library: `UFFDIO_REGISTER` of memory
//!   that is watched fails with EBUSY, and of a mapping the whole is watched. Such a program must not use the
//!   cache for that memory. If it comes first, nothing is kept there.
//! - **Mappings that it joins.** Linux does not join a watched mapping with one that is not. `mremap` over
//!   both then fails with EFAULT, where without the cache it would work: over two mappings side by side, over
//!   a part that was unmapped or mapped over and is used again, over a part that had other rights
//!   (`mprotect`) while a registration came or went. If nothing has been written into the new part before it
//!   is registered, they are joined then.
//! - **A move of several mappings at once** (`mremap` of the same size, of Linux 6.17) fails with EFAULT if
//!   one of them is watched, as it did before 6.17.
//! - `uw` among the flags in `/proc/self/smaps`. Names and rights stay as they are.
//! - **Transparent huge pages** stay, and new ones come where memory is first used. But khugepaged makes none
//!   of watched memory some pages of which have never been used.
//!
//! A child of `fork` has its memory unwatched. `mprotect`, `madvise`, `mlock` and `MAP_FIXED` work as without
//! the cache.
//!
//! | file | holds |
//! |---|---|
//! | `cache` | the calls |
//! | `limits` | how much is kept |
//! | `table` | the entries: which one covers a range, which one goes |
//! | `watch` | the userfaultfd and the watcher, and why nothing stale is found |
//! | `marks` | what the watcher says of entries |
//! | `mappings` | where a mapping begins and ends |
//! | `fork` | what a child must not have |
//! | `abi` | the kernel's structures and operations |

mod abi;
mod cache;
mod fork;
mod limits;
mod mappings;
mod marks;
mod table;
#[cfg(test)]
mod tests;
mod watch;

pub use cache::{Held, Registrar, RegistrationCache, Statistics};
pub use limits::Limits;
pub use watch::WatchError;
