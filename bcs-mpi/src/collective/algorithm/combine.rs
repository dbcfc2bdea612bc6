//! Combining in an exchange, as all members are on one node: each combines what it wants of all
//! contributions, part by part from where members give them, while a part is in a cache, in the order of
//! the reduction tree.

use super::super::combination::Combination;
use super::super::reduction::Reduction;
use super::scratch::Scratch;
use crate::error::{MpiError, MpiResult, Problem};
use crate::progress::exchange::{Contribution, Exchange, Given, Offer};
use crate::progress::members::{Members, Message};
use crate::progress::party::Party;
use crate::progress::pending::Join;
use nic_emu::port::{Giving, Taking};
use std::ops::Range;

/// Bytes of each contribution that are combined at once: what a cache holds of several members.
const PART_BYTES: usize = 96 << 10;

/// What a member combines, and who combines its own.
pub struct Plan<'a> {
    /// Whose contributions; nobody's if it only gives its own.
    pub members: Range<u32>,
    /// Which of their bytes each member combines.
    pub wanted: &'a dyn Fn(u32) -> Range<usize>,
    /// The members that combine some of this one's.
    pub readers: Vec<u32>,
}

impl<'a> Plan<'a> {
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

/// Reduce-scatter and the scans.
///
/// # Errors
/// Another member gave less; no memory is left; the NIC fails.
pub async fn combine_in_exchange(party: &Party, combination: &Combination<'_>) -> MpiResult {
    let wanted = |member: u32| combination.result_of(member);
    let takes_mine = |member: &u32| {
        // Who gets nothing takes nothing.
        combination.operands_of(*member, party.size).contains(&party.rank) && !wanted(*member).is_empty()
    };
    let readers = party.others().filter(takes_mine).collect();
    let members = combination.operands_of(party.rank, party.size);
    let plan = Plan { members, wanted: &wanted, readers };
    let (elsewhere, result) = combination.place_apart(plan.own(party).len())?;
    let exchange = party.exchange(&combination.arrival()).await?;
    let own = (combination.from(), combination.bytes());
    // SAFETY: the promise of `Combination::new`; at the end all have read this member's operands.
    unsafe {
        combine_given(&exchange, combination.reduction, own, &plan, result).await?;
        std::ptr::copy_nonoverlapping(elsewhere.as_ptr(), combination.to(), elsewhere.len());
    }
    Ok(())
}

/// Where another member's contribution is.
enum Location<'a> {
    /// Where the member gives it.
    There(Offer<'a>),
    /// It has come as a message, of which this is the first byte among all that have come so.
    Here(usize),
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
    /// The other members, and where their contributions are.
    sources: Vec<(u32, Location<'a>)>,
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
        let mut scratch = Scratch::take(self.party, count * room)?;
        let mut next = self.wanted.start;
        while next < self.wanted.end {
            let part = next..self.wanted.end.min(next + room);
            // SAFETY: the caller's promise; there is room for the part of each member.
            match unsafe { self.part(part.clone(), scratch.as_mut_ptr(), room)? } {
                true => next = part.end,
                false => self.fetch_as_messages(given).await?,
            }
        }
        scratch.give_back(self.party)
    }

    /// Gives back what others still give.
    fn finish(&mut self) -> MpiResult {
        for (_, location) in self.sources.drain(..) {
            if let Location::There(offer) = location {
                offer.finish(true)?;
            }
        }
        Ok(())
    }

    /// Combines a part. False if one of the contributions comes as a message, or the system refuses to
    /// read it; then nothing is changed that has still to be read.
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
        for (member, location) in &self.sources {
            let place = place_of((member - self.members.start) as usize);
            match location {
                // SAFETY: the place has so many bytes, and nobody refers to it.
                Location::There(offer) if unsafe { offer.copy(part.start, place, bytes)? } => {}
                Location::There(_) => return Ok(false),
                // SAFETY: so many bytes have come from that member.
                Location::Here(first) => unsafe {
                    let message = self.messages.as_ptr().add(first + from);
                    std::ptr::copy_nonoverlapping(message, place, bytes);
                },
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
        unsafe { self.reduction.combine_places(count, bytes, place_of)? };
        if !in_result {
            // SAFETY: the result is apart from the scratch memory.
            unsafe { std::ptr::copy_nonoverlapping(place_of(count - 1), result, bytes) };
        }
        Ok(true)
    }

    /// Gives back at once what others lend, and what they send as messages, and receives all that.
    async fn fetch_as_messages(&mut self, given: &mut Given<'_>) -> MpiResult {
        let (each, mut from, first) = (self.wanted.len(), Vec::new(), self.messages.len());
        for (member, location) in &mut self.sources {
            if let Location::There(offer) = location
                && !offer.is_laid()
            {
                let here = Location::Here(first + from.len() * each);
                from.push(*member);
                if let Location::There(offer) = std::mem::replace(location, here) {
                    offer.finish(false)?;
                }
            }
        }
        if self.messages.try_reserve_exact(from.len() * each).is_err() {
            let bytes = first + from.len() * each;
            let problem = format!("no memory for {bytes} bytes of contributions that are to be combined");
            return Err(MpiError::new(Problem::Exhausted(problem)));
        }
        self.messages.resize(first + from.len() * each, 0);
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
    plan: &Plan<'_>,
    result: *mut u8,
) -> MpiResult {
    exchange.next_step();
    let party = exchange.party();
    let (members, wanted) = (plan.members.clone(), plan.own(party));
    // What this member combines itself the others do not, unless all combine the same.
    let skip = if wanted.len() < bytes { wanted.clone() } else { 0..0 };
    let most = plan.readers.iter().map(|reader| (plan.wanted)(*reader).len()).max();
    let taking = Taking::Combine(most.unwrap_or(0));
    let giving = Giving::Same { data: own, bytes, skip, taking };
    let contribution = Contribution { giving, wanted: Some(plan.wanted), readers: &plan.readers };
    // SAFETY: the caller's promise.
    let mut given = unsafe { exchange.give(contribution).await? };
    let mut combined = Ok(());
    if !wanted.is_empty() {
        let mut sources = Vec::with_capacity(members.len());
        let mut offers = exchange.offers(members.clone().filter(|member| *member != party.rank))?;
        while let Some(offer) = offers.next().await? {
            sources.push((offer.member, Location::There(offer)));
        }
        if members == (party.rank..party.rank + 1) {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy(own.add(wanted.start), result, wanted.len()) };
        } else {
            let messages = Vec::new();
            let mut combiner = Combiner { reduction, party, own, members, wanted, result, sources, messages };
            // SAFETY: as above.
            combined = unsafe { combiner.run(&mut given).await };
            // Whatever has come of it, others count on what they have lent.
            combiner.finish()?;
        }
    }
    given.over().await.and(combined)
}
