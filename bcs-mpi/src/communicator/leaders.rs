//! What groups agree on by messages: before they have a communicator, and between the two groups of an
//! intercommunicator (MPI-5.0, §7.4.2, §7.6).
//!
//! A group's leader has a word and tells it to the group along a binomial tree. Two groups' leaders
//! exchange their words first, and each tells its group both: so all members of both know the same, and
//! derive the same from it. This makes intercommunicators, merges, splits and duplicates them. A word is
//! one message, unless it is long: each message that follows another one takes two slices more, where
//! these are fixed.

use crate::error::{MpiError, MpiResult, Problem};
use crate::object::Group;
use crate::progress::{Branch, Join, Members, Party, Pending};
use nic_emu::memory::numbers::CommRank;
use std::ffi::c_int;

/// A group whose members reach each other by messages.
#[derive(Clone, Debug)]
pub(super) struct Assembly {
    /// How.
    pub party: Party,
    /// The group, all of whose members are in that.
    pub group: Group,
    /// Which of its members leads.
    pub leader: CommRank,
}

impl Assembly {
    /// All members of an intracommunicator, which are a party of it.
    pub fn of(party: Party, leader: CommRank) -> Self {
        Self { group: party.peers.clone(), party, leader }
    }

    /// Brings the leader's word to all members, whatever its length.
    ///
    /// # Errors
    /// The NIC fails.
    pub async fn tell(&self, mut word: Vec<u8>) -> MpiResult<Vec<u8>> {
        let Self { party, group, leader } = self;
        let own = group.member(party.job_rank(party.rank)).unwrap_or(*leader);
        let Branch { parent, children, .. } = Branch::new(own, group.size(), *leader);
        let name = |member| party.peers.member(group.job_rank(member)).unwrap_or(CommRank::NOBODY);
        if let Some(parent) = parent {
            word = receive_word(party, name(parent)).await?;
        }
        let letter = Letter::of(&word);
        let mut join = Join::new();
        for (child, ..) in children {
            letter.post(party, name(child), &mut join)?;
        }
        join.all().await?;
        Ok(word)
    }
}

/// Bytes of a word's first message at most, its length included.
const FIRST: usize = 1 << 10;

/// A word on its way: its length and its bytes, in one message or, where it is long, in two.
struct Letter(Vec<u8>);

impl Letter {
    fn of(word: &[u8]) -> Self {
        Self([&(word.len() as u64).to_ne_bytes()[..], word].concat())
    }

    /// Posts the letter to a member.
    fn post<'l>(&'l self, party: &Party, to: CommRank, join: &mut Join<'l, Pending>) -> MpiResult {
        let (first, rest) = self.0.split_at(self.0.len().min(FIRST));
        for part in [first, rest].into_iter().filter(|part| !part.is_empty()) {
            join.send(party, to, part)?;
        }
        Ok(())
    }
}

/// Receives a word from a member.
async fn receive_word(party: &Party, from: CommRank) -> MpiResult<Vec<u8>> {
    let mut letter = vec![0; FIRST];
    party.receive(from, &mut letter).await?;
    let mut word = letter.split_off(size_of::<u64>());
    let length = letter.first_chunk().map_or(0, |length| u64::from_ne_bytes(*length)) as usize;
    let has = word.len();
    word.resize(length, 0);
    if length > has {
        party.receive(from, &mut word[has..]).await?;
    }
    Ok(word)
}

/// The words of two groups' leaders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// Of this process's own group.
    pub own: Vec<u8>,
    /// Of the other group.
    pub other: Vec<u8>,
}

/// A leader's way to the other one, and its word.
#[derive(Debug)]
pub(super) struct Leading {
    /// The party that both are in.
    pub bridge: Party,
    /// What the other leader is called in it.
    pub peer: CommRank,
    /// The word.
    pub word: Vec<u8>,
}

impl Leading {
    /// Gives the word to the other leader and takes its one.
    async fn swap(&self) -> MpiResult<Vec<u8>> {
        let Self { bridge, peer, word } = self;
        let (letter, mut join) = (Letter::of(word), Join::new());
        letter.post(bridge, *peer, &mut join)?;
        let other = receive_word(bridge, *peer).await?;
        join.all().await?;
        Ok(other)
    }
}

/// Exchanges words between the leaders and tells them to the group. `leading` is none at all but the
/// leader; what is wrong there is told too, so that its group does not wait.
///
/// # Errors
/// What is wrong at the leader, or the NIC fails.
pub(super) async fn across(group: Assembly, leading: Option<MpiResult<Leading>>) -> MpiResult<Words> {
    let (mut own, mut other) = (Vec::new(), Vec::new());
    let mut failed = None;
    match leading {
        Some(Ok(leading)) => {
            other = leading.swap().await?;
            own = leading.word;
        }
        Some(Err(error)) => failed = Some(error),
        None => {}
    }
    let report = failed.as_ref().map_or_else(Vec::new, |error| {
        let text = format!("rank {}, which leads the group, failed: {}", group.leader, error.problem());
        [&error.class().to_ne_bytes()[..], text.as_bytes()].concat()
    });
    let told = group.tell(join_words([&report, &own, &other])).await?;
    if let Some(error) = failed {
        return Err(error);
    }
    let [report, own, other] =
        split_words(&told).ok_or_else(|| MpiError::new(Problem::Nic("a group was told no words".into())))?;
    if let Some((class, text)) = report.split_first_chunk() {
        let class = c_int::from_ne_bytes(*class);
        let text = String::from_utf8_lossy(text).into_owned();
        return Err(MpiError::new(Problem::Raised { code: class, class, text }));
    }
    Ok(Words { own: own.into(), other: other.into() })
}

/// Words as one, each behind its length.
pub(super) fn join_words(words: [&[u8]; 3]) -> Vec<u8> {
    words.into_iter().flat_map(|word| Letter::of(word).0).collect()
}

/// What [`join_words`] joined.
pub(super) fn split_words(mut joined: &[u8]) -> Option<[&[u8]; 3]> {
    let mut words = [&joined[..0]; 3];
    for word in &mut words {
        let (length, rest) = joined.split_first_chunk()?;
        (*word, joined) = rest.split_at_checked(u64::from_ne_bytes(*length) as usize)?;
    }
    Some(words)
}
