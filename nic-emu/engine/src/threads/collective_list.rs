//! The Collective List (paper, §4.4 and figure 4.6): which members of a collective have reached it. Only the
//! processor works on it. It is kept in chains, by a hash of context and number, so that finding a
//! collective costs the same however many others members have gone on to.
//!
//! A flag per node says "all local members are here"; it is set by the arrival that makes it so. Members
//! are told apart by their position among the communicator's local members, and an arrival that does not
//! fit the collective that others have begun (another call, root, operation or size; or the last one,
//! when nobody is the root) is found here, where all descriptors meet; `crate::matching::mismatch` says what
//! differs.

use crate::matching::called::{Called, operation};
use crate::memory::contexts::{Context, is_leave};
use crate::memory::departure::give_back_slabs;
use crate::memory::descriptor::{CollectiveDescriptor, CollectiveKind, Payload};
use crate::memory::instance::{Instance, InstanceState};
use crate::memory::linked::NONE;
use crate::memory::sync::Ordering;
use crate::memory::{Corrupt, INSTANCES, LocalRank, NicMemory, checked};
use crate::policy;

/// What an arrival did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is in the list of this instance.
    At(u32),
    /// No instance is free: it stays in its ring until one is.
    NoRoom,
    /// It contradicts what other members of this instance have called.
    Mismatch(u32),
    /// Its communicator is broken: the breach.
    Refused(u32),
    /// It leaves a communicator whose context does not come back: nobody waits for the others to leave.
    Left,
}

/// Instances of which ranks take as many as they like. The others are shared out: whatever others have begun,
/// a rank may begin its share of them, so that ranks that are far ahead in one communicator keep nobody from
/// meeting in another.
pub const COMMON_INSTANCES: usize = INSTANCES / 2;

/// A member has reached a collective.
#[inline]
pub fn arrive(
    memory: &NicMemory,
    local_rank: LocalRank,
    descriptor: &CollectiveDescriptor,
) -> Result<Arrival, Corrupt> {
    if let Some(breach) = memory.breaches().find(descriptor.context) {
        return Ok(Arrival::Refused(breach));
    }
    if is_leave(descriptor.call.into()) && descriptor.comm_size == u32::from(descriptor.local_size) {
        note_left(memory, descriptor.context)?;
        return Ok(Arrival::Left);
    }
    let Some(index) = find_or_make(memory, local_rank, descriptor)? else { return Ok(Arrival::NoRoom) };
    let instance = memory.instance(index)?;
    let members = memory.members(index)?;
    let begun = Called::of(instance);
    let called = begun
        .joined(Called::by(descriptor))
        .filter(|_| instance.expected.get() == descriptor.local_size as u32);
    let member = &members[checked("member of a collective", descriptor.position, members.len())?];
    let Some(called) = called.filter(|_| member.arrived.get() == 0) else {
        return Ok(Arrival::Mismatch(index));
    };
    let arrived = instance.arrived.get().wrapping_add(1);
    let has_all = arrived == instance.expected.get();
    let is_root = descriptor.comm_rank == descriptor.root;
    let has_root = is_root || instance.root_member.get() != 0;
    if has_all && !has_root && !instance.spans_nodes() && called.root.is_said_by_itself() {
        return Ok(Arrival::Mismatch(index));
    }
    if called != begun {
        instance.operation.set(called.operation);
        instance.root.set(called.root.0);
        instance.bytes.set(called.bytes);
    }
    member.local_rank.set(local_rank);
    member.comm_rank.set(descriptor.comm_rank.0);
    member.request.set(descriptor.request);
    member.bytes.set(descriptor.bytes);
    match descriptor.payload {
        Payload::Inline(bytes) => {
            member.place.set(0);
            member.set_payload(&bytes);
        }
        Payload::Slab(slab) => {
            member.place.set(1);
            member.payload[0].set(slab.0.into());
        }
        Payload::Memory(at) | Payload::Pooled(at) => {
            return Err(Corrupt { what: "place of a contribution", value: at, limit: 0 });
        }
    }
    member.arrived.set(1);
    if is_root {
        instance.root_member.set(descriptor.position as u32 + 1);
    }
    instance.arrived.set(arrived);
    if has_all {
        memory.control().gathering.add(-1);
    }
    if instance.spans_nodes() && has_all {
        let header = memory.header();
        instance.next_stacked.store(header.pools.reached_instances.get(), Ordering::Relaxed);
        header.pools.reached_instances.set(index + 1);
        let remote = &header.remote;
        remote.arrived.add(1);
        let lying = remote.arrived.get().wrapping_sub(remote.published.get());
        if !instance.is(CollectiveKind::Announcement) || lying >= policy::LYING_ANNOUNCEMENTS {
            remote.awaited.add(1);
        }
    }
    Ok(Arrival::At(index))
}

