//! Exchanges: members on one node give each other bytes, step by step, through their lanes
//! ([`nic_emu::lane`]).
//!
//! The members meet once ([`Party::exchange`]). In a step each gives what it has for others, and takes what
//! others give, as it comes: bytes that lie in a lane, or in the memory of the member that lends them. Who
//! lends waits until nobody reads its memory any more. What the system refuses to read comes as a message.
//!
//! As many exchanges as find slots in every member's lane may be under way at once, of any communicators:
//! each member says when they meet whether its lane has slots for one more, and where one has none, the
//! operation goes by messages. A lane without room for bytes has room for what is lent. All members have
//! reached an operation before what they give takes room, so it is taken by members that wait for nothing
//! else than what others give there. Whoever is refused gives all back that is lent to it, and serves its own
//! readers, before it waits for messages; so nobody waits in a circle.

use super::meeting::Arrival;
use super::members::{Join, Members, Message};
use super::memory::Memory;
use super::party::Party;
use super::pending::{Pending, misfit};
use super::released::take_board;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::{Guard, ready, with};
use bcs_core::LocalRank;
use nic_emu::lane::{By, Chunk, LaneKey, LaneReader, Loan, Portion};
use nic_emu::memory::NicMemory;
use nic_emu::memory::numbers::CommRank;
use nic_emu::policy;
use nic_emu::port::Giving;
use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;

/// What a member gives in a step.
pub struct Contribution<'a> {
    /// What there is.
    pub giving: Giving<'a>,
    /// Who takes it.
    pub readers: &'a [CommRank],
}

impl Contribution<'_> {
    /// What a reader gets as a message.
    fn message(&self, reader: CommRank) -> Memory {
        let (data, bytes) = match &self.giving {
            Giving::Each { blocks, .. } => blocks[reader.index()],
            Giving::Same { data, bytes } => (*data, *bytes),
        };
        // SAFETY: the promise of `Exchange::give`.
        unsafe { Memory::new(data.cast_mut(), bytes) }
    }
}

/// An exchange of a party's members, who are on one node.
pub struct Exchange {
    /// The members.
    pub party: Party,
    memory: Arc<NicMemory>,
    key: Cell<LaneKey>,
    /// The slots that are set aside for it in this rank's lane.
    slots: Arc<()>,
}

/// What was given in a step.
#[must_use = "others may read memory until it is over"]
struct Given<'a> {
    exchange: &'a Exchange,
    contribution: Contribution<'a>,
    lent: Option<Loan>,
    messages: Join<'a, Pending>,
}

/// Where a block goes: whose it is, and the room for it.
pub type Destination = (CommRank, Memory);

impl Party {
    /// Waits until all members have reached the operation, and have said the same of it; all are on this
    /// node. Answers none if the lane of one of them has no slots for it.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn exchange(&self, arrival: &Arrival) -> MpiResult<Option<Exchange>> {
        let (slots, mine) = with(|process| {
            let slots = process.progress.lane_slots.clone();
            // Beside these there is the one of the process itself.
            let exchanges = Arc::strong_count(&slots) - 1;
            Ok((slots, process.port.has_lane_for(exchanges)? as u8))
        })?;
        // SAFETY: the byte lives until the answer is there.
        let release = unsafe { self.meet(arrival, &raw const mine, 1, true) }.await?;
        let mut all = vec![0; self.size as usize];
        with(|process| {
            if let Some(release) = release {
                // SAFETY: each piece is a byte.
                let place = |says: &mut u8| unsafe { Memory::new(says, 1) };
                let pieces = (0..).map(CommRank).zip(&mut all).map(|(member, says)| (member, 0, place(says)));
                take_board(process, release, 1, pieces)?;
            }
            Ok(all.iter().all(|says| *says == 1).then(|| Exchange {
                memory: process.port.memory().clone(),
                key: Cell::new(self.lane_key()),
                party: self.clone(),
                slots,
            }))
        })
    }
}

impl Exchange {
    /// Begins the next step.
    fn next_step(&self) {
        let LaneKey(context, sequence, step) = self.key.get();
        self.key.set(LaneKey(context, sequence, step + 1));
    }

