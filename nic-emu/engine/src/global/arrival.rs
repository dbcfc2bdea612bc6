//! BR, for messages of other nodes: a descriptor has come, and is matched with its receive or waits for it in
//! its receiver's queue. Whoever holds the run token does that: the NIC thread, or a rank that waits.

use super::error::{GlobalError, strange};
use super::message::{local, place};
use super::record::{Kind, Record};
use crate::memory::descriptor::{KIND, Payload, PointToPoint, SendDescriptor, SendWords};
use crate::memory::ring::{CELL_WORDS, LABEL};
use crate::memory::slab::SLAB_BYTES;
use crate::memory::unexpected::{ForWhom, UnexpectedPool};
use crate::memory::{LocalRank, NicMemory, RequestId};
use crate::threads::buffer_receiver::BufferReceiver;
use crate::threads::completer::Completer;
use crate::threads::dma_helper::DmaHelper;

/// What became of a descriptor that has come.
pub(super) enum Arrived {
    /// There is no room for it: it waits, and so does what comes behind it.
    NoRoom,
    /// It was taken.
    Taken {
        /// What its sender's node is told.
        answer: Option<Record>,
        /// Who is to receive it, if it waits for a receive and its bytes are on its sender's node.
        late: Option<(LocalRank, SendDescriptor)>,
    },
}

/// Takes the send, or the wish to take one back, that a record of another node brings, with its payload: the
/// bytes of the message, or nothing where they ride in the descriptor or stay on its node. `may_stay` says
/// that they may also stay there if they have come and the receiver is at its limit.
///
/// # Errors
/// It makes no sense, or NIC memory is corrupt.
pub(super) fn take(
    memory: &NicMemory,
    completer: &mut Completer<'_>,
    from: u32,
    (record, payload): (&Record, &[u8]),
    may_stay: bool,
) -> Result<Arrived, GlobalError> {
    let mut dma = DmaHelper::new(completer.memory);
    let mut words = [0; CELL_WORDS];
    words[..LABEL].copy_from_slice(&record.words);
    let send = match PointToPoint::decode(&words) {
        Some(PointToPoint::Send(send)) => send,
        Some(PointToPoint::Cancel { request, destination }) => {
            let mut receiver = BufferReceiver::new(completer, &mut dma);
            let send = receiver.take_back(record.rank, request, destination)?;
            let answer = send.map(|send| {
                Record::new(Kind::Cancelled, record.rank, &[request.0.into(), place(send.payload).0])
            });
            return Ok(Arrived::Taken { answer, late: None });
        }
        _ => return Err(strange(from, "descriptor", words[KIND])),
    };
    let index = local(memory, send.destination)?;
    let pool = UnexpectedPool::of(memory, index)?;
    let block = match payload.is_empty() {
        true => None,
        // SAFETY: a slice of that length.
        false => unsafe { pool.put(payload.as_ptr(), payload.len() as u64, ForWhom::Driver)? },
    };
    if block.is_none() && !payload.is_empty() && !may_stay {
        return Ok(Arrived::NoRoom);
    }
    if let Some(block) = block {
        if payload.len() as u64 != send.bytes {
            return Err(strange(from, "bytes of a message", payload.len() as u64));
        }
        words = SendDescriptor { payload: Payload::Pooled(block), ..send }.encode();
    } else if !matches!(send.payload, Payload::Inline(_)) {
        // Without what another process may have written where this node's numbers stand.
        words = send.encode();
    }
    let mut receiver = BufferReceiver::new(completer, &mut dma);
    if !receiver.handle_message((record.rank, LocalRank::ELSEWHERE), SendWords(&words))? {
        block.map_or(Ok(()), |block| pool.free(block))?;
        return Ok(Arrived::NoRoom);
    }
    let matched = receiver.matched;
    memory.header().remote.matched.add(matched as i64);
    let (is_matched, mut answer, mut late) = (matched != 0, None, None);
    if block.is_some() {
        if !is_matched {
            pool.count_message();
        }
        answer = matched_record(record.rank, RequestId::NONE, place(send.payload).0);
    } else if !is_matched {
        late = Some((index, send));
    }
    Ok(Arrived::Taken { answer, late })
}

/// What tells a message's sender that nothing of it has to move any more, if that is to be told.
pub(super) fn matched_record(rank: bcs_core::Rank, request: RequestId, place: u64) -> Option<Record> {
    let is_told = request != RequestId::NONE || place != 0;
    is_told.then(|| Record::new(Kind::Matched, rank, &[request.0.into(), place]))
}

/// Whether somebody waits for what the sender of a message, which has come with so many bytes, is told: its
/// request, that it was taken back, or room for more bytes that travel ahead. Else there is a slab to be
/// given back.
pub(super) fn is_awaited(answer: &Record, bytes: usize) -> bool {
    bytes > SLAB_BYTES
        || answer.kind == Kind::Cancelled
        || RequestId(answer.words[0] as u32) != RequestId::NONE
}
