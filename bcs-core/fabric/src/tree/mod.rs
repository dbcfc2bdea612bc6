//! The three primitives over point-to-point links: a k-ary tree multicasts and queries, so cost grows with
//! log n (paper, §2.1; design §3).
//!
//! An engine without I/O: [`TreeNode::handle_message`] and [`TreeNode::handle_death`] put in,
//! [`TreeNode::poll_transmit`] takes out. It reads no clock and draws no random number. Drivers (`sim` and
//! `quic`) owe it two things:
//! - **Links**: between two living nodes, messages arrive once. Those of one [`Lane`] arrive in the order in
//!   which they were sent, and those of the bulk lane never before control messages that were sent earlier.
//! - **Deaths**: every node is told of every node that dies, sooner or later, and what is reported dead stays
//!   dead. A network that falls apart and heals is only slow.
//!
//! # How it works
//! Every operation gets one place in a total order (`order`), and every node makes the operations that reach
//! it take effect in that order. From this follow ordering and sequential consistency.
//!
//! A **put** to one node goes there directly. A put to several goes down the tree and is staged (`Prepare`);
//! proposals of a place come up; when all nodes have everything, the initiator decides (`Decide(Order)`), the
//! nodes write when the operation's turn comes, and acknowledgements come up again. If a node dies before the
//! decision, the decision is `Abort`.
//!
//! A **query** that reaches a node with nothing before it is answered at once and *held*: nothing else takes
//! effect there until `Conclude`. If all nodes propose the same place and agree, one round decides. Otherwise
//! the query waits for its turn everywhere (`Decide(Order)`), is held there, and concludes. Waiting follows
//! the total order, so there is no deadlock.
//!
//! The initiator's completion, too, takes its place in the order: it is reported when everything before it
//! has taken effect on the initiator, so that a later read of its own memory is not older than what it has
//! learned.
//!
//! When a node dies that lies in the tree, the initiator sends its decision again over a tree without it (a
//! new *wave*; repeated decisions do no harm). When an *initiator* dies, the lowest living node (the arbiter)
//! asks all nodes (`recovery`): what somebody knows to be decided happens everywhere, all else nowhere.
//!
//! # Which orders it needs
//! A link need not keep the order of all messages. What the protocol needs of it is little, because all else
//! follows from questions and answers (a decision is made when all have answered, whichever way it then
//! takes):
//! 1. An operation's `Prepare` comes before its fragments, and these in their order. A decision to abort may
//!    overtake them: what comes later is ignored. Any other decision has waited for all of them.
//! 2. Operations with the same sole node come in the order of their calls: nothing but the link orders them.
//!    So once one of them has fragments under way, its followers to the same node take the bulk lane, too,
//!    until all of those are over.
//!
//! Everything else may overtake fragments: acknowledgements, decisions, recoveries, and the operations of
//! other initiators. The two lanes give just this.
//!
//! | file | holds |
//! |---|---|
//! | `message` | what travels |
//! | `lane`, `queue` | the order that links keep; what waits to go over one |
//! | `topology` | the shape of the tree |
//! | `order` | the total order |
//! | `node` | one node's end: what it knows, and which way messages go |
//! | `operations`, `initiator` | operations that began here: queue, waves, decisions, completions; what is known of them |
//! | `participant`, `participation` | operations that have reached this node: stages and effects; what is known of one |
//! | `recovery`, `agreement` | agreement about the operations of dead nodes; what is known of it |
//! | `children`, `receipt`, `error` | children in a wave, acknowledgements, what messages cannot be |

mod agreement;
mod children;
mod error;
mod initiator;
mod lane;
mod message;
mod node;
mod operations;
mod order;
mod participant;
mod participation;
mod queue;
mod receipt;
mod recovery;
#[cfg(test)]
mod tests;
mod topology;

pub use children::DEFAULT_FANOUT;
pub use error::ProtocolError;
pub use initiator::OPERATIONS_LIMIT;
pub use lane::{Lane, LaneReceiver, LaneSender};
pub use message::{
    Ballot, Commit, FRAGMENT_BYTES, INLINE_BYTES, Message, OperationId, Round, Stamp, Verdict, Vote, Work,
};
pub use node::TreeNode;
pub use queue::{Backlog, LinkQueue, is_answer};
pub use receipt::Receipt;
