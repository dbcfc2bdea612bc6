//! Global slices: the NICs of a job's nodes march to one beat (paper, §4.2–§4.4; design §4). `docs/protocol.md` has the protocol as a
//! whole.
//!
//! An engine without I/O: [`GlobalNic::poll`] is called by whoever drives a node (the program launcher, the simulator) whenever
//! something may have changed, with a [`Fabric`] to the other nodes and the time. Ranks post as ever and run their node's
//! local slices, which leave what is for other nodes in NIC memory; global slices take it from there:
//!
//! | microphase | who | does |
//! |---|---|---|
//! | DEM | BS | sends descriptors to the nodes of their destinations |
//! | MSM | BR | matches them, grants chunks; asks which collectives all nodes have reached |
//! | P2P | DH | sends granted chunks |
//! | BBM | CH | broadcasts, boards |
//! | RM | RH | reductions |
//!
//! Invariants: what is posted during a slice is scheduled in the next one; nothing overtakes between two ranks; what comes
//! in to a node and goes out of it in a slice is bounded; while nobody wants anything, nothing travels (elastic slices).
//!
//! | file | holds |
//! |---|---|
//! | `layout` | what is where in global memory |
//! | `record`, `link` | records between two nodes, with flow control |
//! | `groups` | the nodes of a communicator |
//! | `strobe_sender` | SS: microstrobes, and the questions between them |
//! | `point_to_point` | BS, BR, DH |
//! | `agreement` | whether all nodes have reached a collective, and the same one |
//! | `collectives`, `communicator`, `gather`, `delivery`, `board_region` | CH, RH |
//! | `rank_memory` | the bytes of this node's ranks |

mod agreement;
mod board_region;
mod collectives;
mod communicator;
mod delivery;
mod error;
mod gather;
pub mod groups;
pub mod layout;
mod link;
mod point_to_point;
mod rank_memory;
mod record;
mod strobe_sender;

pub use error::GlobalError;
pub use layout::GlobalLayout;

use crate::buffer_sender::BufferSender;
use crate::completer::{Completer, Touched};
use crate::memory::NicMemory;
use crate::microphase::Microphase;
use crate::status::Activity;
use crate::strobe_receiver::SliceCounts;
use crate::token::Holder;
use bcs_core::{Fabric, FabricError, NodeId, NodeSet, SliceIndex, Source};
use collectives::Collectives;
use layout::{ARRIVED, RUNG};
use link::Links;
use mds::{EmdsRing, GlobalRecord, LocalRecord};
use point_to_point::{Env, PointToPointEngine, payload_bytes};
use record::Kind;
use std::sync::Arc;
use strobe_sender::{Own, StrobeSender, bell, progress, read_bells, read_strobe, want};

/// What came of a poll.
pub enum Polled {
    /// Somebody else holds the run token: poll again soon.
    Busy,
    /// Done. Whether anything was, and whom something was completed for: the driver wakes those of them that sleep.
    Done {
        /// Something was done: poll again before waiting for the network.
        moved: bool,
        /// Ranks to wake.
        touched: Vec<Touched>,
    },
}

/// A node's part in the job's global slices. See the module.
pub struct GlobalNic<F> {
    memory: Arc<NicMemory>,
    fabric: F,
    layout: GlobalLayout,
    node: u32,
    links: Links,
    messages: PointToPointEngine,
    collectives: Collectives,
    /// On the lead node.
    sender: Option<StrobeSender>,
    /// The last strobe word that was acted on.
    strobe: u64,
    /// The microphase that is not complete here.
    working: Option<Microphase>,
    /// The microphase that this slice began with.
    first: Microphase,
    rung: bool,
    /// Another node has rung here, and nobody has looked.
    others_ring: bool,
    wants: u64,
    /// Local slices that did something, and polls that completed something.
    local_moves: u64,
    need: Option<Microphase>,
    started_ns: u64,
    phase_ns: u64,
    record: LocalRecord,
}

impl<F: Fabric> GlobalNic<F> {
    /// This node's part. The fabric's members are the job's nodes, numbered as the job numbers them, and its memory
    /// and events are as large as `layout` says.
    pub fn new(memory: Arc<NicMemory>, fabric: F, layout: GlobalLayout) -> Self {
        let (node, _) = memory.node();
        let period_ns = memory.header().slice_period_ns.get();
        Self {
            links: Links::new(layout, node),
            messages: PointToPointEngine::default(),
            collectives: Collectives::new(layout, node),
            sender: (node == 0).then(|| StrobeSender::new(layout, period_ns)),
            strobe: 0,
            working: None,
            first: Microphase::DescriptorExchange,
            rung: false,
            others_ring: false,
            wants: 0,
            local_moves: 0,
            need: None,
            started_ns: 0,
            phase_ns: 0,
            record: LocalRecord::default(),
            memory,
            fabric,
            layout,
            node,
        }
    }

