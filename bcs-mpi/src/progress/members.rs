//! The members of a communicator as an algorithm by messages sees them: their number, their nodes, and
//! messages to and from each.
//!
//! [`Party`](super::party::Party) is the real one. The tests have members without processes and without a
//! NIC, thousands of them in one thread, whose messages are counted and come in any order.

use super::message::{Join, Message};
use super::nodes::Nodes;
use crate::error::MpiResult;

/// How many members there are, and where.
pub trait Membership {
    /// This member's rank.
    fn rank(&self) -> u32;

    /// How many there are.
    fn size(&self) -> u32;

    /// Which of them share a node.
    ///
    /// # Errors
    /// NIC memory was damaged.
    fn nodes(&self) -> MpiResult<Nodes>;
}

/// This member and all others, in one operation.
pub trait Members: Membership {
    /// A message to or from another member. Those between two members keep their order.
    type Message: Message;

    /// Posts a send to a member.
    ///
    /// # Safety
    /// `data` must be readable for `bytes` bytes until the message is ready.
    ///
    /// # Errors
    /// The NIC fails.
    unsafe fn post_send(&self, to: u32, data: *const u8, bytes: usize) -> MpiResult<Self::Message>;

    /// Posts a receive from a member.
    ///
    /// # Safety
    /// `data` must be writable for `bytes` bytes, and used by nobody else, until the message is ready.
    ///
    /// # Errors
    /// The NIC fails.
    unsafe fn post_receive(&self, from: u32, data: *mut u8, bytes: usize) -> MpiResult<Self::Message>;

    /// Working memory of earlier operations, to be used again; perhaps none.
    ///
    /// # Errors
    /// Outside of a task.
    fn kept_memory(&self) -> MpiResult<Vec<u8>>;

    /// Keeps working memory for later operations.
    ///
    /// # Errors
    /// Outside of a task.
    fn keep_memory(&self, memory: Vec<u8>) -> MpiResult;

    /// The other members, from the next one on.
    fn others(&self) -> impl Iterator<Item = u32> + use<Self> {
        let (rank, size) = (self.rank(), self.size());
        (1..size).map(move |step| (rank + step) % size)
    }

    /// Sends bytes to a member.
    ///
    /// # Errors
    /// The NIC fails.
    fn send(&self, to: u32, bytes: &[u8]) -> impl Future<Output = MpiResult> {
        // SAFETY: the bytes are borrowed until the send is complete.
        async move { unsafe { self.post_send(to, bytes.as_ptr(), bytes.len())? }.await }
    }

    /// Receives bytes from a member.
    ///
    /// # Errors
    /// It sent more; the NIC fails.
    fn receive(&self, from: u32, bytes: &mut [u8]) -> impl Future<Output = MpiResult> {
        // SAFETY: the bytes are borrowed until the receive is complete.
        async move { unsafe { self.post_receive(from, bytes.as_mut_ptr(), bytes.len())? }.await }
    }

    /// Sends bytes to a member and receives what another one, or the same, sends.
    ///
    /// # Errors
    /// It sent more than there is room for; the NIC fails.
    fn swap(
        &self,
        (to, bytes): (u32, &[u8]),
        (from, room): (u32, &mut [u8]),
    ) -> impl Future<Output = MpiResult> {
        async move {
            let mut join = Join::new();
            // SAFETY: both are borrowed until the join is complete.
            unsafe {
                join.add(self.post_receive(from, room.as_mut_ptr(), room.len())?);
                join.add(self.post_send(to, bytes.as_ptr(), bytes.len())?);
            }
            join.all().await
        }
    }
}