    fn way_to_give(&self, giving: &Giving<'_>, in_parts: bool) -> MpiResult<By> {
        with(|process| Ok(process.port.way_to_give(giving, in_parts)))
    }

    /// Gives that to its readers, as soon as the lane has room for it.
    ///
    /// # Safety
    /// What is given must be readable until [`Given::over`] has answered.
    async unsafe fn give<'a>(&'a self, by: By, contribution: Contribution<'a>) -> MpiResult<Given<'a>> {
        let mut given = Given { exchange: self, contribution, lent: None, messages: Join::new() };
        let Contribution { giving, readers, .. } = &given.contribution;
        if readers.is_empty() {
            return Ok(given);
        }
        let (counts, mut by) = ((self.party.size, readers.len() as u32), by);
        given.lent = self
            .until(|process, thorough| {
                // SAFETY: the caller's promise.
                let lent = unsafe { process.port.give(self.key.get(), by, giving, counts, thorough)? };
                if lent.is_none() && thorough && by == By::Lane && Arc::strong_count(&self.slots) > 2 {
                    // What is in the way may be another exchange's, which waits for this one.
                    by = process.port.way_past_lane();
                }
                Ok(lent)
            })
            .await?;
        if by == By::Message {
            for reader in given.contribution.readers {
                given.send_to(*reader)?;
            }
        }
        Ok(given)
    }

