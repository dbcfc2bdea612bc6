//! MDS, the Monitoring and Debugging System (paper, §5): what a program did, call by call (MMDS, per
//! process), and what the NICs did, slice by slice (EMDS, per node and global).
//!
//! Three parts, from the inside of a run to what a user reads:
//!
//! - [`config`]: what to record, from the environment variables that `storm run` sets;
//! - [`mmds`] and [`emds`]: the recorders, which the MPI library and the NIC call while a job runs;
//! - [`trace`]: the file that a rank leaves in a trace directory; `mds-trace` has the other files, and reads
//!   them.
//!
//! The recorders read no clock and open no file: time is an argument. Recorders that are off do not exist
//! (`None` in [`MdsConfig`]), so that a run without MDS pays one predictable branch a call.

pub mod config;
pub mod emds;
pub mod mmds;
pub mod trace;

pub use config::{ConfigError, EmdsConfig, MdsConfig, MmdsConfig};
pub use emds::{EmdsRecord, EmdsRing, GlobalRecord, LocalRecord, Metric, MetricSet, RingError};
pub use mmds::{Entry, Primitive, ProcessRecorder, Recorder};
pub use trace::TraceError;
