//! What recording costs besides the two clock reads: `cargo bench -p benchmarks --bench recorder`.
// criterion_group! makes a public function without a description.
#![allow(missing_docs)]

use bcs_core::SliceIndex;
use criterion::{Criterion, criterion_group, criterion_main};
use mds::{EmdsConfig, EmdsRing, LocalRecord, MmdsConfig, Primitive, ProcessRecorder};
use std::hint::black_box;
use std::sync::atomic::AtomicU64;

fn calls(c: &mut Criterion) {
    let plain = MmdsConfig::default();
    let every = || Primitive::ALL.iter().copied().collect();
    let distributions = MmdsConfig { latency: every(), size: every(), ..plain.clone() };
    for (name, config) in [("call", &plain), ("call with latency and size distributions", &distributions)] {
        for primitive in [Primitive::Isend, Primitive::Send] {
            let process = ProcessRecorder::new(config, 0);
            let mut now = 0;
            c.bench_function(&format!("mmds {name}: {primitive}"), |b| {
                b.iter(|| {
                    let entry = process.main().enter(black_box(primitive), black_box(now + 100));
                    now += 317;
                    process.main().leave(entry, black_box(now), black_box(64));
                });
            });
        }
    }
}

fn slices(c: &mut Criterion) {
    let config = EmdsConfig::default();
    let words: Vec<AtomicU64> =
        (0..EmdsRing::<LocalRecord>::words_needed(&config)).map(|_| AtomicU64::new(0)).collect();
    let mut slice = 0;
    c.bench_function("emds slice in the range", |b| {
        let mut ring = EmdsRing::<LocalRecord>::format(&words, &config).expect("the words that it needs");
        b.iter(|| {
            if slice == 10_000 {
                slice = 0;
                ring = EmdsRing::<LocalRecord>::format(&words, &config).expect("the words that it needs");
            }
            slice += 1;
            let record =
                LocalRecord { slice: SliceIndex(slice), letts_ns: 500_000, ..LocalRecord::default() };
            ring.record(black_box(&record));
        });
    });
    let ring = EmdsRing::<LocalRecord>::open(&words).expect("formatted above");
    let outside = LocalRecord { slice: SliceIndex(20_000), ..LocalRecord::default() };
    c.bench_function("emds slice outside the range", |b| b.iter(|| ring.record(black_box(&outside))));
}

criterion_group!(benches, calls, slices);
criterion_main!(benches);
