//! Collectives across nodes: how all nodes of a communicator come to agree that they have reached one (paper,
//! §4.4 and figure 4.6).
//!
//! When all local members of a communicator have reached its next collective, that goes up the tree of its
//! nodes ([`super::gather`]), with their contributions. In the message scheduling microphase of a later slice
//! the lead (the lowest node with members), to which all have come, says so down the same tree, with the
//! result, and the collective is over where this comes. What is longer than a record is several of them,
//! which each node hands on as they come.
//!
//! Invariants: a node is told once that all have reached a collective, and gets all pieces of its result
//! before those of another one of the communicator. Of those that do not block several may have been reached
//! at the same time, on each node in another order: the lead starts all of them in one slice.
//!
//! An announcement goes the same ways, as records of kinds of its own (*Announced*, *Agreed*), for which
//! nobody is woken. With elastic slices it waits for no slice: the lead answers as soon as all have said the
//! same.
//!
//! ```text
//!  Down   context, collective, 0, total bytes of the result, offset of this piece   payload: the piece
//! ```

use super::communicator::{Group, Ready, unwrapped};
use super::contribution::{self, contribute};
use super::delivery;
use super::error::{GlobalError, strange};
use super::gather;
use super::gathers::Gathers;
use super::point_to_point::Env;
use super::record::{Kind, Record, in_pieces};
use super::tree::Tree;
use crate::matching::called::Called;
use crate::matching::mismatch::report_of_no_root;
use crate::memory::contexts::{self, Context};
use crate::memory::descriptor::CollectiveKind;
use crate::memory::groups;
use crate::memory::instance::InstanceState;
use crate::memory::linked::{NONE, Walk};
use crate::memory::sync::Ordering;
use crate::memory::{INSTANCES, NicMemory};
use crate::threads::breach::break_context;
use crate::threads::collective_list;
use bcs_core::{NodeId, Rank};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// All collectives across nodes, on one node.
#[derive(Debug, Default)]
pub struct Collectives {
    pub(super) node: NodeId,
    pub(super) groups: BTreeMap<Context, Group>,
    pub(super) gathers: Gathers,
    /// `arrived` of NIC memory, as far as it is published.
    pub published: u32,
    /// Breaches that have been noticed, of those that there have been here.
    pub(super) noticed: u32,
    /// Mismatches of other nodes in communicators whose nodes are not known here yet.
    pub(super) untold: Vec<(Context, [(NodeId, Called); 2])>,
    /// Contexts of broken communicators that span nodes.
    pub(super) broken: BTreeSet<Context>,
    /// Collectives scheduled since the last look: for EMDS.
    pub scheduled: u64,
    /// Arrivals published and collectives ended, since the start.
    pub moves: u64,
}

