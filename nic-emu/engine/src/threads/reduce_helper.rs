//! RH, the Reduce Helper (paper, §4.1, §4.4): reductions, computed on the NIC.
//!
//! Reduce microphase. When all members have come, their contributions are combined in the order of the
//! reduction tree, which goes by rank and not by arrival, in the slabs where they lie. The result is in the
//! last member's place.

use crate::arithmetic::reduction_tree::{ReductionTree, Steps};
use crate::arithmetic::{Arithmetic, ElementType, ReduceOp, combine, combine_at};
use crate::memory::descriptor::CollectiveKind;
use crate::memory::instance::{Instance, InstanceState};
use crate::memory::members::{Contribution, contribution, members};
use crate::memory::request::Delivery;
use crate::memory::{Corrupt, NicMemory};
use crate::threads::collective_helper::{CollectiveHelper, root_of};
use crate::threads::collective_list;
use std::num::NonZeroU32;

/// How contributions are combined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    op: ReduceOp,
    element: ElementType,
    arithmetic: Arithmetic,
}

impl Reduction {
    /// What an instance's word of operation and element type says ([`Instance::operation`]).
    #[inline]
    pub(crate) fn of(memory: &NicMemory, operation: u32) -> Result<Self, Corrupt> {
        let corrupt = |what| Corrupt { what, value: operation as u64, limit: 0 };
        let software = memory.header().arithmetic.get() == 1;
        Ok(Self {
            op: ReduceOp::numbered(operation as u8).ok_or_else(|| corrupt("reduction"))?,
            element: ElementType::numbered((operation >> 8) as u8).ok_or_else(|| corrupt("element type"))?,
            arithmetic: if software { Arithmetic::SoftFloat } else { Arithmetic::Native },
        })
    }

    /// The combines of the contributions of so many members, in the order of the reduction tree.
    #[inline]
    pub(crate) fn steps(members: usize) -> Result<Steps, Corrupt> {
        let members = NonZeroU32::new(members as u32);
        let members = members.ok_or(Corrupt { what: "members of a reduction", value: 0, limit: 0 })?;
        Ok(ReductionTree::new(members).steps())
    }

    /// Combines two contributions; the result is in place of the right one.
    #[inline]
    pub(crate) fn combine(self, left: &[u8], right: &mut [u8]) -> Result<(), Corrupt> {
        combine(self.op, self.element, left, right, self.arithmetic).map_err(|_| self.refused())
    }

    #[cold]
    fn refused(self) -> Corrupt {
        Corrupt { what: "reduction of type", value: self.element as u64, limit: 0 }
    }
}

/// What the Reduce Helper does.
impl CollectiveHelper<'_, '_> {
    /// Reduce microphase: acts on an instance at which somebody has arrived in this slice; computes it when
    /// all are there.
    #[inline]
    pub fn reduce(&mut self, index: u32) -> Result<(), Corrupt> {
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
                    let Reduction { op, element, arithmetic } = reduction;
                    // SAFETY: both point at slabs, which have SLAB_BYTES >= `bytes` and are distinct.
                    unsafe { combine_at(op, element, (left, right, right), bytes, arithmetic) }
                        .map_err(|_| reduction.refused())?;
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
