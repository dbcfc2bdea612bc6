//! Exchanges: members on one node give each other bytes, step by step, through their lanes
//! ([`nic_emu::lane`]).
//!
//! The members meet once ([`Party::exchange`]). In a step each gives what it has for others, and takes what
//! others give, as it comes: bytes that lie in a lane, or in the memory of the member that lends them. Who
//! lends waits until nobody reads its memory any more. What the system refuses to read comes as a message.
//!
//! Any number of exchanges may be under way at once, of any communicators: as all members have reached an
//! operation before what they give takes room, it is taken by members that wait for nothing else. Whoever is
//! refused gives all back that is lent to it, and serves its own readers, before it waits for messages; so
//! nobody waits in a circle.

use super::party::{Join, Party, take_result};
use super::task::with;
use crate::collective::buffers::misfit;
use crate::communicator::meeting::Arrival;
use crate::error::{MpiError, MpiResult, Problem};
use crate::process::Guard;
use nic_emu::lane::{By, Chunk, LaneKey, LaneReader, Lent, Place};
use nic_emu::memory::NicMemory;
use nic_emu::policy;
use nic_emu::port::{Giving, PortError, Read};
use std::cell::Cell;
use std::future::poll_fn;
use std::ops::Range;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::task::Poll;

/// What a member gives in a step.
pub struct Contribution<'a> {
    /// What there is.
    pub giving: Giving<'a>,
    /// Of what is the same for all: which of its bytes a reader wants. All, unless this says less.
    pub wanted: Option<&'a dyn Fn(u32) -> Range<usize>>,
    /// Who takes it.
    pub readers: &'a [u32],
}

impl<'a> Contribution<'a> {
    /// Bytes that all these readers copy.
    pub fn whole(data: *const u8, bytes: usize, readers: &'a [u32]) -> Self {
        Self { giving: Giving::Same { data, bytes, skip: 0..0, read: Read::Copy }, wanted: None, readers }
    }

    /// A block for each member, by its rank.
    pub fn blocks(blocks: &'a [(*const u8, usize)], readers: &'a [u32]) -> Self {
        Self { giving: Giving::Each(blocks), wanted: None, readers }
    }

    /// What a reader gets as a message.
    fn message(&self, reader: u32) -> (*const u8, usize) {
        match (&self.giving, self.wanted) {
            (Giving::Each(blocks), _) => blocks[reader as usize],
            (Giving::Same { data, bytes, .. }, None) => (*data, *bytes),
            (Giving::Same { data, .. }, Some(wanted)) => {
                let wanted = wanted(reader);
                (data.wrapping_add(wanted.start), wanted.len())
            }
        }
    }
}

/// An exchange of a party's members, who are on one node.
pub struct Exchange {
    party: Party,
    memory: Arc<NicMemory>,
    key: Cell<LaneKey>,
    is_crowded: bool,
}

/// What was given in a step.
#[must_use = "others may read memory until it is over"]
pub struct Given<'a> {
    exchange: &'a Exchange,
    contribution: Contribution<'a>,
    lent: Option<Lent>,
    messages: Join,
}

/// Where a block goes: whose it is, and the place and the room for it.
pub type Landing = (u32, *mut u8, usize);

impl Party {
    /// Waits until all members have reached the operation, and have said the same of it; all are on this
    /// node.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn exchange(&self, arrival: &Arrival) -> MpiResult<Exchange> {
        // SAFETY: nothing is given.
        if let Some(release) = unsafe { self.meet(arrival, null(), 0, true) }.await? {
            // SAFETY: nothing is taken.
            with(|process| unsafe { take_result(process, release, 0, null_mut(), 0) })?;
        }
        with(|process| {
            Ok(Exchange {
                memory: process.port.memory().clone(),
                key: Cell::new(self.lane_key()),
                is_crowded: process.port.is_crowded(),
                party: self.clone(),
            })
        })
    }
}

impl Exchange {
    /// The members.
    pub fn party(&self) -> &Party {
        &self.party
    }

    /// Begins the next step.
    pub fn next_step(&self) {
        let LaneKey(context, sequence, step) = self.key.get();
        self.key.set(LaneKey(context, sequence, step + 1));
    }

    /// Gives that to its readers, as soon as the lane has room for it.
    ///
    /// # Safety
    /// What is given must be readable until [`Given::over`] has answered.
    ///
    /// # Errors
    /// The NIC fails.
    pub async unsafe fn give<'a>(&'a self, contribution: Contribution<'a>) -> MpiResult<Given<'a>> {
        let mut given = Given { exchange: self, contribution, lent: None, messages: Join::new() };
        if given.contribution.readers.is_empty() {
            return Ok(given);
        }
        let counts = (self.party.size, given.contribution.readers.len() as u32);
        let by = with(|process| Ok(process.port.way_to_give(&given.contribution.giving, self.party.size)))?;
        given.lent = self
            .until(|process, _| {
                // SAFETY: the caller's promise.
                Ok(unsafe { process.port.give(self.key.get(), by, &given.contribution.giving, counts)? })
            })
            .await?;
        if by == By::Message {
            for reader in given.contribution.readers {
                // SAFETY: as above.
                unsafe { given.send_to(*reader)? };
            }
        }
        Ok(given)
    }