/// The instance of this collective; a new one for the first to arrive.
#[inline]
fn find_or_make(
    memory: &NicMemory,
    local_rank: LocalRank,
    descriptor: &CollectiveDescriptor,
) -> Result<Option<u32>, Corrupt> {
    free_departed(memory)?;
    let header = memory.header();
    let chain = memory.instance_chain(descriptor.context, descriptor.sequence);
    let found = chain.find(|index| {
        let instance = memory.instance(index)?;
        let is_it =
            (instance.context.get(), instance.sequence.get()) == (descriptor.context, descriptor.sequence);
        Ok(is_it.then_some(index))
    })?;
    if found.is_some() {
        return Ok(found);
    }
    let begun = &memory.rank(local_rank)?.begun;
    let share = ((INSTANCES - COMMON_INSTANCES) as u32 / memory.layout().local_ranks).max(1);
    if header.pools.instances.used() as usize >= COMMON_INSTANCES && begun.get() >= share {
        return Ok(None);
    }
    let Some(index) = header.pools.instances.take(INSTANCES, &chain.links)? else { return Ok(None) };
    begun.add(1);
    let instance = memory.instance(index)?;
    instance.state.set(InstanceState::Gathering as u32);
    instance.context.set(descriptor.context);
    instance.sequence.set(descriptor.sequence);
    instance.kind.set(descriptor.kind as u32);
    instance.operation.set(operation(descriptor));
    instance.root.set(descriptor.root.0);
    instance.expected.set(descriptor.local_size as u32);
    instance.arrived.set(0);
    instance.bytes.set(descriptor.agreed_bytes);
    instance.call.set(descriptor.call as u32);
    instance.comm_size.set(descriptor.comm_size);
    instance.is_brought.set(0);
    instance.root_member.set(0);
    instance.result_member.set(0);
    instance.readers.set(0);
    instance.begun_by.set(local_rank);
    instance.left.set(0);
    instance.departed.store(0, Ordering::Relaxed);
    for member in memory.members(index)?.iter().take(descriptor.local_size as usize) {
        member.arrived.set(0);
    }
    chain.prepend(index)?;
    memory.control().gathering.add(1);
    Ok(Some(index))
}

/// A member leaves a communicator before the others: should one of its collectives that others have
/// still to reach break it, the breach is to know.
fn note_left(memory: &NicMemory, context: Context) -> Result<(), Corrupt> {
    if memory.control().gathering.get() == 0 {
        return Ok(());
    }
    for index in 0..INSTANCES as u32 {
        let instance = memory.instance(index)?;
        let is_under_way = instance.state.get() == InstanceState::Gathering as u32;
        if is_under_way && instance.context.get() == context {
            instance.left.add(1);
        }
    }
    Ok(())
}

/// Frees the instances that all have departed from.
///
/// # Errors
/// [`Corrupt`] when one is on the stack that is not over.
#[inline]
pub fn free_departed(memory: &NicMemory) -> Result<(), Corrupt> {
    let first = &memory.header().pools.departed_instances;
    if first.load(Ordering::Relaxed) == NONE {
        return Ok(());
    }
    let mut at = first.swap(NONE, Ordering::Acquire);
    while at != NONE {
        let instance = memory.instance(at - 1)?;
        let next = instance.next_stacked.load(Ordering::Relaxed);
        // One that is freed is over no more, so a stack that leads back into itself ends here.
        if instance.state.get() != InstanceState::Released as u32 {
            let (value, limit) = ((at - 1) as u64, INSTANCES as u64);
            return Err(Corrupt { what: "departed collective", value, limit });
        }
        free(memory, at - 1, instance)?;
        at = next;
    }
    Ok(())
}

