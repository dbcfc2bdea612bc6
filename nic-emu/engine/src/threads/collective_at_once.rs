//! Collectives that are over in the slice that takes them: all members' descriptors are in their rings
//! (paper, §4.4).
//!
//! The commonest case by far: members are patient after they have arrived ([`crate::port::Port::meet`]), so
//! that mostly the last one's slice finds all of them. Then nothing has to be kept from slice to slice: no
//! instance, no member records; the contributions are those in the descriptors. What does not fit
//! (contributions elsewhere than in the descriptor, members on other nodes, members missing, descriptors that
//! contradict each other, broken communicators) is left to the Collective List.
//!
//! Invariant: contributions are combined in the order of the same reduction tree as everywhere, so the bits
//! are the same.

use smallvec::SmallVec;

use crate::matching::called::operation;
use crate::memory::descriptor::{
    CollectiveDescriptor, CollectiveKind, INLINE_BYTES, Payload, is_of_same_collective,
};
use crate::memory::doorbell::RingKind;
use crate::memory::prefetch;
use crate::memory::request::{Delivery, SLOT_PAYLOAD_BYTES};
use crate::memory::ring::{Cell, Words};
use crate::memory::{Corrupt, LocalRank, NicMemory, RequestId, checked};
use crate::threads::completer::Completer;
use crate::threads::eligible::{Eligible, Exchange};
use crate::threads::reduction::Reduction;

/// Members of all collectives that one slice finds complete, at most; a larger communicator meets in an
/// instance.
const MEMBERS: usize = 64;
/// Collectives that one slice finds complete, at most.
const COLLECTIVES: usize = 8;

/// A member, as its descriptor said.
#[derive(Clone, Copy, Default)]
struct PresentMember {
    local_rank: LocalRank,
    request: RequestId,
    payload: [u8; INLINE_BYTES],
    here: bool,
}

/// A collective with all its members.
struct Complete {
    kind: CollectiveKind,
    /// As [`crate::memory::instance::Instance::operation`].
    operation: u32,
    bytes: u64,
    /// Position of the root among its members; their number where there is none.
    root: usize,
    first: usize,
    members: usize,
}

/// The collectives that a slice has found complete, for the Collective and the Reduce Helper.
#[derive(Default)]
pub(crate) struct AtOnce {
    collectives: SmallVec<[Complete; COLLECTIVES]>,
    members: SmallVec<[PresentMember; MEMBERS]>,
}

/// The oldest collective descriptor of a rank that no slice has taken.
#[inline]
fn oldest<'m>(memory: &'m NicMemory, rank: &Eligible) -> Result<Option<&'m Cell>, Corrupt> {
    match rank.count(RingKind::Collective) {
        0 => Ok(None),
        _ => Ok(rank.cells(memory.rank(rank.local_rank)?, RingKind::Collective)?.next()),
    }
}