    /// The network.
    pub fn fabric(&self) -> &F {
        &self.fabric
    }

    /// The network, to be left.
    pub fn fabric_mut(&mut self) -> &mut F {
        &mut self.fabric
    }

    /// The slice that this node is in, and its microphase; none between slices.
    pub fn now_in(&self) -> (SliceIndex, Option<Microphase>) {
        let (slice, microphase) = read_strobe(self.strobe);
        (SliceIndex(slice), microphase)
    }

    /// When to poll at the latest, if nothing arrives and no rank posts: the lead of fixed slices has a beat to keep.
    pub fn next_ns(&self) -> Option<u64> {
        self.sender.as_ref().and_then(StrobeSender::next_ns)
    }

    /// All that this node has under way, for who looks for a fault.
    pub fn describe(&self) -> String {
        let Self { strobe, working, wants, need, rung, messages, collectives, links, sender, .. } = self;
        format!(
            "{}: strobe {:?} working {working:?} wants {wants} need {need:?} rung {rung}\n{messages:?}\n{collectives:?}\n{links:?}\n{sender:?}",
            NodeId(self.node),
            read_strobe(*strobe),
        )
    }

    /// True when nothing of this node's is under way.
    pub fn is_idle(&self) -> bool {
        self.messages.is_idle() && self.collectives.is_idle() && self.links.is_delivered()
    }

    /// Does what can be done now.
    ///
    /// # Errors
    /// See [`GlobalError`]: all of them end the job.
    pub fn poll(&mut self, now_ns: u64) -> Result<Polled, GlobalError> {
        self.fabric.progress()?;
        if let Some(error) = self.fabric.take_failure() {
            return Err(error.into());
        }
        if let Some(node) = self.fabric.dead().first() {
            return Err(GlobalError::NodeDied { node });
        }
        if !self.memory.token().try_take(Holder::NIC_THREAD) {
            return Ok(Polled::Busy);
        }
        let memory = self.memory.clone();
        let polled = self.poll_with_token(&memory, now_ns);
        // Orders completions against the look at who sleeps: see `waiting`.
        memory.token().release_and_fence();
        polled
    }

    fn poll_with_token(&mut self, memory: &NicMemory, now_ns: u64) -> Result<Polled, GlobalError> {
        let mut touched = Vec::new();
        let fixed = memory.header().slice_period_ns.get() != 0;
        let moves_before = self.moves();
        // Read first: what was put here before the strobe is seen below.
        let strobe = self.fabric.load(self.layout.strobe())?;
        let mut moved = self.run_local_slice(memory, now_ns, fixed, &mut touched)?;
        let mut completer = Completer::new(memory, fixed);
        let mut links = std::mem::replace(&mut self.links, Links::new(self.layout, self.node));
        let mut env = Env {
            memory,
            completer: &mut completer,
            links: &mut links,
            payload_bytes: payload_bytes(self.layout.record_bytes()),
        };
        let result = self.run(&mut env, strobe, now_ns);
        self.links = links;
        moved |= result?;
        moved |= self.ring_and_strobe(memory, now_ns)?;
        if !completer.touched.is_empty() {
            moved = true;
            self.local_moves += 1;
            touched.push(completer.touched);
        }
        self.tell_rest(memory, fixed, moves_before);
        Ok(Polled::Done { moved, touched })
    }

    /// Changes with everything that this node does.
    fn moves(&self) -> u64 {
        self.local_moves.wrapping_add(self.links.moves).wrapping_add(self.collectives.moves)
    }

    /// Says in NIC memory whether anything of this node is under way between nodes, for who looks for a deadlock
    /// ([`crate::hang::is_deadlock`]). Only a poll that did nothing says that nothing is: those whom the one before it completed something
    /// for have been woken by then.
    fn tell_rest(&self, memory: &NicMemory, fixed: bool, moves_before: u64) {
        let remote = &memory.header().remote;
        let (slice, microphase) = read_strobe(self.strobe);
        let is_quiet = self.moves() == moves_before
            && (fixed || microphase.is_none())
            && self.wants == 0
            && self.wish(memory, slice).is_none()
            && !self.rung
            && self.messages.is_idle()
            && !self.messages.wants_transmission()
            && self.collectives.is_quiet()
            && self.links.is_delivered();
        if !is_quiet {
            remote.rest.set(0);
        }
        remote.published.set(self.collectives.published());
        remote.moves.set(self.moves());
        if is_quiet {
            remote.rest.set(slice + 1);
        }
    }

