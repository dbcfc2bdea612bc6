//! What the cache costs: a registration that is found, one that is made, and memory that is unmapped.
//!
//! `cargo run --release -p bcs-registration --example costs`. The registrar does nothing. On a virtual core
//! of an AMD EPYC, where a system call of this kind takes 0.35 us: a hit 0.38 us; a miss that evicts another
//! registration of the same mapping 5.4 us for 4 KB and 13 us for 1 MB (of which 8 us in reading
//! `/proc/self/pagemap`, by the page); one that evicts the last registration of a mapping of 1 MB 25 us more
//! (`UFFDIO_UNREGISTER`, by the page of the mapping); munmap of 1 MB 70 us, and 120 us where it is
//! registered. Before Linux 6.11 a miss takes 33 us more, and 66 us where the mapping is left: it reads
//! `/proc/self/maps`, by the line (here some fifty).

use bcs_registration::{Limits, Registrar, RegistrationCache};
use std::convert::Infallible;
use std::ptr::{NonNull, null_mut};
use std::time::{Duration, Instant};

const SERIES: usize = 30;
const BYTES: usize = 1 << 20;

struct Nothing;

impl Registrar for Nothing {
    type Region = ();
    type Error = Infallible;

    unsafe fn register(&self, _: NonNull<u8>, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
}

/// A mapping with all of its pages.
fn map() -> NonNull<u8> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE;
    // SAFETY: a new mapping is nobody's.
    let memory = unsafe { libc::mmap(null_mut(), BYTES, protection, flags, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    NonNull::new(memory.cast()).expect("the system maps nothing at zero")
}

fn unmap(memory: NonNull<u8>) {
    // SAFETY: it is a mapping of this program's, and nobody uses it any more.
    assert_eq!(unsafe { libc::munmap(memory.as_ptr().cast(), BYTES) }, 0);
}

#[allow(clippy::disallowed_methods)]
fn time(call: impl FnOnce()) -> Duration {
    let began = Instant::now();
    call();
    began.elapsed()
}

/// The best of the series, of one round of each, in nanoseconds.
fn report(what: &str, rounds: u32, mut series: impl FnMut() -> Duration) {
    let best = (0..SERIES).map(|_| series()).min().unwrap_or_default();
    println!("{what:55} {:8.0} ns", best.as_nanos() as f64 / f64::from(rounds));
}

fn hold(cache: &RegistrationCache<Nothing>, memory: NonNull<u8>, bytes: usize) {
    // SAFETY: it is mapped, and this thread does nothing else meanwhile.
    let Ok(held) = unsafe { cache.hold(memory, bytes) };
    drop(held);
}

fn main() {
    let limits = Limits { registrations: 1024, bytes: 1 << 30 };
    let cache = RegistrationCache::new(Nothing, limits);
    let memory = map();
    let hits = |bytes: usize| {
        time(|| {
            for _ in 0..10_000 {
                hold(&cache, memory, bytes);
            }
        })
    };
    hold(&cache, memory, BYTES);
    report("hit", 10_000, || hits(BYTES));

    let others: Vec<_> = (0..1000).map(|_| map()).collect();
    others.iter().for_each(|other| hold(&cache, *other, BYTES / 2));
    report("hit, among 1000 registrations", 10_000, || hits(BYTES));
    others.into_iter().for_each(unmap);

    for (bytes, is_apart) in [(4096, false), (BYTES, false), (4096, true), (BYTES, true)] {
        // Room for one: each takes the place of the other.
        let cache = RegistrationCache::new(Nothing, Limits { registrations: 1, bytes: 1 << 30 });
        // The system makes one mapping of both, unless they differ.
        let [one, other] = [map(), map()];
        if is_apart {
            // SAFETY: it is mapped, and such advice changes nothing here.
            let advised = unsafe { libc::madvise(one.as_ptr().cast(), BYTES, libc::MADV_DONTFORK) };
            assert_eq!(advised, 0);
        }
        let place = if is_apart { "of two mappings" } else { "of one mapping" };
        report(&format!("miss and eviction, {bytes} bytes {place}"), 2000, || {
            time(|| {
                for _ in 0..1000 {
                    hold(&cache, one, bytes);
                    hold(&cache, other, bytes);
                }
            })
        });
        assert_eq!(cache.statistics().uncached, 0);
        unmap(one);
        unmap(other);
    }

    for is_watched in [false, true] {
        let what = if is_watched { "munmap of 1 MB, registered" } else { "munmap of 1 MB, not registered" };
        report(what, 100, || {
            let unmaps = (0..100).map(|_| {
                let memory = map();
                if is_watched {
                    hold(&cache, memory, BYTES);
                }
                time(|| unmap(memory))
            });
            unmaps.sum()
        });
    }
    println!("{:?}", cache.statistics());
}
