//! Operations on a rank's memory are carried out, by the holder of the run token of its node.

use super::locks::serve_lock;
use super::memory_of::MemoryOf;
use super::operation::{Act, LONG_BYTES, Message, Operation, Piece, Request, Served};
use crate::arithmetic::{self, ArithError, Arithmetic, ElementType};
use crate::channel::{ChannelError, ProcessMemory};
use crate::memory::descriptor::{Check, INLINE_BYTES, Payload, ReceiveDescriptor, SendDescriptor, SendWords};
use crate::memory::{CommRank, Corrupt, LocalRank, MESSAGE_ENTRIES, NicMemory, Rank, RequestId};
use crate::threads::completer::Completer;

/// Takes an answer: its descriptor, and its bytes where they do not ride in that. False when there is no
/// room.
pub(crate) type Reply<'a> = dyn FnMut(&SendDescriptor, &[u8]) -> bool + 'a;

/// Who carries operations out.
pub(crate) struct Target<'a> {
    /// How the memory of the node's processes is reached.
    pub processes: &'a dyn ProcessMemory,
    /// The rank that this process is, if it is one.
    pub own: Option<LocalRank>,
}

fn strange(what: &'static str, value: u64) -> ChannelError {
    Corrupt { what, value, limit: 0 }.into()
}

