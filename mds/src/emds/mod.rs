//! EMDS, the Elan MDS (paper, §5.2): what the NIC threads did, slice by slice, recorded in NIC memory.
//!
//! The Strobe Sender records a [`GlobalRecord`] a slice (table 5.1), the Strobe Receiver of every node a
//! [`LocalRecord`] (table 5.2), each in an [`EmdsRing`] of its own.
//!
//! ```
//! use bcs_core::SliceIndex;
//! use mds::{EmdsConfig, EmdsRing, LocalRecord};
//! use std::sync::atomic::AtomicU64;
//!
//! let config = EmdsConfig::default();
//! let words: Vec<AtomicU64> = (0..EmdsRing::<LocalRecord>::words_needed(&config)).map(|_| AtomicU64::new(0)).collect();
//! let ring = EmdsRing::<LocalRecord>::format(&words, &config)?;
//! ring.record(&LocalRecord { slice: SliceIndex(1), letts_ns: 500_000, bpts: 2, ..LocalRecord::default() });
//! ring.finish(SliceIndex(1));
//! assert_eq!(ring.read()?.slices, [1]);
//! # Ok::<(), mds::RingError>(())
//! ```

mod metric;
mod ring;
mod scope;
mod table;

pub use metric::{EmdsRecord, GlobalRecord, LocalRecord, Metric, MetricSet};
pub use ring::{EmdsRing, RingError};
pub use scope::Scope;
pub use table::EmdsTable;
