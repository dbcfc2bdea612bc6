//! What jobs say to the machine manager, on its way to the stream: encoded once, and bounded in bytes for all
//! jobs together.

use super::limits::STREAM_BYTES;
use bcs_core::wire::{self, WireError};
use bcs_protocol::node::FromNode;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// A message as it travels.
#[derive(Debug)]
pub struct Frame(Vec<u8>);

impl Frame {
    /// Encodes a message.
    ///
    /// # Errors
    /// It is too long.
    pub fn new(message: &FromNode) -> Result<Self, WireError> {
        wire::encode_frame(message).map(Self)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A frame that is handed over, and the room that it takes until it is written.
#[derive(Debug)]
pub struct Waiting {
    /// The frame.
    pub frame: Frame,
    _room: OwnedSemaphorePermit,
}

/// The end where jobs speak.
#[derive(Clone, Debug)]
pub struct Outgoing {
    room: Arc<Semaphore>,
    queue: mpsc::UnboundedSender<Waiting>,
}

/// The end that is written to the stream. When it is dropped, jobs see that nobody takes anything any more.
#[derive(Debug)]
pub struct Writing {
    room: Arc<Semaphore>,
    queue: mpsc::UnboundedReceiver<Waiting>,
}

/// Both ends.
pub fn outgoing() -> (Outgoing, Writing) {
    let room = Arc::new(Semaphore::new(STREAM_BYTES));
    let (sender, queue) = mpsc::unbounded_channel();
    (Outgoing { room: room.clone(), queue: sender }, Writing { room, queue })
}

impl Outgoing {
    /// Waits until there is room for a frame. Nothing if nobody writes any more. Cancel safe.
    pub async fn room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        // One that is longer than all the room waits until it is alone.
        let bytes = bytes.min(STREAM_BYTES) as u32;
        self.room.clone().acquire_many_owned(bytes).await.ok()
    }

    /// Hands a frame over.
    pub fn send(&self, frame: Frame, room: OwnedSemaphorePermit) {
        // Nobody is told if nobody is there to be.
        let _ = self.queue.send(Waiting { frame, _room: room });
    }

    /// Whether nobody writes any more.
    pub fn is_closed(&self) -> bool {
        self.room.is_closed()
    }
}

impl Writing {
    /// The next frame; none when no job is left that could say anything. Cancel safe.
    pub async fn next(&mut self) -> Option<Waiting> {
        self.queue.recv().await
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        self.room.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcs_core::JobId;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn is_ready<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    fn output(bytes: usize) -> Frame {
        Frame::new(&FromNode::Output { job: JobId(1), is_error: false, bytes: vec![0; bytes] }).unwrap()
    }

    #[test]
    fn no_more_bytes_are_handed_over_than_there_is_room_for_and_written_ones_make_room() {
        let (jobs, mut writing) = outgoing();
        let mut handed = 0;
        while let Some(Some(room)) = is_ready(jobs.room(output(1 << 20).bytes().len())) {
            jobs.send(output(1 << 20), room);
            handed += 1;
        }
        assert_eq!(handed, 3, "each has a header, too");
        let written = is_ready(writing.next()).flatten().unwrap();
        assert!(is_ready(jobs.room(1 << 20)).is_none());
        drop(written);
        assert!(is_ready(jobs.room(1 << 20)).flatten().is_some());
    }

    #[test]
    fn frame_that_is_longer_than_all_room_goes_alone_and_nobody_waits_for_who_is_gone() {
        let (jobs, writing) = outgoing();
        let room = is_ready(jobs.room(2 * STREAM_BYTES)).flatten();
        assert!(room.is_some() && is_ready(jobs.room(1)).is_none());
        drop(writing);
        assert!(jobs.is_closed() && matches!(is_ready(jobs.room(1)), Some(None)));
    }
}
