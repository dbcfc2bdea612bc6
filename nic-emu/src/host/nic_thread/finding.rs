//! What the NIC thread finds that ends the job.

use crate::hang::HangReport;
use crate::memory::Corrupt;
use bcs_core::NodeId;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the NIC thread found that ends the job.
#[derive(Clone, Debug)]
pub enum Finding {
    /// All ranks wait, and nothing pending can match.
    Deadlock(HangReport),
    /// A slice failed: NIC memory is corrupt.
    Slice(Corrupt),
    /// Another node of the job cannot be reached any more. Somebody else may know why.
    Unreachable {
        /// The node's number in the job.
        node: NodeId,
        /// What happened to the link to it.
        reason: String,
    },
    /// A rank's process is dead in the middle of a message. What ends the job is the rank's own end, which
    /// who has started it is about to learn.
    RankGone(String),
    /// The ranks ask for what cannot be done, as mismatched collectives, or the job's network fails: what the
    /// NIC says of it, in lines.
    Told(String),
}

/// The exit status of a job that a finding ends.
pub const FINDING_STATUS: u8 = 125;

impl fmt::Display for Finding {
    /// As the user reads it, in lines.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Deadlock(report) => {
                f.write_str(
                    "deadlock: every rank that is in MPI waits, and nothing that is pending can ever match\n",
                )?;
                report.fmt(f)
            }
            Finding::Slice(error) => write!(f, "the NIC of the job had to stop: {error}"),
            Finding::Unreachable { node, reason } => {
                write!(f, "{node} of the job cannot be reached any more ({reason}): its ranks are lost")
            }
            Finding::RankGone(text) | Finding::Told(text) => f.write_str(text),
        }
    }
}

/// Does work of the thread. A panic in it is a finding like others: nobody else would tell, and the ranks
/// would wait for ever for a NIC that nobody runs.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Finding> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message");
        Finding::Told(format!(
            "the NIC of the job had to stop: its thread panicked ({text}); a process of the job wrote outside its own memory, or BCS-MPI has a \
             fault: please report it with the line of the panic above"
        ))
    })
}
