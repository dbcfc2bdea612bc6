//! What is asked of members on other nodes, and answered.
//!
//! Operations without an answer gather in a batch for each target, which leaves when it is full, or before
//! anything that is answered or waited for: so they arrive in the order in which they were called.

use super::target::Target;
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::window::{Answer, AnswerEnd, Asked};
use crate::process::{Guard, Process};
use mds::Primitive;
use nic_emu::descriptor::Check;
use nic_emu::doorbell::RingKind;
use nic_emu::matching::Envelope;
use nic_emu::memory::numbers::{CommRank, RequestId};
use nic_emu::one_sided::{Act, LONG_BYTES, Message, Operation, Piece, REPLIES_FROM, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Data of an operation that rides in the descriptor, with its address.
const INLINE_DATA: usize = 16;

fn asked<'p>(process: &'p mut Process, target: &Target) -> MpiResult<&'p mut Asked> {
    Ok(process.windows.named_mut(target.win)?.asked.entry(target.rank).or_default())
}

/// The parts of an operation, so long that each fits in a message: the pieces, and where the data of each
/// begins and ends. No element is divided.
struct Parts {
    pieces: std::vec::IntoIter<Piece>,
    rest: Option<Piece>,
    most: usize,
    element: usize,
    at: usize,
}

impl Parts {
    fn new(pieces: Vec<Piece>, most: usize, element: usize) -> Self {
        // Data is padded to whole words.
        Self { pieces: pieces.into_iter(), rest: None, most: most & !7, element, at: 0 }
    }
}

impl Iterator for Parts {
    type Item = (Vec<Piece>, std::ops::Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let (mut part, mut bytes) = (Vec::new(), 0);
        while let Some(piece) = self.rest.take().or_else(|| self.pieces.next()) {
            let room = self.most.saturating_sub(Operation::length(part.len() + 1, bytes + self.element));
            let room = room / self.element * self.element;
            let fits = (piece.bytes as usize).min(room);
            if fits == 0 {
                self.rest = Some(piece);
                break;
            }
            part.push(Piece { bytes: fits as u64, ..piece });
            bytes += fits;
            if (fits as u64) < piece.bytes {
                let (address, left) = (piece.address + fits as u64, piece.bytes - fits as u64);
                self.rest = Some(Piece { address, bytes: left });
                break;
            }
        }
        let from = self.at;
        self.at += bytes;
        (bytes != 0).then_some((part, from..self.at))
    }
}

/// Asks for an operation without an answer on these pieces, with this data, of elements of so many bytes.
///
/// # Errors
/// The NIC fails.
pub(super) fn ask(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    request: Request,
    (pieces, data, element): (Vec<Piece>, &[u8], usize),
) -> MpiResult {
    let most = process.port.most_operation_bytes();
    for (part, range) in Parts::new(pieces, most, element) {
        let length = Operation::length(part.len(), range.len());
        if asked(process, target)?.batch.len() + length > most {
            send_batch(process, call, target, false)?;
        }
        let asked = asked(process, target)?;
        Operation::append(request, &part, &[&data[range]], &mut asked.batch);
        asked.count += 1;
    }
    Ok(())
}

/// Sends what has gathered for a target; with a request that is complete when all is carried out, if that is
/// `wanted` and anything is under way.
///
/// # Errors
/// The NIC fails.
pub(super) fn send_batch(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    wanted: bool,
) -> MpiResult<Option<RequestId>> {
    let Asked { batch, count, is_under_way, .. } = asked(process, target)?;
    let (batch, count) = (std::mem::take(batch), std::mem::take(count));
    if count == 0 && !(wanted && *is_under_way) {
        return Ok(None);
    }
    *is_under_way = !wanted;
    if count == 0 {
        return post(process, call, target, Some(Request::of(Act::Nothing)), &[], true);
    }
    let mut first = batch.as_slice();
    if count == 1
        && let Some(operation) = Operation::take(&mut first)
        && operation.data.len() <= INLINE_DATA
        && let (Some(piece), None) = one_of(&operation)
    {
        let data = [&piece.address.to_le_bytes(), operation.data].concat();
        return post(process, call, target, Some(operation.request), &data, wanted);
    }
    post(process, call, target, None, &batch, wanted)
}

