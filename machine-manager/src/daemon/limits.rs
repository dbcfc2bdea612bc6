//! What a user may ask of the machine manager, in time, bytes and number, whoever wrote the program that
//! asks.
//!
//! Everything that comes in through the doors is bounded before it is kept, so that a user harms own jobs
//! only. Who holds what:
//!
//! | held for one user | bound | where it is counted |
//! |---|---|---|
//! | connections, and so jobs: each connection submits one at most | `connections` of `[users]`, 256 | [`super::ledger`] |
//! | a request that has arrived in part, and is decoded | `request_bytes` of `[users]`, 4 MiB | `listen` |
//! | the sum of: requests half received, descriptions of jobs until they are over with [`RANK_BYTES`] for each rank, replies that `storm` has not read | `held_bytes` of `[users]`, 256 MiB | [`super::ledger`] |
//! | requests that are being decoded | one long one | [`super::ledger`] |
//! | launches under way | as many as there are free slots then | `jobs::queue` |
//! | input of a job under way | `INPUT_CREDIT`, empty input once | `jobs::streams` |
//! | output of a job under way | `OUTPUT_CREDIT` for each node | `jobs::streams` |
//! | texts of a job's launchers | [`REMARKS`] remarks of [`TEXT_BYTES`] passed on and forgotten, one verdict of [`REPORT_BYTES`] | `jobs::job` |
//! | questions about a job under way | [`QUESTIONS`], each with one answer of a node, and no more ranks in it than the node has | `jobs::reports` |
//!
//! A message that waits for the manager's only task is one of each connection at most, in one queue in the
//! order of arrival. What waits for a node is bounded for all users together: a launch waits until less than
//! [`LAUNCHES_UP_TO_BYTES`] do, and [`ALL_LAUNCHES_UP_TO_BYTES`] for all nodes, and who sends input or
//! signals beyond theirs loses the job, not the node. The heartbeat is on a thread of its own
//! (`control_thread`).

/// A request that is longer is decoded beside the doors' thread, one of each user at a time.
pub const DECODED_AT_ONCE_BYTES: usize = 64 << 10;

/// What a rank of a job takes here, beside the job's description: its place.
pub const RANK_BYTES: u64 = 16;

/// A node is told to launch a job when less than this waits for it: 48 MiB at most come with the job.
pub const LAUNCHES_UP_TO_BYTES: usize = 64 << 20;
/// And when less than this waits for all nodes together, or a large description for many nodes would be as
/// many large descriptions at once.
pub const ALL_LAUNCHES_UP_TO_BYTES: usize = 256 << 20;
/// A job whose input comes when so much waits for a node is ended.
pub const INPUTS_UP_TO_BYTES: usize = 128 << 20;
/// A node to which so much waits to be sent is not sent signals of users any more.
pub const SIGNALS_UP_TO_BYTES: usize = 4 << 20;
/// What may wait to be sent to a node: the above, and the manager's own commands, which are small. A node
/// that lets more wait does not read.
pub const NODE_BYTES: usize = 256 << 20;
const _: () =
    assert!(LAUNCHES_UP_TO_BYTES + (48 << 20) <= INPUTS_UP_TO_BYTES && INPUTS_UP_TO_BYTES < NODE_BYTES);

/// Different remarks of a job's launchers that are passed on; all nodes of a job say the same ones.
pub const REMARKS: usize = 64;
/// The longest text of a launcher that is no report: the rest is cut off.
pub const TEXT_BYTES: usize = 4 << 10;
/// The longest report that a launcher ends its job with: the rest is cut off.
pub const REPORT_BYTES: usize = 1 << 20;

/// Questions of users about one job that are under way.
pub const QUESTIONS: usize = 8;
