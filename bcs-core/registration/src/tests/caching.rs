//! What is found, what goes, what is held: no memory changes here.

use super::*;

#[test]
fn the_same_range_and_parts_of_it_are_found_and_what_reaches_beyond_is_not() {
    let (cache, open) = cache_of(LIMITS);
    let place = Place::mapped(8);
    place.renew();
    let middle = place.pages(2..6);
    let held = middle.hold(&cache).unwrap();
    assert!(cache.refusal().is_none(), "{:?}", cache.refusal());
    assert_eq!((held.range(), calls(&cache)), (middle.0.clone(), (0, 1, 0)));
    // SAFETY: it is mapped and stays.
    let hold = |offset, bytes| unsafe { cache.hold(place.at(offset), bytes) }.unwrap().range();
    let (start, end) = (2 * page(), 6 * page());
    for (offset, bytes) in [(start, end - start), (start, 1), (end - 1, 1), (start + 7, 3 * page())] {
        assert_eq!(hold(offset, bytes), middle.0);
    }
    assert_eq!(calls(&cache), (4, 1, 0));
    // One byte more at either end is one page more.
    assert_eq!(hold(start - 1, 2), place.pages(1..3).0);
    assert_eq!(hold(end - 1, 2), place.pages(5..7).0);
    assert_eq!((calls(&cache), open.load(Ordering::Relaxed)), ((4, 3, 0), 3));
    place.unmap();
}

#[test]
fn a_larger_range_replaces_those_that_it_covers_even_held_ones() {
    let (cache, open) = cache_of(LIMITS);
    let place = Place::mapped(8);
    place.renew();
    let held = place.pages(1..3).hold(&cache).unwrap();
    for pages in [2..4, 5..6, 6..9] {
        let end = pages.end.min(8);
        drop(place.pages(pages.start..end).hold(&cache).unwrap());
    }
    assert_eq!(open.load(Ordering::Relaxed), 4);
    drop(place.pages(1..7).hold(&cache).unwrap());
    // Those that reach beyond it, and the one that is held, are still open.
    assert_eq!((open.load(Ordering::Relaxed), cache.table().size().0), (3, 2));
    drop(held);
    assert_eq!(open.load(Ordering::Relaxed), 2);
    assert_eq!(place.pages(1..2).hold(&cache).unwrap().range(), place.pages(1..7).0);
    assert_eq!(place.pages(7..8).hold(&cache).unwrap().range(), place.pages(6..8).0);
    place.unmap();
}

#[test]
fn limits_of_none_keep_nothing_and_start_no_watcher() {
    let place = Place::mapped(1);
    place.renew();
    for limits in [Limits { registrations: 0, bytes: 1 << 20 }, Limits { registrations: 9, bytes: 0 }] {
        let (cache, open) = cache_of(limits);
        for _ in 0..3 {
            let held = place.hold(&cache).unwrap();
            assert_eq!(open.load(Ordering::Relaxed), 1);
            drop(held);
            assert_eq!(open.load(Ordering::Relaxed), 0);
        }
        assert_eq!(calls(&cache), (0, 3, 3));
    }
    place.unmap();
}

#[test]
fn one_registration_and_one_byte_beside_the_limit_of_bytes() {
    let place = Place::mapped(8);
    place.renew();
    let (cache, open) = cache_of(Limits { registrations: 1, bytes: 2 * page() });
    for pages in [0..1, 1..2, 0..2, 6..8] {
        drop(place.pages(pages.clone()).hold(&cache).unwrap());
        drop(place.pages(pages).hold(&cache).unwrap());
        assert_eq!(open.load(Ordering::Relaxed), 1);
    }
    assert_eq!((calls(&cache), cache.statistics().evictions), ((4, 4, 0), 3));
    // A page beyond the limit is uncached, and what is kept stays.
    drop(place.pages(0..3).hold(&cache).unwrap());
    assert_eq!((calls(&cache), open.load(Ordering::Relaxed)), ((4, 5, 1), 1));
    let held = place.pages(6..8).hold(&cache).unwrap();
    assert_eq!(calls(&cache), (5, 5, 1));
    // All are held: what comes is uncached.
    drop(place.pages(0..1).hold(&cache).unwrap());
    assert_eq!((calls(&cache), open.load(Ordering::Relaxed)), ((5, 6, 2), 1));
    drop(held);
    drop(place.pages(0..1).hold(&cache).unwrap());
    assert_eq!((calls(&cache), open.load(Ordering::Relaxed)), ((5, 7, 2), 1));
    place.unmap();
}

#[test]
fn many_more_ranges_than_the_limit_leave_as_many_open_as_it_says() {
    let place = Place::mapped(300);
    place.renew();
    let limits = Limits { registrations: 10, bytes: 15 * page() };
    let (cache, open) = cache_of(limits);
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..5000 {
        let start = random.usize(0..290);
        drop(place.pages(start..start + random.usize(1..6)).hold(&cache).unwrap());
        let (entries, bytes) = cache.table().size();
        assert!(entries <= limits.registrations && bytes <= limits.bytes);
        assert_eq!(open.load(Ordering::Relaxed), entries);
    }
    let statistics = cache.statistics();
    assert!(statistics.hits > 0 && statistics.evictions > 0);
    assert_eq!((statistics.uncached, statistics.invalidations), (0, 0));
    drop(cache);
    assert_eq!(open.load(Ordering::Relaxed), 0);
    place.unmap();
}

#[test]
fn a_refused_registration_gives_the_error_and_nothing_is_kept() {
    let recorder = Recorder { refuses: true.into(), ..Recorder::default() };
    let place = Place::mapped(2);
    place.renew();
    let cache = RegistrationCache::new(recorder, LIMITS);
    for _ in 0..100 {
        assert_eq!(place.hold(&cache).unwrap_err(), Refused);
        assert_eq!(cache.table().size(), (0, 0));
    }
    assert_eq!(calls(&cache), (0, 100, 0));
    place.unmap();
    assert_eq!(cache.statistics().invalidations, 0);
}

#[test]
fn no_bytes_and_all_addresses_are_handed_to_the_registrar_as_they_are() {
    struct Echo;
    impl Registrar for Echo {
        type Region = (usize, usize);
        type Error = ();
        unsafe fn register(&self, memory: NonNull<u8>, bytes: usize) -> Result<(usize, usize), ()> {
            Ok((memory.addr().get(), bytes))
        }
    }
    let cache = RegistrationCache::new(Echo, LIMITS);
    let place = Place::of_pages(1);
    for bytes in [0, usize::MAX] {
        // SAFETY: the registrar uses no memory.
        let held = unsafe { cache.hold(place.at(3), bytes) }.unwrap();
        assert_eq!(*held, (place.0.start + 3, bytes));
    }
    assert_eq!(cache.statistics(), Statistics { misses: 2, uncached: 2, ..Statistics::default() });
}
