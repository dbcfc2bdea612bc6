//! Collectives across nodes: the BR's scheduling of them, CH and RH (paper, §4.4 and figure 4.6).
//!
//! A node publishes in a variable of the communicator's context which collective all its local members have reached (the flag
//! of the figure). In the message scheduling microphase the lead (the lowest node with members) asks with one Compare-And-Write
//! whether all nodes have, and by the same operation writes "go" everywhere. A barrier is over with that. Then
//!
//! - **BBM**: a broadcast's root puts its bytes to all nodes of the group, a chunk a slice; a board's contributions go up the
//!   tree of nodes ([`super::gather`]) and their collection comes back from the lead;
//! - **RM**: partial results go up the tree; the lead sends the result to all, or to the root's node.
//!
//! Invariant: of one communicator, one collective is under way in a slice. So its cell is free when the next one needs it:
//! every node has taken what was put there before it sees the next microstrobe.

use super::agreement::{Answer, Question};
use super::board_region;
use super::communicator::{Active, Group, Stage, flag, in_order, unwrapped, value};
use super::delivery::{Deliveries, bytes_of, is_broadcast};
use super::error::GlobalError;
use super::gather::{Gather, Reduction};
use super::groups::{self, Tree};
use super::layout::{CELL_BYTES, GlobalLayout};
use super::point_to_point::Env;
use super::record::Record;
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

