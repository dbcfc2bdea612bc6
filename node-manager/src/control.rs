//! What `storm` and the program launcher say to each other, as lines of JSON over a socket pair.
//!
//! The socket is also how the launcher learns that `storm` is gone: it holds the only other end.

use crate::signals::Signal;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// From `storm` to the launcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Pass this signal on to the ranks.
    Forward(Signal),
}

/// From the launcher to `storm`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Notice {
    /// Something that the user should know and that does not end the job.
    Remark(String),
    /// The job is over, and nothing of it is left.
    Over(Verdict),
}

/// One end of the conversation: sends `S`, receives `R`.
#[derive(Debug)]
pub struct Channel<S, R> {
    stream: UnixStream,
    received: Vec<u8>,
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

impl<S: Serialize, R: DeserializeOwned> Channel<S, R> {
    /// Sends a message. That the other side is gone is not an error here: it is seen, in its place
    /// among the events, when receiving.
    pub fn send(&mut self, message: &S) {
        if let Ok(mut line) = serde_json::to_vec(message) {
            line.push(b'\n');
            let _ = self.stream.write_all(&line);
        }
    }

    /// Takes the next message, without waiting for one.
    pub fn receive(&mut self) -> Received<R> {
        loop {
            if let Some(end) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                return serde_json::from_slice(&line).map_or(Received::Closed, Received::Message);
            }
            let mut chunk = [0; 4096];
            let flags = rustix::net::RecvFlags::DONTWAIT;
            match rustix::net::recv(&self.stream, &mut chunk, flags) {
                Ok((_, 0)) => return Received::Closed,
                Ok((_, length)) => self.received.extend_from_slice(&chunk[..length]),
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
    Ok((
        Channel { stream: ours, received: Vec::new(), kinds: PhantomData },
        Channel { stream: theirs, received: Vec::new(), kinds: PhantomData },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_in_order_and_the_end_is_seen_after_them() {
        let (mut storm, mut launcher) = pair().unwrap();
        assert_eq!(storm.receive(), Received::Nothing);
        let report = "rank 0 waits\nrank 1 waits\n".repeat(5000);
        let notices = [Notice::Remark("one\ntwo".into()), Notice::Over(Verdict::Stuck { report })];
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
