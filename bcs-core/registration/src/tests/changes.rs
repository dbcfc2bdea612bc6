//! What happens to memory, in the thread that holds registrations of it.

use super::*;

#[test]
fn what_is_unmapped_and_mapped_again_is_registered_again_ten_thousand_times() {
    let (cache, open) = cache_of(LIMITS);
    let place = Place::of_pages(4);
    for round in 1..=10_000 {
        assert!(place.map());
        let generation = place.renew();
        assert_eq!(place.generation(&cache), generation);
        assert_eq!(place.pages(1..3).generation(&cache), generation);
        assert_eq!((calls(&cache), open.load(Ordering::Relaxed)), ((round, round, 0), 1));
        place.unmap();
    }
    assert_eq!(cache.statistics().invalidations, 10_000);
}

#[test]
fn what_is_mapped_over_is_registered_again() {
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped(4);
    for _ in 0..1000 {
        let generation = place.renew();
        assert_eq!([place.generation(&cache), place.generation(&cache)], [generation; 2]);
        assert!(place.map_with(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED, -1));
    }
    assert_eq!(calls(&cache), (1000, 1000, 0));
    place.unmap();
}

#[test]
fn what_is_dropped_is_registered_again() {
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped(4);
    for advice in [libc::MADV_DONTNEED, libc::MADV_FREE] {
        for _ in 0..1000 {
            let generation = place.renew();
            assert_eq!([place.generation(&cache), place.generation(&cache)], [generation; 2]);
            place.pages(2..3).advise(advice);
        }
    }
    assert_eq!(calls(&cache), (2000, 2000, 0));
    // Other advice is none that takes pages away.
    let generation = place.renew();
    assert_eq!(place.generation(&cache), generation);
    place.advise(libc::MADV_WILLNEED);
    place.advise(libc::MADV_DONTFORK);
    assert_eq!((place.generation(&cache), calls(&cache)), (generation, (2001, 2001, 0)));
    place.unmap();
}

#[test]
fn what_is_moved_is_found_at_neither_place() {
    let (cache, _) = cache_of(LIMITS);
    let (from, to) = (Place::of_pages(4), Place::of_pages(4));
    for round in 1..=1000 {
        assert!(from.map() && to.map());
        let (old, at_target) = (from.renew(), to.renew());
        assert_eq!([from.generation(&cache), to.generation(&cache)], [old, at_target]);
        from.remap(from.0.len(), Some(&to));
        // The moved pages are not watched there: they are when they are registered.
        assert_eq!(to.generation(&cache), old);
        assert!(from.map());
        let new = from.renew();
        assert_eq!(from.generation(&cache), new);
        assert_eq!(calls(&cache), (0, 4 * round, 0));
        from.unmap();
        to.unmap();
    }
}

#[test]
fn what_has_moved_is_not_watched_any_more() {
    let (cache, _) = cache_of(LIMITS);
    let (from, to) = (Place::mapped(4), Place::of_pages(4));
    from.renew();
    from.generation(&cache);
    from.remap(from.0.len(), Some(&to));
    assert_eq!((watched_mappings(&from), watched_mappings(&to)), (0, 0));
    to.unmap();
}

#[test]
fn what_shrinks_is_found_no_more_and_what_grows_is() {
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped(4);
    let generation = place.renew();
    assert_eq!(place.generation(&cache), generation);
    place.remap(8 * page(), None);
    // The old part is where it was. The new one is not registered.
    assert_eq!((place.generation(&cache), calls(&cache)), (generation, (1, 1, 0)));
    let all = place.pages(0..8);
    let generation = all.renew();
    assert_eq!((all.generation(&cache), calls(&cache)), (generation, (1, 2, 0)));
    all.remap(6 * page(), None);
    assert_eq!((place.generation(&cache), calls(&cache)), (generation, (1, 3, 0)));
    assert!(place.pages(6..8).map());
    let generation = all.renew();
    assert_eq!(all.generation(&cache), generation);
    all.unmap();
}

#[test]
fn what_moves_and_grows_is_registered_again_and_its_end_can_be_unmapped() {
    let (cache, _) = cache_of(LIMITS);
    for _ in 0..100 {
        let (from, to) = (Place::mapped(4), Place::of_pages(8));
        from.renew();
        from.generation(&cache);
        from.remap(to.0.len(), Some(&to));
        let generation = to.renew();
        assert_eq!(to.generation(&cache), generation);
        to.pages(6..8).unmap();
        assert!(to.pages(6..8).map());
        let generation = to.renew();
        assert_eq!(to.generation(&cache), generation);
        to.unmap();
    }
}

