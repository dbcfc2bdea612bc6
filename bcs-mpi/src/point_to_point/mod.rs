//! Point-to-point communication (MPI-5.0, chapter 3): sends in four modes, receives, probes.
//!
//! Here arguments are checked and become descriptors; the BCS API moves them. All of a call's arguments are
//! checked before anything is posted.

pub mod attached_buffer;
mod envelope;
pub mod matched;
pub mod persistent;
mod probe;
mod receive;
mod send;
mod sendrecv;

pub use envelope::Peer;
pub(crate) use envelope::send_tag;
pub use probe::probe;
pub use receive::recv;
pub use send::{SendMode, send};
pub use sendrecv::{Peers, sendrecv, sendrecv_replace};

/// Calls what few programs need, out of the way of what all need.
#[cold]
#[inline(never)]
fn seldom<R>(call: impl FnOnce() -> R) -> R {
    call()
}
