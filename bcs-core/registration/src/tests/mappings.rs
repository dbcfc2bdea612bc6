//! What a program does to a mapping, a part of which is registered: all of it works as without the cache.

use super::*;

/// A cache that keeps so many registrations, and a place that evicts the last one of such a cache.
fn small_cache(registrations: usize) -> (Cache, Place) {
    let (cache, _) = cache_of(Limits { registrations, ..LIMITS });
    let beside = Place::mapped(1);
    beside.renew();
    (cache, beside)
}

/// One registration, where the second part is in the first, or two.
#[test]
fn a_mapping_grows_in_place_and_its_registrations_stay() {
    for parts in [[0..4, 0..4], [10..20, 12..13], [10..20, 15..30], [3..4, 60..64]] {
        let (cache, _) = cache_of(LIMITS);
        let place = Place::mapped(64);
        let old = place.renew();
        let parts: Vec<_> = parts.into_iter().map(|part| place.pages(part)).collect();
        parts.iter().for_each(|part| assert_eq!(part.generation(&cache), old));
        place.remap(128 * page(), None);
        place.pages(0..128).remap(256 * page(), None);
        place.pages(0..256).renew();
        parts.iter().for_each(|part| assert_eq!(part.generation(&cache), old));
        let (hits, misses, uncached) = calls(&cache);
        assert!(hits >= 2 && misses <= 2);
        assert_eq!((uncached, cache.statistics().invalidations), (0, 0));
        place.pages(0..256).unmap();
    }
}

#[test]
fn a_mapping_moves_and_grows_again_and_again() {
    for parts in [[10..20, 12..18], [10..20, 30..40]] {
        let (cache, _) = cache_of(LIMITS);
        let mut place = Place::mapped(64);
        for pages in [64, 128, 256, 256, 512] {
            let old = place.renew();
            let held: Vec<_> = parts.iter().map(|part| place.pages(part.clone())).collect();
            held.iter().for_each(|part| assert_eq!(part.generation(&cache), old));
            let to = Place::of_pages(pages);
            place.remap(to.0.len(), Some(&to));
            // Nothing of it is watched, so it is one mapping: it can move.
            let further = Place::of_pages(pages);
            to.remap(to.0.len(), Some(&further));
            assert!(place.map());
            let new = place.renew();
            held.iter().for_each(|part| assert_eq!(part.generation(&cache), new));
            place.unmap();
            place = further;
        }
        assert_eq!(calls(&cache).2, 0);
        place.unmap();
    }
}

#[test]
fn a_mapping_shrinks_in_place_and_what_is_left_of_it_stays() {
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped(64);
    let old = place.renew();
    let (stays, goes) = (place.pages(10..20), place.pages(25..35));
    assert_eq!([stays.generation(&cache), goes.generation(&cache)], [old; 2]);
    place.remap(30 * page(), None);
    assert_eq!((stays.generation(&cache), cache.statistics().invalidations), (old, 1));
    assert!(place.pages(30..64).map());
    let new = place.renew();
    assert_eq!([stays.generation(&cache), goes.generation(&cache)], [old, new]);
    place.unmap();
}

#[test]
fn a_part_of_a_mapping_moves_and_the_rest_stays() {
    for part in [5..25, 12..18, 10..20, 19..25] {
        let (cache, _) = cache_of(LIMITS);
        let (place, to) = (Place::mapped(64), Place::of_pages(64));
        let old = place.renew();
        let (goes, stays) = (place.pages(10..20), place.pages(40..50));
        assert_eq!([goes.generation(&cache), stays.generation(&cache)], [old; 2]);
        let moved = place.pages(part);
        let bytes = moved.0.len() + 10 * page();
        moved.remap(bytes, Some(&to));
        let to = Place(to.0.start..to.0.start + bytes);
        assert_eq!(watched_mappings(&to), 0);
        to.unmap();
        assert!(moved.map());
        let new = place.renew();
        assert_eq!([goes.generation(&cache), stays.generation(&cache)], [new, old]);
        assert_eq!(cache.statistics().invalidations, 1);
        place.unmap();
    }
}

