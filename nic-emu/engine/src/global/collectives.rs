//! Collectives across nodes: how all nodes of a communicator come to agree that they have reached one (paper,
//! §4.4 and figure 4.6).
//!
//! When all local members of a communicator have reached its next collective, that goes up the tree of its
//! nodes ([`super::gather`]), with their contributions if these are small. In the message scheduling
//! microphase of a later slice the lead (the lowest node with members), to which all have come, says so down
//! the same tree. A barrier is over with that; small contributions have been combined, and their result
//! travels with it. Larger ones are moved in the microphases of their own ([`super::chunks`]).
//!
//! Invariants: of one communicator, one collective is under way at a time on a node, and a node is told once
//! that all have reached it. Of those that do not block several may have been reached at the same time, on
//! each node in another order.
//!
//! ```text
//!  Down   context, collective, what (kind, operation, root), 1 if the result is in the payload
//! ```

use super::communicator::{Active, Group, Ready, Stage, in_order, unwrapped};
use super::contribution::{combine, contribute, root_bytes, tree_of};
use super::delivery::{Deliveries, is_broadcast};
use super::error::{GlobalError, strange};
use super::gather::{self, Gather, signature};
use super::groups::{self, Tree};
use super::image::image;
use super::layout::GlobalLayout;
use super::point_to_point::Env;
use super::record::{Kind, Record};
use crate::matching::breach::break_context;
use crate::matching::called::Called;
use crate::matching::mismatch::report_of_no_root;
use crate::memory::contexts;
use crate::memory::descriptor::CollectiveKind;
use crate::memory::instance::{Instance, InstanceState};
use crate::memory::pool::{NONE, Walk};
use crate::memory::root;
use crate::memory::sync::Ordering;
use crate::memory::{INSTANCES, NicMemory};
use crate::threads::collective_helper::CollectiveHelper;
use crate::threads::microphase::Microphase;
use bcs_core::NodeId;
use bcs_fabric::Fabric;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of contributions that travel with their arrival from one node to its parent at most.
const SMALL_BYTES: usize = 8 << 10;

/// All collectives across nodes, on one node.
#[derive(Debug, Default)]
pub struct Collectives {
    pub(super) layout: GlobalLayout,
    pub(super) node: NodeId,
    pub(super) groups: BTreeMap<u32, Group>,
    pub(super) gathers: BTreeMap<(u32, u64), Gather>,
    pub(super) deliveries: Deliveries,
    /// `arrived` of NIC memory, as far as it is published.
    pub published: u32,
    /// Breaches that have been noticed, of those that there have been here.
    pub(super) noticed: u32,
    /// Mismatches of other nodes in communicators whose nodes are not known here yet.
    pub(super) untold: Vec<(u32, [(NodeId, Called); 2])>,
    /// Contexts of broken communicators that span nodes.
    pub(super) broken: BTreeSet<u32>,
    /// Collectives scheduled since the last look: for EMDS.
    pub scheduled: u64,
    /// Arrivals published, collectives started and chunks taken, since the start.
    pub moves: u64,
}

impl Collectives {
    /// None under way.
    pub fn new(layout: GlobalLayout, node: u32) -> Self {
        Self { layout, node: NodeId(node), ..Self::default() }
    }

    /// Looks which collectives all local members have reached since the last look, as posted in this slice.
    ///
    /// # Errors
    /// A communicator was not registered.
    pub fn publish(&mut self, env: &mut Env<'_, '_>, posted: u64) -> Result<(), GlobalError> {
        let arrived = env.memory.header().remote.arrived.get();
        if arrived == self.published {
            return Ok(());
        }
        let mut new = Vec::new();
        let reached = &env.memory.header().pools.reached_instances;
        let mut walk = Walk::new(reached.get(), INSTANCES);
        reached.set(NONE);
        while let Some(index) = walk.next_entry()? {
            let instance = env.memory.instance(index)?;
            let complete = instance.arrived.get() == instance.expected.get();
            if instance.spans_nodes() && complete && instance.state.get() == InstanceState::Gathering as u32 {
                new.push((instance.context.get(), instance.sequence.get(), index));
            }
            walk.follow(instance.next_stacked.load(Ordering::Relaxed));
        }
        for (context, sequence, index) in in_order(new) {
            self.publish_one(env, context, sequence, index, posted)?;
        }
        self.published = arrived;
        Ok(())
    }