impl Target<'_> {
    /// Carries out what a message asks for, whose payload, if it has one, is this.
    ///
    /// # Errors
    /// It makes no sense; the target has no such memory; or the system refuses to let this process reach it.
    pub fn serve(
        &self,
        completer: &mut Completer<'_>,
        origin: Rank,
        message: &SendDescriptor,
        payload: &[u8],
        reply: &mut Reply<'_>,
    ) -> Result<Served, ChannelError> {
        let memory = completer.memory;
        let index = memory.local_rank(message.destination)?;
        let index = index.ok_or_else(|| strange("target of an operation", message.destination.0.into()))?;
        let asked = Message::asked_in(message.tag, message.source);
        let asked = asked.ok_or_else(|| strange("operation", message.tag as u64))?;
        let Some((request, _)) = asked else {
            return self.serve_payload(memory, index, (origin, message), payload, reply);
        };
        match (request.act, message.payload) {
            (Act::Lock | Act::Unlock | Act::Nothing | Act::Entered, _) => {
                Ok(serve_lock(completer, (index, origin), message)?)
            }
            (Act::Pull, Payload::Inline(bytes)) => {
                Ok(pull(memory, index, (origin, message), bytes.as_chunks().0)?)
            }
            (_, Payload::Inline(bytes)) => {
                let said = (message.bytes as usize).clamp(8, INLINE_BYTES);
                let (address, data) = bytes[..said].split_at(8);
                let address = u64::from_le_bytes(address.try_into().unwrap_or_default());
                let (bytes, data) = match request.act {
                    // How many are wanted.
                    Act::Get => (read_word(data), &[][..]),
                    Act::CompareAndSwap => (data.len() as u64 / 2, data),
                    _ => (data.len() as u64, data),
                };
                let piece = [Piece { address, bytes }];
                let to = (origin, message);
                self.carry_out(memory, index, &request, (piece.into_iter(), bytes, data), to, reply)
            }
            _ => Err(strange("place of an operation", message.bytes)),
        }
    }

    fn serve_payload(
        &self,
        memory: &NicMemory,
        index: LocalRank,
        to: (Rank, &SendDescriptor),
        payload: &[u8],
        reply: &mut Reply<'_>,
    ) -> Result<Served, ChannelError> {
        let mut rest = payload;
        while !rest.is_empty() {
            let at = payload.len() - rest.len();
            let operation = Operation::take(&mut rest).ok_or_else(|| strange("operation at", at as u64))?;
            let Some(bytes) = operation.bytes() else {
                return Err(strange("bytes of an operation", at as u64));
            };
            if operation.request.act.is_answered() && (at != 0 || !rest.is_empty()) {
                return Err(strange("answered operation beside others", at as u64));
            }
            let Operation { request, data, .. } = operation;
            let served =
                self.carry_out(memory, index, &request, (operation.pieces(), bytes, data), to, reply)?;
            if served != Served::Done {
                return Ok(served);
            }
        }
        Ok(Served::Done)
    }

    /// Carries out an operation on these pieces, of so many bytes in all.
    fn carry_out(
        &self,
        memory: &NicMemory,
        index: LocalRank,
        request: &Request,
        (pieces, bytes, data): (impl Iterator<Item = Piece> + Clone, u64, &[u8]),
        (origin, message): (Rank, &SendDescriptor),
        reply: &mut Reply<'_>,
    ) -> Result<Served, ChannelError> {
        let own = self.own.filter(|_| !request.is_unbounded);
        let target = MemoryOf::rank(memory, index, own, self.processes)?;
        if request.act == Act::Get && bytes > LONG_BYTES {
            let mut pieces = pieces;
            return match (pieces.next(), pieces.next()) {
                (Some(Piece { address, .. }), None) if address != 0 => {
                    let payload = Payload::Memory(address);
                    match reply(&answer_of(origin, message, request, bytes, payload), &[]) {
                        true => Ok(Served::Done),
                        false => Ok(Served::NoRoom),
                    }
                }
                _ => Err(strange("pieces of a long get", bytes)),
            };
        }
        let wanted = match request.act {
            Act::Put | Act::Accumulate | Act::GetAccumulate => bytes,
            Act::CompareAndSwap => 2 * bytes,
            _ => 0,
        };
        // No answer is longer than a message that brings data.
        let most = crate::memory::slab::RUN_BYTES as u64;
        if wanted != data.len() as u64 || bytes > most {
            return Err(strange("bytes of an operation", bytes));
        }
        let mut old = Vec::new();
        if request.act != Act::Put {
            old.resize(bytes as usize, 0);
            let mut rest = old.as_mut_slice();
            for piece in pieces.clone() {
                let (part, after) = rest.split_at_mut(piece.bytes as usize);
                target.read(piece.address, part)?;
                rest = after;
            }
        }
        if request.act.is_answered() {
            let inline = old.len() <= INLINE_BYTES;
            let mut answer = answer_of(origin, message, request, bytes, Payload::Memory(0));
            if inline {
                let mut few = [0; INLINE_BYTES];
                few[..old.len()].copy_from_slice(&old);
                answer.payload = Payload::Inline(few);
            }
            if !reply(&answer, if inline { &[] } else { &old }) {
                return Ok(Served::NoRoom);
            }
        }
        let new: &[u8] = match request.act {
            Act::Put => data,
            Act::Accumulate | Act::GetAccumulate => {
                let arithmetic = arithmetic_of(memory);
                combine(request, data, &mut old, arithmetic)
                    .map_err(|_| strange("operation", message.tag as u64))?;
                &old
            }
            Act::CompareAndSwap if old[..] == data[..old.len()] => &data[old.len()..],
            _ => return Ok(Served::Done),
        };
        if request.op == crate::arithmetic::ReduceOp::NoOp {
            return Ok(Served::Done);
        }
        let mut rest = new;
        for piece in pieces {
            let (part, after) = rest.split_at(piece.bytes as usize);
            // What is padding here may be somebody else's.
            for (offset, bytes) in parts_of(request.element, part.len()) {
                target.write(piece.address + offset as u64, &part[offset..offset + bytes])?;
            }
            rest = after;
        }
        Ok(Served::Done)
    }
}

/// The answer to an operation.
fn answer_of(
    origin: Rank,
    message: &SendDescriptor,
    request: &Request,
    bytes: u64,
    payload: Payload,
) -> SendDescriptor {
    SendDescriptor {
        context: message.context,
        source: CommRank(0),
        tag: request.reply as i32,
        bytes,
        signature: 0,
        destination: origin,
        request: RequestId::NONE,
        synchronous: false,
        check: Check::NONE,
        payload,
    }
}

