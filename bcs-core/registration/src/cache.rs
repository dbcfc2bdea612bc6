//! The cache: finding a registration, making one, letting it go.

use crate::limits::Limits;
use crate::table::{Entry, Removed, Table};
use crate::watch::{Watch, WatchError};
use std::fmt;
use std::mem::forget;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Registers memory with a network card. A cache calls it, from the threads that call the cache, and with no
/// lock taken: it may map and unmap memory, and use the cache itself.
pub trait Registrar {
    /// A registration, which ends when this is dropped. The last holder drops it, or a later call of the
    /// cache.
    type Region;

    /// Why memory is not registered.
    type Error;

    /// Registers a range of whole pages.
    ///
    /// # Errors
    /// The card, or the system, refuses it.
    ///
    /// # Safety
    /// The range is mapped. It may be unmapped before the region is dropped; then nothing is sent from it or
    /// received into it any more.
    unsafe fn register(&self, memory: NonNull<u8>, bytes: usize) -> Result<Self::Region, Self::Error>;
}

/// What a cache has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Calls that found a registration.
    pub hits: u64,
    /// Calls that found none.
    pub misses: u64,
    /// Those misses whose registrations were made for their holders alone.
    pub uncached: u64,
    /// Registrations that made room for others.
    pub evictions: u64,
    /// Registrations whose memory was unmapped, dropped or moved.
    pub invalidations: u64,
}

#[derive(Debug, Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    uncached: AtomicU64,
    evictions: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A registration that stays as long as it is held, whatever happens to its memory.
#[derive(Debug)]
pub struct Held<Region>(Arc<Entry<Region>>);

impl<Region> Held<Region> {
    /// The addresses that the registration covers: whole pages, and those asked for among them. (Of a range
    /// of no bytes, that range.)
    pub fn range(&self) -> Range<usize> {
        self.0.range.clone()
    }
}

impl<Region> Deref for Held<Region> {
    type Target = Region;

    fn deref(&self) -> &Region {
        &self.0.region
    }
}

/// Registrations, kept after their use. The crate's documentation says what it promises.
pub struct RegistrationCache<R: Registrar> {
    registrar: R,
    limits: Limits,
    keeps_shared: bool,
    page_bytes: usize,
    watch: OnceLock<Result<Watch, WatchError>>,
    table: Mutex<Table<R::Region>>,
    counts: Counts,
}

impl<R: Registrar + fmt::Debug> fmt::Debug for RegistrationCache<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statistics = self.statistics();
        let mut fields = formatter.debug_struct("RegistrationCache");
        fields.field("registrar", &self.registrar).field("limits", &self.limits);
        fields.field("statistics", &statistics).finish_non_exhaustive()
    }
}

impl<R: Registrar> RegistrationCache<R> {
    /// A cache that keeps registrations of a process's own memory: anonymous private mappings. It starts its
    /// watcher with the first of them.
    pub fn new(registrar: R, limits: Limits) -> Self {
        let registrations = limits.registrations.min(Limits::MOST_REGISTRATIONS);
        let limits = Limits { registrations, ..limits };
        Self {
            registrar,
            limits,
            keeps_shared: false,
            page_bytes: rustix::param::page_size(),
            watch: OnceLock::new(),
            table: Mutex::new(Table::new(limits)),
            counts: Counts::default(),
        }
    }

    /// A cache that also keeps registrations of shared memory (`memfd_create`, `shm_open`, shared anonymous
    /// mappings), and of memory whose pages are not there after they were registered.
    ///
    /// # Safety
    /// No file whose memory the cache is asked for is truncated (`ftruncate`), and no hole is made in it
    /// (`fallocate`), by any process, while the cache is there: that changes memory and is told to nobody.
    pub unsafe fn with_shared_memory(registrar: R, limits: Limits) -> Self {
        let mut cache = Self::new(registrar, limits);
        cache.keeps_shared = true;
        cache
    }

    /// Why nothing is kept, if the system does not allow it. It is known after the first registration.
    pub fn refusal(&self) -> Option<&WatchError> {
        self.watch.get()?.as_ref().err()
    }

    /// A registration that covers a range.
    ///
    /// # Errors
    /// The registrar refuses it.
    ///
    /// # Safety
    /// The range is mapped, and no thread unmaps it, moves it or drops its pages during the call.
    pub unsafe fn hold(&self, memory: NonNull<u8>, bytes: usize) -> Result<Held<R::Region>, R::Error> {
        let Some(range) = self.whole_pages(memory, bytes) else {
            count(&self.counts.misses);
            let start = memory.addr().get();
            // SAFETY: the caller's promise.
            return unsafe { self.register_alone(memory, bytes, start..start.saturating_add(bytes)) };
        };
        let watch = self.settled_watch(&range);
        if let Some(held) = watch.and_then(|watch| self.find(watch, &range)) {
            count(&self.counts.hits);
            return Ok(held);
        }
        count(&self.counts.misses);
        let offset = memory.addr().get() - range.start;
        // SAFETY: of a page some bytes of which are mapped, all are.
        let memory = unsafe { memory.sub(offset) };
        match watch.and_then(|watch| self.reserve(watch, range.clone())) {
            // SAFETY: the caller's promise.
            Some(reserved) => unsafe { self.register(reserved, memory) },
            // SAFETY: the caller's promise.
            None => unsafe { self.register_alone(memory, range.len(), range) },
        }
    }

    /// What the cache has done so far, and what has become of its memory before this call.
    pub fn statistics(&self) -> Statistics {
        let invalidations = self.started().map_or(0, |watch| {
            // Where marks are missing, they are counted later.
            let _ = watch.is_in_child() || watch.settle();
            watch.marks().invalidations()
        });
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Statistics {
            hits: value(&self.counts.hits),
            misses: value(&self.counts.misses),
            uncached: value(&self.counts.uncached),
            evictions: value(&self.counts.evictions),
            invalidations,
        }
    }

