//! SR, the Strobe Receiver (paper, §4.1, §4.2): on every microstrobe it wakes the NIC threads that the
//! microphase calls for.
//!
//! It holds what the threads of a node hand on to each other within a slice: what the BS found eligible, what
//! was matched, at which collectives somebody arrived.

use smallvec::SmallVec;

use crate::matching::mismatch;
use crate::memory::descriptor::{CollectiveDescriptor, KIND};
use crate::memory::doorbell::RingKind;
use crate::memory::instance::InstanceState;
use crate::memory::{Corrupt, NicMemory};
use crate::policy::Pacing;
use crate::threads::breach;
use crate::threads::buffer_receiver::BufferReceiver;
use crate::threads::buffer_sender::{BufferSender, Eligible, Exchange};
use crate::threads::collective_at_once::AtOnce;
use crate::threads::collective_helper::CollectiveHelper;
use crate::threads::collective_list::{self, Arrival};
use crate::threads::completer::Completer;
use crate::threads::dma_helper::DmaHelper;
use crate::threads::microphase::Microphase;

/// Collectives in which somebody arrives that one slice acts on; arrivals at more wait in their rings.
const COLLECTIVES_A_SLICE: usize = 64;

/// What a slice did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceCounts {
    /// Point-to-point descriptors taken.
    pub descriptors: u64,
    /// Point-to-point operations scheduled.
    pub matched: u64,
    /// Collective descriptors taken.
    pub collective_descriptors: u64,
    /// Collectives at which somebody arrived.
    pub collectives: u64,
}

/// The Strobe Receiver, for one slice.
pub struct StrobeReceiver<'m> {
    memory: &'m NicMemory,
    pacing: Pacing,
    exchange: Exchange,
    /// Publishes completions.
    pub completer: Completer<'m>,
    dma: DmaHelper<'m>,
    at_once: AtOnce,
    arrivals: SmallVec<[u32; COLLECTIVES_A_SLICE]>,
    /// What has been done so far.
    pub counts: SliceCounts,
}

impl<'m> StrobeReceiver<'m> {
    /// A Strobe Receiver at the start of a slice. The caller holds the run token.
    #[inline]
    pub fn new(memory: &'m NicMemory) -> Self {
        let pacing = Pacing::of(memory);
        Self {
            memory,
            pacing,
            exchange: Exchange::new(),
            completer: Completer::new(memory, pacing),
            dma: DmaHelper::new(memory),
            at_once: AtOnce::default(),
            arrivals: SmallVec::new(),
            counts: SliceCounts::default(),
        }
    }

    /// A microstrobe: runs this node's threads of the microphase.
    #[inline]
    pub fn handle_microstrobe(&mut self, microphase: Microphase) -> Result<(), Corrupt> {
        match microphase {
            Microphase::DescriptorExchange => self.exchange_descriptors(),
            Microphase::MessageScheduling => self.schedule_messages(),
            Microphase::PointToPoint => self.dma.run(&mut self.completer),
            Microphase::BarrierAndBroadcast => {
                self.at_once.release(&mut self.completer)?;
                let mut helper = CollectiveHelper { completer: &mut self.completer };
                self.arrivals.iter().try_for_each(|&instance| helper.run(instance))
            }
            Microphase::Reduce => {
                self.at_once.reduce(&mut self.completer)?;
                let mut helper = CollectiveHelper { completer: &mut self.completer };
                self.arrivals.iter().try_for_each(|&instance| helper.reduce(instance))
            }
        }
    }

    /// True when this node has nothing to do in this microphase: when all nodes agree, it is skipped.
    #[inline]
    pub fn is_idle_in(&self, microphase: Microphase) -> bool {
        match microphase {
            Microphase::DescriptorExchange => false,
            Microphase::MessageScheduling => self.exchange.is_empty(),
            Microphase::PointToPoint => self.memory.header().slice.transfers.get() == 0,
            Microphase::BarrierAndBroadcast | Microphase::Reduce => {
                self.arrivals.is_empty() && self.at_once.is_empty()
            }
        }
    }

