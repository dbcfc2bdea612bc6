//! Combining other members' contributions in the order of the reduction tree: small ones from a board, large
//! ones part by part from where members give them, while a part is in a cache.

use super::super::reduction::Reduction;
use super::shares::{Scratch, combine_places};
use crate::communicator::meeting::Arrival;
use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::exchange::{Contribution, Exchange, Given, Landing, Taken};
use crate::progress::party::{Join, Party, take_board};
use crate::progress::task::with;
use nic_emu::port::{Giving, Read};
use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;

/// Bytes of each contribution that are combined at once: what a cache holds of several members.
const PART_BYTES: usize = 96 << 10;

/// What a member combines.
pub struct Combined<'a> {
    /// Whose contributions; nobody's if it only gives its own.
    pub members: Range<u32>,
    /// Which of their bytes each member combines.
    pub wanted: &'a dyn Fn(u32) -> Range<usize>,
    /// The members that combine some of this one's.
    pub readers: Vec<u32>,
}

impl<'a> Combined<'a> {
    /// Every member combines its share of all contributions.
    pub fn share_of_all(party: &Party, share: &'a dyn Fn(u32) -> Range<usize>) -> Self {
        // Who has no share takes nothing.
        let readers = party.others().filter(|member| !share(*member).is_empty()).collect();
        Self { members: 0..party.size, wanted: share, readers }
    }

    fn own(&self, party: &Party) -> Range<usize> {
        if self.members.is_empty() { 0..0 } else { (self.wanted)(party.rank) }
    }
}

/// Puts up this member's contribution, of at most a slab, and combines what it wants of all members' into
/// `result`, which may lie where that lies in its own.
///
/// # Safety
/// `own` must be readable for `bytes` bytes, as many as each contribution has, and `result` writable for what
/// is wanted.
///
/// # Errors
/// No memory is left; the NIC fails.
pub async unsafe fn combine_on_board(
    party: &Party,
    reduction: &Reduction,
    (own, bytes, root): (*const u8, usize, u32),
    combined: &Combined<'_>,
    result: *mut u8,
) -> MpiResult {
    let wanted = combined.own(party);
    let arrival = Arrival { operation: reduction.said(), root, most_bytes: bytes, ..Arrival::default() };
    // SAFETY: the caller's promise; at most a slab is buffered when it is posted.
    let release = unsafe { party.meet(&arrival, own, bytes, !wanted.is_empty()) }.await?;
    let Some(release) = release.filter(|_| !wanted.is_empty()) else { return Ok(()) };
    let (count, room) = (combined.members.len(), wanted.len());
    let mut scratch = Scratch::take(count * room)?;
    let place = scratch.as_mut_ptr();
    let place_of = |place_number: usize| place.wrapping_add(place_number * room);
    let pieces = combined.members.clone().enumerate();
    let pieces = pieces.map(|(number, member)| (member, wanted.clone(), place_of(number)));
    // SAFETY: each place has as many bytes as are wanted.
    let taken = with(|process| unsafe { take_board(process, release, bytes, pieces) });
    let done = taken.and_then(|()| {
        // SAFETY: the places are different ones, of this process's own memory.
        unsafe { combine_places(reduction, count, room, place_of)? };
        // SAFETY: the caller's promise.
        unsafe { std::ptr::copy_nonoverlapping(place_of(count - 1), result, room) };
        Ok(())
    });
    scratch.give_back()?;
    done
}

/// Whose part of a contribution is where.
struct Source<'a> {
    member: u32,
    /// Where the member gives it.
    taken: Option<Taken<'a>>,
    /// Where it has come as a message.
    own: usize,
}

/// What this member combines: some members' contributions, between two of their bytes.
struct Combiner<'a> {
    reduction: &'a Reduction,
    party: &'a Party,
    /// This member's own contribution.
    own: *const u8,
    members: Range<u32>,
    /// What of the contributions is combined.
    wanted: Range<usize>,
    /// Where the result of that goes.
    result: *mut u8,
    /// The other members that combine with this one, by rank.
    sources: Vec<Source<'a>>,
    /// What has come as messages.
    messages: Vec<u8>,
}