    fn whole_pages(&self, memory: NonNull<u8>, bytes: usize) -> Option<Range<usize>> {
        let start = memory.addr().get();
        let end = start.checked_add(bytes)?.checked_next_multiple_of(self.page_bytes)?;
        (bytes != 0).then_some(start - start % self.page_bytes..end)
    }

    fn started(&self) -> Option<&Watch> {
        self.watch.get()?.as_ref().ok()
    }

    /// The watch, when marks are made for all changes that began before this call. None when nothing is to be
    /// kept, or found.
    fn settled_watch(&self, range: &Range<usize>) -> Option<&Watch> {
        if self.limits.registrations == 0 || range.len() > self.limits.bytes {
            return None;
        }
        let start = || Watch::start(self.limits.registrations + 1);
        let watch = self.watch.get_or_init(start).as_ref().ok()?;
        (!watch.is_in_child() && watch.settle()).then_some(watch)
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table<R::Region>> {
        // A panic under the lock is a broken assertion of the table's; each of its steps leaves it whole.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, watch: &Watch, range: &Range<usize>) -> Option<Held<R::Region>> {
        let mut closing = Closing::default();
        let mut table = self.table();
        if watch.marks().has_stale() {
            closing.remove_stale(watch, &mut table);
        }
        let entry = table.find(range);
        drop(table);
        entry.map(Held)
    }

    /// Has a range watched, with room for it in the table. None if that cannot be.
    fn reserve<'a>(&'a self, watch: &'a Watch, range: Range<usize>) -> Option<Reserved<'a, R>> {
        if !self.keeps_shared && watch.is_of_file(range.start) {
            return None;
        }
        let mut closing = Closing::default();
        let mut table = self.table();
        let slot = table.reserve(&range)?;
        if !watch.register(slot, &range) {
            table.give_back(slot);
            return None;
        }
        while let Some(removed) = table.make_room(&range) {
            count(&self.counts.evictions);
            closing.put(watch, removed);
        }
        drop(table);
        Some(Reserved { cache: self, watch, slot, range })
    }

    /// # Safety
    /// As [`Registrar::register`] asks.
    unsafe fn register(
        &self,
        reserved: Reserved<'_, R>,
        memory: NonNull<u8>,
    ) -> Result<Held<R::Region>, R::Error> {
        let (watch, range, slot) = (reserved.watch, reserved.range.clone(), reserved.slot);
        // SAFETY: the caller's promise.
        let region = unsafe { self.registrar.register(memory, range.len()) }?;
        let entry = Arc::new(Entry { region, range });
        let may_be_kept = self.keeps_shared || watch.is_private(&entry.range);
        let mut closing = Closing::default();
        let mut table = self.table();
        if may_be_kept && !watch.marks().is_stale(slot) && table.keep(slot, &entry) {
            forget(reserved);
            while let Some(removed) = table.remove_covered(slot) {
                closing.put(watch, removed);
            }
        } else {
            drop(table);
            drop(reserved);
            count(&self.counts.uncached);
        }
        Ok(Held(entry))
    }

    /// # Safety
    /// As [`Registrar::register`] asks.
    unsafe fn register_alone(
        &self,
        memory: NonNull<u8>,
        bytes: usize,
        range: Range<usize>,
    ) -> Result<Held<R::Region>, R::Error> {
        // SAFETY: the caller's promise.
        let region = unsafe { self.registrar.register(memory, bytes) }?;
        count(&self.counts.uncached);
        Ok(Held(Arc::new(Entry { region, range })))
    }
}

/// Entries that have left the table, and are closed where this is dropped: when the lock is free, as it is
/// declared before the lock is taken.
struct Closing<Region>(Vec<Arc<Entry<Region>>>);

impl<Region> Default for Closing<Region> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<Region> Closing<Region> {
    fn put(&mut self, watch: &Watch, removed: Removed<Region>) {
        watch.unregister(removed.slot);
        self.0.push(removed.entry);
    }

    #[cold]
    fn remove_stale(&mut self, watch: &Watch, table: &mut Table<Region>) {
        let marks = watch.marks();
        for slot in marks.used_entries() {
            if !marks.is_stale(slot) {
                continue;
            }
            if let Some(removed) = table.remove_kept(slot) {
                self.put(watch, removed);
            } else if table.is_free(slot) {
                // The change was read before the entry went, and its mark written afterwards.
                marks.freshen(slot);
            }
        }
    }
}

/// A slot of the table, and a watched range: given back unless they are kept.
struct Reserved<'a, R: Registrar> {
    cache: &'a RegistrationCache<R>,
    watch: &'a Watch,
    slot: usize,
    range: Range<usize>,
}

impl<R: Registrar> Drop for Reserved<'_, R> {
    fn drop(&mut self) {
        let mut table = self.cache.table();
        self.watch.unregister(self.slot);
        table.give_back(self.slot);
    }
}

impl<R: Registrar> Drop for RegistrationCache<R> {
    fn drop(&mut self) {
        let Some(Ok(watch)) = self.watch.take() else {
            return;
        };
        let table = self.table.get_mut().unwrap_or_else(PoisonError::into_inner);
        if watch.is_in_child() {
            // The thread, the watch and what is registered belong to the parent.
            let empty = Table::new(Limits { registrations: 0, bytes: 0 });
            forget((watch, std::mem::replace(table, empty)));
            return;
        }
        let mut closing = Closing::default();
        while let Some(removed) = table.remove_any() {
            closing.put(&watch, removed);
        }
        watch.stop();
    }
}
