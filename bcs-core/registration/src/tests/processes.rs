//! What needs a process of its own: the heap, the end of threads, users, children.

use super::*;
use std::os::unix::process::CommandExt;

/// Blocks of the C library's heap, registered, freed and allocated again.
fn hold_heap_blocks() {
    let (cache, open) = cache_of(LIMITS);
    let mut random = fastrand::Rng::with_seed(1);
    let mut blocks: Vec<(NonNull<u8>, usize)> = Vec::new();
    let mut checked = 0;
    let is_zero = |page: &Place| {
        let words = page.at(0).cast::<u64>();
        // SAFETY: it is in a block that this test has.
        (0..page.0.len() / 8).all(|word| unsafe { words.add(word).read_volatile() } == 0)
    };
    let free = |(block, _): (NonNull<u8>, usize)| {
        // SAFETY: it was allocated and is freed once.
        unsafe { libc::free(block.as_ptr().cast()) }
    };
    for round in 0..1000 {
        let bytes = random.usize(1..2 << 20);
        // SAFETY: plain allocation.
        let block = NonNull::new(unsafe { libc::malloc(bytes) }.cast::<u8>()).unwrap();
        let start = block.addr().get().next_multiple_of(page());
        let pages = (block.addr().get() + bytes).saturating_sub(start) / page();
        let whole = Place(start..start + pages * page());
        if pages > 0 {
            // Pages that were used have a generation in them: the others have come since.
            let has_new_pages = (0..pages).any(|page| is_zero(&whole.pages(page..page + 1)));
            let generation = whole.renew();
            let held = whole.hold(&cache).unwrap();
            let is_older = held.generation < generation;
            assert!(!(has_new_pages && is_older), "round {round}: {:?}", cache.statistics());
            checked += usize::from(has_new_pages);
        }
        blocks.push((block, bytes));
        if random.u8(..3) > 0 {
            free(blocks.swap_remove(random.usize(..blocks.len())));
        }
        if random.u8(..50) == 0 {
            blocks.drain(..).for_each(free);
            // SAFETY: plain call.
            unsafe { libc::malloc_trim(0) };
        }
    }
    blocks.drain(..).for_each(free);
    let statistics = cache.statistics();
    println!("{statistics:?}, {checked} blocks had new pages");
    assert!(checked > 100 && statistics.invalidations > 0 && statistics.misses > statistics.uncached);
    drop(cache);
    assert_eq!(open.load(Ordering::Relaxed), 0);
}

#[test]
#[ignore = "run by heaps_that_shrink_are_told"]
fn heap_in_a_process_of_its_own() {
    hold_heap_blocks();
}

#[test]
fn heaps_that_shrink_are_told() {
    let run = |arenas: &str, mapped_from: &str| {
        run_alone("tests::processes::heap_in_a_process_of_its_own", |command| {
            command.env("MALLOC_ARENA_MAX", arenas).env("MALLOC_MMAP_THRESHOLD_", mapped_from);
            command.env("MALLOC_TRIM_THRESHOLD_", "0").env("MALLOC_TOP_PAD_", "0");
        })
        .unwrap();
    };
    // By brk, by parts of a mapping, and by mappings of blocks.
    run("1", "33554432");
    run("8", "33554432");
    run("1", "65536");
}

/// The names of this process's threads.
fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok()).collect()
}

#[test]
#[ignore = "run by a_cache_has_a_thread_when_it_keeps_something_and_none_when_it_has_ended"]
fn threads_in_a_process_of_its_own() {
    let watchers = || threads().iter().filter(|name| name.trim() == "bcs-unmap-watch").count();
    let place = Place::mapped(1);
    place.renew();
    for _ in 0..20 {
        let (cache, _) = cache_of(LIMITS);
        assert_eq!(watchers(), 0);
        let held = place.hold(&cache).unwrap();
        assert_eq!((watchers(), calls(&cache)), (1, (0, 1, 0)));
        drop(cache);
        // The thread has ended when it is joined; the kernel may take a moment more to forget it.
        while watchers() != 0 {
            std::thread::yield_now();
        }
        drop(held);
    }
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let (cache, _) = cache_of(LIMITS);
    drop(place.hold(&cache).unwrap());
    assert!(descriptors() > before);
    drop(cache);
    assert_eq!(descriptors(), before);
    place.unmap();
}

#[test]
fn a_cache_has_a_thread_when_it_keeps_something_and_none_when_it_has_ended() {
    run_alone("tests::processes::threads_in_a_process_of_its_own", |_| {}).unwrap();
}

