//! The large bytes of collectives across nodes, in the microphases of CH and RH (paper, §4.4):
//!
//! - **BBM**: a broadcast's root puts its bytes to all nodes of the group, a chunk a slice; a board's
//!   contributions go up the tree of nodes and their collection comes back from the lead;
//! - **RM**: partial results go up the tree; the lead sends the result to all, or to the root's node.
//!
//! Invariants: of one communicator, one chunk is under way in a slice. A chunk is there before the node that
//! sent it is done with the microphase, and the nodes have taken it when they report in the next slice: so
//! two cells are enough, in turn. A node that has said that it is done and learns only then that it has a
//! chunk to send does so in the next slice: nobody would wait for it in this one.

use super::collectives::Collectives;
use super::communicator::{ReceivedChunks, Stage, stamp};
use super::contribution::{combine, contribute, tree_of};
use super::error::{GlobalError, strange};
use super::image::image;
use super::layout::CELL_BYTES;
use super::point_to_point::Env;
use crate::matching::called::Called;
use crate::memory::descriptor::CollectiveKind;
use crate::threads::microphase::Microphase;
use bcs_core::{GlobalAddress, NodeId, NodeSet};
use bcs_fabric::{Fabric, FabricError};

impl Collectives {
    /// Barrier-and-broadcast or reduce microphase: contributions begin their way. Then call [`Self::advance`]
    /// until it answers that this node is done.
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
            // All fit: that was found when they arrived.
            let _ = gather.sign(self.node, Called::of(instance));
            active.stage = Stage::Gathering;
        }
        Ok(())
    }

    /// Goes on in a microphase, whose end waits for this node or (`is_over`) does so no more. True when this
    /// node has nothing more to do in it.
    ///
    /// # Errors
    /// NIC memory is corrupt, or a node died.
    pub fn advance(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &mut (impl Fabric + ?Sized),
        microphase: Microphase,
        (slice, is_over): (u64, bool),
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
            if !is_over {
                done &= self.send_chunk(env, fabric, context, slice)?;
            }
        }
        Ok(done)
    }

    /// Hands on what was gathered, when all children have given theirs. False while some have not.
    fn gathered(&mut self, env: &mut Env<'_, '_>, context: u32, slice: u64) -> Result<bool, GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(true) };
        let everybody = group.others(self.node);
        let Some(active) = group.active.as_mut() else { return Ok(true) };
        if !matches!(active.stage, Stage::Gathering) {
            return Ok(true);
        }
        let key = (context, active.collective);
        let Some(gather) = self.gathers.get_mut(&key) else { return Ok(true) };
        if gather.complete_children < group.tree.children.len() {
            return Ok(false);
        }
        let instance = env.memory.instance(active.instance)?;
        let is_reduce = active.kind == CollectiveKind::Reduce as u32;
        if instance.reduces() {
            combine(env.memory, gather, instance)?;
        }
        if let Some(parent) = group.tree.parent {
            let called = gather.called().unwrap_or(Called::of(instance));
            for record in gather.records(context, active.collective, &called, env.payload_bytes, slice) {
                env.links.send(parent.0, &record);
            }
            self.gathers.remove(&key);
            if is_reduce && instance.root_member.get() == 0 {
                let index = active.instance;
                group.complete(slice);
                self.deliveries.let_go(env, index)?;
            } else {
                active.stage = Stage::Receiving;
            }
            return Ok(true);
        }
        let root_node = gather.root_node;
        let bytes = if instance.reduces() {
            let result = gather.take_result(tree_of(instance)?);
            result.ok_or_else(|| strange(self.node, active.collective))?
        } else {
            image(&gather.take_all())
        };
        self.gathers.remove(&key);
        let to = match root_node.checked_sub(1) {
            Some(root) if is_reduce && root == self.node.0 => NodeSet::new(),
            Some(root) if is_reduce => NodeSet::single(NodeId(root)),
            _ => everybody,
        };
        active.stage = Stage::Sending { bytes: bytes.clone(), sent: 0, to, chunk_slice: 0 };
        self.deliveries.end(env, active.instance, &bytes)?;
        Ok(true)
    }

    /// Sends the next chunk, one a slice. False when the network is too busy to take it.
    fn send_chunk(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &mut (impl Fabric + ?Sized),
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

    /// Takes a chunk that was put into the group's cell; of a collective that this node has told of it may
    /// come before the word that all have reached it.
    pub(super) fn receive(
        &mut self,
        env: &mut Env<'_, '_>,
        fabric: &(impl Fabric + ?Sized),
        context: u32,
        slice: u64,
    ) -> Result<(), GlobalError> {
        let Some(group) = self.groups.get_mut(&context) else { return Ok(()) };
        let reached = match &group.active {
            Some(active) if matches!(active.stage, Stage::Receiving) => vec![active.collective],
            Some(_) => return Ok(()),
            None => group.told.iter().copied().filter(|told| group.ready.contains_key(told)).collect(),
        };
        if reached.is_empty() {
            return Ok(());
        }
        let so_far = group.received.as_ref().map_or(0, |received| received.bytes.len() as u64);
        let cell = self.layout.cell(context, so_far / self.layout.data_bytes);
        let mut header = [0; CELL_BYTES as usize];
        fabric.read(cell, &mut header)?;
        let mut words = [0; 6];
        for (word, bytes) in words.iter_mut().zip(header.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let [found, total, offset, length, signature, _] = words;
        let of = reached.into_iter().find(|collective| found == stamp(context, *collective));
        if let Some(collective) = of
            && offset == so_far
            && (so_far < total || so_far == 0)
        {
            let received =
                group.received.get_or_insert(ReceivedChunks { bytes: Vec::new(), total, signature });
            let fits = offset.checked_add(length).is_some_and(|end| end <= total);
            if !fits
                || length > self.layout.data_bytes
                || (received.total, received.signature) != (total, signature)
            {
                return Err(strange(self.node, collective));
            }
            self.moves += 1;
            received.bytes.resize((offset + length) as usize, 0);
            fabric.read(GlobalAddress(cell.0 + CELL_BYTES), &mut received.bytes[offset as usize..])?;
        }
        let Some(active) = &group.active else { return Ok(()) };
        let is_complete = |received: &mut ReceivedChunks| received.bytes.len() as u64 == received.total;
        let Some(received) = group.received.take_if(is_complete) else { return Ok(()) };
        if received.signature != active.signature {
            return Err(strange(self.node, active.collective));
        }
        let index = active.instance;
        group.complete(slice);
        self.deliveries.deliver(env, index, &received.bytes)
    }
}
