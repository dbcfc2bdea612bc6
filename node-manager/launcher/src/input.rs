//! The standard input of a job: which rank reads it, and how it gets there.
//!
//! A file or a pipe that one rank reads is inherited by it: no byte passes through us. A terminal is
//! not: a rank leads a process group of its own, and the kernel stops a process that reads the
//! terminal from a group in the background. So the launcher, which stays in the foreground group with
//! `storm`, reads it and passes it on. Input for all ranks is passed on too.
//!
//! Memory is bounded: a chunk is read when the one before has reached everybody.

use crate::job::StdinTo;
use crate::output::is_ready;
use crate::watch::{Interest, Ready, Watch};
use bcs_core::Rank;
use rustix::event::PollFlags;
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const CHUNK_BYTES: usize = 64 * 1024;

/// Where a rank's standard input comes from.
#[derive(Debug)]
pub enum RankInput {
    /// Nothing to read.
    Null,
    /// The input of `storm` itself.
    Inherited,
    /// A pipe of the launcher's.
    Pipe(OwnedFd),
}

/// The way of the input to those who read it.
#[derive(Debug)]
pub struct Input {
    source: BorrowedFd<'static>,
    to: StdinTo,
    relays: bool,
    source_ended: bool,
    targets: Vec<Target>,
}

#[derive(Debug)]
struct Target {
    pipe: Option<OwnedFd>,
    pending: Vec<u8>,
    is_watched: bool,
}

impl Input {
    /// From this descriptor to these ranks.
    pub fn new(source: BorrowedFd<'static>, to: StdinTo) -> Self {
        let relays = match to {
            StdinTo::Rank(_) => rustix::termios::isatty(source),
            StdinTo::All => true,
            StdinTo::None => false,
        };
        Self { source, to, relays, source_ended: false, targets: Vec::new() }
    }

    /// Whether the launcher itself reads the source.
    pub fn relays(&self) -> bool {
        self.relays
    }

    /// Makes what this rank reads.
    pub fn connect(&mut self, rank: Rank) -> io::Result<RankInput> {
        let is_reader = match self.to {
            StdinTo::Rank(reader) => reader == rank,
            StdinTo::All => true,
            StdinTo::None => false,
        };
        match (is_reader, self.relays) {
            (false, _) => Ok(RankInput::Null),
            (true, false) => Ok(RankInput::Inherited),
            (true, true) => {
                let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
                rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK)?;
                self.targets.push(Target { pipe: Some(writer), pending: Vec::new(), is_watched: false });
                Ok(RankInput::Pipe(reader))
            }
        }
    }

    /// Begins to pass on, once all ranks are connected.
    pub fn start(&mut self, watch: &Watch) -> io::Result<()> {
        if self.relays {
            // Told once for each arrival: a terminal whose foreground group is another one is
            // readable for ever and gives an error each time.
            watch.add(self.source, Ready::Input, Interest::Arrival)?;
            self.source_ready(watch);
        }
        Ok(())
    }

    /// Reads what there is and passes it on.
    pub fn source_ready(&mut self, watch: &Watch) {
        while self.relays && !self.source_ended && self.is_drained() && is_ready(self.source, PollFlags::IN) {
            let mut chunk = [0; CHUNK_BYTES];
            match rustix::io::read(self.source, &mut chunk) {
                Ok(0) => self.end(watch),
                Ok(length) => {
                    let open =
                        self.targets.iter_mut().enumerate().filter(|(_, target)| target.pipe.is_some());
                    for (index, target) in open {
                        target.pending.extend_from_slice(&chunk[..length]);
                        target.write(index, watch);
                    }
                    if self.targets.iter().all(|target| target.pipe.is_none()) {
                        self.end(watch);
                    }
                }
                Err(Errno::INTR) => {}
                // We are in the background: there will be another arrival when we no longer are.
                Err(Errno::IO) => return,
                Err(_) => self.end(watch),
            }
        }
    }

    /// Writes on to a rank that has room again.
    pub fn target_ready(&mut self, index: u32, watch: &Watch) {
        if let Some(target) = self.targets.get_mut(index as usize) {
            target.write(index as usize, watch);
            self.close_at_end(watch);
            self.source_ready(watch);
        }
    }

    fn is_drained(&self) -> bool {
        self.targets.iter().all(|target| target.pending.is_empty())
    }

    fn end(&mut self, watch: &Watch) {
        self.source_ended = true;
        watch.remove(self.source);
        self.close_at_end(watch);
    }

    fn close_at_end(&mut self, watch: &Watch) {
        if self.source_ended {
            for target in self.targets.iter_mut().filter(|target| target.pending.is_empty()) {
                target.close(watch);
            }
        }
    }
}

impl Target {
    fn write(&mut self, index: usize, watch: &Watch) {
        while let Some(pipe) = self.pipe.as_ref().filter(|_| !self.pending.is_empty()) {
            match rustix::io::write(pipe.as_fd(), &self.pending) {
                Ok(length) => drop(self.pending.drain(..length)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    if !self.is_watched {
                        self.is_watched =
                            watch.add(pipe, Ready::InputPipe(index as u32), Interest::Write).unwrap_or(false);
                    }
                    return;
                }
                // The rank has closed its input or is gone.
                Err(_) => self.close(watch),
            }
        }
        if let Some(pipe) = self.pipe.as_ref().filter(|_| self.is_watched) {
            watch.remove(pipe);
            self.is_watched = false;
        }
    }

    fn close(&mut self, watch: &Watch) {
        if let Some(pipe) = self.pipe.take() {
            watch.remove(&pipe);
        }
        self.pending.clear();
    }
}
