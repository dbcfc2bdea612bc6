//! Breaches: communicators whose members called collectives that do not fit each other (MPI-5.0, §6.1).
//!
//! Which member is wrong nobody can know, so all of them are told, in the call that completes what they have
//! called: the communicator is *broken*. Whoever finds the mismatch ([`crate::matching::mismatch`]) notes the
//! context and the report in NIC memory ([`crate::memory::breaches`]), and fails the collectives of that
//! context that members have reached and that none has been let go from. What members reach later is refused.
//! Collectives that go by messages see that their context is broken when they look at a message. Messages of
//! the program, and other communicators, go on.
//!
//! Where members are on several nodes, the driver of global slices tells the others ([`crate::global`]).
//!
//! A member may leave the communicator before the mismatch is found, having waited for nobody. Its leave
//! ([`crate::memory::contexts`]) then fails, or is refused, like any other collective, and where the errors
//! of the communicator are fatal the NIC itself ends the job.
//!
//! Invariant: only the holder of the run token adds a breach.

use crate::matching::called::{ANY_SIGNATURE, operation};
use crate::memory::abort;
use crate::memory::breaches::BREACHES;
use crate::memory::contexts::{self, Context};
use crate::memory::departure;
use crate::memory::descriptor::{CollectiveDescriptor, Payload};
use crate::memory::groups;
use crate::memory::instance::{Instance, InstanceState};
use crate::memory::linked::{NONE, Walk};
use crate::memory::members::members;
use crate::memory::request::SlotState;
use crate::memory::slab::SLAB_BYTES;
use crate::memory::sync::Ordering;
use crate::memory::{Corrupt, INSTANCES, LocalRank, NicMemory, RequestId};
use crate::threads::collective_list;
use crate::threads::completer::Completer;

/// Notes that a communicator is broken, and fails its collectives. The caller holds the run token.
///
/// # Errors
/// [`Corrupt`] when the list of collectives is.
#[cold]
pub fn break_context(completer: &mut Completer<'_>, context: Context, report: &str) -> Result<(), Corrupt> {
    let memory = completer.memory;
    let breaches = memory.breaches();
    if breaches.find(context).is_some() {
        return Ok(());
    }
    let spans_nodes = groups::nodes(memory, context).is_some();
    let Some(breach) = breaches.add(context, report, !spans_nodes) else {
        let text = format!(
            "{report}\n  the job ends, as {BREACHES} communicators are broken already: free those whose errors are returned"
        );
        abort::say_of_nic(memory, &text);
        return Ok(());
    };
    forget_reached(memory, context)?;
    let (mut left, mut members) = (0, 0);
    for index in 0..INSTANCES as u32 {
        let instance = memory.instance(index)?;
        // From one that is released members read what is theirs.
        let is_over =
            [InstanceState::Free as u32, InstanceState::Released as u32].contains(&instance.state.get());
        if instance.context.get() == context && !is_over {
            (left, members) = (instance.left.get().max(left), instance.expected.get());
            fail(completer, index, instance, breach)?;
        }
    }
    for _ in 0..left {
        breaches.leave(context, members);
    }
    if spans_nodes {
        // So that whoever drives global slices is woken, and looks.
        memory.header().remote.arrived.add(1);
        memory.header().remote.awaited.add(1);
    }
    Ok(())
}

/// Takes the collectives of a context off the stack of those that global slices are to be told of.
fn forget_reached(memory: &NicMemory, context: Context) -> Result<(), Corrupt> {
    let reached = &memory.header().pools.reached_instances;
    let mut walk = Walk::new(reached.get(), INSTANCES);
    reached.set(NONE);
    while let Some(index) = walk.next_entry()? {
        let instance = memory.instance(index)?;
        walk.follow(instance.next_stacked.load(Ordering::Relaxed));
        if instance.context.get() != context {
            instance.next_stacked.store(reached.get(), Ordering::Relaxed);
            reached.set(index + 1);
        }
    }
    Ok(())
}

/// Fails a collective for those of its members that have reached it and that were not let go.
fn fail(completer: &mut Completer<'_>, index: u32, instance: &Instance, breach: u32) -> Result<(), Corrupt> {
    let memory = completer.memory;
    if instance.arrived.get() != instance.expected.get() {
        memory.control().gathering.add(-1);
    }
    let is_leave = contexts::is_leave(instance.call.get());
    let is_fatal = instance.operation.get() != ANY_SIGNATURE;
    let mut unserved = 0;
    for member in members(memory, index, instance)? {
        // 2: a broadcast has served it.
        if member.arrived.get() == 2 {
            continue;
        }
        unserved += 1;
        if is_leave && member.arrived.get() == 1 {
            tell_of_one_left(memory, instance.context.get(), instance.expected.get(), is_fatal, breach)?;
        }
        if member.arrived.get() == 1 && member.request.get() != RequestId::NONE {
            completer.refer((member.local_rank.get(), member.request.get()), breach, SlotState::Refused)?;
        }
    }
    if instance.readers.get() == 0 {
        return collective_list::hand_back(memory, index, instance);
    }
    // Some read what the root has given: those that never will depart here.
    instance.state.set(InstanceState::Released as u32);
    for _ in 0..unserved {
        if departure::is_last(instance) {
            return collective_list::hand_back(memory, index, instance);
        }
    }
    Ok(())
}

/// Refuses an arrival at a collective of a broken communicator.
///
/// # Errors
/// [`Corrupt`] when its descriptor names what cannot be.
#[cold]
pub(crate) fn refuse(
    completer: &mut Completer<'_>,
    local_rank: LocalRank,
    descriptor: &CollectiveDescriptor,
    breach: u32,
) -> Result<(), Corrupt> {
    let memory = completer.memory;
    if let Payload::Slab(slab) = descriptor.payload {
        memory.rank(local_rank)?.returned.give_back(slab, SLAB_BYTES as u64);
    }
    if contexts::is_leave(descriptor.call.into()) {
        let (members, is_fatal) = (descriptor.local_size.into(), operation(descriptor) != ANY_SIGNATURE);
        tell_of_one_left(memory, descriptor.context, members, is_fatal, breach)?;
    }
    match descriptor.request {
        RequestId::NONE => Ok(()),
        request => completer.refer((local_rank, request), breach, SlotState::Refused),
    }
}

/// A member has left a broken communicator and does not know: it can be told no more.
#[cold]
fn tell_of_one_left(
    memory: &NicMemory,
    context: Context,
    members: u32,
    is_fatal: bool,
    breach: u32,
) -> Result<(), Corrupt> {
    if is_fatal {
        abort::say_of_nic(memory, &memory.breaches().report(breach)?);
    }
    memory.breaches().leave(context, members);
    Ok(())
}
