//! A message of another node that waits for its receive.

/// A message without a receive whose bytes are on its sender's node.
#[derive(Debug)]
pub(super) struct Late {
    /// When it has waited so long that its bytes are taken here.
    pub due_ns: u64,
    pub(super) receiver: u32,
    /// Its entry in the receiver's unexpected queue, if that still has its number.
    pub(super) entry: u32,
    pub(super) number: u64,
}
