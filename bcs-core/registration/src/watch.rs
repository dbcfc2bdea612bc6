//! Watching memory: a userfaultfd, and the thread that reads it.
//!
//! ```text
//!   a thread of the program            watcher                          hold
//!   munmap: a change is under way
//!     pages and mapping go
//!     event ──────────────────────────► phase becomes odd
//!     waits                             reads the event                 is a change under way? then not yet
//!     goes on, no change under way ◄──┘ marks entries stale             is the phase odd? then not yet
//!                                       phase becomes even              looks at marks
//! ```
//!
//! [`Watch::settle`] asks in this order. If no change is under way, every event of a change that began before
//! the question has been read, so the phase was odd before. If the phase is even then, its marks are made.
//! The kernel begins a change before it touches the mapping, so this also holds for a thread that gets the
//! place of an unmapped range while munmap has not returned yet.
//!
//! **What is watched** is all of the mapping in which an entry lies. To watch a part would split the mapping
//! for the kernel, and the program's mremap(2) of it would fail. For the same reason a mapping is watched no
//! longer as a whole, when nothing in it is watched for an entry. What an entry lies in may change later: it
//! is split, grows, or goes in part. So what is there is asked for again when the entry goes, and a mapping
//! stays watched if any of it is, or was, watched for an entry that stays. The heap of brk(2) and the stack
//! are watched by parts: they are not moved, and a heap that is watched at its end does not grow as one.
//!
//! The watcher decides so about what has moved, without the cache's lock. Meanwhile [`Shared::moves`] is odd,
//! and who registers an entry asks before and after whether that was so: then the entry is not kept.
//!
//! **What the watcher must not do** is wait for a thread that changes memory, or change memory: then nobody
//! would read its event. So it takes no lock, and neither allocates nor frees: it polls, reads into its
//! stack, writes marks, and takes moved memory out of the watch. Rust's own work at the beginning of a thread
//! is done before anything is watched, and that at its end when the watcher has closed the userfaultfd.

use crate::abi::{self, Change, Message};
use crate::fork::{self, ClosedInChildren};
use crate::mappings::Mappings;
use crate::marks::Marks;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fs::{Mode, OFlags};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle, sleep, yield_now};
use std::time::Duration;

/// Why no registration is kept.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The system refuses what is needed to watch memory.
    #[error("{call} failed: {source}; registrations are not kept")]
    Call {
        /// What was called.
        call: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// There are too many caches in this process.
    #[error("this process has too many caches of registrations; those of the last are not kept")]
    TooManyCaches,
}

/// The watcher's stack: it has some messages there, and calls little. Rust makes it larger where the system
/// asks for that.
const STACK_BYTES: usize = 64 << 10;

/// How many messages are read at once.
const MESSAGES: usize = 16;

/// How often [`Watch::settle`] looks again at a change that is under way. It takes a few switches of threads,
/// more where many wait for processors, and for ever when a debugger stops its thread.
const PATIENCE: u32 = 5000;

/// The same after it has once been in vain.
const LITTLE_PATIENCE: u32 = 16;

/// So many of the looks only yield to another thread. The others sleep.
const YIELDS: u32 = 100;

const NAP: Duration = Duration::from_micros(20);

/// A mapping of more bytes stays watched when no entry lies in it any more. To end that takes 22 us for each
/// MB of small pages, in which nothing else in the process can map or unmap.
const MOST_BYTES_TO_LEAVE: usize = 16 << 20;

/// What the watcher and those who hold have in common.
#[derive(Debug)]
struct Shared {
    marks: Marks,
    /// Odd while the watcher may have read an event whose marks are not made yet.
    phase: AtomicU64,
    /// Odd while the watcher may take moved memory out of the watch.
    moves: AtomicU64,
    mappings: Mappings,
    has_to_stop: AtomicBool,
}

/// Memory that is watched.
#[derive(Debug)]
pub(crate) struct Watch {
    shared: Arc<Shared>,
    /// The watcher owns it, and closes it when it has been told to stop.
    userfault: RawFd,
    /// Wakes the watcher, which polls it.
    stop: Arc<OwnedFd>,
    watcher: JoinHandle<()>,
    pagemap: OwnedFd,
    patience: AtomicU32,
    /// The number of forks before this process.
    forks: u32,
    page_bytes: usize,
}

