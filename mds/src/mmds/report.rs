//! What MMDS found about one process, in nanoseconds: the body of an MMDS file.

use super::distribution::Distribution;
use super::primitive::Primitive;
use super::recorder::Tally;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering::Relaxed;

/// The figures of one process; times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessReport {
    /// Threads that called MPI.
    pub threads: u64,
    /// Time of the thread that initialised MPI, from start to stop.
    #[serde(rename = "run_time_ns")]
    pub run_time: u64,
    /// Time of all threads together, each from its first call to its end; equals `run_time` for one thread.
    /// Computation and communication add up to it.
    #[serde(rename = "thread_time_ns")]
    pub thread_time: u64,
    /// The call that was under way when recording stopped, of a job that was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
    /// Messages that came before their receives and waited in the process's pool.
    #[serde(default, skip_serializing_if = "UnexpectedReport::is_empty")]
    pub unexpected: UnexpectedReport,
    /// Collectives by the algorithms that they went by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<AlgorithmReport>,
    /// Computation granularity: the intervals between blocking calls.
    pub computation: IntervalReport,
    /// Communication overhead: the intervals inside blocking calls.
    pub communication: IntervalReport,
    /// The primitives that were called at least once, in the order of [`Primitive::ALL`].
    pub calls: Vec<CallReport>,
}

/// What a process had of messages that came before their receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnexpectedReport {
    /// How many waited in the process's pool, in the whole run.
    pub messages: u64,
    /// The most bytes that they took up at once.
    pub most_bytes: u64,
}

/// How often a process has had a collective go by an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlgorithmReport {
    /// The collective, whatever the form of the call: `allreduce`.
    pub collective: String,
    /// The algorithm, as `storm run --collective` names it.
    pub algorithm: String,
    /// Operations.
    pub count: u64,
}

impl UnexpectedReport {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How many intervals or calls there were, and how long they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// How many.
    pub count: u64,
    /// The shortest, in ns; 0 when there is none.
    #[serde(rename = "min_ns")]
    pub min: u64,
    /// The longest, in ns.
    #[serde(rename = "max_ns")]
    pub max: u64,
    /// Their sum, in ns.
    #[serde(rename = "total_ns")]
    pub total: u64,
}

/// Computation granularity or communication overhead (paper, §5.1.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalReport {
    /// The intervals.
    #[serde(flatten)]
    pub figures: Figures,
    /// Their distribution, in ns.
    pub distribution: DistributionReport,
}

/// One primitive's row of table 5.3, and its distributions where they were asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReport {
    /// The call's C name.
    pub name: String,
    /// The calls.
    #[serde(flatten)]
    pub figures: Figures,
    /// Bytes moved, for calls that name a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Distribution of the latency, in ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<DistributionReport>,
    /// Distribution of the size, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<DistributionReport>,
}

/// A distribution as it is written: `[low, high, count]`, rising, both ends included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DistributionReport {
    /// Significant digits of the buckets' width.
    pub digits: u8,
    /// The buckets that hold something.
    pub buckets: Vec<[u64; 3]>,
}

impl DistributionReport {
    fn new(distribution: &Distribution) -> Self {
        let buckets = distribution.buckets().map(|b| [b.low, b.high, b.count]).collect();
        Self { digits: distribution.resolution().digits(), buckets }
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, b| sum.saturating_add(b[2]))
    }
}

impl Figures {
    fn of(tally: &Tally) -> Self {
        let [count, min, max, total] =
            [&tally.count, &tally.min, &tally.max, &tally.total].map(|f| f.load(Relaxed));
        Self { count, min: if count == 0 { 0 } else { min }, max, total }
    }
}

impl IntervalReport {
    pub(super) fn new(tally: &Tally, distribution: &Distribution) -> Self {
        Self { figures: Figures::of(tally), distribution: DistributionReport::new(distribution) }
    }
}

impl CallReport {
    /// The row of `primitive`, or `None` if it was never called.
    pub(super) fn new(
        primitive: Primitive,
        tally: &Tally,
        latency: Option<&Distribution>,
        size: Option<&Distribution>,
    ) -> Option<Self> {
        let figures = Figures::of(tally);
        (figures.count > 0).then(|| Self {
            name: primitive.name().to_owned(),
            figures,
            bytes: primitive.is_sized().then(|| tally.bytes.load(Relaxed)),
            latency: latency.map(DistributionReport::new),
            size: size.map(DistributionReport::new),
        })
    }
}
