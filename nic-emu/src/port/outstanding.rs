//! A rank's outstanding requests: a record beside every request slot that is in use. Private to the rank's
//! process.
//!
//! A request is one thing: the NIC's slot, and here what only the rank needs of it: where its bytes go, what
//! a hang report says of it, and the name that a program holds it by. A name is good until its slot is freed
//! or the name is dropped; the slot's generation moves on then, so a name that is out of date is recognised,
//! and not followed.

use crate::channel::Buffer;
use crate::memory::{CommRank, Context, REQUESTS, Rank, RequestId};
use crate::policy::LEAST_LEFT_BYTES;

/// What a request was posted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A send.
    Send,
    /// A receive.
    Receive,
    /// A collective.
    Collective,
}

/// Generations are counted in so many bits: a name leaves room for what tells the kinds of handles apart.
pub const GENERATION_BITS: u32 = 24;
const GENERATIONS: u32 = 1 << GENERATION_BITS;
/// The name of a request that has none: no generation.
const UNNAMED: u32 = u32::MAX;

/// What a rank knows of a request that it has posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Context of the communicator.
    pub context: Context,
    /// The peer's rank in the communicator, or `ANY_SOURCE`.
    pub peer: CommRank,
    /// The peer's rank in the job; `NOBODY` when there is none, or any.
    pub peer_in_job: Rank,
    /// The tag, or `ANY_TAG`.
    pub tag: i32,
    /// Bytes of the message, or room for one.
    pub bytes: u64,
    /// Where a message's bytes are, or go.
    pub address: u64,
    /// A word for the poster: whose request it is.
    pub owner: u64,
    /// What the poster knows of a receive's type, to be compared with the message's; 0 where nothing is to be
    /// compared.
    pub signature: u16,
}

impl About {
    /// Of a request without a peer.
    pub const NOTHING: Self = Self {
        context: Context::NONE,
        peer: CommRank::NOBODY,
        peer_in_job: Rank::NOBODY,
        tag: 0,
        bytes: 0,
        address: 0,
        owner: 0,
        signature: 0,
    };
}

/// The record of a slot: one cache line.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
struct SlotRecord {
    /// The generation by which the program names it, or [`UNNAMED`].
    name: u32,
    /// How often the slot was freed, or its name dropped, so far.
    generation: u32,
    /// None while the slot is free.
    purpose: Option<Purpose>,
    /// The NIC has completed it and its bytes are where they belong; it was not taken yet.
    landed: bool,
    /// It is more than a receive of a message of this node.
    elsewhere: bool,
    /// The slot to use after this one, while it is free; [`RequestId::NONE`] at the end.
    next_free: RequestId,
    about: About,
}

const _: () = assert!(size_of::<SlotRecord>() == 64);

/// Whether a request is a receive with room for a message that is left in its sender's memory.
#[inline(always)]
fn is_long(purpose: Purpose, about: &About) -> bool {
    purpose == Purpose::Receive && about.bytes >= LEAST_LEFT_BYTES as u64
}

/// The outstanding requests of a rank.
///
/// Slots freed last are used first: they are the ones in a cache.
#[derive(Debug)]
pub struct Outstanding {
    records: Vec<SlotRecord>,
    first_free: RequestId,
    count: u32,
    long_receives: u32,
    collectives: u32,
    elsewhere: u32,
}

impl Default for Outstanding {
    fn default() -> Self {
        let first_free = RequestId::NONE;
        Self { records: Vec::new(), first_free, count: 0, long_receives: 0, collectives: 0, elsewhere: 0 }
    }
}

impl Outstanding {
    /// A slot for a new request; none when all are in use.
    #[inline(always)]
    pub(crate) fn add(&mut self, purpose: Purpose, about: About) -> Option<RequestId> {
        let request = self.first_free;
        let Some(record) = self.records.get_mut(request.index()) else { return self.grow(purpose, about) };
        self.first_free = record.next_free;
        self.count += 1;
        self.long_receives += u32::from(is_long(purpose, &about));
        self.collectives += u32::from(purpose == Purpose::Collective);
        record.purpose = Some(purpose);
        // Word by word: what was stored in words, and is loaded in longer pieces, is waited for until all
        // stores before it are done.
        let About { context, peer, peer_in_job, tag, bytes, address, owner, signature } = about;
        let to = &mut record.about;
        (to.context, to.peer, to.peer_in_job, to.tag) = (context, peer, peer_in_job, tag);
        (to.bytes, to.address, to.owner, to.signature) = (bytes, address, owner, signature);
        Some(request)
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, purpose: Purpose, about: About) -> Option<RequestId> {
        if self.records.len() == REQUESTS {
            return None;
        }
        self.count += 1;
        self.long_receives += u32::from(is_long(purpose, &about));
        self.collectives += u32::from(purpose == Purpose::Collective);
        self.records.push(SlotRecord {
            name: UNNAMED,
            generation: 1,
            purpose: Some(purpose),
            landed: false,
            elsewhere: false,
            next_free: RequestId::NONE,
            about,
        });
        Some(RequestId(self.records.len() as u32 - 1))
    }

