//! The preallocated store of a node's records, in 64-bit words of NIC memory (paper, §5.2.1).
//!
//! ```text
//! word 0        mark: "BCSEMDS" and the layout's version
//!      1        scope: 0 local, 1 global
//!      2        metrics that are recorded, a bit each (order of Metric::ALL)
//!      3 4 5    slices: first, last, step
//!      6        rows that fit
//!      7        0
//!      8        rows recorded            ┐ written while the job runs, hence on
//!      9        rows that did not fit    │ a cache line of their own
//!     10        last slice of the job    ┘
//!  11..16       0
//!  16..         rows: slice, then one word per metric of word 2
//! ```
//!
//! One writer at a time: the holder of the NIC's run token, whose hand-over orders the writers. A row is
//! written, then counted (release), so that a reader in another process that sees the count sees the row. The
//! ranks of the job can write to this memory too, so nothing read from it is an index before it is checked;
//! the worst that a stray rank does is to spoil its own job's trace.

use super::metric::{EmdsRecord, Metric, MetricSet};
use super::scope::Scope;
use super::table::EmdsTable;
use crate::config::{EmdsConfig, SliceRange};
use bcs_core::SliceIndex;
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const MARK: u64 = u64::from_le_bytes(*b"BCSEMDS\x01");
const HEADER_WORDS: usize = 16;

const SCOPE: usize = 1;
const METRICS: usize = 2;
const FIRST: usize = 3;
const LAST: usize = 4;
const STEP: usize = 5;
const CAPACITY: usize = 6;
const RECORDED: usize = 8;
const OVERFLOWED: usize = 9;
const LAST_SLICE: usize = 10;

/// Memory that is not a ring, or not the one that was expected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// Fewer words than a ring with one row needs.
    #[error(
        "EMDS ring: {words} words of NIC memory do not hold a header and a record ({needed} words); give more"
    )]
    TooSmall {
        /// Words given.
        words: usize,
        /// Words of a ring with one row.
        needed: usize,
    },
    /// The memory was never formatted, by this version at least.
    #[error("EMDS ring: word 0 is {0:#018x}, not the mark of a ring; format the memory first")]
    NotARing(u64),
    /// A ring of the other scope.
    #[error("EMDS ring: the ring holds records of scope {found}, not {expected:?}")]
    OtherScope {
        /// The scope word.
        found: u64,
        /// The scope of the record type.
        expected: Scope,
    },
    /// A header word that cannot be: somebody wrote over it.
    #[error(
        "EMDS ring: {word} is {value}, which cannot be: the NIC memory was overwritten; the trace is lost"
    )]
    Corrupt {
        /// What the word is about.
        word: &'static str,
        /// What it holds.
        value: u64,
    },
}

/// Records of one type by slice. A view: copies share the memory.
#[derive(Clone, Copy, Debug)]
pub struct EmdsRing<'a, R> {
    words: &'a [AtomicU64],
    range: SliceRange,
    /// `last - first`: one subtraction and one compare decide whether a slice is recorded.
    span: u64,
    metrics: MetricSet,
    /// Words of a row.
    width: usize,
    /// Rows that fit.
    capacity: u64,
    record: PhantomData<fn(&R)>,
}

impl<'a, R: EmdsRecord> EmdsRing<'a, R> {
    /// The metrics of `config` that this type of record has. A ring of none still keeps the slices' numbers.
    fn selected(config: &EmdsConfig) -> MetricSet {
        config.metrics.and(R::METRIC_SET)
    }

    /// Words that hold every slice of `config`.
    pub fn words_needed(config: &EmdsConfig) -> usize {
        let width = Self::selected(config).len() + 1;
        usize::try_from(config.slices.count())
            .unwrap_or(usize::MAX)
            .saturating_mul(width)
            .saturating_add(HEADER_WORDS)
    }

    /// Makes an empty ring of `words`. With fewer words than [`words_needed`](Self::words_needed) the first
    /// slices of the range are kept and the others counted.
    ///
    /// # Errors
    /// [`RingError::TooSmall`] if not even one row fits.
    pub fn format(words: &'a [AtomicU64], config: &EmdsConfig) -> Result<Self, RingError> {
        let metrics = Self::selected(config);
        let width = metrics.len() + 1;
        if words.len() < HEADER_WORDS + width {
            return Err(RingError::TooSmall { words: words.len(), needed: HEADER_WORDS + width });
        }
        let range = config.slices;
        let capacity = range.count().min(((words.len() - HEADER_WORDS) / width) as u64);
        let header = [
            (SCOPE, R::SCOPE as u64),
            (METRICS, metrics.to_word()),
            (FIRST, range.first.0),
            (LAST, range.last.0),
            (STEP, range.step),
            (CAPACITY, capacity),
            (RECORDED, 0),
            (OVERFLOWED, 0),
            (LAST_SLICE, 0),
        ];
        for (word, value) in header {
            words[word].store(value, Relaxed);
        }
        words[0].store(MARK, Release);
        let span = range.last.0 - range.first.0;
        Ok(Self { words, range, span, metrics, width, capacity, record: PhantomData })
    }