impl Collectives {
    /// Looks which collectives all local members have reached since the last look.
    ///
    /// # Errors
    /// A communicator was not registered.
    pub fn publish(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        let arrived = env.memory.header().remote.arrived.get();
        if arrived == self.published {
            return Ok(());
        }
        let reached = &env.memory.header().pools.reached_instances;
        let mut walk = Walk::new(reached.get(), INSTANCES);
        reached.set(NONE);
        while let Some(index) = walk.next_entry()? {
            let instance = env.memory.instance(index)?;
            walk.follow(instance.next_stacked.load(Ordering::Relaxed));
            let is_complete = instance.arrived.get() == instance.expected.get() && instance.spans_nodes();
            if !is_complete || instance.state.get() != InstanceState::Gathering as u32 {
                continue;
            }
            let context = instance.context.get();
            let group = match self.groups.entry(context) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let tree = groups::nodes(env.memory, context)
                        .and_then(|nodes| Tree::new(&nodes, self.node))
                        .ok_or(GlobalError::UnknownGroup { context })?;
                    entry.insert(Group { tree, ..Group::default() })
                }
            };
            let collective = unwrapped(instance.sequence.get(), group.last);
            instance.state.set(InstanceState::Announced as u32);
            group.last = collective;
            let is_awaited = !instance.is(CollectiveKind::Announcement);
            group.awaited += usize::from(is_awaited);
            group
                .ready
                .insert(collective, Ready { instance: index, posted: env.posting_slice(), is_awaited });
            group.changed.insert(collective);
            self.moves += 1;
        }
        self.published = arrived;
        Ok(())
    }

    /// True when local members have reached a collective that is not published.
    pub fn wants_to_publish(&self, memory: &NicMemory) -> bool {
        memory.header().remote.arrived.get() != self.published
    }

    /// True when nothing is under way that somebody waits for.
    pub fn is_idle(&self) -> bool {
        !self.gathers.are_awaited() && self.groups.values().all(|group| group.awaited == 0)
    }

    /// True when this node, as the lead of some group, can start a collective of it in the next slice.
    pub fn wants_scheduling(&self) -> bool {
        self.groups.iter().any(|(context, group)| self.due(*context, group, u64::MAX).next().is_some())
    }

    /// The collectives that all nodes of a group have reached before this slice, if this is its lead, and
    /// their instances here.
    fn due<'a>(
        &'a self,
        context: Context,
        group: &'a Group,
        slice: u64,
    ) -> impl Iterator<Item = (u64, u32)> + 'a {
        group.reached.iter().filter_map(move |&collective| {
            let instance = group.ready.get(&collective)?.instance;
            let gather = self.gathers.get(&(context, collective))?;
            (gather.posted < slice).then_some((collective, instance))
        })
    }

    /// Message scheduling microphase of a slice: starts, as lead, what all nodes of a group have reached
    /// before it.
    pub fn schedule(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        let due: Vec<(Context, (u64, u32))> = self
            .groups
            .iter()
            .flat_map(|(context, group)| self.due(*context, group, env.slice).map(|due| (*context, due)))
            .collect();
        for (context, (collective, index)) in due {
            self.conclude(env, (context, collective), index)?;
        }
        Ok(())
    }

    /// All nodes of a group, of which this is the lead, have reached a collective: ends it.
    fn conclude(
        &mut self,
        env: &mut Env<'_, '_>,
        (context, collective): (Context, u64),
        index: u32,
    ) -> Result<(), GlobalError> {
        let Some(mut gather) = self.gathers.remove(&(context, collective)) else { return Ok(()) };
        let instance = env.memory.instance(index)?;
        let agreed = gather.called().unwrap_or(Called::of(instance));
        if gather.root_node == 0 && agreed.root.is_said_by_itself() {
            break_context(env.completer, context, &report_of_no_root(context, agreed))?;
            return self.notice_breaches(env);
        }
        let result = contribution::result(env.memory, &mut gather, instance)?;
        let kind = if gather.is_awaited { Kind::Down } else { Kind::Agreed };
        let down = Record::new(kind, Rank(0), &[context.0.into(), collective]);
        in_pieces(down, &result, env.payload_bytes).for_each(|piece| self.hand_down(env, context, &piece));
        self.finish(env, (context, collective), &result)
    }

    /// Hands a record on to the nodes below this one in the tree of a group.
    fn hand_down(&self, env: &mut Env<'_, '_>, context: Context, record: &Record) {
        let children = self.groups.get(&context).into_iter().flat_map(|group| &group.tree.children);
        children.for_each(|child| env.links.send(child.0, record));
    }

    /// A collective that all nodes of a group have reached ends here, with these bytes for all its members.
    fn finish(
        &mut self,
        env: &mut Env<'_, '_>,
        (context, collective): (Context, u64),
        result: &[u8],
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let Some(Ready { instance: index, is_awaited, .. }) = group.ready.remove(&collective) else {
            return Ok(());
        };
        group.awaited -= usize::from(is_awaited);
        group.told.remove(&collective);
        group.reached.remove(&collective);
        self.scheduled += 1;
        self.moves += 1;
        let instance = env.memory.instance(index)?;
        let is_leave = instance.is(CollectiveKind::Barrier) && contexts::is_leave(instance.call.get());
        delivery::end(env, index, result)?;
        if is_leave { self.forget(env, context) } else { Ok(()) }
    }

    /// All members have left a communicator. Its lead tells the node that gave the context, which may give
    /// its slot again from then on.
    fn forget(&mut self, env: &mut Env<'_, '_>, context: Context) -> Result<(), GlobalError> {
        let Some(group) = self.groups.remove(&context) else { return Ok(()) };
        groups::forget(env.memory, context);
        if !group.tree.is_lead() {
            return Ok(());
        }
        let left = Record::new(Kind::Left, Rank(0), &[u64::from(context.0 - 1)]);
        match context.owner(env.memory.node().1) {
            owner if owner == self.node.0 => handle_left(env, owner, &left),
            owner => {
                env.links.send(owner, &left);
                Ok(())
            }
        }
    }

    /// The collective that a record is about; none when its communicator is broken.
    fn meant(&self, record: &Record) -> Option<(Context, u64)> {
        let context = Context(record.words[0] as u32);
        (!self.broken.contains(&context)).then_some((context, record.words[1]))
    }

    /// A record on its way up the tree has come.
    ///
    /// # Errors
    /// It does not fit what came before.
    pub fn handle_up(
        &mut self,
        env: &mut Env<'_, '_>,
        from: u32,
        record: &Record,
    ) -> Result<(), GlobalError> {
        let Some((context, collective)) = self.meant(record) else { return Ok(()) };
        let gather = self.gathers.of((context, collective), record.kind == Kind::Up);
        if let Some(called) = gather::called(record)
            && let Some(other) = gather.sign(NodeId(from), called)
        {
            return self.tell_mismatch(env, context, [other, (NodeId(from), called)]);
        }
        gather.handle_record(from, record, env.slice)?;
        if let Some(group) = self.groups.get_mut(&context) {
            group.changed.insert(collective);
            group.note(collective, gather);
        }
        Ok(())
    }

    /// A record on its way down the tree has come: all nodes have reached a collective, and
    /// this is a piece of its result.
    ///
    /// # Errors
    /// This node has not, or was told before; or NIC memory is corrupt.
    pub fn handle_down(
        &mut self,
        env: &mut Env<'_, '_>,
        from: u32,
        record: &Record,
    ) -> Result<(), GlobalError> {
        let Some((context, collective)) = self.meant(record) else { return Ok(()) };
        let Some(group) = self.groups.get_mut(&context).filter(|group| group.told.contains(&collective))
        else {
            return Err(strange(from, "collective", collective));
        };
        let is_whole = record.append_to(from, &mut group.result)?;
        let result = if is_whole { std::mem::take(&mut group.result) } else { Vec::new() };
        self.hand_down(env, context, record);
        if is_whole { self.finish(env, (context, collective), &result) } else { Ok(()) }
    }

    /// Sees to everything that does not need a microstrobe: arrivals, departures.
    pub fn poll(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        let mut changed: Vec<(bool, (Context, u64))> = Vec::new();
        for (context, group) in &mut self.groups {
            for collective in std::mem::take(&mut group.changed) {
                let is_awaited = group.ready.get(&collective).is_some_and(|ready| ready.is_awaited);
                changed.push((is_awaited, (*context, collective)));
            }
        }
        // What was announced before in whatever communicator is told before what somebody waits for.
        changed.sort_by_key(|(is_awaited, _)| *is_awaited);
        changed.into_iter().try_for_each(|(_, key)| self.climb(env, key))?;
        Ok(collective_list::free_departed(env.memory)?)
    }

    /// Tells the parent that this node and all below it have reached this collective, if they have.
    fn climb(
        &mut self,
        env: &mut Env<'_, '_>,
        (context, collective): (Context, u64),
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let Some(&ready) = group.ready.get(&collective).filter(|_| !group.told.contains(&collective)) else {
            return Ok(());
        };
        let instance = env.memory.instance(ready.instance)?;
        let called = Called::of(instance);
        let gather = self.gathers.of((context, collective), ready.is_awaited);
        if !gather.has_own {
            if let Some(other) = gather.sign(self.node, called) {
                return self.tell_mismatch(env, context, [other, (self.node, called)]);
            }
            gather.has_own = true;
            gather.posted = gather.posted.max(ready.posted);
            contribute(env.memory, self.node, gather, ready.instance, instance)?;
            group.note(collective, gather);
            self.moves += 1;
        }
        if gather.complete_children != group.tree.children.len() {
            return Ok(());
        }
        let Some(parent) = group.tree.parent else {
            // What somebody waits for is scheduled: it is for a slice to end that.
            let is_scheduled = gather.is_awaited || env.pacing.strobes_all();
            return if is_scheduled {
                Ok(())
            } else {
                self.conclude(env, (context, collective), ready.instance)
            };
        };
        contribution::combine(env.memory, gather, instance)?;
        group.told.insert(collective);
        let Some(gather) = self.gathers.remove(&(context, collective)) else { return Ok(()) };
        let called = gather.called().unwrap_or(called);
        for record in gather.records((context, collective), &called, env.payload_bytes, env.slice) {
            env.links.send(parent.0, &record);
        }
        Ok(())
    }
}

