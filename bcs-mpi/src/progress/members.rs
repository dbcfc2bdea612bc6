//! The members of a communicator as an algorithm by messages sees them: their number, their nodes, and
//! messages to and from each.
//!
//! [`Party`](super::party::Party) is the real one. The tests have members without processes and without a
//! NIC, thousands of them in one thread, whose messages are counted and come in any order.

use super::memory::Memory;
use super::nodes::Nodes;
use crate::error::MpiResult;
use nic_emu::memory::numbers::CommRank;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

/// How many members there are, and where.
pub trait Membership {
    /// This member's rank.
    fn rank(&self) -> CommRank;

    /// How many there are.
    fn size(&self) -> u32;

    /// The last of them.
    fn last(&self) -> CommRank {
        CommRank(self.size() - 1)
    }

    /// Which of them share a node.
    ///
    /// # Errors
    /// NIC memory was damaged.
    fn nodes(&self) -> MpiResult<Rc<Nodes>>;
}

/// This member and all others, in one operation.
#[allow(async_fn_in_trait, reason = "a future stays in its process")]
pub trait Members: Membership {
    /// A message to or from another member. Those between two members keep their order.
    type Message: Message;

    /// Posts a send to a member.
    ///
    /// # Errors
    /// The NIC fails.
    fn post_send(&self, to: CommRank, data: Memory) -> MpiResult<Self::Message>;

    /// Posts a receive from a member.
    ///
    /// # Errors
    /// The NIC fails.
    fn post_receive(&self, from: CommRank, place: Memory) -> MpiResult<Self::Message>;

    /// The other members, from the next one on.
    fn others(&self) -> impl Iterator<Item = CommRank> + use<Self> {
        let (rank, size) = (self.rank(), self.size());
        (1..size).map(move |step| rank.after(step, size))
    }

    /// Sends bytes to a member.
    ///
    /// # Errors
    /// The NIC fails.
    async fn send(&self, to: CommRank, bytes: &[u8]) -> MpiResult {
        self.post_send(to, given(bytes))?.await
    }

    /// Receives bytes from a member.
    ///
    /// # Errors
    /// It sent more; the NIC fails.
    async fn receive(&self, from: CommRank, room: &mut [u8]) -> MpiResult {
        self.post_receive(from, taken(room))?.await
    }

    /// Sends bytes to a member and receives what another one, or the same, sends.
    ///
    /// # Errors
    /// It sent more than there is room for; the NIC fails.
    async fn swap(&self, (to, bytes): (CommRank, &[u8]), (from, room): (CommRank, &mut [u8])) -> MpiResult {
        self.exchange((to, given(bytes)), (from, taken(room))).await
    }

    /// The same of an operation's memory.
    ///
    /// # Errors
    /// As there.
    async fn exchange(&self, (to, data): (CommRank, Memory), (from, place): (CommRank, Memory)) -> MpiResult {
        let mut join = Join::new();
        join.add(self.post_receive(from, place)?);
        join.add(self.post_send(to, data)?);
        join.all().await
    }
}

/// Bytes that are borrowed until the operation has sent them.
fn given(bytes: &[u8]) -> Memory {
    // SAFETY: they are only read, and borrowed as long as that takes.
    unsafe { Memory::new(bytes.as_ptr().cast_mut(), bytes.len()) }
}

/// Room that is borrowed until the operation has received something there.
fn taken(room: &mut [u8]) -> Memory {
    // SAFETY: it is borrowed as long as that takes.
    unsafe { Memory::new(room.as_mut_ptr(), room.len()) }
}

/// A message that is under way: ready when its bytes have been moved.
pub trait Message: Future<Output = MpiResult> + Unpin {
    /// The same message, which has to be as long as there is room.
    fn exactly(self) -> Self;

    /// The same message, which hands on what this member has given.
    fn given_by(self, member: CommRank) -> Self;

    /// Whether there is nothing to wait for any more.
    fn is_over(&self) -> bool;
}

/// Messages that are under way together, some of them of borrowed memory.
#[derive(Debug)]
pub struct Join<'m, M> {
    under_way: Vec<M>,
    borrows: PhantomData<&'m mut [u8]>,
}

impl<'m, M: Message> Join<'m, M> {
    /// None yet.
    #[allow(clippy::new_without_default, reason = "nobody joins nothing")]
    pub fn new() -> Self {
        Self { under_way: Vec::new(), borrows: PhantomData }
    }

    /// One more.
    pub fn add(&mut self, message: M) {
        if !message.is_over() {
            self.under_way.push(message);
        }
    }

    /// One more: these bytes, to a member.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn send(&mut self, members: &impl Members<Message = M>, to: CommRank, bytes: &'m [u8]) -> MpiResult {
        members.post_send(to, given(bytes)).map(|message| self.add(message))
    }

    /// One more: what a member sends.
    ///
    /// # Errors
    /// The NIC fails.
    pub fn receive(
        &mut self,
        members: &impl Members<Message = M>,
        from: CommRank,
        room: &'m mut [u8],
    ) -> MpiResult {
        members.post_receive(from, taken(room)).map(|message| self.add(message))
    }

    /// Waits for all; answers the first error once none is under way any more.
    ///
    /// # Errors
    /// Any of theirs.
    pub async fn all(mut self) -> MpiResult {
        let mut result = Ok(());
        poll_fn(|context| {
            self.under_way.retain_mut(|message| match Pin::new(message).poll(context) {
                Poll::Pending => true,
                Poll::Ready(ended) => {
                    if result.is_ok() {
                        result = ended;
                    }
                    false
                }
            });
            if self.under_way.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        result
    }
}
