//! Collective communication (MPI-5.0, chapter 6; paper, §4.4): one algorithm a file.
//!
//! Every collective of a communicator has a number that all members count alike ([`crate::communicator::Communicator`]);
//! [`crate::communicator::arrive`] posts a member's arrival with it, and [`crate::communicator::released`] waits for its release.
