//! What ends of partitioned operations know of each other (MPI-5.0, §4.2).
//!
//! The n-th send that a process initialises for a peer and a tag belongs to the n-th receive that the peer
//! initialises for this process and that tag. So both ends know who belongs to whom without a message. What
//! the receiver has to know of a send, its sender tells in a *notice*, once, before the first data: how many
//! bytes there are, in which units they go, and which tags these have. Notices for a peer and a tag go in the
//! order of the initialisations, those of requests that were freed, too.

use nic_emu::memory::numbers::{CommRank, RequestId};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::rc::Rc;

/// What the sender of a partitioned operation tells its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The program's tag.
    pub tag: i32,
    /// The number of the first unit's tag; those of the others follow.
    pub first: u32,
    /// Bytes in all.
    pub bytes: u64,
    /// Bytes of each unit but the last one, which may have fewer.
    pub unit_bytes: u64,
}

impl Notice {
    /// Bytes of one.
    pub const BYTES: usize = 24;

    /// As it is sent.
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut text = [0; Self::BYTES];
        text[..4].copy_from_slice(&self.tag.to_le_bytes());
        text[4..8].copy_from_slice(&self.first.to_le_bytes());
        text[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        text[16..].copy_from_slice(&self.unit_bytes.to_le_bytes());
        text
    }

    /// As it was sent.
    pub fn decode(text: &[u8; Self::BYTES]) -> Self {
        let [a, b, c, d, e, f, g, h, long @ ..] = *text;
        let [i, j, k, l, m, n, o, p, unit @ ..] = long;
        Self {
            tag: i32::from_le_bytes([a, b, c, d]),
            first: u32::from_le_bytes([e, f, g, h]),
            bytes: u64::from_le_bytes([i, j, k, l, m, n, o, p]),
            unit_bytes: u64::from_le_bytes(unit),
        }
    }
}

/// The sends that were initialised for a peer and a tag.
#[derive(Debug, Default)]
pub struct Outgoing {
    /// Those whose notices have not gone yet.
    waiting: VecDeque<Notice>,
    /// How many notices have.
    told: u64,
}

impl Outgoing {
    /// One more; answers its number.
    pub fn add(&mut self, notice: Notice) -> u64 {
        self.waiting.push_back(notice);
        self.told + self.waiting.len() as u64 - 1
    }

    /// Whether notices up to the one with this number have still to go.
    pub fn waits_up_to(&self, number: u64) -> bool {
        self.told <= number
    }

    /// Whether notices of some have still to go. One for which none has may be forgotten: new sends, which
    /// are counted from nought then, have theirs after all that went.
    fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the next notice that has to go, up to the one with this number.
    pub fn next_up_to(&mut self, number: u64) -> Option<Notice> {
        let next = if self.waits_up_to(number) { self.waiting.pop_front() } else { None };
        self.told += u64::from(next.is_some());
        next
    }
}

/// The receives that were initialised for a source, and the notices of that.
#[derive(Debug, Default)]
pub struct Incoming {
    by_tag: HashMap<i32, Initialised>,
    /// The receive of the next notice, if some operation waits for one.
    pub awaited: Option<(RequestId, Box<[u8; Notice::BYTES]>)>,
}

/// Those of a tag.
#[derive(Debug, Default)]
struct Initialised {
    receives: u64,
    told: u64,
    /// Notices that their receives have not asked for.
    kept: HashMap<u64, Notice>,
    /// Receives that were freed before their notices came.
    freed: HashSet<u64>,
}

impl Initialised {
    /// Whether all receives have had their notices: then they may be forgotten, as new ones are counted from
    /// nought, and so are their notices.
    fn are_told(&self) -> bool {
        self.receives == self.told && self.kept.is_empty()
    }
}

impl Incoming {
    /// One more receive of this tag; answers its number.
    pub fn add(&mut self, tag: i32) -> u64 {
        let of_tag = self.by_tag.entry(tag).or_default();
        of_tag.receives += 1;
        of_tag.receives - 1
    }

    /// A notice has come.
    pub fn keep(&mut self, notice: Notice) {
        let of_tag = self.by_tag.entry(notice.tag).or_default();
        let number = of_tag.told;
        of_tag.told += 1;
        if !of_tag.freed.remove(&number) {
            of_tag.kept.insert(number, notice);
        }
        self.forget_told(notice.tag);
    }

