//! Buffers that a program attaches for buffered sends (MPI-5.0, §3.6).
//!
//! A buffer belongs to a communicator, a session or the process. A message goes through the first of these
//! that there is: its communicator's, that of the session which its communicator comes from, the process's;
//! never through two.

mod buffer;

pub use buffer::AttachedBuffer;

use crate::constants::{MPI_Comm, MPI_Session};
use crate::error::MpiResult;
use nic_emu::port::{Port, Send};

/// Whose buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The process's.
    Process,
    /// A communicator's.
    Communicator(MPI_Comm),
    /// A session's.
    Session(MPI_Session),
}

impl Level {
    /// The calls that attach and detach such a buffer.
    pub(crate) fn calls(self) -> [&'static str; 2] {
        match self {
            Level::Process => ["MPI_Buffer_attach", "MPI_Buffer_detach"],
            Level::Communicator(_) => ["MPI_Comm_attach_buffer", "MPI_Comm_detach_buffer"],
            Level::Session(_) => ["MPI_Session_attach_buffer", "MPI_Session_detach_buffer"],
        }
    }
}

/// The buffers of a process.
#[derive(Debug, Default)]
pub struct AttachedBuffers {
    pub(crate) buffers: Vec<(Level, AttachedBuffer)>,
    /// Messages that went through any of them.
    pub(crate) sent: u64,
}

impl AttachedBuffers {
    pub(crate) fn get(&mut self, level: Level) -> Option<&mut AttachedBuffer> {
        self.buffers.iter_mut().find(|(of, _)| *of == level).map(|(_, buffer)| buffer)
    }

    pub(crate) fn remove(&mut self, level: Level) -> Option<AttachedBuffer> {
        let at = self.buffers.iter().position(|(of, _)| *of == level)?;
        Some(self.buffers.swap_remove(at).1)
    }

    /// Frees the places of messages that are gone; answers whether none is left anywhere.
    ///
    /// # Errors
    /// The NIC fails.
    pub(crate) fn reap(&mut self, port: &mut Port) -> MpiResult<bool> {
        let mut none = true;
        for (_, buffer) in &mut self.buffers {
            buffer.reap(port)?;
            none &= buffer.under_way() == 0;
        }
        Ok(none)
    }

    /// Sends a message of this communicator, which comes from that session, buffered.
    ///
    /// # Safety
    /// The message, an address and so many bytes, must be readable.
    ///
    /// # Errors
    /// No buffer is attached, or the message does not fit.
    pub(crate) unsafe fn send(
        &mut self,
        port: &mut Port,
        (comm, session): (MPI_Comm, MPI_Session),
        send: &Send,
        message: (*const u8, usize),
    ) -> MpiResult {
        let number = self.sent;
        self.sent += 1;
        for level in [Level::Communicator(comm), Level::Session(session), Level::Process] {
            if let Some(buffer) = self.get(level) {
                // SAFETY: the caller's promise.
                return unsafe { buffer.send(port, number, send, message) };
            }
        }
        // As if the process had a buffer of no size.
        // SAFETY: as above.
        unsafe { AttachedBuffer::new(0, Some(0)).send(port, number, send, message) }
    }
}
