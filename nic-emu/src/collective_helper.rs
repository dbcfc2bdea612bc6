//! CH, the Collective Helper (paper, §4.1, §4.4): barriers, broadcasts, and the board on which members put up their
//! contributions for each other.
//!
//! Barrier and broadcast microphase. A barrier or a board releases its members when all have arrived. A broadcast
//! releases each member as soon as it and the root are there; nobody waits for members that it has nothing to get from.

use crate::collective::{Instance, InstanceState, Member};
use crate::collective_list::{CollectiveList, Contribution, contribution};
use crate::completer::Completer;
use crate::departure;
use crate::descriptor::{CollectiveKind, NO_REQUEST};
use crate::memory::{Corrupt, NicMemory};
use crate::request::{Delivery, SLOT_PAYLOAD_BYTES, SlotState};

/// The Collective Helper, for one slice.
pub struct CollectiveHelper<'a, 'm> {
    memory: &'m NicMemory,
    list: &'a CollectiveList<'m>,
    completer: &'a mut Completer<'m>,
}

impl<'a, 'm> CollectiveHelper<'a, 'm> {
    /// A Collective Helper that completes through `completer`.
    #[inline]
    pub fn new(
        memory: &'m NicMemory,
        list: &'a CollectiveList<'m>,
        completer: &'a mut Completer<'m>,
    ) -> Self {
        Self { memory, list, completer }
    }

    /// Acts on an instance at which somebody has arrived in this slice.
    #[inline]
    pub fn run(&mut self, index: u32) -> Result<(), Corrupt> {
        let instance = self.memory.instance(index)?;
        if instance.spans_nodes() {
            // Global slices see to it.
            return Ok(());
        }
        let complete = instance.arrived.get() == instance.expected.get();
        match instance.kind.get() {
            kind if kind == CollectiveKind::Barrier as u32 && complete => self.barrier(index, instance),
            kind if kind == CollectiveKind::Board as u32 && complete => self.release_all(index, instance),
            kind if kind == CollectiveKind::Broadcast as u32 && instance.root_member.get() != 0 => {
                self.broadcast(index, instance)
            }
            _ => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn barrier(&mut self, index: u32, instance: &Instance) -> Result<(), Corrupt> {
        for member in members(self.memory, index, instance)? {
            self.complete(member, &Delivery::InPlace, instance)?;
        }
        self.list.free(index, instance)
    }

    /// Lets all members read all contributions; those without a request do not.
    pub fn release_all(&mut self, index: u32, instance: &Instance) -> Result<(), Corrupt> {
        let members = members(self.memory, index, instance)?;
        let readers = members.iter().filter(|member| member.request.get() != NO_REQUEST).count() as u32;
        instance.readers.set(readers);
        instance.state.set(InstanceState::Released as u32);
        if readers == 0 {
            return self.list.hand_back(index, instance);
        }
        for member in members.iter().filter(|member| member.request.get() != NO_REQUEST) {
            self.completer.refer(
                member.local_index.get(),
                member.request.get(),
                index,
                SlotState::Released,
            )?;
        }
        Ok(())
    }

    /// Gives the root's bytes to every member that has come and not yet got them.
    pub(crate) fn broadcast(&mut self, index: u32, instance: &Instance) -> Result<(), Corrupt> {
        let members = members(self.memory, index, instance)?;
        let root = instance.root_member.get() - 1;
        let Some(from) = members.get(root as usize) else {
            return Err(Corrupt {
                what: "root of a broadcast",
                value: root as u64,
                limit: members.len() as u64,
            });
        };
        let inline = match contribution(self.memory, from)? {
            Contribution::Inline(bytes, _) => {
                let mut payload = [0; SLOT_PAYLOAD_BYTES];
                payload[..bytes.len()].copy_from_slice(&bytes);
                Some(Delivery::InSlot(payload))
            }
            Contribution::Slab(..) => {
                // Every member departs, whether it reads or not: the root's slab is not given back before
                // those have read it that are still to come.
                instance.readers.set(instance.expected.get());
                None
            }
        };
        let mut is_over = inline.is_some();
        for (i, member) in members.iter().enumerate() {
            // 1: here and not served; 2: served.
            if member.arrived.get() != 1 {
                continue;
            }
            member.arrived.set(2);
            let has_to_read = i as u32 != root;
            match &inline {
                None if member.request.get() == NO_REQUEST || !has_to_read => {
                    is_over = departure::is_last(instance);
                    self.complete(member, &Delivery::InPlace, instance)?;
                }
                _ if !has_to_read => self.complete(member, &Delivery::InPlace, instance)?,
                Some(delivery) => self.complete(member, delivery, instance)?,
                None => {
                    self.completer.refer(
                        member.local_index.get(),
                        member.request.get(),
                        index,
                        SlotState::Released,
                    )?;
                }
            }
        }
        if instance.arrived.get() == instance.expected.get() {
            instance.state.set(InstanceState::Released as u32);
            // Otherwise the last member to depart hands it back, and may have done so by now.
            if is_over {
                return self.list.hand_back(index, instance);
            }
        }
        Ok(())
    }

    #[inline]
    fn complete(&mut self, member: &Member, delivery: &Delivery, instance: &Instance) -> Result<(), Corrupt> {
        if member.request.get() == NO_REQUEST {
            return Ok(());
        }
        let status = (instance.root.get(), 0, instance.bytes.get());
        self.completer.complete(member.local_index.get(), member.request.get(), status, delivery)
    }
}

/// The members that an instance expects.
#[inline]
pub(crate) fn members<'m>(
    memory: &'m NicMemory,
    index: u32,
    instance: &Instance,
) -> Result<&'m [Member], Corrupt> {
    let members = memory.members(index)?;
    let expected = instance.expected.get() as usize;
    members.get(..expected).ok_or(Corrupt {
        what: "members of a collective",
        value: expected as u64,
        limit: members.len() as u64 + 1,
    })
}
