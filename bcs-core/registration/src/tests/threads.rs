//! What several threads do at the same time.

use super::*;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{Acquire, Release};

/// One thread unmaps. Another one maps the same place as soon as it is free, which is before munmap has
/// returned, and registers it.
#[test]
fn a_place_that_another_thread_unmaps_is_never_found_as_it_was() {
    const ROUNDS: u64 = 5000;
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped(16);
    // Even: the place is to be unmapped. Odd: it is to be mapped.
    let turn = AtomicU64::new(0);
    let mut stale = 0;
    place.renew();
    place.generation(&cache);
    let wait_for = |wanted| {
        while turn.load(Acquire) < wanted {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                wait_for(2 * round);
                turn.store(2 * round + 1, Release);
                place.unmap();
            }
        });
        for round in 0..ROUNDS {
            wait_for(2 * round + 1);
            while !place.map() {
                std::hint::spin_loop();
            }
            let generation = place.renew();
            // No assertion here: the other thread would wait for ever.
            stale += u64::from(place.generation(&cache) != generation);
            turn.store(2 * round + 2, Release);
        }
    });
    // Where the threads got no processor for long, a registration was not kept.
    let statistics = cache.statistics();
    assert_eq!((stale, statistics.hits), (0, 0), "of {ROUNDS} rounds");
    assert!(2 * statistics.invalidations > ROUNDS, "{statistics:?}");
    place.unmap();
}

#[test]
fn threads_that_hold_and_unmap_their_own_ranges_find_what_is_theirs() {
    let (cache, open) = cache_of(Limits { registrations: 6, bytes: 1 << 30 });
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                let place = Place::mapped(16);
                let mut generations = [place.renew(); 16];
                for _ in 0..2000 {
                    let first = random.usize(0..16);
                    let pages = first..random.usize(first + 1..=16);
                    let part = place.pages(pages.clone());
                    match random.u8(0..5) {
                        0 => {
                            part.unmap();
                            assert!(part.map());
                            generations[pages].fill(part.renew());
                        }
                        1 => {
                            part.advise(libc::MADV_DONTNEED);
                            generations[pages].fill(part.renew());
                        }
                        _ => {
                            let held = part.hold(cache).unwrap();
                            // The region knows the generation of its first page.
                            let at = (held.range().start - place.0.start) / page();
                            assert_eq!(held.generation, generations[at]);
                        }
                    }
                }
                place.unmap();
            });
        }
    });
    let statistics = cache.statistics();
    assert!(statistics.hits > 0 && statistics.invalidations > 0 && statistics.evictions > 0);
    drop(cache);
    assert_eq!(open.load(Ordering::Relaxed), 0);
}

#[test]
fn threads_that_register_one_range_at_once_keep_it_once() {
    let (cache, open) = cache_of(LIMITS);
    let place = Place::of_pages(4);
    for _ in 0..200 {
        assert!(place.map());
        let generation = place.renew();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert_eq!(place.generation(&cache), generation));
            }
        });
        assert_eq!((cache.table().size().0, open.load(Ordering::Relaxed)), (1, 1));
        place.unmap();
    }
}

/// Registers, and closes, with calls that unmap memory that the cache watches.
struct Unmapping {
    /// What is unmapped, one after the other.
    places: Arc<Mutex<Vec<Place>>>,
}

struct UnmapsOnDrop(Arc<Mutex<Vec<Place>>>);

fn unmap_one(places: &Mutex<Vec<Place>>) {
    let place = places.lock().unwrap().pop();
    if let Some(place) = place {
        place.unmap();
    }
}

impl Registrar for Unmapping {
    type Region = UnmapsOnDrop;
    type Error = ();

    unsafe fn register(&self, memory: NonNull<u8>, _: usize) -> Result<UnmapsOnDrop, ()> {
        // SAFETY: the page is mapped.
        unsafe { memory.cast::<u64>().write_volatile(1) };
        unmap_one(&self.places);
        Ok(UnmapsOnDrop(self.places.clone()))
    }
}

impl Drop for UnmapsOnDrop {
    fn drop(&mut self) {
        unmap_one(&self.0);
    }
}

#[test]
fn a_registrar_and_a_region_may_unmap_what_is_watched() {
    let places = Arc::new(Mutex::new(Vec::new()));
    let registrar = Unmapping { places: places.clone() };
    let cache = RegistrationCache::new(registrar, Limits { registrations: 8, bytes: 1 << 20 });
    for round in 0..500 {
        let place = Place::mapped(1);
        let held = place.hold(&cache).unwrap();
        // What has just been registered is unmapped by one of the next, or by what makes room for it.
        if round % 3 != 0 {
            places.lock().unwrap().push(place.clone());
        }
        drop(held);
    }
    let statistics = cache.statistics();
    assert!(statistics.invalidations > 0 && statistics.evictions > 0);
}

#[test]
fn a_thread_may_unmap_what_is_watched_with_the_lock_of_the_cache() {
    let (cache, _) = cache_of(LIMITS);
    for _ in 0..100 {
        let place = Place::mapped(4);
        place.renew();
        place.generation(&cache);
        let table = cache.table();
        place.unmap();
        drop(table);
    }
    assert_eq!(cache.statistics().invalidations, 100);
}

#[test]
fn a_cache_that_ends_while_threads_unmap_leaves_none_waiting() {
    for _ in 0..200 {
        let (cache, open) = cache_of(LIMITS);
        let places: [Place; 8] = std::array::from_fn(|_| Place::mapped(4));
        for place in &places {
            place.renew();
            place.generation(&cache);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| places.iter().for_each(Place::unmap));
            drop(cache);
        });
        assert_eq!(open.load(Ordering::Relaxed), 0);
    }
}
