//! A link between two nodes that whoever waits can drive.
//!
//! All that a link knows lies in a range of shared memory: records that wait to be sent, a frame that is half
//! sent, one that has half come, records that nobody has taken yet, keys and counters. So any process of the
//! node that has the range and the socket can go on where another one has stopped: a process that waits for a
//! message drives the link between two looks at its own request, and no other has to be woken.
//!
//! ```text
//!   processes of node A                                                       processes of node B
//!   append ─► outgoing ring ─ seal ─► frame ─► TCP ─► stage ─ open ─► incoming ring ─► take
//!             └───── lock for sending ──────┘        └── lock for receiving ──┘
//! ```
//!
//! A **record** is what is sent: up to 64 KB and a little, whole, in order, once. A **frame** is what
//! travels: the next bytes of the ring of records, as many as there are (64 KB and 1 KB at most), sealed
//! together. So many small records share one frame, one seal and one system call. Of a long record the rest,
//! behind a short front, may be a frame of its own: it is sealed from the sender's buffer and opened into the
//! receiver's, and never lies in a ring ([`LinkEnd::appender_to`], [`LinkEnd::drive_receiving_to`]).
//!
//! **Flow control** is one, in bytes: a sender never seals more than the receiver's ring has room for. Every
//! frame says how much its sender has taken of the other direction, and a frame of its own does when that is
//! half a ring. Rings of both ends have the same size, so a position names the same place in both.
//!
//! **Locks** are only ever tried, and name their holder. A holder that died is found
//! ([`LinkEnd::dead_holder`]), and the job is to be ended: what it did may be half done.
//!
//! **What is checked.** Positions and lengths that are read from shared memory are checked where they are
//! used. What cannot be, and what the other end may not send, ends the link with a [`LinkFault`], which is
//! final and which all processes see. No reference into the bytes of shared memory is ever made.
//!
//! **Set-up.** Who opens a link has proved who is at the other end, and has a secret for each direction
//! ([`LinkSecrets`]): `bcs-tcp` by a handshake over the connection, which is over when frames begin. The end
//! that accepted greets first: before that greeting the end that dialled sends nothing behind its last
//! message of the handshake. So neither end can take bytes of frames for bytes of the handshake.
//!
//! | file | holds |
//! |---|---|
//! | `layout` | sizes, and where what lies |
//! | `state`, `ring` | what lies in shared memory: words, bytes |
//! | `lock` | locks between processes |
//! | `frame` | how a frame begins |
//! | `seal`, `keys` | AES-128-GCM and HKDF; secrets, nonces, renewal |
//! | `records`, `road` | appending and taking records, and those that messages of a job are |
//! | `sending`, `receiving` | from ring to socket, and from socket to ring |
//! | `remote` | rings that remote writes move, not a socket |
//! | `signal` | positions that one node writes into another's memory |
//! | `end` | one end of a link: the calls |
//! | `fault` | why a link has ended |

mod end;
mod fault;
mod frame;
mod keys;
mod layout;
mod lock;
mod receiving;
mod records;
mod remote;
mod ring;
mod road;
mod seal;
mod sending;
mod signal;
mod state;
#[cfg(test)]
mod tests;

pub use end::{CloseWhen, LinkEnd, LinkLock, Protection};
pub use fault::{FaultKind, LinkFault};
pub use keys::LinkSecrets;
pub use layout::{LINK_ALIGNMENT, LinkLayout, RingBytesError};
pub use lock::is_process_alive;
pub use receiving::{Opening, Place};
pub use records::{Appender, Record, Taker, Verdict};
pub use road::{ROAD_HEADER, ROAD_HEADER_BYTES};
pub use seal::{Refused, SECRET_BYTES};
pub use sending::refusal;
pub use signal::{PROVEN_BYTES, SIGNAL_BYTES, SIGNAL_STRIDE, SignalWords, digest};
pub use state::Side;