/// Has a block of the origin's memory taken to where this rank's window has it: as a message that is matched
/// with a receive of no request. Its sender is told when it is in place.
fn pull(
    memory: &NicMemory,
    index: LocalRank,
    (origin, message): (Rank, &SendDescriptor),
    words: &[[u8; 8]],
) -> Result<Served, Corrupt> {
    let &[address, from, bytes] = words else {
        return Err(Corrupt { what: "words of a long put", value: words.len() as u64, limit: 3 });
    };
    let [address, from, capacity] = [address, from, bytes].map(u64::from_le_bytes);
    if capacity <= LONG_BYTES || message.request == RequestId::NONE {
        return Err(Corrupt { what: "bytes of a long put", value: capacity, limit: LONG_BYTES });
    }
    let &SendDescriptor { context, destination, request, .. } = message;
    let payload = Payload::Memory(from);
    let (source, tag, check) = (CommRank(0), 0, Check::NONE);
    let send = SendDescriptor {
        context,
        source,
        tag,
        bytes: capacity,
        signature: 0,
        destination,
        request,
        synchronous: false,
        check,
        payload,
    };
    let receive =
        ReceiveDescriptor { context, source, tag, capacity, check, request: RequestId::NONE, address };
    let words = send.encode();
    let pair = [SendWords(&words).queued_by(origin), receive.encode_of(index)];
    let matches = &memory.header().remote.matches;
    let has_room = memory.control().entries.used() as usize + pair.len() <= MESSAGE_ENTRIES;
    if has_room && matches.push(memory, &pair[0])? && matches.push(memory, &pair[1])? {
        return Ok(Served::Waits);
    }
    Ok(Served::NoRoom)
}

/// The bytes of elements that lie together and are so long, but for their padding: where they begin, and how
/// many.
pub fn parts_of(element: ElementType, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let parts = element.parts();
    let is_whole = matches!(parts, [(0, usize::MAX)]);
    let (step, most) = if is_whole { (bytes.max(1), bytes) } else { (element.size(), usize::MAX) };
    (0..bytes)
        .step_by(step)
        .flat_map(move |start| parts.iter().map(move |&(offset, length)| (start + offset, length.min(most))))
}

fn read_word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// The arithmetic of a job.
pub fn arithmetic_of(memory: &NicMemory) -> Arithmetic {
    if memory.header().arithmetic.get() == Arithmetic::SoftFloat as u32 {
        Arithmetic::SoftFloat
    } else {
        Arithmetic::Native
    }
}