#[test]
fn a_page_that_goes_takes_all_registrations_that_have_it_and_no_other() {
    let (cache, open) = cache_of(LIMITS);
    let place = Place::mapped(12);
    let old = place.renew();
    let parts = [0..4, 3..7, 4..8, 8..12].map(|pages| place.pages(pages));
    for part in &parts {
        assert_eq!(part.generation(&cache), old);
    }
    place.pages(4..5).unmap();
    assert!(place.pages(4..5).map());
    let new = place.renew();
    let generations = parts.each_ref().map(|part| part.generation(&cache));
    assert_eq!(generations, [old, new, new, old]);
    assert_eq!((cache.statistics().invalidations, open.load(Ordering::Relaxed)), (2, 4));
    assert!(place.generation(&cache) == new && place.pages(11..12).generation(&cache) == new);
    place.unmap();
}

#[test]
fn pages_that_entries_share_are_watched_until_the_last_has_gone() {
    let (cache, _) = cache_of(Limits { registrations: 2, bytes: 1 << 20 });
    let (place, beside) = (Place::mapped(8), Place::mapped(1));
    beside.renew();
    for first_goes in [true, false] {
        let old = place.renew();
        let (first, second) = (place.pages(0..5), place.pages(3..8));
        assert_eq!([first.generation(&cache), second.generation(&cache)], [old; 2]);
        let (goes, stays) = if first_goes { (&first, &second) } else { (&second, &first) };
        stays.generation(&cache);
        // It takes the place of the one that was not used since.
        beside.generation(&cache);
        assert_eq!((watched_mappings(goes), watched_mappings(stays)), (1, 1));
        place.pages(3..5).unmap();
        assert!(place.pages(3..5).map());
        let new = place.renew();
        assert_eq!(stays.generation(&cache), new);
        // What is left goes for the next round.
        place.unmap();
        assert!(place.map());
    }
    drop(cache);
    assert_eq!((watched_mappings(&place), watched_mappings(&beside)), (0, 0));
    place.unmap();
    beside.unmap();
}

#[test]
fn what_changes_while_it_is_held_stays_until_its_last_holder_and_is_not_found() {
    let (cache, open) = cache_of(LIMITS);
    let place = Place::mapped(2);
    let old = place.renew();
    let holders = [place.hold(&cache).unwrap(), place.pages(1..2).hold(&cache).unwrap()];
    place.unmap();
    assert!(place.map());
    let new = place.renew();
    assert_eq!((place.generation(&cache), open.load(Ordering::Relaxed)), (new, 2));
    for holder in holders {
        assert_eq!((holder.generation, open.load(Ordering::Relaxed)), (old, 2));
    }
    assert_eq!((place.generation(&cache), open.load(Ordering::Relaxed)), (new, 1));
    let held = place.hold(&cache).unwrap();
    drop(cache);
    assert_eq!((held.generation, open.load(Ordering::Relaxed)), (new, 1));
    place.unmap();
    drop(held);
    assert_eq!(open.load(Ordering::Relaxed), 0);
}

#[test]
fn what_changes_while_it_is_registered_is_not_found() {
    struct Remapping(Place);
    impl Registrar for Remapping {
        type Region = u64;
        type Error = ();
        unsafe fn register(&self, _: NonNull<u8>, _: usize) -> Result<u64, ()> {
            self.0.unmap();
            assert!(self.0.map());
            Ok(self.0.renew())
        }
    }
    let place = Place::mapped(2);
    let cache = RegistrationCache::new(Remapping(place.clone()), LIMITS);
    for _ in 0..100 {
        drop(place.hold(&cache).unwrap());
    }
    assert_eq!((cache.statistics().hits, cache.statistics().misses), (0, 100));
    place.unmap();
}

#[test]
fn huge_pages_are_watched_by_parts() {
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped((4 << 20) / page());
    place.advise(libc::MADV_HUGEPAGE);
    let old = place.renew();
    let (whole, part) = (place.pages(0..place.0.len() / page()), place.pages(1..700));
    assert_eq!([part.generation(&cache), whole.generation(&cache)], [old; 2]);
    place.pages(300..301).advise(libc::MADV_DONTNEED);
    let new = place.renew();
    assert_eq!([part.generation(&cache), whole.generation(&cache)], [new; 2]);
    assert_eq!(calls(&cache), (0, 4, 0));
    place.unmap();
}