#[test]
fn what_moves_and_leaves_its_mapping_behind_is_found_at_neither_place() {
    let (cache, beside) = small_cache(1);
    let (place, to) = (Place::mapped(64), Place::of_pages(64));
    let old = place.renew();
    place.pages(10..20).generation(&cache);
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
    let (from, new) = (place.at(0).as_ptr(), to.at(0).as_ptr());
    // SAFETY: nobody else uses the places.
    let moved = unsafe { libc::mremap(from.cast(), place.0.len(), to.0.len(), flags, new) };
    assert_eq!(moved.addr(), to.0.start);
    let new = place.renew();
    assert_eq!(to.pages(10..20).generation(&cache), old);
    assert_eq!(place.pages(10..20).generation(&cache), new);
    beside.generation(&cache);
    assert_eq!([&place, &to].map(watched_mappings), [0, 0]);
    for place in [place, to, beside] {
        place.unmap();
    }
}

#[test]
fn a_mapping_that_grew_is_left_as_a_whole_whichever_registration_goes_first() {
    for first_goes in [true, false] {
        let (cache, beside) = small_cache(2);
        let place = Place::mapped(64);
        place.renew();
        let (first, second) = (place.pages(10..20), place.pages(100..110));
        first.generation(&cache);
        place.remap(128 * page(), None);
        second.renew();
        second.generation(&cache);
        let stays = if first_goes { &second } else { &first };
        stays.generation(&cache);
        beside.generation(&cache);
        assert_eq!(watched_mappings(stays), 1);
        place.pages(0..128).remap(256 * page(), None);
        // What stayed is told.
        let before = cache.statistics().invalidations;
        stays.advise(libc::MADV_DONTNEED);
        assert_eq!(cache.statistics().invalidations, before + 1);
        beside.pages(0..1).generation(&cache);
        beside.advise(libc::MADV_DONTNEED);
        beside.generation(&cache);
        let all = place.pages(0..256);
        assert_eq!(watched_mappings(&all), 0);
        let to = Place::of_pages(512);
        all.remap(to.0.len(), Some(&to));
        to.unmap();
        beside.unmap();
    }
}

#[test]
fn a_mapping_of_parts_that_are_protected_for_a_while_is_one_again() {
    let (cache, beside) = small_cache(2);
    let place = Place::mapped(64);
    place.renew();
    let (goes, stays) = (place.pages(10..20), place.pages(50..60));
    goes.generation(&cache);
    let generation = stays.generation(&cache);
    place.pages(30..40).protect(libc::PROT_NONE);
    beside.generation(&cache);
    place.pages(30..40).protect(libc::PROT_READ | libc::PROT_WRITE);
    place.remap(128 * page(), None);
    assert_eq!((stays.generation(&cache), calls(&cache)), (generation, (1, 3, 0)));
    drop(cache);
    assert_eq!(watched_mappings(&place.pages(0..128)), 0);
    place.pages(0..128).unmap();
    beside.unmap();
}

#[test]
fn what_is_left_of_a_mapping_is_watched_no_longer_than_its_registrations() {
    let (cache, beside) = small_cache(1);
    let place = Place::mapped(64);
    place.renew();
    place.pages(10..20).generation(&cache);
    place.pages(30..40).unmap();
    assert_eq!(watched_mappings(&place), 2);
    beside.generation(&cache);
    assert_eq!(watched_mappings(&place), 0);
    place.unmap();
    beside.unmap();
}

#[test]
fn a_range_over_several_mappings_has_all_of_them_watched() {
    let (cache, beside) = small_cache(1);
    let place = Place::mapped(64);
    let old = place.renew();
    // Three mappings: those of different advice are not one.
    place.pages(20..30).advise(libc::MADV_DONTFORK);
    let middle = place.pages(15..35);
    assert_eq!(middle.generation(&cache), old);
    assert_eq!(watched_mappings(&place), 3);
    place.pages(30..64).remap(100 * page(), None);
    place.pages(50..60).advise(libc::MADV_DONTNEED);
    assert_eq!((middle.generation(&cache), calls(&cache)), (old, (1, 1, 0)));
    place.pages(34..35).advise(libc::MADV_DONTNEED);
    let new = place.renew();
    assert_eq!(middle.generation(&cache), new);
    beside.generation(&cache);
    assert_eq!(watched_mappings(&place), 0);
    place.pages(0..130).unmap();
    beside.unmap();
}

