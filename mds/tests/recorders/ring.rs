//! What the EMDS rings promise (paper, §5.2.1): the slices that were asked for, no more, and a count of the
//! rest.

use bcs_core::SliceIndex;
use mds::config::{Selection, SliceRange};
use mds::{EmdsConfig, EmdsRing, GlobalRecord, LocalRecord, Metric, MetricSet, RingError};
use proptest::prelude::*;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

fn words(n: usize) -> Vec<AtomicU64> {
    // Not zero: a ring must not depend on fresh memory.
    (0..n).map(|_| AtomicU64::new(0xdead_beef)).collect()
}

fn config(first: u64, last: u64, step: u64, metrics: MetricSet) -> EmdsConfig {
    let slices = SliceRange { first: SliceIndex(first), last: SliceIndex(last), step };
    EmdsConfig { slices, nodes: Selection::All, metrics }
}

fn local(slice: u64) -> LocalRecord {
    LocalRecord {
        slice: SliceIndex(slice),
        letts_ns: slice * 100,
        ltdem_ns: slice * 100 + 1,
        ltmsm_ns: slice * 100 + 2,
        ltp2p_ns: slice * 100 + 3,
        ltbbm_ns: slice * 100 + 4,
        ltrm_ns: slice * 100 + 5,
        ltts_ns: slice * 100 + 6,
        np2pdem: slice * 100 + 7,
        np2pmsm: slice * 100 + 8,
        ncolldem: slice * 100 + 9,
        ncollmsm: slice * 100 + 10,
        bpts: slice * 100 + 11,
        umts: slice * 100 + 12,
        ubts: slice * 100 + 13,
    }
}

fn metrics() -> impl Strategy<Value = MetricSet> {
    prop::collection::vec(any::<bool>(), Metric::ALL.len()).prop_map(|chosen| {
        Metric::ALL.iter().zip(chosen).filter(|(_, c)| *c).map(|(m, _)| *m).collect::<MetricSet>()
    })
}

proptest! {
    #[test]
    fn a_ring_keeps_the_selected_slices_and_metrics_and_counts_the_rest(
        first in 1u64..40, length in 0u64..40, step in 1u64..5, chosen in metrics(), run in 0u64..100,
        short_by in 0usize..60
    ) {
        let config = config(first, first + length, step, chosen);
        let needed = EmdsRing::<LocalRecord>::words_needed(&config);
        let columns: Vec<Metric> = chosen.iter().filter(|m| m.scope() == mds::emds::Scope::Local).collect();
        let memory = words(needed.saturating_sub(short_by).max(17 + columns.len()));
        let ring = EmdsRing::<LocalRecord>::format(&memory, &config).unwrap();
        for slice in 1..=run {
            ring.record(&local(slice));
        }
        ring.finish(SliceIndex(run));
        let capacity = (memory.len() - 16) / (columns.len() + 1);
        let wanted: Vec<u64> = (first..=first + length).step_by(step as usize).filter(|s| *s <= run).collect();
        let kept = &wanted[..wanted.len().min(capacity)];

        let table = EmdsRing::<LocalRecord>::open(&memory).unwrap().read().unwrap();
        prop_assert_eq!(&table, &ring.read().unwrap());
        prop_assert_eq!(&table.slices, kept);
        prop_assert_eq!(table.overflowed, (wanted.len() - kept.len()) as u64);
        prop_assert_eq!(table.not_recorded(), run - kept.len() as u64);
        prop_assert_eq!(table.columns.iter().map(|c| c.0).collect::<Vec<_>>(), columns);
        for (metric, values) in &table.columns {
            let offset = Metric::ALL.iter().position(|m| m == metric).unwrap() as u64;
            prop_assert_eq!(values, &kept.iter().map(|s| s * 100 + offset).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_header_that_was_overwritten_is_an_error_and_never_an_index(
        overwrites in prop::collection::vec((0usize..16, prop_oneof![0u64..20, any::<u64>()]), 1..4)
    ) {
        let config = config(1, 10, 1, MetricSet::ALL);
        let memory = words(EmdsRing::<LocalRecord>::words_needed(&config));
        let ring = EmdsRing::<LocalRecord>::format(&memory, &config).unwrap();
        ring.record(&local(1));
        for (word, value) in overwrites {
            memory[word].store(value, Relaxed);
        }
        ring.record(&local(2));
        let _ = ring.read();
        if let Ok(ring) = EmdsRing::<LocalRecord>::open(&memory) {
            ring.record(&local(3));
            let _ = ring.read();
        }
    }
}

#[test]
fn the_default_range_is_the_papers_ten_thousand_slices() {
    let config = EmdsConfig::default();
    let memory = words(EmdsRing::<GlobalRecord>::words_needed(&config));
    assert_eq!(memory.len(), 16 + 10_000 * 8);
    let ring = EmdsRing::<GlobalRecord>::format(&memory, &config).unwrap();
    for slice in 1..=10_003 {
        ring.record(&GlobalRecord { slice: SliceIndex(slice), usrmsm: slice, ..GlobalRecord::default() });
    }
    ring.finish(SliceIndex(10_003));
    let table = ring.read().unwrap();
    assert_eq!(table.slices.len(), 10_000);
    assert_eq!(table.column(Metric::Usrmsm).unwrap()[9_999], 10_000);
    assert_eq!((table.overflowed, table.not_recorded()), (0, 3));
}

#[test]
fn memory_that_is_no_ring_is_refused() {
    let needed = RingError::TooSmall { words: 3, needed: 17 };
    assert_eq!(EmdsRing::<LocalRecord>::open(&words(3)).unwrap_err(), needed);
    let blank = RingError::NotARing(0xdead_beef);
    assert_eq!(EmdsRing::<LocalRecord>::open(&words(100)).unwrap_err(), blank);
    let memory = words(100);
    assert!(EmdsRing::<GlobalRecord>::format(&memory, &EmdsConfig::default()).is_ok());
    assert!(matches!(EmdsRing::<LocalRecord>::open(&memory), Err(RingError::OtherScope { .. })));
    assert!(EmdsRing::<LocalRecord>::format(&words(30), &EmdsConfig::default()).is_err());
    assert!(EmdsRing::<LocalRecord>::format(&words(31), &EmdsConfig::default()).is_ok());
}
