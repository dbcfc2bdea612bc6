//! What a collective across nodes gives this node's members: small results in their request slots, larger
//! ones in NIC memory, where they read them until they depart.

use super::error::GlobalError;
use super::image::{image, write};
use super::point_to_point::Env;
use crate::memory::descriptor::{CollectiveKind, INLINE_BYTES};
use crate::memory::instance::Member;
use crate::memory::members::{Contribution, contribution, members};
use crate::memory::request::Delivery;
use crate::memory::{Corrupt, NicMemory};
use crate::threads::collective_helper::CollectiveHelper;
use crate::threads::collective_list;

/// Ends a collective here, of which these are the bytes for all members: the local ones get what is
/// theirs.
///
/// # Errors
/// NIC memory is corrupt, or more was brought than members can have given.
pub fn end(env: &mut Env<'_, '_>, index: u32, bytes: &[u8]) -> Result<(), GlobalError> {
    let instance = env.memory.instance(index)?;
    let members = members(env.memory, index, instance)?;
    let mut helper = CollectiveHelper { completer: env.completer };
    let has_root = instance.root_member.get() != 0;
    let is_broadcast = instance.is(CollectiveKind::Broadcast);
    if instance.is_without_bytes() || instance.is(CollectiveKind::Reduce) && !has_root {
        helper.let_go(index, instance)?;
    } else if is_broadcast && has_root {
        helper.broadcast(index, instance)?;
    } else if let Some(last) = members.last().filter(|_| instance.reduces()) {
        put_result(env.memory, last, bytes)?;
        helper.give_result(index, instance)?;
    } else if is_broadcast && bytes.len() <= INLINE_BYTES {
        helper.complete_all(members, &Delivery::in_slot(bytes))?;
        collective_list::free(env.memory, index, instance)?;
    } else {
        match is_broadcast {
            true => write(env.memory, index, &image(&[bytes.to_vec()]))?,
            false => write(env.memory, index, bytes)?,
        }
        instance.is_brought.set(1);
        helper.release_all(index, instance)?;
    }
    Ok(())
}

/// A member's contribution.
///
/// # Errors
/// It is not where its descriptor says.
pub fn bytes_of(memory: &NicMemory, member: &Member) -> Result<Vec<u8>, Corrupt> {
    let contribution = contribution(memory, member)?;
    let (from, length) = contribution.bytes();
    let mut bytes = vec![0; length];
    // SAFETY: both have that length; a slab is the NIC's until the instance is freed.
    unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), length) };
    Ok(bytes)
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
