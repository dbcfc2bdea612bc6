//! Who waits at the doors of this node's ranks, and is let in: in the order in which they have asked.

use super::operation::{Act, Message, Served};
use crate::memory::descriptor::{INLINE_BYTES, Payload, PointToPoint, SendDescriptor};
use crate::memory::door::Mode;
use crate::memory::request::Delivery;
use crate::memory::{CommRank, Corrupt, LocalRank, Rank, RequestId};
use crate::threads::completer::Completer;

/// A request for a lock that waits, as it stands in the queue.
struct LockRequest {
    origin: Rank,
    /// The origin's request.
    request: RequestId,
    /// Whose door.
    rank: LocalRank,
    door: u16,
    mode: Mode,
}

impl LockRequest {
    fn encode(&self, message: &SendDescriptor) -> [u64; 8] {
        let mut payload = [0; INLINE_BYTES];
        payload[..4].copy_from_slice(&self.rank.0.to_le_bytes());
        let (destination, request) = (self.origin, self.request);
        let payload = Payload::Inline(payload);
        PointToPoint::Operate(SendDescriptor { destination, request, payload, ..*message }).encode()
    }

    fn decode(words: &[u64; 8]) -> Option<Self> {
        let Some(PointToPoint::Operate(message)) = PointToPoint::decode(words) else { return None };
        let (_, mode) = Message::asked_in(message.tag, message.source)??;
        let Payload::Inline(payload) = message.payload else { return None };
        let rank = LocalRank(u32::from_le_bytes(*payload.first_chunk()?));
        Some(Self {
            origin: message.destination,
            request: message.request,
            rank,
            door: message.signature,
            mode: mode?,
        })
    }
}

/// Carries out what a message without bytes asks for at a door of this rank. The caller holds the run token.
///
/// # Errors
/// It makes no sense, or NIC memory is corrupt.
pub(crate) fn serve_lock(
    completer: &mut Completer<'_>,
    (rank, origin): (LocalRank, Rank),
    message: &SendDescriptor,
) -> Result<Served, Corrupt> {
    let memory = completer.memory;
    let strange = || Corrupt { what: "operation on a door", value: message.tag as u64, limit: 0 };
    let Some(Some((asked, mode))) = Message::asked_in(message.tag, message.source) else {
        return Err(strange());
    };
    match asked.act {
        Act::Nothing => {}
        Act::Entered => {
            let request = RequestId(asked.reply);
            completer.complete((rank, request), (CommRank(0), 0, 0), &Delivery::InPlace)?;
        }
        Act::Lock => {
            let mode = mode.ok_or_else(strange)?;
            let door = memory.door(rank, message.signature.into())?;
            if door.try_enter(mode) {
                return Ok(Served::Done);
            }
            door.set_waited();
            let waiting =
                LockRequest { origin, request: message.request, rank, door: message.signature, mode };
            if !memory.header().lock_requests.push(memory, &waiting.encode(message))? {
                return Ok(Served::NoRoom);
            }
            // Who was in may have left before anybody waited.
            let_in(completer, rank, message.signature)?;
            return Ok(Served::Waits);
        }
        Act::Unlock => {
            let door = memory.door(rank, message.signature.into())?;
            let is_awaited = mode.is_none_or(|mode| door.leave(mode));
            if is_awaited {
                let_in(completer, rank, message.signature)?;
            }
        }
        _ => return Err(strange()),
    }
    Ok(Served::Done)
}

/// Lets those in who wait at a door, as many as may enter now.
fn let_in(completer: &mut Completer<'_>, rank: LocalRank, at: u16) -> Result<(), Corrupt> {
    let memory = completer.memory;
    let (door, queue) = (memory.door(rank, at.into())?, &memory.header().lock_requests);
    loop {
        let is_at = |words: &[u64; 8]| {
            LockRequest::decode(words).is_some_and(|request| (request.rank, request.door) == (rank, at))
        };
        let Some((entry, words)) = queue.find(memory, is_at)? else {
            door.clear_waited();
            return Ok(());
        };
        let Some(request) = LockRequest::decode(&words) else { return Ok(()) };
        if !door.try_let_in(request.mode) {
            return Ok(());
        }
        queue.remove(memory, entry)?;
        enter(completer, rank, &request, &words)?;
    }
}

