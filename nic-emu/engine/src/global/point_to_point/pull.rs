//! Messages of other nodes that have waited for their receives for a while: their bytes, up to
//! [`BUFFERED_BYTES`], are granted as those of a matched message are and go into the receiver's pool
//! ([`crate::memory::unexpected`]), and the sender is done with the message. With elastic slices a while is
//! [`LATE_NS`], with fixed ones it lasts to the next slice. At the receiver's limit a message stays with its
//! sender, until there is room or a receive.

use super::{Env, Incoming, Late, PointToPointEngine};
use crate::global::error::GlobalError;
use crate::global::message::place;
use crate::matching::queued_message;
use crate::memory::descriptor::{self, Payload, SendDescriptor};
use crate::memory::queue::UnexpectedMessages;
use crate::memory::request::Delivery;
use crate::memory::ring::Words;
use crate::memory::slab::BUFFERED_BYTES;
use crate::memory::unexpected::{ForWhom, UnexpectedPool};
use crate::memory::{Corrupt, LocalRank, NicMemory, RequestId};
use std::collections::VecDeque;

/// How long a message waits for its receive before its bytes are taken into the receiver's pool, with elastic
/// slices: a receive that is about to be posted has them without a copy between.
const LATE_NS: u64 = 100_000;

impl PointToPointEngine {
    /// A message waits for its receive, and its bytes are on its sender's node: if they wait for long, they
    /// are taken here. Those of a synchronous send wait for their match anyway.
    pub(super) fn note_late(
        &mut self,
        env: &Env<'_, '_>,
        receiver: LocalRank,
        send: &SendDescriptor,
    ) -> Result<(), Corrupt> {
        let is_elsewhere = matches!(send.payload, Payload::Slab(_) | Payload::Memory(_));
        if !is_elsewhere || send.synchronous || send.bytes > BUFFERED_BYTES as u64 {
            return Ok(());
        }
        let waiting = UnexpectedMessages::of(env.memory, env.memory.rank(receiver)?).list();
        let Some(entry) = waiting.last_entry() else { return Ok(()) };
        let number = env.memory.landings().next_number();
        descriptor::number(env.memory.entry(entry)?, number);
        let due_ns = env.now_ns + if env.pacing.strobes_all() { 0 } else { LATE_NS };
        self.late.push_back(Late { due_ns, receiver, entry, number });
        Ok(())
    }

    /// Whether a message that found its receiver at the limit may find room.
    pub(super) fn has_room_again(&self, memory: &NicMemory) -> bool {
        !self.refused.is_empty() && memory.header().room.came() != self.news
    }

    /// Begins to take messages here that have waited for a receive for long.
    pub(super) fn pull_late(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        let mut due = VecDeque::new();
        // Read before the attempts: room that comes meanwhile is news afterwards.
        let news = env.memory.header().room.came();
        if std::mem::replace(&mut self.news, news) != news {
            due.append(&mut self.refused);
        }
        while let Some(late) = self.late.pop_front_if(|late| late.due_ns <= env.now_ns) {
            due.push_back(late);
        }
        for late in due {
            if !self.pull(env, &late)? {
                self.refused.push_back(late);
            }
        }
        Ok(())
    }

    /// Begins to take a message here, if it still waits; false when its receiver is at the limit.
    fn pull(&mut self, env: &Env<'_, '_>, late: &Late) -> Result<bool, GlobalError> {
        let cell = env.memory.entry(late.entry)?;
        let words = cell.read();
        let waiting = UnexpectedMessages::of(env.memory, env.memory.rank(late.receiver)?).list();
        if descriptor::number_of(&words) != late.number || !waiting.holds(env.memory, late.entry)? {
            return Ok(true);
        }
        let message = queued_message(&words)?;
        let pool = UnexpectedPool::of(env.memory, late.receiver)?;
        let Some(block) = pool.take(message.send.bytes, ForWhom::Driver)? else { return Ok(false) };
        pool.count_message();
        let (node, _) = env.memory.place(message.origin)?;
        // The sender's request is complete when its bytes have been read: it cannot be taken back any more.
        descriptor::forget_request(cell);
        let transfer = Incoming {
            pooled: Some((block, late.entry)),
            origin: message.origin,
            request: message.send.request,
            place: place(message.send.payload),
            status: message.send.status(),
            node,
            to: (late.receiver, RequestId::NONE),
            address: 0,
            bytes: message.send.bytes,
            granted: 0,
            moved: 0,
        };
        self.incoming.insert(late.number, transfer);
        self.to_grant.push_back(late.number);
        Ok(true)
    }

    /// All bytes of a message are in its receiver's pool: completes its receive, or leaves it there until it
    /// is matched.
    pub(super) fn finish_pooled(&mut self, env: &mut Env<'_, '_>, id: u64) -> Result<(), Corrupt> {
        let Some(transfer) = self.incoming.get(&id) else { return Ok(()) };
        let Some((block, entry)) = transfer.pooled else { return Ok(()) };
        if transfer.to.1 != RequestId::NONE {
            env.completer.complete(transfer.to, transfer.status, &Delivery::InPool(block))?;
        } else {
            // One that a local slice has matched has left its entry: its receive comes with the pair.
            let matches = &env.memory.header().remote.matches;
            let is_it = |words: &Words| descriptor::is_send(words) && descriptor::number_of(words) == id;
            if matches.find(env.memory, is_it)?.is_some() {
                return Ok(());
            }
            descriptor::keep_in_pool(env.memory.entry(entry)?, block, true);
        }
        self.incoming.remove(&id);
        Ok(())
    }
}