    /// Takes the notice for the receive of this tag with this number, if it has come.
    pub fn take(&mut self, tag: i32, number: u64) -> Option<Notice> {
        let notice = self.by_tag.get_mut(&tag)?.kept.remove(&number)?;
        self.forget_told(tag);
        Some(notice)
    }

    /// A receive is freed before it has asked for its notice.
    pub fn forget(&mut self, tag: i32, number: u64) {
        let Some(of_tag) = self.by_tag.get_mut(&tag) else { return };
        if number < of_tag.told {
            of_tag.kept.remove(&number);
        } else {
            of_tag.freed.insert(number);
        }
        self.forget_told(tag);
    }

    fn forget_told(&mut self, tag: i32) {
        if self.by_tag.get(&tag).is_some_and(Initialised::are_told) {
            self.by_tag.remove(&tag);
        }
    }
}

/// The tags of units.
#[derive(Debug, Default)]
struct Tags {
    /// The number of the next one.
    next: u32,
    /// Those of requests that live: the first ones, and how many follow.
    live: BTreeMap<u32, u32>,
}

impl Tags {
    /// Where the first request that has some of these tags ends.
    fn end_of_first(&self, tags: Range<u32>) -> Option<u32> {
        let before =
            self.live.range(..tags.start).next_back().filter(|(first, count)| *first + *count > tags.start);
        before.or_else(|| self.live.range(tags).next()).map(|(first, count)| first + count)
    }
}

/// Tags of the units of a request, as long as this lives.
#[derive(Debug)]
pub struct TagsInUse {
    /// The number of the first one.
    pub first: u32,
    tags: Rc<RefCell<Tags>>,
}

impl Drop for TagsInUse {
    fn drop(&mut self) {
        self.tags.borrow_mut().live.remove(&self.first);
    }
}

/// The partitioned operations of a communicator in this process.
#[derive(Debug, Default)]
pub struct Partitioned {
    tags: Rc<RefCell<Tags>>,
    outgoing: HashMap<(CommRank, i32), Rc<RefCell<Outgoing>>>,
    incoming: HashMap<CommRank, Rc<RefCell<Incoming>>>,
}

/// The number of the tag that notices have.
pub const NOTICE: u32 = 0;

impl Partitioned {
    /// Gives so many tags in a row, of so many that there are; none where requests that live have all. A
    /// request that is freed leaves its tags to those that come when all others were given, so that no
    /// message of its is under way any more.
    pub fn take_tags(&mut self, count: u32, limit: u32) -> Option<TagsInUse> {
        let last = limit.checked_sub(count).filter(|last| *last > NOTICE)?;
        let mut tags = self.tags.borrow_mut();
        let (mut first, mut begins_anew) = (tags.next.max(NOTICE + 1), false);
        loop {
            if first > last {
                if std::mem::replace(&mut begins_anew, true) {
                    return None;
                }
                first = NOTICE + 1;
            }
            match tags.end_of_first(first..first + count) {
                Some(end) => first = end,
                None => break,
            }
        }
        tags.next = first + count;
        tags.live.insert(first, count);
        drop(tags);
        Some(TagsInUse { first, tags: self.tags.clone() })
    }

    /// The sends for a peer and a tag.
    pub fn outgoing(&mut self, peer: CommRank, tag: i32) -> Rc<RefCell<Outgoing>> {
        self.outgoing.entry((peer, tag)).or_default().clone()
    }

    /// Forgets the sends for a peer and a tag if all their notices have gone.
    pub fn forget_told(&mut self, peer: CommRank, tag: i32) {
        if self.outgoing.get(&(peer, tag)).is_some_and(|sends| !sends.borrow().waits()) {
            self.outgoing.remove(&(peer, tag));
        }
    }