    fn run_local_slice(
        &mut self,
        memory: &NicMemory,
        now_ns: u64,
        fixed: bool,
        touched: &mut Vec<Touched>,
    ) -> Result<bool, GlobalError> {
        let clock = || now_ns;
        let wanted = match fixed {
            true => {
                crate::strobe_sender::StrobeSender::end_rest(memory, clock);
                crate::strobe_sender::StrobeSender::is_due(memory, clock)
            }
            false => BufferSender::has_work(memory),
        };
        if !wanted {
            return Ok(false);
        }
        let slice = crate::strobe_sender::StrobeSender::run(memory, clock)?;
        if !slice.touched.is_empty() || slice.counts != SliceCounts::default() {
            self.local_moves += 1;
        }
        if !slice.touched.is_empty() {
            touched.push(slice.touched);
        }
        Ok(true)
    }

    /// The NIC threads of this node. True if something was done.
    fn run(&mut self, env: &mut Env<'_, '_>, strobe: u64, now_ns: u64) -> Result<bool, GlobalError> {
        self.fabric.test_event(ARRIVED)?;
        let (slice, _) = read_strobe(self.strobe);
        let records = env.links.poll(&mut self.fabric)?;
        let mut moved = !records.is_empty();
        for (from, record) in records {
            match record.kind {
                Kind::Up => self.collectives.handle_record(from, &record)?,
                _ => self.messages.handle_record(env, from, record)?,
            }
        }
        let mut awaited = self.collectives.poll(env, &mut self.fabric, slice)?;
        if strobe != self.strobe {
            self.handle_microstrobe(env, strobe, now_ns)?;
            moved = true;
            let (slice, _) = read_strobe(strobe);
            awaited = self.collectives.poll(env, &mut self.fabric, slice)?;
        }
        let (slice, microphase) = read_strobe(self.strobe);
        let elastic = self.memory.header().slice_period_ns.get() == 0;
        if microphase.is_none() && elastic {
            self.collectives.publish(env, &mut self.fabric, slice)?;
        }
        let mut done = true;
        if let Some(working @ (Microphase::BarrierAndBroadcast | Microphase::Reduce)) = self.working {
            done = self.collectives.advance(env, &mut self.fabric, working, slice)?;
        }
        env.links.flush(&mut self.fabric)?;
        if let Some(working) = self.working
            && done
            && !awaited
            && env.links.is_delivered()
        {
            self.complete(env.memory, working, slice, now_ns)?;
            moved = true;
        }
        Ok(moved)
    }

    /// SR: a microstrobe wakes the threads of its microphase.
    fn handle_microstrobe(
        &mut self,
        env: &mut Env<'_, '_>,
        strobe: u64,
        now_ns: u64,
    ) -> Result<(), GlobalError> {
        let (before, _) = read_strobe(self.strobe);
        let (slice, microphase) = read_strobe(strobe);
        self.strobe = strobe;
        self.working = microphase;
        self.rung = false;
        let Some(microphase) = microphase else { return Ok(()) };
        if slice != before {
            self.record_slice(env.memory);
            self.first = microphase;
            let elapsed = if before == 0 { 0 } else { now_ns.saturating_sub(self.started_ns) };
            self.record =
                LocalRecord { slice: SliceIndex(slice), letts_ns: elapsed, ..LocalRecord::default() };
            self.started_ns = now_ns;
            self.collectives.publish(env, &mut self.fabric, slice)?;
        }
        self.phase_ns = now_ns;
        match microphase {
            Microphase::DescriptorExchange => self.messages.exchange(env)?,
            Microphase::MessageScheduling => {
                self.messages.schedule(env)?;
                self.collectives.schedule(env.memory, &mut self.fabric, slice, self.first)?;
            }
            Microphase::PointToPoint => self.messages.transmit(env)?,
            Microphase::BarrierAndBroadcast | Microphase::Reduce => {
                self.collectives.begin(env, microphase)?
            }
        }
        Ok(())
    }