fn failed(call: &'static str) -> impl Fn(rustix::io::Errno) -> WatchError {
    move |source| WatchError::Call { call, source: source.into() }
}

impl Watch {
    /// Starts the watcher. Nothing is watched yet.
    pub fn start(entries: usize) -> Result<Self, WatchError> {
        let userfault = abi::open().map_err(|source| WatchError::Call { call: "userfaultfd", source })?;
        let in_children = fork::close_in_children(userfault.as_fd()).ok_or(WatchError::TooManyCaches)?;
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(failed("eventfd"))?);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let pagemap = rustix::fs::open("/proc/self/pagemap", flags, Mode::empty());
        let pagemap = pagemap.map_err(failed("opening /proc/self/pagemap"))?;
        let mappings = Mappings::open().map_err(failed("opening /proc/self/maps"))?;
        let shared = Arc::new(Shared {
            marks: Marks::new(entries),
            phase: AtomicU64::new(0),
            moves: AtomicU64::new(0),
            mappings: mappings.ok_or(WatchError::TooManyCaches)?,
            has_to_stop: AtomicBool::new(false),
        });
        let is_ready = Arc::new(Barrier::new(2));
        let watcher = Watcher { shared: shared.clone(), in_children, userfault, stop: stop.clone() };
        let userfault = watcher.userfault.as_raw_fd();
        let run = {
            let is_ready = is_ready.clone();
            move || {
                is_ready.wait();
                watcher.run();
            }
        };
        let spawned = without_signals(|| {
            Builder::new().name("bcs-unmap-watch".to_owned()).stack_size(STACK_BYTES).spawn(run)
        });
        let watcher = spawned.map_err(|source| WatchError::Call { call: "starting a thread", source })?;
        is_ready.wait();
        let patience = AtomicU32::new(PATIENCE);
        let page_bytes = rustix::param::page_size();
        Ok(Self { shared, userfault, stop, watcher, pagemap, patience, forks: fork::forks(), page_bytes })
    }

    fn userfault(&self) -> BorrowedFd<'_> {
        // SAFETY: the watcher closes it when it has been told to stop, and `stop` takes this value.
        unsafe { BorrowedFd::borrow_raw(self.userfault) }
    }

    pub fn marks(&self) -> &Marks {
        &self.shared.marks
    }

    /// Whether this process is a child of the one that watches.
    #[inline]
    pub fn is_in_child(&self) -> bool {
        self.forks != fork::forks()
    }

    /// Waits until marks are made for all changes that began before this call, as the module describes. False
    /// when that takes too long: marks may be missing.
    #[inline]
    pub fn settle(&self) -> bool {
        if abi::is_quiet(self.userfault()) {
            // What the kernel has said comes before what is read now.
            fence(Ordering::SeqCst);
            if self.shared.phase.load(Ordering::Acquire).is_multiple_of(2) {
                return true;
            }
        }
        self.settle_patiently()
    }

    #[cold]
    fn settle_patiently(&self) -> bool {
        let patience = self.patience.load(Ordering::Relaxed);
        let mut looks = 0;
        let mut waits_while = |is_waiting: &dyn Fn() -> bool| {
            while is_waiting() {
                if looks == patience {
                    self.patience.store(LITTLE_PATIENCE, Ordering::Relaxed);
                    return false;
                }
                give_way(looks);
                looks += 1;
            }
            true
        };
        if !waits_while(&|| !abi::is_quiet(self.userfault())) {
            return false;
        }
        fence(Ordering::SeqCst);
        let phase = self.shared.phase.load(Ordering::Acquire);
        let is_same = || self.shared.phase.load(Ordering::Acquire) == phase;
        if !phase.is_multiple_of(2) && !waits_while(&is_same) {
            return false;
        }
        self.patience.store(PATIENCE, Ordering::Relaxed);
        true
    }

    /// Gives an entry its range, and watches all of the mappings in which it lies. False if these cannot be
    /// watched: then the entry has no range. Under the cache's lock.
    pub fn register(&self, entry: usize, range: &Range<usize>) -> bool {
        let Some((watched, room)) = self.mappings_of(range) else {
            return false;
        };
        let moves = self.shared.moves.load(Ordering::SeqCst);
        self.marks().set(entry, range, &watched);
        fence(Ordering::SeqCst);
        let register = |part: &Range<usize>| abi::register(self.userfault(), part);
        if as_a_whole(&self.shared.mappings, &watched, room, register).is_err() {
            self.marks().clear(entry);
            return false;
        }
        fence(Ordering::SeqCst);
        let is_kept = moves.is_multiple_of(2) && moves == self.shared.moves.load(Ordering::SeqCst);
        if !is_kept {
            self.unregister(entry);
        }
        is_kept
    }

    /// The mappings in which a range lies, but of heap and stack only what is in the range; and to where they
    /// can grow in place. None where some of it is not mapped.
    fn mappings_of(&self, range: &Range<usize>) -> Option<(Range<usize>, usize)> {
        let mapping_at = |address: usize| {
            let found = self.shared.mappings.with_room(address);
            found.filter(|(mapping, _)| mapping.range.start <= address)
        };
        let (first, room) = mapping_at(range.start)?;
        let start = if first.is_of_system { range.start } else { first.range.start };
        let (last, room) =
            if range.end <= first.range.end { (first, room) } else { mapping_at(range.end - 1)? };
        let (end, room) = if last.is_of_system { (range.end, range.end) } else { (last.range.end, room) };
        Some((start..end, room))
    }

    /// Takes an entry's range from its mark, and from the watch those mappings in which nothing is watched
    /// for another entry. Under the cache's lock.
    pub fn unregister(&self, entry: usize) {
        let marks = self.marks();
        let parts = marks.still_mapped(entry);
        marks.clear(entry);
        for part in parts {
            marks.for_each_free(part, |free| self.leave(&free));
        }
    }

    /// Takes the mappings of a range from the watch, which is watched for no entry. That fails for what has
    /// been unmapped or moved meanwhile.
    fn leave(&self, range: &Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let Some((mapping, room)) = self.shared.mappings.with_room(at) else {
                return;
            };
            let whole = mapping.range;
            if whole.start >= range.end {
                return;
            }
            at = whole.end;
            if mapping.is_of_system {
                let inside = whole.start.max(range.start)..whole.end.min(range.end);
                let _ = abi::unregister(self.userfault(), &inside);
            } else if whole.len() <= MOST_BYTES_TO_LEAVE && !self.marks().has_watched(&(whole.start..room)) {
                let leave = |part: &Range<usize>| abi::unregister(self.userfault(), part);
                let _ = as_a_whole(&self.shared.mappings, &whole, room, leave);
            }
        }
    }

    /// Whether all pages of a range are there and belong to this process alone. Pages of shared memory can be
    /// dropped by its file, which no event tells.
    pub fn is_private(&self, range: &Range<usize>) -> bool {
        const PRESENT: u64 = 1 << 63;
        const OF_FILE: u64 = 1 << 61;
        let mut pages = [0_u64; 512];
        let mut at = range.start;
        while at < range.end {
            let wanted = ((range.end - at) / self.page_bytes).min(pages.len());
            let place = at / self.page_bytes * size_of::<u64>();
            // SAFETY: words are as good as any bytes, and there are at least so many.
            let bytes = unsafe {
                std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast::<u8>(), wanted * size_of::<u64>())
            };
            let is_read = rustix::io::pread(&self.pagemap, &mut *bytes, place as u64) == Ok(bytes.len());
            let is_own = |page: &u64| page & (PRESENT | OF_FILE) == PRESENT;
            if !is_read || !pages[..wanted].iter().all(is_own) {
                return false;
            }
            at += wanted * self.page_bytes;
        }
        true
    }

    /// Whether the first page of a range is there and belongs to a file: a first look before room is made.
    pub fn is_of_file(&self, address: usize) -> bool {
        let mut page = [0; size_of::<u64>()];
        let place = address / self.page_bytes * size_of::<u64>();
        let is_read = rustix::io::pread(&self.pagemap, &mut page, place as u64) == Ok(page.len());
        is_read && u64::from_ne_bytes(page) >> 61 & 0b101 == 0b101
    }

    /// Ends the watcher. No entry's memory is watched any more.
    pub fn stop(self) {
        self.shared.has_to_stop.store(true, Ordering::Release);
        // The counter of an eventfd that nobody reads takes this one.
        let _ = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        // The watcher does not panic; if it did, its descriptor is closed all the same.
        let _ = self.watcher.join();
    }
}