#[test]
fn what_is_mapped_over_a_part_is_one_with_the_rest_if_it_is_registered_before_it_is_used() {
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped(64);
    let old = place.renew();
    assert_eq!(place.pages(10..20).generation(&cache), old);
    let part = place.pages(30..40);
    assert!(part.map_with(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED, -1));
    assert_eq!([part.generation(&cache), place.pages(10..20).generation(&cache)], [0, old]);
    assert_eq!(watched_mappings(&place), 1);
    place.remap(128 * page(), None);
    place.pages(0..128).unmap();
}

#[test]
fn a_large_mapping_stays_watched_and_can_be_moved() {
    let (cache, beside) = small_cache(1);
    let pages = (20 << 20) / page();
    let place = Place::mapped(pages);
    for round in 0..3 {
        let part = place.pages(10..20);
        let generation = part.renew();
        assert_eq!(part.generation(&cache), generation);
        beside.renew();
        beside.generation(&cache);
        assert_eq!(watched_mappings(&place), 1, "round {round}");
        let to = Place::of_pages(2 * pages);
        place.remap(to.0.len(), Some(&to));
        to.remap(place.0.len(), Some(&place));
    }
    assert_eq!(calls(&cache), (0, 6, 0));
    drop(cache);
    assert_eq!(watched_mappings(&place), 0);
    place.unmap();
    beside.unmap();
}

#[test]
fn locking_a_part_works_and_a_block_of_the_c_library_grows() {
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped(64);
    place.renew();
    place.pages(10..20).generation(&cache);
    let part = place.pages(5..15);
    // SAFETY: it is mapped.
    let locked = unsafe { libc::mlock(part.at(0).as_ptr().cast(), part.0.len()) };
    // SAFETY: it is mapped.
    let unlocked = unsafe { libc::munlock(part.at(0).as_ptr().cast(), part.0.len()) };
    assert_eq!((locked, unlocked), (0, 0));
    place.remap(128 * page(), None);
    place.pages(0..128).unmap();

    let mut bytes = 4 << 20;
    // SAFETY: plain allocation.
    let mut block = NonNull::new(unsafe { libc::malloc(bytes) }.cast::<u8>()).unwrap();
    for _ in 0..4 {
        let start = (block.addr().get() + bytes / 2).next_multiple_of(page());
        let middle = Place(start..start + 4 * page());
        let generation = middle.renew();
        assert_eq!(middle.generation(&cache), generation);
        bytes *= 2;
        // SAFETY: it was allocated.
        block = NonNull::new(unsafe { libc::realloc(block.as_ptr().cast(), bytes) }.cast::<u8>()).unwrap();
    }
    // SAFETY: it was allocated and is freed once.
    unsafe { libc::free(block.as_ptr().cast()) };
}

/// Other threads evict what a thread has registered of its mapping, while it moves and grows it.
#[test]
fn mappings_move_and_grow_while_other_threads_evict_their_registrations() {
    let (cache, open) = cache_of(Limits { registrations: 2, ..LIMITS });
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                let places = [Place::of_pages(64), Place::of_pages(64)];
                for _ in 0..200 {
                    let (mut at, mut pages) = (0, random.usize(4..16));
                    let part = |at: usize, pages| places[at].pages(0..pages);
                    assert!(part(at, pages).map());
                    for _ in 0..4 {
                        let place = part(at, pages);
                        let generation = place.renew();
                        let start = random.usize(0..pages);
                        let held = place.pages(start..start + 1).generation(cache);
                        assert!(held <= generation && generation - held < 1 << 40);
                        pages += random.usize(0..8);
                        if random.bool() {
                            place.remap(pages * page(), None);
                        } else {
                            at = 1 - at;
                            place.remap(pages * page(), Some(&part(at, pages)));
                            let moved = part(at, pages);
                            let generation = moved.renew();
                            assert_eq!(moved.pages(0..1).generation(cache), generation);
                        }
                    }
                    part(at, pages).unmap();
                }
            });
        }
    });
    let statistics = cache.statistics();
    assert!(statistics.evictions > 0 && statistics.invalidations > 0, "{statistics:?}");
    drop(cache);
    assert_eq!(open.load(Ordering::Relaxed), 0);
}
