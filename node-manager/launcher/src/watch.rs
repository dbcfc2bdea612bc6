//! The launcher's one place to wait: an epoll set whose entries name what they are about.
//!
//! The kernel hands out ready descriptors in the order in which they became ready. For the pidfds of
//! ranks that is the order in which the ranks ended, which is what makes "the first failure" a fact.

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// How many events one wait takes.
const BATCH: usize = 64;

/// What became ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A signal to the launcher.
    Signal,
    /// A message from `storm`, or its end.
    Control,
    /// The NIC's alarm.
    Alarm,
    /// The end of the process that was started as this entry of the launcher's table.
    Process(u32),
    /// The standard input of the job.
    Input,
    /// Room in the input pipe of this entry.
    InputPipe(u32),
    /// Output of a rank, by its stream.
    Stream(u32),
    /// Room in an output of the job, by its number.
    Sink(u32),
}

impl Ready {
    /// Every kind, with this index where it has one.
    fn kinds(index: u32) -> [Self; 8] {
        [
            Ready::Signal,
            Ready::Control,
            Ready::Alarm,
            Ready::Process(index),
            Ready::Input,
            Ready::InputPipe(index),
            Ready::Stream(index),
            Ready::Sink(index),
        ]
    }

    fn encode(self) -> u64 {
        let index = match self {
            Ready::Process(index) | Ready::InputPipe(index) | Ready::Stream(index) | Ready::Sink(index) => {
                index
            }
            Ready::Signal | Ready::Control | Ready::Alarm | Ready::Input => 0,
        };
        let kind = Self::kinds(index).iter().take_while(|kind| **kind != self).count();
        (kind as u64) << 32 | u64::from(index)
    }

    fn decode(data: u64) -> Self {
        Self::kinds(data as u32)[(data >> 32) as usize % 8]
    }
}

/// For what a descriptor is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Something to read, or the end.
    Read,
    /// Something to read, told once for each arrival.
    Arrival,
    /// Room to write.
    Write,
}

/// The set of descriptors that the launcher waits for.
pub struct Watch {
    epoll: OwnedFd,
    events: Vec<Event>,
}

impl Watch {
    /// An empty set.
    pub fn new() -> io::Result<Self> {
        Ok(Self { epoll: epoll::create(CreateFlags::CLOEXEC)?, events: Vec::with_capacity(BATCH) })
    }

    /// Watches a descriptor. `false` if it is of a kind that is always ready (a regular file), which
    /// the kernel does not watch.
    pub fn add(&self, fd: impl AsFd, ready: Ready, interest: Interest) -> io::Result<bool> {
        let flags = match interest {
            Interest::Read => EventFlags::IN,
            Interest::Arrival => EventFlags::IN | EventFlags::ET,
            Interest::Write => EventFlags::OUT,
        };
        match epoll::add(&self.epoll, fd, EventData::new_u64(ready.encode()), flags) {
            Ok(()) => Ok(true),
            Err(Errno::PERM) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Stops watching a descriptor; no harm if it was not watched.
    pub fn remove(&self, fd: impl AsFd) {
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits until something is ready or the time is over, and gives what is, in the order in which it
    /// became so.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<Vec<Ready>> {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        self.events.clear();
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(self.events.iter().map(|event| Ready::decode(event.data.u64())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn every_name_survives_the_kernel() {
        for ready in Ready::kinds(7).into_iter().chain(Ready::kinds(u32::MAX)) {
            assert_eq!(Ready::decode(ready.encode()), ready);
        }
    }

    #[test]
    fn events_come_in_the_order_in_which_they_happened() {
        let mut watch = Watch::new().unwrap();
        let mut pipes: Vec<_> = (0..20).map(|_| io::pipe().unwrap()).collect();
        for (index, (reader, _)) in pipes.iter().enumerate() {
            watch.add(reader, Ready::Process(index as u32), Interest::Read).unwrap();
        }
        let order = [3, 17, 0, 9, 1];
        for index in order {
            pipes[index].1.write_all(b"x").unwrap();
        }
        let ready = watch.wait(None).unwrap();
        assert_eq!(ready, order.map(|index| Ready::Process(index as u32)));
    }
}