fn one_of(operation: &Operation<'_>) -> (Option<Piece>, Option<Piece>) {
    let mut pieces = operation.pieces();
    (pieces.next(), pieces.next())
}

/// Posts operations once there is room.
///
/// # Errors
/// The NIC fails.
fn post(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    request: Option<Request>,
    data: &[u8],
    wanted: bool,
) -> MpiResult<Option<RequestId>> {
    post_message(process, call, target, &message_to(target, request), data, wanted)
}

/// The same of a message that says more.
///
/// # Errors
/// The NIC fails.
pub(super) fn post_message(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    message: &Message,
    data: &[u8],
    wanted: bool,
) -> MpiResult<Option<RequestId>> {
    process.make_room(|| target.waiting(call), |port| port.lacks_for_operations(data.len()))?;
    let posted = process.port.post_operations(message, data, wanted)?;
    if let Some(request) = posted {
        process.port.requests_mut().label(request, (target.rank, target.job_rank), target.win.0 as u64);
    }
    Ok(posted)
}

/// Has another node take a long block of this process to the address of the target. Answers the request that
/// is complete when it is there.
///
/// # Safety
/// The block must be readable until then.
///
/// # Errors
/// The NIC fails.
pub(super) unsafe fn ask_to_pull(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    address: u64,
    block: (*const u8, usize),
) -> MpiResult<RequestId> {
    let message = message_to(target, Some(Request::of(Act::Pull)));
    process.make_room(|| target.waiting(call), |port| port.lacks_cell(RingKind::Send))?;
    // SAFETY: the caller's promise.
    let request = unsafe { process.port.post_pull(&message, address, block)? };
    process.port.requests_mut().label(request, (target.rank, target.job_rank), target.win.0 as u64);
    Ok(request)
}

/// A message to a target that asks for this.
fn message_to(target: &Target, asked: Option<Request>) -> Message {
    let (context, door) = (target.context, target.part.door);
    Message { context, target: target.job_rank, door, asked, mode: None }
}

/// Asks for an operation that is answered: what was in the pieces goes to `to`. What each part needs of the
/// data `data_of` says.
///
/// # Safety
/// `to` must be writable for the bytes of all pieces, until the answer has come.
///
/// # Errors
/// The NIC fails.
pub(super) unsafe fn ask_for_answer(
    process: &mut Guard,
    call: Primitive,
    target: &Target,
    request: Request,
    (pieces, data, element): (Vec<Piece>, &[u8], usize),
    to: *mut u8,
) -> MpiResult<Vec<RequestId>> {
    send_batch(process, call, target, false)?;
    // A long block comes as one message, when the origin's node has asked for its bytes: later than what
    // accumulates and was called after it, among which a get has no place (§12.7.2).
    let is_get = matches!(call, Primitive::Get | Primitive::Rget);
    let is_long = match pieces.as_slice() {
        [piece] => is_get && piece.bytes > LONG_BYTES && target.has_long_blocks(),
        _ => false,
    };
    let most = if is_long { usize::MAX } else { process.port.most_operation_bytes() };
    let mut requests = Vec::new();
    for (part, range) in Parts::new(pieces, most, element) {
        let window = process.windows.named_mut(target.win)?;
        let tag = window.next_reply.max(REPLIES_FROM as u32);
        window.next_reply = if tag == i32::MAX as u32 { 0 } else { tag + 1 };
        let comm = window.comm;
        let envelope = Envelope { context: target.context, source: CommRank(0), tag: tag as i32 };
        process.make_room(|| target.waiting(call), |port| port.lacks_cell(RingKind::Receive))?;
        let whose = (target.job_rank, comm.0 as u64);
        let place = (to.wrapping_add(range.start), range.len());
        // SAFETY: the caller's promise.
        let receive = unsafe { process.port.post_receive_of(&envelope, Check::NONE, whose, 0, place)? };
        process.port.requests_mut().label(receive, (target.rank, target.job_rank), comm.0 as u64);
        requests.push(receive);
        let request = Request { reply: tag, ..request };
        // What compares has two values for each.
        let data =
            if data.is_empty() { &[][..] } else { &data[range.start..][..data_bytes(&request, &range)] };
        let inline = match (request.act, part.as_slice()) {
            (Act::Get, [piece]) => Some([piece.address.to_le_bytes(), piece.bytes.to_le_bytes()].concat()),
            (_, [piece]) if data.len() <= INLINE_DATA => Some([&piece.address.to_le_bytes(), data].concat()),
            _ => None,
        };
        match inline {
            Some(data) => post(process, call, target, Some(request), &data, false)?,
            None => {
                let mut payload = Vec::with_capacity(Operation::length(part.len(), data.len()));
                Operation::append(request, &part, &[data], &mut payload);
                post(process, call, target, None, &payload, false)?
            }
        };
    }
    Ok(requests)
}

