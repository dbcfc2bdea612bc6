//! What waits to be sent on a connection: bounded in bytes, written by the connection's own task, so that
//! nobody who is slow holds up the manager.

use super::ledger::{BeyondLimit, Held};
use bcs_core::wire::{self, WireError, WireMessage};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboxError {
    /// The other end does not read.
    #[error("it does not read: {0} bytes wait for it")]
    Full(usize),
    /// What waits for the user is too much.
    #[error(transparent)]
    BeyondLimit(#[from] BeyondLimit),
    /// The connection is closed.
    #[error("the connection is closed")]
    Closed,
    /// The message is longer than any may be.
    #[error(transparent)]
    Wire(#[from] WireError),
}

/// Where messages to one other end are put. Dropping it closes the connection when all of them are written.
#[derive(Debug)]
pub struct Outbox {
    frames: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<Waiting>,
    limit_bytes: usize,
    abandon: oneshot::Sender<()>,
}

/// How many bytes wait, and for which user, if for one.
#[derive(Debug)]
struct Waiting {
    bytes: AtomicUsize,
    held: Option<Mutex<Held>>,
}

impl Waiting {
    fn grow(&self, bytes: usize) -> Result<(), BeyondLimit> {
        if let Some(held) = &self.held {
            held.lock().unwrap_or_else(PoisonError::into_inner).grow(bytes as u64)?;
        }
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn shrink(&self, bytes: usize) {
        if let Some(held) = &self.held {
            held.lock().unwrap_or_else(PoisonError::into_inner).shrink(bytes as u64);
        }
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The other end of an [`Outbox`], which the connection's task writes from.
#[derive(Debug)]
pub struct Outgoing {
    frames: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<Waiting>,
    abandoned: oneshot::Receiver<()>,
}

/// An outbox that takes so many bytes, which are held for a user if one is to read them, and what writes
/// them.
pub fn outbox(limit_bytes: usize, held: Option<Held>) -> (Outbox, Outgoing) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (abandon, abandoned) = oneshot::channel();
    let waiting = Arc::new(Waiting { bytes: AtomicUsize::new(0), held: held.map(Mutex::new) });
    let outgoing = Outgoing { frames: receiver, waiting: waiting.clone(), abandoned };
    (Outbox { frames: sender, waiting, limit_bytes, abandon }, outgoing)
}

impl Outbox {
    /// Takes a message to be sent.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub fn send<T: WireMessage>(&self, message: &T) -> Result<(), OutboxError> {
        self.send_within(message, self.limit_bytes)
    }

    /// The same, while no more than so many bytes wait; the outbox takes others afterwards.
    ///
    /// # Errors
    /// The message is not taken.
    pub fn send_within<T: WireMessage>(&self, message: &T, limit_bytes: usize) -> Result<(), OutboxError> {
        let frame = wire::encode_frame(message)?;
        // This end alone adds.
        let waiting = self.waiting.bytes();
        if waiting + frame.len() > limit_bytes {
            return Err(OutboxError::Full(waiting));
        }
        self.waiting.grow(frame.len())?;
        self.frames.send(frame).map_err(|_| OutboxError::Closed)
    }

    /// Closes the connection at once, whatever waits.
    pub fn abandon(self) {
        // If it is closed already, all the better.
        let _ = self.abandon.send(());
    }

    /// Drops the outbox, which closes the connection when all is written; answers with what tells when that
    /// is.
    pub fn close(self) -> Farewell {
        Farewell(self.waiting)
    }

    /// How many bytes wait.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.bytes()
    }
}

/// The last words to another end.
#[derive(Debug)]
pub struct Farewell(Arc<Waiting>);

impl Farewell {
    /// Whether they are written, or the connection is over.
    pub fn is_over(&self) -> bool {
        self.0.bytes() == 0 || Arc::strong_count(&self.0) == 1
    }
}

impl Outgoing {
    /// Writes what is put in, until the outbox is dropped and empty; then closes this direction.
    ///
    /// # Errors
    /// The connection failed, or was abandoned.
    pub async fn write_to<W: AsyncWrite + Unpin>(mut self, mut writer: W) -> io::Result<()> {
        let (frames, waiting) = (&mut self.frames, &self.waiting);
        let writing = async {
            while let Some(frame) = frames.recv().await {
                writer.write_all(&frame).await?;
                writer.flush().await?;
                waiting.shrink(frame.len());
            }
            writer.shutdown().await
        };
        tokio::select! {
            written = writing => written,
            Ok(()) = self.abandoned => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_protocol::storm::Reply;
    use bcs_stream::Receiver;

    fn remark(bytes: usize) -> Reply {
        Reply::Remark("x".repeat(bytes))
    }

    #[tokio::test]
    async fn what_was_taken_is_written_before_a_dropped_outbox_closes_the_connection() {
        let (outbox, outgoing) = outbox(1 << 20, None);
        let (near, far) = tokio::io::duplex(64);
        (0..3).for_each(|size| outbox.send(&remark(size * 1000)).unwrap());
        drop(outbox);
        let reading = async {
            let mut receiver = Receiver::new(far);
            for size in 0..3 {
                assert_eq!(receiver.receive().await.unwrap(), Some(remark(size * 1000)));
            }
            assert_eq!(receiver.receive::<Reply>().await.unwrap(), None);
        };
        let (written, ()) = tokio::join!(outgoing.write_to(near), reading);
        written.unwrap();
    }

    #[tokio::test]
    async fn who_does_not_read_is_not_waited_for_and_its_messages_are_bounded() {
        let (outbox, outgoing) = outbox(10_000, None);
        let (near, _far) = tokio::io::duplex(64);
        outbox.send(&remark(6000)).unwrap();
        assert!(matches!(outbox.send(&remark(6000)), Err(OutboxError::Full(_))));
        outbox.abandon();
        let written = outgoing.write_to(near).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    }
}