    fn publish_one(
        &mut self,
        env: &mut Env<'_, '_>,
        context: u32,
        sequence: u32,
        index: u32,
        posted: u64,
    ) -> Result<(), GlobalError> {
        let instance = env.memory.instance(index)?;
        let group = match self.groups.entry(context) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let nodes =
                    groups::nodes(env.memory, context).ok_or(GlobalError::UnknownGroup { context })?;
                let tree = Tree::new(&nodes, self.node).ok_or(GlobalError::UnknownGroup { context })?;
                entry.insert(Group::new(nodes, tree))
            }
        };
        let collective = unwrapped(sequence, group.last);
        instance.state.set(InstanceState::Announced as u32);
        group.last = collective;
        group.ready.insert(collective, Ready { instance: index, posted });
        group.changed.insert(collective);
        self.moves += 1;
        Ok(())
    }

    /// True when local members have reached a collective that is not published.
    pub fn wants_to_publish(&self, memory: &NicMemory) -> bool {
        memory.header().remote.arrived.get() != self.published
    }

    /// True when nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.deliveries.is_idle()
            && self.gathers.is_empty()
            && self.groups.values().all(|g| g.active.is_none() && g.ready.is_empty())
    }

    /// True when no other node has to do anything for this one, nor this one for them: what local members
    /// have reached and others have not may wait for ever, and so may members that have not looked at what
    /// they got.
    pub fn is_quiet(&self) -> bool {
        self.groups.values().all(|group| group.active.is_none())
    }

    /// The first microphase after `after` that this node needs, in the current slice (or, with `next`, in the
    /// next one).
    pub fn needs(&self, after: Option<Microphase>, slice: u64, next: bool) -> Option<Microphase> {
        let mut first: Option<Microphase> = None;
        let mut need = |microphase: Microphase| {
            if after.is_none_or(|after| microphase > after) {
                first = Some(first.map_or(microphase, |first| first.min(microphase)));
            }
        };
        for (context, group) in &self.groups {
            let Some(active) = &group.active else {
                if self.complete_gathers(*context, group).next().is_some() {
                    need(Microphase::MessageScheduling);
                }
                continue;
            };
            let here = match &active.stage {
                Stage::Sending { chunk_slice, .. } => next || *chunk_slice != slice,
                Stage::Scheduled | Stage::Gathering => true,
                Stage::Receiving => {
                    // Nobody knows better than the lead, in the slice in which it said so, that the root has
                    // something to send.
                    group.tree.is_lead() && active.since == slice && group.received.is_none() && !next
                }
            };
            if here {
                need(active.microphase());
            }
        }
        first
    }

    /// The collectives that all nodes of a group have reached, if this is its lead and none is under way,
    /// with what has come of them.
    fn complete_gathers<'a>(
        &'a self,
        context: u32,
        group: &'a Group,
    ) -> impl Iterator<Item = (u64, Ready, &'a Gather)> {
        let may_start = group.active.is_none();
        group.reached.iter().filter(move |_| may_start).filter_map(move |&collective| {
            let ready = *group.ready.get(&collective)?;
            self.gathers.get(&(context, collective)).map(|gather| (collective, ready, gather))
        })
    }

    /// Message scheduling microphase of a slice: starts, as lead, what all nodes of a group have reached
    /// before it.
    pub fn schedule(&mut self, env: &mut Env<'_, '_>, slice: u64) -> Result<(), GlobalError> {
        let due: Vec<(u32, u64, Ready)> = self
            .groups
            .iter()
            .filter(|(_, group)| group.completed < slice)
            .filter_map(|(context, group)| {
                let mut complete = self.complete_gathers(*context, group);
                let (collective, ready, _) = complete.find(|(_, _, gather)| gather.posted < slice)?;
                Some((*context, collective, ready))
            })
            .collect();
        for (context, collective, ready) in due {
            let Some(mut gather) = self.gathers.remove(&(context, collective)) else { continue };
            let instance = env.memory.instance(ready.instance)?;
            let agreed = gather.called().unwrap_or(Called::of(instance));
            if gather.root_node == 0 && root::is_said_by_itself(agreed.root) {
                break_context(env.memory, env.completer, context, &report_of_no_root(context, agreed))?;
                self.notice_breaches(env)?;
                continue;
            }
            let result = self.small_result(env, collective, &mut gather, instance)?;
            let words = [context as u64, collective, signature(&agreed), u64::from(result.is_some())];
            let payload = result.clone().unwrap_or_default();
            self.go(env, context, Record { payload, ..Record::new(Kind::Down, 0, &words) }, slice)?;
        }
        Ok(())
    }

    /// The result of a collective whose contributions came with the arrivals, if it can travel with the go.
    fn small_result(
        &self,
        env: &Env<'_, '_>,
        collective: u64,
        gather: &mut Gather,
        instance: &Instance,
    ) -> Result<Option<Vec<u8>>, GlobalError> {
        let kind = instance.kind.get();
        if kind == CollectiveKind::Barrier as u32 || !gather.is_whole() {
            return Ok(None);
        }
        let bytes = if kind == CollectiveKind::Board as u32 {
            image(&gather.take_all())
        } else if is_broadcast(instance) {
            gather.take_all().pop().unwrap_or_default()
        } else {
            combine(env.memory, gather, instance)?;
            let result = gather.take_result(tree_of(instance)?);
            result.ok_or_else(|| strange(self.node, collective))?
        };
        Ok((bytes.len() as u64 <= env.payload_bytes).then_some(bytes))
    }

    /// All nodes of a group have reached its next collective: hands this on, and starts it here.
    fn go(
        &mut self,
        env: &mut Env<'_, '_>,
        context: u32,
        record: Record,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let [_, collective, signature, has_result, ..] = record.words;
        let Some(Ready { instance: index, .. }) = group.ready.remove(&collective) else { return Ok(()) };
        group.told.remove(&collective);
        group.reached.remove(&collective);
        for child in &group.tree.children {
            env.links.send(child.0, &record);
        }
        self.scheduled += 1;
        self.moves += 1;
        let instance = env.memory.instance(index)?;
        let kind = instance.kind.get();
        if kind == CollectiveKind::Barrier as u32 {
            let is_leave = contexts::is_leave(instance.call.get());
            CollectiveHelper::new(env.memory, env.completer).barrier(index, instance)?;
            group.complete(slice);
            return if is_leave { self.forget(env, context) } else { Ok(()) };
        }
        if has_result == 1 {
            group.complete(slice);
            return self.finish(env, index, &record.payload);
        }
        let mut stage = Stage::Scheduled;
        if is_broadcast(instance) {
            stage = match root_bytes(env.memory, index, instance)? {
                None => Stage::Receiving,
                Some(bytes) => {
                    CollectiveHelper::new(env.memory, env.completer).broadcast(index, instance)?;
                    self.deliveries.watch(index, instance);
                    Stage::Sending { bytes, sent: 0, to: group.others(self.node), chunk_slice: 0 }
                }
            };
        }
        group.active = Some(Active { collective, instance: index, kind, signature, since: slice, stage });
        Ok(())
    }

    /// All members have left a communicator. Its lead tells the node that gave the context, which may give
    /// its slot again from then on.
    fn forget(&mut self, env: &mut Env<'_, '_>, context: u32) -> Result<(), GlobalError> {
        let Some(group) = self.groups.remove(&context) else { return Ok(()) };
        groups::forget(env.memory, context);
        if !group.tree.is_lead() {
            return Ok(());
        }
        let left = Record::new(Kind::Left, 0, &[u64::from(context - 1)]);
        match contexts::owner(context, self.layout.nodes) {
            owner if owner == self.node.0 => handle_left(env, owner, &left),
            owner => {
                env.links.send(owner, &left);
                Ok(())
            }
        }
    }

    /// Gives local members the result of a collective whose bytes have all come.
    fn finish(&mut self, env: &mut Env<'_, '_>, index: u32, bytes: &[u8]) -> Result<(), GlobalError> {
        let instance = env.memory.instance(index)?;
        if is_broadcast(instance) && instance.root_member.get() != 0 {
            CollectiveHelper::new(env.memory, env.completer).broadcast(index, instance)?;
            self.deliveries.watch(index, instance);
            return Ok(());
        }
        self.deliveries.end(env, index, bytes)
    }

    /// A record on its way up the tree has come, in this slice.
    ///
    /// # Errors
    /// It does not fit what came before.
    pub fn handle_up(
        &mut self,
        env: &mut Env<'_, '_>,
        from: u32,
        record: &Record,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let (context, collective) = (record.words[0] as u32, record.words[1]);
        if self.broken.contains(&context) {
            return Ok(());
        }
        let gather = self.gathers.entry((context, collective)).or_default();
        if let Some(called) = gather::called(record)
            && let Some(other) = gather.sign(NodeId(from), called)
        {
            return self.tell_mismatch(env, context, [other, (NodeId(from), called)]);
        }
        gather.handle_record(from, record, slice)?;
        if let Some(group) = self.groups.get_mut(&context) {
            group.changed.insert(collective);
            group.note(collective, gather);
        }
        Ok(())
    }

    /// A record on its way down the tree has come, in this slice: all nodes have reached a collective.
    ///
    /// # Errors
    /// This node has not, or was told before; or NIC memory is corrupt.
    pub fn handle_down(
        &mut self,
        env: &mut Env<'_, '_>,
        from: u32,
        record: Record,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let (context, collective) = (record.words[0] as u32, record.words[1]);
        if self.broken.contains(&context) {
            return Ok(());
        }
        let strange = GlobalError::Record { node: NodeId(from), what: "collective", value: collective };
        let Some(group) = self.groups.get_mut(&context) else { return Err(strange) };
        if group.active.is_some() {
            // The bytes of that are here, or come with what has arrived: it is over before this one is looked
            // at again.
            if group.postponed.len() > group.told.len() {
                return Err(strange);
            }
            group.postponed.push_back((from, record));
            return Ok(());
        }
        if !group.told.contains(&collective) {
            return Err(strange);
        }
        self.go(env, context, record, slice)
    }

    /// Sees to everything that does not need a microstrobe: arrivals, cells, departures.
    pub fn poll(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &(impl Fabric + ?Sized),
        slice: u64,
    ) -> Result<(), GlobalError> {
        let busy = |group: &Group| group.active.is_some() || !group.ready.is_empty();
        let contexts: Vec<u32> =
            self.groups.iter().filter(|(_, group)| busy(group)).map(|(context, _)| *context).collect();
        for context in contexts {
            self.climb(env, context, slice)?;
            self.receive(env, fabric, context, slice)?;
            self.take_postponed(env, context, slice)?;
        }
        self.deliveries.free_departed(env)
    }

    /// What came while another collective was under way here.
    fn take_postponed(&mut self, env: &mut Env<'_, '_>, context: u32, slice: u64) -> Result<(), GlobalError> {
        while let Some(group) = self.groups.get_mut(&context).filter(|group| group.active.is_none())
            && let Some((from, record)) = group.postponed.pop_front()
        {
            self.handle_down(env, from, record, slice)?;
        }
        Ok(())
    }

    /// Tells the parent which collectives of a group this node and all below it have reached.
    fn climb(&mut self, env: &mut Env<'_, '_>, context: u32, slice: u64) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context).filter(|group| group.active.is_none()) else {
            return Ok(());
        };
        let changed = std::mem::take(&mut group.changed);
        let untold: Vec<(u64, Ready)> = changed
            .into_iter()
            .filter(|c| !group.told.contains(c))
            .filter_map(|c| group.ready.get(&c).map(|ready| (c, *ready)))
            .collect();
        untold
            .into_iter()
            .try_for_each(|(collective, ready)| self.climb_with(env, context, (collective, ready), slice))
    }

    /// Tells the parent that this node and all below it have reached this collective, if they have.
    fn climb_with(
        &mut self,
        env: &mut Env<'_, '_>,
        context: u32,
        (collective, ready): (u64, Ready),
        slice: u64,
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let instance = env.memory.instance(ready.instance)?;
        let gather = self.gathers.entry((context, collective)).or_default();
        if !gather.has_own {
            let called = Called::of(instance);
            if let Some(other) = gather.sign(self.node, called) {
                return self.tell_mismatch(env, context, [other, (self.node, called)]);
            }
            gather.has_own = true;
            gather.posted = gather.posted.max(ready.posted);
            contribute(env.memory, self.node, gather, ready.instance, instance)?;
            gather.limit(SMALL_BYTES);
            group.note(collective, gather);
            self.moves += 1;
        }
        if gather.complete_children < group.tree.children.len() {
            return Ok(());
        }
        let Some(parent) = group.tree.parent else { return Ok(()) };
        if gather.is_whole() && instance.reduces() {
            combine(env.memory, gather, instance)?;
        }
        gather.limit(SMALL_BYTES);
        let called = gather.called().unwrap_or(Called::of(instance));
        for record in gather.records(context, collective, &called, env.payload_bytes, slice) {
            env.links.send(parent.0, &record);
        }
        self.gathers.remove(&(context, collective));
        group.told.insert(collective);
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
    match u32::try_from(context).is_ok_and(|context| contexts::give_back(env.memory, context)) {
        true => Ok(()),
        false => Err(GlobalError::Record { node: NodeId(from), what: "context", value: context }),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::link::Links;
    use super::*;
    use crate::channel::OwnProcess;
    use crate::memory::Layout;
    use crate::memory::descriptor::CollectiveDescriptor;
    use crate::policy::Pacing;
    use crate::threads::collective_list::CollectiveList;
    use crate::threads::completer::Completer;

    const CONTEXT: u32 = 3;

    /// The second of two nodes, one rank on each: the first is its parent in the tree of the communicator's
    /// nodes.
    fn second_of_two() -> NicMemory {
        let memory = NicMemory::create_private(Layout::new(1, 2, [0; 2]).unwrap(), 1, 2).unwrap();
        (0..2).for_each(|rank| memory.set_place(rank, rank, 0));
        memory.rank(0).unwrap().status.set_job_rank(1);
        groups::register(&memory, CONTEXT, [0, 1]).unwrap();
        memory
    }

    #[test]
    fn a_node_that_is_told_twice_that_all_have_reached_a_collective_names_who_said_so() {
        let memory = second_of_two();
        let layout = GlobalLayout::new(2);
        let mut links = Links::new(layout, 1);
        let mut completer = Completer::new(&memory, Pacing::default());
        let mut env = Env {
            memory: &memory,
            processes: &OwnProcess,
            completer: &mut completer,
            links: &mut links,
            payload_bytes: 1024,
            pacing: Pacing::default(),
            now_ns: 0,
        };
        let mut collectives = Collectives::new(layout, 1);
        for collective in 0..2u64 {
            let down = Record::new(Kind::Down, 0, &[CONTEXT.into(), collective, 0, 0]);
            CollectiveList::new(&memory)
                .arrive(0, &CollectiveDescriptor::of_two(CONTEXT, 1, 1, collective as u32))
                .unwrap();
            collectives.publish(&mut env, 1).unwrap();
            collectives.climb(&mut env, CONTEXT, 1).unwrap();
            collectives.handle_down(&mut env, 0, down.clone(), 2).unwrap();
            let again = collectives.handle_down(&mut env, 0, down, 2).unwrap_err();
            assert!(
                matches!(again, GlobalError::Record { node: NodeId(0), what: "collective", value } if value == collective),
                "{again}"
            );
            assert!(collectives.is_idle());
        }
    }
}
