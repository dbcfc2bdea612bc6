//! RH, the Reduce Helper (paper, §4.1, §4.4): reductions, computed on the NIC.
//!
//! Reduce microphase. When all members have come, their contributions are combined in the order of the reduction tree, which goes by
//! rank and not by arrival, in the slabs where they lie. The result is in the last member's place.

use crate::arith::reduction_tree::ReductionTree;
use crate::arith::{Arithmetic, ElementType, ReduceOp, combine, combine_at};
use crate::collective::{Instance, InstanceState, Member};
use crate::collective_helper::members;
use crate::collective_list::{CollectiveList, Contribution, contribution};
use crate::completer::Completer;
use crate::descriptor::{CollectiveKind, INLINE_BYTES, NO_REQUEST};
use crate::memory::{Corrupt, NicMemory};
use crate::request::{Delivery, SLOT_PAYLOAD_BYTES, SlotState};
use std::num::NonZeroU32;

/// The Reduce Helper, for one slice.
pub struct ReduceHelper<'a, 'm> {
    memory: &'m NicMemory,
    list: &'a CollectiveList<'m>,
    completer: &'a mut Completer<'m>,
}

impl<'a, 'm> ReduceHelper<'a, 'm> {
    /// A Reduce Helper that completes through `completer`.
    #[inline]
    pub fn new(
        memory: &'m NicMemory,
        list: &'a CollectiveList<'m>,
        completer: &'a mut Completer<'m>,
    ) -> Self {
        Self { memory, list, completer }
    }

    /// Acts on an instance at which somebody has arrived in this slice: computes it when all are there.
    #[inline]
    pub fn run(&mut self, index: u32) -> Result<(), Corrupt> {
        let instance = self.memory.instance(index)?;
        let kind = instance.kind.get();
        if instance.arrived.get() != instance.expected.get()
            || kind != CollectiveKind::Reduce as u32 && kind != CollectiveKind::Allreduce as u32
            || instance.spans_nodes()
        {
            return Ok(());
        }
        let members = members(self.memory, index, instance)?;
        self.combine_all(instance, members)?;
        let last = members.len() - 1;
        if kind == CollectiveKind::Reduce as u32 {
            self.give_root(index, instance, members, last)
        } else {
            self.give_all(index, instance, members, last)
        }
    }

    /// Combines all contributions; the result is at the last member's place.
    fn combine_all(&self, instance: &Instance, members: &[Member]) -> Result<(), Corrupt> {
        let operation = instance.operation.get();
        let corrupt = |what| Corrupt { what, value: operation as u64, limit: 0 };
        let op = ReduceOp::try_from(operation as u8).map_err(|_| corrupt("reduction"))?;
        let element = ElementType::try_from((operation >> 8) as u8).map_err(|_| corrupt("element type"))?;
        let arithmetic = if self.memory.header().arithmetic.get() == 1 {
            Arithmetic::SoftFloat
        } else {
            Arithmetic::Native
        };
        let count = NonZeroU32::new(members.len() as u32).ok_or_else(|| corrupt("empty collective"))?;
        for step in ReductionTree::new(count).steps() {
            let (left, right) = (&members[step.left as usize], &members[step.right as usize]);
            let done = match (contribution(self.memory, left)?, contribution(self.memory, right)?) {
                (Contribution::Inline(left, bytes), Contribution::Inline(mut result, also))
                    if bytes == also =>
                {
                    let done = combine(op, element, &left[..bytes], &mut result[..bytes], arithmetic);
                    for (word, chunk) in right.payload.iter().zip(result.chunks_exact(8)) {
                        word.set(u64::from_ne_bytes(chunk.try_into().expect("eight bytes")));
                    }
                    done
                }
                (Contribution::Slab(left, bytes), Contribution::Slab(right, also))
                    if bytes == also && left != right =>
                {
                    // SAFETY: both point at slabs, which have SLAB_BYTES >= `bytes` and are distinct.
                    unsafe { combine_at(op, element, left, right, bytes, arithmetic) }
                }
                _ => return Err(corrupt("contribution")),
            };
            done.map_err(|_| corrupt("reduction of this type"))?;
        }
        Ok(())
    }

    pub(crate) fn give_root(
        &mut self,
        index: u32,
        instance: &Instance,
        members: &[Member],
        last: usize,
    ) -> Result<(), Corrupt> {
        let root = (instance.root_member.get() as usize).wrapping_sub(1);
        let Some(member) = members.get(root) else {
            return Err(Corrupt {
                what: "root of a reduction",
                value: root as u64,
                limit: members.len() as u64,
            });
        };
        if let Some(delivery) = self.inline_result(&members[last])? {
            self.complete(member, &delivery, instance)?;
            for other in members {
                if !std::ptr::eq(other, member) {
                    self.complete(other, &Delivery::InPlace, instance)?;
                }
            }
            return self.list.free(index, instance);
        }
        for (i, other) in members.iter().enumerate() {
            if i != root {
                self.complete(other, &Delivery::InPlace, instance)?;
            }
        }
        instance.result_member.set(last as u32 + 1);
        instance.readers.set(1);
        instance.state.set(InstanceState::Released as u32);
        self.completer.refer(member.local_index.get(), member.request.get(), index, SlotState::Released)
    }

    pub(crate) fn give_all(
        &mut self,
        index: u32,
        instance: &Instance,
        members: &[Member],
        last: usize,
    ) -> Result<(), Corrupt> {
        if let Some(delivery) = self.inline_result(&members[last])? {
            for member in members {
                self.complete(member, &delivery, instance)?;
            }
            return self.list.free(index, instance);
        }
        // Who gets nothing of the result has not waited for it.
        let readers = || members.iter().filter(|member| member.request.get() != NO_REQUEST);
        let count = readers().count() as u32;
        if count == 0 {
            return self.list.hand_back(index, instance);
        }
        instance.result_member.set(last as u32 + 1);
        instance.readers.set(count);
        instance.state.set(InstanceState::Released as u32);
        for member in readers() {
            self.completer.refer(
                member.local_index.get(),
                member.request.get(),
                index,
                SlotState::Released,
            )?;
        }
        Ok(())
    }

    /// A result that fits in a request slot.
    fn inline_result(&self, last: &Member) -> Result<Option<Delivery>, Corrupt> {
        Ok(match contribution(self.memory, last)? {
            Contribution::Inline(bytes, _) => {
                let mut payload = [0; SLOT_PAYLOAD_BYTES];
                payload[..INLINE_BYTES].copy_from_slice(&bytes);
                Some(Delivery::InSlot(payload))
            }
            Contribution::Slab(..) => None,
        })
    }

    fn complete(&mut self, member: &Member, delivery: &Delivery, instance: &Instance) -> Result<(), Corrupt> {
        if member.request.get() == NO_REQUEST {
            return Ok(());
        }
        let status = (instance.root.get(), 0, instance.bytes.get());
        self.completer.complete(member.local_index.get(), member.request.get(), status, delivery)
    }
}
