//! Collectives across nodes: the BR's scheduling of them, CH and RH (paper, §4.4 and figure 4.6).
//!
//! When all local members of a communicator have reached its next collective, that goes up the tree of its nodes ([`super::gather`]), with their contributions
//! if these are small. In the message scheduling microphase of a later slice the lead (the lowest node with members), to which all have come, says so down the same
//! tree. A barrier is over with that; small contributions have been combined, and their result travels with it. Larger ones are moved in the microphases of their own:
//!
//! - **BBM**: a broadcast's root puts its bytes to all nodes of the group, a chunk a slice; a board's contributions go up the
//!   tree of nodes and their collection comes back from the lead;
//! - **RM**: partial results go up the tree; the lead sends the result to all, or to the root's node.
//!
//! Invariants: of one communicator, one collective is under way at a time on a node, and one chunk in a slice. A chunk is there before the node that sent it is
//! done with the microphase, and the nodes have taken it when they report in the next slice: so two cells are enough, in turn.
//!
//! ```text
//!  Down   context, collective, what (kind, operation, root), 1 if the result is in the payload
//! ```

use super::board_region;
use super::communicator::{Active, Group, Ready, Received, Stage, in_order, stamp, unwrapped};
use super::delivery::{Deliveries, bytes_of, is_broadcast};
use super::error::GlobalError;
use super::gather::{Gather, Reduction, Signature};
use super::groups::{self, Tree};
use super::layout::{CELL_BYTES, GlobalLayout};
use super::point_to_point::Env;
use super::record::{Kind, Record};
use crate::arith::reduction_tree::ReductionTree;
use crate::arith::{Arithmetic, ElementType, ReduceOp};
use crate::collective::{Instance, InstanceState};
use crate::collective_helper::{CollectiveHelper, members};
use crate::collective_list::CollectiveList;
use crate::descriptor::{CollectiveKind, INLINE_BYTES};
use crate::memory::{BOARD_BYTES, Corrupt, NicMemory};
use crate::microphase::Microphase;
use crate::pool::NONE;
use bcs_core::{Fabric, FabricError, GlobalAddress, NodeId, NodeSet};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Bytes of contributions that travel with their arrival from one node to its parent at most.
const SMALL_BYTES: usize = 8 << 10;

/// All collectives across nodes, on one node.
#[derive(Debug)]
pub struct Collectives {
    layout: GlobalLayout,
    node: NodeId,
    groups: BTreeMap<u32, Group>,
    gathers: BTreeMap<(u32, u64), Gather>,
    deliveries: Deliveries,
    seen: u32,
    /// Collectives scheduled since the last look: for EMDS.
    pub scheduled: u64,
    /// Arrivals published, collectives started and chunks taken, since the start.
    pub moves: u64,
}

impl Collectives {
    /// None under way.
    pub fn new(layout: GlobalLayout, node: u32) -> Self {
        Self {
            layout,
            node: NodeId(node),
            groups: BTreeMap::new(),
            gathers: BTreeMap::new(),
            deliveries: Deliveries::new(),
            seen: 0,
            scheduled: 0,
            moves: 0,
        }
    }

    /// Looks which collectives all local members have reached since the last look, as posted in this slice.
    ///
    /// # Errors
    /// A communicator was not registered.
    pub fn publish(&mut self, env: &mut Env<'_, '_>, posted: u64) -> Result<(), GlobalError> {
        let arrived = env.memory.header().remote.arrived.get();
        if arrived == self.seen {
            return Ok(());
        }
        let mut new = Vec::new();
        let mut at = env.memory.header().pools.active_instances[0].get();
        while at != NONE {
            let instance = env.memory.instance(at - 1)?;
            let complete = instance.arrived.get() == instance.expected.get();
            if instance.spans_nodes() && complete && instance.state.get() == InstanceState::Gathering as u32 {
                new.push((instance.context.get(), instance.sequence.get(), at - 1));
            }
            at = instance.next.get();
        }
        let mut waits = Vec::new();
        for (context, sequence, index) in in_order(new) {
            // What follows one that waits for room waits too.
            if waits.contains(&context) || !self.publish_one(env, context, sequence, index, posted)? {
                waits.push(context);
            }
        }
        if waits.is_empty() {
            self.seen = arrived;
        }
        Ok(())
    }