/// All collectives across nodes, on one node.
#[derive(Debug)]
pub struct Collectives {
    layout: GlobalLayout,
    node: NodeId,
    groups: BTreeMap<u32, Group>,
    gathers: BTreeMap<(u32, u64), Gather>,
    deliveries: Deliveries,
    seen: u32,
    /// Flags were published that no message scheduling microphase has asked for yet, and in which slice.
    published_in: Option<u64>,
    /// Collectives scheduled since the last look: for EMDS.
    pub scheduled: u64,
    /// Flags published, collectives started and chunks taken, since the start.
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
            published_in: None,
            scheduled: 0,
            moves: 0,
        }
    }

    /// Looks which collectives all local members have reached since the last look, and publishes them.
    ///
    /// # Errors
    /// A communicator was not registered.
    pub fn publish(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &mut impl Fabric,
        slice: u64,
    ) -> Result<(), GlobalError> {
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
            if waits.contains(&context) || !self.publish_one(env, fabric, context, sequence, index, slice)? {
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
        fabric: &mut impl Fabric,
        context: u32,
        sequence: u32,
        index: u32,
        slice: u64,
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
        group.ready.insert(collective, (index, range));
        self.moves += 1;
        self.raise_flag(env, fabric, context, slice)?;
        Ok(true)
    }

    /// Lets this node's flag tell of the next collective of a group, when the one before has its *go*.
    fn raise_flag(
        &mut self,
        env: &Env<'_, '_>,
        fabric: &mut impl Fabric,
        context: u32,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let Some((&collective, &(index, _))) = group.ready.first_key_value() else { return Ok(()) };
        if group.flagged == Some(collective) {
            return Ok(());
        }
        let kind = env.memory.instance(index)?.kind.get();
        match fabric.store(self.layout.arrived(context), flag(context, collective, kind)) {
            Ok(()) => {}
            // At the next poll.
            Err(FabricError::Busy { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        group.flagged = Some(collective);
        group.ask_due = true;
        self.published_in = Some(slice);
        self.moves += 1;
        Ok(())
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
        self.gathers.is_empty()
            && self.groups.values().all(|group| group.active.is_none() && group.agreement.is_silent())
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
        if self.published_in.is_some() {
            need(Microphase::MessageScheduling);
        }
        for group in self.groups.values() {
            let Some(active) = &group.active else {
                let is_flagged = group.ready.keys().next().is_none_or(|next| group.flagged == Some(*next));
                if !is_flagged || group.ask_due && group.tree.is_lead() && !group.ready.is_empty() {
                    need(Microphase::MessageScheduling);
                }
                continue;
            };
            let here = match &active.stage {
                Stage::Sending { chunk_slice, .. } => next || *chunk_slice != slice,
                Stage::Scheduled | Stage::Gathering => true,
                Stage::Receiving(bytes) => {
                    // Nobody knows better than the lead, in the slice of the go, that the root has something to send.
                    group.tree.is_lead() && active.since == slice && bytes.is_empty() && !next
                }
            };
            if here {
                need(active.microphase());
            }
        }
        first
    }

    /// Message scheduling microphase: asks, as lead, whether all nodes have reached the next collective of each group.
    ///
    /// # Errors
    /// A node died.
    pub fn schedule(
        &mut self,
        memory: &NicMemory,
        fabric: &mut impl Fabric,
        slice: u64,
        first: Microphase,
    ) -> Result<(), GlobalError> {
        // Flags that this node published in this very slice may have come too late for a lead that began with this microphase.
        if self
            .published_in
            .is_some_and(|published| published < slice || first == Microphase::DescriptorExchange)
        {
            self.published_in = None;
        }
        for (context, group) in &mut self.groups {
            let is_free = group.active.is_none() && group.completed < slice;
            let Some((&collective, &(index, _))) =
                group.ready.first_key_value().filter(|_| is_free && group.tree.is_lead())
            else {
                continue;
            };
            if !group.agreement.is_silent() {
                // Somebody may just have come: asked in the next slice.
                group.ask_due = true;
                continue;
            }
            let question = Question {
                flag: self.layout.arrived(*context),
                go: self.layout.go(*context),
                reached: value(*context, collective),
                same: flag(*context, collective, memory.instance(index)?.kind.get()),
            };
            match group.agreement.ask(fabric, &group.nodes, question) {
                Ok(()) => group.ask_due = false,
                Err(FabricError::Busy { .. }) => group.ask_due = true,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Sees to everything that does not need a microstrobe: answers, go's, cells, departures. True while an answer is awaited.
    ///
    /// # Errors
    /// NIC memory is corrupt, a node died, or members called different collectives.
    pub fn poll(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &mut impl Fabric,
        slice: u64,
    ) -> Result<bool, GlobalError> {
        let mut awaited = false;
        let contexts: Vec<u32> = self
            .groups
            .iter()
            .filter(|(_, g)| g.active.is_some() || !g.agreement.is_silent() || !g.ready.is_empty())
            .map(|(c, _)| *c)
            .collect();
        for context in contexts {
            let Some(group) = self.groups.get_mut(&context) else { continue };
            match group.agreement.poll(fabric, &group.nodes)? {
                Answer::None => {}
                Answer::AskAgain => group.ask_due = true,
                Answer::Differs(there) => {
                    let collective = group.ready.keys().next().copied().unwrap_or(group.last);
                    return Err(mismatch(self.node, there, context, collective));
                }
            }
            awaited |= group.agreement.is_awaited();
            self.start(env, fabric, context, slice)?;
            self.raise_flag(env, fabric, context, slice)?;
            self.receive(env, fabric, context, slice)?;
        }
        self.deliveries.free_departed(env)?;
        Ok(awaited)
    }

    /// Starts the next collective of a group if all nodes have reached it.
    fn start(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &mut impl Fabric,
        context: u32,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context).filter(|group| group.active.is_none()) else {
            return Ok(());
        };
        let Some((&collective, &(index, range))) = group.ready.first_key_value() else { return Ok(()) };
        if fabric.load(self.layout.go(context))? < value(context, collective) {
            return Ok(());
        }
        group.ready.remove(&collective);
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
        let signature = kind as u64 | (instance.operation.get() as u64) << 8;
        let mut active =
            Active { collective, instance: index, kind, signature, since: slice, stage: Stage::Scheduled };
        if is_broadcast(instance) {
            active.stage = match instance.root_member.get().checked_sub(1) {
                None => Stage::Receiving(Vec::new()),
                Some(root) => {
                    let member = members(env.memory, index, instance)?.get(root as usize).ok_or(Corrupt {
                        what: "root of a broadcast",
                        value: root as u64,
                        limit: instance.expected.get() as u64,
                    })?;
                    let bytes = bytes_of(env.memory, member)?;
                    CollectiveHelper::new(env.memory, &list, env.completer).broadcast(index, instance)?;
                    self.deliveries.watch(index, instance);
                    Stage::Sending { bytes, sent: 0, to: others(&group.nodes, self.node), chunk_slice: 0 }
                }
            };
        }
        group.range = range;
        group.active = Some(active);
        Ok(())
    }

    /// A record on its way up the tree.
    ///
    /// # Errors
    /// It does not fit what came before.
    pub fn handle_record(&mut self, from: u32, record: &Record) -> Result<(), GlobalError> {
        self.gathers.entry((record.words[0] as u32, record.words[1])).or_default().handle_record(from, record)
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
            let reduces = active.kind != CollectiveKind::Board as u32;
            let tree = tree_of(instance)?;
            for member in members(env.memory, active.instance, instance)? {
                let rank = member.comm_rank.get();
                let size = if reduces { tree.leaf(rank).map_or(0, |leaf| leaf.log2_size()) } else { 0 };
                gather.add(rank, size, bytes_of(env.memory, member)?);
            }
            if instance.root_member.get() != 0 {
                gather.root_node = self.node.0 + 1;
            }
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
        if let Some((there, signature)) = gather.signature
            && signature != active.signature
        {
            return Err(mismatch(self.node, there, context, active.collective));
        }
        if gather.complete_children < group.tree.children() {
            return Ok(false);
        }
        let instance = env.memory.instance(active.instance)?;
        let kind = active.kind;
        let reduces = kind != CollectiveKind::Board as u32;
        if reduces {
            gather.combine(&reduction(env.memory, instance)?)?;
        }
        if let Some(parent) = group.tree.parent() {
            for record in gather.records(context, active.collective, active.signature, env.payload_bytes) {
                env.links.send(parent.0, &record);
            }
            self.gathers.remove(&key);
            if kind == CollectiveKind::Reduce as u32 && instance.root_member.get() == 0 {
                self.leave(env, context, slice)?;
            } else {
                active.stage = Stage::Receiving(Vec::new());
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
                value(context, collective),
                bytes.len() as u64,
                *sent as u64,
                chunk.len() as u64,
                signature,
                0,
            ];
            let mut cell = Vec::with_capacity(CELL_BYTES as usize + chunk.len());
            words.iter().for_each(|word| cell.extend_from_slice(&word.to_le_bytes()));
            cell.extend_from_slice(chunk);
            match env.links.put(fabric, &cell, to, self.layout.cell(context)) {
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

    /// Takes a chunk that was put into the group's cell.
    fn receive(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &mut impl Fabric,
        context: u32,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let Some(active) = group.active.as_mut() else { return Ok(()) };
        let Stage::Receiving(received) = &mut active.stage else { return Ok(()) };
        let cell = self.layout.cell(context);
        let mut header = [0; CELL_BYTES as usize];
        fabric.read(cell, &mut header)?;
        let mut words = [0; 6];
        for (word, bytes) in words.iter_mut().zip(header.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [stamp, total, offset, length, signature, _] = words;
        if stamp != value(context, active.collective) || offset != received.len() as u64 {
            return Ok(());
        }
        if signature != active.signature || offset + length > total || length > self.layout.data_bytes {
            return Err(mismatch(self.node, self.node, context, active.collective));
        }
        let start = received.len();
        self.moves += 1;
        received.resize(start + length as usize, 0);
        fabric.read(GlobalAddress(cell.0 + CELL_BYTES), &mut received[start..])?;
        if (received.len() as u64) < total {
            return Ok(());
        }
        let (bytes, index) = (std::mem::take(received), active.instance);
        let range = group.range.take();
        group.complete(slice);
        self.deliveries.deliver(env, range, index, &bytes)
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