impl AtOnce {
    /// True when there are none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.collectives.is_empty()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.collectives.len()
    }

    /// Message scheduling microphase: takes every collective whose members have all posted it, from the
    /// oldest on. Answers the descriptors taken.
    #[inline]
    pub(crate) fn take(&mut self, memory: &NicMemory, exchange: &mut Exchange) -> Result<u32, Corrupt> {
        let mut taken = 0;
        while let Some(members) = self.take_one(memory, exchange)? {
            taken += members;
        }
        Ok(taken)
    }

    #[inline]
    fn take_one(&mut self, memory: &NicMemory, exchange: &mut Exchange) -> Result<Option<u32>, Corrupt> {
        let first = exchange.iter().find_map(|rank| oldest(memory, rank).transpose()).transpose()?;
        let Some(words) = first.map(Cell::read) else { return Ok(None) };
        let Some(descriptor) = CollectiveDescriptor::decode(&words) else { return Ok(None) };
        let size = descriptor.local_size as usize;
        if size > exchange.len()
            || descriptor.comm_size as usize != size
            || MEMBERS - self.members.len() < size
            || self.collectives.len() == COLLECTIVES
            || memory.breaches().find(descriptor.context).is_some()
            || !matches!(descriptor.payload, Payload::Inline(_))
            || descriptor.bytes as usize > INLINE_BYTES
            || descriptor.kind == CollectiveKind::Board
                && descriptor.bytes as usize * size > SLOT_PAYLOAD_BYTES
        {
            return Ok(None);
        }
        let first = self.members.len();
        let Some(root) = self.find_members(memory, exchange, &words, first, size)? else {
            self.members.truncate(first);
            return Ok(None);
        };
        for member in &self.members[first..] {
            if let Some(rank) = exchange.iter_mut().find(|rank| rank.local_rank == member.local_rank) {
                rank.taken = rank.taken.advanced(RingKind::Collective);
            }
        }
        self.collectives.push(Complete {
            kind: descriptor.kind,
            operation: operation(&descriptor),
            bytes: descriptor.bytes,
            root,
            first,
            members: size,
        });
        Ok(Some(size as u32))
    }

    /// Collects the members of the collective that a descriptor is of, by their position. None when one is
    /// missing; else the position of the root (or `size`).
    #[inline]
    fn find_members(
        &mut self,
        memory: &NicMemory,
        exchange: &Exchange,
        words: &Words,
        first: usize,
        size: usize,
    ) -> Result<Option<usize>, Corrupt> {
        self.members.resize(first + size, PresentMember::default());
        let members = &mut self.members[first..];
        let (mut missing, mut root) = (size, size);
        for rank in exchange {
            let Some(cell) = oldest(memory, rank)? else { continue };
            let own = cell.read();
            if !is_of_same_collective(&own, words) {
                continue;
            }
            let Some(descriptor) = CollectiveDescriptor::decode(&own) else { return Ok(None) };
            let (Payload::Inline(payload), Some(member)) =
                (descriptor.payload, members.get_mut(descriptor.position as usize))
            else {
                return Ok(None);
            };
            if member.here {
                return Ok(None);
            }
            if descriptor.request != RequestId::NONE {
                prefetch::to_write(memory.request(rank.local_rank, descriptor.request)?);
            }
            *member = PresentMember {
                local_rank: rank.local_rank,
                request: descriptor.request,
                payload,
                here: true,
            };
            if descriptor.comm_rank == descriptor.root {
                root = descriptor.position as usize;
            }
            missing -= 1;
            if missing == 0 {
                return Ok(Some(root));
            }
        }
        Ok(None)
    }

    /// Barrier and broadcast microphase: the Collective Helper's part.
    #[inline]
    pub(crate) fn release(&self, completer: &mut Completer<'_>) -> Result<(), Corrupt> {
        for collective in &self.collectives {
            let members = &self.members[collective.first..][..collective.members];
            let mut result = [0; SLOT_PAYLOAD_BYTES];
            match collective.kind {
                CollectiveKind::Barrier | CollectiveKind::Announcement => {}
                CollectiveKind::Broadcast => {
                    let root = checked("root of a broadcast", collective.root as u64, members.len())?;
                    result[..INLINE_BYTES].copy_from_slice(&members[root].payload);
                }
                CollectiveKind::Board => {
                    let bytes = collective.bytes as usize;
                    for (i, member) in members.iter().enumerate() {
                        result[i * bytes..][..bytes].copy_from_slice(&member.payload[..bytes]);
                    }
                }
                CollectiveKind::Reduce | CollectiveKind::Allreduce => continue,
            }
            complete_all(completer, members, &Delivery::InSlot(result))?;
        }
        Ok(())
    }

    /// Reduce microphase: the Reduce Helper's part.
    #[inline]
    pub(crate) fn reduce(&mut self, completer: &mut Completer<'_>) -> Result<(), Corrupt> {
        for collective in &self.collectives {
            if !matches!(collective.kind, CollectiveKind::Reduce | CollectiveKind::Allreduce) {
                continue;
            }
            let members = &mut self.members[collective.first..][..collective.members];
            let reduction = Reduction::of(completer.memory, collective.operation)?;
            let bytes = collective.bytes as usize;
            // The result is at the last member's place.
            for step in Reduction::steps(members.len())? {
                let (left, right) = members.split_at_mut(step.right as usize);
                let (left, right) = (&left[step.left as usize].payload, &mut right[0].payload);
                reduction.combine(&left[..bytes], &mut right[..bytes])?;
            }
            let result = Delivery::in_slot(&members[members.len() - 1].payload);
            complete_all(completer, members, &result)?;
        }
        Ok(())
    }
}

/// Completes the members that wait; the result is theirs, or does no harm.
#[inline]
fn complete_all(
    completer: &mut Completer<'_>,
    members: &[PresentMember],
    result: &Delivery,
) -> Result<(), Corrupt> {
    for member in members.iter().filter(|member| member.request != RequestId::NONE) {
        completer.complete_collective((member.local_rank, member.request), result)?;
    }
    Ok(())
}
