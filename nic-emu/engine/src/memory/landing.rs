//! Landings: messages of other nodes whose bytes come straight into the memory of ranks of this node. Their
//! state is here, so that whoever holds the run token can go on with them: the NIC thread, or the receiver
//! while it waits ([`crate::global`]).

use crate::memory::{LocalRank, RequestId, Word, Word64};

/// Landings of a node at once, at most.
pub const LANDINGS: usize = 64;

/// A message on its way to a rank of this node; processor only.
#[repr(C, align(64))]
pub struct Landing {
    /// What names it in the records of its bytes: never used again. 0 while it is free.
    pub id: Word64,
    /// The sender's node.
    pub node: Word,
    /// The sender.
    pub origin: Word,
    /// The sender's request, or [`RequestId::NONE`].
    pub sent_by: Word<RequestId>,
    /// The receiver.
    pub receiver: Word<LocalRank>,
    /// The receiver's request.
    pub request: Word<RequestId>,
    /// What the receive is told: source in the communicator, tag, and the word of the length.
    pub source: Word,
    /// As `source`.
    pub tag: Word,
    /// As `source`.
    pub length: Word64,
    /// Where its bytes are: the first slab plus one, or 0 and the address in the sender's memory.
    pub place: Word64,
    /// As `place`.
    pub from: Word64,
    /// Where they go in the receiver's memory.
    pub to: Word64,
    /// Bytes to move.
    pub bytes: Word64,
    /// Bytes that its sender's node was asked for, and bytes that are in place.
    pub granted: Word64,
    /// As `granted`.
    pub moved: Word64,
    /// Up to where bytes behind `moved` are in place that do not count yet, if that is further on.
    pub placed: Word64,
    /// 1 while its sender is invited to write it into the receiver's buffer: nothing of it is granted.
    pub invited: Word,
}

/// All landings of a node.
#[repr(C)]
pub struct Landings {
    /// The number that was given to a message last.
    last_number: Word64,
    /// Landings in use.
    used: Word,
    places: [Landing; LANDINGS],
}

/// Bits of a landing's number; its place stands above them.
const NUMBER_BITS: u32 = 48;

impl Landings {
    /// How many are in use.
    pub fn used(&self) -> u32 {
        self.used.get()
    }

    /// A number that no message has had.
    pub fn next_number(&self) -> u64 {
        self.last_number.add(1);
        self.last_number.get() & ((1 << NUMBER_BITS) - 1)
    }

    /// Whether [`Landings::take`] finds one.
    pub fn has_free(&self) -> bool {
        (self.used.get() as usize) < LANDINGS
    }

    /// One that is free, and has a name now.
    pub fn take(&self) -> Option<&Landing> {
        let (place, landing) = self.places.iter().enumerate().find(|(_, landing)| landing.id.get() == 0)?;
        landing.id.set(self.next_number() | (place as u64 + 1) << NUMBER_BITS);
        self.used.add(1);
        Some(landing)
    }

    /// The one of this name.
    pub fn named(&self, id: u64) -> Option<&Landing> {
        let place = (id >> NUMBER_BITS).checked_sub(1)?;
        self.places.get(place as usize).filter(|landing| landing.id.get() == id)
    }

    /// The oldest one of this node's of which not all is granted.
    pub fn oldest_waiting(&self, node: u32) -> Option<&Landing> {
        let number = |landing: &&Landing| landing.id.get() & ((1 << NUMBER_BITS) - 1);
        let waits = |landing: &&Landing| {
            landing.id.get() != 0 && landing.node.get() == node && landing.granted.get() < landing.bytes.get()
        };
        self.places.iter().filter(waits).min_by_key(number)
    }

    /// Gives one back.
    pub fn free(&self, landing: &Landing) {
        landing.id.set(0);
        self.used.add(-1);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::{Layout, NicMemory};

    #[test]
    fn names_are_never_used_again_and_name_what_they_were_given_to() {
        let memory = NicMemory::create_private(Layout::new(1, 2, [0; 2]).unwrap(), 0, 2).unwrap();
        let landings = &memory.landings();
        let mut names: Vec<u64> = (0..LANDINGS).map(|_| landings.take().unwrap().id.get()).collect();
        assert!(landings.take().is_none() && !landings.has_free());
        for round in 0..3 {
            for i in (round..LANDINGS).step_by(3) {
                let old = names[i];
                landings.free(landings.named(old).unwrap());
                assert!(landings.named(old).is_none());
                names[i] = landings.take().unwrap().id.get();
                assert!(landings.named(old).is_none(), "a name is good once");
            }
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), landings.used()), (LANDINGS, LANDINGS as u32));
        for wrong in [0, 1, u64::MAX, 1 << NUMBER_BITS, names[0] + (1 << 40)] {
            assert!(landings.named(wrong).is_none(), "{wrong:#x}");
        }
    }
}
