//! Tests with real mappings of this process, and a registrar that counts.

mod caching;
mod changes;
mod mappings;
mod processes;
mod sharing;
mod threads;

use crate::{Held, Limits, Registrar, RegistrationCache, Statistics};
use std::ffi::c_void;
use std::ops::Range;
use std::process::Command;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

const LIMITS: Limits = Limits { registrations: 64, bytes: 1 << 30 };

fn page() -> usize {
    rustix::param::page_size()
}

/// What is written into a page says when that was: a region of older pages knows an older one.
fn next_generation() -> u64 {
    static GENERATION: AtomicU64 = AtomicU64::new(1);
    GENERATION.fetch_add(1, Ordering::Relaxed)
}

/// Registers nothing: it reads which generation of memory there is.
#[derive(Debug, Default)]
struct Recorder {
    registered: AtomicUsize,
    open: Arc<AtomicUsize>,
    refuses: AtomicBool,
}

#[derive(Debug)]
struct Recorded {
    generation: u64,
    open: Arc<AtomicUsize>,
}

#[derive(Debug, PartialEq, Eq)]
struct Refused;

impl Registrar for Recorder {
    type Region = Recorded;
    type Error = Refused;

    unsafe fn register(&self, memory: NonNull<u8>, bytes: usize) -> Result<Recorded, Refused> {
        if self.refuses.load(Ordering::Relaxed) {
            return Err(Refused);
        }
        assert!(memory.addr().get().is_multiple_of(page()) && bytes.is_multiple_of(page()));
        for offset in (0..bytes).step_by(page()) {
            // To pin a page for a card that writes is to write it. The value stays, whoever else writes.
            // SAFETY: the range is mapped.
            unsafe {
                AtomicU64::from_ptr(memory.add(offset).cast().as_ptr()).fetch_add(0, Ordering::Relaxed)
            };
        }
        self.registered.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the range is mapped.
        let generation = unsafe { memory.cast::<u64>().read_volatile() };
        Ok(Recorded { generation, open: self.open.clone() })
    }
}

impl Drop for Recorded {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

type Cache = RegistrationCache<Recorder>;

fn cache_of(limits: Limits) -> (Cache, Arc<AtomicUsize>) {
    let recorder = Recorder::default();
    let open = recorder.open.clone();
    (RegistrationCache::new(recorder, limits), open)
}

/// A place in memory that nobody else gets when it is unmapped: the kernel puts mappings elsewhere.
#[derive(Clone, Debug)]
struct Place(Range<usize>);

impl Place {
    fn of_pages(pages: usize) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0x2000_0000_0000);
        let start = NEXT.fetch_add(1 << 30, Ordering::Relaxed);
        Self(start..start + pages * page())
    }

    /// A place that has memory.
    fn mapped(pages: usize) -> Self {
        let place = Self::of_pages(pages);
        assert!(place.map());
        place
    }

    fn at(&self, offset: usize) -> NonNull<u8> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(self.0.start + offset)).unwrap()
    }

    fn pages(&self, pages: Range<usize>) -> Self {
        Self(self.0.start + pages.start * page()..self.0.start + pages.end * page())
    }

    fn map_with(&self, flags: i32, file: i32) -> bool {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: nobody uses the place besides the test that has it.
        let mapped =
            unsafe { libc::mmap(self.at(0).as_ptr().cast(), self.0.len(), protection, flags, file, 0) };
        mapped.addr() == self.0.start
    }

    /// Maps memory where there is none.
    fn map(&self) -> bool {
        self.map_with(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE, -1)
    }

    fn unmap(&self) {
        // SAFETY: nobody uses the place besides the test that has it.
        assert_eq!(unsafe { libc::munmap(self.at(0).as_ptr().cast(), self.0.len()) }, 0);
    }

    fn advise(&self, advice: i32) {
        // SAFETY: as for `unmap`.
        assert_eq!(unsafe { libc::madvise(self.at(0).as_ptr().cast(), self.0.len(), advice) }, 0);
    }

    /// Changes the size, at the place or at another one.
    fn remap(&self, bytes: usize, to: Option<&Place>) {
        let flags = if to.is_some() { libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED } else { 0 };
        let new = to.map_or(null_mut::<c_void>(), |to| to.at(0).as_ptr().cast());
        // SAFETY: as for `unmap`.
        let moved = unsafe { libc::mremap(self.at(0).as_ptr().cast(), self.0.len(), bytes, flags, new) };
        assert_eq!(moved.addr(), to.unwrap_or(self).0.start);
    }

    fn protect(&self, protection: i32) {
        // SAFETY: as for `unmap`.
        assert_eq!(unsafe { libc::mprotect(self.at(0).as_ptr().cast(), self.0.len(), protection) }, 0);
    }

    /// Writes a new generation into all pages.
    fn renew(&self) -> u64 {
        let generation = next_generation();
        for offset in (0..self.0.len()).step_by(page()) {
            // SAFETY: as for `unmap`, and it is mapped.
            unsafe { self.at(offset).cast::<u64>().write_volatile(generation) };
        }
        generation
    }

    fn hold<R: Registrar>(&self, cache: &RegistrationCache<R>) -> Result<Held<R::Region>, R::Error> {
        // SAFETY: it is mapped, and the test changes it before or afterwards.
        unsafe { cache.hold(self.at(0), self.0.len()) }
    }

    /// The generation that the cache's registration is of.
    fn generation(&self, cache: &Cache) -> u64 {
        let held = self.hold(cache).unwrap();
        assert!(held.range().start <= self.0.start && self.0.end <= held.range().end);
        held.generation
    }
}

/// Hits, misses, and those misses that were not kept.
fn calls(cache: &Cache) -> (u64, u64, u64) {
    let Statistics { hits, misses, uncached, .. } = cache.statistics();
    (hits, misses, uncached)
}

/// How many mappings at a place are watched, as the kernel tells.
fn watched_mappings(place: &Place) -> usize {
    let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let (mut is_there, mut watched) = (false, 0);
    for line in mappings.lines() {
        let first = line.split_whitespace().next().unwrap_or("");
        if let Some((start, end)) = first.split_once('-') {
            let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).unwrap());
            is_there = start < place.0.end && place.0.start < end;
        }
        let is_watched = line.starts_with("VmFlags:") && line.split(' ').any(|flag| flag == "uw");
        watched += usize::from(is_there && is_watched);
    }
    watched
}

/// Runs an ignored test in a process of its own. What it printed.
fn run_alone(test: &str, configure: impl FnOnce(&mut Command)) -> std::io::Result<String> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    configure(&mut command);
    let output = command.output()?;
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{test}: {text}");
    Ok(text)
}
