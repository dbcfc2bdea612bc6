//! The second half of a large reduction on one node: members have combined a share of the result each,
//! and give it to those who want the whole, from a board or in the next step of their exchange. Between
//! nodes: [`super::to_all`].

use crate::communicator::meeting::Arrival;
use crate::error::MpiResult;
use crate::progress::exchange::{Contribution, Destination, Exchange};
use crate::progress::released::take_board;
use crate::progress::task::with;
use nic_emu::slab::SLAB_BYTES;
use std::ops::Range;

/// Gives this member's share of a result, and puts the others', which are `share` of it, in their places from
/// `to` on, if it takes them. A step of the exchange.
///
/// # Safety
/// The given share must be readable and, if this member takes, the others' places writable; nobody else uses
/// them until the answer is there.
///
/// # Errors
/// The NIC fails.
pub async unsafe fn gather_shares(
    exchange: &Exchange,
    (data, readers): (*const u8, &[u32]),
    takes: bool,
    share: &dyn Fn(u32) -> Range<usize>,
    to: *mut u8,
) -> MpiResult {
    let party = exchange.party().clone();
    let (bytes, others) = (share(party.rank).len(), party.others().filter(|_| takes));
    let longest = (0..party.size).map(|member| share(member).len()).max().unwrap_or(0);
    let place = |member: u32| to.wrapping_add(share(member).start);
    if longest <= SLAB_BYTES {
        let arrival = Arrival { most_bytes: longest, ..Arrival::default() };
        // SAFETY: the caller's promise; at most a slab is buffered when it is posted.
        let release = unsafe { party.meet(&arrival, data, bytes, takes) }.await?;
        let Some(release) = release.filter(|_| takes) else { return Ok(()) };
        let pieces = others.map(|member| (member, 0..share(member).len(), place(member)));
        // SAFETY: as above.
        return with(|process| unsafe { take_board(process, release, bytes, pieces) });
    }
    let destinations: Vec<Destination> =
        others.map(|member| (member, place(member), share(member).len())).collect();
    // SAFETY: the caller's promise.
    unsafe { exchange.move_blocks(Contribution::whole(data, bytes, readers), &destinations).await }
}