    /// What these members give in this step.
    ///
    /// # Errors
    /// One of them is on another node.
    pub fn takings(&self, members: impl Iterator<Item = u32>) -> MpiResult<Takings<'_>> {
        let sources = with(|process| members.map(|member| self.source(process, member)).collect())?;
        Ok(Takings { exchange: self, sources })
    }

    fn source(&self, process: &mut Guard, member: u32) -> MpiResult<Source> {
        let local = self.memory.local_index(self.party.job_rank(member)).map_err(PortError::from)?;
        let Some(local_index) = local else {
            let problem = format!("rank {member} is on another node, and cannot take part in an exchange");
            return Err(MpiError::new(Problem::Nic(problem)));
        };
        Ok(Source { member, local_index, reader: process.port.lane_reader(local_index) })
    }

    /// Takes a block from each of these members, as they come, and puts it in its place, or posts a receive.
    ///
    /// # Safety
    /// The places must be writable, and used by nobody else until the messages are complete.
    ///
    /// # Errors
    /// A block is not as long as its place; the NIC fails.
    async unsafe fn take_blocks(&self, landings: &[Landing], messages: &mut Join) -> MpiResult {
        let mut takings = self.takings(landings.iter().map(|(member, ..)| *member))?;
        let mut taken = Ok(());
        while let Some(block) = takings.next().await? {
            let landing = landings.iter().find(|(member, ..)| *member == block.member);
            let Some(&(member, to, room)) = landing else { continue };
            // SAFETY: the caller's promise; no more is copied than there is room for.
            let is_here = unsafe { block.copy(0, to, block.bytes().min(room))? };
            if is_here && block.bytes() != room && taken.is_ok() {
                taken = Err(misfit(block.bytes(), room, member));
            }
            if block.finish(is_here)? {
                continue;
            }
            // SAFETY: the caller's promise.
            messages.add(unsafe { self.party.post_receive(member, to, room)? }.exactly());
        }
        taken
    }

    /// Steps in which one member gives so many bytes to all others, part by part: the others take the first while it gives the next. `from` is
    /// where the giver has them, `to` where another member wants them.
    ///
    /// # Safety
    /// All must be readable, or writable, until the answer is there.
    ///
    /// # Errors
    /// A part is not as long as its place; the NIC fails.
    pub async unsafe fn stream(&self, giver: u32, from: *const u8, to: *mut u8, bytes: usize) -> MpiResult {
        let is_giver = self.party.rank == giver;
        let readers: Vec<u32> = self.party.others().filter(|_| is_giver).collect();
        let part = policy::part_bytes(self.is_crowded, bytes);
        let read = if part < bytes { Read::Stream } else { Read::Copy };
        let (mut given, mut messages, mut taken) = (Vec::new(), Join::new(), Ok(()));
        for start in (0..bytes).step_by(part.max(1)) {
            let bytes = part.min(bytes - start);
            self.next_step();
            if is_giver {
                let giving = Giving::Same { data: from.wrapping_add(start), bytes, skip: 0..0, read };
                let contribution = Contribution { giving, wanted: None, readers: &readers };
                // SAFETY: the caller's promise.
                let part = unsafe { self.give(contribution).await? };
                given.push(part);
            } else {
                let place = (giver, to.wrapping_add(start), bytes);
                // SAFETY: as above.
                taken = taken.and(unsafe { self.take_blocks(&[place], &mut messages).await });
            }
        }
        for part in given {
            part.over().await?;
        }
        messages.all().await.and(taken)
    }

    /// A step in which blocks alone go from member to member.
    ///
    /// # Safety
    /// What is given must be readable, and the places writable, until the answer is there.
    ///
    /// # Errors
    /// A block is not as long as its place; the NIC fails.
    pub async unsafe fn move_blocks(
        &self,
        contribution: Contribution<'_>,
        landings: &[Landing],
    ) -> MpiResult {
        self.next_step();
        // SAFETY: the caller's promise.
        let mut given = unsafe { self.give(contribution).await? };
        let mut messages = Join::new();
        // SAFETY: as above.
        let taken = unsafe { self.take_blocks(landings, &mut messages).await };
        given.serve().await?;
        messages.all().await.and(taken).and(given.over().await)
    }

    /// Looks until something is there; a rank with a core of its own looks many times before it waits as for
    /// anything else. `look` is told whether the rank may rest after it.
    async fn until<T>(&self, mut look: impl FnMut(&mut Guard, bool) -> MpiResult<Option<T>>) -> MpiResult<T> {
        let looks = if self.party.blocks() && !self.is_crowded { policy::LANE_POLLS } else { 0 };
        let mut has_waited = false;
        let found = poll_fn(|_| {
            let looks = if has_waited { 0 } else { looks };
            let polled = with(|process| {
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
                    process.progress.exchanges += 1;
                }
                Ok(None)
            });
            match polled {
                Ok(Some(found)) => Poll::Ready(Ok(found)),
                Ok(None) => {
                    has_waited = true;
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(error)),
            }
        })
        .await;
        if has_waited {
            with(|process| {
                process.progress.exchanges -= 1;
                Ok(())
            })?;
        }
        found
    }
}