impl Combiner<'_> {
    /// Combines all that is wanted, part by part.
    ///
    /// # Safety
    /// The own contribution must be readable, and the result writable, for what is wanted; nobody else uses
    /// them until the answer is there.
    async unsafe fn run(&mut self, given: &mut Given<'_>) -> MpiResult {
        let (element, count) = (self.reduction.element, self.members.len());
        let room = (PART_BYTES - PART_BYTES % element).max(element).min(self.wanted.len());
        let mut scratch = Scratch::take(count * room)?;
        let mut next = self.wanted.start;
        if self.sources.iter().any(|source| source.taken.as_ref().is_some_and(|taken| !taken.is_at_hand())) {
            self.fetch_as_messages(given).await?;
        }
        while next < self.wanted.end {
            let part = next..self.wanted.end.min(next + room);
            // SAFETY: the caller's promise; there is room for the part of each member.
            match unsafe { self.part(part.clone(), scratch.as_mut_ptr(), room)? } {
                true => next = part.end,
                false => self.fetch_as_messages(given).await?,
            }
        }
        for taken in self.sources.drain(..).filter_map(|source| source.taken) {
            taken.finish(true)?;
        }
        scratch.give_back()
    }

    /// Combines a part. False if the system refuses to read one of the contributions; then nothing is changed
    /// that has still to be read.
    ///
    /// # Safety
    /// As [`Self::run`]; `scratch` must be writable for `room` bytes of each member.
    unsafe fn part(&mut self, part: Range<usize>, scratch: *mut u8, room: usize) -> MpiResult<bool> {
        let (count, bytes) = (self.members.len(), part.len());
        let own = self.own.wrapping_add(part.start);
        let from = part.start - self.wanted.start;
        let result = self.result.wrapping_add(from);
        let own_place = self.members.clone().position(|member| member == self.party.rank);
        // The last member's place is that of the result, unless that would overwrite this member's own part
        // before its turn.
        let apart = own.addr().abs_diff(result.addr()) >= bytes;
        let in_result = apart || own_place.is_none() || own_place == Some(count - 1);
        // A left operand is only read: this member's own part is used where it lies.
        let in_own = own_place.filter(|place| place % 2 == 0 && place + 1 < count);
        let place_of = |place: usize| match place {
            place if Some(place) == in_own => own.cast_mut(),
            place if in_result && place == count - 1 => result,
            place => scratch.wrapping_add(place * room),
        };
        // Others' parts first: who is refused one has changed nothing that is read then.
        for source in &self.sources {
            let place = place_of((source.member - self.members.start) as usize);
            let Some(taken) = &source.taken else {
                // SAFETY: so many bytes have come from that member.
                unsafe {
                    let message = self.messages.as_ptr().add(source.own + from);
                    std::ptr::copy_nonoverlapping(message, place, bytes);
                }
                continue;
            };
            // SAFETY: the place has so many bytes, and nobody refers to it.
            if unsafe { !taken.copy(part.start, place, bytes)? } {
                return Ok(false);
            }
        }
        if let Some(place) = own_place
            && place_of(place).cast_const() != own
        {
            // SAFETY: the own part is readable (the caller's promise) and apart from its place, which has so
            // many bytes.
            unsafe { std::ptr::copy_nonoverlapping(own, place_of(place), bytes) };
        }
        // SAFETY: the places are different ones, and the own part, where it lies, is no right operand.
        unsafe { combine_places(self.reduction, count, bytes, place_of)? };
        if !in_result {
            // SAFETY: the result is apart from the scratch memory.
            unsafe { std::ptr::copy_nonoverlapping(place_of(count - 1), result, bytes) };
        }
        Ok(true)
    }

    /// Gives back at once what others lend and what they send as messages, and receives these.
    async fn fetch_as_messages(&mut self, given: &mut Given<'_>) -> MpiResult {
        let each = self.wanted.len();
        let comes = |source: &&mut Source<'_>| {
            source.taken.as_ref().is_some_and(|taken| taken.is_lent() || !taken.is_at_hand())
        };
        let mut from = Vec::new();
        for source in self.sources.iter_mut().filter(comes) {
            source.own = self.messages.len() + from.len() * each;
            from.push(source.member);
            if let Some(taken) = source.taken.take() {
                taken.finish(false)?;
            }
        }
        let bytes = self.messages.len() + from.len() * each;
        if self.messages.try_reserve_exact(bytes - self.messages.len()).is_err() {
            let problem = format!("no memory for {bytes} bytes of contributions that are to be combined");
            return Err(MpiError::new(Problem::Exhausted(problem)));
        }
        let first = self.messages.len();
        self.messages.resize(bytes, 0);
        let mut join = Join::new();
        for (number, member) in from.into_iter().enumerate() {
            let to = self.messages.as_mut_ptr().wrapping_add(first + number * each);
            // SAFETY: the messages have a place of so many bytes each, used by nobody else until they have
            // come.
            join.add(unsafe { self.party.post_receive(member, to, each)? }.exactly());
        }
        given.serve().await?;
        join.all().await
    }
}

