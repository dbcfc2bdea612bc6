//! Links on which nothing comes, where hosts are asked ([`Silence::Host`](super::super::Silence)): a node
//! that says nothing is stopped while its host answers, and lost when that does not either.
//!
//! ```text
//!           half of the idle timeout       the idle timeout; its host answers
//!  heard ────────────────────────► asked ─────────────────────────────────────► stopped
//!    ▲                               │ the idle timeout; no answer, or a refusal   │ no answer for the idle
//!    └── it is heard ────────────────┼─────────────────────────────────────────────┤ timeout, or a refusal
//!                                    └─────────────────────► lost ◄────────────────┘
//! ```
//!
//! Invariant: a node that does not leave is lost by its silence only if its host has left several questions
//! unanswered, cannot be asked, or has said that nobody receives there any more.

use super::super::connection::{CloseCode, Connection};
use super::super::host::{Inquiry, UNANSWERED};
use super::super::link::LinkState;
use super::QuicFabric;
use bcs_core::global_memory::GlobalMemory;
use bcs_core::ids::NodeId;
use bcs_core::node_set::NodeSet;
use quinn_proto::ConnectionError;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The part of the idle timeout after which the host of a silent node is asked, and how often it would be
/// asked in all of it: several times before the timeout is over, as packets may be lost.
const ASKS_FROM: u32 = 2;
const ASKS: u32 = 10;
const _: () =
    assert!(ASKS / ASKS_FROM > UNANSWERED + 1, "a host that is lost is found when the timeout is over");

/// What the silence on a link has come to.
enum Silent {
    /// The node is not lost. When to look again.
    Until(Instant),
    /// It is, and why.
    Lost(String),
}

impl<M: GlobalMemory> QuicFabric<M> {
    /// From now on the link to a node, which was heard at a time, is looked at.
    pub(super) fn watch_from(&mut self, node: NodeId, heard_at: Instant) {
        self.link_timers.insert((heard_at + self.options.idle_timeout / ASKS_FROM, node));
    }

    /// Looks at a link that is up: whether its node is silent, and then whether its host answers.
    pub(super) fn watch(&mut self, node: NodeId, handle: usize) {
        let Some(connection) = self.connections[handle].as_mut() else { return };
        let address = self.roster[node.index()].address;
        match look(connection, address, self.now, self.options.idle_timeout) {
            Silent::Until(next) => drop(self.link_timers.insert((next, node))),
            // Of one that leaves, the last word may have been lost.
            Silent::Lost(_) if connection.is_departing => {
                self.close_at(handle, CloseCode::Late, "it leaves, and says nothing more");
                self.depart(node);
            }
            Silent::Lost(reason) => self.break_link(node, reason),
        }
        self.mark(handle);
    }

    /// The nodes that have said nothing for the idle timeout although their hosts answer.
    pub fn stopped(&self) -> NodeSet {
        let links = self.links.iter().zip((0..).map(NodeId));
        let stopped = links.filter(|(link, _)| match link.state {
            LinkState::Up(handle) => {
                let connection = self.connections.get(handle).and_then(Option::as_ref);
                connection.is_some_and(|connection| connection.is_stopped)
            }
            _ => false,
        });
        stopped.map(|(_, node)| node).collect()
    }
}

fn look(connection: &mut Connection, address: SocketAddr, now: Instant, patience: Duration) -> Silent {
    connection.note_heard(now);
    let heard_at = connection.heard.at;
    let (ask_at, silent_at) = (heard_at + patience / ASKS_FROM, heard_at + patience);
    connection.is_stopped = false;
    if now < ask_at {
        connection.inquiry = None;
        return Silent::Until(ask_at);
    }
    let timed_out = || Silent::Lost(ConnectionError::TimedOut.to_string());
    let begun = || Inquiry::new(address, heard_at, now).map(Box::new);
    let Ok(mut inquiry) = connection.inquiry.take().map_or_else(begun, Ok) else {
        // Who cannot ask has no answer.
        return if now < silent_at { Silent::Until(silent_at) } else { timed_out() };
    };
    if inquiry.look(heard_at, now, patience / ASKS) {
        // Else QUIC would wait ever longer before it tries again what the network has lost.
        connection.quic.ping();
    }
    let is_silent = now >= silent_at;
    if is_silent && inquiry.is_refused() {
        return Silent::Lost(format!("its process has ended: nobody receives at {address} any more"));
    }
    if is_silent && (connection.is_departing || inquiry.is_lost(now, patience)) {
        return timed_out();
    }
    connection.is_stopped = is_silent && inquiry.is_answered();
    let next = inquiry.next_at();
    connection.inquiry = Some(inquiry);
    Silent::Until(if is_silent { next } else { next.min(silent_at) })
}