    #[inline]
    fn exchange_descriptors(&mut self) -> Result<(), Corrupt> {
        if self.pacing.holds_completions() {
            self.completer.publish_held()?;
        }
        // Also those slices count that take nothing: of very many ranks, others have their turn.
        let in_vain = self.memory.header().slice.in_vain.get();
        let first = (self.memory.control().slice.get() as u32).wrapping_add(in_vain);
        BufferSender::exchange(self.memory, first, &mut self.exchange);
        Ok(())
    }

    #[inline]
    fn schedule_messages(&mut self) -> Result<(), Corrupt> {
        let breaches = self.memory.breaches().ever();
        // Collectives first: one that does not fit is told before any of its messages is matched.
        let at_once = self.at_once.take(self.memory, &mut self.exchange)?;
        if at_once != 0 {
            self.counts.collective_descriptors += at_once as u64;
            // The list does so itself when somebody arrives at it, which here nobody did.
            collective_list::free_departed(self.memory)?;
        }
        for i in 0..self.exchange.len() {
            let reached = self.take_collectives(self.exchange[i])?;
            self.exchange[i].taken = self.exchange[i].taken.advanced_by(RingKind::Collective, reached);
            self.counts.collective_descriptors += reached as u64;
        }
        let mut receiver = BufferReceiver::new(&mut self.completer, &mut self.dma);
        self.exchange.iter_mut().try_for_each(|rank| receiver.take_receives(rank))?;
        self.exchange.iter_mut().try_for_each(|rank| receiver.take_sends(rank))?;
        self.counts.descriptors += receiver.descriptors;
        self.counts.matched += receiver.matched;
        if self.memory.breaches().ever() != breaches {
            self.forget_failed();
        }
        for rank in &self.exchange {
            self.memory.taken()[rank.local_rank.index()].publish(rank.taken);
        }
        self.counts.collectives = (self.arrivals.len() + self.at_once.len()) as u64;
        if self.counts == SliceCounts::default() {
            self.memory.header().slice.in_vain.add(1);
            if self.pacing.starts_on_work() && self.memory.node().1 > 1 {
                BufferSender::stall(self.memory, &self.exchange);
            }
        } else if self.memory.header().slice.stalled.get() != 0 {
            self.memory.header().slice.stalled.set(0);
        }
        Ok(())
    }

    /// After a breach: collectives that have failed are none to act on.
    #[cold]
    fn forget_failed(&mut self) {
        let memory = self.memory;
        let gathers = |index: u32| {
            memory
                .instance(index)
                .is_ok_and(|instance| instance.state.get() == InstanceState::Gathering as u32)
        };
        self.arrivals.retain(|index| gathers(*index));
    }

    #[inline]
    fn take_collectives(&mut self, rank: Eligible) -> Result<u32, Corrupt> {
        let (local_rank, count) = (rank.local_rank, rank.count(RingKind::Collective));
        if count == 0 {
            return Ok(0);
        }
        for (i, cell) in (0..).zip(rank.cells(self.memory.rank(local_rank)?, RingKind::Collective)?) {
            let words = cell.read();
            let Some(descriptor) = CollectiveDescriptor::decode(&words) else {
                return Err(Corrupt { what: "collective descriptor", value: words[KIND], limit: 0 });
            };
            if self.arrivals.len() == COLLECTIVES_A_SLICE {
                return Ok(i);
            }
            let breach = match collective_list::arrive(self.memory, local_rank, &descriptor)? {
                Arrival::At(instance) => {
                    if !self.arrivals.contains(&instance) {
                        self.arrivals.push(instance);
                    }
                    continue;
                }
                Arrival::Left => continue,
                Arrival::NoRoom => return Ok(i),
                Arrival::Mismatch(instance) => {
                    let report = mismatch::report(self.memory, local_rank, &descriptor, instance)?;
                    let context = descriptor.context;
                    breach::break_context(&mut self.completer, context, &report)?;
                    // None where there was no room to note it: then the job is over.
                    self.memory.breaches().find(context)
                }
                Arrival::Refused(breach) => Some(breach),
            };
            if let Some(breach) = breach {
                breach::refuse(&mut self.completer, local_rank, &descriptor, breach)?;
            }
        }
        Ok(count)
    }
}
