//! The Machine Manager of a cluster (paper, §4.1): a daemon that knows the nodes, places jobs on them,
//! commits their launches, and beats the time.
//!
//! | module | holds |
//! |---|---|
//! | [`mapping`] | which ranks run on which nodes, decided without I/O |
//! | [`daemon`] | the daemon |

pub mod daemon;
pub mod mapping;

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: bcs_core::damage::CountingAllocator = bcs_core::damage::CountingAllocator;
