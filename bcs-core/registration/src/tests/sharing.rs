//! Memory of other kinds: files, shared memory, the stack.

use super::*;
use std::os::fd::AsRawFd;

fn shared_memory(bytes: usize) -> std::os::fd::OwnedFd {
    let file = rustix::fs::memfd_create("registration", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&file, bytes as u64).unwrap();
    file
}

#[test]
fn a_private_mapping_of_a_file_is_not_kept_and_lets_those_that_are_kept_stay() {
    let (cache, open) = cache_of(Limits { registrations: 1, bytes: 1 << 20 });
    let (place, beside) = (Place::of_pages(4), Place::mapped(1));
    let program = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    assert!(place.map_with(libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE, program.as_raw_fd()));
    beside.renew();
    beside.generation(&cache);
    for round in 1..=10 {
        let generation = place.renew();
        assert_eq!(place.generation(&cache), generation);
        assert_eq!((calls(&cache), open.load(Ordering::Relaxed)), ((0, round + 1, round), 1));
    }
    beside.generation(&cache);
    assert_eq!(calls(&cache).0, 1);
    place.unmap();
    beside.unmap();
}

#[test]
fn data_of_the_program_is_not_kept() {
    static mut DATA: [u64; 2048] = [7; 2048];
    let (cache, _) = cache_of(LIMITS);
    for round in 1..=3 {
        // SAFETY: it is mapped and stays.
        drop(unsafe { cache.hold(NonNull::new((&raw mut DATA).cast()).unwrap(), 16_384) }.unwrap());
        assert_eq!(calls(&cache), (0, round, round));
    }
}

#[test]
fn shared_memory_is_not_kept_because_its_file_can_drop_it() {
    let (cache, open) = cache_of(Limits { registrations: 1, bytes: 1 << 20 });
    let (place, beside) = (Place::of_pages(4), Place::mapped(1));
    let file = shared_memory(place.0.len());
    beside.renew();
    beside.generation(&cache);
    assert!(place.map_with(libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE, file.as_raw_fd()));
    for round in 1..=10 {
        let generation = place.renew();
        assert_eq!(place.generation(&cache), generation);
        assert_eq!((calls(&cache), open.load(Ordering::Relaxed)), ((0, round + 1, round), 1));
        // No event tells this.
        rustix::fs::ftruncate(&file, 0).unwrap();
        rustix::fs::ftruncate(&file, place.0.len() as u64).unwrap();
    }
    // Neither is what is shared behind pages of the process's own.
    let part = place.pages(0..2);
    assert!(part.map_with(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED, -1));
    place.renew();
    place.generation(&cache);
    assert_eq!(calls(&cache), (0, 12, 11));
    part.generation(&cache);
    assert_eq!(calls(&cache), (0, 13, 11));
    place.unmap();
    beside.unmap();
}

#[test]
fn shared_memory_whose_file_stays_is_kept_and_its_changes_are_told() {
    // SAFETY: the files are as long as they are, and have no holes but by advice, which is told.
    let cache = unsafe { RegistrationCache::with_shared_memory(Recorder::default(), LIMITS) };
    let place = Place::of_pages(4);
    let file = shared_memory(place.0.len());
    let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
    for round in 1..=1000 {
        assert!(place.map_with(flags, file.as_raw_fd()));
        let generation = place.renew();
        assert_eq!([place.generation(&cache), place.generation(&cache)], [generation; 2]);
        place.pages(1..2).advise(libc::MADV_REMOVE);
        let generation = place.renew();
        assert_eq!([place.generation(&cache), place.generation(&cache)], [generation; 2]);
        assert_eq!(calls(&cache), (2 * round, 2 * round, 0));
        place.unmap();
    }
}

#[test]
fn memory_of_huge_pages_is_registered_anew_or_kept_whole() {
    let bytes = 2 << 20;
    let place = Place::of_pages(bytes / page());
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | libc::MAP_FIXED_NOREPLACE;
    if !place.map_with(flags, -1) {
        println!("skipped: the system has no huge pages to give (vm.nr_hugepages)");
        return;
    }
    let (cache, _) = cache_of(LIMITS);
    for _ in 0..10 {
        let generation = place.renew();
        assert_eq!(place.pages(1..2).generation(&cache), generation);
        assert_eq!(place.generation(&cache), generation);
        place.unmap();
        assert!(place.map_with(flags, -1));
    }
    place.unmap();
}

#[test]
fn the_stack_is_kept() {
    let (cache, _) = cache_of(LIMITS);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..100 {
                let mut words = [0_u64; 4096];
                words.fill(round);
                // SAFETY: it is mapped and stays during the call.
                let held = unsafe { cache.hold(NonNull::from(&mut words).cast(), size_of_val(&words)) };
                assert_eq!(held.unwrap().range().len() % page(), 0);
                std::hint::black_box(&words);
            }
        });
    });
    assert_eq!(calls(&cache), (99, 1, 0));
}