fn data_bytes(request: &Request, range: &std::ops::Range<usize>) -> usize {
    match request.act {
        Act::CompareAndSwap => 2 * range.len(),
        _ => range.len(),
    }
}

/// Notes an answer that a later call of the program waits for.
///
/// # Errors
/// No such window.
pub(super) fn note_answer(
    process: &mut Guard,
    target: &Target,
    requests: Vec<RequestId>,
    end: AnswerEnd,
) -> MpiResult {
    asked(process, target)?.answers.push(Answer { requests, end });
    Ok(())
}

/// Notes an answer that a request of the program waits for, and that is there when the flag is set.
///
/// # Errors
/// No such window.
pub(super) fn note_request(process: &mut Guard, target: &Target, has_come: Arc<AtomicBool>) -> MpiResult {
    let awaited = &mut asked(process, target)?.awaited;
    awaited.retain(|has_come| !has_come.load(Ordering::Acquire));
    awaited.push(has_come);
    Ok(())
}

/// The place of a member that has no operation: for what is asked of its door.
///
/// # Errors
/// No such window.
pub(super) fn member_of(process: &Process, win: MPI_Win, rank: CommRank) -> MpiResult<Target> {
    let window = process.windows.named(win)?;
    let part = window.parts[rank.index()];
    let is_unbounded = window.is_dynamic();
    let communicator = process.communicators.named("win", window.comm)?;
    let (job_rank, context) = (communicator.job_rank(rank), communicator.context);
    let spans_nodes = window.spans_nodes;
    Ok(Target { win, rank, job_rank, context, part, offset: 0, is_unbounded, spans_nodes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_are_all_there_is_in_order_and_fit(
            lengths in proptest::collection::vec(0u64..3000, 0..20), most in 512usize..4000, element in 1usize..=32
        ) {
            let mut address = 0;
            let pieces: Vec<_> = lengths.iter().map(|length| {
                let piece = Piece { address, bytes: length * element as u64 };
                address += piece.bytes + 7;
                piece
            }).filter(|piece| piece.bytes != 0).collect();
            let (mut at, mut covered) = (0, Vec::new());
            for (part, range) in Parts::new(pieces.clone(), most, element) {
                prop_assert_eq!(range.start, at);
                at = range.end;
                let bytes: u64 = part.iter().map(|piece| piece.bytes).sum();
                prop_assert_eq!(bytes as usize, range.len());
                prop_assert!(Operation::length(part.len(), range.len()) <= most);
                prop_assert!(part.iter().all(|piece| piece.bytes % element as u64 == 0));
                covered.extend(part.iter().flat_map(|piece| piece.address..piece.address + piece.bytes));
            }
            let all: Vec<_> = pieces.iter().flat_map(|piece| piece.address..piece.address + piece.bytes).collect();
            prop_assert_eq!(covered, all);
        }
    }
}
