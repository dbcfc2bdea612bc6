//! CH, the Collective Helper (paper, §4.1, §4.4): barriers, broadcasts, and the board on which members put up
//! their contributions for each other.
//!
//! Barrier and broadcast microphase. A barrier or a board releases its members when all have arrived. A
//! broadcast releases each member as soon as it and the root are there; nobody waits for members that it has
//! nothing to get from.

use crate::memory::departure;
use crate::memory::descriptor::CollectiveKind;
use crate::memory::instance::{Instance, InstanceState, Member};
use crate::memory::members::{Contribution, contribution, members};
use crate::memory::request::{Delivery, SlotState};
use crate::memory::{Corrupt, RequestId, checked};
use crate::threads::collective_list;
use crate::threads::completer::Completer;
use crate::threads::nic_thread::NicThread;
use crate::threads::slice_work::SliceWork;

/// The Collective Helper, for one slice. What it does as the Reduce Helper is in
/// [`crate::threads::reduce_helper`].
pub struct CollectiveHelper<'a, 'm> {
    pub(crate) completer: &'a mut Completer<'m>,
}

/// Barrier and broadcast microphase: acts on the collectives at which somebody has arrived in this slice.
impl NicThread for CollectiveHelper<'_, '_> {
    #[inline]
    fn is_idle(work: &SliceWork<'_>) -> bool {
        work.has_no_collectives()
    }

    #[inline]
    fn run(work: &mut SliceWork<'_>) -> Result<(), Corrupt> {
        work.at_once.release(&mut work.completer)?;
        let mut helper = CollectiveHelper { completer: &mut work.completer };
        work.arrivals.iter().try_for_each(|&instance| helper.release(instance))
    }
}

impl CollectiveHelper<'_, '_> {
    /// Acts on an instance at which somebody has arrived in this slice.
    #[inline]
    fn release(&mut self, index: u32) -> Result<(), Corrupt> {
        let instance = self.completer.memory.instance(index)?;
        if instance.spans_nodes() {
            // Global slices see to it.
            return Ok(());
        }
        let complete = instance.arrived.get() == instance.expected.get();
        if complete && instance.is_without_bytes() {
            self.complete_all(members(self.completer.memory, index, instance)?, &Delivery::InPlace)?;
            collective_list::free(self.completer.memory, index, instance)
        } else if complete && instance.is(CollectiveKind::Board) {
            self.release_all(index, instance)
        } else if instance.is(CollectiveKind::Broadcast) && instance.root_member.get() != 0 {
            self.broadcast(index, instance)
        } else {
            Ok(())
        }
    }

    /// Lets all members go, with nothing.
    pub(crate) fn let_go(&mut self, index: u32, instance: &Instance) -> Result<(), Corrupt> {
        self.complete_all(members(self.completer.memory, index, instance)?, &Delivery::InPlace)?;
        collective_list::hand_back(self.completer.memory, index, instance)
    }

    /// Lets all members read all contributions; those without a request do not.
    pub fn release_all(&mut self, index: u32, instance: &Instance) -> Result<(), Corrupt> {
        let members = members(self.completer.memory, index, instance)?;
        let mut readers = members.iter().filter(|member| member.request.get() != RequestId::NONE);
        let count = readers.clone().count() as u32;
        instance.readers.set(count);
        instance.state.set(InstanceState::Released as u32);
        match count {
            0 => collective_list::hand_back(self.completer.memory, index, instance),
            _ => readers.try_for_each(|member| self.refer(member, index)),
        }
    }

    /// Gives the root's bytes to every member that has come and not yet got them.
    pub(crate) fn broadcast(&mut self, index: u32, instance: &Instance) -> Result<(), Corrupt> {
        let members = members(self.completer.memory, index, instance)?;
        let from = root_of(members, instance)?;
        let inline = match contribution(self.completer.memory, from)? {
            Contribution::Inline(bytes, _) => Some(Delivery::in_slot(&bytes)),
            Contribution::Slab(..) => {
                // Every member departs, whether it reads or not: the root's slab is not given back before
                // those have read it that are still to come.
                instance.readers.set(instance.expected.get());
                None
            }
        };
        let mut is_over = inline.is_some();
        for member in members {
            // 1: here and not served; 2: served.
            if member.arrived.get() != 1 {
                continue;
            }
            member.arrived.set(2);
            let has_to_read = !std::ptr::eq(member, from);
            match &inline {
                None if member.request.get() == RequestId::NONE || !has_to_read => {
                    is_over = departure::is_last(instance);
                    self.complete(member, &Delivery::InPlace)?;
                }
                _ if !has_to_read => self.complete(member, &Delivery::InPlace)?,
                Some(delivery) => self.complete(member, delivery)?,
                None => self.refer(member, index)?,
            }
        }
        if instance.arrived.get() == instance.expected.get() {
            instance.state.set(InstanceState::Released as u32);
            // Otherwise the last member to depart hands it back, and may have done so by now.
            if is_over {
                return collective_list::hand_back(self.completer.memory, index, instance);
            }
        }
        Ok(())
    }

    /// Has a member read from the instance.
    #[inline]
    pub(crate) fn refer(&mut self, member: &Member, index: u32) -> Result<(), Corrupt> {
        let (rank, request) = (member.local_rank.get(), member.request.get());
        self.completer.refer((rank, request), index, SlotState::Released)
    }

    #[inline]
    pub(crate) fn complete_all(&mut self, members: &[Member], delivery: &Delivery) -> Result<(), Corrupt> {
        members.iter().try_for_each(|member| self.complete(member, delivery))
    }

    /// Completes a member's part, if it waits.
    #[inline]
    pub(crate) fn complete(&mut self, member: &Member, delivery: &Delivery) -> Result<(), Corrupt> {
        match member.request.get() {
            RequestId::NONE => Ok(()),
            request => self.completer.complete_collective((member.local_rank.get(), request), delivery),
        }
    }
}

/// The member of an instance that is the root.
#[inline]
pub(crate) fn root_of<'m>(members: &'m [Member], instance: &Instance) -> Result<&'m Member, Corrupt> {
    let root = (instance.root_member.get() as u64).wrapping_sub(1);
    Ok(&members[checked("root of a collective", root, members.len())?])
}
