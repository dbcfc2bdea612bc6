//! Receives of this node's ranks that were matched with messages of other nodes, as the local slices and the
//! BR leave them in NIC memory: of each pair, the message, then the receive.

use crate::matching::{Message, queued_message};
use crate::memory::descriptor::{self, KIND, Payload, ReceiveDescriptor, ReceiveWords};
use crate::memory::{Corrupt, LocalRank, NicMemory};

/// A matched pair that waits.
pub(super) struct Matched {
    /// The message.
    pub message: Message,
    /// The number that it has, if its bytes are on their way to its receiver's pool, or may be; else 0.
    pub number: u64,
    /// The receive.
    pub receive: ReceiveDescriptor,
    /// Whose it is.
    pub receiver: LocalRank,
    entries: [u32; 2],
}

impl Matched {
    /// The oldest pair; it stays until [`Matched::remove`].
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn oldest(memory: &NicMemory) -> Result<Option<Self>, Corrupt> {
        let matches = &memory.header().remote.matches;
        let Some((first, words)) = matches.find(memory, |_| true)? else { return Ok(None) };
        let mut looks = 0;
        let second = matches.find(memory, |_| {
            looks += 1;
            looks == 2
        })?;
        let Some((second, receive)) = second else {
            return Err(Corrupt { what: "half a matched pair", value: words[KIND], limit: 0 });
        };
        let receive = ReceiveWords(&receive);
        Ok(Some(Self {
            message: queued_message(&words)?,
            number: descriptor::number_of(&words),
            receive: receive.decode()?,
            receiver: receive.receiver(),
            entries: [first, second],
        }))
    }

    /// It waits no longer.
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn remove(&self, memory: &NicMemory) -> Result<(), Corrupt> {
        self.entries.iter().try_for_each(|entry| memory.header().remote.matches.remove(memory, *entry))
    }

    /// Bytes that are wanted.
    pub fn bytes(&self) -> u64 {
        self.message.send.bytes.min(self.receive.capacity)
    }

    /// Whether the bytes have come.
    pub fn is_here(&self) -> bool {
        matches!(self.message.send.payload, Payload::Inline(_) | Payload::Pooled(_))
    }
}
