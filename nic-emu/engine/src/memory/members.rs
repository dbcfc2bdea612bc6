//! The members of a collective under way: those that an instance expects, and where their contributions lie.

use crate::memory::descriptor::INLINE_BYTES;
use crate::memory::instance::{Instance, Member};
use crate::memory::slab::SLAB_BYTES;
use crate::memory::{Corrupt, NicMemory, SlabId, checked};

/// The members that an instance expects.
#[inline]
pub fn members<'m>(memory: &'m NicMemory, index: u32, instance: &Instance) -> Result<&'m [Member], Corrupt> {
    let members = memory.members(index)?;
    let expected = checked("members of a collective", instance.expected.get(), members.len() + 1)?;
    Ok(&members[..expected])
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
            let mut inline = [0; INLINE_BYTES];
            for (chunk, word) in inline.chunks_exact_mut(8).zip(&member.payload) {
                chunk.copy_from_slice(&word.get().to_ne_bytes());
            }
            let bytes = checked("bytes of an inline contribution", bytes, INLINE_BYTES + 1)?;
            Ok(Contribution::Inline(inline, bytes))
        }
        1 => {
            let bytes = checked("bytes of a contribution", bytes, SLAB_BYTES + 1)?;
            let slab = memory.slab(member.local_rank.get(), SlabId(member.payload[0].get() as u32))?;
            Ok(Contribution::Slab(slab.as_ptr(), bytes))
        }
        place => Err(Corrupt { what: "place of a contribution", value: place as u64, limit: 2 }),
    }
}

/// Where a contribution is.
pub enum Contribution {
    /// Here, with its length.
    Inline([u8; INLINE_BYTES], usize),
    /// In a slab, with its length.
    Slab(*mut u8, usize),
}

impl Contribution {
    /// Its first byte, and how many there are.
    #[inline]
    pub fn bytes(&self) -> (*const u8, usize) {
        match self {
            Contribution::Inline(bytes, length) => (bytes.as_ptr(), *length),
            Contribution::Slab(slab, length) => (slab.cast_const(), *length),
        }
    }
}
