//! Two-phase I/O (del Rosario, Bordawekar and Choudhary, *Improved Parallel I/O via a Two-Phase Run-time
//! Access Strategy*, 1993): members exchange bytes with aggregators, which read and write their domains in
//! long pieces.
//!
//! First each member tells the aggregators what it has in their domains; from then on both know how many
//! bytes go from one to the other in each turn, and these are all that goes. A turn's exchange is under way
//! while the one before is written, and while the next one is read.

use super::background;
use super::domains::{Domains, common};
use super::errors::Failed;
use super::independent::Manner;
use super::memory::Bytes;
use super::pattern::{ENTRY_WORDS, Pattern};
use super::piece::{Piece, Pieces};
use super::sieve::Buffer;
use super::window;
use crate::error::MpiResult;
use crate::object::file::opened::Opened;
use crate::object::file::view::Region;
use crate::progress::{Join, Members, Memory, Message, Party, Pending};
use nic_emu::memory::numbers::CommRank;
use std::ops::Range;
use std::sync::Arc;

/// An access as a member sees it.
pub(super) struct Exchange<'a> {
    /// The members.
    pub party: &'a Party,
    /// Who moves what.
    pub domains: &'a Domains,
    /// The file.
    pub opened: &'a Arc<Opened>,
    /// What this member has of it; of a read no more than the file has.
    pub region: &'a Region,
    /// This member's memory.
    pub memory: &'a Bytes,
    /// How the file is accessed.
    pub manner: Manner,
}

/// How an access has ended at this member.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    /// What went wrong first.
    pub failed: Option<Failed>,
    /// The file was found to end here.
    pub file_end: u64,
}

/// What another member, or this one, has in this member's domain.
type Patterns = Arc<Vec<(CommRank, Pattern)>>;

/// Words of a first message about a pattern: how many entries there are, and the first of them.
const FIRST_WORDS: usize = 1 + 31 * ENTRY_WORDS;

/// The messages of a turn that are under way, and what they bring or take away.
struct Turn {
    join: Join<'static, Pending>,
    pieces: Pieces,
}

