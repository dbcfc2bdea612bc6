//! What one user's job may take of the node manager, in bytes, time and number, and of the node as far as the
//! node manager bounds it. Everything of the daemon that a launcher, a rank or a job's user has a hand on is
//! held to a number of this file.
//!
//! What a job holds of the daemon's memory, at most:
//!
//! | what | bytes |
//! |---|---|
//! | the notice that is being read of its launcher | [`Notice::MAX_BYTES`] |
//! | its messages that wait for the stream to the manager | [`WAITING_BYTES`], and the one that goes beyond that |
//! | what its launcher has not read: its launch, as the manager has sent it, and what else it is told | its launch and [`COMMAND_BYTES`] |
//! | input that its ranks have not read | [`INPUT_CREDIT`] |
//!
//! Its output waits in its pipes: what of it is under way counts as its messages, and as [`OUTPUT_CREDIT`] up
//! to the user's `storm`. There are at most [`JOBS`] jobs, and all of them together have at most
//! [`STREAM_BYTES`] handed over to the stream.
//!
//! In time: nothing that depends on a user's process or file system is waited for without doing everything
//! else meanwhile. A launcher that is not executed within [`EXECUTION`], or does not go within [`PATIENCE`],
//! is killed; what a job leaves is looked for for [`STRAYS`].

use bcs_core::wire::WireMessage;
use bcs_protocol::node::{INPUT_CREDIT, OUTPUT_CREDIT};
use program_launcher::control::Notice;
use std::time::Duration;

/// How many jobs a node has at a time.
pub const JOBS: usize = 1024;

/// What is read at once of a job's output, in bytes.
pub const CHUNK_BYTES: usize = 32 << 10;

/// So many bytes of messages may wait for the stream to the manager before no more is read of the launcher
/// and its ranks.
pub const WAITING_BYTES: usize = 128 << 10;

/// Bytes of messages of all jobs that are handed over to the stream.
pub const STREAM_BYTES: usize = 4 << 20;

/// What may wait to be read by the launcher beside its launch, in bytes: a roster, signals, and questions.
/// One that leaves more unread is of no use.
pub const COMMAND_BYTES: usize = 8 << 20;

/// The longest text of a launcher that is passed on, in bytes; a longer one is cut.
pub const TEXT_BYTES: usize = 4 << 10;

/// The same for what the user reads at the end of a job: its report has a line for each of the most ranks
/// that it names.
pub const REPORT_BYTES: usize = 64 << 10;

/// How long executing a launcher may take: a file system may be slow, and the process of the user's that
/// executes it may be stopped.
pub const EXECUTION: Duration = Duration::from_secs(5);

/// How long a launcher has to end its job when it is told to, and to end itself when it has said that the job
/// is over, before it is killed.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// How long processes that were killed may take to be gone; then only the kernel holds them, and nothing can
/// be done about it from here.
pub const STRAYS: Duration = Duration::from_secs(5);

/// How long after its process a launcher's socket may stay open, in the hands of processes that the kernel
/// holds.
pub const HELD_OPEN: Duration = Duration::from_millis(200);

/// How long all jobs together may take to be ended: longer than each may, and than the search for what it has
/// left.
pub const ENDING: Duration = Duration::from_secs(12);

/// How many strays are killed before everything else has its turn.
pub const STRAYS_AT_ONCE: usize = 256;

/// Processes and threads of a job on this node, for each of its ranks; the launcher counts as one. Only where
/// jobs have control groups with that limit.
pub const PROCESSES_PER_RANK: u64 = 1024;

/// The part of all processes that the node can have which one user may have, in all of that user's jobs
/// together.
pub const USERS_SHARE_OF_PROCESSES: u64 = 2;

const _: () = {
    assert!(ENDING.as_millis() > (PATIENCE.as_millis() + STRAYS.as_millis() + HELD_OPEN.as_millis()));
    // What waits is more than one chunk of output, or it would be read byte by byte.
    assert!(WAITING_BYTES > CHUNK_BYTES && OUTPUT_CREDIT as usize >= CHUNK_BYTES);
    // One message of a job fits with those of others.
    assert!(STREAM_BYTES >= Notice::MAX_BYTES + REPORT_BYTES && INPUT_CREDIT as usize <= COMMAND_BYTES);
};