    /// A microphase is complete here: says so, with what this node needs next.
    fn complete(
        &mut self,
        memory: &NicMemory,
        done: Microphase,
        slice: u64,
        now_ns: u64,
    ) -> Result<(), GlobalError> {
        let transmission = (done < Microphase::PointToPoint && self.messages.wants_transmission())
            .then_some(Microphase::PointToPoint);
        let collective = self.collectives.needs(Some(done), slice, false);
        self.need = [transmission, collective].into_iter().flatten().min();
        self.tell_wants(memory, slice)?;
        match self.fabric.store(self.layout.progress(), progress(slice, done, self.need)) {
            Ok(()) => {}
            // Too much is under way: said at the next poll.
            Err(FabricError::Busy { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.working = None;
        let elapsed = now_ns.saturating_sub(self.phase_ns);
        match done {
            Microphase::DescriptorExchange => self.record.ltdem_ns = elapsed,
            Microphase::MessageScheduling => self.record.ltmsm_ns = elapsed,
            Microphase::PointToPoint => self.record.ltp2p_ns = elapsed,
            Microphase::BarrierAndBroadcast => self.record.ltbbm_ns = elapsed,
            Microphase::Reduce => self.record.ltrm_ns = elapsed,
        }
        self.record.ltts_ns = now_ns.saturating_sub(self.started_ns);
        Ok(())
    }

    /// What this node wants of the next slice.
    fn wish(&self, memory: &NicMemory, slice: u64) -> Option<Microphase> {
        let remote = &memory.header().remote;
        if remote.outbound.get() != 0 {
            return Some(Microphase::DescriptorExchange);
        }
        if self.messages.wants_scheduling(memory) || self.collectives.wants_to_publish(memory) {
            return Some(Microphase::MessageScheduling);
        }
        let transmission = self.messages.wants_transmission().then_some(Microphase::PointToPoint);
        [transmission, self.collectives.needs(None, slice, true)].into_iter().flatten().min()
    }

    fn tell_wants(&mut self, memory: &NicMemory, slice: u64) -> Result<Option<Microphase>, GlobalError> {
        let wish = self.wish(memory, slice);
        if want(wish) != self.wants {
            match self.fabric.store(self.layout.wants(), want(wish)) {
                Ok(()) => self.wants = want(wish),
                Err(FabricError::Busy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(wish)
    }

    /// Rings for a slice, if this node wants one while all rest; on the lead node, drives the Strobe Sender.
    fn ring_and_strobe(&mut self, memory: &NicMemory, now_ns: u64) -> Result<bool, GlobalError> {
        let (slice, microphase) = read_strobe(self.strobe);
        let wish = self.tell_wants(memory, slice)?;
        if let Some(sender) = &mut self.sender {
            let done = microphase.filter(|_| self.working.is_none()).map(|microphase| (slice, microphase));
            let own = Own { done, need: self.need, wants: wish };
            let moved = sender.poll(&mut self.fabric, now_ns, own)?;
            if let Some(record) = sender.take_record()
                && let Ok(ring) = EmdsRing::<GlobalRecord>::open(memory.emds_global())
            {
                ring.record(&record);
            }
            return Ok(moved);
        }
        self.others_ring |= self.fabric.test_event(RUNG)? > 0;
        if microphase.is_some() || self.rung || memory.header().slice_period_ns.get() != 0 {
            return Ok(false);
        }
        // Bells of a block of nodes are handed on.
        let others = match std::mem::take(&mut self.others_ring) {
            true => read_bells(&self.layout, &self.fabric, self.node, slice)?,
            false => None,
        };
        let Some(wish) = [wish, others].into_iter().flatten().min() else { return Ok(false) };
        let lead = NodeSet::single(NodeId(self.layout.rings_at(self.node)));
        let at = self.layout.bell(self.node).address();
        let word = bell(slice, wish).to_le_bytes();
        match self.fabric.xfer_and_signal(Source::Bytes(&word), &lead, at, None, Some(RUNG)) {
            Ok(()) => self.rung = true,
            Err(FabricError::Busy { .. }) => self.others_ring |= others.is_some(),
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// Records the slice that is over (table 5.2).
    fn record_slice(&mut self, memory: &NicMemory) {
        let (descriptors, matched) = std::mem::take(&mut self.messages.counts);
        let scheduled = std::mem::take(&mut self.collectives.scheduled);
        if self.record.slice == SliceIndex(0) {
            return;
        }
        let Ok(ring) = EmdsRing::<LocalRecord>::open(memory.emds_local()) else { return };
        let blocked = (0..memory.layout().local_ranks)
            .filter_map(|rank| memory.rank(rank).ok())
            .filter(|rank| rank.status.activity() != Activity::Computing)
            .count() as u64;
        ring.record(&LocalRecord {
            np2pdem: descriptors,
            np2pmsm: matched,
            ncolldem: scheduled,
            ncollmsm: scheduled,
            bpts: blocked,
            ..self.record
        });
    }
}