/// Gives this member's contribution, and combines what it wants of others' into `result`, which may lie where
/// that lies in its own. A step of the exchange.
///
/// # Safety
/// `own` must be readable for `bytes` bytes, as many as each contribution has, and `result` writable for what
/// is wanted; nobody else uses them until the answer is there.
///
/// # Errors
/// Another member gave less; no memory is left; the NIC fails.
pub async unsafe fn combine_given(
    exchange: &Exchange,
    reduction: &Reduction,
    (own, bytes): (*const u8, usize),
    combined: &Combined<'_>,
    result: *mut u8,
) -> MpiResult {
    exchange.next_step();
    let party = exchange.party();
    let (members, wanted) = (combined.members.clone(), combined.own(party));
    // What this member combines itself the others do not, unless all combine the same.
    let skip = if wanted.len() < bytes { wanted.clone() } else { 0..0 };
    let most = combined.readers.iter().map(|reader| (combined.wanted)(*reader).len()).max();
    let read = Read::Combine(most.unwrap_or(0));
    let giving = Giving::Same { data: own, bytes, skip, read };
    let contribution = Contribution { giving, wanted: Some(combined.wanted), readers: &combined.readers };
    // SAFETY: the caller's promise.
    let mut given = unsafe { exchange.give(contribution).await? };
    if !wanted.is_empty() {
        let mut sources = Vec::with_capacity(members.len());
        let mut takings = exchange.takings(members.clone().filter(|member| *member != party.rank))?;
        while let Some(taken) = takings.next().await? {
            sources.push(Source { member: taken.member, taken: Some(taken), own: 0 });
        }
        if members == (party.rank..party.rank + 1) {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy(own.add(wanted.start), result, wanted.len()) };
        } else {
            let messages = Vec::new();
            let mut combiner = Combiner { reduction, party, own, members, wanted, result, sources, messages };
            // SAFETY: as above.
            unsafe { combiner.run(&mut given).await? };
        }
    }
    given.over().await
}

/// Gives this member's share of a result, and puts the others', which are `share` of it, in their places from
/// `to` on, if it takes them. A step of the exchange.
///
/// # Safety
/// The given share must be readable and, if this member takes, the others' places writable; nobody else uses
/// them until the answer is there.
///
/// # Errors
/// The NIC fails.
pub async unsafe fn gather_shares(
    exchange: &Exchange,
    (data, readers): (*const u8, &[u32]),
    takes: bool,
    share: &dyn Fn(u32) -> Range<usize>,
    to: *mut u8,
) -> MpiResult {
    let party = exchange.party().clone();
    let (bytes, others) = (share(party.rank).len(), party.others().filter(|_| takes));
    let longest = (0..party.size).map(|member| share(member).len()).max().unwrap_or(0);
    let place = |member: u32| to.wrapping_add(share(member).start);
    if longest <= SLAB_BYTES {
        let arrival = Arrival { most_bytes: longest, ..Arrival::default() };
        // SAFETY: the caller's promise; at most a slab is buffered when it is posted.
        let release = unsafe { party.meet(&arrival, data, bytes, takes) }.await?;
        let Some(release) = release.filter(|_| takes) else { return Ok(()) };
        let pieces = others.map(|member| (member, 0..share(member).len(), place(member)));
        // SAFETY: as above.
        return with(|process| unsafe { take_board(process, release, bytes, pieces) });
    }
    let landings: Vec<Landing> = others.map(|member| (member, place(member), share(member).len())).collect();
    // SAFETY: the caller's promise.
    unsafe { exchange.move_blocks(Contribution::whole(data, bytes, readers), &landings).await }
}
