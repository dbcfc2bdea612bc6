//! What a collective across nodes gives this node's members: small results in their request slots, larger
//! ones in NIC memory, where they read them until they depart.

use super::error::GlobalError;
use super::image::{image, write};
use super::point_to_point::Env;
use crate::memory::descriptor::{CollectiveKind, INLINE_BYTES, NO_REQUEST};
use crate::memory::instance::{Instance, InstanceState, Member};
use crate::memory::members::{Contribution, contribution, members};
use crate::memory::request::Delivery;
use crate::memory::sync::Ordering;
use crate::memory::{Corrupt, NicMemory};
use crate::threads::collective_helper::CollectiveHelper;
use crate::threads::collective_list::CollectiveList;

/// Instances that members still read from.
#[derive(Debug, Default)]
pub struct Deliveries {
    released: Vec<u32>,
}

impl Deliveries {
    /// True when nobody reads anything.
    pub fn is_idle(&self) -> bool {
        self.released.is_empty()
    }

    /// Members were released from an instance and may still read from it.
    pub fn watch(&mut self, index: u32, instance: &Instance) {
        if instance.state.get() != InstanceState::Free as u32 {
            self.released.push(index);
        }
    }

    /// Ends a collective here, of which these are the bytes: the result of a reduction may be for another
    /// node.
    ///
    /// # Errors
    /// As [`Self::deliver`].
    pub fn end(&mut self, env: &mut Env<'_, '_>, index: u32, bytes: &[u8]) -> Result<(), GlobalError> {
        let instance = env.memory.instance(index)?;
        match instance.kind.get() == CollectiveKind::Reduce as u32 && instance.root_member.get() == 0 {
            true => self.let_go(env, index),
            false => self.deliver(env, index, bytes),
        }
    }

    /// Gives the local members what a collective brought.
    ///
    /// # Errors
    /// NIC memory is corrupt, or more was brought than members can have given.
    pub fn deliver(&mut self, env: &mut Env<'_, '_>, index: u32, bytes: &[u8]) -> Result<(), GlobalError> {
        let instance = env.memory.instance(index)?;
        let members = members(env.memory, index, instance)?;
        let mut helper = CollectiveHelper::new(env.memory, env.completer);
        if instance.reduces() {
            let Some(last) = members.last() else {
                return Err(Corrupt { what: "members of a reduction", value: 0, limit: 0 }.into());
            };
            put_result(env.memory, last, bytes)?;
            helper.give_result(index, instance)?;
            self.watch(index, instance);
            return Ok(());
        }
        if is_broadcast(instance) && bytes.len() <= INLINE_BYTES {
            let (status, delivery) = ((instance.root.get(), 0, bytes.len() as u64), Delivery::in_slot(bytes));
            for member in members.iter().filter(|member| member.request.get() != NO_REQUEST) {
                let (rank, request) = (member.local_index.get(), member.request.get());
                helper.completer.complete(rank, request, status, &delivery)?;
            }
            return Ok(helper.list.free(index, instance)?);
        }
        match is_broadcast(instance) {
            true => write(env.memory, index, &image(&[bytes.to_vec()]))?,
            false => write(env.memory, index, bytes)?,
        }
        instance.is_brought.set(1);
        helper.refer_all(index, instance)?;
        self.released.push(index);
        Ok(())
    }

    /// Lets the local members of a reduction go whose result is not for this node.
    pub fn let_go(&mut self, env: &mut Env<'_, '_>, index: u32) -> Result<(), GlobalError> {
        let instance = env.memory.instance(index)?;
        Ok(CollectiveHelper::new(env.memory, env.completer).let_go(index, instance)?)
    }

    /// Takes instances off the list that all their readers have departed from.
    pub fn free_departed(&mut self, env: &mut Env<'_, '_>) -> Result<(), GlobalError> {
        let mut i = 0;
        while let Some(&index) = self.released.get(i) {
            let instance = env.memory.instance(index)?;
            let list = CollectiveList::new(env.memory);
            if instance.readers.get() == 0 {
                list.hand_back(index, instance)?;
            } else if instance.handed_back.load(Ordering::Acquire) != 0 {
                list.free(index, instance)?;
                let freed = &env.memory.header().remote.freed;
                freed.set(freed.get().wrapping_add(1));
            } else {
                i += 1;
                continue;
            }
            self.released.swap_remove(i);
        }
        Ok(())
    }
}

/// Whether an instance is a broadcast.
pub fn is_broadcast(instance: &Instance) -> bool {
    instance.kind.get() == CollectiveKind::Broadcast as u32
}

/// A member's contribution.
///
/// # Errors
/// It is not where its descriptor says.
pub fn bytes_of(memory: &NicMemory, member: &Member) -> Result<Vec<u8>, Corrupt> {
    Ok(match contribution(memory, member)? {
        Contribution::Inline(bytes, length) => bytes[..length].to_vec(),
        Contribution::Slab(slab, length) => {
            let mut bytes = vec![0; length];
            // SAFETY: both have that length; the slab is the NIC's until the instance is freed.
            unsafe { std::ptr::copy_nonoverlapping(slab, bytes.as_mut_ptr(), length) };
            bytes
        }
    })
}

/// Puts a reduction's result in the place of a member's contribution, which is as long.
fn put_result(memory: &NicMemory, member: &Member, result: &[u8]) -> Result<(), GlobalError> {
    let wrong = Corrupt { what: "bytes of a result", value: result.len() as u64, limit: member.bytes.get() };
    match contribution(memory, member)? {
        Contribution::Inline(mut bytes, length) if length == result.len() => {
            bytes[..length].copy_from_slice(result);
            member.set_payload(&bytes);
            Ok(())
        }
        Contribution::Slab(slab, length) if length == result.len() => {
            // SAFETY: the slab has that length and is the NIC's until the instance is freed.
            unsafe { std::ptr::copy_nonoverlapping(result.as_ptr(), slab, length) };
            Ok(())
        }
        _ => Err(wrong.into()),
    }
}