#[test]
#[ignore = "run by a_user_without_rights_has_hits_too"]
fn hits_in_a_process_of_its_own() {
    let (cache, _) = cache_of(LIMITS);
    let place = Place::mapped(4);
    for _ in 0..100 {
        let generation = place.renew();
        assert_eq!([place.generation(&cache), place.generation(&cache)], [generation; 2]);
        place.unmap();
        assert!(place.map());
    }
    assert!(cache.refusal().is_none(), "{:?}", cache.refusal());
    assert_eq!(calls(&cache), (100, 100, 0));
    // SAFETY: a plain question.
    println!("user {}", unsafe { libc::geteuid() });
}

#[test]
fn a_user_without_rights_has_hits_too() {
    const NOBODY: u32 = 65_534;
    // SAFETY: a plain question.
    let is_root = unsafe { libc::geteuid() } == 0;
    let ran = run_alone("tests::processes::hits_in_a_process_of_its_own", |command| {
        if is_root {
            command.uid(NOBODY).gid(NOBODY).current_dir("/");
        }
    });
    match ran {
        Ok(text) => assert!(!is_root || text.contains("user 65534"), "{text}"),
        Err(error) => println!("skipped: the tests' program cannot be run as nobody: {error}"),
    }
}

#[test]
#[ignore = "run by a_child_uses_nothing_of_its_parents_cache"]
fn child_in_a_process_of_its_own() {
    let (cache, open) = cache_of(LIMITS);
    let large = (20 << 20) / page();
    let (place, from, to) = (Place::mapped(4), Place::mapped(large), Place::of_pages(large));
    let generation = place.renew();
    from.renew();
    place.generation(&cache);
    from.generation(&cache);
    // It stays watched, as long as the userfaultfd is open anywhere.
    from.remap(to.0.len(), Some(&to));
    let (end, other_end) = rustix::pipe::pipe().unwrap();
    // SAFETY: the child allocates, which the C library allows, and leaves without running anything else.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let held = place.hold(&cache).unwrap();
            assert_eq!((held.generation, calls(&cache)), (generation, (0, 3, 1)));
            drop(held);
            place.unmap();
            // What the parent has is not closed here.
            assert_eq!(open.load(Ordering::Relaxed), 2);
            drop(cache);
            assert_eq!(open.load(Ordering::Relaxed), 2);
            drop(other_end);
            let _ = rustix::io::read(&end, &mut [0_u8]);
        }));
        // SAFETY: it ends.
        unsafe { libc::_exit(i32::from(passed.is_err())) };
    }
    assert!(child > 0);
    for round in 1..=1000 {
        let generation = place.renew();
        place.generation(&cache);
        place.unmap();
        assert!(place.map());
        let new = place.renew();
        assert!(generation < new && place.generation(&cache) == new, "round {round}");
    }
    drop(cache);
    to.unmap();
    place.unmap();
    assert_eq!(open.load(Ordering::Relaxed), 0);
    drop((end, other_end));
    let mut status = 0;
    // SAFETY: the child is this process's.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
}

#[test]
fn a_child_uses_nothing_of_its_parents_cache() {
    run_alone("tests::processes::child_in_a_process_of_its_own", |_| {}).unwrap();
}

#[test]
#[ignore = "run by the_heap_is_watched_by_parts_and_grows_as_one"]
fn growing_heap_in_a_process_of_its_own() {
    let (cache, _) = cache_of(LIMITS);
    // SAFETY: the C library allows others to move the break.
    let grow = || unsafe { libc::sbrk(64 * page() as isize) }.addr().next_multiple_of(page());
    let start = grow();
    let heap = Place(start..start + 63 * page());
    heap.renew();
    heap.pages(10..20).generation(&cache);
    assert_eq!([0..9, 10..20, 21..63].map(|part| watched_mappings(&heap.pages(part))), [0, 1, 0]);
    let more = grow();
    assert_eq!(watched_mappings(&Place(more..more + page())), 0);
    heap.pages(15..25).generation(&cache);
    heap.pages(0..63).generation(&cache);
    assert_eq!(calls(&cache), (0, 3, 0));
    drop(cache);
    assert_eq!(watched_mappings(&heap), 0);
}

#[test]
fn the_heap_is_watched_by_parts_and_grows_as_one() {
    run_alone("tests::processes::growing_heap_in_a_process_of_its_own", |_| {}).unwrap();
}