/// Watches mappings or leaves them, and what the last one has grown by meanwhile: there was nothing up to
/// `room`.
fn as_a_whole(
    mappings: &Mappings,
    range: &Range<usize>,
    room: usize,
    call: impl Fn(&Range<usize>) -> io::Result<()>,
) -> io::Result<()> {
    call(range)?;
    if room > range.end {
        let behind = mappings.at_or_behind(range.end).map(|mapping| mapping.range);
        if let Some(grown) = behind.filter(|behind| behind.start <= range.end) {
            // Something else may have come there, which is not watched.
            let _ = call(&(range.end..grown.end.min(room)));
        }
    }
    Ok(())
}

/// Lets others run before one looks again.
fn give_way(looks: u32) {
    if looks < YIELDS {
        yield_now();
    } else {
        sleep(NAP);
    }
}

/// Calls with all signals blocked, which a new thread inherits: the program's handlers do not run there.
fn without_signals<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals are plain words, and are filled before they are read.
    unsafe {
        let (mut all, mut before) = std::mem::zeroed::<(libc::sigset_t, libc::sigset_t)>();
        libc::sigfillset(&mut all);
        let is_blocked = libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) == 0;
        let result = call();
        if is_blocked {
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        }
        result
    }
}

/// What the thread has. It is dropped in this order: children do not close a descriptor that is closed.
struct Watcher {
    in_children: ClosedInChildren,
    userfault: OwnedFd,
    shared: Arc<Shared>,
    stop: Arc<OwnedFd>,
}

