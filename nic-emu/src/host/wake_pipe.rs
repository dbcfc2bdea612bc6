//! The wake pipe: how ranks wake a NIC thread that waits for the network, too, and so cannot sleep on a word
//! in memory.
//!
//! Ranks inherit the writing end. A byte in it means "look"; how many there are means nothing, and a full
//! pipe is as good as one more byte. Invariant: that of all sleepers ([`crate::memory::wait_word`]).

use crate::memory::NicMemory;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::time::Duration;

/// In the NIC thread's wait word: it sleeps, and the pipe wakes it.
pub(crate) const SLEEPS_IN_POLL: u32 = 2;

/// The pipe of a job's NIC on this node.
#[derive(Debug)]
pub struct WakePipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl WakePipe {
    /// A pipe whose ends never block and are not inherited unless somebody sees to it.
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn new() -> std::io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { reader, writer })
    }

    /// The end that ranks inherit.
    pub fn writer(&self) -> BorrowedFd<'_> {
        self.writer.as_fd()
    }

    /// The NIC thread says that it sleeps from now on. It looks once more, and then waits or drops what this
    /// answers.
    pub(crate) fn announce_sleep<'a>(&'a self, memory: &'a NicMemory) -> AsleepInPoll<'a> {
        memory.header().attention.nic_thread_sleeps.announce(SLEEPS_IN_POLL);
        AsleepInPoll { pipe: self, memory }
    }
}

/// A NIC thread that has said that it sleeps.
#[must_use = "it says that it is awake when this is dropped"]
pub(crate) struct AsleepInPoll<'a> {
    pipe: &'a WakePipe,
    memory: &'a NicMemory,
}

impl AsleepInPoll<'_> {
    /// Whether somebody has woken it, who may still be about to write into the pipe. Without a call to the
    /// system, unless somebody has.
    pub(crate) fn is_woken(&self) -> bool {
        let is_woken = self.memory.header().attention.nic_thread_sleeps.peek() == 0;
        if is_woken {
            self.empty();
        }
        is_woken
    }

    /// Sleeps until somebody wakes it, or for so long. Whether somebody has.
    ///
    /// # Errors
    /// The system does not let it wait.
    pub(crate) fn nap(&self, longest: Duration) -> std::io::Result<bool> {
        self.sleep(&mut [PollFd::new(&self.pipe.reader, PollFlags::IN)], longest)
    }

    /// Sleeps until somebody wakes it, `network` is readable, or `longest` has passed.
    ///
    /// # Errors
    /// The system does not let it wait.
    pub(crate) fn wait(self, network: BorrowedFd<'_>, longest: Duration) -> std::io::Result<()> {
        let pipe = PollFd::new(&self.pipe.reader, PollFlags::IN);
        self.sleep(&mut [pipe, PollFd::from_borrowed_fd(network, PollFlags::IN)], longest).map(drop)
    }

    /// Whether the pipe, which is the first to be waited for, has something.
    fn sleep(&self, wait: &mut [PollFd<'_>], longest: Duration) -> std::io::Result<bool> {
        let timeout =
            rustix::time::Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos() as _ };
        match poll(wait, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_woken = !wait[0].revents().is_empty();
        if is_woken {
            self.empty();
        }
        Ok(is_woken)
    }

    /// Empties the pipe.
    fn empty(&self) {
        let mut bytes = [0; 256];
        // What does not fit wakes once more, for nothing.
        let _ = rustix::io::read(&self.pipe.reader, &mut bytes);
    }
}

impl Drop for AsleepInPoll<'_> {
    fn drop(&mut self) {
        self.memory.header().attention.nic_thread_sleeps.retract();
    }
}

/// Wakes a NIC thread that sleeps in its pipe: by a rank that has inherited the writing end.
pub(crate) fn wake(writer: BorrowedFd<'_>) {
    // A full pipe wakes as well as one more byte; without a reader there is nobody to be woken.
    let _ = rustix::io::write(writer, &[0]);
}
