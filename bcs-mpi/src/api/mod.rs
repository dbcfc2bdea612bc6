//! The BCS API (paper, table 4.1): the calls that everything maps on (table 4.2).
//!
//! | BCS | MPI |
//! |---|---|
//! | [`bcs_send`] | MPI_Send and its modes (blocking), MPI_Isend and its modes (non-blocking) |
//! | [`bcs_recv`] | MPI_Recv, MPI_Irecv |
//! | [`bcs_probe`] | MPI_Probe, MPI_Iprobe |
//! | [`bcs_test`], in blocking calls; else [`crate::request::complete`] | MPI_Test, MPI_Wait |
//! | `bcs_testall`: [`crate::request::complete`] | MPI_Testall, MPI_Waitall |
//! | collectives: [`crate::collective`] | MPI_Barrier, MPI_Bcast, … |
//!
//! Below it is the NIC: descriptors, posted at the port.

mod mode;
mod probe;
mod receive;
mod send;
mod test;

pub use mode::Mode;
pub use probe::{bcs_probe, waiting_for_message};
pub use receive::{Received, bcs_begin_recv, bcs_recv};
pub use send::{bcs_send, bcs_send_filled};
pub use test::bcs_test;