impl Watcher {
    fn run(self) {
        while !self.shared.has_to_stop.load(Ordering::Acquire) {
            let mut ready =
                [PollFd::new(&self.userfault, PollFlags::IN), PollFd::new(&*self.stop, PollFlags::IN)];
            // It fails without memory in the kernel. Then the next round does what is to be done.
            let _ = poll(&mut ready, None);
            self.handle_events();
        }
        // Nothing new is watched. What began before ends now, or at the latest with the descriptor.
        for looks in 0..PATIENCE {
            if abi::is_quiet(&self.userfault) {
                break;
            }
            self.handle_events();
            give_way(looks);
        }
        drop(self.in_children);
        drop(self.userfault);
    }

    fn handle_events(&self) {
        loop {
            let mut messages = [Message::default(); MESSAGES];
            // An event that is read lets its thread go on, so the phase comes before and marks before the
            // next.
            self.shared.phase.fetch_add(1, Ordering::SeqCst);
            let read = abi::read(&self.userfault, &mut messages);
            for change in messages[..read].iter().filter_map(Message::change) {
                self.handle_change(change);
            }
            self.shared.phase.fetch_add(1, Ordering::SeqCst);
            if read < MESSAGES {
                return;
            }
        }
    }

    fn handle_change(&self, change: Change) {
        let marks = &self.shared.marks;
        match change {
            Change::Unmapped(range) => marks.invalidate(&range, true),
            Change::Dropped(range) => marks.invalidate(&range, false),
            Change::Moved { from, to } => {
                marks.invalidate(&from, false);
                marks.invalidate(&to, false);
                self.shared.moves.fetch_add(1, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                self.leave_moved(to.start);
                self.shared.moves.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Takes what has come to a place from the watch, as a whole: it may have grown, too, and may be one with
    /// a mapping that was there before.
    fn leave_moved(&self, address: usize) {
        let Some((mapping, room)) = self.shared.mappings.with_room(address) else {
            return;
        };
        let whole = mapping.range;
        let is_there = whole.contains(&address) && !mapping.is_of_system;
        if is_there
            && whole.len() <= MOST_BYTES_TO_LEAVE
            && !self.shared.marks.has_fresh(&(whole.start..room))
        {
            let leave = |part: &Range<usize>| abi::unregister(&self.userfault, part);
            let _ = as_a_whole(&self.shared.mappings, &whole, room, leave);
        }
    }
}
