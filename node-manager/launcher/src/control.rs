//! What the program launcher and whoever started it say to each other, over a socket pair.
//!
//! Whoever started it is `storm`, on a machine without a cluster, or the node manager, which passes on what
//! the machine manager says. A launcher that is executed by a node manager is told its job first
//! ([`Command::Launch`]); one that `storm` has forked knows it. The socket is also how the launcher learns
//! that the other side is gone: it holds the only other end.
//!
//! ```text
//!  one node:        (fork) ────────────────────────────────► … ──► Over
//!  several nodes:   Launch ─► Listening ─► Roster ─► Prepared ─► Go ─► … ─► RanksGone ─► Finish ─► Over
//! ```
//!
//! A launcher runs as the job's user, so what it says is checked like what comes from a network.

#![allow(missing_docs, reason = "the resolvers that rkyv derives for enums have none; everything here has")]

use crate::launch::{Launch, Member};
use crate::signals::Signal;
use crate::verdict::Verdict;
use bcs_core::wire::{self, FrameBuffer, WireMessage};
use nic_emu::hang::JobState;
use rkyv::{Archive, Deserialize, Serialize};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// To the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Command {
    /// The job, and what this node has of it. The first, and told once.
    Launch(Box<Launch>),
    /// Who the other nodes of the job are, by number, and where their launchers listen.
    Roster(Vec<Member>),
    /// All launchers of the job are prepared: start the ranks.
    Go,
    /// Pass this signal on to the ranks.
    Forward(Signal),
    /// The job has failed on another node, or it is to end: end its ranks here. What they do then is no
    /// failure of theirs.
    End,
    /// No rank is left on any node: leave the job's network, and go.
    Finish,
    /// Say what the ranks do, in [`Notice::Report`].
    Report {
        /// Given back with the answer.
        round: u64,
    },
}

/// From the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Archive, Serialize, Deserialize)]
pub enum Notice {
    /// Something that the user should know and that does not end the job.
    Remark(String),
    /// Where this node's end of the job's network listens.
    Listening(SocketAddr),
    /// The NIC is made, the programs are found, and the links to all other nodes are up: the ranks can be
    /// started.
    Prepared,
    /// The ranks of this node run, with these process ids, by local index.
    Started(Vec<u32>),
    /// The job has failed here, and its ranks are being ended. Told once, before [`Notice::RanksGone`].
    Failed(Verdict),
    /// This node cannot reach another node of the job, by the job's number of it: a consequence, whose cause
    /// others know, or the network.
    Unreachable {
        /// The other node.
        node: u32,
        /// What happened to the link.
        reason: String,
    },
    /// No rank of the job is left on this node. The NIC goes on, for the other nodes.
    RanksGone(Verdict),
    /// Since some time all ranks here have been blocked, and nothing is under way that this node knows of.
    Blocked,
    /// What the ranks of this node do.
    Report {
        /// As it was asked for.
        round: u64,
        /// By local index, with what the NIC has pending.
        state: JobState,
    },
    /// The job is over here, and nothing of it is left. The last.
    Over(Verdict),
}

impl WireMessage for Command {
    const NAME: &'static str = "command to a launcher";
    /// The environment of a job and its arguments have to fit.
    const MAX_BYTES: usize = 32 << 20;
}

impl WireMessage for Notice {
    const NAME: &'static str = "notice of a launcher";
    /// A report on the ranks of a node has to fit, with some 80 bytes for each.
    const MAX_BYTES: usize = 2 << 20;
}

/// One end of the conversation: sends `S`, receives `R`.
#[derive(Debug)]
pub struct Channel<S, R> {
    stream: UnixStream,
    received: FrameBuffer,
    kinds: PhantomData<(S, R)>,
}

/// What a look at the channel found.
#[derive(Debug, PartialEq, Eq)]
pub enum Received<R> {
    /// A message.
    Message(R),
    /// No whole message yet.
    Nothing,
    /// The other end is closed, or talks nonsense, and nothing more will come.
    Closed,
}

impl<S, R> Channel<S, R> {
    /// One end of a socket pair.
    pub fn new(stream: OwnedFd) -> Self {
        Self { stream: stream.into(), received: FrameBuffer::default(), kinds: PhantomData }
    }
}

impl<S: WireMessage, R: WireMessage> Channel<S, R> {
    /// Sends a message. That the other side is gone is not an error here: it is seen, in its place
    /// among the events, when receiving.
    pub fn send(&mut self, message: &S) {
        if let Ok(frame) = wire::encode_frame(message) {
            let _ = self.stream.write_all(&frame);
        }
    }

    /// Takes the next message, without waiting for one.
    pub fn receive(&mut self) -> Received<R> {
        loop {
            match self.received.take() {
                Ok(Some(message)) => return Received::Message(message),
                Ok(None) => {}
                Err(_) => return Received::Closed,
            }
            let mut chunk = [0; 4096];
            let flags = rustix::net::RecvFlags::DONTWAIT;
            match rustix::net::recv(&self.stream, &mut chunk, flags) {
                Ok((_, 0)) => return Received::Closed,
                Ok((_, length)) => self.received.push(&chunk[..length]),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return Received::Nothing,
                Err(_) => return Received::Closed,
            }
        }
    }
}

impl<S, R> AsFd for Channel<S, R> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// The two ends of a new conversation: `storm`'s and the launcher's.
pub fn pair() -> io::Result<(Channel<Command, Notice>, Channel<Notice, Command>)> {
    let (ours, theirs) = UnixStream::pair()?;
    Ok((Channel::new(ours.into()), Channel::new(theirs.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_in_order_and_the_end_is_seen_after_them() {
        let (mut storm, mut launcher) = pair().unwrap();
        assert_eq!(storm.receive(), Received::Nothing);
        let report = "rank 0 waits\nrank 1 waits\n".repeat(5000);
        let notices = [Notice::Remark("one\ntwo".into()), Notice::Over(Verdict::Stuck(report))];
        let sender = std::thread::spawn({
            let notices = notices.clone();
            move || notices.iter().for_each(|notice| launcher.send(notice))
        });
        let mut seen = Vec::new();
        loop {
            match storm.receive() {
                Received::Message(notice) => seen.push(notice),
                Received::Nothing => std::thread::yield_now(),
                Received::Closed => break,
            }
        }
        sender.join().unwrap();
        assert_eq!(seen, notices);
    }
}