/// Combines data with what is in memory: `inout = data op inout`.
///
/// # Errors
/// The operation is not defined on the elements, or these are no whole elements.
pub fn combine(
    request: &Request,
    data: &[u8],
    inout: &mut [u8],
    arithmetic: Arithmetic,
) -> Result<(), ArithError> {
    arithmetic::combine(request.op, request.element, data, inout, arithmetic)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::arithmetic::ReduceOp;
    use crate::channel::OwnProcess;
    use crate::memory::descriptor::ReceiveWords;
    use crate::memory::{Context, Layout};
    use crate::policy::Pacing;

    const HERE: LocalRank = LocalRank(0);
    const ORIGIN: Rank = Rank(1);

    /// A rank of this node, which is this process, and one of another.
    fn node() -> NicMemory {
        let memory = NicMemory::create_private(Layout::new(1, 2, [0; 2]).unwrap(), 0, 2).unwrap();
        (0..2).for_each(|rank| memory.set_place(Rank(rank), rank, HERE));
        memory.rank(HERE).unwrap().status.claim(1).unwrap();
        memory
    }

    fn message(asked: Option<Request>, payload: &[u8]) -> SendDescriptor {
        let said = Message { context: Context(4), target: Rank(0), door: 0, asked, mode: None };
        let (tag, source) = said.words();
        let mut inline = [0; INLINE_BYTES];
        let is_inline = asked.is_some();
        if is_inline {
            inline[..payload.len()].copy_from_slice(payload);
        }
        SendDescriptor {
            context: Context(4),
            source,
            tag,
            bytes: payload.len() as u64,
            signature: 0,
            destination: Rank(0),
            request: RequestId::NONE,
            synchronous: false,
            check: Check::NONE,
            payload: if is_inline { Payload::Inline(inline) } else { Payload::Memory(1) },
        }
    }

    /// What came of a message, and its answer.
    fn serve(
        message: &SendDescriptor,
        payload: &[u8],
        has_room: bool,
    ) -> (Result<Served, ChannelError>, Vec<u8>) {
        let memory = node();
        let target = Target { processes: &OwnProcess, own: Some(HERE) };
        let mut answer = Vec::new();
        let mut reply = |said: &SendDescriptor, bytes: &[u8]| {
            assert_eq!((said.destination, said.tag, said.context), (ORIGIN, 99, Context(4)));
            match said.payload {
                Payload::Inline(inline) => answer.extend_from_slice(&inline[..said.bytes as usize]),
                _ => answer.extend_from_slice(bytes),
            }
            has_room
        };
        let mut completer = Completer::new(&memory, Pacing::default());
        let served = target.serve(&mut completer, ORIGIN, message, payload, &mut reply);
        (served, answer)
    }

    fn request(act: Act, op: ReduceOp) -> Request {
        Request { op, element: ElementType::I32, reply: 99, ..Request::of(act) }
    }

    fn words(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    /// An operation on pieces of `memory`, each from this element on and so long.
    fn operation(asked: Request, memory: &mut [i32], pieces: &[(usize, usize)], data: &[u8]) -> Vec<u8> {
        let start = memory.as_mut_ptr() as u64;
        let pieces: Vec<_> = pieces
            .iter()
            .map(|(at, count)| Piece { address: start + 4 * *at as u64, bytes: 4 * *count as u64 })
            .collect();
        let mut payload = Vec::new();
        Operation::append(asked, &pieces, &[data], &mut payload);
        payload
    }

    #[test]
    fn operations_of_a_payload_are_carried_out_one_after_the_other_where_their_pieces_are() {
        let mut memory = vec![1, 2, 3, 4, 5, 6];
        let put = request(Act::Put, ReduceOp::Replace);
        let mut payload = operation(put, &mut memory, &[(0, 1), (4, 2)], &words(&[10, 20, 30]));
        let sum = request(Act::Accumulate, ReduceOp::Sum);
        payload.extend(operation(sum, &mut memory, &[(3, 2)], &words(&[100, 200])));
        let (served, answer) = serve(&message(None, &payload), &payload, true);
        assert_eq!((served.unwrap(), answer.is_empty()), (Served::Done, true));
        assert_eq!(memory, [10, 2, 3, 104, 220, 30]);
    }

    #[test]
    fn what_was_there_is_answered_and_nothing_happens_where_there_is_no_room_for_that() {
        let mut memory = vec![1, 2, 3];
        let fetch = request(Act::GetAccumulate, ReduceOp::Sum);
        let payload = operation(fetch, &mut memory, &[(0, 1), (2, 1)], &words(&[5, 6]));
        let (served, _) = serve(&message(None, &payload), &payload, false);
        assert_eq!((served.unwrap(), memory.as_slice()), (Served::NoRoom, &[1, 2, 3][..]));
        let (served, answer) = serve(&message(None, &payload), &payload, true);
        assert_eq!((served.unwrap(), answer, memory), (Served::Done, words(&[1, 3]), vec![6, 2, 9]));
    }

    #[test]
    fn small_operations_ride_in_their_descriptor() {
        let mut memory = [7_i32, 8];
        let inline =
            |asked, address: u64, rest: &[u8]| message(Some(asked), &[&address.to_le_bytes(), rest].concat());
        let at = memory.as_mut_ptr() as u64;
        let get = inline(request(Act::Get, ReduceOp::Replace), at + 4, &4_u64.to_le_bytes());
        assert_eq!(serve(&get, &[], true).1, words(&[8]));
        for (expected, found) in [([7, 70], [7, 70]), ([7, 71], [70, 70])] {
            let swap = inline(request(Act::CompareAndSwap, ReduceOp::Replace), at, &words(&expected));
            assert_eq!(serve(&swap, &[], true).1, words(&found[..1]));
            assert_eq!(memory, [found[1], 8]);
        }
        let put = inline(request(Act::Put, ReduceOp::Replace), at, &words(&[1, 2]));
        assert!(serve(&put, &[], true).1.is_empty());
        assert_eq!(memory, [1, 2]);
    }

    #[test]
    fn a_long_block_is_answered_from_where_it_is_and_taken_from_where_it_is() {
        let bytes = LONG_BYTES + 1;
        let inline = |asked, words: &[u64]| {
            message(Some(asked), &words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
        };
        let get = inline(request(Act::Get, ReduceOp::Replace), &[0x5000, bytes]);
        let memory = node();
        let target = Target { processes: &OwnProcess, own: Some(HERE) };
        let mut completer = Completer::new(&memory, Pacing::default());
        let mut answers = Vec::new();
        let mut reply = |said: &SendDescriptor, data: &[u8]| {
            answers.push((said.bytes, said.tag, said.payload, data.len()));
            true
        };
        let served = target.serve(&mut completer, ORIGIN, &get, &[], &mut reply).unwrap();
        assert_eq!((served, answers), (Served::Done, vec![(bytes, 99, Payload::Memory(0x5000), 0)]));

        let put = inline(request(Act::Pull, ReduceOp::Replace), &[0x5000, 0x7000, bytes]);
        let put = SendDescriptor { request: RequestId(3), ..put };
        let mut none = |_: &SendDescriptor, _: &[u8]| panic!("nothing is answered");
        let served = target.serve(&mut completer, ORIGIN, &put, &[], &mut none).unwrap();
        assert_eq!(served, Served::Waits, "its sender is told when the block is in place");
        let mut pair = Vec::new();
        let matches = &memory.header().remote.matches;
        while let Some((entry, words)) = matches.find(&memory, |_| true).unwrap() {
            matches.remove(&memory, entry).unwrap();
            pair.push(words);
        }
        let sent = SendWords(&pair[0]).decode().unwrap();
        assert_eq!((sent.bytes, sent.request, sent.payload), (bytes, RequestId(3), Payload::Memory(0x7000)));
        let received = ReceiveWords(&pair[1]).decode().unwrap();
        assert_eq!((received.capacity, received.request, received.address), (bytes, RequestId::NONE, 0x5000));

        for wrong in [
            inline(request(Act::Pull, ReduceOp::Replace), &[0x5000, 0x7000, bytes]),
            SendDescriptor {
                request: RequestId(3),
                ..inline(request(Act::Pull, ReduceOp::Replace), &[1, 1, 8])
            },
        ] {
            assert!(target.serve(&mut completer, ORIGIN, &wrong, &[], &mut none).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn padding_of_elements_is_left_alone() {
        let parts = |element, bytes| parts_of(element, bytes).collect::<Vec<_>>();
        assert_eq!(parts(ElementType::I32, 12), [(0, 12)]);
        assert_eq!(parts(ElementType::I32, 0), []);
        assert_eq!(parts(ElementType::F64I32, 32), [(0, 12), (16, 12)]);
        assert_eq!(parts(ElementType::I16I32, 16), [(0, 2), (4, 4), (8, 2), (12, 4)]);
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        let mut memory = vec![1, 2];
        let put = request(Act::Put, ReduceOp::Replace);
        let short = operation(put, &mut memory, &[(0, 2)], &words(&[10]));
        let get = request(Act::Get, ReduceOp::Replace);
        let beside = [
            operation(put, &mut memory, &[(0, 1)], &words(&[10])),
            operation(get, &mut memory, &[(0, 1)], &[]),
        ]
        .concat();
        for payload in [short, beside[16..].to_vec(), vec![200; 16], vec![1; 7]] {
            assert!(serve(&message(None, &payload), &payload, true).0.is_err());
        }
        let answered_behind = operation(get, &mut memory, &[(0, 1)], &[]).repeat(2);
        assert!(serve(&message(None, &answered_behind), &answered_behind, true).0.is_err());
        assert_eq!(memory, [1, 2]);
    }
}
