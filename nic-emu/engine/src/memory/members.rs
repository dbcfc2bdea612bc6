//! The members of a collective under way: those that an instance expects, and where their contributions lie.

use crate::memory::instance::{Instance, Member};
use crate::memory::slab::SLAB_BYTES;
use crate::memory::{Corrupt, NicMemory, SlabId};

/// The members that an instance expects.
#[inline]
pub fn members<'m>(memory: &'m NicMemory, index: u32, instance: &Instance) -> Result<&'m [Member], Corrupt> {
    let members = memory.members(index)?;
    let expected = instance.expected.get() as usize;
    members.get(..expected).ok_or(Corrupt {
        what: "members of a collective",
        value: expected as u64,
        limit: members.len() as u64 + 1,
    })
}

/// Where a member's contribution lies in NIC memory: in its line or in its slab.
///
/// # Errors
/// [`Corrupt`] when its place, slab number or length cannot be.
#[inline]
pub fn contribution(memory: &NicMemory, member: &Member) -> Result<Contribution, Corrupt> {
    let bytes = member.bytes.get();
    match member.place.get() {
        0 => {
            let mut inline = [0; 24];
            for (chunk, word) in inline.chunks_exact_mut(8).zip(&member.payload) {
                chunk.copy_from_slice(&word.get().to_ne_bytes());
            }
            if bytes as usize > inline.len() {
                return Err(Corrupt { what: "bytes of an inline contribution", value: bytes, limit: 25 });
            }
            Ok(Contribution::Inline(inline, bytes as usize))
        }
        1 => {
            if bytes as usize > SLAB_BYTES {
                return Err(Corrupt {
                    what: "bytes of a contribution",
                    value: bytes,
                    limit: SLAB_BYTES as u64 + 1,
                });
            }
            let slab = memory.slab(member.local_rank.get(), SlabId(member.payload[0].get() as u32))?;
            Ok(Contribution::Slab(slab.as_ptr(), bytes as usize))
        }
        place => Err(Corrupt { what: "place of a contribution", value: place as u64, limit: 2 }),
    }
}

/// Where a contribution is.
pub enum Contribution {
    /// Here, with its length.
    Inline([u8; 24], usize),
    /// In a slab, with its length.
    Slab(*mut u8, usize),
}
