//! The atomics of NIC memory. Under `--cfg loom` they are loom's, so that rings and token are model-checked
//! with the very code that runs.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
