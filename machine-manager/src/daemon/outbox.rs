//! What waits to be sent on a connection: bounded in bytes, written by the connection's own task, so that nobody who is slow holds up the
//! manager.

use bcs_core::wire::{self, WireError, WireMessage};
use rkyv::Serialize;
use rkyv::api::high::HighSerializer;
use rkyv::rancor;
use rkyv::ser::allocator::ArenaHandle;
use rkyv::util::AlignedVec;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};

/// Why a message was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboxError {
    /// The other end does not read.
    #[error("it does not read: {0} bytes wait for it")]
    Full(usize),
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
    waiting: Arc<AtomicUsize>,
    limit_bytes: usize,
    abandon: oneshot::Sender<()>,
}

/// The other end of an [`Outbox`], which the connection's task writes from.
#[derive(Debug)]
pub struct Outgoing {
    frames: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    abandoned: oneshot::Receiver<()>,
}

/// An outbox that takes so many bytes, and what writes them.
pub fn outbox(limit_bytes: usize) -> (Outbox, Outgoing) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let (abandon, abandoned) = oneshot::channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let outgoing = Outgoing { frames: receiver, waiting: waiting.clone(), abandoned };
    (Outbox { frames: sender, waiting, limit_bytes, abandon }, outgoing)
}

impl Outbox {
    /// Takes a message to be sent.
    ///
    /// # Errors
    /// The connection is of no use any more.
    pub fn send<T>(&self, message: &T) -> Result<(), OutboxError>
    where
        T: WireMessage + for<'a> Serialize<HighSerializer<AlignedVec, ArenaHandle<'a>, rancor::Error>>,
    {
        let frame = wire::encode_frame(message)?;
        let waiting = self.waiting.fetch_add(frame.len(), Ordering::Relaxed);
        if waiting + frame.len() > self.limit_bytes {
            return Err(OutboxError::Full(waiting));
        }
        self.frames.send(frame).map_err(|_| OutboxError::Closed)
    }

    /// Closes the connection at once, whatever waits.
    pub fn abandon(self) {
        // If it is closed already, all the better.
        let _ = self.abandon.send(());
    }

    /// Drops the outbox, which closes the connection when all is written; answers with what tells when that is.
    pub fn close(self) -> Farewell {
        Farewell(self.waiting)
    }

    /// How many bytes wait.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// The last words to another end.
#[derive(Debug)]
pub struct Farewell(Arc<AtomicUsize>);

impl Farewell {
    /// Whether they are written, or the connection is over.
    pub fn is_over(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0 || Arc::strong_count(&self.0) == 1
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
                waiting.fetch_sub(frame.len(), Ordering::Relaxed);
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
    use crate::protocol::Reply;
    use bcs_core::stream::Receiver;

    fn remark(bytes: usize) -> Reply {
        Reply::Remark("x".repeat(bytes))
    }

    #[tokio::test]
    async fn what_was_taken_is_written_before_a_dropped_outbox_closes_the_connection() {
        let (outbox, outgoing) = outbox(1 << 20);
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
        let (outbox, outgoing) = outbox(10_000);
        let (near, _far) = tokio::io::duplex(64);
        outbox.send(&remark(6000)).unwrap();
        assert!(matches!(outbox.send(&remark(6000)), Err(OutboxError::Full(_))));
        outbox.abandon();
        let written = outgoing.write_to(near).await;
        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    }
}