impl Given<'_> {
    /// Waits until nobody reads it any more.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn over(mut self) -> MpiResult {
        self.serve().await?;
        self.messages.all().await
    }

    /// Waits until nobody reads what is lent any more, and posts messages to those who were refused it.
    /// Whoever waits for such a message itself does this first.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn serve(&mut self) -> MpiResult {
        if let Some(lent) = self.lent.take() {
            let take_back = |process: &mut Guard, _| Ok(process.port.take_back(&lent)?);
            for refused in self.exchange.until(take_back).await? {
                // SAFETY: the promise of `Exchange::give`.
                unsafe { self.send_to(refused)? };
            }
        }
        Ok(())
    }

    /// # Safety
    /// What is given must be readable until the messages have gone.
    unsafe fn send_to(&mut self, reader: u32) -> MpiResult {
        let (data, bytes) = self.contribution.message(reader);
        // SAFETY: the caller's promise.
        self.messages.add(unsafe { self.exchange.party.post_send(reader, data, bytes)? });
        Ok(())
    }
}

/// A member that something is taken from.
struct Source {
    member: u32,
    local_index: u32,
    reader: LaneReader,
}

/// What is still to come in a step.
pub struct Takings<'a> {
    exchange: &'a Exchange,
    sources: Vec<Source>,
}

/// What a member gives this one.
pub struct Taken<'a> {
    /// Which member.
    pub member: u32,
    local_index: u32,
    chunk: Chunk<'a>,
}

impl<'a> Takings<'a> {
    /// The next one that comes; none when all have.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn next(&mut self) -> MpiResult<Option<Taken<'a>>> {
        let Self { exchange, sources } = self;
        if sources.is_empty() {
            return Ok(None);
        }
        let exchange: &'a Exchange = exchange;
        let reader = exchange.party.rank;
        exchange
            .until(|process, may_rest| {
                for (number, source) in sources.iter_mut().enumerate() {
                    let (local, key) = (source.local_index, exchange.key.get());
                    let found = source.reader.find(&exchange.memory, local, key, reader, may_rest);
                    if let Some(chunk) = found.map_err(PortError::from)? {
                        source.reader.advance();
                        process.port.note_lane_reader(local, source.reader);
                        let member = source.member;
                        // What is left stays in order: the next members first.
                        sources.remove(number);
                        return Ok(Some(Some(Taken { member, local_index: local, chunk })));
                    }
                }
                Ok(None)
            })
            .await
    }
}

impl Taken<'_> {
    /// Bytes that there are.
    pub fn bytes(&self) -> usize {
        self.chunk.bytes()
    }

    /// Whether the member lends them.
    pub fn is_lent(&self) -> bool {
        matches!(self.chunk.place(), Place::Lent(_))
    }

    /// Whether they are here, or can be read if the system lets this process: they come as no message.
    pub fn is_at_hand(&self) -> bool {
        self.chunk.place() != Place::Message
    }

    /// Copies some of them, from `from` on. False if they come as a message, or the system refuses to read
    /// them: then [`Self::finish`] says so.
    ///
    /// # Safety
    /// `to` must be writable for `bytes` bytes.
    ///
    /// # Errors
    /// There are less; the other process died, or has no such memory.
    pub unsafe fn copy(&self, from: usize, to: *mut u8, bytes: usize) -> MpiResult<bool> {
        if self.chunk.place() == Place::Message {
            return Ok(false);
        }
        if from.checked_add(bytes).is_none_or(|end| end > self.bytes()) {
            return Err(misfit(self.bytes(), from.saturating_add(bytes), self.member));
        }
        match self.chunk.place() {
            Place::Message => Ok(false),
            Place::Lane(data) => {
                // SAFETY: the bytes can be read, checked; the rest is the caller's promise.
                unsafe { std::ptr::copy_nonoverlapping(data.as_ptr().add(from), to, bytes) };
                Ok(true)
            }
            Place::Lent(address) => with(|process| {
                let address = address.wrapping_add(from as u64);
                // SAFETY: the caller's promise.
                Ok(unsafe { process.port.read_lent_memory(self.local_index, address, to, bytes)? })
            }),
        }
    }

    /// Gives back what was taken. If that `is_here` is false, or it comes as a message anyhow, the answer is
    /// false, and a receive has to be posted.
    ///
    /// # Errors
    /// NIC memory was damaged.
    pub fn finish(self, is_here: bool) -> MpiResult<bool> {
        if is_here || !self.is_lent() {
            self.chunk.done();
        } else {
            self.chunk.refuse().map_err(PortError::from)?;
        }
        Ok(is_here)
    }
}