    #[inline(always)]
    fn record(&self, request: RequestId) -> Option<&SlotRecord> {
        self.records.get(request.index())
    }

    /// Whether there are receives with room for messages that are left in their senders' memory.
    #[inline]
    pub(crate) fn has_long_receives(&self) -> bool {
        self.long_receives > 0
    }

    /// How many of them are collectives.
    #[inline]
    pub fn collectives(&self) -> u32 {
        self.collectives
    }

    /// Whether there is no message among them.
    #[inline]
    pub fn has_no_message(&self) -> bool {
        self.count == self.collectives
    }

    /// Notes that a request that was just added is more than a receive of a message of this node.
    #[inline]
    pub(crate) fn note_elsewhere(&mut self, request: RequestId) {
        if let Some(record) = self.records.get_mut(request.index())
            && !std::mem::replace(&mut record.elsewhere, true)
        {
            self.elsewhere += 1;
        }
    }

    /// Whether there are some, and all are receives of messages of this node.
    #[inline]
    pub fn are_of_this_node(&self) -> bool {
        self.count != 0 && self.elsewhere == 0
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.count
    }

    /// True when there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What a request was posted for; none when it is not outstanding.
    #[inline]
    pub fn purpose(&self, request: RequestId) -> Option<Purpose> {
        self.record(request)?.purpose
    }

    /// What is known of an outstanding request.
    #[inline]
    pub fn about(&self, request: RequestId) -> Option<&About> {
        self.record(request).filter(|record| record.purpose.is_some()).map(|record| &record.about)
    }

    /// What is known of an outstanding receive whose bytes have not landed yet.
    #[inline(always)]
    pub fn plain(&self, request: RequestId) -> Option<&About> {
        let record = self.record(request)?;
        (record.purpose == Some(Purpose::Receive) && !record.landed).then_some(&record.about)
    }

    /// Address and length of an outstanding receive's buffer.
    #[inline]
    pub fn place(&self, request: RequestId) -> Option<(u64, u64)> {
        let record = self.record(request)?;
        (record.purpose == Some(Purpose::Receive)).then_some((record.about.address, record.about.bytes))
    }

    /// The buffer of an outstanding send or receive that this end moves the bytes of.
    #[inline]
    pub fn buffer(&self, request: RequestId) -> Option<Buffer> {
        let record = self.record(request)?;
        let is_message = matches!(record.purpose, Some(Purpose::Send | Purpose::Receive));
        is_message.then_some(Buffer { address: record.about.address, bytes: record.about.bytes })
    }

    /// The buffer of an outstanding request for this.
    pub fn buffer_of(&self, purpose: Purpose, request: RequestId) -> Option<Buffer> {
        self.buffer(request).filter(|_| self.purpose(request) == Some(purpose))
    }

    /// Says who a request's peer is, in the communicator and in the job (or `NOBODY`), and whose request it
    /// is: what [`Self::about`] answers, and hang reports say.
    #[inline(always)]
    pub fn label(&mut self, request: RequestId, (peer, peer_in_job): (CommRank, Rank), owner: u64) {
        if let Some(record) = self.records.get_mut(request.index()) {
            (record.about.peer, record.about.peer_in_job) = (peer, peer_in_job);
            record.about.owner = owner;
        }
    }

    /// Names an outstanding request: answers the generation (of [`GENERATION_BITS`] bits) that goes with its
    /// number. The name is good until the request is taken.
    #[inline(always)]
    pub fn name(&mut self, request: RequestId) -> u32 {
        match self.records.get_mut(request.index()) {
            Some(record) => {
                record.name = record.generation;
                record.name
            }
            None => UNNAMED,
        }
    }

    /// Whether this is the name of an outstanding request.
    #[inline(always)]
    pub fn is_named(&self, request: RequestId, generation: u32) -> bool {
        self.record(request).is_some_and(|record| record.name == generation)
    }

    /// The name of an outstanding request, if it has one.
    pub fn name_of(&self, request: RequestId) -> Option<u32> {
        self.record(request).map(|record| record.name).filter(|&name| name != UNNAMED)
    }

    /// Whether this once was the name of a request, and is no more.
    pub fn was_named(&self, request: RequestId, generation: u32) -> bool {
        self.record(request).is_some_and(|record| generation < record.generation)
    }

    /// Drops a request's name; the request goes on.
    pub fn drop_name(&mut self, request: RequestId) {
        if let Some(record) = self.records.get_mut(request.index()) {
            record.move_on();
        }
    }

