//! The Node Manager of a node in a cluster (paper, §4.1): a daemon that executes a program launcher
//! (`program-launcher`) for each job, as the job's user.

pub mod daemon;