/// Hands back an instance that has no readers: its slabs, and itself.
pub fn hand_back(memory: &NicMemory, index: u32, instance: &Instance) -> Result<(), Corrupt> {
    give_back_slabs(memory, index, instance)?;
    free(memory, index, instance)
}

/// Takes an instance off the list, whose slabs are their owners' again: nobody reads it any more.
pub fn free(memory: &NicMemory, index: u32, instance: &Instance) -> Result<(), Corrupt> {
    memory.instance_chain(instance.context.get(), instance.sequence.get()).remove(index)?;
    memory.rank(instance.begun_by.get())?.begun.add(-1);
    instance.state.set(InstanceState::Free as u32);
    memory.header().pools.instances.give_back(index, instance.links());
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::Layout;
    use crate::memory::members::contribution;

    #[test]
    fn the_nic_thread_is_woken_for_what_somebody_waits_for_and_for_many_announcements() {
        let memory = NicMemory::create_private(Layout::new(1, 2, [0; 2]).unwrap(), 0, 2).unwrap();
        let remote = &memory.header().remote;
        let mut sequence = 0..;
        let mut awaited_after = |kind| {
            let barrier = CollectiveDescriptor::of_two(Context(3), 0, 1, sequence.next().unwrap());
            arrive(&memory, LocalRank(0), &CollectiveDescriptor { kind, ..barrier }).unwrap();
            remote.awaited.get()
        };
        assert_eq!(awaited_after(CollectiveKind::Barrier), 1);
        for _ in 0..policy::LYING_ANNOUNCEMENTS - 2 {
            assert_eq!(awaited_after(CollectiveKind::Announcement), 1);
        }
        assert_eq!(awaited_after(CollectiveKind::Announcement), 2);
        assert_eq!(awaited_after(CollectiveKind::Announcement), 3);
        remote.published.set(remote.arrived.get());
        assert_eq!(awaited_after(CollectiveKind::Announcement), 3, "the NIC thread has seen to the others");
    }

    #[test]
    fn a_contribution_that_is_neither_in_its_descriptor_nor_in_a_slab_is_corrupt() {
        let memory = NicMemory::of_ranks(2);
        for (sequence, payload) in (0..).zip([Payload::Memory(0x1000), Payload::Pooled(0x1000)]) {
            let descriptor =
                CollectiveDescriptor { payload, ..CollectiveDescriptor::of_two(Context(3), 0, 2, sequence) };
            let told = arrive(&memory, LocalRank(0), &descriptor).expect_err("no such place").to_string();
            assert!(told.contains("place of a contribution 4096"), "{told}");
        }
        let member = &memory.members(0).unwrap()[0];
        member.place.set(2);
        assert!(contribution(&memory, member).is_err());
    }

    #[test]
    fn a_collective_is_found_among_few_others_however_far_a_member_is_ahead() {
        let memory = NicMemory::of_ranks(2);
        let under_way = COMMON_INSTANCES as u32 / 4;
        let contexts = [3, 17, 19, 4000].map(Context);
        for (context, sequence) in contexts.iter().flat_map(|c| (0..under_way).map(move |s| (*c, s))) {
            assert!(matches!(
                arrive(&memory, LocalRank(0), &CollectiveDescriptor::of_two(context, 0, 2, sequence))
                    .unwrap(),
                Arrival::At(_)
            ));
        }
        for (context, sequence) in contexts.iter().flat_map(|c| (0..under_way).map(move |s| (*c, s))) {
            let mut length = 0;
            let none = memory.instance_chain(context, sequence).find::<()>(|_| {
                length += 1;
                Ok(None)
            });
            assert_eq!(none.unwrap(), None);
            assert!(length <= contexts.len(), "{length} collectives in a chain");
        }
    }
}