/// Tells the origin of a request that it has entered.
fn enter(
    completer: &mut Completer<'_>,
    rank: LocalRank,
    request: &LockRequest,
    words: &[u64; 8],
) -> Result<(), Corrupt> {
    let memory = completer.memory;
    if let Some(origin) = memory.local_rank(request.origin)? {
        return completer.complete((origin, request.request), (CommRank(0), 0, 0), &Delivery::InPlace);
    }
    // As a message of the rank whose door it is.
    let Some(PointToPoint::Operate(message)) = PointToPoint::decode(words) else { return Ok(()) };
    let told = SendDescriptor {
        tag: Act::Entered as i32,
        source: CommRank(request.request.0),
        bytes: 0,
        destination: request.origin,
        request: RequestId::NONE,
        synchronous: false,
        payload: Payload::Inline([0; INLINE_BYTES]),
        ..message
    };
    let words = PointToPoint::Operate(told).encode();
    if !memory.rank(rank)?.outbound.push(memory, &words)? {
        let entries = crate::memory::MESSAGE_ENTRIES as u64;
        return Err(Corrupt { what: "queue entries in use", value: entries, limit: entries });
    }
    memory.header().remote.outbound.add(1);
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::descriptor::Check;
    use crate::memory::request::SlotState;
    use crate::memory::{Context, Layout, NicMemory};
    use crate::one_sided::operation::Request;
    use crate::policy::Pacing;

    const HERE: LocalRank = LocalRank(0);

    fn message(act: Act, mode: Mode, request: u32) -> SendDescriptor {
        let asked = Some(Request::of(act));
        let said = Message { context: Context(4), target: Rank(0), door: 7, asked, mode: Some(mode) };
        let (tag, source) = said.words();
        SendDescriptor {
            context: Context(4),
            source,
            tag,
            bytes: 0,
            signature: 7,
            destination: Rank(0),
            request: RequestId(request),
            synchronous: true,
            check: Check::NONE,
            payload: Payload::Inline([0; INLINE_BYTES]),
        }
    }

    fn serve(memory: &NicMemory, act: Act, mode: Mode, (origin, request): (u32, u32)) -> Served {
        let mut completer = Completer::new(memory, Pacing::default());
        serve_lock(&mut completer, (HERE, Rank(origin)), &message(act, mode, request)).unwrap()
    }

    /// Two ranks here, and two on another node.
    fn node() -> NicMemory {
        let memory = NicMemory::create_private(Layout::new(2, 4, [0; 2]).unwrap(), 0, 2).unwrap();
        for rank in 0..4 {
            memory.set_place(Rank(rank), rank / 2, LocalRank(rank % 2));
        }
        for rank in 0..2 {
            memory.rank(LocalRank(rank)).unwrap().status.set_job_rank(Rank(rank));
            (0..4).for_each(|request| memory.request(LocalRank(rank), RequestId(request)).unwrap().arm());
        }
        memory
    }

    fn is_done(memory: &NicMemory, rank: u32, request: u32) -> bool {
        memory.request(LocalRank(rank), RequestId(request)).unwrap().state() == SlotState::Done
    }

    #[test]
    fn who_waits_is_let_in_in_the_order_of_asking_and_those_who_share_at_once() {
        let memory = node();
        assert_eq!(serve(&memory, Act::Lock, Mode::Exclusive, (0, 0)), Served::Done);
        assert_eq!(serve(&memory, Act::Lock, Mode::Shared, (1, 1)), Served::Waits);
        assert_eq!(serve(&memory, Act::Lock, Mode::Shared, (2, 2)), Served::Waits);
        assert_eq!(serve(&memory, Act::Lock, Mode::Exclusive, (0, 3)), Served::Waits);
        assert!(!is_done(&memory, 1, 1) && memory.header().remote.outbound.get() == 0);
        assert_eq!(serve(&memory, Act::Unlock, Mode::Exclusive, (0, 0)), Served::Done);
        assert!(is_done(&memory, 1, 1), "a rank of the node is told in its request");
        assert_eq!(memory.header().remote.outbound.get(), 1, "one of another node by a message");
        let (_, words) = memory.rank(HERE).unwrap().outbound.find(&memory, |_| true).unwrap().unwrap();
        let Some(PointToPoint::Operate(told)) = PointToPoint::decode(&words) else { panic!("{words:?}") };
        assert_eq!((told.destination, told.source, told.tag), (Rank(2), CommRank(2), Act::Entered as i32));
        assert!(!is_done(&memory, 0, 3), "two are in");
        assert_eq!(serve(&memory, Act::Unlock, Mode::Shared, (1, 0)), Served::Done);
        assert!(!is_done(&memory, 0, 3));
        assert_eq!(serve(&memory, Act::Unlock, Mode::Shared, (2, 0)), Served::Done);
        assert!(is_done(&memory, 0, 3) && memory.header().lock_requests.is_empty());
        assert_eq!(serve(&memory, Act::Unlock, Mode::Exclusive, (0, 0)), Served::Done);
        assert!(memory.door(HERE, 7).unwrap().try_enter(Mode::Exclusive), "nobody waits any more");
    }

    #[test]
    fn a_rank_that_is_told_that_it_has_entered_goes_on() {
        let memory = node();
        let told = SendDescriptor {
            tag: Act::Entered as i32,
            source: CommRank(2),
            ..message(Act::Nothing, Mode::Shared, 0)
        };
        let mut completer = Completer::new(&memory, Pacing::default());
        assert_eq!(serve_lock(&mut completer, (HERE, Rank(3)), &told), Ok(Served::Done));
        assert!(is_done(&memory, 0, 2));
    }
}