impl Exchange<'_> {
    /// This member's number among the aggregators, if it is one.
    fn own_domain(&self) -> Option<usize> {
        self.domains.of.iter().position(|(member, _)| *member == self.party.rank)
    }

    /// Which of this member's bytes lie in this part of the file.
    fn range(&self, part: &Range<u64>) -> Range<usize> {
        self.region.bytes_before(part.start)..self.region.bytes_before(part.end)
    }

    /// Tells the aggregators what this member has in their domains, and hears of what others have in this
    /// one's. All know from the ends that members have said who tells whom.
    async fn tell(&self, reaches: &[Range<u64>]) -> MpiResult<Patterns> {
        let own = self.party.rank;
        let (mut told, mut heard, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
        let mut join = Join::new();
        for (aggregator, domain) in &self.domains.of {
            if common(&reaches[own.index()], domain).is_empty() {
                continue;
            }
            let pattern = Pattern::of(self.region, domain.clone());
            if *aggregator == own {
                patterns.push((own, pattern));
                continue;
            }
            let mut words = pattern.encode();
            words.insert(0, (words.len() / ENTRY_WORDS) as u64);
            let all = bytes_of(&mut words);
            let first = all.part(0..8 * FIRST_WORDS);
            join.add(self.party.post_send(*aggregator, first)?);
            if all.bytes() > first.bytes() {
                join.add(self.party.post_send(*aggregator, all.part(first.bytes()..all.bytes()))?);
            }
            told.push(words);
        }
        let domain = self.own_domain().map(|number| self.domains.of[number].1.clone()).unwrap_or(0..0);
        let tells =
            |member: &CommRank| *member != own && !common(&reaches[member.index()], &domain).is_empty();
        for member in CommRank::all(self.party.size).filter(tells) {
            let mut words = vec![0u64; FIRST_WORDS];
            join.add(self.party.post_receive(member, bytes_of(&mut words))?);
            heard.push((member, words));
        }
        join.all().await?;
        let mut join = Join::new();
        for (member, words) in &mut heard {
            // Each entry is a byte of the domain at least.
            let entries = words[0].min(domain.end - domain.start) as usize;
            let before = words.len().min(1 + entries * ENTRY_WORDS);
            words.resize(1 + entries * ENTRY_WORDS, 0);
            if words.len() > before {
                join.add(self.party.post_receive(*member, bytes_of(&mut words[before..]))?);
            }
        }
        join.all().await?;
        for (member, words) in heard {
            patterns.push((member, Pattern::decode(&words[1..], domain.clone())?));
        }
        // Where members write the same bytes, those of the last one stay.
        patterns.sort_by_key(|(member, _)| *member);
        drop(told);
        Ok(Arc::new(patterns))
    }

    /// Writes what members have, each of which reaches over these bytes.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn write(&self, reaches: &[Range<u64>]) -> MpiResult<End> {
        let patterns = self.tell(reaches).await?;
        let mut end = End { failed: None, file_end: u64::MAX };
        let mut buffer = Buffer::default();
        let mut next = Some(self.post_of_write(&patterns, 0)?);
        for round in 0..self.domains.rounds() {
            let Some(Turn { join, pieces }) = next.take() else { break };
            join.all().await?;
            if round + 1 < self.domains.rounds() {
                next = Some(self.post_of_write(&patterns, round + 1)?);
            }
            let Some(window) = self.own_window(round) else { continue };
            if end.failed.is_some() || window.is_empty() {
                continue;
            }
            let (opened, patterns, manner) = (self.opened.clone(), patterns.clone(), self.manner);
            let of_party = pieces.into_iter().filter(|(number, _)| *number < patterns.len()).collect();
            let job = move || {
                let written = window::write(&opened, &window, &patterns, of_party, manner, &mut buffer);
                (written, buffer)
            };
            let written;
            (written, buffer) = background::run(self.party.blocks, job).await?;
            end.failed = written.err();
        }
        Ok(end)
    }

    fn own_window(&self, round: usize) -> Option<Range<u64>> {
        Some(self.domains.window(self.own_domain()?, round))
    }

    /// Posts the messages of a turn: to aggregators, and, as one, from members.
    fn post_of_write(&self, patterns: &Patterns, round: usize) -> MpiResult<Turn> {
        let mut turn = Turn { join: Join::new(), pieces: Vec::new() };
        if let Some(window) = self.own_window(round) {
            for (number, (member, pattern)) in patterns.iter().enumerate() {
                let bytes = pattern.bytes_before(window.end) - pattern.bytes_before(window.start);
                if bytes == 0 {
                    continue;
                }
                let mut piece = match *member == self.party.rank {
                    true => self.memory.given(&self.range(&window)),
                    false => Piece::room(bytes as usize),
                };
                if *member != self.party.rank {
                    turn.join.add(self.party.post_receive(*member, piece.memory())?.exactly());
                }
                turn.pieces.push((number, piece));
            }
        }
        for (number, (aggregator, _)) in self.domains.of.iter().enumerate() {
            let range = self.range(&self.domains.window(number, round));
            if !range.is_empty() && *aggregator != self.party.rank {
                let mut piece = self.memory.given(&range);
                turn.join.add(self.party.post_send(*aggregator, piece.memory())?);
                turn.pieces.push((usize::MAX, piece));
            }
        }
        Ok(turn)
    }

    /// Reads what members have, each of which reaches over these bytes.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn read(&self, reaches: &[Range<u64>]) -> MpiResult<End> {
        let patterns = self.tell(reaches).await?;
        let mut end = End { failed: None, file_end: u64::MAX };
        let mut buffer = Buffer::default();
        let mut before: Option<Turn> = None;
        for round in 0..self.domains.rounds() {
            let mut given = Vec::new();
            if let Some(window) = self.own_window(round).filter(|window| !window.is_empty()) {
                let (opened, patterns, manner) = (self.opened.clone(), patterns.clone(), self.manner);
                let job = move || {
                    let read = window::read(&opened, &window, &patterns, manner, &mut buffer);
                    (read, buffer)
                };
                let read;
                (read, buffer) = background::run(self.party.blocks, job).await?;
                end.failed = end.failed.or(read.failed);
                end.file_end = end.file_end.min(read.file_end);
                given = read.pieces;
            }
            let turn = self.post_of_read(&patterns, round, given)?;
            if let Some(turn) = before.replace(turn) {
                self.finish_read(turn).await?;
            }
        }
        if let Some(turn) = before {
            self.finish_read(turn).await?;
        }
        Ok(end)
    }

    /// Posts the messages of a turn: from aggregators, and, as one, to members.
    fn post_of_read(&self, patterns: &Patterns, round: usize, given: Pieces) -> MpiResult<Turn> {
        let mut turn = Turn { join: Join::new(), pieces: Vec::new() };
        for (number, (aggregator, _)) in self.domains.of.iter().enumerate() {
            let range = self.range(&self.domains.window(number, round));
            if !range.is_empty() && *aggregator != self.party.rank {
                let mut piece = self.memory.taken(&range);
                turn.join.add(self.party.post_receive(*aggregator, piece.memory())?.exactly());
                turn.pieces.push((range.start, piece));
            }
        }
        for (number, mut piece) in given {
            let member = patterns[number].0;
            if member == self.party.rank {
                let from = self.own_window(round).map_or(0, |window| self.range(&window).start);
                // SAFETY: they have been read.
                unsafe { self.memory.put(from, piece) };
                continue;
            }
            turn.join.add(self.party.post_send(member, piece.memory())?);
            turn.pieces.push((usize::MAX, piece));
        }
        Ok(turn)
    }

    async fn finish_read(&self, Turn { join, pieces }: Turn) -> MpiResult {
        join.all().await?;
        for (from, piece) in pieces.into_iter().filter(|(from, _)| *from != usize::MAX) {
            // SAFETY: the messages were as long as there was room.
            unsafe { self.memory.put(from, piece) };
        }
        Ok(())
    }
}

/// The bytes of words; who asks keeps them until they have been moved.
fn bytes_of(words: &mut [u64]) -> Memory {
    // SAFETY: see above.
    unsafe { Memory::new(words.as_mut_ptr().cast(), size_of_val(words)) }
}