    /// Notes that a complete request's bytes are where they belong, although it was not taken.
    pub(crate) fn set_landed(&mut self, request: RequestId) {
        if let Some(record) = self.records.get_mut(request.index()) {
            record.landed = true;
        }
    }

    /// Whether a complete request's bytes are where they belong, although it was not taken.
    #[inline]
    pub(crate) fn has_landed(&self, request: RequestId) -> bool {
        self.record(request).is_some_and(|record| record.landed)
    }

    /// Takes a complete request: its slot is free. Answers what it was posted for and what was known of it;
    /// none when it is not outstanding.
    #[inline(always)]
    pub(crate) fn take(&mut self, request: RequestId) -> Option<(Purpose, About)> {
        let record = self.records.get_mut(request.index())?;
        let purpose = record.purpose.take()?;
        self.count -= 1;
        self.long_receives -= u32::from(is_long(purpose, &record.about));
        self.collectives -= u32::from(purpose == Purpose::Collective);
        record.landed = false;
        self.elsewhere -= u32::from(std::mem::take(&mut record.elsewhere));
        record.move_on();
        record.next_free = self.first_free;
        self.first_free = request;
        Some((purpose, record.about))
    }

    /// All outstanding requests.
    pub fn requests(&self) -> Vec<RequestId> {
        (0..)
            .zip(&self.records)
            .filter(|(_, record)| record.purpose.is_some())
            .map(|(i, _)| RequestId(i))
            .collect()
    }
}

impl SlotRecord {
    #[inline(always)]
    fn move_on(&mut self) {
        self.name = UNNAMED;
        self.generation = (self.generation + 1) % GENERATIONS;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_taken_request_is_taken_once_and_its_slot_is_used_again() {
        let mut outstanding = Outstanding::default();
        let about = About { peer: CommRank(3), ..About::NOTHING };
        let first = outstanding.add(Purpose::Collective, About::NOTHING).unwrap();
        let second = outstanding.add(Purpose::Send, about).unwrap();
        assert_eq!(outstanding.name_of(second), None);
        assert_eq!(outstanding.collectives(), 1);
        assert_eq!(outstanding.take(first), Some((Purpose::Collective, About::NOTHING)));
        assert_eq!(outstanding.collectives(), 0);
        assert_eq!(outstanding.take(first), None);
        assert_eq!(outstanding.requests(), vec![second]);
        assert_eq!((outstanding.about(first), outstanding.about(second)), (None, Some(&about)));
        assert_eq!(outstanding.add(Purpose::Collective, About::NOTHING), Some(first));
    }

    #[test]
    fn requests_are_of_this_node_as_long_as_none_is_noted_to_be_more() {
        let mut outstanding = Outstanding::default();
        assert!(!outstanding.are_of_this_node(), "there is none");
        let here = outstanding.add(Purpose::Receive, About::NOTHING).unwrap();
        assert!(outstanding.are_of_this_node());
        let elsewhere = outstanding.add(Purpose::Send, About::NOTHING).unwrap();
        (0..2).for_each(|_| outstanding.note_elsewhere(elsewhere));
        assert!(!outstanding.are_of_this_node());
        outstanding.take(elsewhere).unwrap();
        assert!(outstanding.are_of_this_node());
        // The slot that was used for the other node.
        assert_eq!(outstanding.add(Purpose::Send, About::NOTHING), Some(elsewhere));
        assert!(outstanding.are_of_this_node());
        assert!([here, elsewhere].map(|request| outstanding.take(request)).iter().all(Option::is_some));
        assert!(!outstanding.are_of_this_node());
    }

    proptest! {
        #[test]
        fn a_name_is_good_until_it_is_dropped_or_its_request_taken_and_never_again(steps in proptest::collection::vec((0u8..3, any::<u16>()), 0..300)) {
            let mut outstanding = Outstanding::default();
            let (mut live, mut stale) = (Vec::new(), Vec::new());
            for (step, at) in steps {
                match step {
                    0 => {
                        let request = outstanding.add(Purpose::Receive, About::NOTHING).unwrap();
                        live.push((request, outstanding.name(request)));
                    }
                    1 if !live.is_empty() => {
                        let (request, name) = live.swap_remove(at as usize % live.len());
                        prop_assert!(outstanding.take(request).is_some());
                        stale.push((request, name));
                    }
                    2 if !live.is_empty() => {
                        let (request, name) = live.swap_remove(at as usize % live.len());
                        outstanding.drop_name(request);
                        prop_assert!(outstanding.purpose(request).is_some());
                        stale.push((request, name));
                    }
                    _ => {}
                }
                prop_assert!(live.iter().all(|&(request, name)| outstanding.is_named(request, name) && !outstanding.was_named(request, name)));
                prop_assert!(stale.iter().all(|&(request, name)| !outstanding.is_named(request, name) && outstanding.was_named(request, name)));
            }
        }
    }
}
