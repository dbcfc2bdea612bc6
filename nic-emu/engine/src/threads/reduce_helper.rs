//! RH, the Reduce Helper (paper, §4.1, §4.4): reductions, computed on the NIC.
//!
//! Reduce microphase. When all members have come, their contributions are combined in the order of the
//! reduction tree, which goes by rank and not by arrival, in the slabs where they lie. The result is in the
//! last member's place.

use crate::memory::Corrupt;
use crate::memory::descriptor::CollectiveKind;
use crate::memory::instance::{Instance, InstanceState};
use crate::memory::members::{Contribution, contribution, members};
use crate::memory::request::Delivery;
use crate::threads::collective_helper::{CollectiveHelper, root_of};
use crate::threads::collective_list;
use crate::threads::nic_thread::NicThread;
use crate::threads::reduction::Reduction;
use crate::threads::slice_work::SliceWork;

/// The Reduce Helper.
pub(crate) struct ReduceHelper;

/// Reduce microphase: computes the reductions that are complete, of those at which somebody has arrived in
/// this slice.
impl NicThread for ReduceHelper {
    #[inline]
    fn is_idle(work: &SliceWork<'_>) -> bool {
        work.has_no_collectives()
    }

    #[inline]
    fn run(work: &mut SliceWork<'_>) -> Result<(), Corrupt> {
        work.at_once.reduce(&mut work.completer)?;
        let mut helper = CollectiveHelper { completer: &mut work.completer };
        work.arrivals.iter().try_for_each(|&instance| helper.reduce(instance))
    }
}

/// What the Reduce Helper does with an instance, which it shares with the Collective Helper.
impl CollectiveHelper<'_, '_> {
    /// Acts on an instance at which somebody has arrived in this slice; computes it when all are there.
    #[inline]
    fn reduce(&mut self, index: u32) -> Result<(), Corrupt> {
        let instance = self.completer.memory.instance(index)?;
        if instance.arrived.get() != instance.expected.get() || !instance.reduces() || instance.spans_nodes()
        {
            return Ok(());
        }
        let (memory, operation) = (self.completer.memory, instance.operation.get());
        let (members, reduction) = (members(memory, index, instance)?, Reduction::of(memory, operation)?);
        // The result is at the last member's place.
        for step in Reduction::steps(members.len())? {
            let (left, right) = (&members[step.left as usize], &members[step.right as usize]);
            match (contribution(memory, left)?, contribution(memory, right)?) {
                (Contribution::Inline(left, bytes), Contribution::Inline(mut result, also))
                    if bytes == also =>
                {
                    reduction.combine(&left[..bytes], &mut result[..bytes])?;
                    right.set_payload(&result);
                }
                (Contribution::Slab(left, bytes), Contribution::Slab(right, also))
                    if bytes == also && left != right =>
                {
                    // SAFETY: both point at slabs, which have SLAB_BYTES >= `bytes` and are distinct.
                    unsafe { reduction.combine_slabs(left, right, bytes) }?;
                }
                _ => return Err(Corrupt { what: "contribution", value: operation as u64, limit: 0 }),
            }
        }
        self.give_result(index, instance)
    }

    /// Gives the result, which is at the last member's place, to the root or to all.
    pub(crate) fn give_result(&mut self, index: u32, instance: &Instance) -> Result<(), Corrupt> {
        let members = members(self.completer.memory, index, instance)?;
        let Some(last) = members.last() else {
            return Err(Corrupt { what: "members of a reduction", value: 0, limit: 0 });
        };
        let inline = match contribution(self.completer.memory, last)? {
            Contribution::Inline(bytes, _) => Some(Delivery::in_slot(&bytes)),
            Contribution::Slab(..) => {
                instance.result_member.set(members.len() as u32);
                None
            }
        };
        if instance.is(CollectiveKind::Allreduce) {
            if let Some(delivery) = inline {
                self.complete_all(members, &delivery)?;
                return collective_list::free(self.completer.memory, index, instance);
            }
            // Who gets nothing of the result has not waited for it.
            return self.release_all(index, instance);
        }
        let member = root_of(members, instance)?;
        if let Some(delivery) = &inline {
            self.complete(member, delivery)?;
        }
        for other in members.iter().filter(|other| !std::ptr::eq(*other, member)) {
            self.complete(other, &Delivery::InPlace)?;
        }
        if inline.is_some() {
            return collective_list::free(self.completer.memory, index, instance);
        }
        instance.readers.set(1);
        instance.state.set(InstanceState::Released as u32);
        self.refer(member, index)
    }
}