    /// The ring that another process, or an earlier holder of the run token, formatted in `words`.
    ///
    /// # Errors
    /// Memory that holds no ring of this type, or one whose header was overwritten.
    #[inline]
    pub fn open(words: &'a [AtomicU64]) -> Result<Self, RingError> {
        if words.len() < HEADER_WORDS + 1 {
            return Err(RingError::TooSmall { words: words.len(), needed: HEADER_WORDS + 1 });
        }
        let mark = words[0].load(Acquire);
        if mark != MARK {
            return Err(RingError::NotARing(mark));
        }
        let get = |word: usize| words[word].load(Relaxed);
        if get(SCOPE) != R::SCOPE as u64 {
            return Err(RingError::OtherScope { found: get(SCOPE), expected: R::SCOPE });
        }
        let corrupt = |word, value| RingError::Corrupt { word, value };
        let metrics = MetricSet::from_word(get(METRICS))
            .filter(|m| m.and(R::METRIC_SET) == *m)
            .ok_or_else(|| corrupt("the set of metrics", get(METRICS)))?;
        let range =
            SliceRange { first: SliceIndex(get(FIRST)), last: SliceIndex(get(LAST)), step: get(STEP) };
        if range.last < range.first {
            return Err(corrupt("the last slice of the range", range.last.0));
        }
        if range.step == 0 {
            return Err(corrupt("the step of slices", 0));
        }
        let width = metrics.len() + 1;
        let capacity = get(CAPACITY);
        // No division: a ring is opened every slice.
        let fits = |rows: u64| {
            rows.checked_mul(width as u64).is_some_and(|used| used <= (words.len() - HEADER_WORDS) as u64)
        };
        if !fits(capacity) {
            return Err(corrupt("the number of rows", capacity));
        }
        let span = range.last.0 - range.first.0;
        Ok(Self { words, range, span, metrics, width, capacity, record: PhantomData })
    }

    /// Whether `slice` is one of those to record: ask before paying for time stamps that only EMDS needs.
    #[inline]
    pub fn selects(&self, slice: SliceIndex) -> bool {
        let offset = slice.0.wrapping_sub(self.range.first.0);
        offset <= self.span && (self.range.step == 1 || offset.is_multiple_of(self.range.step))
    }

    /// Records a slice, if it is one of those to record. The caller holds the NIC's run token.
    #[inline]
    pub fn record(&self, record: &R) {
        if self.selects(record.slice()) {
            self.append(record);
        }
    }

    #[inline]
    fn append(&self, record: &R) {
        let row = self.words[RECORDED].load(Relaxed);
        if row >= self.capacity {
            let overflowed = &self.words[OVERFLOWED];
            overflowed.store(overflowed.load(Relaxed).wrapping_add(1), Relaxed);
            return;
        }
        // In bounds: row < capacity, and capacity rows fit, both in `format` and in `open`.
        let row_words = &self.words[HEADER_WORDS + row as usize * self.width..][..self.width];
        row_words[0].store(record.slice().0, Relaxed);
        let values = record.values();
        if self.metrics == R::METRIC_SET {
            row_words[1..].iter().zip(values.as_ref()).for_each(|(word, value)| word.store(*value, Relaxed));
            self.words[RECORDED].store(row + 1, Release);
            return;
        }
        let selected = R::METRICS.iter().zip(values.as_ref()).filter(|(m, _)| self.metrics.contains(**m));
        for (word, (_, value)) in row_words[1..].iter().zip(selected) {
            word.store(*value, Relaxed);
        }
        self.words[RECORDED].store(row + 1, Release);
    }

    /// The job's last slice was `last`, so that the dump can say how many slices it does not show.
    pub fn finish(&self, last: SliceIndex) {
        self.words[LAST_SLICE].store(last.0, Relaxed);
    }

    /// The sum of a metric over the slices that are recorded, and their number; a sum of 0 if the metric is
    /// not recorded.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn sum(&self, metric: Metric) -> Result<(u64, u64), RingError> {
        let rows = self.words[RECORDED].load(Acquire);
        if rows > self.capacity {
            return Err(RingError::Corrupt { word: "the number of recorded rows", value: rows });
        }
        let column = self.metrics.iter().position(|recorded| recorded == metric);
        let Some(column) = column else { return Ok((0, rows)) };
        let rows_words = self.words[HEADER_WORDS..][..rows as usize * self.width].chunks_exact(self.width);
        let sum = rows_words.fold(0u64, |sum, row| sum.wrapping_add(row[column + 1].load(Relaxed)));
        Ok((sum, rows))
    }

    /// A copy of what is recorded.
    ///
    /// # Errors
    /// [`RingError::Corrupt`] if the number of rows was overwritten.
    pub fn read(&self) -> Result<EmdsTable, RingError> {
        let rows = self.words[RECORDED].load(Acquire);
        if rows > self.capacity {
            return Err(RingError::Corrupt { word: "the number of recorded rows", value: rows });
        }
        let rows = &self.words[HEADER_WORDS..][..rows as usize * self.width];
        let column =
            |offset: usize| rows.chunks_exact(self.width).map(|row| row[offset].load(Relaxed)).collect();
        Ok(EmdsTable {
            scope: R::SCOPE,
            range: self.range,
            slices: column(0),
            columns: self.metrics.iter().enumerate().map(|(i, m)| (m, column(i + 1))).collect(),
            overflowed: self.words[OVERFLOWED].load(Relaxed),
            last_slice: self.words[LAST_SLICE].load(Relaxed),
        })
    }
}