    /// What these members give in this step.
    fn offers(&self, members: impl Iterator<Item = CommRank>) -> MpiResult<Offers<'_>> {
        let giver = |process: &mut Guard, number, member| {
            let Some(local_rank) = self.memory.local_rank(self.party.job_rank(member))? else {
                let problem =
                    format!("rank {member} is on another node, and cannot take part in an exchange");
                return Err(MpiError::new(Problem::Nic(problem)));
            };
            Ok(Giver { number, member, local_rank, reader: process.port.lane_reader(local_rank) })
        };
        let all = members.enumerate();
        let givers = with(|process| all.map(|(number, member)| giver(process, number, member)).collect())?;
        Ok(Offers { exchange: self, givers })
    }

    /// Takes a block from each of these members, as they come, and puts it in its place, or posts a receive.
    /// A block that lies in a lane is left there if it `stays`: then it is held, and is where `operands`
    /// says.
    ///
    /// # Errors
    /// A block is not as long as its place; the NIC fails.
    async fn take_blocks<'a>(
        &'a self,
        destinations: &[Destination],
        messages: &mut Join<'_, Pending>,
        mut stays: Option<(&mut Vec<Offer<'a>>, &mut [*const u8])>,
    ) -> MpiResult {
        let mut offers = self.offers(destinations.iter().map(|(member, _)| *member))?;
        let mut taken = Ok(());
        while let Some(block) = offers.next().await? {
            let (member, to) = destinations[block.giver.number];
            let (bytes, room) = (block.chunk.bytes(), to.bytes());
            if let (Some((held, operands)), Portion::Lane(data)) = (&mut stays, block.chunk.portion())
                && bytes == room
            {
                operands[block.giver.number] = data.as_ptr();
                held.push(block);
                continue;
            }
            let is_here = block.copy(to.part(0..bytes.min(room)))?;
            if is_here && bytes != room && taken.is_ok() {
                taken = Err(misfit(bytes, room, member));
            }
            if !block.finish(is_here)? {
                messages.add(self.party.post_receive(member, to)?.exactly());
            }
        }
        taken
    }

    /// Steps in which one member gives its bytes to all others, part by part through its lane: the others
    /// take a part while the giver lays the next. What it cannot, or will not, lay any more it gives at once.
    ///
    /// # Errors
    /// A part is as long as nobody expects; the NIC fails.
    pub async fn stream(&self, giver: CommRank, memory: Memory) -> MpiResult {
        let (is_giver, bytes) = (self.party.rank == giver, memory.bytes());
        let readers: Vec<CommRank> = self.party.others().filter(|_| is_giver).collect();
        let part = policy::part_bytes(self.party.is_crowded(), bytes);
        let (mut by, mut parts, mut start) = (By::Lane, 0, 0);
        while start < bytes {
            self.next_step();
            // How fast a lane is, the fastest of some parts says better than each by itself.
            if is_giver && by == By::Lane && parts % policy::PARTS_A_LOOK == 0 {
                let giving = Giving::Same { data: memory.first(), bytes: part.min(bytes) };
                by = self.way_to_give(&giving, true)?;
            }
            parts += 1;
            let rest = memory.part(start..bytes);
            let part = part.min(rest.bytes());
            start += match is_giver {
                true => self.give_part(by, rest, part, &readers).await?,
                false => self.take_part(giver, rest, part).await?,
            };
        }
        Ok(())
    }

    /// Gives the next part of what is left by the lane, or all that is left; answers how much.
    async fn give_part(&self, by: By, rest: Memory, part: usize, readers: &[CommRank]) -> MpiResult<usize> {
        let bytes = if by == By::Lane { part } else { rest.bytes() };
        let contribution = Contribution { giving: Giving::Same { data: rest.first(), bytes }, readers };
        // SAFETY: the promise of `Memory::new`.
        unsafe { self.give(by, contribution).await? }.over().await?;
        Ok(bytes)
    }

    /// Takes what [`Self::give_part`] gives; answers how much that was.
    async fn take_part(&self, giver: CommRank, rest: Memory, part: usize) -> MpiResult<usize> {
        let Some(offer) = self.offers(std::iter::once(giver))?.next().await? else { return Ok(rest.bytes()) };
        let bytes = offer.chunk.bytes();
        if bytes != part && bytes != rest.bytes() {
            offer.finish(true)?;
            return Err(misfit(bytes, rest.bytes(), giver));
        }
        let to = rest.part(0..bytes);
        let is_here = offer.copy(to)?;
        if !offer.finish(is_here)? {
            self.party.post_receive(giver, to)?.exactly().await?;
        }
        Ok(bytes)
    }

    /// A step in which members give each other blocks, which may be combined: `combine` gets to know where
    /// that of each destination is, in its place, or, if it `stays` there, in a lane, where others may write.
    ///
    /// # Safety
    /// What is given must be readable until the answer is there.
    ///
    /// # Errors
    /// A block is not as long as its place; the NIC fails; those of `combine`.
    pub async unsafe fn move_operands(
        &self,
        contribution: Contribution<'_>,
        destinations: &[Destination],
        stays: bool,
        combine: impl FnOnce(&[*const u8]) -> MpiResult,
    ) -> MpiResult {
        self.next_step();
        let by = self.way_to_give(&contribution.giving, false)?;
        // SAFETY: the caller's promise.
        let mut given = unsafe { self.give(by, contribution).await? };
        let (mut messages, mut held) = (Join::new(), Vec::new());
        let mut operands: Vec<*const u8> =
            destinations.iter().map(|(_, to)| to.first().cast_const()).collect();
        let stays = stays.then_some((&mut held, &mut operands[..]));
        let taken = self.take_blocks(destinations, &mut messages, stays).await;
        let served = given.serve().await;
        let done = messages.all().await.and(taken).and(served).and_then(|()| combine(&operands));
        for block in held {
            block.finish(true)?;
        }
        done.and(given.over().await)
    }

    /// Looks until something is there; a rank with a core of its own looks many times before it waits as for
    /// anything else. `look` is told whether the rank may rest after it, and so has to be thorough.
    async fn until<T>(&self, mut look: impl FnMut(&mut Guard, bool) -> MpiResult<Option<T>>) -> MpiResult<T> {
        let mut has_waited = false;
        let found = poll_fn(|_| {
            ready(with(|process| {
                let looks =
                    if self.party.blocks && !has_waited { process.port.waits().lane_looks } else { 0 };
                for number in 0..=looks {
                    let found = look(process, number == looks)?;
                    if found.is_some() {
                        if has_waited {
                            process.port.note_flow();
                            process.progress.has_flowed = true;
                        }
                        return Ok(found);
                    }
                    std::hint::spin_loop();
                }
                if !has_waited {
                    process.progress.unwoken += 1;
                    has_waited = true;
                }
                Ok(None)
            }))
        })
        .await;
        if has_waited {
            with(|process| {
                process.progress.unwoken -= 1;
                Ok(())
            })?;
        }
        found
    }
}

