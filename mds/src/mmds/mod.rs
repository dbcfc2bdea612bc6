//! MMDS, the Main MDS (paper, §5.1): statistics of one process, recorded inside the MPI library.
//!
//! ```
//! use mds::{MmdsConfig, Primitive, ProcessRecorder};
//!
//! let process = ProcessRecorder::new(&MmdsConfig::default(), 1_000);
//! let recorder = process.main();
//! let entry = recorder.enter(Primitive::Send, 5_000);
//! recorder.leave(entry, 7_000, 4096);
//! process.stop(9_000);
//! let report = process.report();
//! assert_eq!(report.communication.figures.total, 2_000);
//! assert_eq!(report.computation.figures.total + 2_000, report.run_time);
//! ```

mod distribution;
mod primitive;
mod process;
mod recorder;
mod report;
mod totals;

pub use distribution::{Bucket, Distribution, Resolution};
pub use primitive::Primitive;
pub use process::ProcessRecorder;
pub use recorder::{Entry, Recorder};
pub use report::{
    AlgorithmReport, CallReport, DistributionReport, Figures, IntervalReport, ProcessReport, UnexpectedReport,
};
pub use totals::CallTotals;
