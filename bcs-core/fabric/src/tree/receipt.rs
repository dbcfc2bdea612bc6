//! Acknowledgements that nobody but their initiator waits for.

use super::message::Message;
use bcs_core::ids::NodeId;

/// The acknowledgement of an operation with a sole node. Nobody but its initiator waits for it, and may be
/// about to get a message with which it could travel.
#[derive(Clone, Debug)]
pub struct Receipt {
    /// The initiator.
    pub to: NodeId,
    /// The acknowledgement.
    pub message: Message,
    /// The initiator has somebody to tell, or an operation that comes after this one.
    pub awaited: bool,
}