/// The lead of a communicator says that all its members have left: its context, which this node gave, may be
/// given again.
///
/// # Errors
/// This node did not give it, or has it back.
pub fn handle_left(env: &Env<'_, '_>, from: u32, record: &Record) -> Result<(), GlobalError> {
    let context = record.words[0];
    match u32::try_from(context).is_ok_and(|context| contexts::give_back(env.memory, Context(context))) {
        true => Ok(()),
        false => Err(strange(from, "context", context)),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::link::Links;
    use super::*;
    use crate::channel::OwnProcess;
    use crate::memory::Layout;
    use crate::memory::descriptor::CollectiveDescriptor;
    use crate::memory::root::SidedRank;
    use crate::policy::Pacing;
    use crate::threads::completer::Completer;
    use bcs_core::LocalRank;

    const CONTEXT: Context = Context(3);
    /// What [`CollectiveDescriptor::of_two`] says of the call.
    const CALLED: Called = Called { call: 0, kind: 0, operation: 0, root: SidedRank(0), bytes: 0 };

    /// Calls a test as one of two nodes, with one rank on each: the first is the lead.
    fn on_node(node: u32, test: impl FnOnce(&mut Collectives, &mut Env<'_, '_>)) {
        let memory = NicMemory::create_private(Layout::new(1, 2, [0; 2]).unwrap(), node, 2).unwrap();
        (0..2).for_each(|rank| memory.set_place(Rank(rank), rank, LocalRank(0)));
        memory.rank(LocalRank(0)).unwrap().status.set_job_rank(Rank(node));
        groups::register(&memory, CONTEXT, [0, 1].map(Rank)).unwrap();
        let mut links = Links::default();
        let mut completer = Completer::new(&memory, Pacing::default());
        let mut env = Env {
            memory: &memory,
            processes: &OwnProcess,
            completer: &mut completer,
            links: &mut links,
            payload_bytes: 1024,
            pacing: Pacing::default(),
            now_ns: 0,
            slice: 1,
        };
        test(&mut Collectives { node: NodeId(node), ..Collectives::default() }, &mut env);
    }

    /// The rank of a node reaches a barrier.
    fn reach(collectives: &mut Collectives, env: &mut Env<'_, '_>, collective: u64) {
        reach_kind(collectives, env, collective, CollectiveKind::Barrier);
    }

    fn reach_kind(
        collectives: &mut Collectives,
        env: &mut Env<'_, '_>,
        collective: u64,
        kind: CollectiveKind,
    ) {
        let rank = collectives.node.0;
        let barrier = CollectiveDescriptor::of_two(CONTEXT, rank, 1, collective as u32);
        let descriptor = CollectiveDescriptor { kind, ..barrier };
        collective_list::arrive(env.memory, LocalRank(0), &descriptor).unwrap();
        collectives.publish(env).unwrap();
        collectives.poll(env).unwrap();
    }

    /// What another node tells its parent of a collective.
    fn told_of(key: (Context, u64), is_awaited: bool, called: &Called, env: &Env<'_, '_>) -> Vec<Record> {
        let mut gathers = Gathers::default();
        gathers.of(key, is_awaited);
        gathers.remove(&key).unwrap().records(key, called, env.payload_bytes, env.slice)
    }

    #[test]
    fn announcements_end_without_a_slice_in_any_order_and_are_nothing_that_anybody_waits_for() {
        on_node(0, |collectives, env| {
            let announced = |env: &mut Env<'_, '_>, collectives: &mut Collectives, collective| {
                let called = Called { kind: CollectiveKind::Announcement as u32, ..CALLED };
                for record in told_of((CONTEXT, collective), false, &called, env) {
                    assert_eq!(record.kind, Kind::Announced);
                    collectives.handle_up(env, 1, &record).unwrap();
                }
                collectives.poll(env).unwrap();
            };
            // The other node is ahead with one, and behind with the other.
            announced(env, collectives, 0);
            reach_kind(collectives, env, 0, CollectiveKind::Announcement);
            reach_kind(collectives, env, 1, CollectiveKind::Announcement);
            assert_eq!(collectives.scheduled, 1);
            assert!(collectives.is_idle(), "the links are left to ranks meanwhile");
            announced(env, collectives, 1);
            assert_eq!((collectives.scheduled, env.links.waiting_records(1)), (2, 2));
            assert!(!collectives.wants_scheduling() && collectives.groups[&CONTEXT].ready.is_empty());
            assert_eq!(env.memory.header().pools.instances.used(), 0);
        });
    }

    #[test]
    fn an_announcement_that_does_not_fit_a_collective_that_others_wait_for_breaks_the_communicator() {
        for comes_first in [false, true] {
            on_node(0, |collectives, env| {
                let come = |env: &mut Env<'_, '_>, collectives: &mut Collectives| {
                    let called = Called { kind: CollectiveKind::Announcement as u32, ..CALLED };
                    for record in told_of((CONTEXT, 0), false, &called, env) {
                        collectives.handle_up(env, 1, &record).unwrap();
                    }
                };
                if comes_first {
                    come(env, collectives);
                }
                reach(collectives, env, 0);
                if !comes_first {
                    come(env, collectives);
                }
                collectives.poll(env).unwrap();
                assert!(env.memory.breaches().find(CONTEXT).is_some());
                assert!(collectives.is_idle());
            });
        }
    }

    #[test]
    fn all_collectives_that_all_nodes_have_reached_start_in_the_next_slice() {
        on_node(0, |collectives, env| {
            for collective in 0..3 {
                reach(collectives, env, collective);
                let instance = env.memory.instance(collectives.groups[&CONTEXT].ready[&collective].instance);
                let called = Called::of(instance.unwrap());
                // Of the third one the other node has said nothing.
                let key = (CONTEXT, collective);
                for record in told_of(key, true, &called, env) {
                    if collective < 2 {
                        collectives.handle_up(env, 1, &record).unwrap();
                    }
                }
            }
            collectives.schedule(env).unwrap();
            assert_eq!((collectives.scheduled, env.links.waiting_records(1)), (0, 0), "in a later slice");
            env.slice = 2;
            assert!(collectives.wants_scheduling());
            collectives.schedule(env).unwrap();
            assert_eq!((collectives.scheduled, env.links.waiting_records(1)), (2, 2));
            assert!(!collectives.wants_scheduling() && !collectives.is_idle());
        });
    }

    #[test]
    fn a_node_that_is_told_twice_that_all_have_reached_a_collective_names_who_said_so() {
        on_node(1, |collectives, env| {
            for collective in 0..2u64 {
                let down = Record::new(Kind::Down, Rank(0), &[CONTEXT.0.into(), collective, 0, 0]);
                reach(collectives, env, collective);
                collectives.handle_down(env, 0, &down).unwrap();
                let again = collectives.handle_down(env, 0, &down).unwrap_err();
                let GlobalError::Record { node: NodeId(0), what: "collective", value } = again else {
                    panic!("{again}");
                };
                assert_eq!(value, collective);
                assert!(collectives.is_idle());
            }
        });
    }
}