impl Given<'_> {
    /// Waits until nobody reads it any more.
    async fn over(mut self) -> MpiResult {
        self.serve().await?;
        self.messages.all().await
    }

    /// Waits until nobody reads what is lent any more, and posts messages to those who were refused it.
    /// Whoever waits for such a message itself does this first.
    async fn serve(&mut self) -> MpiResult {
        if let Some(lent) = self.lent.take() {
            let take_back = |process: &mut Guard, _| Ok(process.port.take_back(&lent)?);
            for refused in self.exchange.until(take_back).await? {
                self.send_to(CommRank(refused))?;
            }
        }
        Ok(())
    }

    fn send_to(&mut self, reader: CommRank) -> MpiResult {
        self.messages.add(self.exchange.party.post_send(reader, self.contribution.message(reader))?);
        Ok(())
    }
}

/// A member that something is taken from.
struct Giver {
    /// Its place among those asked for.
    number: usize,
    member: CommRank,
    local_rank: LocalRank,
    reader: LaneReader,
}

/// What members give this one in a step: each comes when it comes.
struct Offers<'a> {
    exchange: &'a Exchange,
    /// Those of whom nothing has come yet.
    givers: Vec<Giver>,
}

/// What a member gives this one.
struct Offer<'a> {
    giver: Giver,
    chunk: Chunk<'a>,
}

impl<'a> Offers<'a> {
    /// The next one that comes; none when all have.
    async fn next(&mut self) -> MpiResult<Option<Offer<'a>>> {
        let Self { exchange, givers } = self;
        if givers.is_empty() {
            return Ok(None);
        }
        let exchange: &'a Exchange = exchange;
        let (key, rank) = (exchange.key.get(), exchange.party.rank.0);
        exchange
            .until(|process, may_rest| {
                for (place, giver) in givers.iter_mut().enumerate() {
                    let local = giver.local_rank;
                    let found = giver.reader.find(&exchange.memory, local, key, rank, may_rest);
                    if let Some(chunk) = found? {
                        giver.reader.advance();
                        process.port.note_lane_reader(local, giver.reader);
                        // What is left stays in order: the next members first.
                        return Ok(Some(Some(Offer { giver: givers.remove(place), chunk })));
                    }
                }
                Ok(None)
            })
            .await
    }
}

impl Offer<'_> {
    /// Copies as many of the first bytes as there is room for. False if they come as a message, or the system
    /// refuses to read them: then [`Self::finish`] says so.
    fn copy(&self, to: Memory) -> MpiResult<bool> {
        let portion = self.chunk.portion();
        if portion != Portion::Message && to.bytes() > self.chunk.bytes() {
            return Err(misfit(self.chunk.bytes(), to.bytes(), self.giver.member));
        }
        match portion {
            Portion::Message => Ok(false),
            Portion::Lane(data) => {
                // SAFETY: the bytes can be read, checked; the rest is the promise of `Memory::new`.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to.first(), to.bytes()) };
                Ok(true)
            }
            Portion::Lent(address) => with(|process| {
                let Giver { local_rank, .. } = self.giver;
                // SAFETY: the promise of `Memory::new`.
                Ok(unsafe { process.port.read_lent_memory(local_rank, address, to.first(), to.bytes())? })
            }),
        }
    }

    /// Gives back what was taken. If that `is_here` is false, or it comes as a message anyhow, the answer is
    /// false, and a receive has to be posted.
    fn finish(self, is_here: bool) -> MpiResult<bool> {
        match self.chunk.portion() {
            Portion::Lent(_) if !is_here => self.chunk.refuse()?,
            _ => self.chunk.done(),
        }
        Ok(is_here)
    }
}