    /// The receives for a source.
    pub fn incoming(&mut self, source: CommRank) -> Rc<RefCell<Incoming>> {
        self.incoming.entry(source).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(tag: i32, first: u32) -> Notice {
        Notice { tag, first, bytes: u64::MAX - 7, unit_bytes: 1 << 40 }
    }

    #[test]
    fn a_notice_is_read_as_it_was_written() {
        let told = notice(i32::MAX, u32::MAX - 1);
        assert_eq!(Notice::decode(&told.encode()), told);
    }

    #[test]
    fn notices_of_sends_go_in_the_order_in_which_they_were_initialised() {
        let mut sends = Outgoing::default();
        assert_eq!([1, 2, 3].map(|first| sends.add(notice(5, first))), [0, 1, 2]);
        let told: Vec<u32> = std::iter::from_fn(|| sends.next_up_to(1)).map(|told| told.first).collect();
        assert_eq!(told, [1, 2], "what was initialised before goes before");
        assert!(sends.next_up_to(0).is_none(), "once");
        assert_eq!(sends.add(notice(5, 4)), 3);
        let told: Vec<u32> = std::iter::from_fn(|| sends.next_up_to(3)).map(|told| told.first).collect();
        assert_eq!(told, [3, 4]);
    }

    #[test]
    fn a_receive_gets_the_notice_of_its_number_and_tag() {
        let mut receives = Incoming::default();
        assert_eq!([7, 7, 8, 7].map(|tag| receives.add(tag)), [0, 1, 0, 2]);
        assert_eq!(receives.take(7, 0), None);
        receives.forget(7, 1);
        for (tag, first) in [(7, 10), (8, 11), (7, 12), (7, 13), (9, 14)] {
            receives.keep(notice(tag, first));
        }
        let mut first = |tag, number| receives.take(tag, number).map(|told| told.first);
        assert_eq!(first(7, 2), Some(13), "in any order");
        assert_eq!(first(7, 1), None, "its receive was freed");
        assert_eq!((first(7, 0), first(8, 0), first(9, 0)), (Some(10), Some(11), Some(14)));
        assert_eq!(first(7, 0), None, "once");
    }

    #[test]
    fn what_has_been_told_is_forgotten() {
        let mut receives = Incoming::default();
        for round in 0..3 {
            assert_eq!([7, 7].map(|tag| receives.add(tag)), [0, 1], "counted from nought in round {round}");
            receives.keep(notice(7, 20));
            receives.forget(7, 1);
            assert!(receives.by_tag.contains_key(&7), "the notice of a freed one is to come");
            assert_eq!(receives.take(7, 0).map(|told| told.first), Some(20));
            receives.keep(notice(7, 21));
            assert!(receives.by_tag.is_empty());
        }
        let (mut all, peer) = (Partitioned::default(), CommRank(3));
        all.outgoing(peer, 7).borrow_mut().add(notice(7, 1));
        all.forget_told(peer, 7);
        let sends = all.outgoing(peer, 7);
        assert_eq!(sends.borrow_mut().add(notice(7, 2)), 1, "the first one's notice has still to go");
        assert!(sends.borrow_mut().next_up_to(1).is_some() && sends.borrow_mut().next_up_to(1).is_some());
        all.forget_told(peer, 7);
        assert!(all.outgoing.is_empty() && !sends.borrow().waits_up_to(1));
    }

    #[test]
    fn units_have_tags_of_their_own_which_begin_anew_when_all_were_given() {
        let mut given = Partitioned::default();
        let mut first = |count| given.take_tags(count, 10).map(|tags| tags.first);
        assert_eq!([3, 1, 4].map(&mut first), [1, 4, 5].map(Some));
        assert_eq!([2, 9, 1].map(&mut first), [1, 1, 1].map(Some));
    }

    #[test]
    fn nobody_gets_the_tags_of_a_request_that_lives() {
        let mut given = Partitioned::default();
        let [one, two, three] = [2, 3, 2].map(|count| given.take_tags(count, 11).unwrap());
        assert_eq!([&one, &two, &three].map(|tags| tags.first), [1, 3, 6]);
        drop(two);
        let again = given.take_tags(3, 11).unwrap();
        assert_eq!(again.first, 8, "those that come next");
        let [small, other] = [1, 2].map(|count| given.take_tags(count, 11).unwrap().first);
        assert_eq!((small, other), (3, 4), "those of the one that was freed");
        assert!(given.take_tags(4, 11).is_none());
        drop(one);
        assert_eq!(given.take_tags(4, 11).map(|tags| tags.first), Some(1));
        assert!(given.take_tags(11, 11).is_none());
    }
}
