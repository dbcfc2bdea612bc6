//! A few bytes of every member, in an operation of several steps: what members agree by.

use super::futures::bring;
use super::{Block, Pattern, Side};
use crate::constants::*;
use crate::error::MpiResult;
use crate::object::datatype::buffer::{Elements, NAMES};
use crate::process::with;
use crate::progress::Party;

/// What all members say, by rank.
///
/// # Errors
/// The NIC fails.
pub async fn gather_small<const BYTES: usize>(party: Party, own: [u8; BYTES]) -> MpiResult<Vec<[u8; BYTES]>> {
    let members = party.size as usize;
    // Both stay where they are until the operation is over.
    let (own, mut all) = (Box::new(own), vec![[0; BYTES]; members]);
    let bytes = BYTES as i64;
    let side = |address: *const u8| {
        with(|process| {
            // SAFETY: it is valid until the operation is over.
            let elements = unsafe { Elements::new(address.cast(), bytes, MPI_BYTE) };
            Block::new(process, &NAMES, elements, "sent")
        })
    };
    let (given, first) = (side(own.as_ptr())?, side(all.as_mut_ptr().cast())?);
    let agreed = given.agreed();
    let taken = Side::Alike { first, apart: BYTES };
    bring(party, Pattern::Allgather, (Side::same(given), taken), false, agreed).await?;
    Ok(all)
}