    /// False when it has to wait.
    fn publish_one(
        &mut self,
        env: &mut Env<'_, '_>,
        context: u32,
        sequence: u32,
        index: u32,
        posted: u64,
    ) -> Result<bool, GlobalError> {
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
        let mut range = None;
        if is_broadcast(instance)
            && instance.root_member.get() == 0
            && instance.bytes.get() > INLINE_BYTES as u64
        {
            let bytes = instance.bytes.get() + 24;
            if bytes > BOARD_BYTES as u64 {
                return Err(GlobalError::NoRoom { bytes, limit: BOARD_BYTES as u64 });
            }
            match self.deliveries.region.take(bytes) {
                Some(taken) => range = Some(taken),
                None => return Ok(false),
            }
        }
        instance.state.set(InstanceState::Announced as u32);
        group.last = collective;
        group.ready.insert(collective, Ready { instance: index, range, posted });
        self.moves += 1;
        Ok(true)
    }

    /// True when local members have reached a collective that is not published.
    pub fn wants_to_publish(&self, memory: &NicMemory) -> bool {
        memory.header().remote.arrived.get() != self.seen
    }

    /// True when nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.deliveries.is_idle()
            && self.gathers.is_empty()
            && self.groups.values().all(|g| g.active.is_none() && g.ready.is_empty())
    }

    /// True when no other node has to do anything for this one, nor this one for them: what local members have reached and others have not
    /// may wait for ever, and so may members that have not looked at what they got.
    pub fn is_quiet(&self) -> bool {
        self.groups.values().all(|group| group.active.is_none())
    }

    /// `arrived` of NIC memory, as far as it is published.
    pub fn published(&self) -> u32 {
        self.seen
    }

    /// The first microphase after `after` that this node needs, in the current slice (or, with `next`, in the next one).
    pub fn needs(&self, after: Option<Microphase>, slice: u64, next: bool) -> Option<Microphase> {
        let mut first: Option<Microphase> = None;
        let mut need = |microphase: Microphase| {
            if after.is_none_or(|after| microphase > after) {
                first = Some(first.map_or(microphase, |first| first.min(microphase)));
            }
        };
        for (context, group) in &self.groups {
            let Some(active) = &group.active else {
                if self.complete_gather(*context, group).is_some() {
                    need(Microphase::MessageScheduling);
                }
                continue;
            };
            let here = match &active.stage {
                Stage::Sending { chunk_slice, .. } => next || *chunk_slice != slice,
                Stage::Scheduled | Stage::Gathering => true,
                Stage::Receiving => {
                    // Nobody knows better than the lead, in the slice in which it said so, that the root has something to send.
                    group.tree.is_lead() && active.since == slice && group.received.is_none() && !next
                }
            };
            if here {
                need(active.microphase());
            }
        }
        first
    }

    /// The collective that all nodes of a group have reached, if this is its lead, with what has come of it.
    fn complete_gather<'a>(&'a self, context: u32, group: &Group) -> Option<(u64, Ready, &'a Gather)> {
        if !group.tree.is_lead() || group.active.is_some() {
            return None;
        }
        let (&collective, &ready) = group.ready.first_key_value()?;
        let gather = self.gathers.get(&(context, collective))?;
        let is_complete = gather.has_own && gather.complete_children == group.tree.children().len();
        is_complete.then_some((collective, ready, gather))
    }

    /// Message scheduling microphase of a slice: starts, as lead, what all nodes of a group have reached before it.
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn schedule(&mut self, env: &mut Env<'_, '_>, slice: u64) -> Result<(), GlobalError> {
        let due: Vec<(u32, u64, Ready)> = self
            .groups
            .iter()
            .filter(|(_, group)| group.completed < slice)
            .filter_map(|(context, group)| {
                let (collective, ready, gather) = self.complete_gather(*context, group)?;
                (gather.posted < slice).then_some((*context, collective, ready))
            })
            .collect();
        for (context, collective, ready) in due {
            let Some(mut gather) = self.gathers.remove(&(context, collective)) else { continue };
            let instance = env.memory.instance(ready.instance)?;
            let result = self.small_result(env, context, collective, &mut gather, instance)?;
            let words = [context as u64, collective, signature(instance), u64::from(result.is_some())];
            let payload = result.clone().unwrap_or_default();
            self.go(env, context, Record::new(Kind::Down, 0, &words).with_payload(payload), slice)?;
        }
        Ok(())
    }

    /// The result of a collective whose contributions came with the arrivals, if it can travel with the go.
    fn small_result(
        &self,
        env: &Env<'_, '_>,
        context: u32,
        collective: u64,
        gather: &mut Gather,
        instance: &Instance,
    ) -> Result<Option<Vec<u8>>, GlobalError> {
        let kind = instance.kind.get();
        if kind == CollectiveKind::Barrier as u32 || !gather.is_whole() {
            return Ok(None);
        }
        let bytes = if kind == CollectiveKind::Board as u32 {
            board_region::image(&gather.take_all())
        } else if is_broadcast(instance) {
            gather.take_all().pop().unwrap_or_default()
        } else {
            gather.combine(&reduction(env.memory, instance)?)?;
            let result = gather.take_result(tree_of(instance)?);
            result.ok_or_else(|| mismatch(self.node, self.node, context, collective))?
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
        for child in group.tree.children() {
            env.links.send(child.0, &record);
        }
        let [_, collective, signature, has_result, ..] = record.words;
        let Some(Ready { instance: index, range, .. }) = group.ready.remove(&collective) else {
            return Ok(());
        };
        self.scheduled += 1;
        self.moves += 1;
        let instance = env.memory.instance(index)?;
        let kind = instance.kind.get();
        let list = CollectiveList::new(env.memory);
        if kind == CollectiveKind::Barrier as u32 {
            CollectiveHelper::new(env.memory, &list, env.completer).barrier(index, instance)?;
            group.complete(slice);
            return Ok(());
        }
        if has_result == 1 {
            group.complete(slice);
            return self.finish(env, index, range, &record.payload);
        }
        let mut stage = Stage::Scheduled;
        if is_broadcast(instance) {
            stage = match root_bytes(env.memory, index, instance)? {
                None => Stage::Receiving,
                Some(bytes) => {
                    CollectiveHelper::new(env.memory, &list, env.completer).broadcast(index, instance)?;
                    self.deliveries.watch(index, instance);
                    Stage::Sending { bytes, sent: 0, to: others(&group.nodes, self.node), chunk_slice: 0 }
                }
            };
        }
        group.range = range;
        group.active = Some(Active { collective, instance: index, kind, signature, since: slice, stage });
        Ok(())
    }

    /// Gives local members the result of a collective whose bytes have all come.
    fn finish(
        &mut self,
        env: &mut Env<'_, '_>,
        index: u32,
        range: Option<board_region::Range>,
        bytes: &[u8],
    ) -> Result<(), GlobalError> {
        let instance = env.memory.instance(index)?;
        let is_root_elsewhere = instance.root_member.get() == 0;
        if is_broadcast(instance) && !is_root_elsewhere {
            let list = CollectiveList::new(env.memory);
            CollectiveHelper::new(env.memory, &list, env.completer).broadcast(index, instance)?;
            self.deliveries.watch(index, instance);
            return Ok(());
        }
        if instance.kind.get() == CollectiveKind::Reduce as u32 && is_root_elsewhere {
            return self.deliveries.let_go(env, index);
        }
        self.deliveries.deliver(env, range, index, bytes)
    }

    /// A record on its way up the tree has come, in this slice.
    ///
    /// # Errors
    /// It does not fit what came before.
    pub fn handle_up(&mut self, from: u32, record: &Record, slice: u64) -> Result<(), GlobalError> {
        let (context, collective) = (record.words[0] as u32, record.words[1]);
        let gather = self.gathers.entry((context, collective)).or_default();
        if let Some(other) = gather.sign(NodeId(from), record.words[2]) {
            return Err(mismatch(other, NodeId(from), context, collective));
        }
        gather.handle_record(from, record, slice)
    }

    /// A record on its way down the tree has come, in this slice: all nodes have reached a collective.
    ///
    /// # Errors
    /// This node has not, or NIC memory is corrupt.
    pub fn handle_down(
        &mut self,
        env: &mut Env<'_, '_>,
        from: u32,
        record: Record,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let (context, collective) = (record.words[0] as u32, record.words[1]);
        let told =
            self.groups.get(&context).filter(|group| group.active.is_none()).and_then(|group| group.told);
        if told != Some(collective) {
            return Err(GlobalError::Record { node: NodeId(from), what: "collective", value: collective });
        }
        self.go(env, context, record, slice)
    }

    /// Sees to everything that does not need a microstrobe: arrivals, cells, departures.
    ///
    /// # Errors
    /// NIC memory is corrupt, or members called different collectives.
    pub fn poll(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &impl Fabric,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let busy = |group: &Group| group.active.is_some() || !group.ready.is_empty();
        let contexts: Vec<u32> =
            self.groups.iter().filter(|(_, group)| busy(group)).map(|(context, _)| *context).collect();
        for context in contexts {
            self.climb(env, context, slice)?;
            self.receive(env, fabric, context, slice)?;
        }
        self.deliveries.free_departed(env)
    }

    /// Tells the parent that this node and all below it have reached the next collective of a group.
    fn climb(&mut self, env: &mut Env<'_, '_>, context: u32, slice: u64) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context).filter(|group| group.active.is_none()) else {
            return Ok(());
        };
        let Some((&collective, &Ready { instance: index, posted, .. })) = group.ready.first_key_value()
        else {
            return Ok(());
        };
        if group.told == Some(collective) {
            return Ok(());
        }
        let instance = env.memory.instance(index)?;
        let gather = self.gathers.entry((context, collective)).or_default();
        if !gather.has_own {
            if let Some(other) = gather.sign(self.node, signature(instance)) {
                return Err(mismatch(self.node, other, context, collective));
            }
            gather.has_own = true;
            gather.posted = gather.posted.max(posted);
            contribute(env.memory, self.node, gather, index, instance)?;
            gather.limit(SMALL_BYTES);
            self.moves += 1;
        }
        if gather.complete_children < group.tree.children().len() {
            return Ok(());
        }
        let Some(parent) = group.tree.parent() else { return Ok(()) };
        if gather.is_whole() && reduces(instance) {
            gather.combine(&reduction(env.memory, instance)?)?;
        }
        gather.limit(SMALL_BYTES);
        for record in gather.records(context, collective, signature(instance), env.payload_bytes, slice) {
            env.links.send(parent.0, &record);
        }
        self.gathers.remove(&(context, collective));
        group.told = Some(collective);
        Ok(())
    }

    /// Barrier-and-broadcast or reduce microphase: contributions begin their way. Then call [`Self::advance`] until it answers
    /// that this node is done.
    ///
    /// # Errors
    /// NIC memory is corrupt.
    pub fn begin(&mut self, env: &mut Env<'_, '_>, microphase: Microphase) -> Result<(), GlobalError> {
        for (context, group) in &mut self.groups {
            let Some(active) = group.active.as_mut().filter(|active| active.microphase() == microphase)
            else {
                continue;
            };
            if !matches!(active.stage, Stage::Scheduled) {
                continue;
            }
            let instance = env.memory.instance(active.instance)?;
            let gather = self.gathers.entry((*context, active.collective)).or_default();
            contribute(env.memory, self.node, gather, active.instance, instance)?;
            active.stage = Stage::Gathering;
        }
        Ok(())
    }

    /// Goes on in a microphase. True when this node has nothing more to do in it.
    ///
    /// # Errors
    /// NIC memory is corrupt, a node died, or members called different collectives.
    pub fn advance(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &mut impl Fabric,
        microphase: Microphase,
        slice: u64,
    ) -> Result<bool, GlobalError> {
        let mut done = true;
        let contexts: Vec<u32> = self
            .groups
            .iter()
            .filter(|(_, g)| g.active.as_ref().is_some_and(|a| a.microphase() == microphase))
            .map(|(c, _)| *c)
            .collect();
        for context in contexts {
            done &= self.gathered(env, context, slice)?;
            done &= self.send_chunk(env, fabric, context, slice)?;
        }
        Ok(done)
    }

    /// Hands on what was gathered, when all children have given theirs. False while some have not.
    fn gathered(&mut self, env: &mut Env<'_, '_>, context: u32, slice: u64) -> Result<bool, GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(true) };
        let Some(active) = group.active.as_mut() else { return Ok(true) };
        if !matches!(active.stage, Stage::Gathering) {
            return Ok(true);
        }
        let key = (context, active.collective);
        let Some(gather) = self.gathers.get_mut(&key) else { return Ok(true) };
        if gather.complete_children < group.tree.children().len() {
            return Ok(false);
        }
        let instance = env.memory.instance(active.instance)?;
        let kind = active.kind;
        let reduces = reduces(instance);
        if reduces {
            gather.combine(&reduction(env.memory, instance)?)?;
        }
        if let Some(parent) = group.tree.parent() {
            for record in
                gather.records(context, active.collective, active.signature, env.payload_bytes, slice)
            {
                env.links.send(parent.0, &record);
            }
            self.gathers.remove(&key);
            if kind == CollectiveKind::Reduce as u32 && instance.root_member.get() == 0 {
                self.leave(env, context, slice)?;
            } else {
                active.stage = Stage::Receiving;
            }
            return Ok(true);
        }
        let (bytes, root_node) = if reduces {
            let Some(result) = gather.take_result(tree_of(instance)?) else {
                return Err(mismatch(self.node, self.node, context, active.collective));
            };
            (result, gather.root_node)
        } else {
            (board_region::image(&gather.take_all()), 0)
        };
        self.gathers.remove(&key);
        let everybody = others(&group.nodes, self.node);
        let to = match root_node.checked_sub(1) {
            Some(root) if kind == CollectiveKind::Reduce as u32 => match NodeId(root) == self.node {
                true => NodeSet::new(),
                false => NodeSet::single(NodeId(root)),
            },
            _ => everybody,
        };
        active.stage = Stage::Sending { bytes: bytes.clone(), sent: 0, to, chunk_slice: 0 };
        let (index, is_reduce_away) =
            (active.instance, kind == CollectiveKind::Reduce as u32 && instance.root_member.get() == 0);
        if is_reduce_away {
            self.deliveries.let_go(env, index)?
        } else {
            self.deliveries.deliver(env, None, index, &bytes)?
        }
        Ok(true)
    }

    /// Sends the next chunk, one a slice. False when the network is too busy to take it.
    fn send_chunk(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &mut impl Fabric,
        context: u32,
        slice: u64,
    ) -> Result<bool, GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(true) };
        let Some(active) = group.active.as_mut() else { return Ok(true) };
        let (collective, signature) = (active.collective, active.signature);
        let Stage::Sending { bytes, sent, to, chunk_slice } = &mut active.stage else { return Ok(true) };
        if *chunk_slice == slice && *sent < bytes.len() {
            return Ok(true);
        }
        if !to.is_empty() && *chunk_slice != slice {
            let chunk = &bytes[*sent..bytes.len().min(*sent + self.layout.data_bytes as usize)];
            let words = [
                stamp(context, collective),
                bytes.len() as u64,
                *sent as u64,
                chunk.len() as u64,
                signature,
                0,
            ];
            let mut cell = Vec::with_capacity(CELL_BYTES as usize + chunk.len());
            words.iter().for_each(|word| cell.extend_from_slice(&word.to_le_bytes()));
            cell.extend_from_slice(chunk);
            match env.links.put(
                fabric,
                &cell,
                to,
                self.layout.cell(context, *sent as u64 / self.layout.data_bytes),
            ) {
                Ok(()) => {}
                Err(FabricError::Busy { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            *sent += chunk.len();
            *chunk_slice = slice;
        }
        if to.is_empty() || *sent == bytes.len() {
            group.complete(slice);
        }
        Ok(true)
    }

    /// Takes a chunk that was put into the group's cell; of a collective that this node has told of it may come before the word that all have reached it.
    fn receive(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &impl Fabric,
        context: u32,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let collective = match &group.active {
            Some(active) if matches!(active.stage, Stage::Receiving) => active.collective,
            Some(_) => return Ok(()),
            None => match group.told.filter(|told| group.ready.contains_key(told)) {
                Some(told) => told,
                None => return Ok(()),
            },
        };
        let so_far = group.received.as_ref().map_or(0, |received| received.bytes.len() as u64);
        let cell = self.layout.cell(context, so_far / self.layout.data_bytes);
        let mut header = [0; CELL_BYTES as usize];
        fabric.read(cell, &mut header)?;
        let mut words = [0; 6];
        for (word, bytes) in words.iter_mut().zip(header.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [found, total, offset, length, signature, _] = words;
        if found == stamp(context, collective) && offset == so_far && (so_far < total || so_far == 0) {
            let received = group.received.get_or_insert(Received { bytes: Vec::new(), total, signature });
            let fits = offset.checked_add(length).is_some_and(|end| end <= total);
            if !fits
                || length > self.layout.data_bytes
                || (received.total, received.signature) != (total, signature)
            {
                return Err(mismatch(self.node, self.node, context, collective));
            }
            self.moves += 1;
            received.bytes.resize((offset + length) as usize, 0);
            fabric.read(GlobalAddress(cell.0 + CELL_BYTES), &mut received.bytes[offset as usize..])?;
        }
        let Some(active) = &group.active else { return Ok(()) };
        let is_complete = |received: &mut Received| received.bytes.len() as u64 == received.total;
        let Some(received) = group.received.take_if(is_complete) else { return Ok(()) };
        if received.signature != active.signature {
            return Err(mismatch(self.node, self.node, context, collective));
        }
        let index = active.instance;
        let range = group.range.take();
        group.complete(slice);
        self.deliveries.deliver(env, range, index, &received.bytes)
    }

    /// A reduction whose root is elsewhere has taken this node's contributions.
    fn leave(&mut self, env: &mut Env<'_, '_>, context: u32, slice: u64) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let Some(active) = &group.active else { return Ok(()) };
        let index = active.instance;
        group.complete(slice);
        self.deliveries.let_go(env, index)
    }
}

fn others(nodes: &NodeSet, here: NodeId) -> NodeSet {
    nodes.difference(&NodeSet::single(here))
}

fn mismatch(here: NodeId, there: NodeId, context: u32, sequence: u64) -> GlobalError {
    GlobalError::Mismatch { here, there, context, sequence }
}

/// What a collective is, so that two nodes can tell whether they mean the same: kind, operation and element type, root.
fn signature(instance: &Instance) -> Signature {
    let kind = instance.kind.get();
    let is_rooted = is_broadcast(instance) || kind == CollectiveKind::Reduce as u32;
    let root = if is_rooted { instance.root.get() } else { 0 };
    kind as u64 | (instance.operation.get() as u64 & 0xff_ffff) << 8 | (root as u64) << 32
}

/// Whether contributions are combined.
fn reduces(instance: &Instance) -> bool {
    let kind = instance.kind.get();
    kind == CollectiveKind::Reduce as u32 || kind == CollectiveKind::Allreduce as u32
}

/// The bytes of a broadcast's root, if it is one of this node's members.
fn root_bytes(memory: &NicMemory, index: u32, instance: &Instance) -> Result<Option<Vec<u8>>, GlobalError> {
    let Some(root) = instance.root_member.get().checked_sub(1) else { return Ok(None) };
    let member = members(memory, index, instance)?.get(root as usize).ok_or(Corrupt {
        what: "root of a broadcast",
        value: root as u64,
        limit: instance.expected.get() as u64,
    })?;
    bytes_of(memory, member).map(Some)
}

/// Adds what this node's members give to a collective.
fn contribute(
    memory: &NicMemory,
    node: NodeId,
    gather: &mut Gather,
    index: u32,
    instance: &Instance,
) -> Result<(), GlobalError> {
    if instance.root_member.get() != 0 {
        gather.root_node = node.0 + 1;
    }
    if instance.kind.get() == CollectiveKind::Barrier as u32 {
        return Ok(());
    }
    if is_broadcast(instance) {
        if let Some(bytes) = root_bytes(memory, index, instance)? {
            gather.add(instance.root.get(), 0, bytes);
        }
        return Ok(());
    }
    let tree = tree_of(instance)?;
    for member in members(memory, index, instance)? {
        let rank = member.comm_rank.get();
        let size = if reduces(instance) { tree.leaf(rank).map_or(0, |leaf| leaf.log2_size()) } else { 0 };
        gather.add(rank, size, bytes_of(memory, member)?);
    }
    Ok(())
}

fn tree_of(instance: &Instance) -> Result<ReductionTree, Corrupt> {
    let ranks = NonZeroU32::new(instance.comm_size.get());
    Ok(ReductionTree::new(ranks.ok_or(Corrupt { what: "size of a communicator", value: 0, limit: 0 })?))
}

fn reduction(memory: &NicMemory, instance: &Instance) -> Result<Reduction, Corrupt> {
    let operation = instance.operation.get();
    let corrupt = |what| Corrupt { what, value: operation as u64, limit: 0 };
    Ok(Reduction {
        tree: tree_of(instance)?,
        op: ReduceOp::try_from(operation as u8).map_err(|_| corrupt("reduction"))?,
        element: ElementType::try_from((operation >> 8) as u8).map_err(|_| corrupt("element type"))?,
        arithmetic: if memory.header().arithmetic.get() == 1 {
            Arithmetic::SoftFloat
        } else {
            Arithmetic::Native
        },
    })
}
